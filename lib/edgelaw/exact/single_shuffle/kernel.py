"""The two loops of single shuffle: sums over nodes for pairs of points, and the Gram matrix's Cauchy transform."""

import numpy as np
import numpy.typing as npt

from edgelaw._common.compiled import compiled
from edgelaw._common.types import Array

_BERNOULLI = 1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 1 / 1892437580.3  # in t/(eᵗ − 1)
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
        by_sigma, turned = _inverse(sigma), np.rint(logarithm.imag / (2 * np.pi))
        for k in range(nodes):
            mr[k], mi[k] = pieces[3][i, k].real, pieces[3][i, k].imag
            for r in range(kinds):
                wr[r, k], wi[r, k] = weights[i, r, k].real, weights[i, r, k].imag
                total[r] += weights[i, r, k]
        for n in range(rule[0].size):
            turn = 2 * np.pi * (rule[0][n] + turned) - logarithm.imag
            u = -logarithm.real / rho + 1j * (turn / rho)
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
                u1, t1 = (total[1] - u * u0) * by_sigma, (total[0] - u * t0) * by_sigma
            begun = moments[3] if kinds == 4 else t0
            c, both = s * p * begun * _inverse(1 - s * p * t1), s * (sigma * t0 - kappa * p * t1)
            share = rule[1][n]
            values[0, i] += share * c * t0
            values[1, i] += share * c * t1
            values[2, i] += share * c * (u1 + u * e0 * t0)
            values[3, i] += share * both * _inverse(u)
            values[4, i] += share * (u0 - kappa / 2 * total[1] - both * e0)
    return values


@compiled
def _inverse(z: complex) -> complex:
    """1/z, without a complex division, which is slow."""
    scale = 1 / (z.real * z.real + z.imag * z.imag)
    return z.real * scale - 1j * (z.imag * scale)


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


Equation = tuple[Array, npt.NDArray, npt.NDArray, Array, Array, Array]  # 1/η and ρ, nodes, heavy, gram, parts, turns


def followed_numpy(log_z: complex, x: npt.NDArray, equation: Equation) -> npt.NDArray:
    """`followed` in vectors."""
    (inverse_step, rho), nodes, heavy, gram, parts, turns = equation
    c, zeta = x[0], x[1:]
    turned = log_z + 2j * np.pi * turns
    alpha, slope = without_poles_numpy(c * nodes - log_z, turns)
    inverse = 1 / (zeta[:, None] - gram)
    G, by_zeta = inverse @ parts, -(inverse**2) @ parts
    total = inverse_step + heavy @ alpha - (zeta / turned).sum()
    corner = total + c * (heavy * slope) @ nodes
    row, column, ratio = -c / turned, rho * turned / c**2, G**2 * c / (turned * by_zeta)
    by_z = c * ((zeta / turned**2).sum() - heavy @ slope)
    first = np.array([c * total + (len(zeta) - 1) * rho, by_z])
    others = np.stack([1 / G - rho * turned / c, np.full(len(zeta), -rho / c)])
    top = (first - others @ ratio) / (corner - ratio @ column)
    return np.column_stack([top, (others - top[:, None] * column) * ratio / row])


@compiled(numpy=followed_numpy)
def followed(log_z: complex, x: npt.NDArray, equation: Equation) -> npt.NDArray:
    """Newton's change of c and the ζ of the poles followed (`poles`), and minus their slopes by log z.

    The Jacobian is an arrow: a corner, a first row, a first column and a diagonal.
    """
    (inverse_step, rho), nodes, heavy, gram, parts, turns = equation
    c = x[0]
    corner, gap, by_z = inverse_step + 0j, inverse_step * c - rho, 0j
    for j in range(nodes.size):
        alpha, slope = _without_poles(c * nodes[j] - log_z, turns)
        gap += c * heavy[j] * alpha
        by_z -= c * heavy[j] * slope
        corner += heavy[j] * (alpha + c * slope * nodes[j])
    ratios, others, solution = np.empty_like(x), np.empty_like(x), np.empty((2, x.size), np.complex128)
    for k in range(turns.size):
        turned, zeta = log_z + 2j * np.pi * turns[k], x[k + 1]
        y, Gr, Gi, sr, si = zeta.imag, 0.0, 0.0, 0.0, 0.0
        for j in range(gram.size):  # without complex divisions, which are slow
            real = zeta.real - gram[j]
            scale = 1 / (real * real + y * y)
            part = parts[j] * scale
            Gr += part * real
            Gi -= part * y
            part *= scale
            sr -= part * (real * real - y * y)
            si += 2 * part * real * y
        G, inverse = Gr + 1j * Gi, 1 / turned
        diagonal = -(sr + 1j * si) / G**2
        ratios[k + 1], others[k + 1] = -c * inverse / diagonal, 1 / G - rho * turned / c
        solution[0, k + 1], solution[1, k + 1] = others[k + 1] / diagonal, -rho / c / diagonal
        column = rho * turned / c**2
        gap += rho - c * zeta * inverse - ratios[k + 1] * others[k + 1]
        by_z += c * zeta * inverse * inverse + ratios[k + 1] * rho / c
        corner -= zeta * inverse + ratios[k + 1] * column
        others[k + 1] = column / diagonal
    solution[0, 0], solution[1, 0] = gap / corner, by_z / corner
    for k in range(1, x.size):
        solution[0, k] -= others[k] * solution[0, 0]
        solution[1, k] -= others[k] * solution[1, 0]
    return solution


@compiled
def _without_poles(x: complex, turns: Array) -> tuple[complex, complex]:
    """1/(eˣ − 1) without its poles at these turns of 2πi, and the slope of that."""
    nearest = np.rint(x.imag / (2 * np.pi))
    y = x - 2j * np.pi * nearest
    inside = turns[0] <= nearest <= turns[-1]
    if inside and abs(y) < 0.3:  # Bernoulli's numbers
        s = y * y
        value = 1 / 12 - s * (
            1 / 720 - s * (1 / 30240 - s * (1 / 1209600 - s * (1 / 47900160 - s / 1892437580.3)))
        )
        slope = 1 / 12 - s * (
            1 / 240 - s * (1 / 6048 - s * (1 / 172800 - s * (1 / 5322240 - s / 172039780.0)))
        )
        value = y * value - 0.5
    else:
        power = np.exp(y)
        value = 1 / (power - 1)
        slope = -power * value * value
        if inside:
            value -= 1 / y
            slope += 1 / (y * y)
    real, vr, vi, sr, si = x.real, 0.0, 0.0, 0.0, 0.0
    for turn in turns:
        if turn != nearest:
            imaginary = x.imag - 2 * np.pi * turn
            scale = 1 / (real * real + imaginary * imaginary)
            vr -= real * scale
            vi += imaginary * scale
            scale *= scale
            sr += (real * real - imaginary * imaginary) * scale
            si -= 2 * real * imaginary * scale
    return value + vr + 1j * vi, slope + sr + 1j * si


def without_poles_numpy(x: npt.NDArray, turns: Array) -> tuple[npt.NDArray, npt.NDArray]:
    """`_without_poles` in vectors."""
    nearest = np.rint(x.imag / (2 * np.pi))
    y = x - 2j * np.pi * nearest
    inside = (turns[0] <= nearest) & (nearest <= turns[-1])
    close = inside & (np.abs(y) < 0.3)
    value = 1 / np.expm1(np.where(close, 1, y))
    slope = -value * (1 + value)
    nearby = np.where(inside & ~close, 1 / np.where(y == 0, 1, y), 0)
    value, slope = value - nearby, slope + nearby**2
    if close.any():
        y = (x - 2j * np.pi * nearest)[close]
        terms = [(-1) ** k * b for k, b in enumerate(_BERNOULLI)]
        value[close] = y * np.polyval(terms[::-1], y * y) - 0.5
        slope[close] = np.polyval([(2 * k + 1) * b for k, b in enumerate(terms)][::-1], y * y)
    own = turns == nearest[:, None]
    others = np.where(own, 0, 1 / np.where(own, 1, x[:, None] - 2j * np.pi * turns))
    return value - others.sum(axis=1), slope + (others**2).sum(axis=1)
