"""What the first page's sentences compare, the introduction's, the README's and the cover's: in tables of rows."""

import functools
import math

import numpy as np

from edgelaw import data, exact, kaczmarz, orders, spectrum
from edgelaw.exact import labels as noise
from edgelaw.theory import BY_ORDER
from edgelaw_app.training import probe
from edgelaw_ledger.own.spectra import over_its_curve


def square_embeddings():
    """Recorded (predicted, measured) losses at m = d, two embeddings, four draws, steps 0.5, 1 and 1.5, by sweep."""
    traces, single = data.sweep("embedding_traces"), data.sweep("predict_accuracy")
    square = (np.diff(single["shapes"])[:, 0] == 0) & np.isin(single["names"], ("cifar10", "wikipedia"))
    names = "predicted", "measured"
    return [
        [traces[name].reshape(18, 4, 2, 6) for name in names],
        [single[name][square].reshape(6, 4, 2, 50).astype(float) for name in names],
    ]


def largest_deviations():
    """Of measured losses from predicted ones, in per cent, test and training."""
    pairs = square_embeddings()
    return 100 * np.max([np.abs(seen / said - 1).max(axis=(0, 1, 3)) for said, seen in pairs], axis=0)


def cost_of_the_prediction():
    """The recorded loss in the order that is predicted to be best over the smallest, less 1."""
    costs = []
    for predicted, measured in square_embeddings():
        best = predicted.argmin(axis=1, keepdims=True)
        costs.append((np.take_along_axis(measured, best, axis=1)[:, 0] / measured.min(axis=1)).max() - 1)
    return max(costs)


EPOCHS = np.unique([*range(2, 31), *np.geomspace(31, 1000, 40).astype(int)])


@functools.cache
def _isotropic():
    """Exact losses at step 1 on isotropic Gaussian rows, m = d, in the limit: (orders, losses, EPOCHS)."""
    modules = [BY_ORDER[order] for order in orders.ORDERS]
    return np.array([[module.test_loss(EPOCHS), module.train_loss(EPOCHS)] for module in modules])


def over_single_shuffle(order):
    """The least ratio of an order's losses at step 1 to single shuffle's, both losses, n = 2 to 1000 and the limit."""
    ratio = _isotropic()[orders.ORDERS.index(order)] / _isotropic()[orders.ORDERS.index("single_shuffle")]
    names = "test_constant", "train_constant"
    late = [getattr(BY_ORDER[order], name)() / getattr(BY_ORDER["single_shuffle"], name)() for name in names]
    return min(ratio.min(), *late)


@functools.cache
def design(name, size):
    """A design of the cover: Gaussian rows or CIFAR-10 embeddings, rows of one norm, and its eigenvalues."""
    if name == "gaussian":
        X = data.gaussian(size, size, rng=7)
    else:
        X = data.preprocess(data.cifar10().features, size, size, rng=0).X
    return data.normalize_rows(X), spectrum.gram_eigenvalues(data.normalize_rows(X))


@functools.cache
def curves(name, size, epochs):
    """Exact losses at step 1 of the four orders on that design: (orders, losses, epochs 1, 2, ...)."""
    curves = [exact.curve(order, design(name, size)[1], epochs) for order in orders.ORDERS]
    return np.array([[curve.test[1:], curve.train[1:]] for curve in curves])


@functools.cache
def dots(size, epochs):
    """How far the cover's dots, two runs from 64 starts each, lie from its lines: (designs, orders, dots)."""
    shown = np.unique(np.geomspace(1, epochs, 14).astype(int))
    distances = []
    for name in ("gaussian", "cifar10"):
        for k, order in enumerate(orders.ORDERS):
            rows = design(name, size)[0].astype(np.float32)
            ran = kaczmarz.simulate(rows, order, shown, rng=1, probes=64, runs=2)
            distances.append(np.abs(ran.train[1:] / curves(name, size, epochs)[k, 1, shown - 1] - 1))
    return np.array(distances)


def best_step(order, epochs=50):
    """The step from 0.05 to 1.9 at which an order's exact test loss on isotropic rows is smallest."""
    steps = np.arange(1, 39) / 20
    return steps[np.argmin([BY_ORDER[order].test_loss(epochs, step) for step in steps])]


@functools.cache
def squared_deviations(sizes, draws):
    """Of both losses from their curves at step 1, mean over four orders and epochs 1, 3 and 10: (sizes, draws).

    Square designs of two covariances in turn; IID in the mean over its draws, other orders over two runs, all starts.
    """
    return np.array([[_squared_deviation(size, seed) for seed in range(draws)] for size in sizes])


def _squared_deviation(dims, seed):
    rng, x = np.random.default_rng(seed), np.arange(1, dims + 1) / dims
    shape = np.where(x > 0.5, 0.5, 1.5) if seed % 2 else 0.2 + 1.6 * x
    X = data.normalize_rows(rng.standard_normal((dims, dims)) * np.sqrt(shape))
    return np.mean(
        [(np.array(over_its_curve(X, order, (1, 3, 10), rng)) - 1) ** 2 for order in orders.ORDERS]
    )


def _floors(X, y, step, rng):
    """Where both losses end in every order: exactly, and for random reshuffle as a mean over late epochs of 8 runs."""
    truth = [noise.iid_floor(X, y, step)]
    truth += [noise.cycle_floor(X, y, order, step, rng=rng) for order in ("single_shuffle", "flip_flop")]
    late = kaczmarz.simulate(
        kaczmarz.Problem(X, y), "random_reshuffle", range(60, 161), step, probes=1, runs=8, rng=rng
    )
    return [*((floor.test, floor.train) for floor in truth), (late.test[1:].mean(), late.train[1:].mean())]


@functools.cache
def least_growth(draws):
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
