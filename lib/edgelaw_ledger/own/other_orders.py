"""Checks of the appendices on other orders: on any spectrum, and with the shuffle buffers of data loaders."""

import functools
import itertools
import math

import numpy as np

from edgelaw import data, exact, kaczmarz
from edgelaw.exact import levy
from edgelaw.orders import ORDERS, ShuffleBuffer, concordance, stream
from edgelaw.theory import BY_ORDER, gap
from edgelaw_ledger.evidence import Evidence, at_most, decide
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
    return decide(
        bool(worst < 1e-9),
        measured=f"four orders, six angles, one to six epochs: closed forms within a relative {worst:.0e}",
        claimed=f"{half:g} times powers of c = 1 - lambda_1 lambda_2",
        tolerance="relative 1e-9",
    )


@functools.cache
def _late_ratio(order):
    """The limit of 2n times the training loss over the test loss, isotropic rows, m = d, step 1."""
    theory, start = BY_ORDER[order], 100 if order == "random_reshuffle" else 1600
    levels = 4 if order == "random_reshuffle" else 5
    train, test = (
        constant(loss, power, 1.0, start, levels)
        for loss, power in ((theory.train_loss, 1.5), (theory.test_loss, 0.5))
    )
    return 2 * train / test


def late_training(
    *, drawn: float = 1.0, reshuffled: float = 0.6, once: float = 0.5, back: float = 4 / 3
) -> Evidence:
    """Limits of exact isotropic losses of the four orders at step 1, extrapolated from finite epochs."""
    stated = dict(zip(ORDERS, (drawn, reshuffled, once, back), strict=True))
    late = {order: _late_ratio(order) for order in ORDERS}
    return decide(
        all(abs(late[order] / value - 1) < 2e-3 for order, value in stated.items()),
        measured="; ".join(f"{order} {value:.5f}" for order, value in late.items()),
        claimed="; ".join(f"{order} {value:.5f}" for order, value in stated.items()),
        tolerance="relative 0.002 on each",
    )


@functools.cache
def _marchenko_pastur():
    """Nodes and weights above 1e-6 of the average over the Marchenko–Pastur law at m = d."""
    theta = (np.arange(2000) + 0.5) * np.pi / 2000
    average = levy.from_sample(2 - 2 * np.cos(theta), weights=1 + np.cos(theta), reach=0.05)
    heavy = np.abs(average.weights) > 1e-6
    return average.nodes[heavy], average.weights[heavy]


def one_node(*, node: float = 1.0, weight: float = 1.0) -> Evidence:
    """The nodes that a quadrature of the Marchenko–Pastur law gives, of weight above 1e-6."""
    nodes, weights = _marchenko_pastur()
    alone = len(nodes) == 1
    return decide(
        bool(alone and abs(nodes[0] - node) < 1e-6 and abs(weights[0] - weight) < 1e-6),
        measured=f"{len(nodes)} node, {nodes[0].real:.7f}, of weight {weights[0].real:.7f}",
        claimed=f"one node {node:g} of weight {weight:g}",
        tolerance="1e-6 on each",
    )


@functools.cache
def _sample_against_covariance(dims, samples):
    """Largest relative difference of the average of ξ/(ξ − λ), mean over samples, at three shapes."""
    tau = np.arange(1, dims + 1) ** -0.5
    tau /= tau.mean()
    worst = 0.0
    for rho in (0.5, 1.0, 2.0):
        rng, ratios = np.random.default_rng(2), []
        for _ in range(samples):
            X = data.normalize_rows(rng.standard_normal((int(rho * dims), dims)) * np.sqrt(tau))
            xi = 1 / np.mean(1 / (-1.0 - np.linalg.eigvalsh(X @ X.T / len(X))))
            ratios.append((1 + rho * (-1.0 / xi - 1)) / np.mean(xi / (xi - tau)))
        worst = max(worst, abs(float(np.mean(ratios)) - 1))
    return worst


def sample_of_any_shape(*, off: float = 0.002, dims: int = 300, samples: int = 8) -> Evidence:
    """The functional of a sample at three aspect ratios, mean of eight samples, against its covariance."""
    worst = _sample_against_covariance(dims, samples)
    return decide(
        at_most(worst, off),
        measured=f"at most {worst:.5f} at m = d/2, d and 2d",
        claimed=f"at most {off:.5f}",
        tolerance="a true bound that 2 % would loosen",
    )


# shuffle buffers -------------------------------------------------------------------------------------------


@functools.cache
def _drawn_concordance(size, rows, pairs):
    """Kendall's tau of pairs of drawn epochs of a shuffle buffer: mean and standard error."""
    places = stream(ShuffleBuffer(size), rows, rng=0).epochs(0, 2 * pairs).argsort(axis=1)
    signs = np.sign(places[:, :, None] - places[:, None])
    values = (signs[0::2] * signs[1::2]).sum(axis=(1, 2)) / (rows * (rows - 1))
    return values.mean(), values.std(ddof=1) / math.sqrt(pairs)


def buffer_concordance(*, first: float = 3.0, second: float = 2.5, rows: int = 2**20) -> Evidence:
    """The concordance of many rows against its polynomial, and of drawn epochs of 64 rows against the exact one."""
    shares = 1 / np.array([64, 32, 20, 16])
    truth = np.array([concordance(ShuffleBuffer(int(share * rows)), rows) for share in shares])
    worst = float(np.abs(truth - (1 - first * shares + second * shares**2)).max())
    mean, error = _drawn_concordance(16, 64, 400)
    known = concordance(ShuffleBuffer(16), 64)
    return decide(
        bool(worst < 1e-5 and abs(mean - known) < 3 * error and error < 0.01 * known),
        measured=f"polynomial within 1e-5: {worst < 1e-5}; 16 of 64 rows {mean:.4f} ± {error:.4f}, exact {known:.4f}",
        claimed=f"1 - {first:g} b + {second:g} b^2",
        tolerance="1e-5 for shares up to 1/16; three standard errors, each at most 1 %, for the drawn epochs",
    )


@functools.cache
def _slow_forms(size, rows, files=6, orders=250, slow=10):
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
    """Two coefficients of the inverse effective step from drawn epochs on Gaussian rows, full and quarter buffers."""
    agrees, shown = True, []
    for size in (rows // 4, rows):
        first, second, error = _slow_forms(size, rows)
        expected = quarter * (1 - concordance(ShuffleBuffer(size), rows))
        scale = (rows - 1) / rows  # of the sum of K_ij² over j ≠ i
        agrees &= abs(first + half) < 0.005 and abs(second + scale * expected) < 4 * error
        agrees &= error < 0.004 * expected
        shown.append(f"{first:.4f} and {-second:.4f} ± {error:.4f} (by the law {expected:.4f})")
    return decide(
        bool(agrees),
        measured="; ".join(shown),
        claimed=f"-{half:g} and {quarter:g} (1 - tau)",
        tolerance="0.005; four standard errors, each at most 0.4 %",
    )


@functools.cache
def _buffers_on_gaussian_rows(sizes, rows=256, epochs=30, draws=10):
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


def small_buffers(*, one: float = 0.895, sixteenth: float = 0.915, quarter: float = 0.96) -> Evidence:
    """Test losses of three buffers over random reshuffle's, drawn anew, against numbers and the law by concordance."""
    sizes = 1, 16, 64
    means, errors = _buffers_on_gaussian_rows(sizes)
    single, fresh = (BY_ORDER[order].test_loss(30) for order in ("single_shuffle", "random_reshuffle"))
    taus = [concordance(ShuffleBuffer(size), 256) for size in sizes]
    law = np.array([gap.concordant_loss(single, fresh, tau) for tau in taus]) / fresh
    stated = np.array([one, sixteenth, quarter])
    return decide(
        bool(
            (np.abs(means / stated - 1) < 0.005).all()
            and (np.abs(law / stated - 1) < 0.005).all()
            and errors.max() < 0.0015
        ),
        measured=", ".join(f"{mean:.4f}" for mean in means)
        + "; by concordance "
        + ", ".join(f"{value:.4f}" for value in law),
        claimed=", ".join(f"{value:g}" for value in stated),
        tolerance="relative 0.005, with standard errors of at most 0.0015",
    )


def buffers_on_embeddings(
    *, most: float = 0.987, repeated: float = 1.86, sorted_too: float = 1.61
) -> Evidence:
    """Losses of a quarter buffer on six files of embeddings and of the file's own order, from the shipped sweep."""
    sweep = data.sweep("loader_orders")
    files, sizes = sweep["files"].tolist(), sweep["buffers"].tolist()
    last = np.exp(sweep["ratios"][:, sweep["steps"].tolist().index(1.0), :, :, -1].astype(float))
    chosen = [k for k, name in enumerate(files) if not name.startswith("gaussian")]
    largest = float(last[chosen, sizes.index(64)].max())
    own = [float(last[files.index(name), 0, 1]) for name in ("cifar10 random", "cifar10 label")]
    return decide(
        at_most(largest, most)
        and abs(own[0] / repeated - 1) < 0.004
        and abs(own[1] / sorted_too - 1) < 0.004
        and len(chosen) == 6,
        measured=f"largest ratio {largest:.4f} on {len(chosen)} files; the file's order {own[0]:.3f} and {own[1]:.3f}",
        claimed=f"at most {most:g}; {repeated:g} and {sorted_too:g}",
        tolerance="none on the bound; relative 0.004 on the other two",
    )


@functools.cache
def _excess_of_labels(size, runs):
    """Excess training loss on the labels of CIFAR-10 over the least one, the file sorted by label: mean over runs."""
    embeddings = data.cifar10()
    prepared = data.preprocess(embeddings.features, rows=1024, dims=128, rng=0)
    labels = embeddings.labels[prepared.rows]
    place = labels.argsort(kind="stable")
    V, targets = prepared.X[place] / math.sqrt(128), (labels[place, None] == np.arange(10)) - 0.1
    best = np.linalg.lstsq(V, targets, rcond=None)[0]
    above = 0.0
    for run, k in itertools.product(range(runs), range(10)):
        walk = kaczmarz.iterates(
            kaczmarz.Problem(V, targets[:, k]), ShuffleBuffer(size), [20], np.zeros(128), 0.1, rng=run
        )
        *_, (_, w) = walk
        above += ((V @ (w - best[:, k])) ** 2).sum()
    return above / runs / ((V @ best - targets) ** 2).sum()


def sorted_labels(*, own: float = 0.367, eighth: float = 0.262, full: float = 0.0154) -> Evidence:
    """Excess training losses on CIFAR-10 sorted by label: the file's order, an eighth in the buffer, all rows."""
    values = [_excess_of_labels(1, 1), _excess_of_labels(128, 3), _excess_of_labels(1024, 3)]
    return decide(
        all(
            abs(value / stated - 1) < 0.01 for value, stated in zip(values, (own, eighth, full), strict=True)
        ),
        measured=", ".join(f"{value:.4g}" for value in values),
        claimed=f"{own:g}, {eighth:g}, {full:g}",
        tolerance="relative 0.01 on each",
    )


def sorted_by_norm(*, own: float = 1.15, shuffled: float = 1.14, quarter: float = 0.996) -> Evidence:
    """Losses of plain SGD on three files sorted by norm and on the same in random order, from the shipped sweep."""
    sweep = data.sweep("sorted_files")
    files, sizes = sweep["files"].tolist(), data.sweep("loader_orders")["buffers"].tolist()
    last = np.exp(sweep["ratios"][0, ..., -1].astype(float))
    by_norm, at_random = (
        last[[k for k, name in enumerate(files) if name.endswith(word)]] for word in ("norm", "random")
    )
    values = by_norm[:, 0].max(), at_random[:, 0].max(), last[:, sizes.index(64)].max()
    return decide(
        len(by_norm) == len(at_random) == 3
        and all(at_most(float(x), y) for x, y in zip(values, (own, shuffled, quarter), strict=True)),
        measured=f"at most {values[0]:.4f} and {values[1]:.4f} in the file's order, {values[2]:.4f} with a quarter",
        claimed=f"at most {own:g} and {shuffled:g}; {quarter:g}",
        tolerance="none: true bounds that 2 % would loosen",
    )


def floors_of_sorted_files(
    *,
    gaussian: float = 1.87,
    to_gaussian: float = 2.29,
    wikipedia: float = 3.28,
    to_wikipedia: float = 4.25,
    cifar: float = 4.82,
    to_cifar: float = 6.41,
    quarter: float = 1.15,
    to_quarter: float = 1.54,
) -> Evidence:
    """Floors of the distance under noise on seventeen files, sorted or not, over random reshuffle's, from the sweep."""
    sweep = data.sweep("sorted_files")
    files, sizes = sweep["floor_files"].tolist(), data.sweep("loader_orders")["buffers"].tolist()
    floors = np.exp(sweep["floors"][0, ..., 0].astype(float))
    ends = []
    for source in ("gaussian", "wikipedia", "cifar10"):
        own = floors[[k for k, name in enumerate(files) if name.startswith(source)], 0]
        ends += [own.min(), own.max()]
    ends += [floors[:, sizes.index(64)].min(), floors[:, sizes.index(64)].max()]
    stated = gaussian, to_gaussian, wikipedia, to_wikipedia, cifar, to_cifar, quarter, to_quarter
    return decide(
        len(files) == 17 and all(abs(x / y - 1) < 0.005 for x, y in zip(ends, stated, strict=True)),
        measured=", ".join(f"{value:.4g}" for value in ends),
        claimed=", ".join(f"{value:g}" for value in stated),
        tolerance="relative 0.005 on each",
    )
