r"""Newton's method for flip-flop's boundary problem at one z, on panels of Gauss points; see :mod:`.boundary`.

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

Arrays are (nodes, points), points running through all panels; a mirror image is the reversed last axis.
"""

import abc
import copy
import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.linalg
from numpy.polynomial import legendre

from edgelaw._common.types import Array
from edgelaw.exact import levy

Complex = npt.NDArray[np.complex128]
Chart = tuple[complex, complex, complex, complex]  # a, b, c, d of Y = (aX + b)/(cX + d), with ad − bc = 1
_PLAIN: Chart = (1 + 0j, 0j, 0j, 1 + 0j)
_TURNED: Chart = ((1 + 1j) / 2, (1 + 1j) / 2, (1j - 1) / 2, (1 - 1j) / 2)  # X = (Y − i)/(Y + i)
_INVERTED: Chart = ((1j - 1) / 2, (1j - 1) / 2, (1 + 1j) / 2, -(1 + 1j) / 2)  # its inverse
_GROWTH = 4.0  # from panel to panel
_CHART_TOO_LARGE = 2.0  # a chart whose pole is so much closer than the other's is changed


class Unsolved(ArithmeticError):
    """Newton's method did not converge."""


@dataclass(frozen=True, eq=False)
class Panels:
    """Collocation at the Gauss points of panels of [0, ρ]: lengths, and what maps values in [0, 1] to others.

    For u with u(0) = 0: `slopes` at the points, and the `end` u(1); `weights` integrate.
    """

    lengths: Array
    slopes: Array
    ends: Array
    weights: Array

    @classmethod
    def of(cls, lengths: Array, points: int) -> "Panels":
        """Panels of these lengths with so many points each."""
        return cls(lengths, *gauss(points))

    @property
    def shape(self) -> tuple[int, int]:
        """The number of panels, and of points in each."""
        return len(self.lengths), len(self.ends)

    def integral(self, values: Complex) -> complex:
        """∫ over [0, ρ]."""
        return complex(self.lengths @ values.reshape(self.shape) @ self.weights)


@functools.lru_cache(maxsize=16)
def gauss(points: int) -> tuple[Array, Array, Array]:
    """Collocation at the Gauss points of [0, 1]: slopes and the end of u with u(0) = 0 from its values, and weights."""
    x, weights = legendre.leggauss(points)
    to_series = legendre.legvander(x, points - 1).T * weights * (np.arange(points)[:, None] + 0.5)
    integrals = legendre.legint(np.eye(points), lbnd=-1)
    integral = legendre.legvander(x, points) @ integrals @ to_series / 2
    slopes = np.asarray(np.linalg.inv(integral), dtype=np.float64)
    return slopes, weights / 2 @ slopes, weights / 2


def graded_panels(rho: float, first: float, longest: float = np.inf) -> Array:
    """Lengths of panels of [0, ρ], symmetric: they grow from both ends, where the fastest solutions decay."""
    lengths = [min(first, longest)]
    while sum(lengths) < rho / 2:
        lengths.append(min(_GROWTH * lengths[-1], longest))
    return np.array(lengths + lengths[::-1]) * (rho / 2 / sum(lengths))


@dataclass(frozen=True, eq=False)
class Fields:
    """What the nodes share at a given X: f, g and 1/W at all nodes; r, H and D, and α = r/D and β = H/D."""

    f: Complex
    g: Complex
    inverse: Complex
    r: Complex
    H: Complex
    D: Complex
    alpha: Complex
    beta: Complex

    def changes(self, z: complex, dr: Complex, dH: Complex) -> Complex:
        """Changes of α at all points and of β at half of them by those of r and H (first axis: points)."""
        r, H, D = (x.reshape(-1, *[1] * (dr.ndim - 1)) for x in (self.r, self.H, self.D))
        dD = 2 * H * dH - z * (r[::-1] * dr + r * dr[::-1])
        half = len(r) // 2
        return np.concatenate([(dr - r / D * dD) / D, ((dH - H / D * dD) / D)[:half]])


@dataclass(frozen=True, eq=False)
class Flow:
    """Solutions of u' = −rate·u + force at every node: u = start·u₀ + inner·force in a panel whose left end is u₀.

    Its right end is factor·u₀ + finish·force. Arrays are (nodes, panels, ...).
    """

    inner: Complex
    start: Complex
    finish: Complex
    factors: Complex

    @classmethod
    def of(cls, rates: Complex, panels: Panels) -> "Flow":
        """For given rates at the points. The derivative in a panel is slopes·(u − u₀)/h, the end u₀ + ends·(u − u₀)."""
        count, p = panels.shape
        matrices = np.tile(panels.slopes / panels.lengths[:, None, None] + 0j, (len(rates), 1, 1, 1))
        diagonal = np.arange(p)
        matrices[..., diagonal, diagonal] += rates.reshape(-1, count, p)
        inner = np.asarray(np.linalg.inv(matrices), dtype=np.complex128)
        start = inner @ panels.slopes.sum(axis=1) / panels.lengths[:, None]
        return cls(inner, start, panels.ends @ inner, 1 + (start - 1) @ panels.ends)

    def solution(self, first: Complex, force: Complex) -> tuple[Complex, Complex]:
        """u at all points and at the end, from its value at 0 and the force at all points."""
        force = force.reshape(self.start.shape)
        arriving = (self.finish * force).sum(axis=-1)
        left = np.empty((self.factors.shape[1] + 1, len(first)), dtype=complex)
        left[0] = first
        for i in range(len(left) - 1):
            left[i + 1] = self.factors[:, i] * left[i] + arriving[:, i]
        inside = self.start * left[:-1].T[..., None] + (self.inner @ force[..., None])[..., 0]
        return inside.reshape(len(first), -1), left[-1]

    def responses(self, rows: Complex, columns: Complex) -> Complex:
        """Σ row·(response of u at a point to a force at another)·column over nodes: (3, points, 3, points).

        `rows` and `columns` are (3, nodes, points). A panel responds to earlier ones through its left end alone, so
        forces are carried there, and a product of matrices does the sum.
        """
        nodes, count, p = self.start.shape
        rows, columns = (x.reshape(3, nodes, count, p) for x in (rows, columns))
        result = np.zeros((count, 3, p, 3, count, p), dtype=complex)
        leaving = np.moveaxis(columns * self.finish, 1, -1)  # (3, panels, points, nodes)
        arriving = np.moveaxis(rows * self.start, 1, -1)
        carried = np.zeros((3, count, p, nodes), dtype=complex)
        for i in range(1, count):
            carried[:, : i - 1] *= self.factors[:, i - 1]
            carried[:, i - 1] = leaving[:, i - 1]
            earlier = carried[:, :i].reshape(-1, nodes)
            result[i, :, :, :, :i] = (arriving[:, i].reshape(-1, nodes) @ earlier.T).reshape(3, p, 3, i, p)
        # within a panel, for every source b: (3·p, nodes) @ (nodes, 3)
        inner = rows.transpose(2, 0, 3, 1)[:, None] * self.inner.transpose(1, 3, 2, 0)[:, :, None]
        within = inner.reshape(count, p, 3 * p, nodes) @ columns.transpose(2, 3, 1, 0)
        panels = np.arange(count)
        result[panels, :, :, :, panels] = within.reshape(count, p, 3, p, 3).transpose(0, 2, 3, 4, 1)
        return result.transpose(1, 0, 2, 3, 4, 5).reshape(3, count * p, 3, count * p)


@dataclass(frozen=True, eq=False)
class Linearised:
    """Newton's equations at some X: derivatives of r, r̃ and H by X (rows), and of X' by α, α̃ and β (columns)."""

    fields: Fields
    rates: Complex
    rows: Complex
    columns: Complex
    flow: Flow
    solver: tuple[Complex, npt.NDArray]


class Equations(abc.ABC):
    """The average, and what a walk around a circle needs of the equations at one z: of single rows, or of batches."""

    def __init__(self, average: levy.Average, same: float) -> None:
        moving = average.nodes != 0
        self.still = average.weights[~moving].sum().real  # λ = 0: Y = 1
        self.nodes, self.weights = (x[moving].astype(complex) for x in (average.nodes, average.weights))
        self.moments, self.same = self.nodes * self.weights, same

    @abc.abstractmethod
    def start(self) -> Complex:
        """The unknown X at z = 0."""

    @abc.abstractmethod
    def first_epoch(self) -> Array:
        """Both losses after the first epoch, the derivatives of the transforms at z = 0; without what never moves."""

    @abc.abstractmethod
    def newton(self, z: complex, X: Complex, steps: int = 8) -> tuple[Complex, Complex]:
        """X at z and 1/(1 − zY) at its end from a guess; `Unsolved` if that takes more than a few steps."""

    @abc.abstractmethod
    def mean_of_squares(self, z: complex, X: Complex) -> complex:
        """What the training loss has besides the average of λ/(1 − zY), over z."""

    def charted(self, solutions: list[Complex]) -> list[Complex]:
        """Solutions in the charts that suit the last of them, which are then those of the equations."""
        return solutions

    def transforms(self, z: complex, X: Complex, touched: Complex) -> Complex:
        """The generating functions of the test and of the training loss at z, where `touched` is 1/(1 − zY)."""
        test = self.weights @ touched + (self.still / (1 - z) if self.still else 0)
        return np.array([test, self.moments @ touched + z * self.mean_of_squares(z, X)])


class Problem(Equations):
    """The boundary problem of single rows for one average and step, on panels; Y may be infinite if it is `turned`."""

    def __init__(
        self, average: levy.Average, step: float, panels: Panels, turned: bool = False, same: float = 1e-7
    ) -> None:
        super().__init__(average, same)
        self.inverse_step, self.panels, self.turned = 1 / step, panels, turned
        self.rho = float(panels.lengths.sum())
        self._use(np.tile(_TURNED if turned else _PLAIN, (len(self.nodes), 1)))

    def _use(self, chart: Complex) -> None:
        self.chart = chart
        self.a, self.b, self.c, self.d = chart.T[..., None]

    @property
    def _first(self) -> Complex:
        """X at s = 0, where Y = 1."""
        return ((self.d - self.b) / (self.a - self.c))[:, 0]

    def start(self) -> Complex:
        """X at z = 0, where the equations for Y are linear and one step solves them."""
        Y, _ = self._plain_start
        return (self.d * Y - self.b) / (self.a - self.c * Y)

    def first_epoch(self) -> Array:
        """Both losses after the first epoch, the derivatives of the transforms at z = 0; without what never moves."""
        Y, end = self._plain_start
        squares = self._in_plain_charts().mean_of_squares(0j, Y)
        return np.array([self.weights @ end, self.moments @ end + squares]).real

    def _in_plain_charts(self) -> "Problem":
        plain = copy.copy(self)
        plain._use(np.tile(_PLAIN, (len(self.nodes), 1)))
        return plain

    @functools.cached_property
    def _plain_start(self) -> tuple[Complex, Complex]:
        ones = np.ones((len(self.nodes), self.panels.lengths.size * self.panels.ends.size), dtype=complex)
        return self._in_plain_charts()._step(0j, ones)[:2]

    def charted(self, solutions: list[Complex]) -> list[Complex]:
        """As of all equations: inverted where an X came too close to the pole of its chart."""
        if not self.turned:
            return solutions
        size = np.abs(solutions[-1])
        change = size.max(axis=1) * size.min(axis=1) > _CHART_TOO_LARGE
        if not change.any():
            return solutions
        inverted = self.chart[:, 2] == _INVERTED[2]
        self._use(np.where((inverted ^ change)[:, None], _INVERTED, _TURNED))
        return [np.where(change[:, None], 1 / X, X) for X in solutions]

    # ------------------------------------------------------------------------------------------- Newton's method

    def newton(self, z: complex, X: Complex, steps: int = 8) -> tuple[Complex, Complex]:
        """As of all equations. A step of relative size ε leaves an error of ε².

        Close to the solution the derivatives of the last step are
        good enough for the next ones, which leave ε times their own size, and cost a fraction.
        """
        same = self.same * (min(1.0, abs(1 - z)) if self.turned else 1.0)  # Y − 1 may be as small as 1 − z
        for _ in range(steps):
            better, end, size, linear = self._step(z, X)
            if not size < 1e3 or linear is None:
                break
            if size < same:
                return better, self._touched(z, end)
            X = better if size < 0.5 else X + 0.5 / size * (better - X)
            for _ in range(2 if size**2 < 10 * same else 0):
                X, end, correction = self._corrected(z, X, linear, self._fields(z, X))
                if size * correction < same**2:
                    return X, self._touched(z, end)
        raise Unsolved("Newton's method for the flip-flop equations did not converge.")

    def _step(self, z: complex, X: Complex) -> tuple[Complex, Complex, float, Linearised | None]:
        """A better X, its end, the relative size of the change, and the linear equations that it solves."""
        with np.errstate(all="ignore"):
            try:
                linear = self.linearised(z, X)
                return *self._corrected(z, X, linear, linear.fields), linear
            except (np.linalg.LinAlgError, ValueError):  # far from any solution
                return X, X[:, -1], np.inf, None

    def _corrected(
        self, z: complex, X: Complex, linear: Linearised, present: Fields
    ) -> tuple[Complex, Complex, float]:
        """A better X, its end and the relative size of the change, with the derivatives of an X nearby."""
        forcing = self._slope(z, present) + linear.rates * X
        change = linear.flow.solution(self._first, forcing)[0] - X
        direct, mirrored, level = (linear.rows * change).sum(axis=1)
        shifts = linear.fields.changes(z, direct + mirrored[::-1], level + level[::-1])
        shifts = scipy.linalg.lu_solve(linear.solver, shifts, check_finite=False)
        size = X.shape[1]
        alpha, beta = shifts[:size], np.concatenate([shifts[size:], shifts[size:][::-1]])
        columns = linear.columns
        forcing += columns[0] * alpha + columns[1] * alpha[::-1] + columns[2] * beta
        better, end = linear.flow.solution(self._first, forcing)
        moved = np.abs(better - X) / (np.abs(X) + np.abs(present.r / present.H))
        return better, end, float(moved.max())

    def linearised(self, z: complex, X: Complex) -> Linearised:
        """Newton's equations at X."""
        fields = self._fields(z, X)
        f, g, nodes = fields.f, fields.g, self.nodes[:, None]
        rates = 2 * self._half_rates(z, fields)
        flow = Flow.of(rates, self.panels)
        weight = self.moments[:, None] * fields.inverse**2
        mirrored_f, mirrored_g = f[:, ::-1], g[:, ::-1]
        rows = weight * np.stack([mirrored_g**2, z * mirrored_f**2, z * mirrored_f * mirrored_g])
        columns = nodes * np.stack([g * g, z * f * f, -2 * f * g])
        matrix = -fields.changes(z, *_folded(flow.responses(rows, columns)))
        matrix[np.diag_indices(len(matrix))] += 1
        return Linearised(fields, rates, rows, columns, flow, scipy.linalg.lu_factor(matrix))

    def _fields(self, z: complex, X: Complex) -> Fields:
        f, g = self.a * X + self.b, self.c * X + self.d
        mirrored_f, mirrored_g = f[:, ::-1], g[:, ::-1]
        product = z * f * mirrored_f
        inverse = 1 / (g * mirrored_g - product)
        r = self.moments @ (f * mirrored_g * inverse)
        H = self.inverse_step + self.moments @ (product * inverse)
        D = H * H - z * r * r[::-1]
        return Fields(f, g, inverse, r, H, D, r / D, H / D)

    def _slope(self, z: complex, at: Fields) -> Complex:
        """X'."""
        f, g = at.f, at.g
        return self.nodes[:, None] * ((at.alpha * g - 2 * at.beta * f) * g + z * at.alpha[::-1] * f * f)

    def _half_rates(self, z: complex, at: Fields) -> Complex:
        """Minus the derivative of X' by X, halved."""
        plain = at.beta * (self.a * at.g + self.c * at.f) - at.alpha * self.c * at.g
        return self.nodes[:, None] * (plain - z * at.alpha[::-1] * self.a * at.f)

    # ------------------------------------------------------------------------------------------------- transforms

    def _touched(self, z: complex, end: Complex) -> Complex:
        a, b, c, d = self.chart.T
        return (c * end + d) / (c * end + d - z * (a * end + b))

    def decayed(self, z: complex, X: Complex) -> Complex:
        """E at s = ρ, from E(0) = 1."""
        return self._decayed(z, self._fields(z, X))[1]

    def _decayed(self, z: complex, at: Fields) -> tuple[Complex, Complex]:
        """e at all points and at s = ρ, with e' = ½(∂X'/∂X)e and e(0) = 1/(a − c)."""
        flow = Flow.of(self._half_rates(z, at), self.panels)
        return flow.solution((1 / (self.a - self.c))[:, 0], np.zeros_like(at.f))

    def mean_of_squares(self, z: complex, X: Complex) -> complex:
        """(1/ρ) ∫ (zαx² − 2βxy + α̃y²) ds, x = ⟨λef̃/W⟩, y = ⟨λeg̃/W⟩."""
        at = self._fields(z, X)
        weighted = self._decayed(z, at)[0] * at.inverse
        x, y = (self.moments @ (weighted * mirrored[:, ::-1]) for mirrored in (at.f, at.g))
        squares = z * at.alpha * x**2 - 2 * at.beta * x * y + at.alpha[::-1] * y**2
        return self.panels.integral(squares) / self.rho


def _folded(responses: Complex) -> tuple[Complex, Complex]:
    """Derivatives of r and H at all points by α at all points and by β at half of them: mirror images added up."""
    half = responses.shape[1] // 2
    by_r = responses[0] + responses[1][::-1]
    by_H = responses[2] + responses[2][::-1]

    def columns(by: Complex) -> Complex:
        return np.concatenate([by[:, 0] + by[:, 1, ::-1], (by[:, 2] + by[:, 2, ::-1])[:, :half]], axis=1)

    return columns(by_r), columns(by_H)
