"""The two loops of single shuffle: sums over nodes for pairs of points, and the Gram matrix's Cauchy transform."""

import numpy as np
import numpy.typing as npt

from edgelaw._common.compiled import compiled
from edgelaw._common.types import Array

_ROOM = 2**18  # numbers in an array of (pairs, terms, nodes)


Pieces = tuple[npt.NDArray, npt.NDArray, npt.NDArray, npt.NDArray]  # log zw, σ, p, and σλ − κpλ² at the nodes
Rule = tuple[Array, Array]  # k and their weights


def sums_numpy(pieces: Pieces, weights: npt.NDArray, rule: Rule, rho: float, kappa: float) -> npt.NDArray:
    """`sums` in vectors."""
    values = np.empty((5, len(weights)), complex)
    size = max(1, _ROOM // (len(rule[0]) * weights.shape[2]))
    for first in range(0, len(weights), size):
        block = slice(first, first + size)
        part = pieces[0][block], pieces[1][block], pieces[2][block], pieces[3][block]
        values[:, block] = _sums_of_a_block(part, weights[block], rule, rho, kappa)
    return values


def _sums_of_a_block(
    pieces: Pieces, weights: npt.NDArray, rule: Rule, rho: float, kappa: float
) -> npt.NDArray:
    logs, sigma, p = (x[:, None] for x in pieces[:3])
    v = (2j * np.pi * (rule[0] + np.rint(logs.imag / (2 * np.pi))) - logs) / rho
    u = -np.expm1(-kappa * v) / kappa if kappa else v
    s = 1 - kappa * u
    inverse = 1 / (u[:, :, None] + s[:, :, None] * pieces[3][:, None])
    t0, u0, e0, *more = (inverse @ weights.transpose(0, 2, 1)).transpose(2, 0, 1)
    light, heavy = weights[:, :2].sum(axis=2).T[:, :, None]
    u1, t1 = more if kappa else ((heavy - u * u0) / sigma, (light - u * t0) / sigma)
    begun = more[0] if weights.shape[1] == 4 else t0
    c, both = s * p * begun / (1 - s * p * t1), s * (sigma * t0 - kappa * p * t1)
    terms = c * t0, c * t1, c * (u1 + u * e0 * t0), both / u, u0 - kappa / 2 * heavy - both * e0
    return np.stack(terms) @ rule[1]


@compiled(numpy=sums_numpy)
def sums(pieces: Pieces, weights: npt.NDArray, rule: Rule, rho: float, kappa: float) -> npt.NDArray:
    """The sums over k of ct₀, ct₁, c(u₁ + κe₁ + ue₀t₀), s(σt₀ − κpt₁)/u and u₀ − κ⟨λT⟩/2 − s(σt₀ − κpt₁)e₀ for pairs.

    `weights`, an array (pairs, kinds, nodes), are those of t₀, u₀ and e₀, and of u₁ + κe₁ and t₁ for batches (κ > 0), or
    of the start measure's t₀, in place of which it enters c. Real and imaginary parts are kept apart, for vector
    registers.
    """
    kinds, nodes = weights.shape[1], weights.shape[2]
    values = np.zeros((5, len(weights)), np.complex128)
    x, y, mr, mi = np.empty((4, nodes))
    wr, wi = np.empty((2, kinds, nodes))
    moments, total = np.empty((2, 5), np.complex128)
    for i in range(len(weights)):
        logarithm, sigma, p = pieces[0][i], pieces[1][i], pieces[2][i]
        total[:] = 0
        for k in range(nodes):
            mr[k], mi[k] = pieces[3][i, k].real, pieces[3][i, k].imag
            for r in range(kinds):
                wr[r, k], wi[r, k] = weights[i, r, k].real, weights[i, r, k].imag
                total[r] += weights[i, r, k]
        for n in range(rule[0].size):
            turn = 2 * np.pi * (rule[0][n] + np.rint(logarithm.imag / (2 * np.pi)))
            u = (1j * turn - logarithm) / rho
            if kappa > 0:
                u = _shifted(u, kappa)
            s = 1 - kappa * u
            for k in range(nodes):
                a = u.real + s.real * mr[k] - s.imag * mi[k]
                b = u.imag + s.real * mi[k] + s.imag * mr[k]
                scale = 1 / (a * a + b * b)
                x[k], y[k] = a * scale, -b * scale
            for r in range(kinds):
                a, b = 0.0, 0.0
                for k in range(nodes):
                    a += wr[r, k] * x[k] - wi[r, k] * y[k]
                    b += wr[r, k] * y[k] + wi[r, k] * x[k]
                moments[r] = a + 1j * b
            t0, u0, e0 = moments[0], moments[1], moments[2]
            u1, t1 = moments[3], moments[4]
            if kappa == 0:
                u1, t1 = (total[1] - u * u0) / sigma, (total[0] - u * t0) / sigma
            begun = moments[3] if kinds == 4 else t0
            c, both = s * p * begun / (1 - s * p * t1), s * (sigma * t0 - kappa * p * t1)
            share = rule[1][n]
            values[0, i] += share * c * t0
            values[1, i] += share * c * t1
            values[2, i] += share * c * (u1 + u * e0 * t0)
            values[3, i] += share * both / u
            values[4, i] += share * (u0 - kappa / 2 * total[1] - both * e0)
    return values


@compiled
def _shifted(v: complex, kappa: float) -> complex:
    """(1 − e^(−κv))/κ."""
    x, y = -kappa * v.real, -kappa * v.imag
    grown = np.exp(x) * np.sin(y)
    return -(np.expm1(x) * np.cos(y) - 2 * np.sin(y / 2) ** 2 + 1j * grown) / kappa


def response_numpy(
    a: complex, log_z: complex, nodes: npt.NDArray, heavy: npt.NDArray, rho: float, kappa: float
) -> tuple[complex, complex, complex]:
    """`response` in vectors."""
    theta = 1 - kappa * a * nodes
    alpha = 1 / np.expm1((-rho / kappa * np.log(theta) if kappa else rho * a * nodes) - log_z)
    seen = heavy * alpha / theta
    return seen.sum(), seen @ (1 + alpha), (seen * (rho * (1 + alpha) - kappa) / theta) @ nodes


@compiled(numpy=response_numpy)
def response(
    a: complex, log_z: complex, nodes: npt.NDArray, heavy: npt.NDArray, rho: float, kappa: float
) -> tuple[complex, complex, complex]:
    """⟨λα/θ⟩, its slope by log z, and minus its slope by the amplitude a."""
    value, by_z, by_a = 0j, 0j, 0j
    for k in range(nodes.size):
        theta = 1 - kappa * a * nodes[k]
        decay = rho * a * nodes[k] if kappa == 0 else -rho / kappa * np.log(theta)
        alpha = 1 / (np.exp(decay - log_z) - 1)
        seen = heavy[k] * alpha / theta
        value += seen
        by_z += seen * (1 + alpha)
        by_a += seen * (rho * (1 + alpha) - kappa) / theta * nodes[k]
    return value, by_z, by_a


def cauchy_numpy(zeta: npt.NDArray, gram: Array, parts: Array) -> tuple[npt.NDArray, npt.NDArray]:
    """`cauchy` in vectors."""
    inverse = 1 / (zeta[:, None] - gram)
    return inverse @ parts, -(inverse**2) @ parts


@compiled(numpy=cauchy_numpy)
def cauchy(zeta: npt.NDArray, gram: Array, parts: Array) -> tuple[npt.NDArray, npt.NDArray]:
    """The Cauchy transform of a spectrum with these parts at some places, and its slope; without complex divisions."""
    values, slopes = np.empty_like(zeta), np.empty_like(zeta)
    for k in range(zeta.size):
        y, vr, vi, sr, si = zeta[k].imag, 0.0, 0.0, 0.0, 0.0
        for j in range(gram.size):
            x = zeta[k].real - gram[j]
            scale = 1 / (x * x + y * y)
            part = parts[j] * scale
            vr += part * x
            vi -= part * y
            part *= scale
            sr -= part * (x * x - y * y)
            si += 2 * part * x * y
        values[k], slopes[k] = vr + 1j * vi, sr + 1j * si
    return values, slopes
