"""What the book adds to the paper (``data/additions.toml``): a number in a statement is a keyword of its check."""

import functools
import math

import numpy as np
from scipy import special, stats

from edgelaw import data, exact, spectrum
from edgelaw.orders import ORDERS
from edgelaw.theory import flip_flop, single_shuffle
from edgelaw_ledger import routes
from edgelaw_ledger.evidence import Evidence, compared, drawn, near, off, true
from edgelaw_ledger.own.spectra import over_its_curve
from edgelaw_ledger.own.steps import near_step_two
from edgelaw_ledger.routes import averaged, beyond, constant, limit_in_root, require

SPECTRA = ((0.4, 1.6), (0.2, 0.9, 1.9))  # eigenvalues of the covariances in edge_constants, of mean 1


def exact_sums() -> Evidence:
    """The sums over a queue's lengths against contour integrals, five aspects; at ρ = 1 the Poisson sum in mpmath."""
    worst = 0.0
    for rho in (0.3, 0.7, 1.0, 1.4, 2.5):
        for n in (1, 2, 5, 20, 60):
            sums = single_shuffle.test_sum(n, rho), single_shuffle.train_sum(n, rho)
            integrals = single_shuffle.test_loss(n, rho=rho), single_shuffle.train_loss(n, rho=rho)
            worst = max(worst, np.abs(np.divide(sums, integrals) - 1).max())
    squares = max(abs(routes.exact_train(n) / single_shuffle.train_loss(n) - 1) for n in (1, 2, 5, 60, 1000))
    return compared(
        off("both losses, 25 cases of n and rho", worst, 1e-9),
        off("training loss at rho = 1 as the sum of (k/n)^2 P(N = n - k)^2, five n", squares, 1e-9),
    )


@functools.cache
def _coefficients(loss, count=5, start=50):
    """Coefficients of an expansion in n^(-1/2), each extrapolated from exact sums less the terms before it."""
    total, found = getattr(single_shuffle, f"{loss}_sum"), []
    terms = [
        (float(power), float(c) / math.pi**over) for power, c, over in single_shuffle.expansion(loss, count)
    ]
    for k, (power, _) in enumerate(terms):

        def rest(n, k=k, power=power):
            return (float(total(n)) - math.fsum(c * n**-p for p, c in terms[:k])) * n**power

        found.append(limit_in_root(rest, start, 3 if k > 2 else 4))
    return np.array(found), np.array([c for _, c in terms])


def all_expansions(
    *, third: float = 1 / (32 * math.sqrt(math.pi)), fourth: float = 13 / (540 * math.pi)
) -> Evidence:
    """The first five coefficients of both losses extrapolated from exact sums at n up to 3200."""
    (test, stated), (train, other) = _coefficients("test"), _coefficients("train")
    worst = max(np.abs(test / stated - 1).max(), np.abs(train / other - 1).max())
    return compared(
        near("third coefficient of the test loss", test[2], third, 2e-3),
        near("fourth", test[3], fourth, 2e-3),
        off("five coefficients of each loss", worst, 5e-3),
    )


def single_shuffle_training() -> Evidence:
    """The constant at five steps, extrapolated from exact losses; the losses on random matrices at two aspects."""
    worst = 0.0
    for eta in (0.1, 0.4, 1.0, 1.5, 1.8):
        stated = (2 - 2 * eta + eta**2) / (8 * math.sqrt(math.pi) * eta**1.5 * math.sqrt(2 - eta))
        worst = max(worst, abs(constant(single_shuffle.train_loss, 1.5, eta) / stated - 1))
    sample = routes.drawn(0.6, 3, 100)["single_shuffle", "train"]
    return compared(
        off("the constant, steps 0.1 to 1.8", worst, 1e-3),
        drawn("matrices, n = 3, step 0.6", *sample, single_shuffle.train_loss(3, 0.6)),
        *routes.on_matrices({"train": 2 * single_shuffle.train_loss(1, 1.3, 2.0)}, 1.3, 2.0),
    )


def _counted(n, step, rho, terms=160):
    """Both losses of flip-flop by adding up the probabilities of the counts."""
    tau, c, k = step * (2 - step), step**2 * rho, np.arange(terms)
    chances = stats.binom.pmf(np.arange(n + 1), n, tau), stats.poisson.pmf(np.arange(n + 1), n * tau * rho)
    excess = np.convolve(chances[0], chances[1][::-1])[n:]  # P(M − J = 0), 1, ..., n
    s, weight = special.roots_legendre(60)
    s = (1 + s) / 2
    mixture = (weight / 2 * (1 + c * (1 - s))) @ stats.poisson.pmf(k, c * s[:, None])
    g = (tau * mixture + (1 - step) ** 2 * np.append(0, mixture[:-1])) / tau
    top = min(n + 1, terms)
    return np.arange(n + 1) @ excess / (n * tau), (k * g)[:top] @ excess[:top] / n


def flip_flop_counts() -> Evidence:
    """Both losses as counts, summed term by term, against contour integrals of the generating functions."""
    gaps = []
    for eta, rho in ((0.3, 1.0), (0.5, 1.0), (1.3, 1.0), (1.9, 1.0), (0.8, 1.6), (1.2, 0.6)):
        for n in (1, 2, 7, 30, 100):
            library = [loss(n, eta, rho) for loss in (flip_flop.test_loss, flip_flop.train_loss)]
            gaps.append(np.abs(np.array(_counted(n, eta, rho)) / library - 1))
    test, train = np.max(gaps, axis=0)
    return compared(
        off("test loss as E(M-J)^+/EM, 30 cases", test, 1e-10),
        off("training loss as a weighted count", train, 1e-10),
    )


def iid_any_spectrum(*, draws: int = 16, seed: int = 7) -> Evidence:
    """Curves from eigenvalues alone against exact expectations over all draws, three edges, 16 designs of two sizes."""
    epochs, gaps, modes = np.array([1, 2, 5, 10, 20]), {}, 0.0
    for size in (48, 96):
        worst = []
        for k in range(draws):
            beta, step = ((0.3, 0.5), (0.6, 1.2), (1.2, 1.8))[k % 3]
            X = data.normalize_rows(data.power_law(size, size, beta, np.random.default_rng([seed, k])))
            values = spectrum.gram_eigenvalues(X)
            predicted, truth = exact.curve("iid", values, epochs, step), exact.expected_curve(X, epochs, step)
            ratios = np.array([predicted.test / truth.test, predicted.train / truth.train])
            worst.append(np.abs(ratios - 1).max())
            mixture = routes.iid_on_nodes(values, np.full(size, 1 / size), epochs, step)
            modes = max(
                modes, np.abs([predicted.test[1:], predicted.train[1:]] / np.array(mixture) - 1).max()
            )
        gaps[size] = np.array(worst)
    return compared(
        off("mixture of exponentials, rates of the rank-one equation, 32 designs", modes, 1e-8),
        off("both losses of 16 designs of d = 96 over the exact means, worst", gaps[96].max(), 2 / 96),
        true("half as far as at d = 48", gaps[96].mean() < 0.65 * gaps[48].mean()),
    )


def tuned_step(*, exponent: float = 2 / 3, constant: float = 0.321) -> Evidence:
    """Exact losses at the step 2 - 1.2 n^(-1/3), their slope and height at n = 2000, 4000 and 8000."""
    slope = math.log(near_step_two(2000) / near_step_two(8000)) / math.log(4)
    heights = [near_step_two(n) * n**exponent for n in (2000, 4000, 8000)]
    return compared(
        near("exponent", slope, exponent, 0.005),
        *(near("constant", height, constant, 0.01) for height in heights),
    )


def curves_on_any_spectrum(*, dims: int = 100, draws: int = 16, seed: int = 9) -> Evidence:
    """All orders at step 1 on 16 designs of covariance j^(-1/2), m = d and 2d, from all starts, over their curves."""
    rng, shape = np.random.default_rng(seed), np.arange(1, dims + 1) ** -0.25
    square, others, errors = 0.0, 0.0, 0.0
    for rho, epochs in ((1, np.array([1, 3, 10])), (2, np.array([1, 3]))):
        designs = [data.normalize_rows(rng.standard_normal((rho * dims, dims)) * shape) for _ in range(draws)]
        for order in ORDERS:
            mean, error = averaged([over_its_curve(X, order, epochs, rng) for X in designs])
            others = max(others, beyond(mean, error, 1))
            if rho == 1:
                square, errors = max(square, np.abs(mean[0] - 1).max()), max(errors, error[0].max())
    require(errors < 0.004, "a standard error of the test losses below 0.4 %")
    return compared(
        off("test loss of any order, m = d, mean of 16 draws", square, 0.01),
        off("both losses, m = d and 2d, beyond 4 standard errors", others, 0.01),
    )


@functools.cache
def _limits(sigma, step):
    """Limits of exact curves for a covariance: single shuffle's losses, flip-flop's test loss."""
    n = 250 * 4 ** np.arange(4)
    once, back = (exact.population_curve(order, sigma, n, step) for order in ("single_shuffle", "flip_flop"))
    scaled = once.test[1:] * n**0.5, once.train[1:] * n**1.5, back.test[1:] * n**0.5
    return [limit_in_root(dict(zip(n.tolist(), x, strict=True)).__getitem__, 250) for x in scaled]


def edge_constants(*, sixth: float = 1 / 6) -> Evidence:
    """Limits in n of exact curves for covariances of two and of three eigenvalues, at three steps."""
    gaps = []
    for sigma in SPECTRA:
        v, inverse = np.mean(np.square(sigma)) - 1, np.mean(1 / np.array(sigma))
        for step in (0.5, 1.0, 1.4):
            a = 1 / step - 0.5
            block = a**2 + 1 / 4 + sixth * v
            constants = (
                math.sqrt(inverse * a / (2 * math.pi)),
                math.sqrt(inverse / (2 * math.pi * a)) * block / 4,
                math.sqrt(inverse * block / (2 * math.pi * a)),
            )
            gaps.append(np.array(_limits(sigma, step)) / constants - 1)
    names = ("single shuffle's test loss", "its training loss", "flip-flop's test loss")
    worst = np.abs(gaps).max(axis=0)
    return compared(*(off(name, gap, 1e-4) for name, gap in zip(names, worst, strict=True)))
