r"""Flip-flop on any spectrum: the two-point boundary problem behind `flip_flop.curve`, solved for many z at once.

For an average :math:`\langle\cdot\rangle` (`edgelaw.theory.levy`), a step η and m = ρ d rows, find
:math:`q(s,\lambda)`, :math:`0 \le s \le \rho`, with :math:`q(\rho) = 1` and, with :math:`y(s) = z/q(\rho-s)`,

.. math:: q' = -\frac{\lambda}{D}\,(2Hq - P - Rq^2), \qquad D = H^2 - PR, \qquad
   R = \Bigl\langle\frac{\lambda}{q-y}\Bigr\rangle, \quad P = \Bigl\langle\frac{\lambda q y}{q-y}\Bigr\rangle, \quad
   H = \frac1\eta + \Bigl\langle\frac{\lambda y}{q-y}\Bigr\rangle .

Then :math:`P(s) = z R(\rho-s)`, H is symmetric about ρ/2, D is constant, and the generating functions of the losses are

.. math:: \sum_n z^n\,\text{test}_n = \Bigl\langle\frac{q_0}{q_0-z}\Bigr\rangle, \qquad
   \rho\sum_n z^n\,\text{train}_n = \int_0^\rho \Bigl( \Bigl\langle\frac{\lambda q_0}{q_0-z}\Bigr\rangle
   + \frac{z}{D}\,(P X^2 - 2HXY + RY^2) \Bigr)\,ds,

with :math:`q_0 = q(0)`, :math:`X = \langle\lambda g\rangle`, :math:`Y = \langle\lambda q g\rangle` and
:math:`g' = \frac{\lambda}{D}(H - Rq)\,g`, :math:`g(0) = 1/(q_0-z)`.

The unknown is q at Chebyshev points of s, for all nodes λ. In Newton's method everything but R and H is eliminated
node by node: one small inverse for a node and a z, and a dense system of twice the number of points for a z. The
solution is continued from z = 0, where the problem is linear in 1/q, along the images of growing circles |w| under the
conformal map of the unit disc to a disc cut along the positive axis from z = `tip`, where the losses' generating
functions have their branch point. Coefficients are then integrals over the image of |w| = const, which passes the
branch point at a distance of order 1/n: about :math:`5\sqrt n` values of z do for all coefficients up to n.
"""

import functools

import numpy as np
import scipy.optimize
import scipy.special

# Radius of the cut disc over its tip; larger ones need functions of λ analytic in a wider sector.
_OUTER = 4.0
_LOSS = 4.0  # the contour crosses the axis at tip·exp(−_LOSS/n), which costs exp(_LOSS) of the precision
_FURTHEST = 50.0  # where the search for the tip of the cut ends
_CHUNK = 2_000_000  # complex numbers in the largest array


def coefficients(averages, n, step, rho, null, tip=None, outer=_OUTER):
    """Test and training loss at the epochs n, at two resolutions, and the tip of the cut that was found or given.

    The second resolution has another average, contour and number of points. `null` is what is left of the test loss
    for ever, a pole at z = 1 that the contour may or may not enclose.
    """
    largest = max(int(n.max()), 4)
    points = int(14 + np.sqrt(rho * np.abs(averages[0].nodes).max()))
    base, second = (Problem(average, step, rho, points) for average in averages)
    if tip is None:
        tip = furthest(second, largest, null)
    beyond = tip if null == 0 or largest * np.log(tip) > 2 * _LOSS else 1.0
    contour = Contour(n, beyond, outer=outer)
    q = along(base, contour.path)
    finest = Problem(averages[0], step, rho, int(1.5 * points))
    fine = finest.transforms(finest.newton(base.refine(q, finest), contour.z), contour.z)
    check = Contour(n, beyond**0.95, 1e-8, 1 + 0.7 * (outer - 1))
    coarse = second.transforms(along(second, check.path), check.z)
    fine, coarse = (np.stack([c.coefficients(x) for x in f]) for c, f in ((contour, fine), (check, coarse)))
    for losses, c in ((fine, contour), (coarse, check)):
        losses[0] += null * (c.tip > np.exp(_LOSS / largest))
        losses[np.abs(losses) < 1e-12 * _FURTHEST ** (-0.95 * n)] = (
            0.0  # nothing is left, as after orthogonal rows at step 1
        )
    return fine, coarse, tip


class Unsolved(ArithmeticError):
    """Newton's method did not converge."""


class Problem:
    """The boundary problem for one average, step and rho, on a grid of `points` + 1 Chebyshev points."""

    def __init__(self, average, step, rho, points):
        moving = average.nodes != 0
        self.nodes, self.weights = average.nodes[moving], average.weights[moving]
        self.still = average.weights[~moving].sum().real  # λ = 0: q = 1 and y = z
        self.step, self.rho, self.points = step, rho, points
        self.derivative, self.antiderivative, self.integral = _chebyshev(points, rho)

    def averages(self, q, z):
        """y, 1/(q − y), R, H, P and D of a (z, node, s) array of q."""
        y = z[:, None, None] / q[:, :, ::-1]
        p = 1 / (q - y)
        weights = self.weights * self.nodes
        R = np.einsum("k,zks->zs", weights, p)
        H = 1 / self.step + np.einsum("k,zks->zs", weights, y * p)
        P = z[:, None] * R[:, ::-1]
        return y, p, R, H, P, H**2 - P * R

    def transforms(self, q, z):
        """The two generating functions at every z."""
        _, _, R, H, P, D = self.averages(q, z)
        first = q[:, :, 0]
        start = 1 / (first - z[:, None])
        rate = self.nodes[:, None] * (H[:, None] - R[:, None] * q) / D[:, None]
        g = start[:, :, None] * np.exp(rate @ self.antiderivative.T)
        weights = self.weights * self.nodes
        X, Y = np.einsum("k,zks->zs", weights, g), np.einsum("k,zks->zs", weights, q * g)
        fresh = (first * start) @ weights
        touched = (P * X**2 - 2 * H * X * Y + R * Y**2) / D
        test = (first * start) @ self.weights + self.still / (1 - z)
        return test, fresh + z * (touched @ self.integral) / self.rho

    def start(self):
        """q at z = 0, where the equations for 1/q are linear: (1/q)' = λη²(2/(ηq) − R), R = ⟨λ/q⟩."""
        n, forcing = self.points, self.step**2 * self.nodes
        matrix = np.empty((len(self.nodes), n + 1, n + 1), dtype=complex)
        matrix[:] = self.derivative
        matrix[:, np.arange(n + 1), np.arange(n + 1)] -= 2 * self.step * self.nodes[:, None]
        matrix[:, n] = np.eye(n + 1)[n]
        inverse = np.linalg.inv(matrix)
        weights = self.weights * self.nodes
        unit, response = inverse[:, :, n], inverse * forcing[:, None, None]
        response[:, :, n] = 0
        R = np.linalg.solve(np.eye(n + 1) + np.tensordot(weights, response, 1), weights @ unit)
        return 1 / (unit - response @ R)

    def refine(self, q, finer):
        """q on the grid of another problem with the same nodes."""
        return q @ _interpolation(self.points, finer.points).T

    def newton(self, q, z, steps=10):
        """q at every z from a guess; `Unsolved` if that takes more than a few steps."""
        size = max(1, _CHUNK // (3 * len(self.nodes) * self.points**2))
        solution = np.empty_like(q)
        for first in range(0, len(z), size):
            part = slice(first, first + size)
            solution[part] = self._newton(q[part], z[part], steps)
        return solution

    def _newton(self, q, z, steps):
        for _ in range(steps):
            change = self._newton_step(q, z)
            size = np.abs(change / q[:, :, :-1]).max(axis=(1, 2))
            if not np.isfinite(size).all():
                break
            q = q.copy()
            q[:, :, :-1] += np.minimum(1, 0.5 / np.maximum(size, 0.5))[:, None, None] * change
            if size.max() < 1e-6:  # convergence is quadratic
                return q
        raise Unsolved("Newton's method for the flip-flop equations did not converge.")

    def _newton_step(self, q, z):
        n, lam = self.points, self.nodes[None, :, None]  # unknown: the first n of n + 1 points
        y, p, R, H, P, D = self.averages(q, z)
        a, b, c = ((x / D)[:, None] for x in (H, P, R))
        residual = (q @ self.derivative.T + lam * (2 * a * q - b - c * q**2))[:, :, :n]
        matrix = np.empty((len(z), len(self.nodes), n, n), dtype=complex)
        matrix[:] = self.derivative[:n, :n]
        matrix[:, :, np.arange(n), np.arange(n)] += (2 * lam * (a - c * q))[:, :, :n]
        inverse = np.linalg.inv(matrix)
        forces = np.stack([2 * lam * q, -lam + 0 * q, -lam * q**2])[:, :, :, :n]  # of changes of a, b, c
        # changes of R and H by a change of q at the same s, and at ρ − s through y
        weight = (self.weights * self.nodes)[None, :, None] * p**2
        mirror = -z[:, None, None] / q**2
        rows = np.stack(
            [-weight, -weight * y, weight[:, :, ::-1] * mirror, (weight * q)[:, :, ::-1] * mirror]
        )
        columns = np.concatenate(
            [inverse * f[:, :, None] for f in forces] + [inverse @ residual[..., None]], axis=3
        )
        response = -(rows[..., :n].transpose(1, 3, 0, 2) @ columns.transpose(0, 2, 1, 3))
        both = np.zeros((len(z), 2, n + 1, 3 * n + 1), dtype=complex)
        both[:, :, :n] += response[:, :, :2].transpose(0, 2, 1, 3)
        both[:, :, 1:] += response[:, ::-1, 2:].transpose(0, 2, 1, 3)
        both = both.reshape(len(z), 2 * n + 2, 3 * n + 1)
        # changes of a, b, c by those of R and H
        eye, mirrored = np.eye(n + 1), z[:, None, None] * np.eye(n + 1)[::-1]
        of_R, of_H = -P[:, :, None] * eye - R[:, :, None] * mirrored, 2 * H[:, :, None] * eye
        link = np.empty((len(z), 3, n + 1, 2, n + 1), dtype=complex)
        for i, x in enumerate((H, P, R)):
            link[:, i, :, 0], link[:, i, :, 1] = (-(x / D**2)[:, :, None] * of for of in (of_R, of_H))
        link[:, 0, :, 1] += eye / D[:, :, None]
        link[:, 1, :, 0] += mirrored / D[:, :, None]
        link[:, 2, :, 0] += eye / D[:, :, None]
        link = link[:, :, :n].reshape(len(z), 3 * n, 2 * n + 2)
        change = np.linalg.solve(np.eye(2 * n + 2) - both[:, :, :-1] @ link, both[:, :, -1:])
        abc = (link @ change).reshape(len(z), 3, n).transpose(1, 0, 2)[:, :, None]
        return -(inverse @ (residual + (forces * abc).sum(axis=0))[..., None])[..., 0]


def along(problem, path, q=None):
    """q at path(1), continued from z = 0, or from a given q at path(0); halves its stride where Newton fails."""
    at, stride = 0.0, 0.25
    if q is None:
        q = np.tile(problem.start(), (len(path(0.0)), 1, 1))
    while at < 1:
        ahead = min(1.0, at + stride)
        try:
            q, at = problem.newton(q, path(ahead)), ahead
        except Unsolved:
            stride /= 2
            if stride < 0.02:
                raise
    return q


def furthest(problem, largest, null):
    """How far the solution continues beyond z = 1: a lower bound of the branch point, 1 if below exp(8/largest).

    What is left of the test loss's generating function without its pole at 1, and the training loss's, are moments of
    positive measures: up to their first singularity they grow and are convex. So a pole is not passed unseen.
    """
    z = np.array([0.45, 0.9])
    q = along(problem, lambda f: f * z.astype(complex))
    values = [_without_pole(problem, q[i : i + 1], z[i], null) for i in (0, 1)]
    q, low, z = q[1:], np.log(z[1]), list(z)

    def reached(x):
        nonlocal q, low
        ahead = np.exp(x)
        try:
            solution = problem.newton(q, np.array([ahead + 0j]), steps=8)
        except Unsolved:
            return False
        value = _without_pole(problem, solution, ahead, null)
        slope = (values[-1] - values[-2]) / (z[-1] - z[-2])
        if (value < values[-1] + slope * (ahead - z[-1]) * (1 - 1e-6)).any():
            return False
        values.append(value)
        z.append(ahead)
        q, low = solution, x
        return True

    if not reached(8 / largest):
        return 1.0
    top = np.log(_FURTHEST)
    while low < top and reached(min(top, 2 * low)):
        pass
    high = min(top, 2 * low)
    for _ in range(6):
        middle = (low + high) / 2
        high = high if reached(middle) else middle
    return float(np.exp(low))


def _without_pole(problem, q, z, null):
    test, train = problem.transforms(q, np.array([z + 0j]))
    return np.array([test[0].real - null / (1 - z), train[0].real])


class Contour:
    """Points z (upper half plane) and a rule for the coefficients n[0] ... n[-1], exact for square-root edges."""

    def __init__(self, n, tip=1.0, tolerance=1e-10, outer=_OUTER):
        self.n, self.tip, self.outer = n, tip, outer
        self.radius, size = _rule(int(n.min()), int(n.max()), tolerance, outer)
        w = self.radius * np.exp(2j * np.pi * (np.arange(size // 2) + 0.5) / size)
        z, slope = _cut_disc(w, outer)
        kept = -n.min() * np.log(np.abs(z)) > np.log(1e-17) - _LOSS
        self.w, self.z, self.slope = w[kept], tip * z[kept], slope[kept] * 2 / size

    def path(self, fraction):
        """The points' way from 0."""
        return self.tip * _cut_disc(fraction * self.w, self.outer)[0]

    def coefficients(self, values):
        """[zⁿ] of a generating function given at the points."""
        return (np.exp(-self.n[:, None] * np.log(self.z)) @ (values * self.slope)).real


def _cut_disc(w, outer):
    """The unit disc mapped to the disc of radius `outer` cut from 1: z, and w z'(w)/z."""
    koebe = 4 * w / (1 + w) ** 2
    c = 4 * outer / (1 + outer) ** 2
    root = np.sqrt(1 - c * koebe)
    u = c * koebe / (1 + root) ** 2
    return outer * u, (1 - w) / (1 + w) / root


@functools.lru_cache(maxsize=64)
def _rule(smallest, largest, tolerance, outer):
    """Radius and number of points that give the coefficients of (1 − z)^(−1/2), and keep n within reach."""
    crossing = np.exp(-_LOSS / max(largest, 4))
    radius = scipy.optimize.brentq(lambda r: _cut_disc(r, outer)[0] - crossing, 1e-3, 1 - 1e-9)
    n = np.unique(np.geomspace(max(smallest, 1), max(largest, 1), 200).astype(int))
    exact = np.exp(scipy.special.gammaln(n + 0.5) - scipy.special.gammaln(n + 1)) / np.sqrt(np.pi)
    size = 16
    while True:
        z, slope = _cut_disc(radius * np.exp(2j * np.pi * (np.arange(size // 2) + 0.5) / size), outer)
        computed = (np.exp(-n[:, None] * np.log(z)) @ (slope / np.sqrt(1 - z))).real * 2 / size
        if np.abs(computed / exact - 1).max() < tolerance:
            return radius, size
        size = 2 * int(0.56 * size + 1)


@functools.lru_cache(maxsize=16)
def _chebyshev(points, length):
    """Differentiation, integration from 0 and over all of [0, length], at −cos(jπ/points), ascending."""
    j = np.arange(points + 1)
    x = -np.cos(np.pi * j / points)
    signs = (-1.0) ** j * np.where((j == 0) | (j == points), 2, 1)
    derivative = np.outer(signs, 1 / signs) / (np.subtract.outer(x, x) + np.eye(points + 1))
    derivative -= np.diag(derivative.sum(axis=1))
    to_series = np.linalg.inv(np.polynomial.chebyshev.chebvander(x, points))
    integrals = np.polynomial.chebyshev.chebint(to_series, lbnd=-1)
    antiderivative = np.polynomial.chebyshev.chebvander(x, points + 1) @ integrals
    return derivative * 2 / length, antiderivative * length / 2, antiderivative[-1] * length / 2


@functools.lru_cache(maxsize=16)
def _interpolation(points, finer):
    """From the coarse Chebyshev points to the fine ones."""
    x, fine = (-np.cos(np.pi * np.arange(k + 1) / k) for k in (points, finer))
    to_series = np.linalg.inv(np.polynomial.chebyshev.chebvander(x, points))
    return np.polynomial.chebyshev.chebvander(fine, points) @ to_series
