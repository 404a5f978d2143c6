"""Checks of the pages of proofs: losses of matrices against formulas, and formulas against counts of words."""

import functools
from fractions import Fraction
from itertools import product

import numpy as np
from scipy.integrate import solve_bvp

from edgelaw import exact, kaczmarz
from edgelaw.theory import single_shuffle
from edgelaw.theory.free import words
from edgelaw_ledger.evidence import Evidence, at_most, decide

_STEP, _RHO = 1.3, 0.75
_COVARIANCE = np.array([0.3, 0.3, 1.0, 2.4])
_KINDS = ("Gaussian", "Rademacher", "Laplace")
_SIZES = (100, 200, 400)
_BLOCKS = (2.0, 2 / 3, 2 / 3, 2 / 3)
# No law has these free cumulants: the second would be its variance
NO_LAW = tuple(Fraction(x) for x in (1, -3, 2, 5, 7, -11, 13, 2, -3, 4, 5, -6, 7, 8, 9, 1))
ASPECTS = (Fraction(1, 2), Fraction(1), Fraction(2))
_formulas = functools.cache(words.formulas)  # two sentences ask for the same coefficients


def _entries(kind, shape, rng):
    """Independent entries of one kind, symmetric about zero; unit rows do not see their scale."""
    if kind == "Rademacher":
        return rng.choice([-1.0, 1.0], size=shape)
    return rng.standard_normal(shape) if kind == "Gaussian" else rng.laplace(size=shape)


def _after_two_epochs(rows):
    """Test and training loss of single shuffle, then of flip-flop, from all starts at once."""
    U = rows / np.linalg.norm(rows, axis=1)[:, None]
    A = kaczmarz.epoch_matrix(U, _STEP)
    products = (A @ A, A.T @ A)
    return [x for P in products for x in ((P**2).sum() / U.shape[1], ((U @ P) ** 2).sum() / len(U))]


@functools.cache
def _stated(eigenvalues):
    """The same four losses by the formulas, from a covariance."""
    curves = [
        exact.population_curve(order, eigenvalues, [2], _STEP, _RHO)
        for order in ("single_shuffle", "flip_flop")
    ]
    return np.array([x for curve in curves for x in (curve.test[-1], curve.train[-1])])


@functools.cache
def _scaled_deviations(draws=40):
    """d times the root mean square deviation, by kind and size, the largest of the four losses."""
    exact = _stated(tuple(_COVARIANCE / _COVARIANCE.mean()))
    table = {}
    for number, kind in enumerate(_KINDS):
        for d in _SIZES:
            rng = np.random.default_rng([31, number, d])
            scale = np.sqrt(np.repeat(_COVARIANCE, d // 4))
            runs = [_after_two_epochs(_entries(kind, (3 * d // 4, d), rng) * scale) for _ in range(draws)]
            table[kind, d] = float(d * np.sqrt(np.mean((np.array(runs) - exact) ** 2, axis=0)).max())
    return table


def deviations_of_order_one_over_d() -> Evidence:
    """Root mean square deviations from the formulas at d = 100, 200, 400, times d: constant up to a factor of 1.6."""
    table = _scaled_deviations()
    ratios = [table[kind, 400] / table[kind, 100] for kind in _KINDS]
    return decide(
        all(1 / 1.6 < ratio < 1.6 for ratio in ratios),
        measured="d times the deviation at d = 400 over that at d = 100: "
        + ", ".join(f"{kind} {ratio:.2f}" for kind, ratio in zip(_KINDS, ratios, strict=True)),
        claimed="bounded: a deviation that did not fall would give 4, one that fell like the root of d 2",
        tolerance="a factor of 1.6, three standard errors of the ratio of two such means over 40 draws",
    )


def scaled_deviation(*, bound: float = 0.70) -> Evidence:
    """The largest d times root mean square deviation over three kinds of entries, three sizes and four losses."""
    worst = max(_scaled_deviations().values())
    return decide(
        at_most(worst, bound),
        measured=f"at most {worst:.4f}/d",
        claimed=f"at most {bound:g}/d",
        tolerance="a bound that is true, and less than 2 % loose",
    )


@functools.cache
def _two_blocks():
    """The loss of two blocks of rows as two problems, by the formula, and of matrices with its standard error."""
    stated = _stated(_BLOCKS)[0]
    parts = [single_shuffle.test_loss(2, _STEP, aspect * _RHO) for aspect in (2.0, 2 / 3)]
    true = 0.25 * parts[0] + 0.75 * parts[1]
    rng, d, runs = np.random.default_rng(17), 800, []
    for _ in range(10):
        rows, first = rng.standard_normal((3 * d // 4, d)), rng.random(3 * d // 4) < 0.5
        rows[np.ix_(first, np.arange(d) >= d // 4)] = 0
        rows[np.ix_(~first, np.arange(d) < d // 4)] = 0
        runs.append(_after_two_epochs(rows)[0])
    return true, stated, np.mean(runs), np.std(runs, ddof=1) / len(runs) ** 0.5


def rows_of_two_blocks(*, limit: float = 0.423, formula: float = 0.381) -> Evidence:
    """Two isotropic problems of different aspect, the formula at the joint covariance, and matrices of d = 800."""
    true, stated, mean, error = _two_blocks()
    return decide(
        bool(
            abs(true - limit) < 6e-4
            and abs(stated - formula) < 6e-4
            and error < 0.004
            and abs(mean - true) < 4 * error
        ),
        measured=f"two problems {true:.5f}, formula {stated:.5f}, matrices {mean:.4f} ± {error:.4f}",
        claimed=f"{limit:g}, and not {formula:g}",
        tolerance="rounding to three digits; four standard errors of ten matrices",
    )


def boundary_problem() -> Evidence:
    """D along the epoch and y against z f reversed, by a solver of boundary problems that knows of neither."""
    nodes, weights = _COVARIANCE / _COVARIANCE.mean(), np.full(4, 0.25)
    worst = 0.0
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
        worst = max(worst, np.ptp(D) / abs(D).max(), np.abs(y - z * f[:, ::-1]).max())
    return decide(
        bool(worst < 1e-6),
        measured=f"D and y(t) - z f(rho - t), three cases: within {worst:.0e}",
        claimed="both exact",
        tolerance="1e-6",
    )


def formulas_are_words(*, powers: int = 6, epochs: int = 3) -> Evidence:
    """Coefficients of the closed formulas in rational arithmetic against sums over non-crossing partitions."""
    equal = total = 0
    for n, rho in product(range(1, epochs + 1), ASPECTS):
        for order, factors in (("single_shuffle", "A" * n + "B" * n), ("flip_flop", "BA" * n)):
            test, train = _formulas(order, n, powers, NO_LAW, rho)
            for k in range(1, powers + 1):
                equal += test[k] == rho * words.evaluate(words.losses(factors, k), NO_LAW)
                equal += train[k] == words.evaluate(words.losses("S" + factors, k), NO_LAW)
                total += 2
    return decide(
        equal == total and NO_LAW[1] < 0,
        measured=f"{equal} of {total} coefficients are equal as fractions",
        claimed=f"all, up to the power {powers} of the step, after 1 to {epochs} epochs",
        tolerance="none: rational numbers",
    )


def reshuffled_epoch_is_words(*, powers: int = 4) -> Evidence:
    """Coefficients of the double transform of a reshuffled epoch against sums over non-crossing partitions."""
    equal = total = 0
    for rho in (ASPECTS[0], ASPECTS[2]):
        table = words.reshuffled(powers, 1, NO_LAW, rho)
        for i, j, k in product(range(2), range(2), range(powers + 1)):
            word = words.losses("S" * i + "A" + "S" * j + "B", k)
            equal += table[i][j][k] == rho * words.evaluate(word, NO_LAW) + (i == j == k == 0)
            total += 1
    return decide(
        equal == total,
        measured=f"{equal} of {total} coefficients are equal as fractions",
        claimed=f"all, up to the power {powers} of the step",
        tolerance="none: rational numbers",
    )


def aspect_ratio_scales(*, powers: int = 6) -> Evidence:
    """Coefficients of both losses at three aspect ratios and the same free cumulants of the Gram matrix."""
    same = proportional = True
    for order, n in product(("single_shuffle", "flip_flop"), (1, 2)):
        tests, trains = zip(*(_formulas(order, n, powers, NO_LAW, rho) for rho in ASPECTS), strict=True)
        same &= trains[0] == trains[1] == trains[2]
        for rho, test in zip(ASPECTS, tests, strict=True):
            proportional &= test[1:] == [rho * x for x in tests[1][1:]]
    return decide(
        same and proportional,
        measured=f"training losses equal: {same}; one minus test loss proportional: {proportional}",
        claimed="both, at m = d/2, d and 2d",
        tolerance="none: rational numbers",
    )
