"""Checks of the pages of proofs: losses of matrices against formulas, and formulas against counts of words."""

import functools
from fractions import Fraction
from itertools import product

import numpy as np
from scipy.integrate import solve_bvp

from edgelaw import data, exact, kaczmarz
from edgelaw.theory import single_shuffle
from edgelaw.theory.free import words
from edgelaw_ledger.evidence import Evidence, below, compared, off, true

_STEP, _RHO = 1.3, 0.75
_COVARIANCE = np.array([0.3, 0.3, 1.0, 2.4])
_KINDS = ("Gaussian", "Rademacher", "Laplace")
_SIZES = (100, 200, 400)
_PAIR = ("single_shuffle", "flip_flop")
# No law has these free cumulants: the second would be its variance
NO_LAW = tuple(Fraction(x) for x in (1, -3, 2, 5, 7, -11, 13, 2, -3, 4, 5, -6, 7, 8, 9, 1))
ASPECTS = (Fraction(1, 2), Fraction(1), Fraction(2))
_formulas = functools.cache(words.formulas)  # two sentences ask for the same coefficients


def _entries(kind, shape, rng):
    """Independent entries of one kind, symmetric about zero; unit rows do not see their scale."""
    if kind == "Rademacher":
        return rng.choice([-1.0, 1.0], size=shape)
    return rng.standard_normal(shape) if kind == "Gaussian" else rng.laplace(size=shape)


def _losses(rows):
    """Test and training loss from all starts: of single shuffle and flip-flop after two epochs, then after three."""
    U = rows / np.linalg.norm(rows, axis=1)[:, None]
    A = kaczmarz.epoch_matrix(U, _STEP)
    products = (A @ A, A.T @ A, A @ A @ A, A @ A.T @ A)
    return [x for P in products for x in ((P**2).sum() / U.shape[1], ((U @ P) ** 2).sum() / len(U))]


def _stated(eigenvalues):
    """The same eight losses by the formulas, from a covariance."""
    curves = [exact.population_curve(order, eigenvalues, [2, 3], _STEP, _RHO) for order in _PAIR]
    return np.array([x for n in (-2, -1) for curve in curves for x in (curve.test[n], curve.train[n])])


@functools.cache
def scaled_deviations(draws=40):
    """d times the root mean square deviations of the eight losses: (kinds, sizes, losses)."""
    formulas, table = _stated(tuple(_COVARIANCE / _COVARIANCE.mean())), np.empty((3, 3, 8))
    for (i, kind), (j, d) in product(enumerate(_KINDS), enumerate(_SIZES)):
        rng, scale = np.random.default_rng([31, i, d]), np.sqrt(np.repeat(_COVARIANCE, d // 4))
        runs = [_losses(_entries(kind, (3 * d // 4, d), rng) * scale) for _ in range(draws)]
        table[i, j] = d * np.sqrt(np.mean((np.array(runs) - formulas) ** 2, axis=0))
    return table


def deviations_of_order_one_over_d() -> Evidence:
    """Root mean square deviations from the formulas at d = 400 over those at 100, times 4: constant up to 1.6."""
    worst = scaled_deviations().reshape(3, 3, 2, 4).max(axis=3)  # kinds, sizes, epochs
    # not falling would give 4, falling like the root of d 2; 1.6 is three standard errors over 40 draws
    ratios = np.abs(np.log(worst[:, 2] / worst[:, 0])).ravel()
    return compared(
        off("ratio of d times the deviations at d = 400 and 100 (logarithm)", ratios.max(), np.log(1.6))
    )


def _off_its_own(rows, rng=None):
    """Losses after three epochs of single shuffle and flip-flop, or two of random reshuffle if there is an rng."""
    m, d = rows.shape
    values = np.maximum(np.linalg.eigvalsh(rows.T @ rows), 0)
    if rng is None:
        curves = [exact.curve(order, values, [3], _STEP, m / d) for order in _PAIR]
        return np.array(_losses(rows)[4:]) - [
            x for curve in curves for x in (curve.test[-1], curve.train[-1])
        ]
    curve = exact.curve("random_reshuffle", values, [2], _STEP, m / d)
    P = np.linalg.multi_dot([kaczmarz.epoch_matrix(rows[rng.permutation(m)], _STEP) for _ in range(2)])
    return (P**2).sum() / d - curve.test[-1], ((rows @ P) ** 2).sum() / m - curve.train[-1]


def own_eigenvalues() -> Evidence:
    """Root mean square deviations at d = 64, 64 draws, and 512, 32 draws: signs, and two atoms drawn anew each time."""
    rng, signs, atoms = np.random.default_rng(33), [], []
    for d, draws in ((64, 64), (512, 32)):
        m = 3 * d // 4
        off = [_off_its_own(rng.choice([-1.0, 1.0], (m, d)) / np.sqrt(d)) for _ in range(draws)]
        signs.append(np.sqrt(np.mean(np.square(off), axis=0)))
        off = []
        for _ in range(draws):
            K = np.resize([high := rng.uniform(1.2, 1.8), 2 - high], d) * (np.arange(d) < m) * d / m
            off.append(
                _off_its_own(data.normalize_rows(data.with_spectrum(np.sort(K), m, rng)) / np.sqrt(d), rng)
            )
        atoms.append(np.sqrt(np.mean(np.square(off), axis=0)))
    return compared(
        below("signs: at d = 512 over at 64", (signs[1] / signs[0]).max(), 1 / 2),
        below("random reshuffle without a limit: at d = 512 over at 64", (atoms[1] / atoms[0]).max(), 2 / 3),
    )


@functools.cache
def two_blocks(d=400, draws=40):
    """The loss of two blocks of rows as two problems, by the formula, and of matrices with its standard error."""
    stated = _stated((2.0, 2 / 3, 2 / 3, 2 / 3))[0]
    parts = [single_shuffle.test_loss(2, _STEP, aspect * _RHO) for aspect in (2.0, 2 / 3)]
    rng, runs = np.random.default_rng(17), []
    for _ in range(draws):
        rows, first = rng.standard_normal((3 * d // 4, d)), rng.random(3 * d // 4) < 0.5
        rows[np.ix_(first, np.arange(d) >= d // 4)] = 0
        rows[np.ix_(~first, np.arange(d) < d // 4)] = 0
        runs.append(_losses(rows)[0])
    return 0.25 * parts[0] + 0.75 * parts[1], stated, np.mean(runs), np.std(runs, ddof=1) / draws**0.5


def boundary_problem() -> Evidence:
    """D along the epoch and y against z f reversed, by a solver of boundary problems that knows of neither."""
    nodes, weights = _COVARIANCE / _COVARIANCE.mean(), np.full(4, 0.25)
    change, turned = 0.0, 0.0
    for step, rho, z in ((1.3, 0.75, 0.35), (0.6, 1.5, 0.6), (1.8, 0.5, -0.5)):

        def fields(f, y, inverse=1 / step):
            R, H, P = ((weights * nodes) @ (x / (1 - f * y)) for x in (f, f * y, y))
            H = H + inverse
            return R, H, P, H**2 - P * R

        def slope(_, state, fields=fields):
            f, y = state[:4], state[4:]
            R, H, P, D = fields(f, y)
            rate = nodes[:, None] / D
            return np.concatenate([rate * (2 * H * f - P * f**2 - R), -rate * (2 * H * y - P - R * y**2)])

        def ends(start, stop, z=z):
            return np.concatenate([stop[:4] - 1, start[4:] - z])

        grid = np.linspace(0, rho, 61)
        guess = np.concatenate([np.ones((4, 61)), z * np.ones((4, 61))])
        solution = solve_bvp(slope, ends, grid, guess, tol=1e-8, max_nodes=20000)
        if solution.status != 0:
            raise ArithmeticError(f"The boundary problem at z = {z:g} was not solved.")
        f, y = np.split(solution.sol(grid), 2)
        D = fields(f, y)[3]
        change, turned = max(change, np.ptp(D) / abs(D).max()), max(turned, np.abs(y - z * f[:, ::-1]).max())
    return compared(off("D is constant", change, 1e-6), off("y(t) = z f(rho - t)", turned, 1e-6))


def formulas_are_words(*, powers: int = 6, epochs: int = 3) -> Evidence:
    """Coefficients of the closed formulas in rational arithmetic against sums over non-crossing partitions."""
    equal = []
    for n, rho in product(range(1, epochs + 1), ASPECTS):
        for order, factors in zip(_PAIR, ("A" * n + "B" * n, "BA" * n), strict=True):
            test, train = _formulas(order, n, powers, NO_LAW, rho)
            for k in range(1, powers + 1):
                equal.append(test[k] == rho * words.evaluate(words.losses(factors, k), NO_LAW))
                equal.append(train[k] == words.evaluate(words.losses("S" + factors, k), NO_LAW))
    return compared(
        true(f"all {len(equal)} coefficients are equal as fractions", all(equal)),
        true("the numbers are the free cumulants of no law", NO_LAW[1] < 0),
    )


def reshuffled_epoch_is_words(*, powers: int = 4) -> Evidence:
    """Coefficients of the double transform of a reshuffled epoch against sums over non-crossing partitions."""
    equal = []
    for rho in ASPECTS:
        table = words.reshuffled(powers, 1, NO_LAW, rho)
        for i, j, k in product(range(2), range(2), range(powers + 1)):
            word = words.losses("S" * i + "A" + "S" * j + "B", k)
            equal.append(table[i][j][k] == rho * words.evaluate(word, NO_LAW) + (i == j == k == 0))
    return compared(true(f"all {len(equal)} coefficients are equal as fractions", all(equal)))


def aspect_ratio_scales(*, powers: int = 6, epochs: int = 3) -> Evidence:
    """Coefficients of both losses at three aspect ratios and the same free cumulants of the Gram matrix."""
    same, proportional = [], []
    for order, n in product(_PAIR, range(1, epochs + 1)):
        tests, trains = zip(*(_formulas(order, n, powers, NO_LAW, rho) for rho in ASPECTS), strict=True)
        same.append(trains[0] == trains[1] == trains[2])
        for rho, test in zip(ASPECTS, tests, strict=True):
            proportional.append(test[1:] == [rho * x for x in tests[1][1:]])
    return compared(
        true("training losses are equal at m = d/2, d and 2d", all(same)),
        true("one minus test loss is proportional to m/d", all(proportional)),
    )
