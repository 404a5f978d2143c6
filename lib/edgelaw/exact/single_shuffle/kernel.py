"""Single shuffle's loops: what is solved at points z, followed along a path, and sums over nodes for pairs."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from edgelaw._common.compiled import compiled
from edgelaw._common.types import Array, Integers


class Equation(NamedTuple):
    """What amplitudes a solve: a(1/τ + ⟨λα/θ⟩) = 1 for each kind of batch.

    θ = 1 − κaλ, and α is 1/(e^δ/z − 1) where δ sums −(ρ/κ) log θ, or ρaλ for single rows (κ = 0), over the kinds.
    `heavy` are the weights times the nodes; `poles` the Gram matrix's spectrum and the turns at which α's are followed.
    """

    nodes: npt.NDArray
    heavy: npt.NDArray
    rhos: Array
    kappas: Array
    taus: Array
    poles: tuple[Array, Array, Array] | None = (
        None  # None is a type of its own, without their code to compile
    )


@compiled
def follow(path: npt.NDArray, start: npt.NDArray, equation: Equation) -> npt.NDArray:
    """The solutions along a path of log z from a guess at the first; NaN from where they cannot be followed.

    Steps go along the tangent, or several shorter ones where Newton's method would have to mend much of it.
    """
    values = np.full((path.size, start.size), np.nan + 0j)
    x, slope, at = start.copy(), np.zeros_like(start), path[0]
    small = 0.1 * abs(equation.taus[0])  # amplitudes may vanish at z = 1
    left = 8 * path.size + 200  # steps
    for i in range(path.size):
        begin, way, done, share = at, path[i] - at, 0.0, 1.0
        while done < 1:
            share = min(share, 1 - done)
            there = begin + (done + share) * way
            step = share * way * slope
            guess, turned, size = x + step, slope, np.inf
            for _ in range(8):
                system = _system(there, guess, equation, equation.poles)
                change, turned = _arrow_solutions(system)
                guess = guess - change
                size = (np.abs(change) / (np.abs(guess) + small)).max() ** 2
                if not size > 1e-21:  # of the next change, which is of the order of this one's square
                    break
            left -= 1
            mended = np.abs(guess - x - step) <= 0.3 * np.abs(step) + 1e-3 * (np.abs(x) + small)
            if size < 1e-16 and (i == 0 or np.all(mended)):
                x, slope, at, done = guess, turned, there, done + share
                share *= 2
            elif share > 1e-8 and left > 0:
                share /= 2
            else:
                return values
        values[i] = x
    return values


@compiled
def _system(
    log_z: complex, x: npt.NDArray, equation: Equation, poles: tuple[Array, Array, Array] | None
) -> npt.NDArray:
    """Residuals, their slopes by log z, and an arrow for a Jacobian: its first row, first column and diagonal."""
    if poles is not None:
        return _with_poles(log_z, x, equation, *poles)
    nodes, rhos, kappas = equation.nodes, equation.rhos, equation.kappas
    decay, system = np.zeros_like(nodes), np.zeros((5, x.size), np.complex128)
    for k in range(x.size):
        if kappas[k] > 0:
            decay -= rhos[k] / kappas[k] * np.log(1 - kappas[k] * x[k] * nodes)
        else:
            decay += rhos[k] * x[k] * nodes
    power = np.exp(log_z - decay)
    alpha = power / (1 - power)
    for k in range(x.size):
        inverse = 1 / (1 - kappas[k] * x[k] * nodes)
        seen = equation.heavy * alpha * inverse
        turned, bent = seen * (1 + alpha), nodes * inverse
        total = 1 / equation.taus[k] + seen.sum()
        own = total + x[k] * (kappas[k] * (seen * bent).sum() - rhos[k] * (turned * bent).sum())
        system[0, k], system[1, k], system[4 - 2 * (k == 0), k] = x[k] * total - 1, x[k] * turned.sum(), own
        if x.size > 1:  # a whole and a short batch
            other = 1 - k
            cross = (turned * nodes / (1 - kappas[other] * x[other] * nodes)).sum()
            system[2 + k, 1] = -x[k] * rhos[other] * cross
    return system


@compiled
def _with_poles(
    log_z: complex, x: npt.NDArray, equation: Equation, gram: Array, parts: Array, turns: Array
) -> npt.NDArray:
    """The same for single rows, where x is a followed by the places ζ of the poles (`poles` has the equations)."""
    a, zeta, rho = x[0], x[1:].copy(), equation.rhos[0]
    system = np.zeros((5, x.size), np.complex128)
    turned = log_z + 2j * np.pi * turns
    alpha, slope = without_poles(rho * a * equation.nodes - log_z, turns)
    G, by_zeta = _cauchy(zeta, gram, parts)
    total = 1 / equation.taus[0] + (equation.heavy * alpha).sum() - (zeta / turned).sum()
    system[0, 0] = a * total - 1 + zeta.size
    system[1, 0] = a * ((zeta / (turned * turned)).sum() - (equation.heavy * slope).sum())
    system[2, 0] = total + a * rho * (equation.heavy * slope * equation.nodes).sum()
    system[0, 1:], system[1, 1:] = 1 / G - turned / a, -1 / a
    system[2, 1:], system[3, 1:], system[4, 1:] = -a / turned, turned / (a * a), -by_zeta / (G * G)
    return system


@compiled
def without_poles(x: npt.NDArray, turns: Array) -> tuple[npt.NDArray, npt.NDArray]:
    """1/(eˣ − 1) without its poles at these turns of 2πi, and the slope of that."""
    nearest = np.rint(x.imag / (2 * np.pi))
    y = x - 2j * np.pi * nearest
    close = np.abs(y) < 0.3
    s, far = y * y, np.where(close, 1 + 0j, y)
    power = np.exp(-far)
    bose = power / (1 - power)
    value, slope = bose - 1 / far, 1 / (far * far) - bose * (1 + bose)
    odd = 1 / 12 - s * (1 / 720 - s * (1 / 30240 - s * (1 / 1209600 - s * (1 / 47900160 - s / 1892437580.3))))
    even = 1 / 12 - s * (1 / 240 - s * (1 / 6048 - s * (1 / 172800 - s * (1 / 5322240 - s / 172039780.0))))
    value, slope = np.where(close, y * odd - 0.5, value), np.where(close, even, slope)  # Bernoulli's numbers
    own = turns == nearest.reshape(-1, 1)
    others = np.where(own, 0j, 1 / np.where(own, 1 + 0j, x.reshape(-1, 1) - 2j * np.pi * turns))
    ones = np.ones(turns.size, np.complex128)
    missing = 1 - np.where(own, 1 + 0j, 0j) @ ones  # of the nearest turn, if it is none of these
    back = missing / np.where(missing == 0, 1 + 0j, y)
    return value + back - others @ ones, slope - back * back + (others * others) @ ones


@compiled
def _cauchy(zeta: npt.NDArray, gram: Array, parts: Array) -> tuple[npt.NDArray, npt.NDArray]:
    """The Gram matrix's Cauchy transform and its derivative; without complex divisions, which are slow."""
    values, slopes = np.empty_like(zeta), np.empty_like(zeta)
    for k in range(zeta.size):
        x, y = zeta[k].real - gram, zeta[k].imag
        parted = parts / (x * x + y * y)
        squared = parted / (x * x + y * y)
        values[k] = complex((parted * x).sum(), -y * parted.sum())
        slopes[k] = complex((squared * (y * y - x * x)).sum(), 2 * y * (squared * x).sum())
    return values, slopes


@compiled
def _arrow_solutions(system: npt.NDArray) -> npt.NDArray:
    """Newton's change and the tangent: the residuals and minus their slopes, solved with the arrow as the matrix."""
    row, column, diagonal = system[2, 1:], system[3, 1:], system[4, 1:]
    solutions = np.empty((2, system.shape[1]), np.complex128)
    corner = system[2, 0] - (row * column / diagonal).sum()
    for k in range(2):
        right = (1 - 2 * k) * system[k]
        solutions[k, 0] = (right[0] - (row * right[1:] / diagonal).sum()) / corner
        solutions[k, 1:] = (right[1:] - column * solutions[k, 0]) / diagonal
    return solutions


class Points(NamedTuple):
    """Points and their conjugates: log z, a, and weights (points, kinds, nodes) of τ, of T and of ½ times λ.

    Batches have τ and T + κ times λ again as well. A point may have `places` of its own, with the first three weights.
    """

    logs: npt.NDArray
    a: npt.NDArray
    weights: npt.NDArray
    places: npt.NDArray
    own: npt.NDArray
    totals: npt.NDArray  # of the first two weights, a row each


class Rule(NamedTuple):
    """k and their weights in the sums, ρ, and 2/τ − 1."""

    places: Array
    shares: Array
    rho: float
    gain: float


def _inverse_sums_numpy(
    first: Integers, second: Integers, slopes: npt.NDArray, weights: npt.NDArray, shifts: npt.NDArray
) -> npt.NDArray:
    """The same in vectors."""
    inverse = 1 / (shifts[:, :, None] + slopes[:, None])
    return (inverse @ (weights[first] + weights[second]).transpose(0, 2, 1)).transpose(2, 0, 1)


@compiled(numpy=_inverse_sums_numpy)
def inverse_sums(
    first: Integers, second: Integers, slopes: npt.NDArray, weights: npt.NDArray, shifts: npt.NDArray
) -> npt.NDArray:
    """Σ weight/(shift + slope) over nodes for pairs of points: (weights, pairs, shifts).

    A weight of a pair (points, weights, nodes) is the sum of the points'. Real and imaginary parts are kept in arrays
    of their own, for vector registers.
    """
    (pairs, terms), (_, kinds, size) = shifts.shape, weights.shape
    sums, weight = np.empty((kinds, pairs, terms), np.complex128), np.empty((2, kinds, size))
    x, y, mr, mi = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    for i in range(pairs):
        for k in range(size):
            mr[k], mi[k] = slopes[i, k].real, slopes[i, k].imag
            for q in range(kinds):
                both = weights[first[i], q, k] + weights[second[i], q, k]
                weight[0, q, k], weight[1, q, k] = both.real, both.imag
        for n in range(terms):
            a, b = shifts[i, n].real, shifts[i, n].imag
            for k in range(size):
                real, imag = a + mr[k], b + mi[k]
                scale = 1 / (real * real + imag * imag)
                x[k], y[k] = real * scale, -imag * scale
            for q in range(kinds):
                wr, wi, real, imag = weight[0, q], weight[1, q], 0.0, 0.0
                for k in range(size):
                    real += wr[k] * x[k] - wi[k] * y[k]
                    imag += wr[k] * y[k] + wi[k] * x[k]
                sums[q, i, n] = complex(real, imag)
    return sums


@compiled
def single_row_sums(
    first: Integers, second: Integers, points: Points, nodes: npt.NDArray, rule: Rule
) -> npt.NDArray:
    """The sums in Φ and Ψ of single rows for pairs of points, in one go: what most curves spend their time on."""
    values, slopes = np.empty((2, first.size), np.complex128), np.empty((2, nodes.size))
    weights, (mr, mi) = np.empty((6, nodes.size)), slopes
    for pair in range(first.size):
        i, j = first[pair], second[pair]
        sigma, logarithm, phi, psi = points.a[i] + points.a[j], points.logs[i] + points.logs[j], 0j, 0j
        for k in range(nodes.size):
            slope = nodes[k] * sigma
            mr[k], mi[k] = slope.real, slope.imag
            for q in range(3):
                weight = points.weights[i, q, k] + points.weights[j, q, k]
                weights[2 * q, k], weights[2 * q + 1, k] = weight.real, weight.imag
        turn, total = np.rint(logarithm.imag / (2 * np.pi)), points.totals[1, i] + points.totals[1, j]
        tr, ti, dr, di, hr, hi = weights[0], weights[1], weights[2], weights[3], weights[4], weights[5]
        for n in range(rule.places.size):
            a, b = (
                -logarithm.real / rule.rho,
                (2 * np.pi * (rule.places[n] + turn) - logarithm.imag) / rule.rho,
            )
            gr, gi, ur, ui, vr, vi = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for k in range(nodes.size):
                x, y = a + mr[k], b + mi[k]
                scale = 1 / (x * x + y * y)
                x, y = x * scale, -y * scale
                gr += tr[k] * x - ti[k] * y
                gi += tr[k] * y + ti[k] * x
                ur += dr[k] * x - di[k] * y
                ui += dr[k] * y + di[k] * x
                vr += hr[k] * x - hi[k] * y
                vi += hr[k] * y + hi[k] * x
            t0, u0, e0 = complex(gr, gi), complex(ur, ui), complex(vr, vi)
            w = complex(a, b)
            c = rule.shares[n] * _inverse(rule.gain + w * t0)
            phi -= c * t0 * _inverse(w)
            psi += c * (t0 * total + rule.gain * (u0 - sigma * e0 * t0))
        values[0, pair], values[1, pair] = sigma * rule.gain * phi, psi
    return values


@compiled
def _inverse(z: complex) -> complex:
    """1/z, without a complex division, which is slow."""
    scale = 1 / (z.real * z.real + z.imag * z.imag)
    return complex(z.real * scale, -z.imag * scale)
