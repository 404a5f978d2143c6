"""Checks of the summaries on spectra: the universal gap, any spectrum, real embeddings, the Transformer's head.

What is measured is read from the recorded sweeps, whose cards say how they were made; what is derived is computed by a
second route. The numbers that a sentence states are the keywords of its check.
"""

import functools
import itertools
import math

import numpy as np
from scipy import optimize

from edgelaw import data, exact, kaczmarz, shipped, spectrum
from edgelaw.exact import labels as noise
from edgelaw.orders import ORDERS
from edgelaw.theory import gap, gradient_descent, iid, regimes, single_shuffle
from edgelaw_ledger.evidence import Evidence, at_least, at_most, decide
from edgelaw_ledger.routes import constant

SEEDS = range(8)  # of the preprocessing, in the sweep on real embeddings
SHAPES = ((32, 2), (64, 2), (128, 2), (256, 2), (64, 1), (64, 4))  # width and depth of the trained models


def _stated(pairs, tolerance=0.0, *, most=None, least=None, also=True):
    """Evidence that all measured numbers are the stated ones, and that what else the sentence says is true.

    Each mapping has a name and (measured, stated). `pairs` are equal up to `tolerance`, relative and below 1.1 %, or
    2 % could pass; `most` are upper and `least` lower bounds, true and tight.
    """
    most, least = most or {}, least or {}
    near = all(abs(measured / stated - 1) < tolerance for measured, stated in pairs.values())
    bounded = all(itertools.starmap(at_most, most.values())) and all(
        itertools.starmap(at_least, least.values())
    )
    named = {**pairs, **most, **least}
    tolerances = [f"relative {tolerance:g} on each"] if pairs else []
    if most or least:
        tolerances.append(f"{' and '.join([*most, *least])}: true bounds that 2 % would loosen")
    return decide(
        bool(near and bounded and also),
        measured="; ".join(f"{name} {measured:.4g}" for name, (measured, _) in named.items())
        + ("" if also else "; the rest of the sentence does not hold"),
        claimed="; ".join(f"{name} {stated:.4g}" for name, (_, stated) in named.items()),
        tolerance="; ".join(tolerances),
    )


# ------------------------------------------------------------------------------------------------ chapter 8: the gap


@functools.cache
def _isotropic_gains():
    """IID's test constant over single shuffle's for isotropic rows at steps up to 1.98, from exact losses."""
    steps = {0.1: 1600, 0.5: 1600, 1.0: 1600, 1.5: 6400, 1.9: 400_000, 1.98: 4_000_000}
    return {
        step: constant(iid.test_loss, 0.5, step, start) / constant(single_shuffle.test_loss, 0.5, step, start)
        for step, start in steps.items()
    }


def haar_gap(*, half: float = 0.5) -> Evidence:
    """Limits of exact isotropic losses at steps up to 1.98, and steps extrapolated on Haar designs of seven edges."""
    gains = _isotropic_gains()
    wrong = max(abs(gain / (1 - half * step) ** -0.5 - 1) for step, gain in gains.items())
    sweep = data.sweep("universal_gap")
    value, systematic = np.moveaxis(sweep["single_shuffle_limit"], -1, 0)
    law = sweep["steps"] / (1 - half * sweep["steps"])
    error = np.hypot(sweep["single_shuffle_limit_se"][..., 0], systematic) / law
    sharp = error < 0.1
    far = (np.abs(value / law - 1) >= 3 * error + 0.01) & sharp
    return decide(
        bool(wrong < 1e-3 and not far.any() and sharp.sum() >= 35),
        measured=f"isotropic ratios at steps 0.1 to 1.98 within {wrong:.1e}; {far.sum()} of {sharp.sum()} sharp cells "
        "at exponents 1/14 to 3/2 miss",
        claimed=f"(1 - {half:g} eta)^(-beta)",
        tolerance="relative 0.001; 3 error bars and 1 % on Haar designs",
    )


def late_limit(*, equivalent: float = 1.43, law: float = 2.0) -> Evidence:
    """Single shuffle's equivalent step after 64 epochs at exponent 1/7 and step 1, in the sweep on Haar designs."""
    sweep = data.sweep("universal_gap")
    row = int(np.abs(sweep["betas"] - 1 / 7).argmin())
    column = int(np.abs(sweep["steps"] - 1).argmin())
    equivalent_step = sweep["single_shuffle_step"][row, column, list(sweep["epochs"]).index(64)]
    values = data.power_law_eigenvalues(400, 1 / 7)
    return _stated(
        {
            "equivalent step": (equivalent_step, equivalent),
            "law": (exact.effective_step("single_shuffle", 1.0, values), law),
        },
        0.005,
    )


def training_at_any_edge(
    *,
    half: float = 0.5,
    twelfth: float = 1 / 12,
    sixth: float = 1 / 6,
    broad: float = 0.0107,
    square: float = 0.0068,
    flat: float = 0.0027,
) -> Evidence:
    """Exact isotropic training losses at steps up to 1.9 for the constants; Haar designs of three edges at step 0.5."""

    def law(values, n, step):
        a = 1 / step - half
        norm = a**2 + twelfth + sixth * values.var()
        return norm / a**2 * (values * np.exp(-2 * n * values / a)).mean()

    wrong = 0.0
    for step, start in {0.5: 1600, 1.0: 1600, 1.5: 6400, 1.9: 400_000}.items():
        a = 1 / step - half  # Q = 2/pi at exponent 1/2, and variance 1
        formula = (a**2 + twelfth + sixth) / (4 * math.sqrt(2 * math.pi * a))
        wrong = max(wrong, abs(constant(single_shuffle.train_loss, 1.5, step, start) / formula - 1))
    rng, d, n, gaps = np.random.default_rng(5), 300, 64, []
    for beta in (0.3, 0.5, 1.0):
        U = data.normalize_rows(data.power_law(d, d, beta, rng)) / math.sqrt(d)
        values = np.linalg.svd(U, compute_uv=False) ** 2
        late = np.linalg.matrix_power(kaczmarz.epoch_matrix(U, 0.5), n)
        gaps.append(((U @ late) ** 2).sum() / d / law(values, n, 0.5) - 1)
    return _stated(
        {},
        most={
            name: (gap_, stated)
            for name, gap_, stated in zip(
                ("above at 0.3", "at 1/2", "at 1"), gaps, (broad, square, flat), strict=True
            )
        },
        also=wrong < 1e-3,
    )


def laws_kept(*, fresh: float = 0.0186, above: float = 2.85, below: float = 0.324) -> Evidence:
    """Test losses after 64 epochs over the laws on the designs' own eigenvalues: nine shuffled kinds, three steps."""
    sweep = data.sweep("universal_gap")
    ratio = sweep["design_over_law"][..., list(sweep["design_epochs"]).index(64)]  # kinds, steps, orders
    shuffled = ~np.isnan(ratio).any(axis=(1, 2))
    ratio = ratio[shuffled]
    return _stated(
        {},
        most={
            "IID and reshuffle off by": (np.abs(ratio[..., :2] - 1).max(), fresh),
            "single shuffle": (ratio[..., 2].max(), above),
        },
        least={"flip-flop": (ratio[..., 3].min(), below)},
        also=ratio.shape == (9, 3, 4)
        and {"cifar10", "wikipedia"} <= set(sweep["designs"][shuffled].tolist()),
    )


def _cluster_by_eigenvalues(size, step, beta=0.5, spread=1e-4):
    """The ratio of constants from the slow eigenvalues of one cluster's epoch matrix."""
    U = gap.cluster_rows(size, spread)
    slow = np.linalg.eigvalsh(U @ U.T)[0]
    rates = 1 - np.linalg.eigvals(kaczmarz.epoch_matrix(U, step))
    rates = np.sort(rates.real)[: size - 1] / slow  # the fast direction's rate is of order one
    return step**-beta / np.mean(rates**-beta)


def clusters_reverse(*, reverse: float = 0.967, restored: float = 1.0013) -> Evidence:
    """The formula at every size up to 1000, and eigenvalues of clusters' epoch matrices at sizes 6 and 300."""
    sizes = range(6, 1001)
    reversed_at_one = all(gap.cluster_gain(k, 1.0) < 1 for k in sizes)
    restored_by_small = all(gap.cluster_gain(k, 1 / k) > 1 for k in range(2, 1001))
    six, many = _cluster_by_eigenvalues(6, 1.0), _cluster_by_eigenvalues(300, 0.01)
    agree = (
        abs(six / gap.cluster_gain(6, 1.0) - 1) < 1e-4 and abs(many / gap.cluster_gain(300, 0.01) - 1) < 1e-4
    )
    return _stated(
        {"k = 6, step 1": (six, reverse), "k = 300, step 0.01": (many, restored)},
        0.002,
        also=reversed_at_one and restored_by_small and agree,
    )


# --------------------------------------------------------------------------------------------- chapter 9: any spectrum


def _largest_off(measured, predicted):
    """Largest relative deviation of test and training loss: (2,); losses are the last but one axis."""
    others = tuple(k for k in range(np.ndim(measured)) if k != np.ndim(measured) - 2)
    return np.abs(measured / predicted - 1).max(axis=others)


def embeddings_by_eigenvalues(*, test: float = 0.0069, train: float = 0.0212) -> Evidence:
    """Losses of four orders measured from all starts on two sets of embeddings over curves from their eigenvalues."""
    sweep = data.sweep("embedding_traces")
    deviations = _largest_off(sweep["measured"], sweep["predicted"])
    full = sweep["measured"].shape[3] == len(ORDERS) and sweep["steps"].tolist() == [0.5, 1.0, 1.5]
    bounds = {"test off by": (deviations[0], test), "training": (deviations[1], train)}
    return _stated({}, most=bounds, also=full)


def matrices_of_1600(*, test: float = 0.00207, train: float = 0.00502) -> Evidence:
    """Losses of four orders on three matrices of 1600 Gaussian rows over curves from their eigenvalues."""
    sweep = data.sweep("any_spectrum")
    names = ("two-point", "uniform", "j^(-1/2)")
    deviations = np.max(
        [_largest_off(sweep[f"measured {name} 1600"], sweep[f"predicted {name} 1600"]) for name in names],
        axis=0,
    )
    full = sweep["steps"].tolist() == [0.5, 1.0, 1.5] and sweep["epochs"][[0, -1]].tolist() == [1, 50]
    return _stated(
        {"test off by": (deviations[0], test), "training": (deviations[1], train)}, 0.005, also=full
    )


@functools.cache
def _training_over_decrease(step):
    """Training loss over the decrease of the test loss per epoch, n → ∞, for a covariance of two eigenvalues."""
    first = np.array([500, 2000, 8000])
    curve = exact.population_curve("single_shuffle", (0.4, 1.6), np.sort(np.append(first, first + 1)), step)
    x, y, z = curve.train[1::2] / (curve.test[1::2] - curve.test[2::2])
    return (4 * (2 * z - y) - (2 * y - x)) / 3  # an expansion in n^(-1/2)


@functools.cache
def _training_on_haar_rows(beta, step, size, seed):
    """The same after 64 epochs on a Haar design of an edge, from all starts, and the variance of its eigenvalues."""
    U = data.normalize_rows(data.power_law(size, size, beta, np.random.default_rng(seed))) / math.sqrt(size)
    A = kaczmarz.epoch_matrix(U, step)
    P = np.linalg.matrix_power(A, 64)
    decrease = (P**2).sum() - ((A @ P) ** 2).sum()
    return ((U @ P) ** 2).sum() / decrease, np.linalg.eigvalsh(U @ U.T).var()


def training_at_an_edge(
    *, twelfth: float = 1 / 12, sixth: float = 1 / 6, size: int = 200, seed: int = 3
) -> Evidence:
    """Training loss over the decrease of the test loss: limits of exact curves, and Haar designs of edges 0.3 and 1."""
    truth, designs = 0.0, 0.0
    for step in (0.5, 1.0, 1.4):
        a, second = (
            1 / step - 0.5,
            (0.4**2 + 1.6**2) / 2,
        )  # the free cumulant of a square sample of this covariance
        truth = max(truth, abs(_training_over_decrease(step) * 2 * a / (a**2 + twelfth + second * sixth) - 1))
    for beta in (0.3, 1.0):
        measured, variance = _training_on_haar_rows(beta, 0.5, size, seed)
        designs = max(designs, abs(measured * 3 / (1.5**2 + twelfth + variance * sixth) - 1))
    return decide(
        bool(truth < 1e-3 and designs < 0.03),
        measured=f"limits of exact curves within {truth:.1e}; designs after 64 epochs at step 0.5 within {designs:.1%}",
        claimed=f"(a^2 + {twelfth:.4g} + {sixth:.4g} kappa_2) / (2a)",
        tolerance="relative 0.001 for the limits (steps 0.5, 1, 1.4), 0.03 for the designs",
    )


def best_orders_on_the_map(
    *,
    high: float = 180.0,
    low: float = 88.0,
    iid_least: float = 0.142,
    iid_most: float = 0.275,
    once_least: float = 0.148,
    once_most: float = 0.374,
) -> Evidence:
    """Exact test losses after 50 epochs on seven spectra, each order at its best step, which is inside the grid."""
    table = data.sweep("order_map")
    losses = table["losses"][..., 0, list(table["epochs"]).index(50)]  # spectra, steps, orders
    inside = (losses.argmin(axis=1) > 0) & (losses.argmin(axis=1) < len(table["steps"]) - 1)
    best = losses.min(axis=1)
    winner = np.array(ORDERS)[best.argmin(axis=1)]
    once, again = winner == "single_shuffle", winner == "random_reshuffle"
    over = best[again] / best[again].min(axis=1, keepdims=True) - 1
    iid_over, once_over = (over[:, ORDERS.index(order)] for order in ("iid", "single_shuffle"))
    embeddings = np.isin(table["names"], ("cifar10", "wikipedia"))
    return _stated(
        {
            "IID behind by": (iid_over.min(), iid_least),
            "to": (iid_over.max(), iid_most),
            "single shuffle behind by": (once_over.min(), once_least),
            "up to": (once_over.max(), once_most),
        },
        0.006,
        least={"single shuffle from rank": (table["effective_rank"][once].min(), high)},
        most={"reshuffle to rank": (table["effective_rank"][again].max(), low)},
        also=bool(inside.all() and once.sum() == 3 and again.sum() == 4 and again[embeddings].all())
        and float(table["steps"][-1]) == 1.95,
    )


def rows_that_break_it(*, twice: float = 0.424, tenth: float = 0.194, test: float = 0.0243) -> Evidence:
    """Measured over predicted at step 1, mean over eight draws, at its largest over orders and epochs, eight kinds."""
    sweep = data.sweep("what_breaks")
    worst = np.abs(sweep["off"].astype(float).mean(axis=1)).max(axis=(1, 3))  # kinds, losses
    kinds = sweep["kinds"].tolist()
    return _stated(
        {
            "every row twice": (worst[kinds.index("every row twice, nearly"), 1], twice),
            "tenth repeated": (worst[kinds.index("tenth repeated"), 1], tenth),
        },
        0.01,
        most={"test": (worst[:, 0].max(), test)},
        also=len(kinds) == 8 and sweep["epochs"][[0, -1]].tolist() == [1, 50],
    )


# ------------------------------------------------------------------------------------------ chapter 10: real embeddings


@functools.cache
def _features(source):
    """Shipped embeddings, or noise: 1024 independent Gaussian columns."""
    if source == "noise":
        return np.random.default_rng(10).standard_normal((1024, 1024), dtype=np.float32)
    return shipped.load(source).features


@functools.cache
def _eigenvalues(source, seed):
    """After the paper's preprocessing to 512 rows in 512 dimensions."""
    X = data.preprocess(_features(source), rows=512, dims=512, rng=seed).X
    return spectrum.gram_eigenvalues(X, method="gram")


@functools.cache
def _iid_and_laws():
    """Largest deviation of simulated mean losses from exact curves, and largest fitted law over simulation."""
    sweep = data.sweep("real_embeddings")
    epochs, off, high = sweep["epochs"], 0.0, 0.0
    for name in ("cifar10", "wikipedia"):
        spectra = [_eigenvalues(name, seed) for seed in SEEDS]
        fits = [spectrum.fit_edge(values) for values in spectra]
        for step in (0.5, 1.0, 1.5):
            curves = [exact.curve("iid", values, epochs, step) for values in spectra]
            truth = np.array([np.stack([curve.test, curve.train], axis=1)[1:] for curve in curves])
            law = np.array([np.stack(iid.edge_law(epochs, fit, step), axis=1) for fit in fits])
            runs, seeds = sweep[f"{name} iid {step}"], sweep[f"{name} iid seeds"]
            off = max(off, np.abs((runs / truth[seeds]).mean(axis=0) - 1).max())
            high = max(high, (1 / (runs / law[seeds]).mean(axis=0)).max())
    return off, high


def iid_on_embeddings(*, truth: float = 0.0085, law: float = 7.8) -> Evidence:
    """About a hundred simulated order streams per data set and step over exact curves and over fitted power laws."""
    off, high = _iid_and_laws()
    return _stated({}, most={"exact curve off by": (off, truth), "law too high by": (high, law)})


def _over_single_shuffle(name, order, loss):
    """Mean loss of an order over single shuffle's at step 1 and 50 epochs, seed by seed; 0 is test, 1 training."""
    sweep = data.sweep("real_embeddings")
    at, ratios = list(sweep["epochs"]).index(50), []
    for seed in SEEDS:
        losses = [
            sweep[f"{name} {o} 1.0"][sweep[f"{name} {o} seeds"] == seed] for o in (order, "single_shuffle")
        ]
        count = min(map(len, losses))
        ratios.append(np.divide(*(runs[:count, at, loss].mean() for runs in losses)))
    return np.mean(ratios)


def gains_on_embeddings(
    *,
    images: float = 1.07,
    text: float = 1.11,
    root: float = math.sqrt(2),
    images_train: float = 0.424,
    text_train: float = 0.723,
) -> Evidence:
    """Simulated losses at step 1 and 50 epochs over single shuffle's, paired by seed, beside the isotropic limit."""
    limit = constant(iid.test_loss, 0.5, 1.0) / constant(single_shuffle.test_loss, 0.5, 1.0)
    return _stated(
        {
            "IID's test loss on images": (_over_single_shuffle("cifar10", "iid", 0), images),
            "on text": (_over_single_shuffle("wikipedia", "iid", 0), text),
            "isotropic limit": (limit, root),
            "reshuffle's training loss on images": (
                _over_single_shuffle("cifar10", "random_reshuffle", 1),
                images_train,
            ),
            "and text": (_over_single_shuffle("wikipedia", "random_reshuffle", 1), text_train),
        },
        0.005,
    )


def reshuffle_on_every_seed() -> Evidence:
    """Random reshuffle against single shuffle on eight seeds of two data sets, epochs 10, 20 and 50, three steps."""
    sweep = data.sweep("real_embeddings")
    epochs = [list(sweep["epochs"]).index(n) for n in (10, 20, 50)]
    wins, cells = 0, 0
    for name in ("cifar10", "wikipedia"):
        for step, losses in ((0.5, [1]), (1.0, [1]), (1.5, [0, 1])):
            for seed in SEEDS:
                again, once = (
                    sweep[f"{name} {order} {step}"][sweep[f"{name} {order} seeds"] == seed][:4].mean(axis=0)
                    for order in ("random_reshuffle", "single_shuffle")
                )
                ahead = again[np.ix_(epochs, losses)] < once[np.ix_(epochs, losses)]
                wins, cells = wins + int(ahead.sum()), cells + ahead.size
    return decide(
        wins == cells == 2 * 8 * 3 * 4,
        measured=f"random reshuffle ahead in {wins} of {cells} comparisons (four runs each)",
        claimed="ahead in all",
        tolerance="no exception",
    )


def _silverstein(tau, x):
    """The Cauchy-type transform v of the Gram matrix of m = d rows at x + i0, by Newton's method in 1/v."""

    def equation(s):  # x = -s + <tau s/(s + tau)>, s = 1/v
        return -s + np.mean(tau * s / (s + tau)) - x

    start = 1 / np.sqrt(complex(-np.mean(1 / tau) / x))
    return 1 / optimize.newton(equation, start, tol=1e-14, maxiter=200)


def square_edge(*, exponent: float = 0.5, factor: float = 2 / math.pi) -> Evidence:
    """Densities from Silverstein's equation close to zero, for three covariances, against the derivative of the law."""
    power, height = 0.0, 0.0
    for tau in (np.array([1.0, 1.0]), np.array([0.1, 1.9]), 1 / np.arange(1.0, 9.0)):
        tau = tau / tau.mean()
        inverse = np.mean(1 / tau)
        near, far = 1e-8 / inverse, 1e-6 / inverse
        density = [abs(_silverstein(tau, x).imag) / math.pi for x in (near, far)]
        slope = 1 + math.log(density[1] / density[0]) / math.log(far / near)
        power = max(power, abs(slope / exponent - 1))
        law = factor * exponent * math.sqrt(inverse) * near ** (exponent - 1)
        height = max(height, abs(density[0] / law - 1))
    return decide(
        bool(power < 1e-3 and height < 1e-3),
        measured=f"exponent within {power:.1e}, density within {height:.1e}, three covariances",
        claimed=f"F = {factor:.4g} sqrt(l) lambda^{exponent:g}",
        tolerance="relative 0.001 at lambda l = 1e-8",
    )


def exponents_and_noise(*, images: float = 0.464, text: float = 0.458) -> Evidence:
    """The paper's fit on eight preprocessings of images and text, and of Gaussian noise put through the same."""
    fits = {
        source: np.array([spectrum.fit_edge(_eigenvalues(source, seed)).beta for seed in SEEDS])
        for source in ("cifar10", "wikipedia", "noise")
    }
    noise = fits["noise"]
    near = all(
        abs(fits[source].mean() - noise.mean()) < math.hypot(fits[source].std(ddof=1), noise.std(ddof=1))
        for source in ("cifar10", "wikipedia")
    )
    return _stated(
        {"images": (fits["cifar10"].mean(), images), "text": (fits["wikipedia"].mean(), text)},
        0.005,
        also=near,
    )


# ------------------------------------------------------------------------------------- chapter 11: a Transformer's head


@functools.cache
def _runs():
    """The recorded spectra of Transformers."""
    with np.load(shipped.folder() / "transformer_runs.npz", allow_pickle=False) as runs:
        return {name: runs[name].astype(float) for name in runs.files if "spectra" in name or "width" in name}


def head_is_a_sum(*, size: int = 12, rows: int = 60, steps: int = 40) -> Evidence:
    """Gradient descent on a head, step by step on random features, against the sum over eigenvalues."""
    rng = np.random.default_rng(11)
    features = rng.standard_normal((rows, size)) * np.arange(1, size + 1) ** -0.5
    targets = np.eye(5)[rng.integers(0, 5, rows)]
    H, C = features.T @ features / rows, targets.T @ features / rows
    values, vectors = np.linalg.eigh(H)
    best = np.linalg.solve(H, C.T).T
    eta, W = 1.5 / values[-1], np.zeros_like(C)
    shares = ((W - best) @ vectors) ** 2
    floor, worst = ((features @ best.T - targets) ** 2).sum() / rows, 0.0
    for n in range(steps + 1):
        weights = shares.sum(axis=0) * (1 - eta * values) ** (2 * n)
        excess = ((features @ W.T - targets) ** 2).sum() / rows - floor
        worst = max(
            worst, abs(((W - best) ** 2).sum() / weights.sum() - 1), abs(excess / (values @ weights) - 1)
        )
        W = W - eta * (W @ features.T - targets.T) @ features / rows
    return decide(
        worst < 1e-8,
        measured=f"parameter error and residual within a relative {worst:.0e} over {steps} steps",
        claimed="equal",
        tolerance="relative 1e-8",
    )


@functools.cache
def _shifted_law():
    """The shipped model: steps, exact losses and the law alone, from the window's start to step 7300, and the fit."""
    values = _runs()["frozen_spectra"][0, 0]
    step, fit = 1 / values[-1], spectrum.fit_shifted_edge(values, 0.25)
    n = np.unique(np.geomspace(regimes.window_start(fit, step), 7300, 120).astype(int))
    curve = gradient_descent.curve(values, n, step)
    truth = np.array([curve.test[1:], curve.train[1:]])
    law = np.array(
        [gradient_descent.asymptotic_test(n, fit, step), gradient_descent.asymptotic_train(n, fit, step)]
    )
    return n, truth, law, regimes.window_start(fit, step), fit.beta


def shifted_law(
    *,
    least: float = 0.99,
    most: float = 1.03,
    train_least: float = 1.0,
    train_most: float = 1.09,
    start: float = 579.0,
    end: float = 1.24e-6,
) -> Evidence:
    """The edge law fitted to the left quarter over the exact sums on the shipped model's spectrum."""
    _, truth, law, first, _ = _shifted_law()
    ratio = law / truth
    return _stated(
        {
            "parameter error from": (ratio[0].min(), least),
            "to": (ratio[0].max(), most),
            "residual from": (ratio[1].min(), train_least),
            "up to": (ratio[1].max(), train_most),
            "first step": (first, start),
            "last error": (truth[0, -1], end),
        },
        0.006,
    )


def no_power_law(*, fall: float = 4.6e4, power: float = 9.0) -> Evidence:
    """The fall of the exact parameter error over the steps at which the edge law holds, and the power's part in it."""
    n, truth, _, _, beta = _shifted_law()
    return _stated(
        {"fall": (truth[0, 0] / truth[0, -1], fall), "by the power": ((n[-1] / n[0]) ** beta, power)}, 0.006
    )


def _edges(quantile):
    """The fit to the left part of the spectrum of every trained model: (shapes, seeds) of fits."""
    last = (_runs()["width_{}_depth_{}".format(*shape)][:, -1] for shape in SHAPES)
    return [[spectrum.fit_shifted_edge(values, quantile) for values in seeds] for seeds in last]


def stretch_of_power_laws(*, quarter: float = 1.71, half: float = 6.35) -> Evidence:
    """End over start of the power law of the fitted edge, for all trained models, at two windows."""
    longest, count = [], 0
    for quantile in (0.25, 0.5):
        fits = [fit for seeds in _edges(quantile) for fit in seeds]
        longest.append(max(fit.beta / (2 * fit.lambda_0) / regimes.window_start(fit, 1.0) for fit in fits))
        count = len(fits)
    bounds = {"left quarter": (longest[0], quarter), "left half": (longest[1], half)}
    return _stated({}, most=bounds, also=count == 24)


def edges_of_trained_models(*, least: float = 0.80, most: float = 1.01, factor: float = 35.6) -> Evidence:
    """Exponents and positions of the fitted edge after training, mean over four seeds, over six widths and depths."""
    fits = _edges(0.25)
    betas = [np.mean([fit.beta for fit in seeds]) for seeds in fits]
    places = [np.exp(np.mean([math.log(fit.lambda_0) for fit in seeds])) for seeds in fits]
    return _stated(
        {"positions apart by": (max(places) / min(places), factor)},
        0.006,
        least={"exponent from": (min(betas), least)},
        most={"to": (max(betas), most)},
    )


@functools.cache
def _head_floors(omega):
    """Floors of the parameter error on the shipped model's features, target a space: IID's and two cycles'."""
    from edgelaw_app.training import transformer  # loads PyTorch, so not before it is needed

    tokens, alphabet = transformer.encode(transformer.shipped_text())
    model = transformer.shipped_model()
    inputs, targets = transformer.contexts(tokens, model.length, count=256, rng=99)
    X, y = transformer.features(model, inputs), (targets.ravel() == alphabet.index(" ")).astype(float)
    cycles = (
        np.mean([noise.cycle_floor(X, y, order, omega, rng=seed).test for seed in range(4)])
        for order in ("single_shuffle", "flip_flop")
    )
    return noise.iid_floor(X, y, omega, tolerance=1e-5).test, *cycles


def order_of_the_head(
    *, early: float = 1.018, late: float = 1.029, once: float = 6.7, back: float = 11.9
) -> Evidence:
    """Exact curves on the shipped model's spectrum, and exact floors on its features with one of the text's targets."""
    values, epochs = _runs()["frozen_spectra"][0, 0], [4, 8]
    rho = 256 * 64 / len(values)
    drawn, shuffled = (
        exact.curve(order, values, epochs, 0.1, rho).test[1:] for order in ("iid", "single_shuffle")
    )
    floor, single, flipped = _head_floors(0.01)
    return _stated(
        {
            "IID over single shuffle after 4 epochs": (drawn[0] / shuffled[0], early),
            "after 8": (drawn[1] / shuffled[1], late),
            "its floor over single shuffle's": (floor / single, once),
            "over flip-flop's": (floor / flipped, back),
        },
        0.008,
    )
