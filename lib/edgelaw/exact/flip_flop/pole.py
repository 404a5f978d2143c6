r"""Flip-flop on spectra with gaps: the pole of what is averaged is followed to where contours cannot go.

The average of a sample is a functional of functions of λ that are analytic inside a contour in ζ, with
:math:`t(\zeta) = 1/G(\zeta) = \rho\lambda`, and critical points of t belong inside. What `flip_flop_boundary` averages
has a pole at :math:`1 - zY_\rho(\lambda) = 0`, whose place ζ must stay outside. Beside a gap or a lone eigenvalue there
may be no room for both. As for single shuffle (`shuffle.poles`) the pole is then allowed inside, and its place
:math:`\zeta_p` is followed on its sheet: with N the average of a contour and :math:`t(\zeta_p) = \rho\lambda_p`,

.. math:: \langle\varphi\rangle = N(\varphi) + \Delta\operatorname{res}_{\lambda_p}\varphi, \qquad
   \lambda_p\Delta = \rho - \frac{\zeta_p}{\lambda_p} - N\Bigl(\frac{\lambda}{\lambda-\lambda_p}\Bigr) .

In this form every function averaged is entire over the same F. With α = r/D and β = H/D, and a tilde for
:math:`s \to \rho - s`, let Y = u/v,

.. math:: u' = \lambda(\alpha v - \beta u), \qquad v' = \lambda(\beta v - z\tilde\alpha u), \qquad u(0) = v(0) = 1.

Then :math:`v\tilde v - zu\tilde u` does not depend on s, and is :math:`F(\lambda) = v_\rho - zu_\rho`. Hence
:math:`1/(1 - zY\tilde Y) = v\tilde v/F`, E = 1/v, and

.. math::

   \begin{gathered}
   r = \Bigl\langle\frac{\lambda u\tilde v}F\Bigr\rangle, \quad
   H = \frac1\eta + z\Bigl\langle\frac{\lambda u\tilde u}F\Bigr\rangle, \quad
   X = \Bigl\langle\frac{\lambda\tilde u}F\Bigr\rangle, \quad X_1 = \Bigl\langle\frac{\lambda\tilde v}F\Bigr\rangle,
   \\ \frac1{1-zY_\rho} = \frac{v_\rho}F, \qquad
   \frac{dF}{d\lambda} = \int_0^\rho \beta(v\tilde v + zu\tilde u) - 2z\tilde\alpha u\tilde v\;ds .
   \end{gathered}

The pole adds to each what its numerator is at :math:`\lambda_p`, times :math:`\Delta/F'(\lambda_p)`. The unknowns are
α at all Gauss points, β at half of them and :math:`\zeta_p`; the equations are those of r and H, and
:math:`F(\lambda_p) = 0`, which are regular at critical points of t. (ṽ, zũ) solves the same linear equations as (u, v),
with Wronskian F, and a change of α and β changes

.. math:: \frac{u\tilde v}F \text{ by } \frac{\tilde v^2Q + zu^2\tilde Q}F, \quad
   \frac{zu\tilde u}F \text{ by } z\frac{\tilde u\tilde vQ + uv\tilde Q}F, \qquad
   Q' = \frac\lambda F(v^2\,\delta\alpha - 2uv\,\delta\beta + zu^2\,\delta\tilde\alpha), \quad Q(0) = 0 .

F has zeros near :math:`(\log z + 2\pi ik)/2c`. Far out on the negative axis all are outside; those with k = 0 and
k = −1, conjugate there, are followed from there to the circle of `flip_flop_circle` and around it. A pole that stays
outside has Δ = 0, and following it does no harm; others stay outside contours that are not too large. If one did not,
the first coefficient would not be the loss of the first epoch, which has no pole: that is checked.

The linear equations grow like exp(λs/√D), and all panels must resolve that: no matter for the spectra in question,
but not for those with very large eigenvalues, which are refused.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from edgelaw.exact import levy
from edgelaw.exact.flip_flop.circle import Circle
from edgelaw.exact.flip_flop.collocation import Unsolved, gauss

_TOLERANCE = 1e-12  # of averages
_SAME = 1e-9  # a Newton step so small is the last
_STEPS = 10  # at most, of Newton's method
_LEFT = 1e-13  # of the unknown, by which it may be wrong after a step with earlier derivatives
_NEAR, _CORRECTIONS = 1e-2, 4  # steps so small are followed by up to so many with the same derivatives
_FALLING = 0.1  # that much smaller must each be than the one before
_ROUNDING = 1e-7  # steps that do not get smaller than this are rounding errors, near step 2
_LONGEST = 0.3  # Newton step, in sizes of the unknown
_FIRST = -6.0  # log |z| where all poles are far to the left
_RADII = 15  # stations from there to the circle
_BACK = 8  # solutions that a guess is extrapolated from
_SHORTEST = 0.02  # part of the way to a point that is still tried
_MOST_PANELS = 48
_MANY = 200  # epochs; after more, losses are smaller, and the circle's tolerance too
_CLOSE = 1e-4  # as far as the first epoch from the circle may be from the known one
_TURNS = np.array([0, -1])  # k of the poles that are followed


@dataclass(frozen=True)
class Way:
    """One way to discretise: everything that should not matter."""

    pole: float  # of the average's contour, in mean eigenvalues
    angle: float  # its half-height
    points: int  # in a panel
    folds: float  # by which the fastest solution may grow in a panel
    margin: float  # of the circle inside |z| = 1, in 1/epochs
    inside: float  # and of one beyond, over the logarithm of the edge


WAYS = (
    Way(-0.5, 0.85, 12, 4.0, 2.7, 0.10),
    Way(-0.1, 1.2, 16, 6.0, 2.5, 0.12),
    Way(-0.25, 1.0, 14, 4.5, 2.3, 0.14),
)


def losses(spectrum, step, edge, last, epochs, way):
    """Both losses at the epochs, the last of which is `last`, without what null directions keep of the test loss.

    They are read off a circle within |z| = exp(edge), where the transforms must be analytic, but for the pole at 1.
    """
    many = min(1.0, _MANY / last)
    margin = way.inside * edge if edge > 0 else way.margin * min(1.0, 5 * many) ** 0.5 / last
    circle = Circle(edge, margin, 1e-11 * many**1.5)
    problem = _problem(spectrum, step, way)
    transforms = _around(problem, circle)
    transforms[0] -= spectrum.null / (1 - circle.z(circle.x))
    values = circle.coefficients(transforms, np.union1d(1, epochs))
    null = np.array([spectrum.null, 0.0])
    known = problem.first_epoch()
    if not (np.abs(values[:, 0] + null - known) < _CLOSE * known).all():
        raise Unsolved("A pole of the flip-flop equations was not followed.")
    return values[:, -len(epochs) :]


def _problem(spectrum, step, way):
    average = levy.from_gram(spectrum.values, spectrum.shares, spectrum.rho, way.pole, _TOLERANCE, way.angle)
    growth = step * spectrum.rho * np.abs(average.nodes).max()
    panels = 2 * int(np.ceil(growth / way.folds / 2))
    if panels > _MOST_PANELS:
        raise Unsolved("The largest eigenvalues are too large to follow the pole of the flip-flop equations.")
    return Followed(average, spectrum, step, panels, way.points)


# ------------------------------------------------------------------------------------------------ the way


def _around(problem, circle):
    """The transforms at the points of a circle's upper half."""
    logs = np.log(circle.z(circle.x))
    first = _FIRST + 1j * logs[0].imag
    history = [(first, problem.first(first))]
    for station in np.linspace(first, logs[0], _RADII)[1:-1]:
        _advance(problem, history, station)
    return np.array([problem.transforms(np.exp(log), _advance(problem, history, log)) for log in logs]).T


def _advance(problem, history, target):
    """The unknown at log z = target, appended to the history, as are those on the way where one stride is too long."""
    ahead = target
    while True:
        at = history[-1][0]
        try:
            x = problem.newton(np.exp(ahead), _extrapolated(history, ahead))
        except Unsolved:
            ahead = (at + ahead) / 2
            if abs(ahead - at) < _SHORTEST * abs(target - at):
                raise
            continue
        history.append((ahead, x))
        del history[:-_BACK]
        if ahead == target:
            return x
        ahead = target


def _extrapolated(history, at):
    """The polynomial in log z through the last solutions."""
    places = np.array([place for place, _ in history])
    gaps, ahead = places[:, None] - places, np.tile(at - places, (len(places), 1))
    np.fill_diagonal(gaps, 1.0)
    np.fill_diagonal(ahead, 1.0)
    return (ahead / gaps).prod(axis=1) @ np.array([x for _, x in history])


# ------------------------------------------------------------------------------------------------ at one z


class Followed:
    """The equations for one average, step and ρ on equal panels of `points` Gauss points each.

    An unknown is one array: α at all points, β at half of them, and the places ζ of the poles followed, if any.
    """

    def __init__(self, average, spectrum, step, panels, points):
        moving = average.nodes != 0
        self.nodes, self.weights = (x[moving].astype(complex) for x in (average.nodes, average.weights))
        self.moments = self.nodes * self.weights
        self.gram, self.shares, self.rho = spectrum.values, spectrum.shares, spectrum.rho
        self.step, self.panels, self.points, self.size = step, panels, points, panels * points
        slopes, self.ends, weights = gauss(points)
        self.slopes, weights = slopes * (panels / self.rho), weights * (self.rho / panels)
        self.quadrature = np.tile(weights, panels)
        before = np.kron(np.tri(panels, k=-1), np.tile(weights, (points, 1)))
        self.integral = before + np.kron(np.eye(panels), np.linalg.inv(self.slopes))  # from 0 to every point

    def first(self, log_z):
        """The unknown at a small z, from that at z = 0."""
        x = self.newton(np.exp(log_z), self._start())
        return self.newton(np.exp(log_z), np.append(x, self._places(log_z, x)))

    def newton(self, z, x):
        """The unknown at z from a guess."""
        with np.errstate(all="ignore"):
            for _ in range(_STEPS):
                residual, matrix = self.equations(z, x)
                if not (np.isfinite(matrix).all() and np.isfinite(residual).all()):
                    break
                solver = scipy.linalg.lu_factor(matrix, check_finite=False)
                x, size = self._stepped(x, solver, residual)
                if size < _SAME:
                    return x
                for _ in range(_CORRECTIONS if size < _NEAR else 0):  # with the same derivatives
                    before = size
                    x, size = self._stepped(x, solver, self.equations(z, x, derivatives=False)[0])
                    if size * size < _LEFT * before:
                        return x
                    if not size < _FALLING * before:
                        if size < _ROUNDING:
                            return x
                        break
                if not np.isfinite(size):
                    break
        raise Unsolved("Newton's method for the flip-flop equations did not converge.")

    def _stepped(self, x, solver, residual):
        """The unknown after a Newton step, and the size of the step."""
        change = scipy.linalg.lu_solve(solver, residual, check_finite=False)
        size = max(_relative(a, b) for a, b in zip(self._parts(change), self._parts(x), strict=True))
        return x - change * min(1.0, _LONGEST / max(size, _LONGEST)), size

    def transforms(self, z, x):
        """The generating functions of the test and of the training loss at z."""
        alpha, beta, zeta = self._fields(x)
        (values,), (end,) = self._linear(z, alpha, beta, self.nodes)
        F = end[1] - z * end[0]
        test = (1 + z * ((self.weights / F) @ end[2])) / (1 - z)  # all weights together are 1
        train = (self.moments / F) @ end[1]
        X, X1 = (self.moments / F) @ values[:, :, ::-1]
        if len(zeta):
            nodes, _, moved, _ = self._moved(zeta)
            (values,), (end,) = self._linear(z, alpha, beta, nodes)
            factors = moved / self._slope_of_F(z, alpha, beta, *values)
            test, train = test + (factors / nodes) @ end[1], train + factors @ end[1]
            more, more1 = factors @ values[:, :, ::-1]
            X, X1 = X + more, X1 + more1
        return np.array([test, train + z * self._integral_of_squares(z, alpha, beta, X, X1)])

    def first_epoch(self):
        """Both losses after the first epoch, the derivatives of the transforms at z = 0."""
        alpha, beta, _ = self._fields(self._start())
        (values,), (end,) = self._linear(0j, alpha, beta, self.nodes)
        Y = end[0] / end[1]
        X, X1 = (self.moments / end[1]) @ values[:, :, ::-1]
        train = self.moments @ Y + self._integral_of_squares(0j, alpha, beta, X, X1)
        return np.array([1 + self.weights @ (end[2] / end[1]), train]).real

    def equations(self, z, x, derivatives=True):
        """What is to vanish, and its derivatives by the unknown, or None."""
        alpha, beta, zeta = self._fields(x)
        half, count = self.size // 2, self.size + self.size // 2
        (values,), (end,) = self._linear(z, alpha, beta, self.nodes)
        (u, v), F = values, end[1] - z * end[0]
        r = (self.moments / F) @ (u * v[:, ::-1])
        H = 1 / self.step + z * ((self.moments / F) @ (u * u[:, ::-1]))
        residual = np.zeros(len(x), dtype=complex)
        if len(zeta):
            node, slope, moved, moved_slope = self._moved(zeta)
            values, ends = self._linear(z, alpha, beta, node, ((1, 1), (1, -1)))
            U, V = values[0]
            by_node = self._slope_of_F(z, alpha, beta, U, V)
            r = r + (moved / by_node) @ (U * V[:, ::-1])
            H = H + z * ((moved / by_node) @ (U * U[:, ::-1]))
            residual[count:] = ends[0, 1] - z * ends[0, 0]
        D = H * H - z * r * r[::-1]
        residual[: self.size] = alpha - r / D
        residual[self.size : count] = (beta - H / D)[:half]
        if not derivatives:
            return residual, None
        J = np.zeros((2, self.size, len(x)), dtype=complex)
        J[:, :, :count] = self._by_fields(z, u, v, F)
        matrix = np.eye(len(x), dtype=complex)
        for k in range(len(zeta)):
            at = count + k
            J_fields, J[:, :, at], matrix[at, :count] = self._of_pole(
                z, alpha, beta, values[:, :, k], ends[:, :, k], node[k], slope[k], moved[k], moved_slope[k]
            )
            J[:, :, :count] += J_fields
            matrix[at, at] = by_node[k] * slope[k]
        by_D = 2 * H[:, None] * J[1] - z * (r[::-1, None] * J[0] + r[:, None] * J[0, ::-1])
        matrix[: self.size] -= J[0] / D[:, None] - (r / D**2)[:, None] * by_D
        matrix[self.size : count] -= (J[1] / D[:, None] - (H / D**2)[:, None] * by_D)[:half]
        return residual, matrix

    def _by_fields(self, z, u, v, F):
        """Derivatives of N's part of r and of H by α and β."""
        mirrored_u, mirrored_v = u[:, ::-1], v[:, ::-1]
        rows = np.concatenate([mirrored_v**2, z * mirrored_u**2, z * mirrored_u * mirrored_v], axis=1)
        columns = np.concatenate([v * v, z * u * u, -2 * u * v], axis=1)
        both = (rows * (self.moments * self.nodes / F**2)[:, None]).T @ columns
        both = both.reshape(3, self.size, 3, self.size).transpose(2, 0, 1, 3) * self.integral
        first, second, third = _folded(*both)
        return np.stack([first + second[::-1], third + third[::-1]])

    def _of_pole(self, z, alpha, beta, values, ends, node, slope, moved, moved_slope):
        """Derivatives of a pole's part of r and H by α and β and by ζ, and those of F by α and β.

        `values` and `ends` are two solutions of the linear equations, since the mirrored one is none of its own here.
        """
        (u, v), (u2, v2) = values
        (end_u, end_v, _), (end_u2, end_v2, _) = ends
        mirrored_u, mirrored_v, wronskian = u[::-1], v[::-1], u * v2 - v * u2
        numerators = np.stack([u * mirrored_v, z * u * mirrored_u])
        by_node = self._slope_of_F(z, alpha, beta, u, v)
        factor = moved / by_node

        def responses(first, second):  # of the coefficients of both solutions to a force
            return (v2 * first - u2 * second) / wronskian, (u * second - v * first) / wronskian

        forces = (node * v, 0 * u), (0 * u, -node * z * u), (-node * u, node * v)
        P, Q = np.array([responses(*force) for force in forces]).transpose(1, 0, 2)
        end_P, end_Q = _folded(*(P * self.quadrature)), _folded(*(Q * self.quadrature))
        P, Q = _folded(*(P[:, None] * self.integral)), _folded(*(Q[:, None] * self.integral))
        du, dv = u[:, None] * P + u2[:, None] * Q, v[:, None] * P + v2[:, None] * Q
        P, Q = (self.integral @ p for p in responses(alpha * v - beta * u, beta * v - z * alpha[::-1] * u))
        du_node, dv_node = u * P + u2 * Q, v * P + v2 * Q
        # F' by u and v, and by α and β alone
        by_u = 2 * z * self.quadrature * (beta * mirrored_u - alpha[::-1] * mirrored_v)
        by_v = 2 * self.quadrature * (beta * mirrored_v - z * alpha * mirrored_u)
        alone = _folded(
            0 * u,
            -2 * z * self.quadrature * u * mirrored_v,
            self.quadrature * (v * mirrored_v + numerators[1]),
        )
        curvature, curvature_node = by_u @ du + by_v @ dv + alone, by_u @ du_node + by_v @ dv_node
        J = factor * np.stack(
            [
                mirrored_v[:, None] * du + u[:, None] * dv[::-1],
                z * (mirrored_u[:, None] * du + u[:, None] * du[::-1]),
            ]
        )
        J -= numerators[:, :, None] * (factor / by_node * curvature)
        J_node = factor * np.stack(
            [
                mirrored_v * du_node + u * dv_node[::-1],
                z * (mirrored_u * du_node + u * du_node[::-1]),
            ]
        )
        J_place = slope * J_node + numerators * (moved_slope - slope * factor * curvature_node) / by_node
        row = (end_v - z * end_u) * end_P + (end_v2 - z * end_u2) * end_Q
        return J, J_place, row

    def _linear(self, z, alpha, beta, nodes, starts=((1, 1),)):
        """u and v at all points, [start, u or v, node, point], and u, v and u − v at s = ρ, from values at 0.

        They are solved for u − v and v: where λ is tiny and its weight large, u − v is of the order of λ.
        """
        p, shape = self.points, (self.panels, self.points)
        a, b, c = (x.reshape(shape) for x in (alpha, beta, z * alpha[::-1]))
        matrix = np.zeros((len(nodes), self.panels, 2 * p, 2 * p), dtype=complex)
        matrix[..., :p, :p] = matrix[..., p:, p:] = self.slopes
        i, node = np.arange(p), nodes[:, None, None]
        matrix[..., i, i] += node * (b - c)
        matrix[..., i, p + i] -= node * (a - 2 * b + c)
        matrix[..., p + i, i] += node * c
        matrix[..., p + i, p + i] -= node * (b - c)
        right = np.kron(np.eye(2), self.slopes.sum(axis=1)[:, None]).astype(complex)
        inner = np.linalg.solve(matrix, np.broadcast_to(right, (*matrix.shape[:3], 2)))
        over = np.stack([self.ends @ inner[..., :p, :], self.ends @ inner[..., p:, :]], axis=-2)
        over += (1 - self.ends.sum()) * np.eye(2)
        y = np.array([(u - v, v) for u, v in starts], dtype=complex).T
        y = np.broadcast_to(y, (len(nodes), 2, len(starts)))
        values = np.empty((len(nodes), self.panels, 2 * p, len(starts)), dtype=complex)
        for k in range(self.panels):
            values[:, k] = inner[:, k] @ y
            y = over[:, k] @ y
        values = values.reshape(len(nodes), self.panels, 2, p, len(starts)).transpose(4, 2, 0, 1, 3)
        values = values.reshape(len(starts), 2, len(nodes), self.size)
        values[:, 0] += values[:, 1]
        difference, v = y.transpose(1, 2, 0)
        return values, np.stack([difference + v, v, difference], axis=1)

    def _slope_of_F(self, z, alpha, beta, u, v):
        """dF/dλ, where u and v are known."""
        mirrored_u, mirrored_v = u[..., ::-1], v[..., ::-1]
        symmetric = beta * (v * mirrored_v + z * u * mirrored_u)
        return (symmetric - 2 * z * alpha[::-1] * u * mirrored_v) @ self.quadrature

    def _integral_of_squares(self, z, alpha, beta, X, X1):
        """(1/ρ) ∫ (zαX² − 2βXX₁ + α̃X₁²) ds."""
        squares = z * alpha * X**2 - 2 * beta * X * X1 + alpha[::-1] * X1**2
        return self.quadrature @ squares / self.rho

    def _moved(self, zeta):
        """λ of places ζ, its derivative by ζ, λΔ, and the derivative of that."""
        inverse = 1 / (zeta[:, None] - self.gram)
        transform = inverse @ self.shares
        node, slope = 1 / (self.rho * transform), (inverse**2 @ self.shares) / (self.rho * transform**2)
        inverse = 1 / (self.nodes - node[:, None])
        moved = self.rho - zeta / node - inverse @ self.moments
        return node, slope, moved, slope * (zeta / node**2 - inverse**2 @ self.moments) - 1 / node

    def _start(self):
        """α and β at z = 0."""
        guess = np.repeat([self.step**2, self.step], [self.size, self.size // 2])
        return self.newton(0j, guess.astype(complex))

    def _places(self, log_z, x):
        """Places ζ of the poles at a small z, where they are outside, for given α and β."""
        (alpha, beta, _), z = self._fields(x), np.exp(log_z)
        nodes = (log_z + 2j * np.pi * _TURNS) / (2 * self.rho * self.step)
        for _ in range(5 * _STEPS):
            (values,), (end,) = self._linear(z, alpha, beta, nodes)
            change = (end[1] - z * end[0]) / self._slope_of_F(z, alpha, beta, *values)
            size = np.abs(change / nodes)
            nodes = nodes - change * np.minimum(1.0, _LONGEST / np.maximum(size, _LONGEST))
            if (size < _SAME).all():
                return nodes * (self.rho - (1 / (self.nodes - nodes[:, None])) @ self.moments)
        raise Unsolved("The poles of the flip-flop equations were not found.")

    def _parts(self, x):
        return np.split(x, [self.size, self.size + self.size // 2])

    def _fields(self, x):
        """α and β at all points, and the places of poles."""
        alpha, half, zeta = self._parts(x)
        return alpha, np.concatenate([half, half[::-1]]), zeta


def _folded(by_alpha, by_mirrored, by_beta):
    """Derivatives (last axis) by α at all points and β at half of them, from those by α, α̃ and β at all."""
    half = by_beta.shape[-1] // 2
    return np.concatenate(
        [by_alpha + by_mirrored[..., ::-1], by_beta[..., :half] + by_beta[..., : half - 1 : -1]], axis=-1
    )


def _relative(change, values):
    """The size of a change relative to the largest value; 0 without any."""
    return np.abs(change).max() / np.abs(values).max() if len(values) else 0.0
