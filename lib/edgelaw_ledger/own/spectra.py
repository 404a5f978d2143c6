"""What the summaries on spectra compare: the gap, any spectrum, real embeddings, the Transformer's head."""

import functools
import math

import numpy as np

from edgelaw import data, exact, kaczmarz, shipped, spectrum
from edgelaw.exact import labels as noise
from edgelaw.exact.finite_size import relative
from edgelaw.orders import ORDERS
from edgelaw.theory import gap, gradient_descent, iid, regimes, single_shuffle
from edgelaw_ledger.evidence import Evidence, compared, off
from edgelaw_ledger.routes import averaged, constant

SEEDS = range(8)  # of the preprocessing, in the sweep on real embeddings
SHAPES = ((32, 2), (64, 2), (128, 2), (256, 2), (64, 1), (64, 4))  # width and depth of the trained models

# ------------------------------------------------------------------------------------------------ chapter 8: the gap


def limits_over_law():
    """Steps extrapolated on Haar designs of seven edges at seven steps, over single shuffle's law, and their errors."""
    sweep = data.sweep("universal_gap")
    value, systematic = np.moveaxis(sweep["single_shuffle_limit"], -1, 0)
    law = sweep["steps"] / (1 - sweep["steps"] / 2)
    return value / law, np.hypot(sweep["single_shuffle_limit_se"][..., 0], systematic) / law


@functools.cache
def isotropic_gains():
    """How far IID's exact losses over single shuffle's tend to (1 - step/2)^(-1/2) at six steps up to 1.98."""
    steps = {0.1: 1600, 0.5: 1600, 1.0: 1600, 1.5: 6400, 1.9: 400_000, 1.98: 4_000_000}
    gains = [
        constant(iid.test_loss, 0.5, step, n) / constant(single_shuffle.test_loss, 0.5, step, n)
        for step, n in steps.items()
    ]
    return np.abs(np.array(gains) * (1 - np.array([*steps]) / 2) ** 0.5 - 1).max()


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


def training_constants():
    """How far isotropic training constants at four steps up to 1.9, from exact losses, are from their formula."""
    ratios = []
    for step, start in {0.5: 1600, 1.0: 1600, 1.5: 6400, 1.9: 400_000}.items():
        a = 1 / step - 0.5  # Q = 2/pi at exponent 1/2, and variance 1
        formula = (a**2 + 1 / 12 + 1 / 6) / (4 * math.sqrt(2 * math.pi * a))
        ratios.append(constant(single_shuffle.train_loss, 1.5, step, start) / formula)
    return np.abs(np.array(ratios) - 1).max()


def above_the_law(beta, n=64, a=1 / 0.5 - 0.5):
    """Mean and standard error over 16 Haar designs: their training losses over the law, less 1."""
    above = []
    for values, train, _ in _haar_designs(beta, 300, 16):
        front = 1 + (1 / 12 + values.var() / 6) / a**2
        above.append(train / (front * (values * np.exp(-2 * n * values / a)).mean()) - 1)
    return averaged(above)


@functools.cache
def cluster_by_eigenvalues(size, step, beta=0.5, spread=1e-4):
    """The ratio of constants from the slow eigenvalues of one cluster's epoch matrix."""
    U = gap.cluster_rows(size, spread)
    slow = np.linalg.eigvalsh(U @ U.T)[0]
    rates = 1 - np.linalg.eigvals(kaczmarz.epoch_matrix(U, step))
    rates = np.sort(rates.real)[: size - 1] / slow  # the fast direction's rate is of order one
    return step**-beta / np.mean(rates**-beta)


# --------------------------------------------------------------------------------------------- chapter 9: any spectrum


@functools.cache
def training_over_decrease(step):
    """Training loss over the decrease of the test loss per epoch, n → ∞, for a covariance of two eigenvalues."""
    first = np.array([250, 1000, 4000])
    curve = exact.population_curve("single_shuffle", (0.4, 1.6), np.sort(np.append(first, first + 1)), step)
    x, y, z = curve.train[1::2] / (curve.test[1::2] - curve.test[2::2])
    return (4 * (2 * z - y) - (2 * y - x)) / 3  # an expansion in n^(-1/2)


def over_the_law(step, second, ratios):
    """Training losses over decreases of the test loss, over the law at a step and second free cumulants."""
    a = 1 / step - 0.5
    return ratios / ((a**2 + 1 / 12 + second / 6) / (2 * a))


def designs_over_the_law(beta):
    """How far 16 Haar designs after 64 epochs at step 0.5 are from it: their mean, and 4 standard errors more."""
    found = [over_the_law(0.5, values.var(), ratio) for values, _, ratio in _haar_designs(beta, 300, 16)]
    mean, error = averaged(found)
    return abs(mean - 1) + 4 * error


def one_run(fitted):
    """Recorded runs over their curves, less 1 (cases, draws, orders, losses, epochs), and what is estimated of them."""
    sweep = data.sweep("finite_size")
    of_case = sweep["steps"], sweep["sizes"] * sweep["aspects"], sweep["effective_rank"], sweep["slowest"]
    known, losses = [one[:, None, None] for one in of_case], sweep["predicted"].astype(float)
    estimate = [relative(order, sweep["epochs"], losses[:, j], *known) for j, order in enumerate(ORDERS)]
    chosen = sweep["fitted"] == fitted
    off, estimate = sweep["off"][chosen].astype(float), np.stack(estimate, axis=1)[chosen]
    return np.where(np.isnan(estimate)[:, None], np.nan, off), estimate


def within_twice(fitted):
    """By order: the share of those runs within twice the estimate, and the median of estimate over deviation."""
    off, estimate = one_run(fitted)
    ratio = np.where(np.isnan(off), np.nan, estimate[:, None] / np.maximum(np.abs(off), 1e-9))
    ratio = np.moveaxis(ratio, 2, 0).reshape(len(ORDERS), -1)
    return np.nanmean(np.where(np.isnan(ratio), np.nan, ratio > 1 / 2), axis=1), np.nanmedian(ratio, axis=1)


# ------------------------------------------------------------------------------------------ chapter 10: real embeddings


@functools.cache
def _eigenvalues(source, seed):
    """Of shipped embeddings, or of 1024 Gaussian columns, after the paper's preprocessing to m = d = 512."""
    if source == "noise":
        features = np.random.default_rng([10, seed]).standard_normal((1024, 1024), dtype=np.float32)
    else:
        features = shipped.load(source).features
    X = data.preprocess(features, rows=512, dims=512, rng=seed).X
    return spectrum.gram_eigenvalues(X, method="gram")


@functools.cache
def iid_and_laws():
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


@functools.cache
def exponents(source):
    """The paper's fit on sixteen preprocessings of images or text, or of as many matrices of Gaussian noise."""
    return np.array([spectrum.fit_edge(_eigenvalues(source, seed)).beta for seed in range(16)])


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
def shifted_law_of_the_head():
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


@functools.cache
def edges(quantile):
    """The fit to the left part of the spectrum of every trained model: (shapes, seeds) of fits."""
    last = (_runs()["width_{}_depth_{}".format(*shape)][:, -1] for shape in SHAPES)
    return [[spectrum.fit_shifted_edge(values, quantile) for values in seeds] for seeds in last]


def stretches(quantile):
    """End over start of the power law of the fitted edge, for all trained models."""
    fits = [fit for seeds in edges(quantile) for fit in seeds]
    return [fit.beta / (2 * fit.lambda_0) / regimes.window_start(fit, 1.0) for fit in fits]


@functools.cache
def floors_over_cycles(omega, draws):
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


@functools.cache
def curves_of_the_head():
    """IID's exact parameter error over single shuffle's on the shipped model's spectrum, after 4 and 8 epochs."""
    values = _runs()["frozen_spectra"][0, 0]
    curves = (
        exact.curve(order, values, [4, 8], 0.1, 256 * 64 / len(values)) for order in ("iid", "single_shuffle")
    )
    return np.divide(*(curve.test[1:] for curve in curves))


def over_its_curve(X, order, epochs, rng):
    """Both losses of an order on these rows at step 1, over the starts and draws, over its curve."""
    if order == "iid":
        run = exact.expected_curve(X, epochs, 1.0, tolerance=1e-6)
    else:
        run = kaczmarz.simulate(X, order, epochs, runs=2, rng=rng, starts="all")
    curve = exact.curve(order, spectrum.gram_eigenvalues(X), epochs, rho=len(X) / X.shape[1])
    return [run.test[1:] / curve.test[1:], run.train[1:] / curve.train[1:]]
