"""Checks of the chapter on the literature: published bounds and rates beside exact errors, and means of products."""

import functools
import itertools
import math

import numpy as np

from edgelaw import data, exact
from edgelaw.exact import labels as noise
from edgelaw.kaczmarz import signal_and_noise
from edgelaw.laws import MarchenkoPastur
from edgelaw.orders import ORDERS
from edgelaw.theory import BY_ORDER, iid, random_reshuffle
from edgelaw.theory.regimes import orthogonal, products, published
from edgelaw_ledger.evidence import Evidence, compared, least, most, near, true

ROWS = 100  # along one axis, in the checks of rates
_NEAR = 0.005  # relative, of every number that a row of the tables states


@functools.cache
def _tuned(order, n, counts=(ROWS,), start=1.0):
    """The least excess training loss over constant steps."""
    return orthogonal.best_step(np.array(counts), n, order, start=start)[1]


def _floor(order, step):
    return orthogonal.floor(ROWS, step, order)


# summary ---------------------------------------------------------------------------------------------------


def floors(*, once: float = 0.0168, fresh: float = 0.000842) -> Evidence:
    """Exact floors of single shuffle and random reshuffle over IID's, 100 rows along one axis, step 0.001."""
    base = _floor("iid", 0.001)
    return compared(
        near("single shuffle", _floor("single_shuffle", 0.001) / base, once, _NEAR),
        near("random reshuffle", _floor("random_reshuffle", 0.001) / base, fresh, _NEAR),
    )


def without_noise(*, once: float = 0.720, fresh: float = 0.810, first: float = 0.733) -> Evidence:
    """Exact test losses over IID's on Gaussian rows, m = d, step 1, after 50 epochs and after the first."""
    n, rows = np.array([1, 50]), []
    for order, stated in (("single_shuffle", once), ("random_reshuffle", fresh)):
        early, late = BY_ORDER[order].test_loss(n) / iid.test_loss(n)
        rows += [near(f"{order}, 50 epochs", late, stated, _NEAR), near("first epoch", early, first, _NEAR)]
    return compared(*rows)


def _over_iid(order, n):
    """The tuned loss over IID's, two axes with 400 and 2 rows."""
    return _tuned(order, n, (400, 2), 4e4) / _tuned("iid", n, (400, 2), 4e4)


def condition_number(*, early: float = 0.869, late: float = 0.181) -> Evidence:
    """Tuned losses of random reshuffle over IID's on two axes with 400 and 2 rows, at 50 and 1000 epochs."""
    return compared(
        near("50 epochs", _over_iid("random_reshuffle", 50), early, _NEAR),
        near("1000 epochs", _over_iid("random_reshuffle", 1000), late, _NEAR),
    )


LEVELS = np.geomspace(1e-6, 1, 121)  # of noise, over the loss at the start
LOSSES = ("distance", "train")
GAUSSIAN, STRUCTURED = ("gaussian 2", "gaussian 4"), ("power law 4", "cifar10 4", "wikipedia 4")


@functools.cache
def _over_reshuffle(design, loss, epochs):
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


def map_of_orders(*, lead: float = 1.026, once: float = 0.846, back: float = 0.814) -> Evidence:
    """Exact losses at each order's best step over random reshuffle's: three spectra at every noise, one at two."""
    others = [k for k, order in enumerate(ORDERS) if order != "random_reshuffle"]
    leads = [
        np.nanmin(_over_reshuffle(*cell)[others]) for cell in itertools.product(STRUCTURED, LOSSES, (4, 20))
    ]
    single, flip = ORDERS.index("single_shuffle"), ORDERS.index("flip_flop")
    ends = _over_reshuffle("gaussian 4", "distance", 4)[:, [0, -1]]
    return compared(
        least("every other order behind by", min(leads), lead),
        near("single shuffle on Gaussian rows, noise 1e-6", ends[single, 0], once, _NEAR),
        near("flip-flop at noise 1", ends[flip, 1], back, _NEAR),
        true("they lead there", ends.argmin(axis=0).tolist() == [single, flip]),
    )


def drawing_is_behind(*, lead: float = 1.34) -> Evidence:
    """IID's exact losses at its best step over random reshuffle's, five spectra, both losses, every noise."""
    cells = itertools.product((*GAUSSIAN, *STRUCTURED), LOSSES, (4, 20))
    return compared(
        least("IID over", min(_over_reshuffle(*cell)[ORDERS.index("iid")].min() for cell in cells), lead)
    )


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
def _map_and_runs(places=(14, 20), runs=16):
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


def map_against_runs(
    *, numbers: float = 140.0, spread: float = 1.31, own: float = 1.11, worst: float = 5.8
) -> Evidence:
    """Recorded parts of both losses on all five designs at two steps against 16 runs of each order, and the leaders."""
    theory, mean, error = _map_and_runs()
    known = np.isfinite(theory)
    gaps, errors = 100 * (theory / mean - 1)[known], 100 * (error / mean)[known]
    truth, drawn = (
        noise.leader(np.moveaxis(parts[..., :1] + parts[..., 1:] * LEVELS, 2, 0))
        for parts in (theory, np.where(known, mean, np.nan))
    )
    clear = (truth[0] >= 0) & (truth[1] > 1.1)
    return compared(
        near("recorded parts", gaps.size, numbers, 0),
        most("root mean square, per cent", np.sqrt((gaps**2).mean()), spread),
        near("of the standard errors", np.sqrt((errors**2).mean()), own, 0.01),
        most("largest", np.abs(gaps).max(), worst),
        true(f"the same leader in {clear.sum()} clear cells", bool((truth[0] == drawn[0])[clear].all())),
    )


def _lines():
    """Three lines at 60° in the plane, one of them visited twice, as projections."""
    angles = np.deg2rad([0, 60, 60, 120])
    u = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return u[:, :, None] * u[:, None, :]


def open_problem(*, overtakes: float = 69.0) -> Evidence:
    """Norms of the mean products of four projections at step ½, epochs 1 to 300, and of a small step."""
    B = _lines()
    norms = (products.mean_products(B, 0.5, n).norms for n in range(1, 301))
    above = [n for n, (once, fresh, _) in enumerate(norms, 1) if once > fresh]
    small = products.mean_products(B, 0.01, 10).norms
    return compared(
        near("first epoch above, at step 1/2", above[0], overtakes, 0),
        true("above from there on, up to epoch 300", above == list(range(above[0], 301))),
        true("below after 10 epochs at step 0.01", small[0] < small[1]),
        true("the leading difference is positive", np.linalg.eigvalsh(products.shuffle_gap(B)).min() > 0),
    )


# rows of the tables: no noise ------------------------------------------------------------------------------


def strohmer_vershynin(*, first: float = 3.66, tenth: float = 246.0) -> Evidence:
    """The bound over IID's exact test loss on Gaussian rows, m = 2d, step 1, at 1 and 10 epochs."""
    n = np.arange(1, 51)
    ratios = published.strohmer_vershynin(n, 2 * MarchenkoPastur(2.0).support[0]) / iid.test_loss(n, 1.0, 2.0)
    return compared(
        near("epoch 1", ratios[0], first, _NEAR),
        near("epoch 10", ratios[9], tenth, _NEAR),
        true("a bound up to epoch 50", bool((ratios > 1).all())),
    )


def exact_kaczmarz(*, ratio: float = 1.0) -> Evidence:
    """IID's test loss of 12 rows in 4 dimensions by powers of the 16 × 16 matrix, over the library's curve."""
    X = np.random.default_rng(3).standard_normal((12, 4))
    U = X / np.linalg.norm(X, axis=1)[:, None]
    updates = [np.eye(4) - 0.7 * np.outer(u, u) for u in U]
    lifted = np.mean([np.kron(P, P) for P in updates], axis=0)
    unit, n = np.eye(4).ravel(), (1, 5, 20)
    by_hand = [np.linalg.matrix_power(lifted, 12 * k) @ unit @ unit / 4 for k in n]
    ratios = exact.expected_curve(X, n, 0.7).test[1:] / by_hand
    return compared(*(near(f"epoch {k}", value, ratio, 1e-9) for k, value in zip(n, ratios, strict=True)))


def volterra(*, ratio: float = 1.0) -> Evidence:
    """A Volterra equation for IID's training loss on Gaussian rows, m = d, step 1, solved by the trapezoidal rule."""
    theta = (np.arange(400) + 0.5) * np.pi / 400
    values, weights = 2 - 2 * np.cos(theta), (1 + np.cos(theta)) / 400
    t = np.linspace(0, 10, 2001)
    decay = np.exp(-2 * np.outer(t, values))
    forcing, kernel = decay @ (weights * values), decay @ (weights * values**2)
    loss, h = forcing.copy(), t[1]
    for k in range(1, len(t)):
        past = kernel[k] * loss[0] / 2 + kernel[k - 1 : 0 : -1] @ loss[1:k]
        loss[k] = (forcing[k] + h * past) / (1 - h * kernel[0] / 2)
    return compared(
        *(near(f"epoch {n}", loss[200 * n] / iid.train_loss(n), ratio, 1e-3) for n in (1, 10)),
    )


def after_any_epoch(*, first: float = 0.733, largest: float = 0.814) -> Evidence:
    """Exact test losses of random reshuffle over IID's, Gaussian rows, m = d, step 1, epochs 1 to 100."""
    n = np.arange(1, 101)
    ratios = random_reshuffle.test_loss(n) / iid.test_loss(n)
    return compared(near("epoch 1", ratios[0], first, _NEAR), most("at most", ratios.max(), largest))


def mean_epoch(*, below: float = 0.125, above: float = -1.0) -> Evidence:
    """The mean epoch of random reshuffle on Gaussian rows against gradient descent's, at a step of 0.001."""
    values, step = np.array([0.5, 2.0]), 1e-3
    second = (1 - step * values - random_reshuffle.mean_epoch(values, step)) / step**2
    return compared(near("at 0.5", second[0], below, _NEAR), near("at 2", second[1], above, _NEAR))


# rows of the tables: noise ---------------------------------------------------------------------------------


def needell_srebro_ward(*, one_axis: float = 3.0, gaussian: float = 35.0, limit: float = 2.0) -> Evidence:
    """The floor of the bound over IID's exact one: one axis at step ½ and η → 0, Gaussian rows, m = 2d, at step ½."""
    bound = float(published.needell_srebro_ward(10**6, 1.0, 0.5)) / (0.5 / 1.5)
    never_below = all(
        published.needell_srebro_ward(k, 1.0, step) >= orthogonal.curve([2], k // 2, step).item()
        for k, step in itertools.product((2, 20, 200), (0.01, 0.3, 0.9))
    )
    small = 1e-6
    last = float(published.needell_srebro_ward(10**9, 1.0, small)) / (small / (2 - small))
    return compared(
        near("one axis", bound, one_axis, _NEAR),
        near("Gaussian rows", bound / MarchenkoPastur(2.0).support[0], gaussian, _NEAR),
        near("one axis, step to 0", last, limit, _NEAR),
        true("a bound on one axis", never_below),
    )


def _over_small_floor(bound, rows=2000, step=1e-7):
    """A bound over random reshuffle's exact floor, times η m, where η m is small."""
    return bound(rows, step) / orthogonal.floor(rows, step, "random_reshuffle") * step * rows


def shuffling_variance(*, once: float = 5.94, fresh: float = 119.0, twelve: float = 12.0) -> Evidence:
    """Half of η²m over the exact floors of single shuffle and random reshuffle, 100 rows, step 0.001, and as ηm → 0."""
    bound, orders = published.shuffled_floor, ("single_shuffle", "random_reshuffle")
    cells = itertools.product(np.geomspace(1e-5, 1, 40), orders)
    return compared(
        near("single shuffle", bound(ROWS, 0.001) / _floor(orders[0], 0.001), once, _NEAR),
        near("random reshuffle", bound(ROWS, 0.001) / _floor(orders[1], 0.001), fresh, _NEAR),
        near("times step times rows", _over_small_floor(bound), twelve, _NEAR),
        true("a bound at 40 steps", all(bound(ROWS, step) >= _floor(order, step) for step, order in cells)),
    )


def _budgets(order, scale, early, late):
    """The tuned loss times a function of the epochs at 10 and 1000, and m times it, which grows by logarithms only."""
    rows = []
    for n, stated in ((10, early), (1000, late)):
        few, many = (m * _tuned(order, n, (m,)) for m in (50, 1600))
        logs = math.log(1600 * n) / math.log(50 * n)
        rows.append(near(f"{n} epochs", _tuned(order, n) * scale(n), stated, _NEAR))
        rows.append(true("50 to 1600 rows: 1/m up to (log mn)²", bool(1 < many / few < logs**2)))
    return rows


def single_shuffle_rate(*, early: float = 2.52, late: float = 8.11) -> Evidence:
    """Single shuffle's tuned loss times m n², 100 rows along one axis, 10 and 1000 epochs."""
    return compared(*_budgets("single_shuffle", lambda n: ROWS * n**2, early, late))


def reshuffle_rate(*, early: float = 8.46, late: float = 74.1) -> Evidence:
    """Random reshuffle's tuned loss times m n³, 100 rows along one axis, 10 and 1000 epochs."""
    return compared(*_budgets("random_reshuffle", lambda n: ROWS * n**3, early, late))


def haochen_sra(*, early: float = 0.0845, late: float = 0.674) -> Evidence:
    """Random reshuffle's tuned loss over 1/(mn)² + 1/n³, 100 rows along one axis, 10 and 1000 epochs."""
    return compared(
        *_budgets("random_reshuffle", lambda n: 1 / ((ROWS * n) ** -2 + n**-3), early, late),
    )


def not_quadratic(*, early: float = 0.846, late: float = 0.0741) -> Evidence:
    """Random reshuffle's tuned loss times m n², 100 rows along one axis, 10 and 1000 epochs."""
    return compared(*_budgets("random_reshuffle", lambda n: ROWS * n**2, early, late))


def flip_flop_rate(*, early: float = 32.8, late: float = 916.0, forty_five: float = 45.0) -> Evidence:
    """Flip-flop's tuned loss times m n⁴ at 10 and 1000 epochs, and its floor at a small step, many rows."""
    small = (1e-7) ** 4 * 1000**3 / orthogonal.floor(1000, 1e-7, "flip_flop")
    return compared(
        *_budgets("flip_flop", lambda n: ROWS * n**4, early, late),
        near("its floor, inverted", small, forty_five, _NEAR),
    )


def _bias_exponent(X):
    """How fast the mean of an epoch's noise over all orders falls with the step."""
    r = np.random.default_rng(1).standard_normal(len(X))
    r -= X @ np.linalg.lstsq(X, r, rcond=None)[0]
    orders, norms = np.array(list(itertools.permutations(range(len(X))))), []
    for step in (0.004, 0.002):
        e = np.zeros((len(orders), X.shape[1]))
        for i in orders.T:
            e -= step * ((X[i] * e).sum(axis=1) - r[i])[:, None] * X[i]
        norms.append(np.linalg.norm(e.mean(axis=0)))
    return math.log2(norms[0] / norms[1])


def mean_of_an_epoch(*, unit: float = 3.0, other: float = 2.0) -> Evidence:
    """How fast the mean of an epoch's noise falls with the step, all orders of five rows, unit rows or not."""
    X = np.random.default_rng(0).standard_normal((5, 2))
    return compared(
        near("exponent, unit rows", _bias_exponent(X / np.linalg.norm(X, axis=1)[:, None]), unit, _NEAR),
        near("other rows", _bias_exponent(X), other, _NEAR),
    )


def sorted_rows(*, few: float = 12.3, more: float = 58.5) -> Evidence:
    """The tuned loss of sorted targets over IID's on two axes with 400 and 2 rows, at 20 and 100 epochs."""
    rows = [
        near(f"{n} epochs", _over_iid("sorted", n), stated, _NEAR) for n, stated in ((20, few), (100, more))
    ]
    ahead = max(_over_iid("random_reshuffle", n) for n in (20, 100)) < 1
    return compared(*rows, true("in random order ahead of IID", bool(ahead)))


def reshuffle_dominates(*, small: float = 238.0, large: float = 2.78, many: float = 24.0) -> Evidence:
    """min(1, ηm) η over random reshuffle's exact floor, 100 rows along one axis, steps 0.001, 1/16, and as ηm → 0."""

    def bound(rows, step):
        return min(1, step * rows) * step

    steps = np.geomspace(1e-5, 1 / 16, 30)
    ratios = [bound(ROWS, step) / _floor("random_reshuffle", step) for step in steps]
    return compared(
        near("step 0.001", bound(ROWS, 0.001) / _floor("random_reshuffle", 0.001), small, _NEAR),
        near("step 1/16", ratios[-1], large, _NEAR),
        near("times step times rows", _over_small_floor(bound), many, _NEAR),
        true("least at the largest of 30 steps", min(ratios) == ratios[-1]),
    )


def decaying_steps(*, drawn: float = 0.75, once: float = 1.5, fresh: float = 2.25) -> Evidence:
    """Exponents of the exact errors between epochs 2000 and 4000 with steps 0.4 k^(-3/4), 100 rows along one axis."""
    steps, rows = 0.4 * np.arange(1.0, 4001.0) ** -0.75, []
    for order, stated in (("iid", drawn), ("single_shuffle", once), ("random_reshuffle", fresh)):
        early, late = (orthogonal.scheduled(ROWS, part, order) for part in (steps[:2000], steps))
        rows.append(near(order, math.log2(early / late), stated, _NEAR))
    return compared(*rows)


def tail_average(*, share: float = 0.999) -> Evidence:
    """The exact mean square of an average of IID's last 10⁴ updates over σ²/10⁴, one axis, step 0.1."""
    keep, length = 0.9, 10**4
    weights = (1 - keep ** np.arange(1, length + 1)) / (1 - keep)  # of the draws, in the sum of the iterates
    before = 0.1 / 1.9 * (keep * weights[-1]) ** 2
    truth = (0.01 * (weights @ weights) + before) / length
    return compared(least("share", truth, share), true("below 1", bool(truth < 1)))


def paired_reversal(*, single: float = 2.0, paired: float = 3.0) -> Evidence:
    """How fast the spread over all orders of five rows falls with the step: one epoch, and an epoch and its reverse."""
    rows = np.random.default_rng(0).standard_normal((5, 2))
    U = rows / np.linalg.norm(rows, axis=1)[:, None]
    spreads = []
    for step in (0.002, 0.001):
        factors = np.eye(2) - step * U[:, :, None] * U[:, None, :]
        epochs = np.array(
            [np.linalg.multi_dot(factors[list(order)]) for order in itertools.permutations(range(5))]
        )
        pairs = epochs.swapaxes(1, 2) @ epochs
        spreads.append([np.linalg.norm(P - P.mean(axis=0), 2, axis=(1, 2)).max() for P in (epochs, pairs)])
    slopes = np.log2(np.divide(spreads[0], spreads[1]))
    return compared(
        near("an epoch", slopes[0], single, _NEAR), near("and its reverse", slopes[1], paired, _NEAR)
    )


# rows of the tables: products ------------------------------------------------------------------------------


def noncommutative_means(*, largest: float = 1.0) -> Evidence:
    """Norms of random reshuffle's mean over gradient descent's, 300 random triples of projections, five steps."""
    rng, ratios = np.random.default_rng(0), []
    for step, _ in itertools.product((0.05, 0.2, 0.5, 0.8, 1.0), range(60)):
        u = rng.standard_normal((3, 3))
        u /= np.linalg.norm(u, axis=1)[:, None]
        _, fresh, descent = products.mean_products(u[:, :, None] * u[:, None, :], step, 2).norms
        ratios.append(fresh / descent)
    return compared(most("at most", max(ratios), largest), true("below 1", bool(max(ratios) < 1)))


def leading_orders(*, second: float = 1.0, fourth: float = 1.0) -> Evidence:
    """Differences of exact mean products over their leading terms, four projections, 5 epochs, step to 0."""
    B, n, ratios = _lines(), 5, []
    for step in (0.004, 0.002):
        once, fresh, descent = products.mean_products(B, step, n)
        first = np.trace(descent - fresh) / (step**2 * n * np.trace(products.replacement_gap(B)))
        later = np.trace(fresh - once) / (step**4 * math.comb(n, 2) * np.trace(products.shuffle_gap(B)))
        ratios.append(np.array([first, later]))
    limits = 2 * ratios[1] - ratios[0]
    return compared(
        near("step squared", limits[0], second, _NEAR), near("to the fourth", limits[1], fourth, _NEAR)
    )


def slow_rates(*, descent: float = 1.0, fresh: float = 1.5, once: float = 2.0) -> Evidence:
    """Decay of the slowest direction of the mean per epoch and eigenvalue, Gaussian rows, m = d, step 1."""
    small, rows = 1e-6, 1000
    return compared(
        near("gradient descent", (1 - (1 - small / rows) ** rows) / small, descent, _NEAR),
        near("random reshuffle", (1 - float(random_reshuffle.mean_epoch(small, 1.0))) / small, fresh, _NEAR),
        near("single shuffle", BY_ORDER["single_shuffle"].effective_step(1.0), once, _NEAR),
    )
