"""Single shuffle's loops: what is solved at points z, followed along a path, and the sums over k at pairs of points."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from edgelaw._common.compiled import compiled
from edgelaw._common.types import Array, Integers


class Equation(NamedTuple):
    """What amplitudes a solve: a(1/τ + ⟨λα/θ⟩) = 1 for each kind of batch, with poles of α followed at these turns.

    θ = 1 − κaλ, and α is 1/(e^δ/z − 1) where δ sums −(ρ/κ) log θ, or ρaλ for single rows (κ = 0), over the kinds.
    `heavy` are the weights times the nodes, `gram` and `parts` the Gram matrix's spectrum.
    """

    nodes: npt.NDArray
    heavy: npt.NDArray
    rhos: Array
    kappas: Array
    taus: Array
    gram: Array
    parts: Array
    turns: Array


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
                system = _system(there, guess, equation)
                change, turned = _arrow_solution(system, system[0]), -_arrow_solution(system, system[1])
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
def _system(log_z: complex, x: npt.NDArray, equation: Equation) -> npt.NDArray:
    """Residuals, their slopes by log z, and an arrow for a Jacobian: its first row, first column and diagonal."""
    if equation.turns.size > 0:
        return _with_poles(log_z, x, equation)
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
def _with_poles(log_z: complex, x: npt.NDArray, equation: Equation) -> npt.NDArray:
    """The same for single rows, where x is a followed by the places ζ of the poles (`poles` has the equations)."""
    a, zeta, rho = x[0], x[1:].copy(), equation.rhos[0]
    system = np.zeros((5, x.size), np.complex128)
    turned = log_z + 2j * np.pi * equation.turns
    alpha, slope = without_poles(rho * a * equation.nodes - log_z, equation.turns)
    G, by_zeta = _cauchy(zeta, equation.gram, equation.parts)
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


def _cauchy_numpy(zeta: npt.NDArray, gram: Array, parts: Array) -> tuple[npt.NDArray, npt.NDArray]:
    """`_cauchy` in vectors."""
    inverse = 1 / (zeta[:, None] - gram)
    return inverse @ parts, -(inverse**2) @ parts


@compiled(numpy=_cauchy_numpy)
def _cauchy(zeta: npt.NDArray, gram: Array, parts: Array) -> tuple[npt.NDArray, npt.NDArray]:
    """The Gram matrix's Cauchy transform and its derivative; without complex divisions, which are slow."""
    values, slopes = np.empty_like(zeta), np.empty_like(zeta)
    for k in range(zeta.size):
        y, gr, gi, sr, si = zeta[k].imag, 0.0, 0.0, 0.0, 0.0
        for j in range(gram.size):
            real = zeta[k].real - gram[j]
            scale = 1 / (real * real + y * y)
            part = parts[j] * scale
            gr += part * real
            gi -= part * y
            part *= scale
            sr -= part * (real * real - y * y)
            si += 2 * part * real * y
        values[k], slopes[k] = complex(gr, gi), complex(sr, si)
    return values, slopes


@compiled
def _arrow_solution(system: npt.NDArray, right: npt.NDArray) -> npt.NDArray:
    """The solution of the linear system whose matrix is an arrow: a first row, a first column and a diagonal."""
    row, column, diagonal = system[2, 1:], system[3, 1:], system[4, 1:]
    solution = np.empty_like(right)
    solution[0] = (right[0] - (row * right[1:] / diagonal).sum()) / (
        system[2, 0] - (row * column / diagonal).sum()
    )
    solution[1:] = (right[1:] - column * solution[0]) / diagonal
    return solution


class Points(NamedTuple):
    """What the sums need of points: log z, a, weights of τ and T at the nodes, and nodes of their own with weights."""

    logs: npt.NDArray
    a: npt.NDArray
    tau: npt.NDArray
    rest: npt.NDArray
    own: npt.NDArray  # (places, weights of τ, weights of T), points, nodes
    begun: npt.NDArray  # the weights of τ in a start measure


class Measure(NamedTuple):
    """Nodes of the average with weights times nodes, and those of a start measure."""

    nodes: npt.NDArray
    heavy: npt.NDArray
    starts: npt.NDArray


class Rule(NamedTuple):
    """k and their weights in the sums, ρ, κ and 2/τ − 1."""

    places: Array
    shares: Array
    rho: float
    kappa: float
    gain: float


def sums_numpy(
    first: Integers, second: Integers, points: Points, measure: Measure, rule: Rule
) -> npt.NDArray:
    """`sums` in vectors."""
    values = np.empty((5, len(first)), complex)
    size = max(1, 2**18 // (len(rule.places) * (len(measure.nodes) + 2 * points.own.shape[2])))
    for start in range(0, len(first), size):
        block = slice(start, start + size)
        values[:, block] = _sums_of_a_block(first[block], second[block], points, measure, rule)
    return values


def _sums_of_a_block(i: Integers, j: Integers, points: Points, measure: Measure, rule: Rule) -> npt.NDArray:
    """The same for so few pairs that their arrays are in memory at once."""
    rho, kappa = rule.rho, rule.kappa
    logs, sigma, p = points.logs[i] + points.logs[j], points.a[i] + points.a[j], points.a[i] * points.a[j]
    logs, sigma, p = logs[:, None], sigma[:, None], p[:, None]
    v = (2j * np.pi * (rule.places + np.rint(logs.imag / (2 * np.pi))) - logs) / rho
    w = np.expm1(kappa * v) / kappa if kappa else v
    r = 1 + kappa * w

    def inverse(nodes: npt.NDArray) -> npt.NDArray:
        slopes = nodes * (sigma - kappa * p * nodes)
        return 1 / (w[:, :, None] + slopes[:, None])

    shared = np.broadcast_to(measure.nodes, (len(i), len(measure.nodes)))
    nodes = np.concatenate([shared, points.own[0][i], points.own[0][j]], axis=1)
    tau, rest = (
        np.concatenate([x[i] + x[j], own[i], own[j]], axis=1)
        for x, own in ((points.tau, points.own[1]), (points.rest, points.own[2]))
    )
    light = np.broadcast_to(np.append(measure.heavy, np.zeros(2 * points.own.shape[2])), tau.shape)
    weights = [tau, rest, light] + ([nodes * tau, nodes * (rest + kappa * light)] if kappa else [])
    t0, u0, e0, *more = np.moveaxis(inverse(nodes) @ np.stack(weights, axis=2), 2, 0)
    whole, total = tau.sum(axis=1)[:, None], rest.sum(axis=1)[:, None]
    if kappa:
        t1, u1 = more
        c, b = p / (1 - p * t1), sigma * t0 - kappa * p * t1
        phi, psi = (
            r * (c * t0 * t0 - b / w),
            r * (u0 + c * t0 * (u1 + w * e0 * t0) - b * e0) - kappa / 2 * total,
        )
    else:
        c, t1, u1 = sigma / (rule.gain + w * t0), (whole - w * t0) / sigma, (total - w * u0) / sigma
        phi = -rule.gain * c * t0 / w
        psi = c * (t0 * total + rule.gain * (u0 - sigma * e0 * t0)) / sigma
    if measure.starts.size:
        weights = (points.begun[i] + points.begun[j])[:, :, None]
        c = c * (inverse(measure.starts[None]) @ weights)[:, :, 0]
    return np.stack([phi, psi, c * (u1 + w * e0 * t0), c * t1, c * t0]) @ rule.shares


@compiled(numpy=sums_numpy)
def sums(first: Integers, second: Integers, points: Points, measure: Measure, rule: Rule) -> npt.NDArray:
    """The sums over k in Φ and Ψ (`pairs`), and in the three losses from given targets (`label_pairs`), for pairs.

    Of single rows 1 − pt₁ is (2/τ − 1 + wt₀)p/σ, since σ/p = 2/τ − 1 + ⟨λτ⟩: so no digits are lost. Real and imaginary
    parts are kept in arrays of their own, for vector registers.
    """
    number, more, terms = measure.nodes.size, points.own.shape[2], rule.places.size
    nodes, begun = np.zeros((12, number + 2 * more)), np.empty((6, measure.starts.size))
    shifts, moments = np.empty((2, terms)), np.empty((14, terms))
    values = np.empty((5, first.size), np.complex128)
    nodes[6, :number], nodes[7, :number] = measure.heavy.real, measure.heavy.imag
    for pair in range(first.size):
        i, j = first[pair], second[pair]
        sigma, p = points.a[i] + points.a[j], points.a[i] * points.a[j]
        whole, total = 0j, 0j
        for k in range(number):
            tau, rest = points.tau[i, k] + points.tau[j, k], points.rest[i, k] + points.rest[j, k]
            _place(nodes, k, measure.nodes[k], tau, rest, sigma, p, rule.kappa)
            whole += tau
            total += rest
        for k in range(2 * more):
            point, place = (i, k) if k < more else (j, k - more)
            tau, rest = points.own[1, point, place], points.own[2, point, place]
            _place(nodes, number + k, points.own[0, point, place], tau, rest, sigma, p, rule.kappa)
            whole += tau
            total += rest
        for k in range(measure.starts.size):
            tau = points.begun[i, k] + points.begun[j, k]
            _place(begun, k, measure.starts[k], tau, tau, sigma, p, 0.0)
        _shift(shifts, points.logs[i] + points.logs[j], rule)
        _three_moments(moments, nodes, shifts)
        if rule.kappa > 0:
            _two_moments(moments, 6, nodes[:2], nodes[8:], shifts)
        if measure.starts.size > 0:
            _two_moments(moments, 10, begun[:2], begun[2:], shifts)
        else:
            moments[10:12] = moments[:2]
        _combine(values, pair, moments, shifts, rule, (sigma, p, whole, total))
    return values


@compiled
def _place(
    nodes: Array, k: int, node: complex, tau: complex, rest: complex, sigma: complex, p: complex, kappa: float
) -> None:
    """Write the slope of D at a node, and weights of τ and T, and the same times λ for batches."""
    slope = node * (sigma - kappa * p * node)
    nodes[0, k], nodes[1, k] = slope.real, slope.imag
    nodes[2, k], nodes[3, k], nodes[4, k], nodes[5, k] = tau.real, tau.imag, rest.real, rest.imag
    if kappa > 0:
        up, later = node * tau, node * (rest + kappa * complex(nodes[6, k], nodes[7, k]))
        nodes[8, k], nodes[9, k], nodes[10, k], nodes[11, k] = up.real, up.imag, later.real, later.imag


@compiled
def _shift(shifts: Array, logarithm: complex, rule: Rule) -> None:
    """Write w = (e^κv − 1)/κ for all terms of a pair."""
    turn = logarithm.imag - 2 * np.pi * np.rint(logarithm.imag / (2 * np.pi))
    kappa = rule.kappa
    for n in range(rule.places.size):
        x, y = -logarithm.real / rule.rho, (2 * np.pi * rule.places[n] - turn) / rule.rho
        if kappa > 0:
            grown = np.exp(kappa * x) * np.sin(kappa * y)
            x = (np.expm1(kappa * x) * np.cos(kappa * y) - 2 * np.sin(kappa * y / 2) ** 2) / kappa
            y = grown / kappa
        shifts[0, n], shifts[1, n] = x, y


@compiled
def _three_moments(moments: Array, nodes: Array, shifts: Array) -> None:
    """Write t₀, u₀ and e₀ for all terms."""
    mr, mi, tr, ti, dr, di, hr, hi = (
        nodes[0],
        nodes[1],
        nodes[2],
        nodes[3],
        nodes[4],
        nodes[5],
        nodes[6],
        nodes[7],
    )
    for n in range(shifts.shape[1]):
        a, b = shifts[0, n], shifts[1, n]
        gr, gi, ur, ui, vr, vi = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(mr.size):
            x, y = a + mr[k], b + mi[k]
            scale = 1 / (x * x + y * y)
            x, y = x * scale, -y * scale
            gr += tr[k] * x - ti[k] * y
            gi += tr[k] * y + ti[k] * x
            ur += dr[k] * x - di[k] * y
            ui += dr[k] * y + di[k] * x
            vr += hr[k] * x - hi[k] * y
            vi += hr[k] * y + hi[k] * x
        moments[0, n], moments[1, n], moments[2, n] = gr, gi, ur
        moments[3, n], moments[4, n], moments[5, n] = ui, vr, vi


@compiled
def _two_moments(moments: Array, row: int, slopes: Array, weights: Array, shifts: Array) -> None:
    """Write the sums over nodes of two weights over D for all terms."""
    mr, mi, tr, ti, dr, di = slopes[0], slopes[1], weights[0], weights[1], weights[2], weights[3]
    for n in range(shifts.shape[1]):
        a, b = shifts[0, n], shifts[1, n]
        gr, gi, ur, ui = 0.0, 0.0, 0.0, 0.0
        for k in range(mr.size):
            x, y = a + mr[k], b + mi[k]
            scale = 1 / (x * x + y * y)
            x, y = x * scale, -y * scale
            gr += tr[k] * x - ti[k] * y
            gi += tr[k] * y + ti[k] * x
            ur += dr[k] * x - di[k] * y
            ui += dr[k] * y + di[k] * x
        moments[row, n], moments[row + 1, n], moments[row + 2, n], moments[row + 3, n] = gr, gi, ur, ui


@compiled
def _combine(
    values: npt.NDArray,
    pair: int,
    moments: Array,
    shifts: Array,
    rule: Rule,
    known: tuple[complex, complex, complex, complex],
) -> None:
    """Write the sums over k of what the moments make up; `known` are σ, p, ⟨λτ⟩ and ⟨λT⟩."""
    sigma, p, whole, total = known
    phi, psi, distance, fresh, train = 0j, 0j, 0j, 0j, 0j
    kappa, gain, by_sigma = rule.kappa, rule.gain, _inverse(sigma)
    for n in range(rule.places.size):
        share, w = rule.shares[n], complex(shifts[0, n], shifts[1, n])
        t0, u0 = complex(moments[0, n], moments[1, n]), complex(moments[2, n], moments[3, n])
        e0, begun = complex(moments[4, n], moments[5, n]), complex(moments[10, n], moments[11, n])
        if kappa > 0:
            t1, u1 = complex(moments[6, n], moments[7, n]), complex(moments[8, n], moments[9, n])
            r = share * (1 + kappa * w)
            c, b = r * p * _inverse(1 - p * t1), r * (sigma * t0 - kappa * p * t1)
            phi += c * t0 * t0 - b * _inverse(w)
            psi += r * u0 + c * t0 * (u1 + w * e0 * t0) - b * e0 - share * kappa / 2 * total
        else:
            c = share * _inverse(gain + w * t0)
            phi -= sigma * gain * c * t0 * _inverse(w)
            psi += c * (t0 * total + gain * (u0 - sigma * e0 * t0))
            c *= sigma * begun
            distance += c * t0
            fresh += c * (whole - w * t0) * by_sigma
            train += c * ((total - w * u0) * by_sigma + w * e0 * t0)
    values[0, pair], values[1, pair] = phi, psi
    values[2, pair], values[3, pair], values[4, pair] = train, fresh, distance


@compiled
def _inverse(z: complex) -> complex:
    """1/z, without a complex division, which is slow."""
    scale = 1 / (z.real * z.real + z.imag * z.imag)
    return complex(z.real * scale, -z.imag * scale)
