r"""An epoch of random reshuffle as a map of energies along eigenvectors, from one contour at two resolutions.

The double Cauchy transform b (:mod:`.epochs`) is that of an operator T, a multiplication and an
integral, with ā and k/(λμ) entire:

.. math:: (Tg)(\lambda) = \bar a(\lambda)^2g(\lambda) + \int k(\lambda,\mu)g(\mu)\,dF(\mu), \qquad
    \bar a(\lambda) = -\frac{1}{2\pi i}\oint\frac{z\,e^{-\eta\rho/x}}{z-\lambda}\frac{x'}{x}\,dz

for single rows. ā, on which a large n depends, is exact; the smooth k/(λμ) is expanded in orthonormal polynomials in
:math:`\log(1+(\lambda-\text{low})/\text{scale})`, from b on an ellipse around F in that variable. Where F keeps off
zero the ellipse does too: only where b is as small as T does it give T to a relative accuracy.

**Residuals** r add :math:`\lVert r\rVert^2\nu(\lambda)` to the mean square of the error along the eigenvector of λ in
an epoch: what the kernel makes of a direction of eigenvalue λ₀ → 0 that carries :math:`\lVert r\rVert^2/\lambda_0`.
With C(z, τ) the solution at s = ρ of the equation for C at λ = τ,

.. math:: \sum_j\frac{\nu(\lambda_j)}{z-\lambda_j} = -\oint C(z, 1/x(\zeta))\,\frac{x'(\zeta)}{x(\zeta)\,\zeta}
    \frac{d\zeta}{2\pi i} - \frac{2\bar a'(0)}z - \frac1{z^2},

ζ around F and zero, z outside. *Derived* (res-lp-losses). Where both contours go around F alone the last two terms,
analytic inside z's, drop out, and ζ's around zero is the residue :math:`y_1\,\partial_\tau C(z,0)`, :math:`1/x =
y_1\zeta + \dots`.
"""

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from edgelaw._common.numerics import bracketed_root
from edgelaw._common.types import Array, Integers
from edgelaw.exact import agreement, first_epoch, levy
from edgelaw.exact.batches.partition import Partition
from edgelaw.exact.random_reshuffle import contours
from edgelaw.exact.random_reshuffle.batches import Batches
from edgelaw.exact.random_reshuffle.contours import COARSE, FINE, Complex, Contour, Law, Points, Resolution
from edgelaw.exact.random_reshuffle.epochs import Epoch, Pairs
from edgelaw.exact.random_reshuffle.rows import Rows

INSIDE = 0.8  # the average's contour, over that of the epoch
POLYNOMIALS = 24  # at most: more only carry rounding
_LEAST_STATED = 2e-9  # where two resolutions agree to more, they share errors


def mean_epochs(law: Law, contour: Contour, nodes: Complex) -> Callable[[Sequence[Epoch]], Complex]:
    """A function that gives ā at these nodes, a row per epoch."""
    z, x, weights = _mean_rule(law, contour, FINE.digits)
    here = weights[:, None] / (nodes - z[:, None])
    mirrored = weights[:, None] / (nodes.conj() - z[:, None]) if np.iscomplexobj(nodes) else here

    def means(epochs: Sequence[Epoch]) -> Complex:
        factors = np.array([epoch.mean(x, law.rho) for epoch in epochs])
        if mirrored is here:
            return 2 * (factors @ here).real
        return factors @ here + (factors @ mirrored).conj()

    return means


def rate_at_zero(law: Law, epoch: Epoch, contour: Contour, digits: float = FINE.digits) -> float:
    """−ā′(0)."""
    z, x, weights = _mean_rule(law, contour, digits)
    return float(2 * (epoch.mean(x, law.rho) @ (weights / z**2)).real)


def _mean_rule(law: Law, contour: Contour, digits: float) -> tuple[Complex, Complex, Complex]:
    """z of the upper half, x there, and z x′/x dz/(2πi); six times the digits, for eigenvalues inside are poles."""
    z, dz = contour.points(6 * digits)
    x, slope = law.transform(z)
    return z, x, z * slope / x * dz


@dataclass(frozen=True, eq=False)
class EpochMap:
    """s becomes mean² s + left (kernel leftᵀ s + kick), s energies over the root of their node's share of F."""

    mean: Complex
    left: Complex
    kernel: Array
    kick: Array
    asymmetry: float
    first: float

    def __call__(self, s: Complex) -> Complex:
        """The energies after an epoch."""
        return self.mean**2 * s + self.left @ (self.kernel @ (s @ self.left) + self.kick)

    def after(self, epochs: int, s: Complex) -> Complex:
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
    def _squares(self) -> list[Complex]:
        """The matrix to the powers 1, 2, 4, ..., as far as they were needed."""
        return [np.diag(self.mean**2) + self.left @ self.kernel @ self.left.T]

    @property
    def resolved(self) -> Complex:
        """left/(1 − mean²), transposed."""
        return self.left.T / (1 - self.mean**2)

    def solved(self, source: Complex) -> Complex:
        """The solution of (1 − T)s = source: a linear system as large as the number of polynomials."""
        resolved = self.resolved
        loop = np.eye(len(self.kernel)) - (resolved @ self.left).real @ self.kernel
        within = np.linalg.solve(loop, (resolved @ source).real)
        return source / (1 - self.mean**2) + (self.kernel @ within) @ resolved

    def radius(self) -> float:
        """Below 1 exactly where the spectral radius of T is, an eigenvalue as T preserves positivity, if ā² is."""
        return float(np.abs(np.linalg.eigvals(self.kernel @ (self.resolved @ self.left).real)).max())


class Frame:
    """A law seen from one contour at one resolution: all that does not depend on the step.

    `start` is the root of the shares of F's `nodes`, an isotropic start; `left` is λψ times it, ψ the polynomials,
    orthonormal for λ dF.
    """

    def __init__(self, law: Law, contour: Contour, resolution: Resolution):
        self.law, self.resolution, self.contour = law, resolution, contour.scaled(resolution.wide)
        z, self.dz = self.contour.points(resolution.digits)
        self.points = Points(z, law.transform(z)[0], *law.average(self.contour.scaled(INSIDE)), rho=law.rho)
        self.nodes, mass = law.measure(self.contour.scale, 0.8 if resolution == FINE else 0.7)
        self.start = np.sqrt(mass)
        self._triangle = _orthonormal(self._chebyshev(self.nodes), self.nodes * mass)
        self.outside = self.polynomials(z)
        self.left = self.polynomials(self.nodes) * (self.nodes * self.start)[:, None]

    @functools.cached_property
    def mean(self) -> Callable[[Sequence[Epoch]], Complex]:
        """Gives ā at the nodes, a row per epoch."""
        return mean_epochs(self.law, self.contour, self.nodes)

    def _chebyshev(self, at: Complex) -> Complex:
        """T_0, T_1, ... at points of any kind, a column each."""
        return np.polynomial.chebyshev.chebvander(self.contour.position(at), POLYNOMIALS - 1)

    def polynomials(self, at: Complex) -> Complex:
        """ψ at points of any kind, a column each."""
        table = self._chebyshev(at)[:, : len(self._triangle)]
        return scipy.linalg.solve_triangular(self._triangle, table.T, trans=1).T

    def kernel(self, epoch: Epoch, pairs: Pairs) -> Array:
        """k/(λμ) in the polynomials, from b without the multiplication and what is at zero."""
        outside = self.outside * self.dz[:, None]
        kernel = 2 * (outside.T @ (pairs.plain @ outside + pairs.conjugate @ outside.conj())).real
        inside = self.left / self.nodes[:, None]
        kernel -= (inside.T @ (inside * self.mean([epoch])[0][:, None] ** 2)).real
        if self.contour.low == 0:
            origin = self.polynomials(np.zeros(1))
            kernel -= self.law.null * origin.T @ origin
        return (kernel + kernel.T) / 2 if epoch.symmetric else kernel

    def kick(self, epoch: Epoch) -> Array:
        """What residuals of square 1 add in an epoch, in the polynomials."""
        tau, zeta, weights = contours.inner_rule(self.law, self.contour)
        values, at_zero = epoch.end(self.points, tau, self.resolution.times)
        total, z = (-tau / zeta * weights) @ values, self.points.z
        if self.contour.low > 0:
            total += at_zero / (self.law.rho - 1 + self.law.null)  # ρ times the share of zeros of UUᵀ
        else:
            total += 2 * rate_at_zero(self.law, epoch, self.contour) / z - 1 / z**2
        return 2 * ((total * self.dz) @ self.outside).real


def _orthonormal(table: Complex, weights: Complex) -> Complex:
    """The triangle R such that the columns of table R⁻¹ are orthonormal; fewer columns if there are no more."""
    if np.iscomplexobj(table):
        triangle, failed_at = scipy.linalg.lapack.dpotrf((table.T @ (table * weights[:, None])).real)
        triangle = triangle[: failed_at - 1, : failed_at - 1] if failed_at else triangle
    else:
        triangle = np.asarray(np.linalg.qr(np.sqrt(weights)[:, None] * table, mode="r"))
    small = np.abs(np.diag(triangle)) < 1e-6 * np.abs(triangle[0, 0])
    count = int(np.argmax(small)) if small.any() else len(triangle)
    return triangle[:count, :count]


Frames = tuple[Frame, Frame]  # of a contour, fine and coarse
_frame = functools.lru_cache(maxsize=8)(Frame)  # one just used is used again


def maps(frames: Frames, epoch: Epoch, noise: float = 0.0) -> tuple[EpochMap, EpochMap]:
    """An epoch in either frame, in as many polynomials as the two can agree on; with a kick if there is noise."""
    pairs = [epoch.pairs(frame.points, frame.resolution.times) for frame in frames]
    count = len(np.unique(frames[0].nodes))
    kernels = _agreed([frames[k].kernel(epoch, pairs[k]) for k in (0, 1)], count)
    kicks = [np.zeros_like(kernel) for kernel in kernels]
    if noise:
        kicks = _agreed([np.diag(noise * frame.kick(epoch)) for frame in frames], count)
    fine, coarse = (
        EpochMap(frame.mean([epoch])[0], frame.left, kernels[k], np.diag(kicks[k]), *pairs[k][2:])
        for k, frame in enumerate(frames)
    )
    return fine, coarse


def _agreed(both: list[Array], nodes: int) -> list[Array]:
    """The matrices of either frame with zeros for their last polynomials, one more in the coarse frame unless all stay.

    The number kept has the least sum of what is left out and what the two frames disagree on.
    """
    largest = min(map(len, both))
    fine, coarse = (part[:largest, :largest] for part in both)
    noise = np.maximum.accumulate(_shells(fine - coarse))
    beyond = np.append(np.minimum.accumulate(_shells(fine)[1:]), 0.0 if largest == nodes else np.inf)
    size = 1 + int(np.argmin(noise + beyond))
    sizes = size, size if size == nodes else size - 1
    kept = [np.arange(len(part)) < size for part, size in zip(both, sizes, strict=True)]
    return [np.where(kept & kept[:, None], part, 0.0) for part, kept in zip(both, kept, strict=True)]


def _shells(values: Array) -> Array:
    """The largest entry that comes with each polynomial, in size."""
    return np.maximum(np.abs(np.tril(values)), np.abs(np.triu(values)).T).max(axis=1)


def frames(law: Law) -> Iterator[Frames]:
    """Both frames on the most promising contour, and on another."""
    contour = None
    for contour in itertools.islice(contours.usable(law), 2):
        yield _frame(law, contour, FINE), _frame(law, contour, COARSE)
    if contour is None:
        raise ArithmeticError(
            "The reshuffle curve of this spectrum could not be computed: it has too few different eigenvalues, or "
            "gaps too wide, for a contour around it."
        )


def attempts(law: Law, epoch: Epoch) -> Iterator[Callable[[Integers], agreement.Attempt]]:
    """What `agreement.settled` may try: an epoch that leaves nothing, then one pair of frames after another."""
    if isinstance(epoch, Rows) and epoch.step * (2 - epoch.step) * law.rho > -np.log(agreement.AT_ONCE) / 2:
        yield functools.partial(_vanishing, next(frames(law)), epoch.step)
    for pair in frames(law):
        yield functools.partial(_attempt, pair, epoch)


def _attempt(pair: Frames, epoch: Epoch, n: Integers) -> agreement.Attempt:
    """Both losses at n from an isotropic start; a first epoch other than that of fresh rows enlarges the error."""
    both = maps(pair, epoch)
    with np.errstate(all="ignore"):
        fine, coarse = (_losses(frame, one, n) for frame, one in zip(pair, both, strict=True))
    wrong = abs(both[0].first - fine[0, 0]) / max(abs(fine[0, 0]), agreement.AT_ONCE)
    if not wrong <= agreement.LARGEST_ERROR:
        raise ArithmeticError(
            f"The reshuffle curve of this spectrum could not be computed: its first epoch is off by {wrong:.0e}."
        )
    error = 2 * wrong + both[0].asymmetry + _LEAST_STATED
    return agreement.Attempt(fine, coarse, pair[0].law.null, error)


def _losses(frame: Frame, one: EpochMap, n: Integers) -> Array:
    """Test and training loss after n epochs, ascending, from an isotropic start."""
    s, now, sums = frame.start, 0, np.empty((2, len(n)))
    for place, epoch in enumerate(n):
        s, now = one.after(int(epoch) - now, s), int(epoch)
        energy = frame.start * s
        sums[:, place] = energy.sum().real, (frame.nodes * energy).sum().real
    return np.array([frame.law.null + sums[0], sums[1] / frame.law.rho])


def _vanishing(pair: Frames, step: float, n: Integers) -> agreement.Attempt:
    """The first epoch alone, by its own equations, if it leaves nothing: T has losses to 1e-16 of the start only."""
    law = pair[0].law
    averages = (levy.Average(frame.points.nodes, frame.points.weights, error=0.0) for frame in pair)
    times, plateau = np.array([0.0, law.rho]), np.array([law.null, 0.0])
    losses = (first_epoch.losses(average, law.rho, step, times, law.null)[:, 1] for average in averages)
    fine, coarse = (both - plateau for both in losses)
    if not np.abs([fine, coarse]).max() < agreement.AT_ONCE:
        raise ArithmeticError("The first epoch leaves something.")
    return agreement.vanished(fine, coarse, law.null, _LEAST_STATED, n)


def edge(law: Law, epoch: Epoch) -> tuple[float, float]:
    """The rate −ā′(0) at a left edge at zero, and the potential g(0) there, (1 − T)g = λ; or a refusal."""

    def by(frame: Frame, made: EpochMap) -> tuple[float, float]:
        rate = rate_at_zero(law, epoch, frame.contour)
        moments = (made.solved(frame.nodes * frame.start) @ made.left).real
        return rate, float(1 + frame.polynomials(np.zeros(1))[0] @ made.kernel @ moments) / (2 * rate)

    def compared(pair: Frames) -> tuple[float, tuple[float, float]]:
        fine, coarse = map(by, pair, maps(pair, epoch))
        return float(np.abs(np.divide(coarse, fine) - 1).max()), fine

    tried = (functools.partial(compared, pair) for pair in frames(law))
    return agreement.agreeing("The edge constants of random reshuffle", tried, agreement.ENOUGH)[1]


def amplification(law: Law, epoch: Epoch) -> float:
    """Below 1 exactly where T's spectral radius is: the larger of ā² on F and of what the kernel adds."""
    pair = next(frames(law))
    line = np.linspace(law.lowest, law.highest, 200)[1:]  # ā = 1 at an edge at zero
    largest = float((mean_epochs(law, pair[0].contour, line)([epoch]) ** 2).max())
    return max(largest, maps(pair, epoch)[0].radius()) if largest < 1 else largest


def stable_factor(law: Law, cut: Partition) -> float:
    """By what all steps of batches may be multiplied before T's spectral radius is 1, to a relative 1e-6."""

    def excess(factor: float) -> float:
        return amplification(law, Batches(cut.scaled(factor))) - 1

    high = 2.0
    while excess(high) < 0:
        high *= 2
    return bracketed_root(excess, 0.5, high, 1e-6)
