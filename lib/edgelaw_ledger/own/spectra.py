"""Checks of the summaries on spectra: the universal gap, any spectrum, real embeddings, the Transformer's head.

What only reads a recorded sweep is a table in ``data/additions.toml``; what is derived is computed here by a second
route. The numbers that a sentence states are the keywords of its check.
"""

import functools
import math

import numpy as np
from scipy import optimize

from edgelaw import data, exact, kaczmarz, shipped, spectrum
from edgelaw.exact import labels as noise
from edgelaw.theory import gap, gradient_descent, iid, regimes, single_shuffle
from edgelaw_ledger.evidence import Evidence, compared, least, most, near, off, true
from edgelaw_ledger.routes import constant

SEEDS = range(8)  # of the preprocessing, in the sweep on real embeddings
SHAPES = ((32, 2), (64, 2), (128, 2), (256, 2), (64, 1), (64, 4))  # width and depth of the trained models

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
    wrong = max(abs(gain * (1 - half * step) ** 0.5 - 1) for step, gain in _isotropic_gains().items())
    sweep = data.sweep("universal_gap")
    value, systematic = np.moveaxis(sweep["single_shuffle_limit"], -1, 0)
    law = sweep["steps"] / (1 - half * sweep["steps"])
    error = np.hypot(sweep["single_shuffle_limit_se"][..., 0], systematic) / law
    sharp = error < 0.1
    return compared(
        off("isotropic ratios at steps 0.1 to 1.98 over the law", wrong, 1e-3),
        true(f"{sharp.sum()} of 49 limits are known to 10 %, edges 1/14 to 3/2", sharp.sum() >= 35),
        true(
            "each of them within 3 error bars and 1 % of the law",
            bool((np.abs(value / law - 1) < 3 * error + 0.01)[sharp].all()),
        ),
    )


@functools.cache
def _haar_designs(beta, size, draws):
    """Eigenvalues and training losses, and those over the decrease of the test loss, after 64 epochs at step 0.5."""
    found = []
    for draw in range(draws):
        X = data.power_law(size, size, beta, np.random.default_rng([5, draw]))
        U = data.normalize_rows(X) / math.sqrt(size)
        A = kaczmarz.epoch_matrix(U, 0.5)
        P = np.linalg.matrix_power(A, 64)
        train = ((U @ P) ** 2).sum()
        found.append(
            (np.linalg.eigvalsh(U @ U.T), train / size, train / ((P**2).sum() - ((A @ P) ** 2).sum()))
        )
    return found


def _mean_and_error(values):
    """The mean of some draws and its standard error."""
    return np.mean(values), np.std(values, ddof=1) / math.sqrt(len(values))


def training_at_any_edge(
    *,
    half: float = 0.5,
    twelfth: float = 1 / 12,
    sixth: float = 1 / 6,
    broad: float = 0.0119,
    square: float = 0.00724,
    flat: float = 0.00274,
) -> Evidence:
    """Exact isotropic training losses at steps up to 1.9 for the constants; Haar designs of three edges at step 0.5."""

    def law(values, n, step):
        a = 1 / step - half
        return (1 + (twelfth + sixth * values.var()) / a**2) * (values * np.exp(-2 * n * values / a)).mean()

    wrong = 0.0
    for step, start in {0.5: 1600, 1.0: 1600, 1.5: 6400, 1.9: 400_000}.items():
        a = 1 / step - half  # Q = 2/pi at exponent 1/2, and variance 1
        formula = (a**2 + twelfth + sixth) / (4 * math.sqrt(2 * math.pi * a))
        wrong = max(wrong, abs(constant(single_shuffle.train_loss, 1.5, step, start) / formula - 1))
    rows = [off("isotropic constants at steps 0.5 to 1.9", wrong, 1e-3)]
    for beta, stated in ((0.3, broad), (0.5, square), (1.0, flat)):
        above = [train / law(values, 64, 0.5) - 1 for values, train, _ in _haar_designs(beta, 300, 16)]
        mean, error = _mean_and_error(above)
        rows += [near(f"above the law at {beta:g}", mean, stated, 0.005), off("standard error", error, 5e-4)]
    return compared(*rows)


def _cluster_by_eigenvalues(size, step, beta=0.5, spread=1e-4):
    """The ratio of constants from the slow eigenvalues of one cluster's epoch matrix."""
    U = gap.cluster_rows(size, spread)
    slow = np.linalg.eigvalsh(U @ U.T)[0]
    rates = 1 - np.linalg.eigvals(kaczmarz.epoch_matrix(U, step))
    rates = np.sort(rates.real)[: size - 1] / slow  # the fast direction's rate is of order one
    return step**-beta / np.mean(rates**-beta)


def clusters_reverse(*, reverse: float = 0.967, restored: float = 1.0013) -> Evidence:
    """The formula at every size up to 1000, and eigenvalues of clusters' epoch matrices at sizes 6 and 300."""
    six, many = _cluster_by_eigenvalues(6, 1.0), _cluster_by_eigenvalues(300, 0.01)
    apart = max(abs(six / gap.cluster_gain(6, 1.0) - 1), abs(many / gap.cluster_gain(300, 0.01) - 1))
    return compared(
        near("k = 6, step 1", six, reverse, 0.002),
        near("k = 300, step 0.01", many, restored, 0.002),
        off("formula and eigenvalues", apart, 1e-4),
        true("reversed at step 1, k = 6 to 1000", all(gap.cluster_gain(k, 1.0) < 1 for k in range(6, 1001))),
        true("not at step 1/k, k = 2 to 1000", all(gap.cluster_gain(k, 1 / k) > 1 for k in range(2, 1001))),
    )


# --------------------------------------------------------------------------------------------- chapter 9: any spectrum


@functools.cache
def _training_over_decrease(step):
    """Training loss over the decrease of the test loss per epoch, n → ∞, for a covariance of two eigenvalues."""
    first = np.array([250, 1000, 4000])
    curve = exact.population_curve("single_shuffle", (0.4, 1.6), np.sort(np.append(first, first + 1)), step)
    x, y, z = curve.train[1::2] / (curve.test[1::2] - curve.test[2::2])
    return (4 * (2 * z - y) - (2 * y - x)) / 3  # an expansion in n^(-1/2)


def training_at_an_edge(*, twelfth: float = 1 / 12, sixth: float = 1 / 6) -> Evidence:
    """Training loss over the decrease of the test loss: limits of exact curves, and Haar designs of three edges."""

    def law(step, second):
        a = 1 / step - 0.5
        return (a**2 + twelfth + second * sixth) / (2 * a)

    second = (0.4**2 + 1.6**2) / 2  # the free cumulant of a square sample of this covariance
    wrong = max(abs(_training_over_decrease(step) / law(step, second) - 1) for step in (0.5, 1.0, 1.4))
    rows = [off("limits of exact curves, steps 0.5, 1 and 1.4", wrong, 1e-3)]
    for beta in (0.3, 0.5, 1.0):
        ratios = [ratio / law(0.5, values.var()) for values, _, ratio in _haar_designs(beta, 300, 16)]
        mean, error = _mean_and_error(ratios)
        rows.append(off(f"designs of edge {beta:g} after 64 epochs", abs(mean - 1) + 4 * error, 0.03))
    return compared(*rows)


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
    epochs, wrong, high = sweep["epochs"], 0.0, 0.0
    for name in ("cifar10", "wikipedia"):
        spectra = [_eigenvalues(name, seed) for seed in SEEDS]
        fits = [spectrum.fit_edge(values) for values in spectra]
        for step in (0.5, 1.0, 1.5):
            curves = [exact.curve("iid", values, epochs, step) for values in spectra]
            truth = np.array([np.stack([curve.test, curve.train], axis=1)[1:] for curve in curves])
            law = np.array([np.stack(iid.edge_law(epochs, fit, step), axis=1) for fit in fits])
            runs, seeds = sweep[f"{name} iid {step}"], sweep[f"{name} iid seeds"]
            wrong = max(wrong, np.abs((runs / truth[seeds]).mean(axis=0) - 1).max())
            high = max(high, (1 / (runs / law[seeds]).mean(axis=0)).max())
    return wrong, high


def iid_on_embeddings(*, truth: float = 0.0085, law: float = 7.8) -> Evidence:
    """The 104 simulated order streams per data set and step over exact curves and over fitted power laws."""
    wrong, high = _iid_and_laws()
    return compared(most("exact curve off by", wrong, truth), most("law too high by", high, law))


def _silverstein(tau, x):
    """The Cauchy-type transform v of the Gram matrix of m = d rows at x + i0, by Newton's method in 1/v."""

    def equation(s):  # x = -s + <tau s/(s + tau)>, s = 1/v
        return -s + np.mean(tau * s / (s + tau)) - x

    start = 1 / np.sqrt(complex(-np.mean(1 / tau) / x))
    return 1 / optimize.newton(equation, start, tol=1e-14, maxiter=200)


def square_edge(*, exponent: float = 0.5, factor: float = 2 / math.pi) -> Evidence:
    """Densities from Silverstein's equation close to zero, for four covariances, against the derivative of the law."""
    power, height = 0.0, 0.0
    for tau in (np.ones(2), np.array([0.1, 1.9]), 1 / np.arange(1.0, 9.0), np.geomspace(0.01, 1, 50)):
        tau = tau / tau.mean()
        inverse = np.mean(1 / tau)
        close, far = 1e-8 / inverse, 1e-6 / inverse
        density = [abs(_silverstein(tau, x).imag) / math.pi for x in (close, far)]
        slope = 1 + math.log(density[1] / density[0]) / math.log(far / close)
        power = max(power, abs(slope / exponent - 1))
        law = factor * exponent * math.sqrt(inverse) * close ** (exponent - 1)
        height = max(height, abs(density[0] / law - 1))
    return compared(off("exponent", power, 1e-3), off("density at lambda l = 1e-8", height, 1e-3))


def exponents_and_noise(*, images: float = 0.464, text: float = 0.458) -> Evidence:
    """The paper's fit on eight preprocessings of images and text, and of Gaussian noise put through the same."""
    fits = {
        source: np.array([spectrum.fit_edge(_eigenvalues(source, seed)).beta for seed in SEEDS])
        for source in ("cifar10", "wikipedia", "noise")
    }
    noise_mean, spread = fits["noise"].mean(), fits["noise"].std(ddof=1)
    return compared(
        near("images", fits["cifar10"].mean(), images, 0.005),
        near("text", fits["wikipedia"].mean(), text, 0.005),
        *(
            true(f"{name} within one spread of noise", abs(fits[name].mean() - noise_mean) < spread)
            for name in ("cifar10", "wikipedia")
        ),
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
    return compared(off(f"parameter error and residual over {steps} steps", worst, 1e-8))


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
    low: float = 0.99,
    high: float = 1.03,
    train_low: float = 1.0,
    train_high: float = 1.09,
    start: float = 579.0,
    end: float = 1.24e-6,
) -> Evidence:
    """The edge law fitted to the left quarter over the exact sums on the shipped model's spectrum."""
    _, truth, law, first, _ = _shifted_law()
    ratio = law / truth
    return compared(
        near("parameter error from", ratio[0].min(), low, 0.006),
        near("to", ratio[0].max(), high, 0.006),
        near("residual from", ratio[1].min(), train_low, 0.006),
        near("up to", ratio[1].max(), train_high, 0.006),
        near("first step", first, start, 0.001),
        near("last error", truth[0, -1], end, 0.005),
    )


def no_power_law(*, fall: float = 4.6e4, power: float = 9.0) -> Evidence:
    """The fall of the exact parameter error over the steps at which the edge law holds, and the power's part in it."""
    n, truth, _, _, beta = _shifted_law()
    return compared(
        near("fall", truth[0, 0] / truth[0, -1], fall, 0.006),
        near("by the power", (n[-1] / n[0]) ** beta, power, 0.006),
    )


def _edges(quantile):
    """The fit to the left part of the spectrum of every trained model: (shapes, seeds) of fits."""
    last = (_runs()["width_{}_depth_{}".format(*shape)][:, -1] for shape in SHAPES)
    return [[spectrum.fit_shifted_edge(values, quantile) for values in seeds] for seeds in last]


def stretch_of_power_laws(*, quarter: float = 1.71, half: float = 6.35) -> Evidence:
    """End over start of the power law of the fitted edge, for all 24 trained models, at two windows."""
    rows = []
    for what, quantile, stated in (("left quarter", 0.25, quarter), ("left half", 0.5, half)):
        fits = [fit for seeds in _edges(quantile) for fit in seeds]
        longest = max(fit.beta / (2 * fit.lambda_0) / regimes.window_start(fit, 1.0) for fit in fits)
        rows += [most(what, longest, stated), true("24 models", len(fits) == 24)]
    return compared(*rows)


def edges_of_trained_models(*, low: float = 0.80, high: float = 1.01, factor: float = 35.6) -> Evidence:
    """Exponents and positions of the fitted edge after training, mean over four seeds, over six widths and depths."""
    fits = _edges(0.25)
    betas = [np.mean([fit.beta for fit in seeds]) for seeds in fits]
    places = [np.exp(np.mean([math.log(fit.lambda_0) for fit in seeds])) for seeds in fits]
    return compared(
        least("exponent from", min(betas), low),
        most("to", max(betas), high),
        near("positions apart by", max(places) / min(places), factor, 0.006),
    )


@functools.cache
def _floors_over_cycles(omega, draws):
    """IID's floor of the parameter error on the shipped model's features, target a space, over two cycles'."""
    from edgelaw_app.training import transformer  # loads PyTorch, so not before it is needed

    tokens, alphabet = transformer.encode(transformer.shipped_text())
    model = transformer.shipped_model()
    inputs, targets = transformer.contexts(tokens, model.length, count=256, rng=99)
    X, y = transformer.features(model, inputs), (targets.ravel() == alphabet.index(" ")).astype(float)
    unit = noise.iid_floor(X, y, omega, tolerance=1e-5).test
    cycles = (
        [noise.cycle_floor(X, y, order, omega, rng=seed).test / unit for seed in range(draws)]
        for order in ("single_shuffle", "flip_flop")
    )
    return [(1 / np.mean(values), np.std(values, ddof=1) / np.mean(values) / 4) for values in cycles]


def order_of_the_head(
    *, early: float = 1.018, late: float = 1.029, once: float = 7.1, back: float = 12.6
) -> Evidence:
    """Exact curves on the shipped model's spectrum, and exact floors on its features with one of the text's targets."""
    values, epochs = _runs()["frozen_spectra"][0, 0], [4, 8]
    rho = 256 * 64 / len(values)
    drawn, shuffled = (
        exact.curve(order, values, epochs, 0.1, rho).test[1:] for order in ("iid", "single_shuffle")
    )
    rows = [
        near("IID over single shuffle after 4 epochs", drawn[0] / shuffled[0], early, 0.001),
        near("after 8", drawn[1] / shuffled[1], late, 0.001),
    ]
    for (ratio, error), stated, what in zip(
        _floors_over_cycles(0.01, 16), (once, back), ("single shuffle's", "flip-flop's"), strict=True
    ):
        rows += [near(f"its floor over {what}", ratio, stated, 0.008), off("standard error", error, 0.1)]
    return compared(*rows)
