"""What `edgelaw.predict` computes with: exact curves of all orders, measured ones, and what measuring costs."""

import concurrent.futures
import time

import numpy as np

from edgelaw import kaczmarz, orders, spectrum
from edgelaw._common import arguments, threads
from edgelaw.curves import LearningCurve
from edgelaw.data import normalize_rows
from edgelaw.theory import flip_flop, iid, random_reshuffle, single_shuffle

THEORY = {
    "iid": iid,
    "random_reshuffle": random_reshuffle,
    "single_shuffle": single_shuffle,
    "flip_flop": flip_flop,
}
assert tuple(THEORY) == orders.ORDERS
SMALL = 1e-9  # below this a loss is continued by its last ratio where the theory refuses to go on
GRID = 0.2, 0.5, 0.85, 1.2, 1.5, 1.75  # steps tried in the search for the best
FEWEST_PROBES, MOST_RUNS = 16, 6
LARGEST_BYTES = 2**31  # a design beyond this is not held in memory
SMALLEST_PILOT = 64  # dimensions


def recorded(epochs):
    """The epochs to look at: all up to 200, then about a hundred a decade, the last one included."""
    if epochs <= 200:
        return np.arange(epochs + 1)
    late = np.geomspace(200, epochs, 2 + int(100 * np.log10(epochs / 200)))
    return np.union1d(np.arange(201), np.round(late).astype(np.int64))


def exact(order, eigenvalues, epochs, step, rho):
    """The exact curve from the eigenvalues of XᵀX/m, and from which epoch on it is continued, if it is.

    Where the theory refuses so many epochs because nothing is left, half as many are tried, and if both losses are
    below 1e-9 there, they are continued by their last ratios. ArithmeticError if there is no curve.
    """
    epochs = np.union1d(epochs, 0)
    if (eigenvalues > 0).sum() < 20:
        raise ArithmeticError(f"{(eigenvalues > 0).sum()} positive eigenvalues are too few for a spectrum.")
    try:
        return THEORY[order].curve(eigenvalues, epochs, step, rho), None
    except ArithmeticError as refusal:
        last = int(epochs[-1]) // 2
        if last < 2 or iid.curve(eigenvalues, [last], step, rho).train[-1] > 1e-5:
            raise  # much is left: half as many epochs would not help
        while last >= 2:
            try:
                found = THEORY[order].curve(eigenvalues, np.arange(last + 1), step, rho)
            except ArithmeticError:
                last //= 2
                continue
            if max(found.test[-1], found.train[-1]) > SMALL:
                break
            return _continued(found, epochs), last
        raise refusal


def _continued(found, epochs):
    """The curve at all `epochs`, beyond its own last one by its last ratio."""
    last = found.epochs[-1]
    losses = np.empty((2, len(epochs)))
    for row, loss in zip(losses, (found.test, found.train), strict=True):
        ratio = min(loss[-1] / loss[-2], 1.0) if loss[-2] > 0 else 0.0
        row[:] = np.where(
            epochs <= last,
            loss[np.minimum(epochs, last)],
            loss[-1] * ratio ** np.maximum(epochs - last, 0).astype(float),
        )
    return LearningCurve(epochs, *losses, *np.full((2, len(epochs)), np.nan), error=found.error)


def measure(X, order, epochs, step, rng, runs, probes, tick=lambda: None):
    """Losses of real runs on unit-norm-equal rows: means over `runs` orders, each from orthonormal starts.

    With as many starts as dimensions only the orders are left to chance, and IID's loss is its exact expectation.
    """
    m, d = X.shape
    if order == "iid" and probes == d:
        curve = iid.expected_curve(X, epochs, step, tolerance=1e-5)
        tick()
        return LearningCurve(
            curve.epochs, curve.test, curve.train, *np.zeros((2, len(curve.epochs))), error=1e-5
        )

    def run(child):
        starts = np.eye(d) if probes == d else np.linalg.qr(child.standard_normal((d, probes)))[0]
        walk = kaczmarz.iterates(
            X, order, int(epochs[-1]), starts, step=step, rng=child, record=epochs.tolist()
        )
        losses = [[(W**2).sum() / probes, ((X @ W) ** 2).sum() / (m * probes)] for _, W in walk]
        tick()
        return losses

    with concurrent.futures.ThreadPoolExecutor(min(runs, threads.cores())) as pool:
        losses = np.array(list(pool.map(run, rng.spawn(runs))))
    losses[:, 0] = 1.0
    mean, error = losses.mean(axis=0), losses.std(axis=0, ddof=1) / np.sqrt(runs)
    return LearningCurve(epochs, *mean.T, *error.T)


def seconds_per_epoch(X, probes):
    """How long an epoch of one run takes here and now, from a few hundred rows of it."""
    part, starts = X[:256], np.eye(X.shape[1])[:, :probes]
    best = np.inf
    for _ in range(3):
        before = time.perf_counter()
        for _ in kaczmarz.iterates(part, "random_reshuffle", 1, starts, rng=0):
            pass
        best = min(best, time.perf_counter() - before)
    return best * len(X) / len(part)


def plan(X, epochs, orders_wanted, seconds):
    """Runs and probes that fit into the time, as many as useful; None if not even a few do."""
    d = X.shape[1]
    cost = seconds_per_epoch(X, min(d, 256)) / min(d, 256) * epochs * orders_wanted  # a probe and a run
    for probes in sorted({d, d // 2, d // 4, max(FEWEST_PROBES, d // 8), min(d, 2 * FEWEST_PROBES)})[::-1]:
        runs = int(seconds / (cost * probes))
        if runs >= 3 and probes >= min(d, FEWEST_PROBES):
            return min(runs, MOST_RUNS), probes
    return None


def subset(design, rows, dims, rng):
    """A pilot: so many random rows, in so many random directions (a Haar projection), rows of equal norm again."""
    m, d = design.shape
    places = np.sort(rng.choice(m, rows, replace=False)) if rows < m else np.arange(m)
    part = design.take(places)
    if dims < d:
        part = part @ np.linalg.qr(rng.standard_normal((d, dims)))[0]
    return normalize_rows(part)


def pilot_size(shape, epochs, orders_wanted, seconds, rate):
    """Rows and dimensions of a pilot of the same aspect that fits, at `rate` seconds a row, dim, probe and epoch."""
    m, d = shape
    rho, dims = m / d, min(d, 1024)
    while dims > SMALLEST_PILOT:
        if rate * rho * dims**3 * epochs * orders_wanted * 3 <= seconds and rho * dims**2 * 8 < LARGEST_BYTES:
            break
        dims = int(dims * 0.8)
    dims = max(dims, min(d, SMALLEST_PILOT))
    return max(20, round(rho * dims)), dims


class Array:
    """An array in memory, as `edgelaw.inputs.Design` would be."""

    def __init__(self, X):
        X = arguments.matrix(X, minimum=2).astype(np.float64, copy=False)
        self.name, self.shape, self.bytes = "X", X.shape, X.nbytes
        norms = np.linalg.norm(X, axis=1)
        self.steps = ()
        if np.ptp(norms) > 1e-6 * norms.max():
            self.steps = ("Rows scaled to equal norm: the update does not see their lengths.",)
        self._X = normalize_rows(X)
        self.null = 0

    def take(self, places):
        """These rows."""
        return self._X[places]

    def matrix(self):
        """All rows."""
        return self._X

    def gram_eigenvalues(self, progress=None):
        """Eigenvalues of XᵀX/m."""
        return spectrum.gram_eigenvalues(self._X)


def best_steps(order, eigenvalues, epochs, rho, tick=lambda: None):
    """The step with the smallest loss at the last epoch, for test and training loss: (step, loss) each.

    Logarithms of the losses at six steps, a parabola through the best three, and its minimum if it is better.
    """
    last = np.array([epochs])
    tried = {}

    def losses(step):
        if step not in tried:
            curve, _ = exact(order, eigenvalues, last, step, rho)
            tried[step] = np.log(np.maximum([curve.test[-1], curve.train[-1]], 1e-290))
            tick()
        return tried[step]

    for step in GRID:
        losses(step)
    found = {}
    for i, loss in enumerate(("test", "train")):
        for _ in range(2):
            steps = sorted(tried)
            values = np.array([tried[step][i] for step in steps])
            k = int(np.clip(values.argmin(), 1, len(steps) - 2))
            a, b, _ = np.polyfit(steps[k - 1 : k + 2], values[k - 1 : k + 2], 2)
            middle = float(np.clip(-b / (2 * a), 0.05, 1.9)) if a > 0 else steps[values.argmin()]
            if values.argmin() == len(steps) - 1 and middle > steps[-1]:
                middle = 1.9
            if min(abs(middle - step) for step in steps) < 0.02:
                break
            losses(round(middle, 3))
        best = min(tried, key=lambda step, i=i: tried[step][i])
        found[loss] = (float(best), float(np.exp(tried[best][i])))
    return found
