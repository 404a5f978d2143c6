r"""From a design to learning curves and advice: how many epochs, in which order, with which step.

Curves come from the eigenvalues by the exact theory of the chapter "Exact curves on any spectrum", for any number of
rows: :func:`edgelaw.theory.levy.from_sample` reads its average off the m × m Gram matrix where m and d differ.
Where it refuses, or where the first epoch says that the rows are not of the kind it assumes, they are simulated; and
where that would take too long, a pilot on a part of the rows is. Every forecast says which.

In five lines:

>>> from edgelaw import data
>>> from edgelaw.predict import predict
>>> prediction = predict(data.gaussian(64, 64, rng=0), epochs=10, target=0.2, search=False)
>>> {order: forecast.epochs_to_target["test"] for order, forecast in prediction.forecasts.items()}
{'iid': 5, 'random_reshuffle': 3, 'single_shuffle': 3, 'flip_flop': 4}
>>> prediction.advice.order, prediction.diagnostic.fits
('single_shuffle', True)
"""

import dataclasses
from dataclasses import dataclass

import numpy as np

from edgelaw import spectrum
from edgelaw._common import arguments
from edgelaw.curves import LearningCurve
from edgelaw.forecast import advice, engine, measured
from edgelaw.orders import ORDERS

__all__ = ["Advice", "Caution", "Diagnostic", "Forecast", "Prediction", "predict"]

FEWEST_DIMS = 20
# The first epoch's deviation where the theory applies: -0.6/effective rank on average (measured, see `diagnose`).
BIAS, ALLOWED = -0.6, 0.025


@dataclass(frozen=True)
class Caution:
    """A warning.

    Attributes
    ----------
    code : str
        One of plateau, exponential, no_window, null_direction, edge_uncertain, not_haar, duplicates, few_rows.
    text : str
        A sentence.
    """

    code: str
    text: str


@dataclass(frozen=True)
class Diagnostic:
    """The first epoch of single shuffle at step 1, measured against its prediction: are the rows of the kind assumed?

    Attributes
    ----------
    measured, predicted : float
        Training loss after one epoch.
    excess : float
        measured/predicted - 1.
    error : float
        Standard error of the excess, over shuffles.
    threshold : float
        What the excess may differ by from -0.6/effective rank, its mean where the theory applies.
    fits : bool
    text : str
        A sentence.
    """

    measured: float
    predicted: float
    excess: float
    error: float
    threshold: float
    fits: bool
    text: str


@dataclass(frozen=True)
class Advice:
    """What to do.

    Attributes
    ----------
    order : str
        The order with the smallest test loss at the end of the budget; training loss where most of the test loss is a
        plateau.
    step : float
    reason : str
        One sentence, with the margin.
    margin : float
        By how much the next order that can be told apart is behind, relatively; the nearest one if there is a tie.
    tie : tuple of str
        Orders that cannot be told from it: within 3 %, or within two standard errors.
    """

    order: str
    step: float
    reason: str
    margin: float
    tie: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Forecast:
    """What one order will do.

    Attributes
    ----------
    order : str
    step : float
    curve : LearningCurve
    how : {"exact", "simulated", "pilot"}
    why : str
        A sentence if not exact, or if an exact curve was continued; else empty.
    simulated : LearningCurve or None
        The real thing, where it was run.
    discrepancy : dict or None
        For each loss the worst relative difference of simulation and theory, `epoch` and standard `error`.
    epochs_to_target : dict
        For each loss the first epoch at or below the target, or None.
    beyond : dict
        A sentence for each loss that does not reach it.
    best_step : dict
        For each loss the step with the smallest loss at the end of the budget; None where not computed.
    """

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
    r"""Everything `predict` found.

    Attributes
    ----------
    shape : (m, d)
    steps : tuple of str
        What was done to the rows.
    eigenvalues : ndarray
        Of :math:`X^\top X/m`, ascending.
    edge : EdgeFit or None
    edge_error : float or None
        Standard error of its exponent.
    effective_rank, quantile_ratio : float
    step, epochs, target
        As asked.
    forecasts : dict
        A `Forecast` an order.
    diagnostic : Diagnostic
    warnings : tuple of Caution
    advice : Advice
    """

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
        """Plain lists, numbers and words that JSON can hold; None for what is not a finite number."""
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
    r"""Learning curves of the orders on this design, and what to do.

    Parameters
    ----------
    X : array (m, d) or edgelaw.inputs.Design
        The rows, at least 2, in at least 20 dimensions. Only their directions matter to the normalised update, so an
        array's rows are scaled to equal norm.
    epochs : int
        The budget.
    step : float or "best"
        In (0, 2); or every order at its own best step for the test loss at the end of the budget (1 for an order
        that has no exact curve).
    orders : iterable of str
        Among `edgelaw.orders.ORDERS`.
    target : float, optional
        A loss in (0, 1) to be reached.
    simulate : "auto", True or False
        Whether to run the real thing beside the theory. By default where the diagnostic says that the rows are not of
        the kind the theory assumes. An order without an exact curve is simulated in any case.
    rng : int or numpy.random.Generator
    seconds : float
        What simulations may take together, as estimated from a few rows; where it is not enough, a pilot is run.
        It also decides how many runs and starts there are, so digits of simulated curves may depend on the machine.
    progress : callable, optional
        Called as ``progress(done, total, what)``.
    search : bool
        Whether to look for the best steps, the most expensive part (about ten curves an order).

    Returns
    -------
    Prediction

    Notes
    -----
    **Accuracy**, measured (`edgelaw.data.sweep`: ``embedding_traces``, ``predict_accuracy``): at m = d = 512 on
    Gaussian rows, CIFAR-10 and Wikipedia embeddings, steps 0.5, 1 and 1.5, exact curves are within 1 % (test) and 3 %
    (training) of simulation at every recorded epoch up to 50; 2 % and 5 % are promised. With half or twice as many
    rows as dimensions the test loss is as good; the training loss of random reshuffle at m = d/2 is off by up to 10 %
    (standard error 4 %) once it is below 1e-3. At a finite d curves differ by O(1/effective rank).

    **Without an exact curve**, and therefore simulated: single shuffle at m ≠ d beyond about 30 epochs on a broad
    spectrum (its contours take too long), flip-flop at m ≠ d where the losses have fallen far.

    Examples
    --------
    >>> from edgelaw import data
    >>> found = predict(data.gaussian(40, 80, rng=0), epochs=4, orders=["iid"], target=0.1, search=False)
    >>> [caution.code for caution in found.warnings][0], found.forecasts["iid"].epochs_to_target
    ('plateau', {'test': None, 'train': 3})
    """
    epochs = arguments.whole(epochs, "epochs", 1)
    if not (isinstance(step, str) and step == "best"):
        step = arguments.step(step)
    target = None if target is None else arguments.number(target, "target", 0, 1)
    names = list(dict.fromkeys([orders] if isinstance(orders, str) else orders))
    names = [arguments.choice(name, "orders", ORDERS) for name in names]
    if not names:
        raise ValueError("orders must name at least one order.")
    if not (isinstance(simulate, bool) or simulate == "auto"):
        raise ValueError(f'simulate must be "auto", True or False, not {simulate!r}.')
    seconds = arguments.number(seconds, "seconds", 0)
    rng = arguments.generator(rng)
    design, duplicates = _design(X)
    clock = _Clock(progress, 2 + len(names) * (2 + 9 * bool(search or step == "best")))

    clock.tell("eigenvalues")
    values = np.maximum(design.gram_eigenvalues(), 0)
    if (values > 1e-12 * values[-1]).sum() < 2:
        raise ValueError(
            "All rows of X point in one direction; there is nothing to learn about an order from them."
        )
    clock("first epoch")
    diagnostic = diagnose(design, rng.spawn(1)[0])
    clock("exact curves")
    rho, n = design.shape[0] / design.shape[1], engine.recorded(epochs)
    best = {}
    for name in names:
        best[name] = _search(name, values, epochs, rho, clock) if search or step == "best" else None
    at = {name: (best[name]["test"][0] if best[name] else 1.0) if step == "best" else step for name in names}
    bench = measured.Bench(design, n, len(names), seconds)
    children = rng.spawn(len(names))
    forecasts = {
        name: _forecast_one(
            name, values, n, at[name], rho, bench, child, diagnostic.fits, simulate, target, best[name], clock
        )
        for name, child in zip(names, children, strict=True)
    }
    edge, edge_error = advice.edge(values)
    lowest = min(at.values())
    warnings = advice.cautions(
        design.shape, values, edge, edge_error, diagnostic, epochs, lowest, duplicates, target
    )
    # beside a plateau that all orders share, what is left of the test loss says nothing: the training loss decides
    plateau = (values == 0).mean() > 0.5 * min(f.curve.test[-1] for f in forecasts.values())
    loss = "train" if plateau else "test"
    ends = {name: float(getattr(f.curve, loss)[-1]) for name, f in forecasts.items()}
    noise = {
        name: _relative(getattr(f.curve, loss + "_se")[-1], getattr(f.curve, loss)[-1])
        for name, f in forecasts.items()
    }
    order, chosen, reason, margin, tie = advice.advise(ends, noise, at, epochs, loss)
    if step != "best":
        reason = advice.freely(reason, best, loss, ends)
    clock.finish()
    return Prediction(
        tuple(design.shape),
        tuple(design.steps),
        values,
        edge,
        edge_error,
        spectrum.effective_rank(values),
        spectrum.quantile_ratio(values),
        step,
        epochs,
        target,
        forecasts,
        diagnostic,
        tuple(Caution(*caution) for caution in warnings),
        Advice(order, chosen, reason, margin, tie),
    )


def diagnose(design, rng, shuffles=16):
    """The first epoch of single shuffle at step 1, measured on at most 2048 × 512 of the rows, against its prediction.

    One epoch of a random order is the same for three of the four orders. Where the theory applies the excess is about
    -0.6/r, r the effective rank; the threshold is counted from there: 2.5 % + 0.3/r + 2.5 standard errors.

    **Measured** with the 16 shuffles of the default: no false alarm in 324 designs (Gaussian rows and both embeddings,
    m/d of 1/2, 1 and 2, d from 24 to 192). Of the kinds of rows in the sweep ``what_breaks``, all four that the theory
    gets wrong are flagged at d = 256 and none of the harmless ones; at d = 64 very heavy tails and a tenth of the rows
    repeated are flagged in half of the draws only, pairs and sparse rows always.
    """
    m, d = design.shape
    X = engine.subset(design, min(m, 2048), min(d, 512), rng)
    values = np.maximum(spectrum.gram_eigenvalues(X), 0)
    curve = engine.measure(X, "single_shuffle", np.array([0, 1]), 1.0, rng, shuffles, X.shape[1])
    measured, error = float(curve.train[1]), float(curve.train_se[1] / curve.train[1])
    try:
        exact, _ = engine.exact("single_shuffle", values, np.array([1]), 1.0, len(X) / X.shape[1])
    except ArithmeticError as refusal:
        text = f"The first epoch could not be predicted ({refusal}), so the theory is not trusted here."
        return Diagnostic(measured, np.nan, np.nan, error, np.nan, False, text)
    rank = spectrum.effective_rank(values)
    excess = measured / float(exact.train[1]) - 1
    threshold = ALLOWED + 0.3 / rank + 2.5 * error
    fits = bool(abs(excess - BIAS / rank) <= threshold)
    text = (
        f"The first epoch leaves a training loss of {measured:.3g}, {100 * excess:+.1f} % ± {100 * error:.1f} % off "
        f"the {float(exact.train[1]):.3g} predicted"
    )
    text += (
        ", as it should where eigenvalues are enough."
        if fits
        else ": these rows are not of the kind the theory assumes (pairs, sparse or heavy-tailed rows do this), and "
        "only simulation counts."
    )
    return Diagnostic(measured, float(exact.train[1]), excess, error, threshold, fits, text)


def _forecast_one(name, values, n, step, rho, bench, rng, fits, simulate, target, best, clock):
    """The forecast of one order."""
    exact, why = None, ""
    try:
        exact, last = engine.exact(name, values, n, step, rho)
        if last is not None:
            why = f"Beyond epoch {last}, where both losses are below 1e-9, the curve is continued by its last ratio."
    except ArithmeticError as refusal:
        why = f"No exact curve: {refusal}"
    clock(f"{name}: curve")
    curve, how, simulated, discrepancy = exact, "exact", None, None
    if exact is None or simulate is True or (simulate == "auto" and not fits):
        simulated, twin, which, note = bench.measure(name, step, rng, exact)
        clock(f"{name}: simulation")
        if twin is not None:
            discrepancy = measured.discrepancy(*twin)
        if exact is None or (simulate == "auto" and not fits):
            curve, how = simulated, which
            why = " ".join(
                filter(None, [why or "The first epoch says that eigenvalues are not enough here.", note])
            )
        elif which == "pilot":
            why = " ".join(filter(None, [why, "The simulation beside it: " + note]))
    else:
        clock(f"{name}: done")
    hits, beyond = advice.reached(curve, target)
    if how == "exact" and not why:
        hits = {
            loss: _between(name, values, curve, loss, hit, step, rho, target) for loss, hit in hits.items()
        }
    null = (values == 0).mean()
    if target is not None and "test" in beyond and target < null:
        beyond["test"] = f"never: {null:.3g} of the test loss is in directions that no row has"
    steps = {loss: best[loss][0] if best else None for loss in ("test", "train")}
    return Forecast(name, float(step), curve, how, why, simulated, discrepancy, hits, beyond, steps)


def _between(name, values, curve, loss, hit, step, rho, target):
    """The first epoch at or below the target among those that were not recorded before `hit`."""
    if hit is None or hit == 0:
        return hit
    before = int(curve.epochs[np.searchsorted(curve.epochs, hit) - 1])
    if hit - before < 2:
        return hit
    try:
        fine, _ = engine.exact(name, values, np.arange(before + 1, hit + 1), step, rho)
    except ArithmeticError:
        return hit
    below = fine.epochs[(getattr(fine, loss) <= target) & (fine.epochs > 0)]
    return int(below[0]) if len(below) else hit


def _search(name, values, epochs, rho, clock):
    """The best steps of an order, or None where there is no exact curve."""
    before = clock.done
    try:
        found = engine.best_steps(name, values, epochs, rho, lambda: clock(f"{name}: best step", before + 9))
    except ArithmeticError:
        found = None
    clock.jump(before + 9)
    return found


def _relative(error, value):
    return float(error / value) if np.isfinite(error) and value > 0 else 0.0


def _design(X):
    """The design, checked, and how many of its rows repeat an earlier one."""
    if not all(hasattr(X, name) for name in ("take", "matrix", "gram_eigenvalues", "steps", "bytes")):
        _dims(np.shape(X))
        design = engine.Array(X)
        rows = design.matrix()
        return design, len(rows) - len({row.tobytes() for row in rows})
    _dims(X.shape)
    norms = np.linalg.norm(X.take(np.arange(min(X.shape[0], 256))), axis=1)
    if np.ptp(norms) > 1e-4 * norms.max():
        if X.bytes > engine.LARGEST_BYTES:
            raise ValueError("The rows of this design are not of equal norm; make it with normalize=True.")
        design = engine.Array(X.matrix())
        design.steps = (*X.steps, *design.steps)
        return design, getattr(X, "duplicates", 0) or 0
    return X, getattr(X, "duplicates", 0) or 0


def _dims(shape):
    if len(shape) == 2 and (shape[0] < 2 or shape[1] < FEWEST_DIMS):
        raise ValueError(
            f"X must have at least 2 rows and {FEWEST_DIMS} dimensions, not shape {tuple(shape)}: fewer "
            "eigenvalues are no spectrum."
        )


class _Clock:
    """Progress in units that are not all of one length."""

    def __init__(self, progress, total):
        self._progress, self.total, self.done = progress, total, 0

    def tell(self, what):
        if self._progress is not None:
            self._progress(self.done, self.total, what)

    def __call__(self, what, most=None):
        self.done = min(self.done + 1, self.total if most is None else most)
        self.tell(what)

    def jump(self, done):
        self.done = max(self.done, min(done, self.total))

    def finish(self):
        self.done = self.total
        self.tell("done")
