"""IID sampling from its linear equation s′ = −2ηλs + η²λL: on nodes, and by Laplace transforms; Gaussian cubature."""

import functools
import math

import mpmath
import numpy as np
from numpy.typing import ArrayLike


def iid_on_nodes(
    values: np.ndarray, weights: np.ndarray, n: ArrayLike, step: float
) -> tuple[np.ndarray, np.ndarray]:
    """Test and training loss on a spectrum given by nodes and weights: the equation's matrix, diagonalised."""
    root = np.sqrt(weights)
    noise = values * root
    rates, vectors = np.linalg.eigh(np.diag(2 * step * values) - step**2 * np.outer(noise, noise))
    first = root @ vectors
    decay = np.exp(-np.multiply.outer(np.asarray(n, dtype=float), rates))
    return decay @ first**2, decay @ (first * (noise @ vectors))


def _panels(count):
    """Nodes and weights on (0, 1), Gauss-Legendre on dyadic panels towards 0."""
    points, weights = np.polynomial.legendre.leggauss(16)
    ends = np.concatenate([[0.0], 2.0 ** np.arange(-count, 1)])
    half = np.diff(ends)[:, None] / 2
    return (ends[:-1, None] + half * (1 + points)).ravel(), (half * weights).ravel()


def gaussian_iid(n: ArrayLike, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Test and training loss of IID sampling at m = d, from the equation on nodes in the angle of a quarter circle."""
    q, weights = _panels(16)
    half = np.pi / 2 * q
    return iid_on_nodes(4 * np.sin(half) ** 2, 2 * weights * np.cos(half) ** 2, n, step)


def power_law_transforms(p, beta, step):
    """The integrals of x^k / (p + 2ηx), k = 0, 1, 2, over F = (x/top)^β of mean 1, by mpmath."""
    top = (1 + beta) / beta
    zeroth = mpmath.hyp2f1(1, beta, beta + 1, -2 * step * top / p) / p
    first = (1 - p * zeroth) / (2 * step)  # x/(p + 2ηx) = (1 − p/(p + 2ηx))/(2η), and so on
    return zeroth, first, (1 - p * first) / (2 * step)


@functools.cache
def power_law_iid(beta: float, step: float, n: int) -> tuple[float, float, float]:
    """Both losses of IID sampling on F = (x/top)^beta of mean 1, by inverting their Laplace transforms; and Q."""
    with mpmath.workdps(30):
        b, eta = mpmath.mpf(str(beta)), mpmath.mpf(str(step))

        def train(p):
            _, h1, h2 = power_law_transforms(p, b, eta)
            return h1 / (1 - eta**2 * h2)

        def test(p):
            h0, h1, h2 = power_law_transforms(p, b, eta)
            return h0 + eta**2 * h1**2 / (1 - eta**2 * h2)

        losses = [float(mpmath.invertlaplace(f, n, method="talbot")) for f in (test, train)]
        return losses[0], losses[1], float(((1 + b) / b) ** -b)


def power_law_nodes(beta: float, shift: float = 0.0) -> tuple[np.ndarray, np.ndarray, float]:
    """Nodes and weights for F = Q(x - shift)^beta of mean 1, dyadic panels towards the edge; and Q."""
    q, weights = _panels(60)
    top = (1 - shift) * (1 + beta) / beta
    return shift + top * q ** (1 / beta), weights, top**-beta


def off_generating_function(rng: np.random.Generator, tau: float = 1.0) -> tuple[float, float]:
    """How far h₀ ∓ c h₁²/(1 ± c h₂), c = τzη², is from the power series of 1ᵀMᵗ1 at a random spectrum, step and z."""
    values = rng.random(12) ** 2
    values *= rng.uniform(0.2, 0.9) / values.sum()
    step, z = rng.uniform(0.3, 1.3), rng.uniform(0.3, 0.97)
    alpha = 1 - 2 * step * values + 2 * tau * step**2 * values**2
    s, total = np.ones(12), 0.0
    for t in range(1500):
        total += z**t * s.sum()
        s = alpha * s + tau * step**2 * (values @ s) * values
    h = [np.sum(values**k / (1 - z * alpha)) for k in range(3)]
    c = tau * z * step**2
    forms = (h[0] - sign * c * h[1] ** 2 / (1 + sign * c * h[2]) for sign in (1, -1))
    wrong, right = (float(abs(form / total - 1)) for form in forms)
    return wrong, right


def gaussian_cubature() -> tuple[np.ndarray, np.ndarray]:
    """Points and weights that integrate polynomials of three normal variables exactly, to degree 7 in each."""
    x, w = np.polynomial.hermite_e.hermegauss(4)
    grid = np.stack(np.meshgrid(x, x, x, indexing="ij"), axis=-1).reshape(-1, 3)
    return grid, np.einsum("i,j,k->ijk", w, w, w).ravel() / (2 * math.pi) ** 1.5


def gaussian_update(values: np.ndarray, step: float) -> np.ndarray:
    """What an update does to the mean squares along the eigenvectors: diag(1 − 2ηλ + 2η²λ²) + η²λλᵀ."""
    return np.diag(1 - 2 * step * values + 2 * step**2 * values**2) + step**2 * np.outer(values, values)
