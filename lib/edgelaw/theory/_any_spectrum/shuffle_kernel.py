r"""Compiled loops of single shuffle on any spectrum: the exponent c(z) along a path, and Φ and Ψ at pairs of points."""

import numpy as np

from edgelaw._common.compiled import compiled


@compiled
def exponents(path, nodes, heavy, inverse_step, rho, start):
    """c along a path of points z, from a guess at the first, and the largest last relative change of Newton's method.

    c solves c (1/η + ⟨λα⟩) = ρ with α = z e^(−cλ)/(1 − z e^(−cλ)); `heavy` are the weights times the nodes. From one
    point to the next goes Euler's step along the solution.
    """
    values = np.empty(path.size, np.complex128)
    c, worst = start, 0.0
    for i in range(path.size):
        if i > 0:
            total, first, second = inverse_step + 0j, 0j, 0j
            for k in range(nodes.size):
                power = path[i - 1] * np.exp(-c * nodes[k])
                alpha = power / (1 - power)
                term = heavy[k] * alpha * (1 + alpha)
                total += heavy[k] * alpha
                first += term
                second += term * nodes[k]
            c -= c * first / path[i - 1] * (path[i] - path[i - 1]) / (total - c * second)
        change = 0j
        for _ in range(12):
            total, second = inverse_step + 0j, 0j
            for k in range(nodes.size):
                power = path[i] * np.exp(-c * nodes[k])
                alpha = power / (1 - power)
                total += heavy[k] * alpha
                second += heavy[k] * alpha * (1 + alpha) * nodes[k]
            change = (c * total - rho) / (total - c * second)
            c -= change
            if not abs(change) > 1e-13 * abs(c):
                break
        size = abs(change) / abs(c)
        if not size <= worst:
            worst = size
        values[i] = c
    return values, worst


@compiled
def pair_sums(first, second, logs, a, alpha, D, nodes, heavy, kappa, rho, places, shares):
    """The sums over k in Φ and Ψ for pairs of points: −(σκ/ρ) Σ θ/s, and Ψ itself.

    The rows of `alpha` and `D` belong to the points, the columns to the nodes. `places` and `shares` are k and its
    weight in the sum. Real and imaginary parts are kept in arrays of their own, for vector registers.
    """
    size = nodes.size
    tr, ti, dr, di, mr, mi = np.empty((6, size))
    hr, hi = heavy.real.copy(), heavy.imag.copy()
    phi, psi = np.empty(first.size, np.complex128), np.empty(first.size, np.complex128)
    for pair in range(first.size):
        i, j = first[pair], second[pair]
        sigma, logarithm = a[i] + a[j], logs[i] + logs[j]
        turn = logarithm.imag - 2 * np.pi * np.round(logarithm.imag / (2 * np.pi))
        origin = -(logarithm.real + 1j * turn) / rho
        total = 0j
        for k in range(size):
            tau = heavy[k] * (1 + alpha[i, k] + alpha[j, k])
            rest = heavy[k] * (D[i, k] + D[j, k])
            moved = sigma * nodes[k]
            tr[k], ti[k], dr[k], di[k], mr[k], mi[k] = (
                tau.real,
                tau.imag,
                rest.real,
                rest.imag,
                moved.real,
                moved.imag,
            )
            total += rho * tau + rest
        one, other = 0j, 0j
        for n in range(places.size):
            s = origin + 2j * np.pi * places[n] / rho
            sr, si = s.real, s.imag
            gr, gi, ur, ui, vr, vi = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for k in range(size):
                x, y = sr + mr[k], si + mi[k]
                scale = 1 / (x * x + y * y)
                x, y = x * scale, -y * scale
                gr += tr[k] * x - ti[k] * y
                gi += tr[k] * y + ti[k] * x
                ur += dr[k] * x - di[k] * y
                ui += dr[k] * y + di[k] * x
                vr += hr[k] * x - hi[k] * y
                vi += hr[k] * y + hi[k] * x
            g, u, v = gr + 1j * gi, ur + 1j * ui, vr + 1j * vi
            f = 1 / (kappa + s * g)
            theta = g * f
            one += shares[n] * theta / s
            other += shares[n] * (theta * total + kappa * f * (u + rho * g) - kappa * sigma * theta * v)
        phi[pair] = -sigma * kappa / rho * one
        psi[pair] = total / 2 + other / rho
    return phi, psi
