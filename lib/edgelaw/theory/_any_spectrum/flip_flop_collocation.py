r"""Newton's method for flip-flop's boundary problem at one z, on panels of Gauss points; see `flip_flop_boundary`.

With α = r/D and β = H/D every node has its own Riccati equation :math:`Y' = \lambda(\alpha - 2\beta Y + z\tilde\alpha
Y^2)`, Y(0) = 1, where a tilde mirrors s. Linearised it is scalar and stable forwards, so a panel's unknowns follow from
its left end by a matrix of the panel's size, and a panel acts on the next by one number. What the nodes share are
α, at all points, and β, at half of them, since β is its own mirror image: one dense system of that size for a Newton
step. Gauss collocation is symmetric, so the mirrored equation is collocated too, and its order at the ends of panels
is twice the number of points in one.
"""

import functools

import numpy as np

from edgelaw._common.compiled import compiled

_SAME = 1e-7  # a change so small leaves an error of its square


class Unsolved(ArithmeticError):
    """Newton's method did not converge."""


class Problem:
    """The boundary problem for one average, step and rho on the given panels of `points` Gauss points each."""

    def __init__(self, average, step, rho, panels, points, probe=None):
        moving = average.nodes != 0
        nodes, weights = (x[moving].astype(complex) for x in (average.nodes, average.weights))
        self.still = average.weights[~moving].sum().real  # λ = 0: Y = 1
        if probe is not None:  # one more λ to follow Y at, the last one, that counts for nothing
            nodes, weights = np.append(nodes, probe), np.append(weights, 0)
        self.nodes, self.weights, self.moments = nodes, weights, nodes * weights
        self.inverse_step, self.rho = 1 / step, rho
        self.panels, self.rule = panels, gauss(points)
        self.shape = len(nodes), len(panels) * points

    def start(self):
        """Y at z = 0, where the equations are linear and one step solves them."""
        return self._step(0j, np.ones(self.shape, dtype=complex))[0]

    def newton(self, z, Y, steps=8):
        """Y at z and at s = ρ from a guess; `Unsolved` if that takes more than a few steps."""
        for _ in range(steps):
            better, end, size = self._step(z, Y)
            if size < _SAME:
                return better, end
            if not np.isfinite(size) or size > 1e3:
                break
            Y = better if size < 0.5 else Y + 0.5 / size * (better - Y)
        raise Unsolved("Newton's method for the flip-flop equations did not converge.")

    def _step(self, z, Y):
        """A better Y, its end, and the relative size of the change."""
        try:
            matrix, vector, *linear = linearised(
                z, Y, self.nodes, self.moments, self.inverse_step, self.panels, *self.rule
            )
            return updated(z, Y, self.nodes, np.linalg.solve(matrix, vector), *linear)
        except (np.linalg.LinAlgError, ZeroDivisionError):  # far from any solution
            return Y, Y[:, -1], np.inf

    def transforms(self, z, Y, end):
        """The generating functions of the test and of the training loss at z."""
        beginning, touched = integrand(
            z, Y, self.nodes, self.moments, self.inverse_step, self.panels, *self.rule
        ), 1 / (1 - z * end)
        test = self.weights @ touched + self.still / (1 - z)
        return np.array([test, self.moments @ touched + z * beginning / self.rho])


@compiled
def _fields(z, Y, moments, inverse_step):
    """1/(1 − z Y Ỹ) at all nodes, and r, H and D, at all points."""
    nodes, size = Y.shape
    inverse = np.empty_like(Y)
    r = np.zeros(size, dtype=np.complex128)
    H = np.full(size, inverse_step + 0j)
    for k in range(nodes):
        for s in range(size):
            product = z * Y[k, s] * Y[k, size - 1 - s]
            inverse[k, s] = 1 / (1 - product)
            r[s] += moments[k] * Y[k, s] * inverse[k, s]
            H[s] += moments[k] * product * inverse[k, s]
    return inverse, r, H, H * H - z * r * r[::-1]


@compiled
def _eliminate(M, size):
    """Gauss–Jordan elimination of the first columns of M, in place: the rest becomes the solutions."""
    for j in range(size):
        best = j
        for i in range(j + 1, size):
            if abs(M[i, j]) > abs(M[best, j]):
                best = i
        for x in range(j, M.shape[1]):
            M[j, x], M[best, x] = M[best, x], M[j, x]
        factor = 1 / M[j, j]
        for x in range(j, M.shape[1]):
            M[j, x] *= factor
        for i in range(size):
            if i != j:
                factor = M[i, j]
                for x in range(j, M.shape[1]):
                    M[i, x] -= factor * M[j, x]


@compiled
def _panel(rates, h, A, b, M, inner, start, finish):
    """One panel of u' = −rate·u + f: u = start·u₀ + inner·f at its points, and its end is factor·u₀ + finish·f."""
    p = b.size
    for j in range(p):
        for i in range(p):
            M[j, i] = h * A[j, i] * rates[i]
            M[j, p + i] = h * A[j, i]
        M[j, j] += 1
        M[j, 2 * p] = 1
    _eliminate(M, p)
    factor = 1 + 0j
    for j in range(p):
        start[j] = M[j, 2 * p]
        finish[j] = h * b[j]
    for j in range(p):
        weight = h * b[j] * rates[j]
        factor -= weight * start[j]
        for i in range(p):
            inner[j, i] = M[j, p + i]
            finish[i] -= weight * inner[j, i]
    return factor


@compiled
def _solved(forcing, inner, start, finish, factors, solution):
    """u of a node from u(0) = 1 and its forcing, panel by panel; returns the end."""
    u = 1 + 0j
    panels, p = inner.shape[0], inner.shape[1]
    for i in range(panels):
        following = factors[i] * u
        for j in range(i * p, (i + 1) * p):
            total = start[j] * u
            for x in range(p):
                total += inner[i, j - i * p, x] * forcing[i * p + x]
            solution[j] = total
            following += finish[j] * forcing[j]
        u = following
    return u


@compiled
def _responses(rows, columns, inner, start, finish, factors):
    """Σ_k row·(response of u at a point to a force at an earlier one)·column, for 3 kinds of each, earlier one first."""
    kinds, nodes, size = rows.shape
    panels, p = inner.shape[1], inner.shape[2]
    response = np.zeros((kinds * size, kinds * size), dtype=np.complex128)
    carried = np.zeros((kinds * size, nodes), dtype=np.complex128)  # to the present panel's left end
    here = np.empty((nodes, kinds * p), dtype=np.complex128)
    for i in range(panels):
        first, last = kinds * i * p, kinds * (i + 1) * p
        for k in range(nodes):
            for j in range(p):
                for a in range(kinds):
                    here[k, kinds * j + a] = rows[a, k, i * p + j] * start[k, i * p + j]
        if i:
            response[:first, first:last] = np.dot(carried[:first], here)
        for x in range(first, last):
            l = x // kinds
            for y in range(first, last):
                j, a, total = y // kinds, y % kinds, 0j
                for k in range(nodes):
                    total += columns[x, k] * inner[k, i, j - i * p, l - i * p] * rows[a, k, j]
                response[x, y] = total
            for k in range(nodes):
                carried[x, k] = columns[x, k] * finish[k, l]
        for x in range(first):
            for k in range(nodes):
                carried[x, k] *= factors[k, i]
    return response


@compiled
def _folded(response, size):
    """Derivatives of r and H at all points by α at all points and by β at half of them: mirror images added up."""
    J = np.zeros((2, size, size + size // 2), dtype=np.complex128)
    for x in range(3 * size):
        l, kind = x // 3, x % 3
        mirror = size - 1 - l
        at = l if kind == 0 else mirror if kind == 1 else size + min(l, mirror)
        for s in range(size):
            J[0, s, at] += response[x, 3 * s]
            J[0, size - 1 - s, at] += response[x, 3 * s + 1]
            J[1, s, at] += response[x, 3 * s + 2]
            J[1, size - 1 - s, at] += response[x, 3 * s + 2]
    return J


@compiled
def _system(z, J, shifts, r, H, D):
    """The linear equations for the changes of α = r/D and β = H/D, D = H² − z r r̃."""
    size = r.size
    total = size + size // 2
    matrix = np.empty((total, total), dtype=np.complex128)
    vector = np.empty(total, dtype=np.complex128)
    for x in range(total):
        s = x if x < size else x - size
        mirror = size - 1 - s
        f = (r[s] if x < size else H[s]) / (D[s] * D[s])
        by_r, by_mirror, by_H = f * z * r[mirror], f * z * r[s], -2 * f * H[s]
        if x < size:
            by_r += 1 / D[s]
        else:
            by_H += 1 / D[s]
        for y in range(total):
            matrix[x, y] = -(by_r * J[0, s, y] + by_mirror * J[0, mirror, y] + by_H * J[1, s, y])
        matrix[x, x] += 1
        vector[x] = by_r * shifts[0, s] + by_mirror * shifts[0, mirror] + by_H * shifts[1, s]
    return matrix, vector


@compiled
def _by_node(z, Y, change, nodes, moments, inverse):
    """Weights of a change of Y in those of r, r̃, H (rows) and of changes of α, α̃, β in Y' (columns), r and H moved."""
    count, size = Y.shape
    rows = np.empty((3, count, size), dtype=np.complex128)
    columns = np.empty((3 * size, count), dtype=np.complex128)
    shifts = np.zeros((2, size), dtype=np.complex128)
    for k in range(count):
        for s in range(size):
            mirror = size - 1 - s
            y, other = Y[k, s], Y[k, mirror]
            weight = moments[k] * inverse[k, s] * inverse[k, s]
            rows[0, k, s] = weight
            rows[1, k, s] = weight * z * other * other
            rows[2, k, s] = weight * z * other
            columns[3 * s, k] = nodes[k]
            columns[3 * s + 1, k] = nodes[k] * z * y * y
            columns[3 * s + 2, k] = -2 * nodes[k] * y
            shifts[0, s] += rows[0, k, s] * change[k, s]
            shifts[0, mirror] += rows[1, k, s] * change[k, s]
            shifts[1, s] += rows[2, k, s] * change[k, s]
            shifts[1, mirror] += rows[2, k, s] * change[k, s]
    return rows, columns, shifts


@compiled
def linearised(z, Y, nodes, moments, inverse_step, h, A, b):
    """Newton's equations for the changes of α and β, and what turns them into Y."""
    count, size = Y.shape
    panels, p = h.size, b.size
    inverse, r, H, D = _fields(z, Y, moments, inverse_step)
    alpha, beta = r / D, H / D
    start, finish, forcing = np.empty_like(Y), np.empty_like(Y), np.empty_like(Y)
    inner = np.empty((count, panels, p, p), dtype=np.complex128)
    factors = np.empty((count, panels), dtype=np.complex128)
    rates = np.empty(size, dtype=np.complex128)
    change = np.empty_like(Y)
    M = np.empty((p, 2 * p + 1), dtype=np.complex128)
    for k in range(count):
        for s in range(size):
            y, quadratic = Y[k, s], z * alpha[size - 1 - s]
            rates[s] = 2 * nodes[k] * (beta[s] - quadratic * y)
            forcing[k, s] = nodes[k] * (alpha[s] - quadratic * y * y)
        for i in range(panels):
            part = slice(i * p, (i + 1) * p)
            factors[k, i] = _panel(rates[part], h[i], A, b, M, inner[k, i], start[k, part], finish[k, part])
        _solved(forcing[k], inner[k], start[k], finish[k], factors[k], change[k])
    change -= Y
    rows, columns, shifts = _by_node(z, Y, change, nodes, moments, inverse)
    J = _folded(_responses(rows, columns, inner, start, finish, factors), size)
    matrix, vector = _system(z, J, shifts, r, H, D)
    return matrix, vector, alpha / beta, forcing, inner, start, finish, factors


@compiled
def updated(z, Y, nodes, change, scale, forcing, inner, start, finish, factors):
    """Y after the changes of α and β, its end, and the largest change of Y relative to itself or to α/β."""
    count, size = Y.shape
    better, end, largest = np.empty_like(Y), np.empty(count, dtype=np.complex128), 0.0
    for k in range(count):
        for s in range(size):
            y, mirror = Y[k, s], size - 1 - s
            moved = change[s] - 2 * y * change[size + min(s, mirror)] + z * y * y * change[mirror]
            forcing[k, s] += nodes[k] * moved
        end[k] = _solved(forcing[k], inner[k], start[k], finish[k], factors[k], better[k])
        for s in range(size):
            relative = abs(better[k, s] - Y[k, s]) / (abs(Y[k, s]) + abs(scale[s]))
            if not relative <= largest:
                largest = relative
    return better, end, largest


@compiled
def integrand(z, Y, nodes, moments, inverse_step, h, A, b):
    """∫ (zαX² − 2βXX₁ + α̃X₁²) ds, with X = ⟨λEỸ/(1−zYỸ)⟩, X₁ = ⟨λE/(1−zYỸ)⟩ and E' = −λ(β − zα̃Y)E, E(0) = 1."""
    count, size = Y.shape
    p = b.size
    inverse, r, H, D = _fields(z, Y, moments, inverse_step)
    alpha, beta = r / D, H / D
    X, X1 = np.zeros(size, dtype=np.complex128), np.zeros(size, dtype=np.complex128)
    rates = np.empty(size, dtype=np.complex128)
    M, inner = np.empty((p, 2 * p + 1), dtype=np.complex128), np.empty((p, p), dtype=np.complex128)
    start, finish = np.empty(p, dtype=np.complex128), np.empty(p, dtype=np.complex128)
    for k in range(count):
        E = 1 + 0j
        for s in range(size):
            rates[s] = nodes[k] * (beta[s] - z * alpha[size - 1 - s] * Y[k, s])
        for i in range(h.size):
            factor = _panel(rates[i * p : (i + 1) * p], h[i], A, b, M, inner, start, finish)
            for j in range(p):
                s = i * p + j
                term = moments[k] * start[j] * E * inverse[k, s]
                X1[s] += term
                X[s] += term * Y[k, size - 1 - s]
            E *= factor
    total = 0j
    for s in range(size):
        value = z * alpha[s] * X[s] ** 2 - 2 * beta[s] * X[s] * X1[s] + alpha[size - 1 - s] * X1[s] ** 2
        total += h[s // p] * b[s % p] * value
    return total


@functools.lru_cache(maxsize=16)
def gauss(points):
    """The matrix and the weights of collocation at the Gauss points of [0, 1]."""
    x, weights = np.polynomial.legendre.leggauss(points)
    x = (x + 1) / 2
    powers = np.arange(points)
    integrals = x[:, None] ** (powers + 1) / (powers + 1)
    return np.linalg.solve((x[:, None] ** powers).T, integrals.T).T.copy(), weights / 2


def graded_panels(rho, fastest, first, growth):
    """Lengths of panels of [0, ρ], symmetric, that grow geometrically from first/fastest at both ends."""
    lengths, rest = [], rho / 2
    length = first / fastest
    while length < rest:
        lengths.append(length)
        rest -= length
        length *= growth
    if lengths and rest < lengths[-1] / 2:
        lengths[-1] += rest
    else:
        lengths.append(rest)
    return np.array(lengths + lengths[::-1])
