"""Checks of the appendices on other orders: on any spectrum, and with the shuffle buffers of data loaders."""

import functools
import itertools
import math

import numpy as np

from edgelaw import data, exact, kaczmarz
from edgelaw.exact import levy
from edgelaw.orders import ShuffleBuffer, concordance, stream
from edgelaw.theory import BY_ORDER, gap
from edgelaw_ledger.evidence import Evidence, compared, drawn, near, off
from edgelaw_ledger.routes import constant


@functools.cache
def _two_rows(angle, epochs):
    """Test losses of the four orders at step 1, by running through all their orders."""
    rows = np.array([[1.0, 0.0], [math.cos(angle), math.sin(angle)]])
    forward = kaczmarz.epoch_matrix(rows, 1.0)

    def loss(turns):
        w = np.eye(2)
        for turn in turns:
            w = (forward.T if turn else forward) @ w
        return (w**2).sum() / 2

    flips = tuple(bool(k % 2) for k in range(epochs))
    return (
        exact.expected_curve(rows, epochs, 1.0).test[-1],
        np.mean([loss(turns) for turns in itertools.product((False, True), repeat=epochs)]),
        loss(epochs * (False,)),
        loss(flips),
    )


def two_rows(*, half: float = 0.5) -> Evidence:
    """Losses of two rows at six angles after one to six epochs, all orders enumerated, against four closed forms."""
    worst = 0.0
    for angle, n in itertools.product((0.1, 0.3, 0.7, 1.0, 1.3, 1.5), range(1, 7)):
        low, high = np.linalg.eigvalsh([[1, math.cos(angle)], [math.cos(angle), 1]])
        c = 1 - low * high
        stated = (
            half * ((1 + c) / 2) ** (2 * n - 1),
            half * c * ((c + c**2) / 2) ** (n - 1),
            half * c ** (2 * n - 1),
            half * c**n,
        )
        worst = max(worst, *np.abs(np.array(_two_rows(angle, n)) / stated - 1))
    return compared(off("closed forms of four orders, six angles, one to six epochs", worst, 1e-9))


@functools.cache
def late_ratio(order):
    """The limit of 2n times the training loss over the test loss, isotropic rows, m = d, step 1."""
    theory, start = BY_ORDER[order], 100 if order == "random_reshuffle" else 1600
    levels = 4 if order == "random_reshuffle" else 5
    train, test = (
        constant(loss, power, 1.0, start, levels)
        for loss, power in ((theory.train_loss, 1.5), (theory.test_loss, 0.5))
    )
    return 2 * train / test


@functools.cache
def marchenko_pastur():
    """Nodes and weights above 1e-6 of the average over the Marchenko–Pastur law at m = d."""
    theta = (np.arange(2000) + 0.5) * np.pi / 2000
    average = levy.from_sample(2 - 2 * np.cos(theta), weights=1 + np.cos(theta), reach=0.05)
    heavy = np.abs(average.weights) > 1e-6
    return average.nodes[heavy], average.weights[heavy]


@functools.cache
def sample_against_covariance(dims, samples):
    """Relative differences of the average of ξ/(ξ − λ) from that over the covariance: (shapes, samples)."""
    tau = np.arange(1, dims + 1) ** -0.5
    tau /= tau.mean()
    rng, found = np.random.default_rng(2), []
    for rho, _ in itertools.product((0.5, 1.0, 2.0), range(samples)):
        X = data.normalize_rows(rng.standard_normal((int(rho * dims), dims)) * np.sqrt(tau))
        xi = 1 / np.mean(1 / (-1.0 - np.linalg.eigvalsh(X @ X.T / len(X))))
        found.append((1 + rho * (-1.0 / xi - 1)) / np.mean(xi / (xi - tau)) - 1)
    return np.reshape(found, (3, samples))


@functools.cache
def _drawn_concordance(size, rows, pairs):
    """Kendall's tau of pairs of drawn epochs of a shuffle buffer: mean and standard error."""
    places = stream(ShuffleBuffer(size), rows, rng=0).epochs(0, 2 * pairs).argsort(axis=1)
    signs = np.sign(places[:, :, None] - places[:, None])
    values = (signs[0::2] * signs[1::2]).sum(axis=(1, 2)) / (rows * (rows - 1))
    return values.mean(), values.std(ddof=1) / math.sqrt(pairs)


def buffer_concordance(*, first: float = 3.0, second: float = 2.5, rows: int = 2**20) -> Evidence:
    """The concordance of many rows against its polynomial, and of drawn epochs of 64 rows against the exact one."""
    sizes = rows // np.array([2, 3, 4, 5, 6, 16, 20, 32, 64])
    shares = sizes / rows
    exact_ = np.array([concordance(ShuffleBuffer(int(size)), rows) for size in sizes])
    apart = np.abs(exact_ - (1 - first * shares + second * shares**2))
    mean, error = _drawn_concordance(16, 64, 400)
    known = concordance(ShuffleBuffer(16), 64)
    return compared(
        off("polynomial at shares 1/64 to 1/16", apart[5:].max(), 1e-5),
        off("over exp(-1/share) at shares 1/6 to 1/2", (apart * np.exp(1 / shares))[:5].max(), 0.2),
        drawn("16 of 64 rows, 400 pairs of drawn epochs", mean, error, known, 3),
        off("standard error", error / known, 0.01),
    )


@functools.cache
def _slow_forms(size, rows, files=16, orders=100, slow=10):
    """o'Lo and the variance term o'(E L² − (E L)²)o over slow vectors o: means and the second's error."""
    first, second = [], []
    for file in range(files):
        U = data.gaussian(rows, rows, np.random.default_rng([15, file]))
        U = U / np.linalg.norm(U, axis=1)[:, None]
        K = U @ U.T
        slowest = np.linalg.eigh(K)[1][:, :slow]
        right, left, product = np.zeros((rows, slow)), np.zeros((rows, slow)), np.zeros(slow)
        for place in stream(ShuffleBuffer(size), rows, rng=file).epochs(0, orders).argsort(axis=1):
            L = K * (place[None, :] < place[:, None])
            after, before = L @ slowest, L.T @ slowest
            right, left, product = right + after, left + before, product + (after * before).sum(axis=0)
        first.append((slowest * right).sum(axis=0).mean() / orders)
        second.append((product - (right * left).sum(axis=0) / orders).mean() / (orders - 1))
    return np.mean(first), np.mean(second), np.std(second, ddof=1) / math.sqrt(files)


def step_of_a_buffer(*, half: float = 0.5, quarter: float = 0.25, rows: int = 300) -> Evidence:
    """Two coefficients of the inverse effective step from drawn epochs on Gaussian rows, three buffers."""
    found = []
    for size in (rows // 4, rows // 2, rows):
        first, second, error = _slow_forms(size, rows)
        law = quarter * (1 - concordance(ShuffleBuffer(size), rows))
        found += [
            near(f"first coefficient, {size} of {rows} rows", -first, half, 0.004),
            drawn("second", -second, error, law),
            off("standard error", error / law, 0.005),
        ]
    return compared(*found)


@functools.cache
def buffers_on_gaussian_rows(sizes, rows=256, epochs=30, draws=16):
    """Test losses of buffers over random reshuffle's on fresh Gaussian rows, step 1: geometric means and errors."""
    logs = []
    for seed in range(draws):
        X = data.gaussian(rows, rows, np.random.default_rng([16, seed]))
        curves = [
            kaczmarz.simulate(X, ShuffleBuffer(size), [epochs], rng=seed, starts="all")
            for size in (*sizes, rows)
        ]
        ends = np.log([curve.test[-1] for curve in curves])
        logs.append(ends[:-1] - ends[-1])
    means = np.exp(np.mean(logs, axis=0))
    return means, means * np.std(logs, axis=0, ddof=1) / math.sqrt(draws)


@functools.cache
def by_concordance(size, rows=256, epochs=30):
    """A buffer's test loss over random reshuffle's by the law in its concordance, isotropic rows, m = d, step 1."""
    single, fresh = (BY_ORDER[order].test_loss(epochs) for order in ("single_shuffle", "random_reshuffle"))
    return gap.concordant_loss(single, fresh, concordance(ShuffleBuffer(size), rows)) / fresh


@functools.cache
def excess_of_labels(size, runs=16):
    """Excess training losses on the labels of CIFAR-10 over the least one, the file sorted by label, run by run."""
    embeddings = data.cifar10()
    prepared = data.preprocess(embeddings.features, rows=1024, dims=128, rng=0)
    labels = embeddings.labels[prepared.rows]
    place = labels.argsort(kind="stable")
    V, targets = prepared.X[place] / math.sqrt(128), (labels[place, None] == np.arange(10)) - 0.1
    best, ends = np.linalg.lstsq(V, targets, rcond=None)[0], []
    for run in range(runs):
        walk = kaczmarz.iterates(
            kaczmarz.Problem(V, targets), ShuffleBuffer(size), [20], np.zeros((128, 10)), 0.1, run
        )
        *_, (_, W) = walk
        ends.append(((V @ (W - best)) ** 2).sum() / ((V @ best - targets) ** 2).sum())
    return np.array(ends)
