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
upper half plane, where Y is mostly too, or its inverse at the nodes whose Y comes to −i: those below the real axis, for
z close to it.
"""

import functools

import numpy as np
from numpy.polynomial import legendre

from edgelaw._common.compiled import compiled

_PLAIN = np.array([1, 0, 0, 1], dtype=complex)  # a, b, c, d of Y = (aX + b)/(cX + d): Y itself
_TURNED = np.array([1j, 1j, -1, 1]) / (1 + 1j)  # X = (Y − i)/(Y + i)
_INVERTED = np.array([1j, 1j, 1, -1]) / (1 - 1j)  # its inverse
_NEAR, _CORRECTIONS = 1e-3, 2  # steps so small are followed by so many with the same derivatives
_HIGH = 2.0  # a chart whose pole is so much closer than the other's is changed


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
        self.turned = turned
        self.chart = np.tile(_TURNED if turned else _PLAIN, (len(nodes), 1))
        self.shape = len(nodes), len(panels) * points

    def start(self):
        """X at z = 0, where the equations for Y are linear and one step solves them."""
        Y, _ = self._plain_start
        a, b, c, d = self.chart.T[..., None]
        return (d * Y - b) / (a - c * Y)

    def first_epoch(self):
        """Both losses after the first epoch, the derivatives of the transforms at z = 0; without what never moves."""
        Y, end = self._plain_start
        integral = integrated(0j, Y, *self._equations(self._plain))
        return np.array([self.weights @ end, self.moments @ end + integral / self.rho]).real

    @property
    def _plain(self):
        return np.tile(_PLAIN, (len(self.nodes), 1))

    @functools.cached_property
    def _plain_start(self):
        ones = np.ones(self.shape, dtype=complex)
        matrix, vector, *linear = linearised(0j, ones, *self._equations(self._plain))
        return updated(ones, self._plain, np.linalg.solve(matrix, vector), *linear[:7])[:2]

    def _equations(self, chart):
        return self.nodes, self.moments, self.inverse_step, self.panels, *self.rule, chart

    def ones(self):
        """Y = 1 everywhere, as it is at z = 1 if all rows are independent."""
        a, b, c, d = self.chart.T[..., None]
        return np.tile((d - b) / (a - c), self.shape[1])

    def touched(self, z, end):
        """1/(1 − zY) at s = ρ."""
        a, b, c, d = self.chart.T
        return (c * end + d) / (c * end + d - z * (a * end + b))

    def charted(self, solutions):
        """Solutions in the charts that suit the last of them, which are then those of the problem."""
        if not self.turned:
            return solutions
        size = np.abs(solutions[-1])
        change = size.max(axis=1) * size.min(axis=1) > _HIGH
        if not change.any():
            return solutions
        inverted = self.chart[:, 2] == _INVERTED[2]
        self.chart = np.where((inverted ^ change)[:, None], _INVERTED, _TURNED)
        return [np.where(change[:, None], 1 / X, X) for X in solutions]

    def newton(self, z, X, steps=8):
        """X at z and at s = ρ from a guess; `Unsolved` if that takes more than a few steps.

        A step of relative size ε leaves an error of ε². Close to the solution the derivatives of the last step are
        good enough for the next ones, which leave ε times their own size, and cost a fraction.
        """
        same = self.same * (
            min(1.0, abs(1 - z)) if self.turned else 1.0
        )  # Y − 1 may be of the order of 1 − z
        for _ in range(steps):
            better, end, size, linear = self._step(z, X)
            if size < same:
                return better, end
            if not np.isfinite(size) or size > 1e3:
                break
            X = better if size < 0.5 else X + 0.5 / size * (better - X)
            for _ in range(_CORRECTIONS if size < _NEAR else 0):
                X, end, correction = self._correction(z, X, *linear)
                if size * correction < same**2:
                    return X, end
        raise Unsolved("Newton's method for the flip-flop equations did not converge.")

    def _step(self, z, X):
        """A better X, its end, the relative size of the change, and the linear equations that it solves."""
        try:
            matrix, vector, scale, forcing, *linear = linearised(z, X, *self._equations(self.chart))
            change = np.linalg.solve(matrix, vector)
            return *updated(X, self.chart, change, scale, forcing, *linear[:5]), (matrix, linear)
        except (np.linalg.LinAlgError, ZeroDivisionError):  # far from any solution
            return X, X[:, -1], np.inf, None

    def _correction(self, z, X, matrix, linear):
        """A better X, its end and the relative size of the change, with the derivatives of an earlier X nearby."""
        vector, scale, forcing = corrected(z, X, *self._equations(self.chart), *linear[1:])
        return updated(X, self.chart, np.linalg.solve(matrix, vector), scale, forcing, *linear[:5])

    def determinant(self, z, X):
        """The sign (complex) and the logarithm of the size of the determinant of Newton's equations at a solution."""
        return np.linalg.slogdet(linearised(z, X, *self._equations(self.chart))[0])

    def seen(self, z, X, end, count):
        """1/(1 − zY) at s = ρ, and E there times that, at the last `count` probes: means of powers of AᵀA, and of A's.

        The first is Σ zᵏ(AᵀA)ᵏ, the second Σ zᵏA(AᵀA)ᵏ, in the mean as functions of the covariance.
        """
        touched = self.touched(z, end)
        return np.stack([touched, half_way(z, X, *self._equations(self.chart)) * touched])[:, -count:]

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
    f, g, inverse = np.empty_like(X), np.empty_like(X), np.empty_like(X)
    r = np.zeros(size, dtype=np.complex128)
    H = np.full(size, inverse_step + 0j)
    for k in range(nodes):
        a, b, c, d = chart[k]
        for s in range(size):
            f[k, s], g[k, s] = a * X[k, s] + b, c * X[k, s] + d
        for s in range(size):
            mirror = size - 1 - s
            product = z * f[k, s] * f[k, mirror]
            inverse[k, s] = 1 / (g[k, s] * g[k, mirror] - product)
            r[s] += moments[k] * f[k, s] * g[k, mirror] * inverse[k, s]
            H[s] += moments[k] * product * inverse[k, s]
    return f, g, inverse, r, H, H * H - z * r * r[::-1]


@compiled
def _rates(alpha, beta, z, node, a, c, f, g, rates):
    """Minus the derivative of X' by X, halved, at all points of a node."""
    size = f.size
    for s in range(size):
        plain = beta[s] * (a * g[s] + c * f[s]) - alpha[s] * c * g[s]
        rates[s] = node * (plain - z * alpha[size - 1 - s] * a * f[s])


@compiled
def _inverted(slopes, h, rates, M):
    """M = (slopes/h + rates)⁻¹, by elimination without pivots: in the metric of the weights b the real part of
    the slopes is not negative, and where it counts that of the rates is not either.
    """
    p = rates.size
    for i in range(p):
        for j in range(p):
            M[i, j] = slopes[i, j] / h
        M[i, i] += rates[i]
    for j in range(p):
        factor = 1 / M[j, j]
        M[j, j] = 1
        for x in range(p):
            M[j, x] *= factor
        for i in range(p):
            if i != j:
                factor = M[i, j]
                M[i, j] = 0
                for x in range(p):
                    M[i, x] -= factor * M[j, x]


@compiled
def _panel(rates, h, slopes, ends, inner, start, finish):
    """One panel of u' = −rate·u + f: u = start·u₀ + inner·f at its points, and its end is factor·u₀ + finish·f.

    The derivative at its points is slopes·(u − u₀)/h, and the end u₀ + ends·(u − u₀).
    """
    p = rates.size
    _inverted(slopes, h, rates, inner)
    factor = 1 + 0j
    for j in range(p):
        start[j] = 0
        finish[j] = 0
        for i in range(p):
            start[j] += inner[j, i] * (slopes[i].sum() / h)
            finish[j] += ends[i] * inner[i, j]
        factor += ends[j] * (start[j] - 1)
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
    nodes, size = start.shape
    panels, p = inner.shape[1], inner.shape[2]
    response = np.zeros((3 * size, 3 * size), dtype=np.complex128)
    carried = np.zeros((3 * size, nodes), dtype=np.complex128)  # to the present panel's left end
    here = np.empty((nodes, 3 * p), dtype=np.complex128)
    for i in range(panels):
        first, last = 3 * i * p, 3 * (i + 1) * p
        if i:
            for k in range(nodes):
                for y in range(3 * p):
                    here[k, y] = rows[k, first + y] * start[k, i * p + y // 3]
            response[:first, first:last] = np.dot(carried[:first], here)
            for x in range(first):
                for k in range(nodes):
                    carried[x, k] *= factors[k, i]
        for at in range(p):
            x = first + 3 * at
            for k in range(nodes):
                for j in range(p):
                    for y in range(3 * j, 3 * j + 3):
                        here[k, y] = rows[k, first + y] * inner[k, i, j, at]
            response[x : x + 3, first:last] = np.dot(columns[x : x + 3], here)
            for kind in range(3):
                for k in range(nodes):
                    carried[x + kind, k] = columns[x + kind, k] * finish[k, i * p + at]
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
def _by_fields(x, z, r, H, D):
    """Derivatives of α (x < size) or β at a point by r there, r at its mirror image and H, D = H² − z r r̃."""
    size = r.size
    s = x if x < size else x - size
    mirror = size - 1 - s
    f = (r[s] if x < size else H[s]) / (D[s] * D[s])
    by_r, by_mirror, by_H = f * z * r[mirror], f * z * r[s], -2 * f * H[s]
    if x < size:
        by_r += 1 / D[s]
    else:
        by_H += 1 / D[s]
    return s, mirror, by_r, by_mirror, by_H


@compiled
def _system(z, J, r, H, D):
    """The matrix of the linear equations for the changes of α = r/D and β = H/D."""
    total = r.size + r.size // 2
    matrix = np.empty((total, total), dtype=np.complex128)
    for x in range(total):
        s, mirror, by_r, by_mirror, by_H = _by_fields(x, z, r, H, D)
        for y in range(total):
            matrix[x, y] = -(by_r * J[0, s, y] + by_mirror * J[0, mirror, y] + by_H * J[1, s, y])
        matrix[x, x] += 1
    return matrix


@compiled
def _right_side(z, rows, change, r, H, D):
    """Their right-hand side: what a change of X alone changes of α and β."""
    count, size = change.shape
    shifts = np.zeros((2, size), dtype=np.complex128)
    for k in range(count):
        for s in range(size):
            mirror = size - 1 - s
            shifts[0, s] += rows[k, 3 * s] * change[k, s]
            shifts[0, mirror] += rows[k, 3 * s + 1] * change[k, s]
            shifts[1, s] += rows[k, 3 * s + 2] * change[k, s]
            shifts[1, mirror] += rows[k, 3 * s + 2] * change[k, s]
    vector = np.empty(size + size // 2, dtype=np.complex128)
    for x in range(vector.size):
        s, mirror, by_r, by_mirror, by_H = _by_fields(x, z, r, H, D)
        vector[x] = by_r * shifts[0, s] + by_mirror * shifts[0, mirror] + by_H * shifts[1, s]
    return vector


@compiled
def _by_node(z, f, g, nodes, moments, inverse):
    """Weights of a change of X in r, r̃ and H (rows) and of α, α̃ and β in X' (columns)."""
    count, size = f.shape
    rows = np.empty((count, 3 * size), dtype=np.complex128)
    columns = np.empty((3 * size, count), dtype=np.complex128)
    for k in range(count):
        for s in range(size):
            mirror = size - 1 - s
            weight = moments[k] * inverse[k, s] * inverse[k, s]
            rows[k, 3 * s] = weight * g[k, mirror] * g[k, mirror]
            rows[k, 3 * s + 1] = weight * z * f[k, mirror] * f[k, mirror]
            rows[k, 3 * s + 2] = weight * z * f[k, mirror] * g[k, mirror]
            columns[3 * s, k] = nodes[k] * g[k, s] * g[k, s]
            columns[3 * s + 1, k] = nodes[k] * z * f[k, s] * f[k, s]
            columns[3 * s + 2, k] = -2 * nodes[k] * f[k, s] * g[k, s]
    return rows, columns


@compiled
def _forced(z, X, alpha, beta, node, f, g, rates, forcing):
    """X' + rate·X at all points of a node."""
    size = X.size
    for s in range(size):
        x, y = f[s], g[s]
        slope = alpha[s] * y * y - 2 * beta[s] * x * y + z * alpha[size - 1 - s] * x * x
        forcing[s] = node * slope + rates[s] * X[s]


@compiled
def linearised(z, X, nodes, moments, inverse_step, h, slopes, ends, weights, chart):
    """Newton's equations for the changes of α and β, what turns them into X, and what `corrected` uses again."""
    count, size = X.shape
    panels, p = h.size, ends.size
    f, g, inverse, r, H, D = _fields(z, X, moments, inverse_step, chart)
    alpha, beta = r / D, H / D
    start, finish, forcing, change = np.empty_like(X), np.empty_like(X), np.empty_like(X), np.empty_like(X)
    inner = np.empty((count, panels, p, p), dtype=np.complex128)
    factors = np.empty((count, panels), dtype=np.complex128)
    rates = np.empty_like(X)
    for k in range(count):
        a, b, c, d = chart[k]
        _rates(alpha, beta, z, 2 * nodes[k], a, c, f[k], g[k], rates[k])
        _forced(z, X[k], alpha, beta, nodes[k], f[k], g[k], rates[k], forcing[k])
        for i in range(panels):
            part = slice(i * p, (i + 1) * p)
            factors[k, i] = _panel(
                rates[k, part], h[i], slopes, ends, inner[k, i], start[k, part], finish[k, part]
            )
        _solved((d - b) / (a - c), forcing[k], inner[k], start[k], finish[k], factors[k], change[k])
    change -= X
    rows, columns = _by_node(z, f, g, nodes, moments, inverse)
    J = _folded(_responses(rows, columns, inner, start, finish, factors), size)
    matrix, vector = _system(z, J, r, H, D), _right_side(z, rows, change, r, H, D)
    return matrix, vector, r / H, forcing, columns, inner, start, finish, factors, rates, rows, r, H, D


@compiled
def corrected(
    z,
    X,
    nodes,
    moments,
    inverse_step,
    h,
    slopes,
    ends,
    weights,
    chart,
    inner,
    start,
    finish,
    factors,
    rates,
    rows,
    r,
    H,
    D,
):
    """The right-hand side of Newton's equations at X, α/β and the forcing, with the derivatives of an earlier X."""
    f, g, _, present, level, determinant = _fields(z, X, moments, inverse_step, chart)
    alpha, beta = present / determinant, level / determinant
    forcing, change = np.empty_like(X), np.empty_like(X)
    for k in range(X.shape[0]):
        a, b, c, d = chart[k]
        _forced(z, X[k], alpha, beta, nodes[k], f[k], g[k], rates[k], forcing[k])
        _solved((d - b) / (a - c), forcing[k], inner[k], start[k], finish[k], factors[k], change[k])
    change -= X
    return _right_side(z, rows, change, r, H, D), present / level, forcing


@compiled
def updated(X, chart, change, scale, forcing, columns, inner, start, finish, factors):
    """X after the changes of α and β, its end, and the largest change of X relative to itself or to α/β."""
    count, size = X.shape
    better, end, largest = np.empty_like(X), np.empty(count, dtype=np.complex128), 0.0
    for k in range(count):
        for s in range(size):
            mirror = size - 1 - s
            forcing[k, s] += (
                columns[3 * s, k] * change[s]
                + columns[3 * s + 1, k] * change[mirror]
                + columns[3 * s + 2, k] * change[size + min(s, mirror)]
            )
        a, b, c, d = chart[k]
        end[k] = _solved((d - b) / (a - c), forcing[k], inner[k], start[k], finish[k], factors[k], better[k])
        for s in range(size):
            relative = abs(better[k, s] - X[k, s]) / (abs(X[k, s]) + abs(scale[s]))
            if not relative <= largest:
                largest = relative
    return better, end, largest


@compiled
def _decayed(e, rates, h, slopes, ends, M, values):
    """One panel of e' = −rate·e: the values at its points, by elimination as in `_inverted`; returns the end."""
    p = rates.size
    for i in range(p):
        total = 0.0
        for j in range(p):
            M[i, j] = slopes[i, j] / h
            total += slopes[i, j]
        M[i, i] += rates[i]
        values[i] = e * total / h
    for j in range(p):
        for i in range(j + 1, p):
            factor = M[i, j] / M[j, j]
            values[i] -= factor * values[j]
            for x in range(j + 1, p):
                M[i, x] -= factor * M[j, x]
    end = e
    for j in range(p - 1, -1, -1):
        for x in range(j + 1, p):
            values[j] -= M[j, x] * values[x]
        values[j] /= M[j, j]
        end += ends[j] * (values[j] - e)
    return end


@compiled
def integrated(z, X, nodes, moments, inverse_step, h, slopes, ends, weights, chart):
    """∫ (zαx² − 2βxy + α̃y²) ds, x = ⟨λef̃/W⟩, y = ⟨λeg̃/W⟩, with e' = ½(∂X'/∂X)e and e(0) = 1/(a − c)."""
    count, size = X.shape
    p = ends.size
    f, g, inverse, r, H, D = _fields(z, X, moments, inverse_step, chart)
    alpha, beta = r / D, H / D
    x, y = np.zeros(size, dtype=np.complex128), np.zeros(size, dtype=np.complex128)
    rates, values = np.empty(size, dtype=np.complex128), np.empty(size, dtype=np.complex128)
    M = np.empty((p, p), dtype=np.complex128)
    for k in range(count):
        a, c = chart[k, 0], chart[k, 2]
        _rates(alpha, beta, z, nodes[k], a, c, f[k], g[k], rates)
        e = 1 / (a - c)
        for i in range(h.size):
            part = slice(i * p, (i + 1) * p)
            e = _decayed(e, rates[part], h[i], slopes, ends, M, values[part])
        for s in range(size):
            term = moments[k] * values[s] * inverse[k, s]
            x[s] += term * f[k, size - 1 - s]
            y[s] += term * g[k, size - 1 - s]
    total = 0j
    for s in range(size):
        value = z * alpha[s] * x[s] ** 2 - 2 * beta[s] * x[s] * y[s] + alpha[size - 1 - s] * y[s] ** 2
        total += h[s // p] * weights[s % p] * value
    return total


@functools.lru_cache(maxsize=16)
def gauss(points):
    """Collocation at the Gauss points of [0, 1]: slopes and the end of u with u(0) = 0 from its values, and weights."""
    x, weights = legendre.leggauss(points)
    to_series = legendre.legvander(x, points - 1).T * weights * (np.arange(points)[:, None] + 0.5)
    integrals = legendre.legint(np.eye(points), lbnd=-1)
    slopes = np.linalg.inv(legendre.legvander(x, points) @ integrals @ to_series / 2)
    return slopes, weights / 2 @ slopes, weights / 2


def graded_panels(rho, fastest, first, growth, longest=np.inf):
    """Lengths of panels of [0, ρ], symmetric, growing from first/fastest or less at both ends to the longest."""
    lengths = [min(first / fastest, longest)]
    while sum(lengths) < rho / 2:
        lengths.append(min(growth * lengths[-1], longest))
    return np.array(lengths + lengths[::-1]) * (rho / 2 / sum(lengths))


@compiled
def half_way(z, X, nodes, moments, inverse_step, h, slopes, ends, weights, chart):
    """E at s = ρ for every node: E' = ½(∂X'/∂X)E from 1/(a − c), the mean of a single epoch at z = 0."""
    count, size = X.shape
    p = ends.size
    f, g, _, r, H, D = _fields(z, X, moments, inverse_step, chart)
    alpha, beta = r / D, H / D
    rates, values = np.empty(size, dtype=np.complex128), np.empty(size, dtype=np.complex128)
    M = np.empty((p, p), dtype=np.complex128)
    end = np.empty(count, dtype=np.complex128)
    for k in range(count):
        a, c = chart[k, 0], chart[k, 2]
        _rates(alpha, beta, z, nodes[k], a, c, f[k], g[k], rates)
        e = 1 / (a - c)
        for i in range(h.size):
            part = slice(i * p, (i + 1) * p)
            e = _decayed(e, rates[part], h[i], slopes, ends, M, values[part])
        end[k] = e
    return end
