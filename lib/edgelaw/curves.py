"""The one class of learning curves, simulated or predicted: losses by epoch with their errors."""

from dataclasses import dataclass

import numpy as np

VANISHED = 1e-12  # below this a computed loss is not told from zero


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Test and training loss at the recorded epochs, with their standard errors."""

    epochs: np.ndarray  #: The recorded n, ascending, 0 included; one epoch is m row updates.
    #: Mean of ‖w_n − w*‖² / ‖w_0 − w*‖²: the squared *parameter error*, not a loss on held-out rows.
    test: np.ndarray
    #: Mean of (1/m) ‖X (w_n − w*)‖² / ‖w_0 − w*‖², for the normalised update with the rows of X scaled to norm √d; it
    #: starts at 1, on average over the starts, when the mean eigenvalue of XᵀX/m is 1.
    train: np.ndarray
    test_se: np.ndarray  #: Standard errors of `test` over independent runs; NaN where there was one run only.
    train_se: np.ndarray  #: The same of `train`.
    #: The largest relative numerical error of solving its equations that a computed curve estimates of itself.
    error: float = np.nan
    #: The last epoch that was computed where the rest goes on by the law n^(−γ) e^(−κn) of its last epochs: a loss is
    #: then below 1e-7, not counting a plateau. As long as it is above 1e-12 `error` holds for it too.
    continued: int | None = None
    #: How far a run is from a curve that is computed from a sample: standard deviation of `test` over matrices and
    #: orders, from all starts, as `edgelaw.exact.finite_size` estimates it; absolute, like `test_se`. NaN: not known.
    finite_size_test: np.ndarray | float = np.nan
    finite_size_train: np.ndarray | float = np.nan  #: The same of `train`.

    def _repr_html_(self) -> str:
        """Both losses in a notebook: a small plot and a few numbers."""
        from edgelaw._common import notebook

        losses = (("test", "#0072B2", "-"), ("train", "#D55E00", "--"))
        lines = [notebook.Line(self.epochs, getattr(self, loss), loss, *look) for loss, *look in losses]
        places = notebook.moments(self.epochs)

        def cell(loss: str, place: int) -> str:
            return notebook.number(getattr(self, loss)[place], error=getattr(self, f"{loss}_se")[place])

        ends = ", ".join(
            f"{loss} {notebook.number(getattr(self, loss)[-1])}" for loss, *_ in losses if places
        )
        last = notebook.number(self.epochs[-1]) if places else "0"
        sentence = (
            f"Learning curve: {len(self.epochs):,} recorded times up to epoch {last}; at the end {ends}."
        )
        picture = notebook.plot(lines, "epoch", "loss", sentence)
        header = ["epoch", *(notebook.number(self.epochs[place]) for place in places)]
        rows = [[loss, *(cell(loss, place) for place in places)] for loss, *_ in losses]
        return notebook.card(sentence, picture, header, rows)
