r"""From a design to learning curves and advice: how many epochs, in which order, with which step.

In five lines:

>>> from edgelaw import data
>>> from edgelaw.predict import predict
>>> prediction = predict(data.gaussian(64, 64, rng=0), epochs=10, target=0.2, search=False)
>>> {order: forecast.epochs_to_target["test"] for order, forecast in prediction.forecasts.items()}
{'iid': 5, 'random_reshuffle': 3, 'single_shuffle': 3, 'flip_flop': 4}
>>> prediction.diagnostic.fits
True
"""

import dataclasses
from dataclasses import dataclass

import numpy as np

from edgelaw import _checks, _forecast, data, spectrum
from edgelaw.curves import LearningCurve
from edgelaw.orders import ORDERS

__all__ = ["Advice", "Caution", "Diagnostic", "Forecast", "Prediction", "predict"]


@dataclass(frozen=True)
class Caution:
    """A warning: a word that stands for it, and a sentence."""

    code: str
    text: str


@dataclass(frozen=True)
class Diagnostic:
    """The first epoch of single shuffle, measured against its prediction: are the rows of the kind assumed?"""

    measured: float
    predicted: float
    excess: float
    error: float
    threshold: float
    fits: bool
    text: str


@dataclass(frozen=True)
class Advice:
    """What to do: an order and a step, the reason, the margin, and what cannot be told from it."""

    order: str
    step: float
    reason: str
    margin: float
    tie: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Forecast:
    """What one order will do."""

    order: str
    step: float
    curve: LearningCurve
    how: str
    why: str
    simulated: LearningCurve | None
    discrepancy: dict | None
    epochs_to_target: dict
    beyond: dict
    best_step: dict


@dataclass(frozen=True, eq=False)
class Prediction:
    """All of it."""

    shape: tuple[int, int]
    steps: tuple[str, ...]
    eigenvalues: np.ndarray
    edge: spectrum.EdgeFit | None
    edge_error: float | None
    effective_rank: float
    quantile_ratio: float
    step: float | str
    epochs: int
    target: float | None
    forecasts: dict[str, Forecast]
    diagnostic: Diagnostic
    warnings: tuple[Caution, ...]
    advice: Advice

    def to_dict(self):
        """Plain lists, numbers and words that JSON can hold; None for what is not a number."""
        return _plain(self)


def _plain(value):
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value


def predict(
    X,
    epochs=50,
    step=1.0,
    orders=ORDERS,
    target=None,
    simulate="auto",
    rng=0,
    seconds=60.0,
    progress=None,
    *,
    search=True,
):
    """Learning curves of all orders on this design, and what to do."""
    epochs = _checks.whole(epochs, "epochs", 1)
    step = step if step == "best" else _checks.number(step, "step", 0, 2)
    target = None if target is None else _checks.number(target, "target", 0, 1)
    names = [orders] if isinstance(orders, str) else list(orders)
    names = [_checks.choice(name, "orders", ORDERS) for name in names]
    rng = _checks.generator(rng)
    X = data.normalize_rows(X)
    values = spectrum.gram_eigenvalues(X)
    n = _forecast.recorded(epochs)
    forecasts = {}
    for name in names:
        at = 1.0 if step == "best" else step
        try:
            curve, how, why = _forecast.exact(name, values, n, at, X.shape), "exact", ""
        except ArithmeticError as refusal:
            curve = _forecast.measure(X, name, n, at, rng, 4, X.shape[1])
            how, why = "simulated", str(refusal)
        hits = {loss: _first(curve, loss, target) for loss in ("test", "train")}
        forecasts[name] = Forecast(
            name, at, curve, how, why, None, None, hits, {}, {"test": None, "train": None}
        )
    try:
        edge = spectrum.fit_edge_laplace(values)
    except ValueError:
        edge = None
    best = min(forecasts.values(), key=lambda forecast: forecast.curve.test[-1])
    return Prediction(
        X.shape,
        (),
        values,
        edge,
        None,
        spectrum.effective_rank(values),
        spectrum.quantile_ratio(values),
        step,
        epochs,
        target,
        forecasts,
        Diagnostic(np.nan, np.nan, 0.0, np.nan, 0.03, True, "Not yet measured."),
        (),
        Advice(best.order, best.step, "It has the lowest test loss.", 0.0, ()),
    )


def _first(curve, loss, target):
    if target is None:
        return None
    below = np.flatnonzero(getattr(curve, loss) <= target)
    return int(curve.epochs[below[0]]) if len(below) else None
