r"""An epoch of random reshuffle as a map of energies along eigenvectors, from one contour at two resolutions.

The double Cauchy transform b of :mod:`~edgelaw.exact.random_reshuffle.rows` or
:mod:`~edgelaw.exact.random_reshuffle.batches` is that of an operator T, a multiplication and an integral,

.. math:: (Tg)(\lambda) = \bar a(\lambda)^2g(\lambda) + \int k(\lambda,\mu)g(\mu)\,dF(\mu),

with ā and k/(λμ) entire. ā is computed by an integral (:mod:`.means`) at the eigenvalues; k/(λμ) by orthonormal
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import scipy.linalg

from edgelaw._common.types import Array, Integers
from edgelaw.exact import agreement, first_epoch, levy
from edgelaw.exact.random_reshuffle import kick, means
from edgelaw.exact.random_reshuffle.contours import INSIDE, Contour, Epoch, Law, Nodes, Pairs, Points, usable
from edgelaw.exact.random_reshuffle.rows import Rows

POLYNOMIALS = 24  # at most: more only carry rounding
_LEAST_STATED = 2e-9  # where two resolutions agree to more, they share errors
_AT_ONCE = 1e-7  # a first epoch that leaves less is computed apart: the second is lost in rounding
CONTOURS = (
    2  # tried at most: a third lowered few stated errors of 300 random cases, and saved none from refusal
)
Result = TypeVar("Result")


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
    """s becomes mean² s + left (kernel leftᵀ s + kick), s energies over the root of their node's share of F."""

    mean: Nodes
    left: Nodes
    kernel: Array
    kick: Array

    def __call__(self, s: Nodes) -> Nodes:
        """The energies after an epoch."""
        return self.mean**2 * s + self.left @ (self.kernel @ (s @ self.left) + self.kick)

    def after(self, epochs: int, s: Nodes) -> Nodes:
        """The energies after so many epochs without kicks: one by one, or by squares of the matrix over long ways."""
        if epochs <= len(s):
            for _ in range(epochs):
                s = self(s)
            return s
        for bit in range(epochs.bit_length()):
            if bit == len(self._squares):
                self._squares.append(self._squares[-1] @ self._squares[-1])
            if (epochs >> bit) & 1:
                s = self._squares[bit] @ s
        return s

    @functools.cached_property
    def _squares(self) -> list[Nodes]:
        """The matrix to the powers 1, 2, 4, ..., as far as they were needed."""
        return [np.diag(self.mean**2) + self.left @ self.kernel @ self.left.T]

    def coefficients(self, source: Nodes) -> Array:
        """leftᵀ s for the solution of (1 − T)s = source: a linear system as large as the number of polynomials."""
        weighted = self.left.T / (1 - self.mean**2)
        share = (weighted @ self.left).real
        return np.linalg.solve(np.eye(len(share)) - share @ self.kernel, (weighted @ source).real)

    def ends(self) -> Nodes:
        """Where epochs lead: the solution of (1 − T)s = kick."""
        pushed = self.kernel @ self.coefficients(self.left @ self.kick) + self.kick
        return self.left @ pushed / (1 - self.mean**2)

    def radius(self) -> float:
        r"""Below 1 exactly where the spectral radius of T is, provided that ā² is.

        T preserves positivity, so that its spectral radius is an eigenvalue. With k = λμ ΣKψψ it is below 1 if the
        radius of :math:`K\int\psi\psi^\top\lambda^2(1-\bar a^2)^{-1}dF` is, a matrix as large as the number of ψ.
        """
        share = ((self.left.T / (1 - self.mean**2)) @ self.left).real
        return float(np.abs(np.linalg.eigvals(self.kernel @ share)).max())


class Frame:
    """A law seen from one contour at one resolution: all that does not depend on the step.

    `left` is λψ on F's `nodes`, ψ the polynomials, orthonormal for λ dF; `inside`, `outside` and `origin` are ψ
    there, on the contour, and at zero, which must not be on its left.
    """

    def __init__(self, law: Law, contour: Contour, resolution: Resolution):
        self.law, self.resolution, self.contour = law, resolution, contour.scaled(resolution.wide)
        z, self.dz = self.contour.points(resolution.digits)
        self.points = Points(z, law.transform(z)[0], *law.average(self.contour.scaled(INSIDE)), rho=law.rho)
        self.nodes, self.mass = law.measure(self.contour, resolution == FINE)
        self._triangle = _orthonormal(_chebyshev(self.contour.position(self.nodes)), self.nodes * self.mass)
        self.inside, self.outside = self.polynomials(self.nodes), self.polynomials(z)

    def polynomials(self, at: Nodes) -> Nodes:
        """ψ at points of any kind, a column each."""
        table = _chebyshev(self.contour.position(at))[:, : len(self._triangle)]
        return scipy.linalg.solve_triangular(self._triangle, table.T, trans=1).T

    @functools.cached_property
    def left(self) -> Nodes:
        """λψ times the root of the nodes' shares of F."""
        return self.inside * (self.nodes * self.start)[:, None]

    @property
    def origin(self) -> Array:
        """ψ at zero."""
        return self.polynomials(np.zeros(1))[0]

    @property
    def start(self) -> Nodes:
        """An isotropic start: the root of the nodes' shares."""
        return np.sqrt(self.mass)

    @functools.cached_property
    def mean(self) -> Callable[[Sequence[Epoch]], Nodes]:
        """ā at the nodes, a row per epoch."""
        return means.at(self.law, self.contour, self.nodes)

    def kernel(self, epoch: Epoch, pairs: Pairs) -> Array:
        """k/(λμ) in the polynomials: what b tells of T, without the multiplication and what is at zero."""
        outside = self.outside * self.dz[:, None]
        kernel = 2 * (outside.T @ (pairs.plain @ outside + pairs.conjugate @ outside.conj())).real
        mean = self.mean([epoch])[0]
        kernel -= (self.inside.T @ (self.inside * (self.mass * mean**2)[:, None])).real
        if self.contour.low == 0:
            kernel -= self.law.null * np.multiply.outer(self.origin, self.origin)
        return (kernel + kernel.T) / 2 if epoch.symmetric else kernel

    def kick(self, epoch: Epoch) -> Array:
        """What residuals of square 1 add in an epoch, in the polynomials."""
        values = kick.transform(self.law, epoch, self.contour, self.points, self.resolution.times)
        return 2 * ((values * self.dz) @ self.outside).real


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
class Maps:
    """An epoch at two resolutions, how far from its symmetry b is, and the first epoch's test loss."""

    fine: EpochMap
    coarse: EpochMap
    asymmetry: float
    first: float


@dataclass(frozen=True, eq=False)
class Frames:
    """The two frames of a contour."""

    fine: Frame
    coarse: Frame

    def maps(self, epoch: Epoch, noisy: bool = False) -> Maps:
        """An epoch in either frame, in as many polynomials as the two can agree on; with a kick if it is noisy."""
        both = self.fine, self.coarse
        pairs = [epoch.pairs(frame.points, frame.resolution.times) for frame in both]
        nodes = len(self.fine.nodes)
        kernels = _agreed(self.fine.kernel(epoch, pairs[0]), self.coarse.kernel(epoch, pairs[1]), nodes)
        kicks = tuple(np.zeros(len(kernel)) for kernel in kernels)
        if noisy:
            kicks = _agreed(self.fine.kick(epoch), self.coarse.kick(epoch), nodes)
        fine, coarse = (
            EpochMap(frame.mean([epoch])[0], frame.left, kernel, kick)
            for frame, kernel, kick in zip(both, kernels, kicks, strict=True)
        )
        return Maps(fine, coarse, pairs[0].asymmetry, pairs[0].first)


def _agreed(fine: Array, coarse: Array, nodes: int) -> tuple[Array, ...]:
    """A kernel or a kick of either frame without its last polynomials, for which there are zeros.

    Their number has the least sum of what is left out and what the two frames disagree on. The coarse computation takes
    one less, unless they are all there are.
    """
    largest = min(len(fine), len(coarse))
    complete = largest == nodes
    here = (slice(largest),) * fine.ndim
    noise = np.maximum.accumulate(_shells(fine[here] - coarse[here]))
    beyond = np.append(np.minimum.accumulate(_shells(fine[here])[1:]), 0.0 if complete else np.inf)
    size = 1 + int(np.argmin(noise + beyond))
    fewer = size if complete and size == largest else size - 1
    return _cut(fine, size), _cut(coarse, fewer)


def _shells(values: Array) -> Array:
    """The largest entry that comes with each polynomial, in size."""
    if values.ndim == 1:
        return np.abs(values)
    return np.array([np.abs([values[k, : k + 1], values[: k + 1, k]]).max() for k in range(len(values))])


def _cut(values: Array, size: int) -> Array:
    """The leading entries of a vector or a matrix, and zeros."""
    corner, result = (slice(size),) * values.ndim, np.zeros_like(values)
    result[corner] = values[corner]
    return result


def best(what: str, attempts: Iterable[Callable[[], tuple[float, Result]]], enough: float) -> Result:
    """The first result whose two resolutions differ by no more than `enough`, or that where they differ least.

    An attempt gives their difference and a result, or raises `ArithmeticError`. What differs by more than a curve may
    is refused.
    """
    least, result, refusal = np.inf, None, None
    for attempt in attempts:
        try:
            difference, made = attempt()
        except (ArithmeticError, np.linalg.LinAlgError) as failure:
            refusal = refusal or failure
            continue
        if result is None or difference < least:
            least, result = difference, made
        if least <= enough:
            break
    if result is None or not least <= agreement.LARGEST_ERROR:
        message = f"{what} could not be computed: estimated relative error {least:.1e}."
        raise ArithmeticError(message) from refusal
    return result


def frames(law: Law, first: int = 0) -> Iterator[Frames]:
    """Both frames on one contour after another, from a place on, the most promising first."""
    for contour in itertools.islice(usable(law), first, None):
        yield Frames(Frame(law, contour, FINE), Frame(law, contour, COARSE))


def attempts(law: Law, epoch: Epoch) -> Iterator[Callable[[Integers], agreement.Attempt]]:
    """What `agreement.settled` may try: an epoch that leaves nothing, then one pair of frames after another."""
    if isinstance(epoch, Rows) and epoch.step * (2 - epoch.step) * law.rho > -np.log(_AT_ONCE) / 2:
        yield functools.partial(_vanishing, law, epoch.step)
    for pair in itertools.islice(frames(law), CONTOURS):
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

    def one(frame: Frame, made: EpochMap) -> Array:
        rate = means.rate_at_zero(law, epoch, frame.contour)
        c = made.coefficients(frame.nodes * frame.start)
        return np.array([rate, (1 + frame.origin @ made.kernel @ c) / (2 * rate)])

    def both(pair: Frames) -> tuple[float, Array]:
        maps = pair.maps(epoch)
        fine, coarse = one(pair.fine, maps.fine), one(pair.coarse, maps.coarse)
        return float(np.abs(coarse / fine - 1).max()), fine

    attempts = (functools.partial(both, pair) for pair in itertools.islice(frames(law), CONTOURS))
    rate, potential = best("The edge constants of random reshuffle", attempts, agreement.ENOUGH)
    return float(rate), float(potential)


def amplification(law: Law, epoch: Epoch) -> float:
    """Below 1 exactly where the spectral radius of T is: the larger of ā² on F and of what the kernel adds."""
    pair = next(frames(law))
    line = np.linspace(law.lowest, law.highest, 200)[1:]  # ā = 1 at an edge at zero
    largest = float((means.at(law, pair.fine.contour, line)([epoch]) ** 2).max())
    return max(largest, pair.maps(epoch).fine.radius()) if largest < 1 else largest
