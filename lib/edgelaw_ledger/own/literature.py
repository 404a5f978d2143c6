"""What the chapter on the literature compares: published bounds and rates, exact errors, means of products."""

import functools
import itertools
import math

import numpy as np

from edgelaw import data, exact
from edgelaw.exact import labels as noise
from edgelaw.kaczmarz import signal_and_noise
from edgelaw.orders import ORDERS
from edgelaw.theory import BY_ORDER, iid
from edgelaw.theory.regimes import orthogonal, products
from edgelaw_ledger.routes import mean_update, unit_rows

ROWS = 100  # along one axis, in the checks of rates


@functools.cache
def tuned(order, n, counts=(ROWS,), start=1.0):
    """The least excess training loss over constant steps."""
    return orthogonal.best_step(np.array(counts), n, order, start=start)[1]


def floor(order, step, rows=ROWS):
    """Where the squared error of equal rows along one axis ends."""
    return float(orthogonal.floor(rows, step, order))


def over_iid(order, n):
    """The tuned loss over IID's, two axes with 400 and 2 rows."""
    return tuned(order, n, (400, 2), 4e4) / tuned("iid", n, (400, 2), 4e4)


@functools.cache
def without_noise(order, n):
    """The exact test loss over IID's on Gaussian rows, m = d, step 1, no noise."""
    return float(BY_ORDER[order].test_loss(n) / iid.test_loss(n))


LEVELS = np.geomspace(1e-6, 1, 121)  # of noise, over the loss at the start
LOSSES = ("distance", "train")
GAUSSIAN, STRUCTURED = ("gaussian 2", "gaussian 4"), ("power law 4", "cifar10 4", "wikipedia 4")


@functools.cache
def over_reshuffle(design, loss, epochs):
    """Losses at each order's best step over random reshuffle's, (orders, levels); none is at the end of the grid."""
    steps, parts = noise.recorded_parts(design, loss, epochs)
    best, lowest = noise.best_steps(steps, parts, LEVELS)
    inside = np.isnan(best) | ((best > 1.01 * steps[0]) & (best < steps[-1] / 1.01))
    if not inside.all():
        raise ArithmeticError(f"A best step on {design} is at the end of the grid.")
    missing = [loss == "train" and order == "flip_flop" for order in ORDERS]
    if np.isnan(lowest).any(axis=1).tolist() != missing:
        raise ArithmeticError(f"More than flip-flop's training loss is missing on {design}.")
    return lowest / lowest[ORDERS.index("random_reshuffle")]


def _rows_of(design):
    """The unit rows of a design of the map, made again."""
    name, aspect = design.rsplit(" ", 1)
    count, dims = int(aspect) * 128, 128
    if name in ("gaussian", "power law"):
        X = np.random.default_rng(15).standard_normal((count, dims))
        X = X if name == "gaussian" else X / np.sqrt(np.arange(1, dims + 1))
    else:
        X = data.preprocess(data.load(name).features, rows=count, dims=dims, rng=15).X
    return data.normalize_rows(X) / math.sqrt(dims)


@functools.cache
def map_and_runs(places=(14, 20), runs=16):
    """Recorded parts, means and errors of runs after four epochs: (3, designs, steps, orders, losses, parts)."""
    designs, found = (*GAUSSIAN, *STRUCTURED), []
    for design, place in itertools.product(designs, places):
        X, step = _rows_of(design), float(data.sweep("noise_map")["steps"][place])
        recorded = [noise.recorded_parts(design, loss, 4)[1] for loss in LOSSES]
        for k, order in enumerate(ORDERS):
            run = signal_and_noise(X, order, [4], step, runs, rng=place)
            samples = np.array([[run.distance_signal, run.distance_noise], [run.signal, run.noise]])[..., 0]
            theory = [[part.signal[k, place], part.noise[k, place]] for part in recorded]
            found.append((theory, samples.mean(-1), samples.std(-1, ddof=1) / math.sqrt(runs)))
    return np.moveaxis(np.reshape(found, (len(designs), len(places), len(ORDERS), 3, 2, 2)), 3, 0)


@functools.cache
def map_against_runs():
    """Per cent between recorded parts and runs, and standard errors of runs; whether both have the same leaders."""
    theory, mean, error = map_and_runs()
    known = np.isfinite(theory)
    truth, drawn = (
        noise.leader(np.moveaxis(parts[..., :1] + parts[..., 1:] * LEVELS, 2, 0))
        for parts in (theory, np.where(known, mean, np.nan))
    )
    clear = (truth[0] >= 0) & (truth[1] > 1.1)
    return 100 * (theory / mean - 1)[known], 100 * (error / mean)[known], (truth[0] == drawn[0])[clear]


@functools.cache
def lines(step, n):
    """Mean products of projections on three lines at 60° in the plane, one of them visited twice, and the lines."""
    angles = np.deg2rad([0, 60, 60, 120])
    u = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    B = u[:, :, None] * u[:, None, :]
    return products.mean_products(B, step, n), B


def exact_kaczmarz(epochs=(1, 5, 20)):
    """IID's test loss of 12 rows in 4 dimensions by the library's curve, over powers of the 16 × 16 matrix."""
    U, unit = unit_rows(12, 4, np.random.default_rng(3)), np.eye(4).ravel()
    by_hand = [np.linalg.matrix_power(mean_update(U, 0.7), 12 * k) @ unit @ unit / 4 for k in epochs]
    return exact.expected_curve(U, epochs, 0.7).test[1:] / by_hand


def volterra():
    """IID's training loss on Gaussian rows, m = d, step 1, by its Volterra equation and the trapezoidal rule."""
    theta = (np.arange(400) + 0.5) * np.pi / 400
    values, weights = 2 - 2 * np.cos(theta), (1 + np.cos(theta)) / 400
    t = np.linspace(0, 10, 2001)
    decay = np.exp(-2 * np.outer(t, values))
    forcing, kernel = decay @ (weights * values), decay @ (weights * values**2)
    loss, h = forcing.copy(), t[1]
    for k in range(1, len(t)):
        past = kernel[k] * loss[0] / 2 + kernel[k - 1 : 0 : -1] @ loss[1:k]
        loss[k] = (forcing[k] + h * past) / (1 - h * kernel[0] / 2)
    return loss


def over_small_floor(bound, rows=2000, step=1e-7):
    """A bound over random reshuffle's exact floor, times η m, where η m is small."""
    return bound(rows, step) / floor("random_reshuffle", step, rows) * step * rows


def one_over_m(order, n):
    """Whether m times the tuned loss grows from 50 to 1600 rows by less than (log mn)²."""
    few, many = (m * tuned(order, n, (m,)) for m in (50, 1600))
    return bool(1 < many / few < (math.log(1600 * n) / math.log(50 * n)) ** 2)


@functools.cache
def bias_exponent(unit):
    """How fast the mean of an epoch's noise over all orders of five rows, unit rows or not, falls with the step."""
    X = np.random.default_rng(0).standard_normal((5, 2))
    X = X / np.linalg.norm(X, axis=1)[:, None] if unit else X
    r = np.random.default_rng(1).standard_normal(len(X))
    r -= X @ np.linalg.lstsq(X, r, rcond=None)[0]
    orders, norms = np.array(list(itertools.permutations(range(len(X))))), []
    for step in (0.004, 0.002):
        e = np.zeros((len(orders), X.shape[1]))
        for i in orders.T:
            e -= step * ((X[i] * e).sum(axis=1) - r[i])[:, None] * X[i]
        norms.append(np.linalg.norm(e.mean(axis=0)))
    return math.log2(norms[0] / norms[1])


def decay(order):
    """The exponent of the exact error of the mean over the second half of 2000 and 4000 epochs, steps 0.4 k^(-3/4)."""
    steps = 0.4 * np.arange(1.0, 4001.0) ** -0.75
    errors = [orthogonal.scheduled(ROWS, steps[:n], order, n // 2) for n in (2000, 4000)]
    return math.log2(errors[0] / errors[1])


def tail_average(keep=0.9, length=10**4):
    """The exact mean square of an average of IID's last 10⁴ updates over σ²/10⁴, one axis, step 0.1."""
    weights = (1 - keep ** np.arange(1, length + 1)) / (1 - keep)  # of the draws, in the sum of the iterates
    before = 0.1 / 1.9 * (keep * weights[-1]) ** 2
    return (0.01 * (weights @ weights) + before) / length


@functools.cache
def paired_reversal():
    """How fast the spread over all orders of five rows falls with the step: one epoch, and an epoch and its reverse."""
    U, spreads = unit_rows(5, 2, np.random.default_rng(0)), []
    for step in (0.002, 0.001):
        factors = np.eye(2) - step * U[:, :, None] * U[:, None, :]
        epochs = np.array(
            [np.linalg.multi_dot(factors[list(order)]) for order in itertools.permutations(range(5))]
        )
        pairs = epochs.swapaxes(1, 2) @ epochs
        spreads.append([np.linalg.norm(P - P.mean(axis=0), 2, axis=(1, 2)).max() for P in (epochs, pairs)])
    return np.log2(np.divide(spreads[0], spreads[1]))


@functools.cache
def noncommutative_means():
    """Norms of random reshuffle's mean over gradient descent's, 300 random triples of projections, five steps."""
    rng, ratios = np.random.default_rng(0), []
    for step, _ in itertools.product((0.05, 0.2, 0.5, 0.8, 1.0), range(60)):
        u = unit_rows(3, 3, rng)
        _, fresh, descent = products.mean_products(u[:, :, None] * u[:, None, :], step, 2).norms
        ratios.append(fresh / descent)
    return max(ratios)


def leading_orders(step, n=5):
    """Differences of exact mean products over their leading terms, four projections, 5 epochs."""
    (once, fresh, descent), B = lines(step, n)
    first = np.trace(descent - fresh) / (step**2 * n * np.trace(products.replacement_gap(B)))
    later = np.trace(fresh - once) / (step**4 * math.comb(n, 2) * np.trace(products.shuffle_gap(B)))
    return np.array([first, later])
