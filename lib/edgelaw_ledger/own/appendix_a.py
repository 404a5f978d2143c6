"""The sentences of the audit of the paper's Appendix A: exponents of densities, regimes, few eigenvalues."""

import math

import numpy as np
from scipy import integrate

from edgelaw.data import gaussian
from edgelaw.laws import EdgeFit
from edgelaw.spectrum import gram_eigenvalues
from edgelaw.theory import gradient_descent, regimes
from edgelaw_ledger.evidence import Evidence, decide
from edgelaw_ledger.routes import close, require


def exponents_of_densities(*, soft: float = 3 / 2, cusp: float = 4 / 3, hard: float = 1 / 2) -> Evidence:
    """Local exponents of distribution functions: Marchenko-Pastur at m = 2d and m = d, and a deformed semicircle."""

    def square_root(s, rho):  # mass per s, with the eigenvalue λ₋ + s²
        r = rho**-0.5
        return 2 * s * s * math.sqrt(4 * r - s * s) / (2 * math.pi * r * r * ((1 - r) ** 2 + s * s))

    def cube_root(y):  # the density at x = y³ is Im u / π with u³ − x u² + x = 0, times dx/dy
        return 3 * y * y * np.roots([1, -(y**3), 0, y**3]).imag.max() / math.pi

    def local(mass, power, near=1e-3):
        below = [integrate.quad(mass, 0, end, epsabs=0, epsrel=1e-10)[0] for end in (near, 10 * near)]
        return math.log(below[1] / below[0]) / (power * math.log(10))

    compared = {
        "soft edge": (local(lambda s: square_root(s, 2.0), 2), soft),
        "cusp": (local(cube_root, 3), cusp),
        "hard edge": (local(lambda s: square_root(s, 1.0), 2), hard),
    }
    return decide(
        all(abs(value / stated - 1) < 1e-3 for value, stated in compared.values()),
        measured=", ".join(f"{name} {value:.4f}" for name, (value, _) in compared.items()),
        claimed=", ".join(f"{name} {stated:.4f}" for name, (_, stated) in compared.items()),
        tolerance="relative 0.001",
    )


def critical_regime_of_independent_eigenvalues() -> Evidence:
    """Exact mean and variance of the loss by quadrature over F = x^β, against the formulas, in 36 cases."""
    worst = 0.0
    for beta in (0.5, 1.0, 1.5):
        for kappa in (0.1, 1.0, 10.0):
            for step in (0.3, 0.8, 1.0, 1.5):
                n = 10**7
                dims = n**beta / kappa

                def moment(power, step=step, beta=beta, n=n):
                    """(ηn)^β ∫ (1 − ηx)^(power n) dF, in y = (ηnx)^β, without what is exponentially small."""
                    return integrate.quad(
                        lambda y: math.exp(power * n * math.log1p(-(y ** (1 / beta)) / n)),
                        0,
                        60.0**beta,
                        epsabs=0,
                        epsrel=1e-9,
                        limit=200,
                    )[0]

                scale = (step * n) ** -beta
                mean, square = scale * moment(1), scale * moment(2)
                spread = math.sqrt((square - mean**2) / dims) / mean
                law = math.gamma(beta + 1) * scale
                limit = math.sqrt((step / 2) ** beta * kappa / math.gamma(beta + 1))
                worst = max(worst, abs(mean / law - 1), abs(spread / limit - 1))
    return decide(
        worst < 2e-3,
        measured=f"mean and spread within {worst:.0e} of the formulas, 36 cases at n = 1e7",
        claimed="Q Gamma(b+1) (eta n)^-b for every kappa; ((eta/2)^b kappa / (Q Gamma(b+1)))^(1/2)",
        tolerance="relative 0.002",
    )


def few_eigenvalues_predicted(
    *, square: float = 26.8, shifted: float = 162.6, atoms: float = 4.35, dims: int = 256, last: int = 4000
) -> Evidence:
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
    first, second, better = errors[0][0], errors[1][0], max(errors[0][1], errors[1][1])
    pairs = ((first, square), (second, shifted), (better, atoms))
    return decide(
        all(abs(value / stated - 1) < 0.005 for value, stated in pairs),
        measured=f"gap and atom {first:.1f} and {second:.1f} %, eight atoms and edge at most {better:.2f} %",
        claimed=f"{square:g}, {shifted:g} and {atoms:g} %",
        tolerance="relative 0.005",
    )
