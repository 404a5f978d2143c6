r"""Newton's method for flip-flop's boundary problem at one z, on panels of Gauss points; see `flip_flop_boundary`.

With α = r/D and β = H/D every node has its own Riccati equation :math:`Y' = \lambda(\alpha - 2\beta Y + z\tilde\alpha
Y^2)`, Y(0) = 1, where a tilde mirrors s. Linearised it is scalar and stable forwards, so a panel's unknowns follow from
its left end by a matrix of the panel's size, and a panel acts on the next by one number. What the nodes share are
α, at all points, and β, at half of them, since β is its own mirror image: one dense system of that size for a Newton
step. Gauss collocation is symmetric, so the mirrored equation is collocated too, and its order at the ends of panels
is twice the number of points in one.

If all rows are independent and z > 1, then Y passes through infinity for large λ, where nothing that is averaged does.
So the equations are solved for X with :math:`Y = f/g`, :math:`f = aX+b`, :math:`g = cX+d`, ad − bc = 1, which again has
a Riccati equation: :math:`r = \langle\lambda f\tilde g/W\rangle`,
:math:`H = 1/\eta + z\langle\lambda f\tilde f/W\rangle` with :math:`W = g\tilde g - zf\tilde f`, and
:math:`X' = \lambda(\alpha g^2 - 2\beta fg + z\tilde\alpha f^2)`. Either X = Y, or X = (Y − i)/(Y + i), for z in the
upper half plane, where Y is mostly too.
"""

import functools

import numpy as np
from numpy.polynomial import legendre

from edgelaw._common.compiled import compiled

_PLAIN = np.array([1, 0, 0, 1], dtype=complex)  # a, b, c, d of Y = (aX + b)/(cX + d): Y itself
_TURNED = np.array([1j, 1j, -1, 1]) / (1 + 1j)  # X = (Y − i)/(Y + i)


class Unsolved(ArithmeticError):
    """Newton's method did not converge."""


class Problem:
    """The boundary problem for one average, step and rho on the given panels of `points` Gauss points each."""

    def __init__(self, average, step, rho, panels, points, probes=(), turned=False, same=1e-7):
        moving = average.nodes != 0
        nodes, weights = (x[moving].astype(complex) for x in (average.nodes, average.weights))
        self.still = average.weights[~moving].sum().real  # λ = 0: Y = 1
        nodes, weights = (
            np.append(nodes, probes),
            np.append(weights, np.zeros(len(probes))),
        )  # those only look
        self.nodes, self.weights, self.moments = nodes, weights, nodes * weights
        self.inverse_step, self.rho, self.same = 1 / step, rho, same
        self.panels, self.rule = panels, gauss(points)
        self.chart = _TURNED if turned else _PLAIN
        self.shape = len(nodes), len(panels) * points

    def start(self):
        """X at z = 0, where the equations for Y are linear and one step solves them."""
        Y, _ = self._plain_start()
        a, b, c, d = self.chart
        return (d * Y - b) / (a - c * Y)

    def first_epoch(self):
        """Both losses after the first epoch, the derivatives of the transforms at z = 0; without what never moves."""
        Y, end = self._plain_start()
        integral = integrated(0j, Y, *self._equations(_PLAIN))
        return np.array([self.weights @ end, self.moments @ end + integral / self.rho]).real

    def _plain_start(self):
        ones = np.ones(self.shape, dtype=complex)
        matrix, vector, *linear = linearised(0j, ones, *self._equations(_PLAIN))
        return updated(ones, _PLAIN, np.linalg.solve(matrix, vector), *linear)[:2]

    def _equations(self, chart):
        return self.nodes, self.moments, self.inverse_step, self.panels, *self.rule, chart

    def ones(self):
        """Y = 1 everywhere, as it is at z = 1 if all rows are independent."""
        a, b, c, d = self.chart
        return np.full(self.shape, (d - b) / (a - c))

    def touched(self, z, end):
        """1/(1 − zY) at s = ρ."""
        a, b, c, d = self.chart
        return (c * end + d) / (c * end + d - z * (a * end + b))

    def newton(self, z, X, steps=8):
        """X at z and at s = ρ from a guess; `Unsolved` if that takes more than a few steps."""
        for _ in range(steps):
            better, end, size = self._step(z, X)
            if size < self.same:  # an error of its square is left
                return better, end
            if not np.isfinite(size) or size > 1e3:
                break
            X = better if size < 0.5 else X + 0.5 / size * (better - X)
        raise Unsolved("Newton's method for the flip-flop equations did not converge.")

    def _step(self, z, X):
        """A better X, its end, and the relative size of the change."""
        try:
            matrix, vector, *linear = linearised(z, X, *self._equations(self.chart))
            return updated(X, self.chart, np.linalg.solve(matrix, vector), *linear)
        except (np.linalg.LinAlgError, ZeroDivisionError):  # far from any solution
            return X, X[:, -1], np.inf

    def determinant(self, z, X):
        """The sign (complex) and the logarithm of the size of the determinant of Newton's equations at a solution."""
        return np.linalg.slogdet(linearised(z, X, *self._equations(self.chart))[0])

    def transforms(self, z, X, end):
        """The generating functions of the test and of the training loss at z."""
        integral = integrated(z, X, *self._equations(self.chart))
        touched = self.touched(z, end)
        test = self.weights @ touched + (self.still / (1 - z) if self.still else 0)
        return np.array([test, self.moments @ touched + z * integral / self.rho])


@compiled
def _fields(z, X, moments, inverse_step, chart):
    """f, g and 1/W at all nodes, and r, H and D, at all points."""
    nodes, size = X.shape
    f, g = chart[0] * X + chart[1], chart[2] * X + chart[3]
    inverse = np.empty_like(X)
    r = np.zeros(size, dtype=np.complex128)
    H = np.full(size, inverse_step + 0j)
    for k in range(nodes):
        for s in range(size):
            mirror = size - 1 - s
            product = z * f[k, s] * f[k, mirror]
            inverse[k, s] = 1 / (g[k, s] * g[k, mirror] - product)
            r[s] += moments[k] * f[k, s] * g[k, mirror] * inverse[k, s]
            H[s] += moments[k] * product * inverse[k, s]
    return f, g, inverse, r, H, H * H - z * r * r[::-1]


@compiled
def _rates(alpha, beta, z, node, chart, f, g, rates):
    """Minus the derivative of X' by X, halved, at all points of a node."""
    a, c, size = chart[0], chart[2], f.size
    for s in range(size):
        plain = beta[s] * (a * g[s] + c * f[s]) - alpha[s] * c * g[s]
        rates[s] = node * (plain - z * alpha[size - 1 - s] * a * f[s])


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
def _solved(u, forcing, inner, start, finish, factors, solution):
    """The solution of a node from its value at 0 and its forcing, panel by panel; returns the end."""
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
    """Σ_k row·(response of u at a point to a force at an earlier one)·column, for 3 kinds of each."""
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
            block = np.dot(carried[:first], here)
            for x in range(first):
                for y in range(first, last):
                    response[x, y] = block[x, y - first]
        for x in range(first, last):
            at = x // kinds
            for y in range(first, last):
                j, a, total = y // kinds, y % kinds, 0j
                for k in range(nodes):
                    total += columns[x, k] * inner[k, i, j - i * p, at - i * p] * rows[a, k, j]
                response[x, y] = total
            for k in range(nodes):
                carried[x, k] = columns[x, k] * finish[k, at]
        for x in range(first):
            for k in range(nodes):
                carried[x, k] *= factors[k, i]
    return response


@compiled
def _folded(response, size):
    """Derivatives of r and H at all points by α at all points and by β at half of them: mirror images added up."""
    J = np.zeros((2, size, size + size // 2), dtype=np.complex128)
    for x in range(3 * size):
        place, kind = x // 3, x % 3
        mirror = size - 1 - place
        at = place if kind == 0 else mirror if kind == 1 else size + min(place, mirror)
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
def _by_node(z, f, g, change, nodes, moments, inverse):
    """Weights of a change of X in r, r̃ and H (rows) and of α, α̃ and β in X' (columns); changes of r and H."""
    count, size = f.shape
    rows = np.empty((3, count, size), dtype=np.complex128)
    columns = np.empty((3 * size, count), dtype=np.complex128)
    shifts = np.zeros((2, size), dtype=np.complex128)
    for k in range(count):
        for s in range(size):
            mirror = size - 1 - s
            weight = moments[k] * inverse[k, s] * inverse[k, s]
            rows[0, k, s] = weight * g[k, mirror] * g[k, mirror]
            rows[1, k, s] = weight * z * f[k, mirror] * f[k, mirror]
            rows[2, k, s] = weight * z * f[k, mirror] * g[k, mirror]
            columns[3 * s, k] = nodes[k] * g[k, s] * g[k, s]
            columns[3 * s + 1, k] = nodes[k] * z * f[k, s] * f[k, s]
            columns[3 * s + 2, k] = -2 * nodes[k] * f[k, s] * g[k, s]
            shifts[0, s] += rows[0, k, s] * change[k, s]
            shifts[0, mirror] += rows[1, k, s] * change[k, s]
            shifts[1, s] += rows[2, k, s] * change[k, s]
            shifts[1, mirror] += rows[2, k, s] * change[k, s]
    return rows, columns, shifts


@compiled
def linearised(z, X, nodes, moments, inverse_step, h, A, b, chart):
    """Newton's equations for the changes of α and β, and what turns them into X."""
    count, size = X.shape
    panels, p = h.size, b.size
    f, g, inverse, r, H, D = _fields(z, X, moments, inverse_step, chart)
    alpha, beta = r / D, H / D
    start, finish, forcing, change = np.empty_like(X), np.empty_like(X), np.empty_like(X), np.empty_like(X)
    inner = np.empty((count, panels, p, p), dtype=np.complex128)
    factors = np.empty((count, panels), dtype=np.complex128)
    rates = np.empty(size, dtype=np.complex128)
    M = np.empty((p, 2 * p + 1), dtype=np.complex128)
    first = (chart[3] - chart[1]) / (chart[0] - chart[2])
    for k in range(count):
        _rates(alpha, beta, z, 2 * nodes[k], chart, f[k], g[k], rates)
        for s in range(size):
            x, y = f[k, s], g[k, s]
            slope = alpha[s] * y * y - 2 * beta[s] * x * y + z * alpha[size - 1 - s] * x * x
            forcing[k, s] = nodes[k] * slope + rates[s] * X[k, s]
        for i in range(panels):
            part = slice(i * p, (i + 1) * p)
            factors[k, i] = _panel(rates[part], h[i], A, b, M, inner[k, i], start[k, part], finish[k, part])
        _solved(first, forcing[k], inner[k], start[k], finish[k], factors[k], change[k])
    change -= X
    rows, columns, shifts = _by_node(z, f, g, change, nodes, moments, inverse)
    J = _folded(_responses(rows, columns, inner, start, finish, factors), size)
    matrix, vector = _system(z, J, shifts, r, H, D)
    return matrix, vector, r / H, forcing, columns, inner, start, finish, factors


@compiled
def updated(X, chart, change, scale, forcing, columns, inner, start, finish, factors):
    """X after the changes of α and β, its end, and the largest change of X relative to itself or to α/β."""
    count, size = X.shape
    first = (chart[3] - chart[1]) / (chart[0] - chart[2])
    better, end, largest = np.empty_like(X), np.empty(count, dtype=np.complex128), 0.0
    for k in range(count):
        for s in range(size):
            mirror = size - 1 - s
            forcing[k, s] += (
                columns[3 * s, k] * change[s]
                + columns[3 * s + 1, k] * change[mirror]
                + columns[3 * s + 2, k] * change[size + min(s, mirror)]
            )
        end[k] = _solved(first, forcing[k], inner[k], start[k], finish[k], factors[k], better[k])
        for s in range(size):
            relative = abs(better[k, s] - X[k, s]) / (abs(X[k, s]) + abs(scale[s]))
            if not relative <= largest:
                largest = relative
    return better, end, largest


@compiled
def integrated(z, X, nodes, moments, inverse_step, h, A, b, chart):
    """∫ (zαx² − 2βxy + α̃y²) ds, x = ⟨λef̃/W⟩, y = ⟨λeg̃/W⟩, with e' = ½(∂X'/∂X)e and e(0) = 1/(a − c)."""
    count, size = X.shape
    p = b.size
    f, g, inverse, r, H, D = _fields(z, X, moments, inverse_step, chart)
    alpha, beta = r / D, H / D
    x, y = np.zeros(size, dtype=np.complex128), np.zeros(size, dtype=np.complex128)
    rates = np.empty(size, dtype=np.complex128)
    M, inner = np.empty((p, 2 * p + 1), dtype=np.complex128), np.empty((p, p), dtype=np.complex128)
    start, finish = np.empty(p, dtype=np.complex128), np.empty(p, dtype=np.complex128)
    for k in range(count):
        e = 1 / (chart[0] - chart[2])
        _rates(alpha, beta, z, nodes[k], chart, f[k], g[k], rates)
        for i in range(h.size):
            factor = _panel(rates[i * p : (i + 1) * p], h[i], A, b, M, inner, start, finish)
            for j in range(p):
                s = i * p + j
                term = moments[k] * start[j] * e * inverse[k, s]
                x[s] += term * f[k, size - 1 - s]
                y[s] += term * g[k, size - 1 - s]
            e *= factor
    total = 0j
    for s in range(size):
        value = z * alpha[s] * x[s] ** 2 - 2 * beta[s] * x[s] * y[s] + alpha[size - 1 - s] * y[s] ** 2
        total += h[s // p] * b[s % p] * value
    return total


@functools.lru_cache(maxsize=16)
def gauss(points):
    """The matrix and the weights of collocation at the Gauss points of [0, 1]."""
    x, weights = legendre.leggauss(points)
    to_series = legendre.legvander(x, points - 1).T * weights * (np.arange(points)[:, None] + 0.5)
    integrals = legendre.legint(np.eye(points), lbnd=-1)
    return legendre.legvander(x, points) @ integrals @ to_series / 2, weights / 2


def graded_panels(rho, fastest, first, growth, longest=np.inf):
    """Lengths of panels of [0, ρ], symmetric, growing from first/fastest or less at both ends to the longest."""
    lengths = [min(first / fastest, longest)]
    while sum(lengths) < rho / 2:
        lengths.append(min(growth * lengths[-1], longest))
    return np.array(lengths + lengths[::-1]) * (rho / 2 / sum(lengths))
