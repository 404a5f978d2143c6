"""Compiled loops of single shuffle with batches: the amplitudes a(z) along a path, and sums over roots of unity."""

import numpy as np

from edgelaw._common.compiled import compiled


@compiled
def power(base, exponent):
    """A complex number to a non-negative whole power, by squaring."""
    value, factor = 1.0 + 0j, base
    while exponent > 0:
        if exponent & 1:
            value *= factor
        factor *= factor
        exponent >>= 1
    return value


@compiled
def amplitudes(path, nodes, heavy, whole, kappas, taus, start):
    """a and the short batch's a along a path of points z, and the largest last relative change of Newton's method.

    Of the `whole` + 1 batches per epoch the last has another size, κ = 0 for none. With θ = 1 − κaλ, the short one's
    θₛ and G = 1/(1 − zθ^whole θₛ) they solve 1/a = 1/τ + ⟨λzθ^(whole − 1)θₛG⟩, 1/aₛ = 1/τₛ + ⟨λzθ^whole G⟩; `heavy`
    are the weights times the nodes. From one point to the next goes Euler's step along the solution.
    """
    values = np.empty((path.size, 2), np.complex128)
    a, short, worst = start[0], start[1], 0.0
    for i in range(path.size):
        if i > 0:
            r, rs, j11, j12, j21, j22, by, bys = _equations(
                path[i - 1], a, short, nodes, heavy, whole, kappas, taus
            )
            det = j11 * j22 - j12 * j21
            move = path[i] - path[i - 1]
            a -= move * (j22 * by - j12 * bys) / det
            short -= move * (j11 * bys - j21 * by) / det
        size = 0.0
        for _ in range(12):
            r, rs, j11, j12, j21, j22, by, bys = _equations(
                path[i], a, short, nodes, heavy, whole, kappas, taus
            )
            det = j11 * j22 - j12 * j21
            change, changes = (j22 * r - j12 * rs) / det, (j11 * rs - j21 * r) / det
            a -= change
            short -= changes
            size = max(abs(change) / abs(a), abs(changes) / abs(short))
            if not size > 1e-13:
                break
        if not size <= worst:
            worst = size
        values[i, 0], values[i, 1] = a, short
    return values, worst


@compiled
def _equations(z, a, short, nodes, heavy, whole, kappas, taus):
    """a(1/τ + ⟨λB⟩) − 1 and the same for the short batch, their Jacobian, and their derivatives by z."""
    g, gs = 0j, 0j
    g_a, g_s, gs_a, gs_s, g_z, gs_z = 0j, 0j, 0j, 0j, 0j, 0j
    for k in range(nodes.size):
        theta, last = 1 - kappas[0] * a * nodes[k], 1 - kappas[1] * short * nodes[k]
        before = power(theta, max(whole - 2, 0))
        less = before * theta if whole > 1 else before
        full = less * theta
        G = 1 / (1 - z * full * last)
        B, Bs = z * less * last * G, z * full * G
        more = heavy[k] * nodes[k]
        g += heavy[k] * B
        gs += heavy[k] * Bs
        g_a -= more * kappas[0] * ((whole - 1) * z * before * last * G + whole * B * B)
        cross = more * z * less * G * G
        g_s -= kappas[1] * cross
        gs_a -= kappas[0] * whole * cross
        gs_s -= more * kappas[1] * Bs * Bs
        g_z += heavy[k] * less * last * G * G
        gs_z += heavy[k] * full * G * G
    t, ts = 1 / taus[0] + g, 1 / taus[1] + gs
    return (
        a * t - 1,
        short * ts - 1,
        t + a * g_a,
        a * g_s,
        short * gs_a,
        ts + short * gs_s,
        a * g_z,
        short * gs_z,
    )


@compiled
def root_sums(first, second, logs, a, alpha, T, nodes, heavy, kappa, count, phases, shares):
    """The means over the roots of unity in Φ and Ψ for pairs of points: of c t₀, and of Ψ's terms without u₀.

    The rows of `alpha` and `T` (without the part of the other point) belong to the points, the columns to the nodes.
    `phases` and `shares` are the roots' angles and their weights in the mean. Real and imaginary parts are kept in
    arrays of their own, for vector registers.
    """
    n = nodes.size
    parts = np.empty((12, n))
    phi, psi = np.empty(first.size, np.complex128), np.empty(first.size, np.complex128)
    for pair in range(first.size):
        i, j = first[pair], second[pair]
        sigma, p = a[i] + a[j], a[i] * a[j]
        logarithm = logs[i] + logs[j]
        x = logarithm.real / count
        y = (logarithm.imag - 2 * np.pi * np.rint(logarithm.imag / (2 * np.pi))) / count
        base = np.exp(x) * (np.cos(y) + 1j * np.sin(y))
        rest = -(np.expm1(x) * np.cos(y) - 2 * np.sin(y / 2) ** 2) - 1j * base.imag  # 1 − base
        for k in range(n):
            tau = heavy[k] * (1 + alpha[i, k] + alpha[j, k])
            slope = kappa * nodes[k] * (sigma - kappa * p * nodes[k])
            up = tau * nodes[k]
            light = heavy[k] * nodes[k]
            u = light * (T[i, k] + T[j, k])
            parts[0, k], parts[1, k] = slope.real, slope.imag
            parts[2, k], parts[3, k] = tau.real, tau.imag
            parts[4, k], parts[5, k] = up.real, up.imag
            parts[6, k], parts[7, k] = heavy[k].real, heavy[k].imag
            parts[8, k], parts[9, k] = light.real, light.imag
            parts[10, k], parts[11, k] = u.real, u.imag
        total, other = 0j, 0j
        for r in range(phases.size):
            turn = np.cos(phases[r]) + 1j * np.sin(phases[r])
            s = base * turn
            gap = rest + base * (2 * np.sin(phases[r] / 2) ** 2 - 1j * turn.imag)  # 1 − s
            t0, t1, e0, e1, u1 = _moments(parts, s, gap)
            c = s * kappa * p * t0 / (1 - s * kappa * p * t1)
            square = s * kappa * kappa * p
            total += shares[r] * c * t0
            other += shares[r] * (
                c * u1
                + (c * gap - s * kappa * sigma) * e0 * t0
                + square * (e1 * t0 + e0 * t1)
                + c * square * e1 * t1
            )
        phi[pair], psi[pair] = total, other
    return phi, psi


@compiled
def _moments(parts, s, gap):
    """Sums over the nodes of λτ/D, λ²τ/D, λ/D, λ²/D and λ²T/D with the averages' weights, D = 1 − sq."""
    sr, si, gr, gi = s.real, s.imag, gap.real, gap.imag
    ar, ai, br, bi, cr, ci = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    dr, di, er, ei = 0.0, 0.0, 0.0, 0.0
    for k in range(parts.shape[1]):
        x = gr + sr * parts[0, k] - si * parts[1, k]
        y = gi + sr * parts[1, k] + si * parts[0, k]
        scale = 1 / (x * x + y * y)
        x, y = x * scale, -y * scale
        ar += parts[2, k] * x - parts[3, k] * y
        ai += parts[2, k] * y + parts[3, k] * x
        br += parts[4, k] * x - parts[5, k] * y
        bi += parts[4, k] * y + parts[5, k] * x
        cr += parts[6, k] * x - parts[7, k] * y
        ci += parts[6, k] * y + parts[7, k] * x
        dr += parts[8, k] * x - parts[9, k] * y
        di += parts[8, k] * y + parts[9, k] * x
        er += parts[10, k] * x - parts[11, k] * y
        ei += parts[10, k] * y + parts[11, k] * x
    return ar + 1j * ai, br + 1j * bi, cr + 1j * ci, dr + 1j * di, er + 1j * ei
