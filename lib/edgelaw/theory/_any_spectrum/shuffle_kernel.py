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
    tr, ti, dr, di, mr, mi = np.empty((6, nodes.size))
    sums = np.empty((6, places.size))
    hr, hi = heavy.real.copy(), heavy.imag.copy()
    ways = 2 * np.pi / rho * places
    phi, psi = np.empty(first.size, np.complex128), np.empty(first.size, np.complex128)
    for pair in range(first.size):
        i, j = first[pair], second[pair]
        sigma, logarithm = a[i] + a[j], logs[i] + logs[j]
        turn = logarithm.imag - 2 * np.pi * np.rint(logarithm.imag / (2 * np.pi))
        sr, si = -logarithm.real / rho, -turn / rho
        total = 0j
        for k in range(nodes.size):
            tau = heavy[k] * (1 + alpha[i, k] + alpha[j, k])
            rest = heavy[k] * (D[i, k] + D[j, k])
            moved = sigma * nodes[k]
            tr[k], ti[k], dr[k], di[k] = tau.real, tau.imag, rest.real, rest.imag
            mr[k], mi[k] = sr + moved.real, si + moved.imag
            total += rho * tau + rest
        for n in range(0, places.size, 2):  # two terms at a time: what is read of a node serves both
            m = min(n + 1, places.size - 1)
            one, two = ways[n], ways[m]
            gr, gi, ur, ui, vr, vi = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            Gr, Gi, Ur, Ui, Vr, Vi = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for k in range(nodes.size):
                x, y, Y = mr[k], mi[k] + one, mi[k] + two
                scale, Scale = 1 / (x * x + y * y), 1 / (x * x + Y * Y)
                x, y, X, Y = x * scale, -y * scale, x * Scale, -Y * Scale
                gr += tr[k] * x - ti[k] * y
                gi += tr[k] * y + ti[k] * x
                ur += dr[k] * x - di[k] * y
                ui += dr[k] * y + di[k] * x
                vr += hr[k] * x - hi[k] * y
                vi += hr[k] * y + hi[k] * x
                Gr += tr[k] * X - ti[k] * Y
                Gi += tr[k] * Y + ti[k] * X
                Ur += dr[k] * X - di[k] * Y
                Ui += dr[k] * Y + di[k] * X
                Vr += hr[k] * X - hi[k] * Y
                Vi += hr[k] * Y + hi[k] * X
            sums[0, m], sums[1, m], sums[2, m], sums[3, m], sums[4, m], sums[5, m] = Gr, Gi, Ur, Ui, Vr, Vi
            sums[0, n], sums[1, n], sums[2, n], sums[3, n], sums[4, n], sums[5, n] = gr, gi, ur, ui, vr, vi
        thetas, shifted, first_order, second_order = _over_terms(sums, shares, sr, si, ways, kappa)
        phi[pair] = -sigma * kappa / rho * shifted
        rest = thetas * total + kappa * (first_order + rho * thetas) - kappa * sigma * second_order
        psi[pair] = total / 2 + rest / rho
    return phi, psi


@compiled
def _over_terms(sums, shares, sr, si, ways, kappa):
    """Σ θ, Σ θ/s, Σ φu and Σ θv from the sums g, u, v over the nodes; without complex divisions, which are slow."""
    tr, ti, qr, qi, ur, ui, vr, vi = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for n in range(ways.size):
        y = si + ways[n]
        gr, gi = sums[0, n], sums[1, n]
        fr, fi = kappa + sr * gr - y * gi, sr * gi + y * gr
        scale = shares[n] / (fr * fr + fi * fi)
        fr, fi = fr * scale, -fi * scale
        xr, xi = gr * fr - gi * fi, gr * fi + gi * fr
        scale = 1 / (sr * sr + y * y)
        tr += xr
        ti += xi
        qr += (xr * sr + xi * y) * scale
        qi += (xi * sr - xr * y) * scale
        ur += fr * sums[2, n] - fi * sums[3, n]
        ui += fr * sums[3, n] + fi * sums[2, n]
        vr += xr * sums[4, n] - xi * sums[5, n]
        vi += xr * sums[5, n] + xi * sums[4, n]
    return tr + 1j * ti, qr + 1j * qi, ur + 1j * ui, vr + 1j * vi
