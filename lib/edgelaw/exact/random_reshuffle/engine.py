r"""An epoch of random reshuffle as a map of energies along eigenvectors, from one contour at two resolutions.

The double Cauchy transform b of :mod:`~edgelaw.exact.random_reshuffle.rows` or
:mod:`~edgelaw.exact.random_reshuffle.batches` is that of an operator T, a multiplication and an integral,

.. math:: (Tg)(\lambda) = \bar a(\lambda)^2g(\lambda) + \int k(\lambda,\mu)g(\mu)\,dF(\mu), \qquad
    \bar a(\lambda) = -\frac{1}{2\pi i}\oint\frac{z\,e^{-\eta\rho/x}}{z-\lambda}\frac{x'}{x}\,dz,

with ā and k/(λμ) entire. ā is computed by its integral, at the eigenvalues themselves; k/(λμ) by orthonormal
polynomials in :math:`\log(1+(\lambda-\text{low})/\text{scale})`, from b on an ellipse around F in that variable. So the
part of T that a large n depends on is exact, and what is approximated is smooth. Where F keeps off zero the ellipse
does too: at zero an epoch forgets nothing, while T itself may be as small as the loss it leaves, and only a contour on
which b is as small as T gives T to a relative accuracy.

Everything is done on two contours, with two averages ⟨·⟩ and two grids of s: a *fine* and a *coarse* frame. Their
difference says how many polynomials the arithmetic can carry, and how accurate a curve is. One number is known apart
from all this: the test loss after an epoch, since the first rows are fresh to every order.
"""

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from edgelaw._common.types import Array, Integers
from edgelaw.exact import agreement, first_epoch, levy
from edgelaw.exact.random_reshuffle import kick
from edgelaw.exact.random_reshuffle.contours import INSIDE, Complex, Contour, Law, Nodes, usable
from edgelaw.exact.random_reshuffle.epochs import Epoch, Pairs, Points
from edgelaw.exact.random_reshuffle.rows import Rows

POLYNOMIALS = 24  # at most: more only carry rounding
_MEAN_DIGITS = 70  # of ā's contour integral, whose poles are the eigenvalues
_LARGEST_CONSTANT_ERROR = 1e-3  # edge constants whose two resolutions differ by more are not returned
_LEAST_STATED = 2e-9  # where two resolutions agree to more, they share errors
_AT_ONCE = 1e-7  # a first epoch that leaves less is computed apart: the second is lost in rounding
_CONTOURS = (
    2  # tried for a curve: a third lowered few stated errors of 300 random cases, and saved none from refusal
)
_EPOCHS_PER_SQUARE = 0.01  # over the square of the number of nodes: below, epochs one by one cost less


@dataclass(frozen=True)
class Resolution:
    """Decimal digits of the trapezoidal rule, the part of the times s that is taken, the contour's width over usual."""

    digits: float
    times: float
    wide: float


FINE = Resolution(11.3, 0.92, 1.0)
COARSE = Resolution(9.6, 0.84, 1.1)


@dataclass(frozen=True, eq=False)
class EpochMap:
    """s becomes mean² s + left kernel leftᵀ s + kick, where s are energies over the root of their node's share of F."""

    mean: Nodes
    left: Nodes
    kernel: Array
    kick: Array

    def linear(self, s: Nodes) -> Nodes:
        """The energies after an epoch without its kick."""
        return self.mean**2 * s + self.left @ (self.kernel @ (s @ self.left))

    def __call__(self, s: Nodes) -> Nodes:
        """The energies after an epoch."""
        return self.linear(s) + self.kick

    def after(self, epochs: int, s: Nodes) -> Nodes:
        """The energies after so many epochs without kicks: one by one, or by powers of the matrix over long ways."""
        if epochs <= _EPOCHS_PER_SQUARE * len(s) ** 2:
            for _ in range(epochs):
                s = self.linear(s)
            return s
        for bit in range(epochs.bit_length()):
            if (epochs >> bit) & 1:
                s = self._power(bit) @ s
        return s

    @functools.cached_property
    def _powers(self) -> list[Nodes]:
        return [np.diag(self.mean**2) + self.left @ self.kernel @ self.left.T]

    def _power(self, bit: int) -> Nodes:
        """The matrix to the power 2^bit."""
        while len(self._powers) <= bit:
            self._powers.append(self._powers[-1] @ self._powers[-1])
        return self._powers[bit]

    def coefficients(self, source: Nodes) -> Array:
        """leftᵀ s for the solution of (1 − T)s = source: a linear system as large as the number of polynomials."""
        weighted = self.left.T / (1 - self.mean**2)
        share = (weighted @ self.left).real
        return np.linalg.solve(np.eye(len(share)) - share @ self.kernel, (weighted @ source).real)

    def ends(self) -> Nodes:
        """Where epochs lead: the solution of (1 − T)s = kick."""
        pushed = self.kick + self.left @ (self.kernel @ self.coefficients(self.kick))
        return pushed / (1 - self.mean**2)

    def radius(self) -> float:
        r"""Below 1 exactly where the spectral radius of T is, provided that ā² is.

        T preserves positivity, so that its spectral radius is an eigenvalue. With k = λμ ΣKψψ it is below 1 if the
        radius of :math:`K\int\psi\psi^\top\lambda^2(1-\bar a^2)^{-1}dF` is, a matrix as large as the number of ψ.
        """
        share = ((self.left.T / (1 - self.mean**2)) @ self.left).real
        return float(np.abs(np.linalg.eigvals(self.kernel @ share)).max())


@dataclass(frozen=True, eq=False)
class Coefficients:
    """An epoch in all polynomials of one frame: T's kernel and the kick; and what tells how right b is."""

    kernel: Array
    kick: Array
    asymmetry: float
    first: float

    def cut(self, kernel: int, kick: int) -> "Coefficients":
        """The same with fewer polynomials: zeros beyond."""
        return Coefficients(_cut(self.kernel, kernel), _cut(self.kick, kick), self.asymmetry, self.first)


def _cut(values: Array, size: int) -> Array:
    """The leading entries of a vector or a matrix, and zeros."""
    corner, result = (slice(size),) * values.ndim, np.zeros_like(values)
    result[corner] = values[corner]
    return result


class Frame:
    """A law seen from one contour at one resolution: all that does not depend on the step.

    `left` is λψ on F's `nodes`, ψ the polynomials, orthonormal for λ dF; `outside` and `origin` are ψ on the contour
    and at zero.
    """

    def __init__(self, law: Law, contour: Contour, resolution: Resolution):
        self.law, self.resolution, self.contour = law, resolution, contour.scaled(resolution.wide)
        z, self.dz = self.contour.points(resolution.digits)
        self.points = Points(z, law.transform(z)[0], *law.average(self.contour.scaled(INSIDE)), rho=law.rho)
        self.nodes, self.mass = law.measure(self.contour, resolution == FINE)
        triangle = _orthonormal(_chebyshev(self.contour.position(self.nodes)), self.nodes * self.mass)

        def polynomials(at: Nodes) -> Nodes:
            table = _chebyshev(self.contour.position(at))[:, : len(triangle)]
            return scipy.linalg.solve_triangular(triangle, table.T, trans=1).T

        self.inside, self.outside = polynomials(self.nodes), polynomials(z)
        # zero lies inside the contour, or nothing is asked there
        self.origin = polynomials(np.zeros(1))[0] if contour.low < contour.scale else self.outside[0].real

    @functools.cached_property
    def left(self) -> Nodes:
        """λψ times the root of the nodes' shares of F."""
        return self.inside * (self.nodes * self.start)[:, None]

    @property
    def start(self) -> Nodes:
        """An isotropic start: the root of the nodes' shares."""
        return np.sqrt(self.mass)

    def mean(self, epochs: Sequence[Epoch]) -> Nodes:
        """ā at the nodes, a row per epoch."""
        x, cauchy, mirrored = self._integral
        factors = np.array([epoch.mean(x, self.law.rho) for epoch in epochs])
        if mirrored is None:
            parts = np.concatenate([cauchy.real, -cauchy.imag])
            return np.concatenate([factors.real, factors.imag], axis=1) @ (2 * parts)
        return factors @ cauchy + (factors @ mirrored).conj()

    @functools.cached_property
    def _integral(self) -> tuple[Complex, Complex, Complex | None]:
        """x on a finer rule, and the Cauchy kernels of ā from there to the nodes and, if complex, their conjugates."""
        z, dz = self.contour.points(_MEAN_DIGITS)
        x, slope = self.law.transform(z)
        weights = (z * slope / x * dz)[:, None]
        cauchy = weights / (self.nodes - z[:, None])
        if not np.iscomplexobj(self.nodes):
            return x, cauchy, None
        return x, cauchy, weights / (self.nodes.conj() - z[:, None])

    def coefficients(self, epoch: Epoch, noisy: bool = False) -> Coefficients:
        """T's kernel in the polynomials, and the kick of residuals if there are any."""
        pairs = epoch.pairs(self.points, self.resolution.times)
        kicked = np.zeros(self.outside.shape[1])
        if noisy:
            values = kick.transform(self.law, epoch, self.contour, self.points, self.resolution.times)
            kicked = 2 * ((values * self.dz) @ self.outside).real
        return Coefficients(self._kernel(epoch, pairs), kicked, pairs.asymmetry, pairs.first)

    def _kernel(self, epoch: Epoch, pairs: Pairs) -> Array:
        """k/(λμ) in the polynomials: what b tells of T, without the multiplication and what is at zero."""
        outside = self.outside * self.dz[:, None]
        kernel = 2 * (outside.T @ (pairs.plain @ outside + pairs.conjugate @ outside.conj())).real
        mean = self.mean([epoch])[0]
        kernel -= (self.inside.T @ (self.inside * (self.mass * mean**2)[:, None])).real
        if self.contour.low == 0:
            kernel -= self.law.null * np.multiply.outer(self.origin, self.origin)
        return (kernel + kernel.T) / 2 if epoch.symmetric else kernel


def _chebyshev(y: Nodes) -> Nodes:
    """T_0, T_1, ... at points of any kind, a column each."""
    table = np.ones((len(y), POLYNOMIALS), dtype=y.dtype)
    table[:, 1] = y
    for k in range(2, POLYNOMIALS):
        table[:, k] = 2 * y * table[:, k - 1] - table[:, k - 2]
    return table


def _orthonormal(table: Nodes, weights: Nodes) -> Nodes:
    """The triangle R such that the columns of table R⁻¹ are orthonormal; fewer columns if there are no more."""
    if np.iscomplexobj(table):
        triangle = _triangle((table.T @ (table * weights[:, None])).real)
    else:
        triangle = np.asarray(np.linalg.qr(np.sqrt(weights)[:, None] * table, mode="r"))
    small = np.abs(np.diag(triangle)) < 1e-6 * np.abs(triangle[0, 0])
    count = int(np.argmax(small)) if small.any() else len(triangle)
    return triangle[:count, :count]


def _triangle(gram: Array) -> Nodes:
    """Cholesky's triangle of the largest leading part that is positive."""
    for count in range(len(gram), 1, -1):
        try:
            return np.linalg.cholesky(gram[:count, :count]).T
        except np.linalg.LinAlgError:
            continue
    return np.sqrt(gram[:1, :1])


@dataclass(frozen=True, eq=False)
class Frames:
    """The two frames of a contour, and epochs in them."""

    fine: Frame
    coarse: Frame

    def both(self, epoch: Epoch, noisy: bool = False) -> tuple[Coefficients, Coefficients]:
        """An epoch's coefficients in either frame, as many as the two can agree on."""
        fine, coarse = (frame.coefficients(epoch, noisy) for frame in (self.fine, self.coarse))
        size = min(len(fine.kick), len(coarse.kick))
        kernels = kernel_sizes(fine.kernel, coarse.kernel, len(self.fine.nodes))
        kicks = kick_sizes(fine.kick[:size], coarse.kick[:size])
        return fine.cut(kernels[0], kicks[0]), coarse.cut(kernels[1], kicks[1])

    def maps(self, epoch: Epoch) -> "Maps":
        """The epoch without residuals as a map of isotropic energies."""
        fine, coarse = self.both(epoch)
        return Maps(
            _isotropic(self.fine, epoch, fine),
            _isotropic(self.coarse, epoch, coarse),
            asymmetry=fine.asymmetry,
            first=fine.first,
        )


@dataclass(frozen=True, eq=False)
class Maps:
    """An epoch at two resolutions, how far from its symmetry b is, and the first epoch's test loss."""

    fine: EpochMap
    coarse: EpochMap
    asymmetry: float
    first: float


def _isotropic(frame: Frame, epoch: Epoch, made: Coefficients) -> EpochMap:
    """The map of energies over the roots of the nodes' shares, without residuals."""
    return EpochMap(frame.mean([epoch])[0], frame.left, made.kernel, np.zeros(1))


def kernel_sizes(kernel: Array, coarse: Array, nodes: int) -> tuple[int, int]:
    """How many polynomials: the number with the least sum of what is left out and what the two frames disagree on.

    The coarse computation takes one less, unless they are all there are.
    """
    largest = min(len(kernel), len(coarse))
    complete = largest == nodes
    difference = kernel[:largest, :largest] - coarse[:largest, :largest]
    noise, shell = (
        np.array([np.abs([x[k, : k + 1], x[: k + 1, k]]).max() for k in range(largest)])
        for x in (difference, kernel)
    )
    noise = np.maximum.accumulate(noise)
    beyond = np.append(np.minimum.accumulate(shell[1:]), 0.0 if complete else np.inf)
    size = 1 + int(np.argmin(noise + beyond))
    return size, size if complete and size == largest else size - 1


def kick_sizes(fine: Array, coarse: Array) -> tuple[int, int]:
    """How many coefficients of the kick: the number with the least sum of what is left out and what differs."""
    noise = np.maximum.accumulate(np.abs(fine - coarse))
    beyond = np.append(np.minimum.accumulate(np.abs(fine[1:])), np.inf if len(fine) > 1 else 0.0)
    size = 1 + int(np.argmin(noise + beyond))
    return size, max(1, size - 1)


def frames(law: Law) -> Iterator[Frames]:
    """Both frames on one contour after another, the most promising first."""
    for contour in usable(law):
        yield Frames(Frame(law, contour, FINE), Frame(law, contour, COARSE))


def attempts(law: Law, epoch: Epoch) -> Iterator[Callable[[Integers], agreement.Attempt]]:
    """What `agreement.settled` may try: an epoch that leaves nothing, then one pair of frames after another."""
    if isinstance(epoch, Rows) and epoch.step * (2 - epoch.step) * law.rho > -np.log(_AT_ONCE) / 2:
        yield functools.partial(_vanishing, law, epoch.step)
    for pair in itertools.islice(frames(law), _CONTOURS):
        yield functools.partial(_attempt, pair, epoch)


def _attempt(pair: Frames, epoch: Epoch, n: Integers) -> agreement.Attempt:
    """Both losses at n from an isotropic start; a first epoch other than that of fresh rows enlarges the error."""
    law, maps = pair.fine.law, pair.maps(epoch)
    with np.errstate(all="ignore"):
        fine, coarse = _losses(pair.fine, maps.fine, n), _losses(pair.coarse, maps.coarse, n)
    wrong = abs(maps.first - fine[0, 0]) / max(abs(fine[0, 0]), _AT_ONCE)
    if not wrong <= agreement.LARGEST_ERROR:
        raise ArithmeticError(
            f"The reshuffle curve of this spectrum could not be computed: its first epoch is off by {wrong:.0e}."
        )
    return agreement.Attempt(fine, coarse, law.null, 2 * wrong + maps.asymmetry + _LEAST_STATED)


def _losses(frame: Frame, one: EpochMap, n: Integers) -> Array:
    """Test and training loss after n epochs, ascending, from an isotropic start."""
    s, now, sums = frame.start, 0, np.empty((2, len(n)))
    for place, epoch in enumerate(n):
        s, now = one.after(int(epoch) - now, s), int(epoch)
        energy = frame.start * s
        sums[:, place] = energy.sum().real, (frame.nodes * energy).sum().real
    return np.array([frame.law.null + sums[0], sums[1] / frame.law.rho])


def _vanishing(law: Law, step: float, n: Integers) -> agreement.Attempt:
    """The first epoch alone, by its own equations, if it leaves nothing: T has losses to 1e-16 of the start only."""
    contour = next(usable(law))
    averages = [law.average(contour.scaled(wide * INSIDE)) for wide in (FINE.wide, COARSE.wide)]
    fine, coarse = (
        first_epoch.losses(
            levy.Average(*average, error=0.0), law.rho, step, np.array([0.0, law.rho]), law.null
        )[:, 1]
        for average in averages
    )
    if not np.maximum(np.abs(fine), np.abs(coarse)).max() < _AT_ONCE:
        raise ArithmeticError("The first epoch leaves something.")
    both = np.full((2, 2, len(n)), np.nan)
    both[0, :, 0], both[1, :, 0] = fine, coarse
    return agreement.Attempt(both[0], both[1], law.null, _LEAST_STATED)


def edge(law: Law, epoch: Epoch) -> tuple[float, float]:
    r"""The rate −ā′(0) at a left edge at zero, and the potential g(0) there; or a refusal.

    g solves :math:`(1-T)g = \lambda`. Divided by λ that is
    :math:`g(\lambda)(1-\bar a^2)/\lambda = 1 + \sum\psi_i(\lambda)K_{ij}c_j` with
    :math:`c_j = \int\psi_j\mu g\,dF`.
    """
    pair, results = next(frames(law)), []
    maps = pair.maps(epoch)
    for frame, one in ((pair.fine, maps.fine), (pair.coarse, maps.coarse)):
        rate = kick.rate_at_zero(law, epoch, frame.contour)
        c = one.coefficients(frame.nodes * frame.start)
        results.append((rate, float((1 + frame.origin @ one.kernel @ c) / (2 * rate))))
    fine, coarse = results
    error = max(abs(one / other - 1) for one, other in zip(fine, coarse, strict=True))
    if not error <= _LARGEST_CONSTANT_ERROR:
        raise ArithmeticError(
            f"The edge constants of random reshuffle could not be computed: estimated relative error {error:.1e}."
        )
    return fine


def amplification(law: Law, epoch: Epoch) -> float:
    """Below 1 exactly where the spectral radius of T is: the larger of ā² on F and of what the kernel adds."""
    pair = next(frames(law))
    largest = float((_mean_on(pair.fine, epoch, law.line) ** 2).max())
    return max(largest, pair.maps(epoch).fine.radius()) if largest < 1 else largest


def _mean_on(frame: Frame, epoch: Epoch, line: Array) -> Array:
    """ā at real points of F."""
    z, dz = frame.contour.points(_MEAN_DIGITS)
    x, slope = frame.law.transform(z)
    return 2 * ((epoch.mean(x, frame.law.rho) * z * slope / x * dz) @ (1 / (line - z[:, None]))).real
