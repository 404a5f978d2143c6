r"""Compiled loops of single shuffle on any spectrum: the exponent c(z) along a path, and Φ and Ψ at pairs of points."""

import numpy as np

from edgelaw._common.compiled import compiled

_ROOM = 2**18  # numbers in an array of (pairs, terms, nodes)


@compiled
def exponents(path, nodes, heavy, inverse_step, rho, start):
    """c along a path of points z, from a guess at the first, and the largest last relative change of Newton's method.

    c solves c (1/η + ⟨λα⟩) = ρ with α = z e^(−cλ)/(1 − z e^(−cλ)); `heavy` are the weights times the nodes. From one
    point to the next goes Euler's step along the solution. In vectors over the nodes, so that it needs no twin.
    """
    values = np.empty(path.size, np.complex128)
    c, worst = start, 0.0
    for i in range(path.size):
        if i > 0:
            total, first, second = _exponent_sums(path[i - 1], c, nodes, heavy)
            move = (path[i] - path[i - 1]) / path[i - 1]
            c -= c * first * move / (inverse_step + total - c * second)
        size = np.inf
        for _ in range(12):
            total, first, second = _exponent_sums(path[i], c, nodes, heavy)
            total += inverse_step
            change = (c * total - rho) / (total - c * second)
            c -= change
            size = abs(change) / abs(c)
            if not size > 1e-13:
                break
        if not size <= worst:
            worst = size
        values[i] = c
    return values, worst


@compiled
def _exponent_sums(z, c, nodes, heavy):
    """⟨λα⟩, ⟨λα(1 + α)⟩ and ⟨λ²α(1 + α)⟩."""
    power = z * np.exp(-c * nodes)
    alpha = power / (1 - power)
    slope = heavy * alpha * (1 + alpha)
    return (heavy * alpha).sum(), slope.sum(), (slope * nodes).sum()


@compiled
def followed_exponents(path, nodes, heavy, inverse_step, rho, gram, parts, turns, start):
    """c and the places ζ of α's poles along a path of logarithms of z, and the largest last relative change of c.

    `poles` has the equations. A row of the result is c followed by one ζ for each of the `turns`; `start` is a
    guess at the first point. From one point to the next goes Euler's step along the solution, or several shorter ones
    where Newton's method would have to mend much of it. Where even these do not do, the change is infinite.
    """
    values = np.full((path.size, start.size), np.nan + 0j)
    x, worst, at = start.copy(), 0.0, path[0]
    small = 0.1 * rho / inverse_step  # c is ηρ at z = 0, and may vanish at z = 1
    left = 4 * path.size + 200  # steps
    for i in range(path.size):
        begin, way, done, share = at, path[i] - at, 0.0, 1.0
        while done < 1:
            share = min(share, 1 - done)
            system = _followed_system(at, x, nodes, heavy, inverse_step, rho, gram, parts, turns)
            step = -share * way * _arrow_solution(system, system[1])
            there = begin + (done + share) * way
            guess, size = x + step, np.inf
            for _ in range(8):
                system = _followed_system(there, guess, nodes, heavy, inverse_step, rho, gram, parts, turns)
                change = _arrow_solution(system, system[0])
                guess -= change
                size = abs(change[0]) / (abs(guess[0]) + small)
                if size < 1e-13 and np.all(np.abs(change) <= 1e-12 * (np.abs(guess) + small)):
                    break
            left -= 1
            mended = np.abs(guess - x - step)
            if size < 1e-10 and np.all(mended <= 0.3 * np.abs(step) + 1e-3 * (np.abs(x) + small)):
                worst = max(worst, size)
                x, at, done = guess, there, done + share
                share *= 2
            elif share > 1e-4 and left > 0:
                share /= 2
            else:
                return values, np.inf
        values[i] = x
    return values, worst


@compiled
def _followed_system(log_z, x, nodes, heavy, inverse_step, rho, gram, parts, turns):
    """Residuals, their slopes by log z, and the Jacobian: its first row, first column and diagonal."""
    c = x[0]
    system = np.zeros((5, x.size), np.complex128)
    total, first, second = inverse_step + 0j, 0j, 0j
    for j in range(nodes.size):
        alpha, slope = _without_poles(c * nodes[j] - log_z, turns)
        total += heavy[j] * alpha
        first += heavy[j] * slope
        second += heavy[j] * slope * nodes[j]
    system[0, 0], system[1, 0], system[2, 0] = c * total - rho, -c * first, total + c * second
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
        G, by_zeta = Gr + 1j * Gi, sr + 1j * si
        inverse = 1 / turned
        system[0, 0] += rho - c * zeta * inverse
        system[1, 0] += c * zeta * inverse * inverse
        system[2, 0] -= zeta * inverse
        system[0, k + 1], system[1, k + 1] = 1 / G - rho * turned / c, -rho / c
        system[2, k + 1], system[3, k + 1], system[4, k + 1] = (
            -c * inverse,
            rho * turned / c**2,
            -by_zeta / G**2,
        )
    return system


@compiled
def _without_poles(x, turns):
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


@compiled
def _arrow_solution(system, right):
    """The solution of the linear system whose matrix is an arrow: a first row, a first column and a diagonal."""
    solution = np.empty(right.size, np.complex128)
    corner, value = system[2, 0], right[0]
    for k in range(1, right.size):
        corner -= system[2, k] * system[3, k] / system[4, k]
        value -= system[2, k] * right[k] / system[4, k]
    solution[0] = value / corner
    for k in range(1, right.size):
        solution[k] = (right[k] - system[3, k] * solution[0]) / system[4, k]
    return solution


def pair_sums_numpy(first, second, logs, a, alpha, D, nodes, heavy, own, kappa, rho, places, shares):
    """`pair_sums` in vectors."""
    phi, psi = np.empty(len(first), complex), np.empty(len(first), complex)
    size = max(1, _ROOM // (len(places) * (len(nodes) + 2 * own.shape[2])))
    light = np.append(heavy, np.zeros(2 * own.shape[2]))
    for start in range(0, len(first), size):
        block = slice(start, start + size)
        i, j = first[block], second[block]
        sigma, logarithm = (a[i] + a[j])[:, None], (logs[i] + logs[j])[:, None]
        turn = logarithm.imag - 2 * np.pi * np.rint(logarithm.imag / (2 * np.pi))
        s = (2j * np.pi * places - logarithm.real - 1j * turn) / rho
        tau, rest = (
            np.concatenate([heavy * (x[i] + x[j]), part[i], part[j]], axis=1)
            for x, part in ((0.5 + alpha, own[1]), (D, own[2]))
        )
        lam = np.concatenate([np.broadcast_to(nodes, (len(i), len(nodes))), own[0][i], own[0][j]], axis=1)
        inverse = 1 / (s[:, :, None] + (sigma * lam)[:, None])
        weights = np.stack([tau, rest, np.broadcast_to(light, tau.shape)], axis=2)
        g, u, v = np.moveaxis(inverse @ weights, 2, 0)
        factor = 1 / (kappa + s * g)
        theta, total = g * factor, (rho * tau + rest).sum(axis=1)
        phi[block] = -sigma[:, 0] * kappa / rho * ((theta / s) @ shares)
        within = factor * u + rho * theta - sigma * theta * v
        psi[block] = total / 2 + (total * (theta @ shares) + kappa * (within @ shares)) / rho
    return phi, psi


@compiled(numpy=pair_sums_numpy)
def pair_sums(first, second, logs, a, alpha, D, nodes, heavy, own, kappa, rho, places, shares):
    """The sums over k in Φ and Ψ for pairs of points: −(σκ/ρ) Σ θ/s, and Ψ itself.

    The rows of `alpha` and `D` belong to the points, the columns to the nodes. `own` are nodes that a point has of its
    own, an array (3, points, nodes) of their places and of weight times place times α and times D; the weight alone is
    zero. `places` and `shares` are k and its weight in the sum. Real and imaginary parts are kept in arrays of their
    own, for vector registers.
    """
    number, more = nodes.size, own.shape[2]
    size = number + 2 * more
    tr, ti, dr, di, mr, mi = np.empty((6, size))
    sums = np.empty((6, places.size))
    hr, hi = np.zeros((2, size))
    hr[:number], hi[:number] = heavy.real, heavy.imag
    ways = 2 * np.pi / rho * places
    phi, psi = np.empty(first.size, np.complex128), np.empty(first.size, np.complex128)
    for pair in range(first.size):
        i, j = first[pair], second[pair]
        sigma, logarithm = a[i] + a[j], logs[i] + logs[j]
        turn = logarithm.imag - 2 * np.pi * np.rint(logarithm.imag / (2 * np.pi))
        sr, si = -logarithm.real / rho, -turn / rho
        total = 0j
        for k in range(number):
            tau = heavy[k] * (1 + alpha[i, k] + alpha[j, k])
            rest = heavy[k] * (D[i, k] + D[j, k])
            moved = sigma * nodes[k]
            tr[k], ti[k], dr[k], di[k] = tau.real, tau.imag, rest.real, rest.imag
            mr[k], mi[k] = sr + moved.real, si + moved.imag
            total += rho * tau + rest
        for k in range(2 * more):
            point, place = (i, k) if k < more else (j, k - more)
            tau, rest, moved = own[1, point, place], own[2, point, place], sigma * own[0, point, place]
            at = number + k
            tr[at], ti[at], dr[at], di[at] = tau.real, tau.imag, rest.real, rest.imag
            mr[at], mi[at] = sr + moved.real, si + moved.imag
            total += rho * tau + rest
        for n in range(0, places.size, 2):  # two terms at a time: what is read of a node serves both
            m = min(n + 1, places.size - 1)
            one, two = ways[n], ways[m]
            gr, gi, ur, ui, vr, vi = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            Gr, Gi, Ur, Ui, Vr, Vi = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for k in range(size):
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
