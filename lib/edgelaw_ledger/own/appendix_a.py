"""The sentences of the audit of the paper's Appendix A: exponents of densities, regimes, few eigenvalues."""

import functools
import math
from itertools import product

import numpy as np
from scipy import integrate

from edgelaw.data import gaussian
from edgelaw.laws import EdgeFit
from edgelaw.spectrum import gram_eigenvalues
from edgelaw.theory import gradient_descent, regimes
from edgelaw_ledger.evidence import Evidence, compared, off
from edgelaw_ledger.routes import close, require


@functools.cache
def exponents_of_densities():
    """Local exponents of distribution functions: Marchenko-Pastur at m = 2d and m = d, and a deformed semicircle."""

    def square_root(s, rho):  # mass per s, with the eigenvalue λ₋ + s²
        r = rho**-0.5
        return 2 * s * s * math.sqrt(4 * r - s * s) / (2 * math.pi * r * r * ((1 - r) ** 2 + s * s))

    def cube_root(y):  # the density at x = y³ is Im u / π with u³ − x u² + x = 0, times dx/dy
        return 3 * y * y * np.roots([1, -(y**3), 0, y**3]).imag.max() / math.pi

    def local(mass, power, near=1e-3):
        below = [integrate.quad(mass, 0, end, epsabs=0, epsrel=1e-10)[0] for end in (near, 10 * near)]
        return math.log(below[1] / below[0]) / (power * math.log(10))

    return [
        local(lambda s: square_root(s, 2.0), 2),
        local(cube_root, 3),
        local(lambda s: square_root(s, 1.0), 2),
    ]


def critical_regime_of_independent_eigenvalues() -> Evidence:
    """Exact mean and variance of the loss by quadrature over F = Q x^β, against the formulas, in 72 cases."""
    n, worst = 10**7, 0.0
    for beta, kappa, step, Q in product((0.5, 1.0, 1.5), (0.1, 1.0, 10.0), (0.3, 0.8, 1.0, 1.5), (1.0, 2.0)):

        def moment(power, step=step, beta=beta):
            """(ηn)^β ∫ (1 − ηx)^(power n) d(x^β), in y = (ηnx)^β, without what is exponentially small."""
            return integrate.quad(
                lambda y: math.exp(power * n * math.log1p(-(y ** (1 / beta)) / n)),
                0,
                60.0**beta,
                epsabs=0,
                epsrel=1e-9,
                limit=200,
            )[0]

        scale = Q * (step * n) ** -beta
        mean, square = scale * moment(1), scale * moment(2)
        spread = math.sqrt((square - mean**2) / (n**beta / kappa)) / mean
        limit = math.sqrt((step / 2) ** beta * kappa / (Q * math.gamma(beta + 1)))
        worst = max(worst, abs(mean / (math.gamma(beta + 1) * scale) - 1), abs(spread / limit - 1))
    return compared(off(f"mean and relative deviation at n = {n:g} over the formulas", worst, 2e-3))


@functools.cache
def few_eigenvalues_predicted(dims=256, last=4000):
    """Both predictors over the exact loss at every n from 100 to 4000, in per cent, on the two spectra."""
    n, step = np.arange(100, last + 1), 0.3
    places = (np.arange(1, dims + 1) - 0.5) / dims
    spectra = (
        (gram_eigenvalues(gaussian(dims, dims, rng=1)), EdgeFit(0.5, 2 / math.pi)),
        (0.02 + 2 * places ** (2 / 3), EdgeFit(1.5, 2**-1.5, 0.02)),
    )
    errors = []
    for values, edge in spectra:
        logs = np.log(np.abs(1 - step * values))
        exact = np.array([np.exp(2 * k * logs).mean() for k in n])
        require(
            close(gradient_descent.curve(values, n[:5], step).test[1:], exact[:5], 1e-9), "the library's sum"
        )
        paper = regimes.gap_and_atom(n, edge, values[0], 1 / dims, step)[0]
        eight = regimes.atoms_and_edge(n, edge, values[:8], dims, step)[0]
        errors.append([100 * np.abs(law / exact - 1).max() for law in (paper, eight)])
    return np.array(errors)
