"""What the book adds to the paper, each with a check like those of the claims.

The entries are in ``data/additions.toml``. A number in an entry's statement is a keyword of its check.
"""

import functools
import math

import numpy as np
from scipy import optimize, stats

from edgelaw import data, exact, kaczmarz, spectrum
from edgelaw.theory import BY_ORDER, flip_flop, gradient_descent, random_reshuffle, single_shuffle
from edgelaw_ledger.evidence import Evidence, decide, number
from edgelaw_ledger.routes import limit_in_root

SIGMA = (0.4, 1.6)  # eigenvalues of the covariance in edge_constants


def exact_sums() -> Evidence:
    """The sums over a queue's lengths against contour integrals of the generating function, which share no code."""
    worst = 0.0
    for total, loss in (
        (single_shuffle.test_sum, single_shuffle.test_loss),
        (single_shuffle.train_sum, single_shuffle.train_loss),
    ):
        for rho in (0.7, 1.0, 1.4):
            for n in (1, 2, 5, 20, 60):
                worst = max(worst, abs(float(total(n, rho) / loss(n, rho=rho)) - 1))
    return decide(
        worst < 1e-9,
        measured=f"relative difference at most {worst:.1e}, 15 losses of each kind",
        claimed="equal",
        tolerance="relative 1e-9",
    )


@functools.cache
def _test_sum(n):
    """The library's exact test loss at step 1."""
    return float(single_shuffle.test_sum(n))


def all_expansions(
    *, third: float = 1 / (32 * math.sqrt(math.pi)), fourth: float = 13 / (540 * math.pi)
) -> Evidence:
    """The third and fourth coefficients extrapolated from exact sums at n up to 6400."""

    def rest(n, known):
        lead = 1 / (2 * math.sqrt(math.pi * n)) + 1 / (6 * math.pi * n)
        return _test_sum(n) - lead - known * n**-1.5

    coefficients = [
        limit_in_root(lambda n: rest(n, 0.0) * n**1.5, 100),
        limit_in_root(lambda n: rest(n, third) * n**2.0, 100, 3),
    ]
    wrong = max(abs(coefficients[0] / third - 1), abs(coefficients[1] / fourth - 1))
    return decide(
        wrong < 2e-3,
        measured=f"{coefficients[0]:.6f} and {coefficients[1]:.6f}",
        claimed=f"{third:.6f} and {fourth:.6f}",
        tolerance="relative 0.002",
    )


def single_shuffle_training() -> Evidence:
    """The constant at three steps, extrapolated from exact training losses at n up to 6400."""
    worst = 0.0
    for eta in (0.4, 1.0, 1.5):
        stated = (2 - 2 * eta + eta**2) / (8 * math.sqrt(math.pi) * eta**1.5 * math.sqrt(2 - eta))
        limit = limit_in_root(lambda n, eta=eta: single_shuffle.train_loss(n, eta) * n**1.5, 100)
        worst = max(worst, abs(limit / stated - 1))
    return decide(
        worst < 1e-3,
        measured=f"relative difference at most {worst:.1e}",
        claimed="(2 - 2 eta + eta^2) / (8 sqrt(pi) eta^(3/2) sqrt(2 - eta))",
        tolerance="relative 0.001",
    )


def flip_flop_counts() -> Evidence:
    """The count of binomial over Poisson, summed term by term, against contour integrals of the generating function."""
    worst = 0.0
    for eta, rho in ((0.5, 1.0), (1.3, 1.0), (0.8, 1.6), (1.2, 0.6)):
        tau = eta * (2 - eta)
        for n in (1, 2, 7, 30):
            wins, losses = np.arange(n + 1), np.arange(n + 1)
            gain = np.maximum(wins[:, None] - losses, 0)
            chance = np.outer(stats.binom.pmf(wins, n, tau), stats.poisson.pmf(losses, n * tau * rho))
            worst = max(worst, abs((gain * chance).sum() / (n * tau) / flip_flop.test_loss(n, eta, rho) - 1))
    return decide(
        worst < 1e-10,
        measured=f"relative difference at most {worst:.1e}, 16 losses",
        claimed="equal",
        tolerance="relative 1e-10",
    )


def random_reshuffle_constant(*, at_step_one: float = 1 / math.sqrt(3 * math.pi)) -> Evidence:
    """The constant extrapolated from exact losses at n up to 256000, against the formula at step 1."""
    limit = limit_in_root(lambda n: random_reshuffle.test_loss(n) * n**0.5, 4000)
    return number(limit, at_step_one, 1e-5, what="sqrt(n) test loss")


def effective_steps() -> Evidence:
    """The constants of four orders at three steps, extrapolated from exact losses, against gradient descent's."""
    # Gradient descent's own constant, at a step it allows, carried to the effective one.
    slow = limit_in_root(lambda n: gradient_descent.test_loss(n, 0.4) * n**0.5, 200)
    worst = 0.0
    for eta in (0.3, 0.7, 1.2):
        tau = eta * (2 - eta)
        steps = {
            "iid": eta,
            "random_reshuffle": eta * (1 + eta / 2),
            "single_shuffle": eta / (1 - eta / 2),
            "flip_flop": tau / (2 - tau),
        }
        for order, step in steps.items():
            loss = BY_ORDER[order].test_loss
            limit = limit_in_root(lambda n, loss=loss, eta=eta: loss(n, eta) * n**0.5, 200)
            worst = max(worst, abs(limit / slow * math.sqrt(step / 0.4) - 1))
    return decide(
        worst < 1e-4,
        measured=f"relative difference of the constants at most {worst:.1e}",
        claimed="eta, eta (1 + eta/2), eta / (1 - eta/2), tau / (2 - tau)",
        tolerance="relative 0.0001",
    )


def iid_any_spectrum(*, size: int = 192, seed: int = 7) -> Evidence:
    """The curve from eigenvalues alone against the exact expectation over all draws, on a power-law spectrum."""
    X = data.normalize_rows(data.power_law(size, size, 0.6, rng=seed))
    epochs = np.array([1, 2, 5, 10, 20])
    predicted = exact.curve("iid", spectrum.gram_eigenvalues(X), epochs, 1.2)
    truth = exact.expected_curve(X, epochs, 1.2)
    test = float(np.abs(predicted.test / truth.test - 1).max())
    train = float(np.abs(predicted.train / truth.train - 1).max())
    return decide(
        max(test, train) < 2 / size,
        measured=f"test within {test:.2%}, training within {train:.2%} at d = {size}",
        claimed="equal up to order 1/d",
        tolerance=f"2/d = {2 / size:.1%}",
    )


@functools.cache
def _near_step_two(n):
    """The exact test loss at the step 2 - 1.2 n^(-1/3)."""
    return float(single_shuffle.test_loss(n, 2 - 1.2 * n ** (-1 / 3)))


def tuned_step(*, exponent: float = 2 / 3, constant: float = 0.321) -> Evidence:
    """Exact losses at the step 2 - 1.2 n^(-1/3), their slope and height between n = 2000 and 8000."""
    early, late = _near_step_two(2000), _near_step_two(8000)
    slope, height = math.log(early / late) / math.log(4), late * 8000**exponent
    return decide(
        abs(slope / exponent - 1) < 0.005 and abs(height / constant - 1) < 0.01,
        measured=f"exponent {slope:.4f}, constant {height:.4f}",
        claimed=f"exponent {exponent:.4f}, constant {constant:.3f}",
        tolerance="relative 0.005 and 0.01",
    )


def gain_at_any_edge(*, size: int = 400, seed: int = 8) -> Evidence:
    """Powers of epoch matrices, edges 0.3 and 1: the step at which gradient flow on the same spectrum is as fast."""
    worst, n = 0.0, 2**7
    for beta in (0.3, 1.0):
        rng = np.random.default_rng([seed, round(10 * beta)])
        X = data.normalize_rows(data.power_law(size, size, beta, rng))
        values = spectrum.gram_eigenvalues(X)
        epoch = kaczmarz.epoch_matrix(X / math.sqrt(size), 1.0)
        power = np.linalg.matrix_power(epoch, n)
        loss = float((power**2).sum()) / size
        # the step at which gradient flow on the same eigenvalues has this loss
        equivalent = optimize.brentq(lambda t, v=values, a=loss: np.exp(-2 * t * v * n).mean() - a, 0.1, 10.0)
        worst = max(worst, abs((equivalent / 2.0) ** beta - 1))
    return decide(
        worst < 0.05,
        measured=f"gain over IID at step 1 is 2^beta up to a factor within {worst:.1%} of 1, beta = 0.3 and 1",
        claimed="2^beta",
        tolerance="relative 0.05 at n = 128, d = 400",
    )


def curves_on_any_spectrum(*, size: int = 240, seed: int = 9) -> Evidence:
    """All orders at step 1 on rows of covariance j^(-1/2), from all starts, against curves from the eigenvalues."""
    rng = np.random.default_rng(seed)
    X = data.normalize_rows(rng.standard_normal((size, size)) * np.arange(1, size + 1) ** -0.25)
    epochs = np.array([1, 3, 10])
    values = spectrum.gram_eigenvalues(X)
    losses = {"iid": exact.expected_curve(X, epochs, 1.0, tolerance=1e-6).test[1:]}
    for order in ("random_reshuffle", "single_shuffle", "flip_flop"):
        curve = kaczmarz.simulate(X, order, epochs, runs=4, rng=rng, starts="all")
        losses[order] = curve.test[1:]
    off = max(
        float(np.abs(loss / exact.curve(order, values, epochs).test[1:] - 1).max())
        for order, loss in losses.items()
    )
    return decide(
        off < 0.01,
        measured=f"largest deviation of any order's test loss {off:.2%}, d = {size}",
        claimed="equal as d grows",
        tolerance="relative 0.01",
    )


@functools.cache
def _two_eigenvalues(step):
    """Limits of exact curves for a covariance of two eigenvalues: single shuffle's losses, flip-flop's test loss."""
    n = 250 * 4 ** np.arange(4)
    once = exact.population_curve("single_shuffle", SIGMA, n, step)
    back = exact.population_curve("flip_flop", SIGMA, n, step)
    limits = []
    for losses, power in ((once.test, 0.5), (once.train, 1.5), (back.test, 0.5)):
        scaled = dict(zip(n.tolist(), losses[1:] * n.astype(float) ** power, strict=True))
        limits.append(limit_in_root(scaled.__getitem__, 250))
    return limits


def edge_constants(*, sixth: float = 1 / 6) -> Evidence:
    """Richardson limits of exact curves for a covariance of two eigenvalues, at three steps."""
    sigma = np.array(SIGMA)
    v, inverse = float((sigma**2).mean()) - 1, float((1 / sigma).mean())
    worst = 0.0
    for step in (0.5, 1.0, 1.4):
        a = 1 / step - 0.5
        block = a**2 + 1 / 4 + sixth * v
        constants = (
            math.sqrt(inverse * a / (2 * math.pi)),
            math.sqrt(inverse / (2 * math.pi * a)) * block / 4,
            math.sqrt(inverse * block / (2 * math.pi * a)),
        )
        pairs = zip(_two_eigenvalues(step), constants, strict=True)
        worst = max(worst, *(abs(limit / constant - 1) for limit, constant in pairs))
    return decide(
        worst < 1e-4,
        measured=f"limits of nine exact curves are the constants to a relative {worst:.0e}",
        claimed="equal",
        tolerance="relative 1e-4",
    )
