"""Second routes to the numbers of the library: written out here from definitions, sharing no code with it."""

import functools
import itertools

import mpmath
import numpy as np
import scipy.linalg


def require(truth, what):
    """Stop a check whose own correction, or whose second route, is not confirmed."""
    if not truth:
        raise ArithmeticError(f"Not confirmed: {what}.")


def close(found, wanted, tolerance):
    """Whether all numbers agree, relatively."""
    found, wanted = np.asarray(found, dtype=float), np.asarray(wanted, dtype=float)
    return bool((np.abs(found - wanted) <= tolerance * np.abs(wanted)).all())


def constant(loss, power, step, start=1600, levels=5):
    """The limit of n^power times a loss, from doublings of n, by Richardson's extrapolation in n^(-1/2)."""
    n = start * 2 ** np.arange(levels)
    values = n**power * np.asarray(loss(n, step))
    for k in range(1, levels):
        factor = 2 ** (k / 2)
        values = (factor * values[1:] - values[:-1]) / (factor - 1)
    return float(values[-1])


def slope(x, y):
    """Least-squares slope of log y against log x."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def unit_rows(rows, dims, rng):
    """Independent directions."""
    X = rng.standard_normal((rows, dims))
    return X / np.linalg.norm(X, axis=1)[:, None]


def epoch(U, step):
    """The map of one epoch through the rows of U, update by update."""
    A = np.eye(U.shape[1])
    for u in U:
        A -= step * np.outer(u, u @ A)
    return A


def _epoch(U, step):
    """The same by one triangular solve, for many rows."""
    M = np.tril(U @ U.T, -1) + np.eye(len(U)) / step
    return np.eye(U.shape[1]) - U.T @ scipy.linalg.solve_triangular(M, U, lower=True)


@functools.lru_cache(maxsize=32)
def drawn(step, n, sizes=(64, 128), designs=(800, 400), seed=2024):
    """Losses of single shuffle and flip-flop on random designs, m = d, extrapolated from two sizes to d = infinity.

    Returns a dictionary from (order, "test" or "train") to (mean, standard error).
    """
    rng = np.random.default_rng([seed, n, round(1000 * step)])
    means, errors = [], []
    for d, count in zip(sizes, designs, strict=True):
        rows = np.empty((count, 4))
        for i in range(count):
            U = unit_rows(d, d, rng)
            A = _epoch(U, step)
            single = np.linalg.matrix_power(A, n)
            flip = np.linalg.matrix_power(A.T @ A, n // 2)
            if n % 2:
                flip = A @ flip
            rows[i] = [(P**2).sum() / d for P in (single, U @ single, flip, U @ flip)]
        means.append(rows.mean(axis=0))
        errors.append(rows.std(axis=0, ddof=1) / np.sqrt(count))
    growth = sizes[1] / (sizes[1] - sizes[0])  # removes the error of order 1/d
    mean = growth * means[1] - (growth - 1) * means[0]
    error = np.hypot(growth * errors[1], (growth - 1) * errors[0])
    names = itertools.product(("single_shuffle", "flip_flop"), ("test", "train"))
    return {name: (float(a), float(b)) for name, a, b in zip(names, mean, error, strict=True)}


def agrees(found, wanted, cap, sigmas=4):
    """Whether a (mean, standard error) is sharp enough and within so many standard errors of a number."""
    mean, error = found
    require(0 < error <= cap * abs(wanted), f"a standard error of {error:.2g} below {cap:g} of {wanted:.4g}")
    return bool(abs(mean - wanted) <= sigmas * error)


def gaussian_iid(n, step, nodes=600):
    """Test and training loss of IID sampling at m = d: the linear equation for s on equispaced angles,
    diagonalised."""
    theta = np.pi * (np.arange(nodes) + 0.5) / nodes
    lam, root = 4 * np.sin(theta / 2) ** 2, np.sqrt(2 / nodes) * np.cos(theta / 2)
    noise = lam * root
    rates, vectors = np.linalg.eigh(np.diag(2 * step * lam) - step**2 * np.outer(noise, noise))
    first = root @ vectors
    decay = np.exp(-np.multiply.outer(np.asarray(n, dtype=float), rates))
    return decay @ first**2, decay @ (first * (noise @ vectors))


def power_law_iid(beta, step, n):
    """Both losses of IID sampling on F = (x/top)^beta of mean 1, by inverting their Laplace transforms; and Q."""
    with mpmath.workdps(25):
        b, eta = mpmath.mpf(str(beta)), mpmath.mpf(str(step))
        top = (1 + b) / b

        def h(k, p):
            front = top**k * b / ((k + b) * p)
            return front * mpmath.hyp2f1(1, k + b, k + b + 1, -2 * eta * top / p)

        def test(p):
            return h(0, p) + eta**2 * h(1, p) ** 2 / (1 - eta**2 * h(2, p))

        def train(p):
            return h(1, p) / (1 - eta**2 * h(2, p))

        losses = [float(mpmath.invertlaplace(f, n, method="talbot")) for f in (test, train)]
        return losses[0], losses[1], float(top**-b)


def power_law_nodes(beta, shift=0.0):
    """Nodes and weights for F = Q(x - shift)^beta of mean 1, dyadic panels towards the edge; and Q."""
    points, weights = np.polynomial.legendre.leggauss(16)
    ends = np.concatenate([[0.0], 2.0 ** np.arange(-60, 1)])
    half = np.diff(ends)[:, None] / 2
    q = (ends[:-1, None] + half * (1 + points)).ravel()
    top = (1 - shift) * (1 + beta) / beta
    return shift + top * q ** (1 / beta), (half * weights).ravel(), top**-beta


def two_resolvents(a, b, step, rho):
    """The paper's F in its parameters alpha and beta."""
    delta = (1 - step - step * a) * (1 - step - step * b)
    kappa, gamma = step**2 * (1 + a + b) / delta, step**2 / delta
    growth = np.exp(kappa * rho)
    return kappa * a * b * growth / (kappa + gamma * a * b * (1 - growth))


def double_coefficient(f, n, radius, nodes=64):
    """[h^n k^n] of a function of two variables, by the trapezoidal rule on two circles."""
    h = radius * np.exp(2j * np.pi * np.arange(nodes) / nodes)
    turned = (h / radius) ** -n
    return float((turned @ f(h[:, None], h[None, :]) @ turned).real / nodes**2 / radius ** (2 * n))


def single_shuffle_loss(n, step, rho=1.0, radius=0.1):
    """Single shuffle's test loss for few epochs, as a coefficient by Lagrange's formula about x = y = infinity."""

    def phi(h):
        return (1 + h) * np.exp(-step * rho / (1 + step * h))

    def jacobian(h):
        return 1 - h / (1 + h) - h * step**2 * rho / (1 + step * h) ** 2

    def f(h, k):
        F = two_resolvents(-1 - h, -1 - k, step, rho)
        return F * (phi(h) * phi(k)) ** n * jacobian(h) * jacobian(k)

    return double_coefficient(f, n, radius)


def lagrange_moment(n, step, rho, digits=30):
    """The trace moment m_n: Taylor coefficients of the paper's Lagrange formula by mpmath."""
    with mpmath.workdps(digits + 2 * n):
        eta, r = mpmath.mpf(step), mpmath.mpf(rho)
        f = mpmath.taylor(lambda h: (1 + h) ** n * mpmath.exp(-n * eta * r / (1 + eta * h)), 0, n - 1)
        return float(f[n - 1] / n)
