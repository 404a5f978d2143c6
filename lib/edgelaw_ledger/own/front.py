"""Checks of the first page's sentences: the introduction, the README and the cover."""

import functools
import math

import numpy as np

from edgelaw import data, exact, kaczmarz, orders, spectrum
from edgelaw.exact import labels as noise
from edgelaw.theory import BY_ORDER, iid, regimes
from edgelaw_app.training import probe
from edgelaw_ledger.evidence import Evidence, compared, drawn, most, near, off, printed, true
from edgelaw_ledger.routes import decay_exponent, iid_on_nodes, limit_in_root, power_law_nodes


def _square_embeddings():
    """Recorded (predicted, measured) losses at m = d, two embeddings, four draws, steps 0.5, 1 and 1.5, by sweep."""
    traces, single = data.sweep("embedding_traces"), data.sweep("predict_accuracy")
    square = (np.diff(single["shapes"])[:, 0] == 0) & np.isin(single["names"], ("cifar10", "wikipedia"))
    names = "predicted", "measured"
    return [
        [traces[name].reshape(18, 4, 2, 6) for name in names],
        [single[name][square].reshape(6, 4, 2, 50).astype(float) for name in names],
    ]


def _largest_deviations():
    """Of measured losses from predicted ones, in per cent, test and training."""
    pairs = _square_embeddings()
    return 100 * np.max([np.abs(seen / said - 1).max(axis=(0, 1, 3)) for said, seen in pairs], axis=0)


def curves_follow_embeddings(*, test: float = 0.69, training: float = 2.12) -> Evidence:
    """Measured against predicted losses, the largest deviation in per cent over every recorded cell."""
    worst = _largest_deviations()
    return compared(most("per cent of the test loss", worst[0], test), most("training", worst[1], training))


def eigenvalues_answer_both(*, percent: float = 2.12) -> Evidence:
    """The largest deviation of predicted from measured losses, and what following the predicted order costs."""
    costs = []
    for predicted, measured in _square_embeddings():
        best = predicted.argmin(axis=1, keepdims=True)
        costs.append((np.take_along_axis(measured, best, axis=1)[:, 0] / measured.min(axis=1)).max() - 1)
    return compared(
        most("largest deviation in per cent", _largest_deviations().max(), percent),
        off("loss in the order predicted to be best over the smallest loss", max(costs), 0.01),
    )


def curves_sharpen_with_size() -> Evidence:
    """Measured against predicted losses, Gaussian rows of four covariances: mean deviations at d = 400, 800, 1600."""
    recorded = data.sweep("any_spectrum")
    deviations = [
        np.abs(recorded[f"measured {name} {size}"] / recorded[f"predicted {name} {size}"] - 1).mean(
            axis=(0, 1, 3)
        )
        for name in ("two-point", "uniform", "j^(-1/2)", "1/j")
        for size in (400, 800, 1600)
    ]
    falls = np.diff(np.reshape(deviations, (4, 3, 2)), axis=1) < 0
    return compared(
        true("smaller at each larger size, four covariances and both losses", falls.all()),
        off("mean deviation at d = 1600", np.reshape(deviations, (4, 3, 2))[:, 2].max(), 0.01),
    )


EPOCHS = np.unique([*range(2, 31), *np.geomspace(31, 1000, 40).astype(int)])


@functools.cache
def _isotropic():
    """Exact losses at step 1 on isotropic Gaussian rows, m = d, in the limit: (orders, losses, EPOCHS)."""
    modules = [BY_ORDER[order] for order in orders.ORDERS]
    return np.array([[module.test_loss(EPOCHS), module.train_loss(EPOCHS)] for module in modules])


def power_law_from_ten_epochs(*, percent: float = 6.7) -> Evidence:
    """Exact test losses of four orders at step 1, m = d, against their laws C/sqrt(n), at n = 10 to 1000."""
    laws = np.array([BY_ORDER[order].test_constant() for order in orders.ORDERS])[:, None] / np.sqrt(EPOCHS)
    off_by = np.abs(_isotropic()[:, 0] / laws - 1)[:, EPOCHS >= 10].max()
    return compared(most("largest distance in per cent", 100 * off_by, percent))


def shuffling_once_wins_on_gaussian_rows() -> Evidence:
    """Both exact losses at step 1 over single shuffle's, Gaussian rows, m = d, n = 2 to 1000, and both constants."""
    rows = []
    for k, order in enumerate(orders.ORDERS):
        if order != "single_shuffle":
            ratio = _isotropic()[k] / _isotropic()[orders.ORDERS.index("single_shuffle")]
            late = [
                getattr(BY_ORDER[order], name)() / getattr(BY_ORDER["single_shuffle"], name)()
                for name in ("test_constant", "train_constant")
            ]
            rows.append(true(f"{order} behind at every n, and in the limit", min(ratio.min(), *late) > 1))
    return compared(*rows)


@functools.cache
def _exponents():
    """Exponents of test losses: four orders at steps 0.5, 1 and 1.5, m = d, and IID over those of four other edges."""
    isotropic, others = [], []
    for module in BY_ORDER.values():
        for step in (0.5, 1.0, 1.5):
            loss = functools.cache(lambda n, f=module.test_loss, step=step: float(f(n, step)))
            isotropic.append(limit_in_root(lambda n, loss=loss: math.log2(loss(n) / loss(2 * n)), 100))
    for beta in (0.3, 0.7, 1.0, 1.5):
        values, weights, _ = power_law_nodes(beta)
        nodes = values[weights > 1e-14], weights[weights > 1e-14]
        others.append(decay_exponent(lambda n, nodes=nodes: iid_on_nodes(*nodes, n, 1.0)[0]) / -beta)
    return np.array(isotropic), np.array(others)


def slope_and_height(*, exponent: float = 0.5) -> Evidence:
    """Exponents of four orders at three steps and of IID at four other edges, and the heights that the orders leave."""
    isotropic, others = _exponents()
    heights = [[module.test_constant(step) for module in BY_ORDER.values()] for step in (0.5, 1.0, 1.5)]
    return compared(
        near("smallest exponent", isotropic.min(), exponent, 0.002),
        near("largest exponent", isotropic.max(), exponent, 0.002),
        off("IID's exponents at four other edges over theirs", np.abs(others - 1).max(), 0.002),
        true("the highest law is 10 % above the lowest", min(max(h) / min(h) for h in heights) > 1.1),
    )


@functools.cache
def _design(name, size):
    """A design of the cover: Gaussian rows or CIFAR-10 embeddings, rows of one norm, and its eigenvalues."""
    if name == "gaussian":
        X = data.gaussian(size, size, rng=7)
    else:
        X = data.preprocess(data.cifar10().features, size, size, rng=0).X
    return data.normalize_rows(X), spectrum.gram_eigenvalues(data.normalize_rows(X))


@functools.cache
def _curves(name, size, epochs):
    """Exact losses at step 1 of the four orders on that design: (orders, losses, epochs 1, 2, ...)."""
    curves = [exact.curve(order, _design(name, size)[1], epochs) for order in orders.ORDERS]
    return np.array([[curve.test[1:], curve.train[1:]] for curve in curves])


def winners_of_the_cover(*, size: int = 512, epochs: int = 100) -> Evidence:
    """Which order has the smallest exact training loss at each epoch from 2 to 100, on the cover's two designs."""
    first = [
        {orders.ORDERS[k] for k in _curves(name, size, epochs)[:, 1, 1:].argmin(axis=0)}
        for name in ("gaussian", "cifar10")
    ]
    return compared(
        true("Gaussian rows: single shuffle at every epoch from 2 on", first[0] == {"single_shuffle"}),
        true("CIFAR-10: random reshuffle at every epoch from 2 on", first[1] == {"random_reshuffle"}),
    )


@functools.cache
def _dots(size, epochs):
    """How far the cover's dots, two runs from 64 starts each, lie from its lines: (designs, orders, dots)."""
    shown = np.unique(np.geomspace(1, epochs, 14).astype(int))
    distances = []
    for name in ("gaussian", "cifar10"):
        for k, order in enumerate(orders.ORDERS):
            rows = _design(name, size)[0].astype(np.float32)
            ran = kaczmarz.simulate(rows, order, shown, rng=1, probes=64, runs=2)
            distances.append(np.abs(ran.train[1:] / _curves(name, size, epochs)[k, 1, shown - 1] - 1))
    return np.array(distances)


def mean_losses_lie_on_the_lines(*, percent: float = 1.62, size: int = 512, epochs: int = 100) -> Evidence:
    """Training losses at step 1 on the cover's two designs against curves from eigenvalues: dots, and recorded means
    over all starts in every order, epochs 1 to 50."""
    recorded = data.sweep("predict_accuracy")
    square = (recorded["shapes"] == size).all(axis=1) & (recorded["steps"] == 1)
    chosen = square & np.isin(recorded["names"], ("gaussian", "cifar10"))
    ratio = recorded["measured"][chosen][:, :, 1].astype(float) / recorded["predicted"][chosen][:, :, 1]
    return compared(
        true("two designs, four orders, 50 epochs", ratio.shape == (2, 4, 50)),
        printed("means over all starts, in per cent", 100 * np.abs(ratio - 1).max(), percent, 2),
        off(f"{_dots(size, epochs).size} dots on the lines", _dots(size, epochs).max(), 0.12),
    )


@functools.cache
def _above_the_median(median, size=48, draws=400):
    """The share of square Gaussian draws whose smallest eigenvalue exceeds median / size^2."""
    rows = np.random.default_rng(2).standard_normal((draws, size, size))
    return float((np.linalg.svd(rows, compute_uv=False)[:, -1] ** 2 * size > median).mean())


def classical_bound_asks_for_a_million(
    *, million: float = 1.32, epochs: float = 65.0, loss: float = 0.05, dims: int = 512
) -> Evidence:
    """Epochs until gradient descent's bound exp(-2n times the smallest eigenvalue), that at its median, and IID's exact
    loss at step 1 reach 0.05."""
    median = (math.sqrt(1 + 2 * math.log(2)) - 1) ** 2  # of d^2 times it: Edelman's exp(-z/2 - sqrt(z)) = 1/2
    needed = math.log(1 / loss) * dims**2 / (2 * median)
    n = np.arange(1, 200)
    return compared(
        near("million epochs by the bound", needed / 1e6, million, 0.005),
        near("epochs of SGD", n[np.argmax(iid.test_loss(n) <= loss)], epochs, 0.01),
        near("survival at the median", float(regimes.smallest_survival(median / dims**2, dims)), 0.5, 1e-9),
        drawn("share of 400 draws above it", _above_the_median(median), 0.5 / math.sqrt(400), 0.5),
    )


def slopes_of_the_figure(*, shallow: float = 0.50, steep: float = 0.52, dims: int = 512) -> Evidence:
    """Slopes between 10 and 300 epochs of exact test losses on the figure's design in four orders, and its bound."""
    curves = _curves("gaussian", dims, 300)[:, 0]
    slopes = np.log(curves[:, 9] / curves[:, 299]) / math.log(30)
    lowest = curves[:, 1:].argmin(axis=0) == orders.ORDERS.index("single_shuffle")
    return compared(
        printed("slopes from minus", slopes.min(), shallow, 2),
        printed("to minus", slopes.max(), steep, 2),
        true("single shuffle lowest from epoch 2 to 300", lowest.all()),
        off("the bound after 300 epochs is 1", 1 - np.exp(-600 * _design("gaussian", dims)[1][0]), 1e-3),
    )


@functools.cache
def _fitted(dims, draws=16):
    """Edge exponents fitted to the eigenvalues of square Gaussian designs, the figure's among them."""
    designs = [data.gaussian(dims, dims, rng=seed) for seed in range(draws)]
    return np.array([spectrum.fit_edge(spectrum.gram_eigenvalues(X)).beta for X in designs])


def edge_of_the_figure(*, exponent: float = 0.5, constant: float = 2 / math.pi, dims: int = 512) -> Evidence:
    """Exponent and constant of the limit law's edge, and exponents fitted to 16 designs like the figure's."""
    law = spectrum.MarchenkoPastur(1.0)
    local = math.log(float(law.cdf(1e-6)) / float(law.cdf(1e-8))) / math.log(100)
    return compared(
        near("exponent of the limit law", local, exponent, 1e-3),
        near("its constant", float(law.cdf(1e-8)) / 1e-4, constant, 1e-3),
        off(f"fitted to 16 designs of {dims} rows", np.abs(_fitted(dims) - exponent).max(), 0.05),
    )


def line_from_the_edge(*, height: float = 1 / math.sqrt(2 * math.pi)) -> Evidence:
    """The Laplace transform at 2n of the edge (2/pi) sqrt(x) against IID's constant at step 1, from exact losses."""
    line = float(spectrum.MarchenkoPastur(1.0).edge.laplace(2.0))
    limit = limit_in_root(lambda n: iid.test_loss(n) * n**0.5, 100)
    return compared(near("from the edge", line, height, 1e-9), near("from exact losses", limit, height, 1e-4))


def _floors(X, y, step, rng):
    """Where both losses end in every order: exactly, and for random reshuffle as a mean over late epochs of 8 runs."""
    truth = [noise.iid_floor(X, y, step)]
    truth += [noise.cycle_floor(X, y, order, step, rng=rng) for order in ("single_shuffle", "flip_flop")]
    late = kaczmarz.simulate(
        kaczmarz.Problem(X, y), "random_reshuffle", range(60, 161), step, probes=1, runs=8, rng=rng
    )
    return [*((floor.test, floor.train) for floor in truth), (late.test[1:].mean(), late.train[1:].mean())]


@functools.cache
def _least_growth(draws):
    """The least factor by which a next step raises a floor: Gaussian rows, and CIFAR-10 rows with labels."""
    pool, least = data.cifar10(), math.inf
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        X = data.gaussian(48, 16, rng=rng)
        y = X @ rng.standard_normal(16) / 4 + rng.standard_normal(48)
        if seed % 2:
            one = probe.split(pool.features, pool.labels, 96, 24, held=1400, rng=seed)
            X, y = one.X, one.targets[:, 0]
        floors = [_floors(X, y, step, seed) for step in (0.2, 0.4, 0.8, 1.2, 1.6)]
        least = min(least, np.exp(np.diff(np.log(np.array(floors)), axis=0).min()))
    return least


def floor_rises_with_the_step(*, draws: int = 16) -> Evidence:
    """Where both losses of all four orders end at five steps, designs that are Gaussian or CIFAR-10 rows."""
    return compared(true("every next step raises every floor by 40 % at least", _least_growth(draws) > 1.4))
