"""Checks of the page on edge laws: limiting curves against their laws, identities of matrices, given rows."""

from itertools import permutations
from math import factorial, gamma

import numpy as np
from scipy.linalg import circulant, hadamard

from edgelaw import data, exact, kaczmarz, orders
from edgelaw.spectrum import general_position
from edgelaw_ledger.evidence import Evidence, below, compared, most, off, true
from edgelaw_ledger.routes import averaged, unit_rows

_STEP = 1.3  # of the given rows


def edge_and_atoms(beta: float, nodes: int = 400) -> tuple[np.ndarray, np.ndarray, float]:
    """A law of mean 1, 60 % of it an edge of this exponent and the rest two atoms: nodes, weights, and its Q."""
    u, w = np.polynomial.legendre.leggauss(nodes)
    u, w = (u + 1) / 2, w / 2
    values, shares = np.append(u ** (4 / beta), [1.0, 2.2]), np.append(2.4 * w * u**3, [0.2, 0.2])
    mean = shares @ values
    return values / mean, shares, 0.6 * mean**beta


def _free_cumulants(moments):
    """From m_p = sum of kappa_s [x^(p-s)] M(x)^s with M = 1 + m_1 x + m_2 x^2 + ..."""
    M = power = np.append(1.0, moments)
    left, kappa = np.array(moments, dtype=float), np.zeros(len(moments))
    for s in range(len(moments)):
        kappa[s] = left[s]
        left[s:] -= kappa[s] * power[: len(moments) - s]
        power = np.convolve(power, M)[: len(M)]
    return kappa


def _steps_and_thetas(step, values, shares):
    """Effective step and theta of each order; random reshuffle's theta has no closed form."""
    a, kappa = 1 / step - 0.5, _free_cumulants([shares @ values**p for p in range(1, 20)])
    B, v = a**2 + 1 / 12 + kappa[1] / 6, kappa[1] - 1
    fourth = 83 / 960 + 9 * v / 80 + v**2 / 30 + kappa[2] / 40 + kappa[3] / 120
    C = a**4 + a**2 * (1 / 2 + v / 3) + 4 * fourth
    inverse = np.zeros(20)
    for r in range(20):
        inverse[r] = (r == 0) - kappa[:r] @ inverse[:r][::-1]
    fresh = sum((-1) ** r * step ** (r + 1) / factorial(r + 1) * x for r, x in enumerate(inverse))
    return {
        "iid": (step, 1 / (step * (2 - step))),
        "random_reshuffle": (fresh, None),
        "single_shuffle": (1 / a, B / (2 * a)),
        "flip_flop": (a / B, C / (2 * a * B)),
    }


def four_orders_at_an_edge(*, percent: float = 1.35) -> Evidence:
    """Limiting curves at epoch 1000 over their laws, two exponents, two steps; reshuffle's theta at epoch 250 and 1000.

    Its theta is the training loss over what the test loss loses per epoch, which must have settled.
    """
    worst, settled = 0.0, 0.0
    for beta in (0.4, 0.7):
        values, shares, Q = edge_and_atoms(beta)
        for step in (0.5, 1.0):
            laws = _steps_and_thetas(step, values, shares)
            for order in orders.ORDERS:
                curve = exact.curve(order, values, (250, 251, 1000, 1001), step, weights=shares)
                effective, theta = laws[order]
                law = Q * gamma(beta + 1) * (2 * effective * 1000) ** -beta
                ratios = [curve.test[3] / law]
                if theta is None:
                    thetas = curve.train[[1, 3]] / (curve.test[[1, 3]] - curve.test[[2, 4]])
                    settled = max(settled, abs(thetas[0] / thetas[1] - 1))
                else:
                    ratios.append(curve.train[3] * 1000 / (theta * beta * law))
                worst = max(worst, *(abs(ratio - 1) for ratio in ratios))
    return compared(
        most("per cent from the laws", 100 * worst, percent),
        off("change of random reshuffle's theta from epoch 250 to 1000", settled, 0.01),
    )


def mean_square_of_the_triangle() -> Evidence:
    """All orders of three to six unit rows, four sets of each size, against W^2/3 + diag(W^2)/6."""
    rng, worst = np.random.default_rng(1), 0.0
    for size in (3, 4, 5, 6) * 4:
        K = (U := unit_rows(size, 3, rng)) @ U.T
        mean, W = np.zeros_like(K), K - np.eye(size)
        for order in map(list, permutations(range(size))):
            L = np.zeros_like(K)
            L[np.ix_(order, order)] = np.tril(K[np.ix_(order, order)], -1)
            mean += L @ L.T / factorial(size)
        worst = max(worst, np.abs(mean - W @ W / 3 - np.diag(np.diag(W @ W)) / 6).max())
    return compared(off("largest entry of the difference", worst, 1e-13))


def training_loss_from_below() -> Evidence:
    """What the test loss loses per epoch, times a/(2 rho), over the training loss: 16 sets of rows, 25 epochs."""
    rng, largest = np.random.default_rng(5), 0.0
    for rho, step in ((0.5, 0.5), (0.5, 1.7), (1.0, 1.0), (2.0, 1.3)):
        for near in (1.0, 0.3, 0.1, 0.03):
            X = rng.standard_normal((round(60 * rho), 60))
            X[1::2] = X[::2] + near * X[1::2]
            U = X / np.linalg.norm(X, axis=1)[:, None]
            A, a = kaczmarz.epoch_matrix(U, step), 1 / step - 0.5
            for flip in (False, True):
                P = np.eye(60)
                for n in range(25):
                    after = (A.T if flip and n % 2 else A) @ P
                    lost = ((P**2).sum() - (after**2).sum()) / 60
                    largest = max(largest, a / (2 * rho) * lost / (((U @ P) ** 2).sum() / len(U)))
                    P = after
    return compared(below("its share of the training loss", largest, 1), true("it comes near", largest > 0.8))


def _given(kind, d, rng):
    """Unit rows (d, d) of a kind."""
    X = rng.standard_normal((d, d))
    if kind.startswith("circulant"):
        half = np.linspace(0.05, 1.95, d // 2 + 1)
        half = rng.permutation(half) if kind == "circulant, mixed" else half[::-1]
        spectrum = np.append(half, half[1 : d // 2][::-1])
        values, basis = np.linalg.eigh(circulant(np.fft.ifft(d * spectrum / spectrum.sum()).real))
        X = basis * np.sqrt(np.maximum(values, 0))
    elif kind == "half orthonormal":
        X[: d // 2, d // 2 :] = 0
        X[d // 2 :] = np.eye(d)[d // 2 :]
    elif kind == "half in a quarter":
        X[: d // 2, d // 4 :] = 0
    elif kind == "Walsh":
        X = hadamard(d) * rng.permutation(np.arange(1.0, d + 1))
    elif kind == "Haar":
        X = data.power_law(d, d, 0.5, rng)
    elif kind == "pairs":
        X[1::2] = X[::2] + 0.3 * X[1::2]
    else:
        X = X * np.linspace(0.3, 1.7, d)
    return data.normalize_rows(X) / np.sqrt(d)


def given_rows_in_random_order(*, d: int = 256, draws: int = 16) -> Evidence:
    """Single shuffle after ten epochs over the curve of its eigenvalues, five kinds of given rows, 16 random orders."""
    off_by = {}
    for k, kind in enumerate(
        ("coloured Gaussian", "circulant, mixed", "circulant", "half orthonormal", "half in a quarter")
    ):
        rng = np.random.default_rng([6, k])
        U = _given(kind, d, rng)
        curve = exact.curve("single_shuffle", np.maximum(np.linalg.eigvalsh(U @ U.T), 0), [10], _STEP)
        seen = []
        for _ in range(draws):
            P = np.linalg.matrix_power(kaczmarz.epoch_matrix(U[rng.permutation(d)], _STEP), 10)
            seen.append([(P**2).sum() / d / curve.test[1], ((U @ P) ** 2).sum() / d / curve.train[1]])
        mean, error = averaged(seen)
        off_by[kind] = np.abs(mean - 1).max(), np.abs((mean - 1) / error).max()
    good, bad = list(off_by.values())[:2], list(off_by.values())[2:]
    return compared(
        off("flat diagonals and small entries: from the curve", max(gap for gap, _ in good), 0.03),
        true("the others are off by more than a tenth in one loss", min(gap for gap, _ in bad) > 0.1),
        true("and by more than five standard errors", min(sigmas for _, sigmas in bad) > 5),
    )


def halves_that_fail(*, d: int = 128, draws: int = 16) -> Evidence:
    """Which half of the condition six kinds of rows fail, 16 draws of each, beside 16 twins of each draw."""
    rng, rows = np.random.default_rng(7), []
    for kind, failed in (
        ("Gaussian", ()),
        ("Haar", ()),
        ("Walsh", ()),
        ("half in a quarter", ("uneven",)),
        ("half orthonormal", ("uneven",)),
        ("pairs", ("parallel",)),
    ):
        found = [general_position(_given(kind, d, rng), rng).failed for _ in range(draws)]
        rows.append(
            true(f"{kind}: {' and '.join(failed) or 'neither'} in {draws} draws", found == [failed] * draws)
        )
    return compared(*rows)
