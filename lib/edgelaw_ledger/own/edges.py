"""The sentences of chapters 1 to 3, and two of the audit of Appendix A: left edges, IID sampling, constants."""

import functools
import math

import numpy as np
from scipy import integrate, optimize, special

from edgelaw.theory import BY_ORDER, flip_flop, iid, random_reshuffle, single_shuffle
from edgelaw_ledger.evidence import Evidence, compared, near, off, printed, true
from edgelaw_ledger.routes import (
    gaussian_cubature,
    gaussian_iid,
    gaussian_update,
    iid_on_nodes,
    limit_in_n,
    limit_in_root,
    power_law_nodes,
)

STEPS = (0.1, 0.5, 1.0, 1.5, 1.9, 1.98)
BETAS = (0.3, 0.5, 1.0, 1.5)

# ------------------------------------------------------------------------------------------- chapter 1: left edges


def _over_the_law(beta, share, shift=0.0):
    """Limits of both losses of gradient descent over their laws: F of exponent β from `shift` on, mean 1.

    The step is a share of 2/(shift + λ_max); the law of the edge is divided by (1 − ηλ₀)^(2n), the training
    law at a shifted edge is λ₀ times the test law.
    """
    values, weights, Q = power_law_nodes(beta, shift)
    step = 2 * share / (shift + values.max())
    slow = 2 * step / (1 - step * shift)
    test = Q * math.gamma(beta + 1) * slow**-beta
    laws = (test, shift * test) if shift else (test, test * beta / slow)

    def scaled(n, k):
        left = weights * ((1 - step * values) / (1 - step * shift)) ** (2 * n)
        return n ** (beta + (0 if shift else k)) * (left @ values**k) / laws[k]

    return [limit_in_n(functools.partial(scaled, k=k), 2000) for k in (0, 1)]


def _wiggling(n):
    """√(2n) times gradient descent's loss at step 1 on F = √x (1 + sin(3/2 log x)/5), by cells of F."""
    ends = np.geomspace(1e-14, 1, 40001)
    heights = np.sqrt(ends) * (1 + 0.2 * np.sin(1.5 * np.log(ends)))
    return math.sqrt(2 * n) * (np.diff(heights) @ (1 - np.sqrt(ends[1:] * ends[:-1])) ** (2 * n))


def edge_law_needs_an_equality() -> Evidence:
    """Both laws against quadratures over four power laws at four steps; and a spectrum between two multiples of √λ."""
    ratios = [_over_the_law(beta, share) for beta in BETAS for share in (0.25, 0.5, 0.9, 0.99)]
    swing = [_wiggling(n) for n in np.geomspace(1e3, 1e6, 40).astype(int)]
    amplitude = 0.2 * abs(special.gamma(1.5 + 1.5j))  # of x^(1/2 + 3i/2) under the Laplace transform
    bounded = 0.8 * math.gamma(1.5) < min(swing) < max(swing) < 1.2 * math.gamma(1.5)
    return compared(
        off("both laws under the equality", np.abs(np.array(ratios) - 1).max(), 1e-5),
        true("the rate under bounds", bounded),
        near("a swing that does not die out", max(swing) - min(swing), 2 * amplitude, 0.01),
    )


def shifted_edge_needs_a_smaller_step(*, threshold: float = 2 / 3) -> Evidence:
    """Laws of shifted edges below the bound, rates above it, and the step at which m = 2d leaves its law."""
    ratios = [_over_the_law(beta, share, 0.2) for beta in BETAS for share in (0.25, 0.5, 0.9)]
    values, weights, _ = power_law_nodes(1.5, 0.2)
    top, n = values.max(), 10**5
    rates = []
    for share in (0.1, 0.5, 0.9):  # between 2/(λ₀ + λ_max) and 2/λ_max
        step = (1 - share) * 2 / (0.2 + top) + share * 2 / top
        late = special.logsumexp(2 * n * np.log(np.abs(1 - step * values)), b=weights) / (2 * n)
        rates.append(late / math.log(abs(1 - step * top)))
    return compared(
        near("largest step of the law at m = 2d", limit_in_n(_leaves_the_law, 2000), threshold, 2e-4),
        off("the law at smaller steps", np.abs(np.array(ratios) - 1).max(), 1e-4),
        off("the largest eigenvalue's rate at larger steps", np.abs(np.array(rates) - 1).max(), 0.01),
    )


@functools.cache
def _leaves_the_law(n):
    """The step at which the exact loss at m = 2d is twice the law of its left edge after n epochs."""
    r = 2**-0.5
    theta = np.pi * (np.arange(20000) + 0.5) / 20000
    values = 1 + r * r - 2 * r * np.cos(theta)
    weights = 2 * np.sin(theta) ** 2 / values / 20000
    low, Q = (1 - r) ** 2, 2 / (3 * math.pi * r**1.5 * (1 - r) ** 2)

    def excess(step):
        slow = step / (1 - step * low)
        relative = 2 * n * np.log(np.abs((1 - step * values) / (1 - step * low)))
        law = Q * math.gamma(2.5) * (2 * slow * n) ** -1.5
        return special.logsumexp(relative, b=weights) - math.log(2 * law)

    return optimize.brentq(excess, 0.6, 0.686, xtol=1e-12)


def square_samples(*, share: float = 0.37) -> Evidence:
    """Silverstein's equation near zero for three covariances, and the share of axes that d uniform draws leave out."""
    worst = 0.0
    for tau in (np.ones(1), np.linspace(0.2, 3.0, 600), np.geomspace(0.01, 10, 400)):
        population, x = tau / tau.mean(), 1e-10
        inverse = np.mean(1 / population)
        v = 1j * math.sqrt(inverse / x)  # the transform of the spectrum; Newton from the edge's own law
        for _ in range(30):
            gap = -1 / v + np.mean(population / (1 + population * v)) - x
            v -= gap / (1 / v**2 - np.mean((population / (1 + population * v)) ** 2))
        worst = max(worst, abs(v.imag * math.sqrt(x / inverse) - 1))
    missed = math.exp(10**6 * math.log1p(-1e-6))  # (1 − 1/d)^d
    return compared(
        off("density constant sqrt(<1/lambda>) / (pi sqrt(x))", worst, 1e-3),
        printed("share of eigenvalues at zero", missed, share, 2),
    )


@functools.cache
def spread_over_draws(dims, draws, seed):
    """Sample standard deviations over draws of the loss, relative to both formulas, at three times in the window."""
    rng = np.random.default_rng(seed)
    square = np.linalg.svd(rng.standard_normal((draws, dims, dims)), compute_uv=False) ** 2 / dims
    # F of m = d at λ = 4 sin²(a/2) is (a + sin a)/π
    angle = np.linspace(0, math.pi, 4001)
    drawn = np.interp(
        rng.random((draws, dims)), (angle + np.sin(angle)) / math.pi, 4 * np.sin(angle / 2) ** 2
    )
    ratios = []
    for t in dims ** np.array([1.2, 1.3, 1.4]):
        rigid, free = (np.exp(-t * values).mean(axis=1) for values in (square, drawn))
        law = 1 / math.sqrt(math.pi * t)
        ratios.append(rigid.std() / law / (math.sqrt(t / 2) / dims))
        ratios.append(free.std() / law / ((math.pi * t / 2) ** 0.25 / math.sqrt(dims)))
    one = np.exp(-t * square[:200])
    starts = np.sqrt(2 * (one**2).sum(axis=1)) / one.sum(axis=1)
    ratios.append(starts.mean() / (math.sqrt(2) * (math.pi * t / 2) ** 0.25 / math.sqrt(dims)))
    return np.array(ratios[0:-1:2]), np.array(ratios[1::2]), ratios[-1]


def mean_over_law():
    """The limit of the mean loss over the power law, by a quadrature of Edelman's law of the smallest eigenvalue."""

    def mean(s):  # √(πt)/d · E e^{−tλ₁} with t = s d² and d √λ₁ = y of density (1 + y) e^{−y²/2 − y}
        value, _ = integrate.quad(lambda y: (1 + y) * math.exp(-(0.5 + s) * y * y - y), 0, 12 / math.sqrt(s))
        return math.sqrt(math.pi * s) * value

    return limit_in_root(mean, 10**4)


# ---------------------------------------------------------------------------------------- chapter 2: IID sampling


def noise_does_not_reach_the_edge() -> Evidence:
    """The equation solved on four power laws at six steps up to 1.98, against gradient descent's laws."""
    worst = 0.0
    for beta in BETAS:
        values, weights, Q = power_law_nodes(beta)
        nodes = values[weights > 1e-14], weights[weights > 1e-14]
        for step in STEPS:
            n = 4000 * 2 ** np.arange(4)
            test = Q * math.gamma(beta + 1) * (2 * step) ** -beta
            laws = np.array([[test], [test * beta / (2 * step) * 2 / (2 - step)]])
            ratios = iid_on_nodes(*nodes, n, step) * n ** np.array([[beta], [beta + 1]]) / laws
            for power in (2, 4, 8):
                ratios = (power * ratios[:, 1:] - ratios[:, :-1]) / (power - 1)
            worst = max(worst, float(np.abs(ratios - 1).max()))
    return compared(off("gradient descent's test law, and 2/(2 - eta) times its training law", worst, 2e-3))


@functools.cache
def second_order(step):
    """The limit of n times the relative distance of IID's exact test loss from its law."""
    return limit_in_n(lambda n: n * (iid.test_loss(n, step) * math.sqrt(2 * math.pi * step * n) - 1), 2000)


@functools.cache
def behind(step, last=300):
    """The epochs at which step 1.9 has a larger test loss than this one, from the equation on nodes."""
    n = np.arange(1, last + 1)
    return n[gaussian_iid(n, 1.9)[0] > gaussian_iid(n, step)[0]]


def best_training_step():
    """The step of IID's smallest training constant."""
    return optimize.minimize_scalar(iid.train_constant, bounds=(0.5, 1.9), method="bounded").x


def fresh_rows_diverge(*, cases: int = 400, seed: int = 2) -> Evidence:
    """The largest eigenvalue of the recursion against the condition, on random spectra and steps; and as d grows."""
    rng, wrong, stable = np.random.default_rng(seed), 0, 0
    for _ in range(cases):
        values = np.maximum(rng.random(rng.integers(2, 30)) ** rng.uniform(0.3, 3), 1e-3)
        step = rng.uniform(0.02, 1.2) * 2 / max(values.sum(), 2 * values.max())
        contracts = np.linalg.eigvalsh(gaussian_update(values, step))[-1] < 1
        met = step * values.max() < 1 and step / 2 * np.sum(values / (1 - step * values)) < 1
        wrong, stable = wrong + (contracts != met), stable + contracts
    grows = [gaussian_update(((np.arange(960) + 0.5) / 960) ** 2, step) for step in (0.02, 0.05, 0.2)]
    points, shares = gaussian_cubature()
    x = points * np.sqrt([0.2, 1.0, 1.7])
    updates = np.eye(3) - 0.3 * x[:, :, None] * x[:, None]
    squares = np.einsum("k,kij,kij->ij", shares, updates, updates)
    return compared(
        true(f"contracts if and only if both conditions hold, {cases} cases", wrong == 0),
        true("at least a twentieth of them on either side", cases // 20 < stable < cases - cases // 20),
        true("steps 0.02, 0.05 and 0.2 diverge at d = 960", all(np.linalg.norm(G, 2) > 1 for G in grows)),
        off(
            "the recursion by cubature",
            np.abs(squares - gaussian_update(np.array([0.2, 1.0, 1.7]), 0.3)).max(),
            1e-12,
        ),
    )


# ---------------------------------------------------------------------------------- chapter 3: the constants of orders


def _effective_steps(step):
    """The stated effective step of each order."""
    tau = step * (2 - step)
    return {
        "iid": step,
        "random_reshuffle": step * (1 + step / 2),
        "single_shuffle": step / (1 - step / 2),
        "flip_flop": tau / (2 - tau),
    }


def effective_steps() -> Evidence:
    """√n times exact test losses, extrapolated at six steps up to 1.98, against gradient descent's constant."""
    worst = 0.0
    for step in STEPS:
        far = 2000 if step < 1.6 else 10**6
        for order, worth in _effective_steps(step).items():
            loss = BY_ORDER[order].test_loss
            limit = limit_in_root(lambda n, loss=loss, step=step: math.sqrt(n) * loss(n, step), far, 3)
            worst = max(worst, abs(limit * math.sqrt(2 * math.pi * worth) - 1))
    return compared(
        off("constants of four orders at six steps over those of the effective steps", worst, 2e-3)
    )


@functools.cache
def smallest_ratio():
    """The least constant of another order over single shuffle's, both losses, 199 steps from 0.01 to 1.99."""
    return min(
        getattr(BY_ORDER[order], loss)(step) / getattr(single_shuffle, loss)(step)
        for order in ("iid", "random_reshuffle", "flip_flop")
        for loss in ("test_constant", "train_constant")
        for step in np.arange(1, 200) / 100
    )


@functools.cache
def ratios_at_step_one():
    """Test and training loss of IID, training loss of reshuffle, over single shuffle's as n grows."""
    pairs = (
        (iid.test_loss, single_shuffle.test_loss),
        (iid.train_loss, single_shuffle.train_loss),
        (random_reshuffle.train_loss, single_shuffle.train_loss),
    )
    return [limit_in_root(lambda n, a=a, b=b: float(a(n) / b(n)), 500) for a, b in pairs]


@functools.cache
def over(step, last):
    """Single shuffle's exact test loss over IID's and over flip-flop's, at every epoch to the last."""
    n = np.arange(1, last + 1)
    return [single_shuffle.test_loss(n, step) / other.test_loss(n, step) for other in (iid, flip_flop)]


@functools.cache
def effective(order, step):
    """The effective step of an order, from its exact losses."""
    loss = BY_ORDER[order].test_loss
    return 1 / (2 * math.pi * limit_in_root(lambda n: math.sqrt(n) * loss(n, step), 4000, 5) ** 2)


def coverage(order):
    """The limit of (η_eff − η)/η² as η → 0, from two steps."""
    coarse, fine = ((effective(order, step) - step) / step**2 for step in (0.1, 0.05))
    return 2 * fine - coarse


def two_rows_have_the_effective_steps() -> Evidence:
    """The largest eigenvalue of the mean-square map of an epoch over two rows, six steps, as their angle falls."""
    worst = 0.0
    for step in STEPS:
        # The error falls like the angle's square; near step 2 it has a large factor, so the angles are small.
        coarse, fine = (_effective_step_of_two_rows(step, angle) for angle in (2e-3, 1e-3))
        for order, worth in _effective_steps(step).items():
            worst = max(worst, abs((4 * fine[order] - coarse[order]) / 3 / worth - 1))
    return compared(off("effective steps of four orders at six steps", worst, 1e-3))


def _effective_step_of_two_rows(step, angle):
    """By order: the step of gradient descent whose slow direction shrinks as much per epoch in the mean square."""
    rows = np.array([[math.cos(angle / 2), sign * math.sin(angle / 2)] for sign in (1, -1)])
    maps = [np.eye(2) - step * np.outer(row, row) for row in rows]
    first, second = (np.kron(update, update) for update in maps)  # what an update does to w wᵀ
    draw = (first + second) / 2
    epochs = {
        "iid": (draw @ draw, 1),
        "random_reshuffle": ((second @ first + first @ second) / 2, 1),
        "single_shuffle": (second @ first, 1),
        "flip_flop": (first @ second @ second @ first, 2),
    }
    slow = 2 * math.sin(angle / 2) ** 2  # the small eigenvalue of the sum of the two projections
    return {
        order: (1 - np.abs(np.linalg.eigvals(epoch)).max() ** (0.5 / count)) / slow
        for order, (epoch, count) in epochs.items()
    }
