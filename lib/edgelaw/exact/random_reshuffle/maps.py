"""An epoch of random reshuffle as a map of energies along eigenvectors, the kick of residuals included.

`reshuffle_operator` has T for functions of an eigenvalue and an isotropic start; labels start anywhere, and have
residuals. All steps share one contour and one basis of polynomials, so that maps can be interpolated between steps.
"""

import itertools
from typing import NamedTuple

import numpy as np

from edgelaw.exact.random_reshuffle import kick as reshuffle_kick
from edgelaw.exact.random_reshuffle import operator as reshuffle_operator

_RESOLUTIONS = reshuffle_operator.FINE, reshuffle_operator.ROUGH[0]
_LINE = 160  # powers of e to which ā's contour integral is done


class Smooth(NamedTuple):
    """What is not diagonal of an epoch: coefficients of T's kernel and of the kick, zero beyond what can be known."""

    kernel: np.ndarray
    kick: np.ndarray


class Setting:
    """A sample's law with one of its contours: polynomials at the eigenvalues, and maps at any step.

    With `left` = λψ, one row per eigenvalue of S, energies s become ā² s + left K (leftᵀ s)/d, and a residual r adds
    ‖r‖² left k/d.
    """

    def __init__(self, law, contour, noisy):
        self.law, self.contour, self.noisy = law, contour, noisy
        self.nodes, self.mass = law.measure(contour, True)
        self.left = self.nodes[:, None] * reshuffle_operator.polynomials(contour, self.nodes, self.mass)
        z, dz = contour(_LINE)
        self._x, slope = law.transform(z)
        cauchy = 2 * (z * slope / self._x * dz) / (self.nodes[:, None] - z)
        self._cauchy = np.concatenate([cauchy.real, -cauchy.imag], axis=1).T  # of real and imaginary parts

    def mean(self, epochs):
        """ā at the eigenvalues, a row per epoch."""
        factors = np.array([epoch.mean(self._x, self.law.rho) for epoch in epochs])
        return np.concatenate([factors.real, factors.imag], axis=1) @ self._cauchy

    def smooth(self, epoch):
        """Kernel and kick at two resolutions, in polynomials of this contour: as many as the two agree on."""
        made = [self._coefficients(epoch, resolution) for resolution in _RESOLUTIONS]
        size = min(len(made[0].kick), len(made[1].kick))
        sizes = (
            reshuffle_operator.kernel_sizes(made[0].kernel, made[1].kernel, len(self.nodes), epoch.fewest),
            _kick_sizes(*(part.kick[:size] for part in made)),
        )
        whole = self.left.shape[1]
        return [
            Smooth(_padded(part.kernel, of_kernel, whole), _padded(part.kick, of_kick, whole))
            for part, of_kernel, of_kick in zip(made, *sizes, strict=True)
        ]

    def _coefficients(self, epoch, resolution):
        """Kernel and kick at one resolution, in the polynomials of the fine one."""
        parts = reshuffle_operator.contour_parts(self.law, epoch, self.contour, resolution)
        _, kernel, _ = reshuffle_operator.kernel_of(parts, 0)
        if not self.noisy:
            return Smooth(kernel, np.zeros(len(kernel)))
        wide = self.contour.scaled(resolution.wide)
        average = self.law.average(wide.scaled(reshuffle_operator.INSIDE))
        values = reshuffle_kick.transform(self.law, epoch, wide, average, parts.z, resolution.times)
        outside = reshuffle_operator.polynomials(self.contour, self.nodes, self.mass, parts.z)
        return Smooth(kernel, 2 * ((values * parts.dz) @ outside).real)


def _kick_sizes(fine, rough):
    """How many coefficients of the kick: the number with the least sum of what is left out and what differs."""
    noise = np.maximum.accumulate(np.abs(fine - rough))
    beyond = np.append(np.minimum.accumulate(np.abs(fine[1:])), np.inf if len(fine) > 1 else 0.0)
    size = 1 + int(np.argmin(noise + beyond))
    return size, max(1, size - 1)


def _padded(values, size, whole):
    """The leading entries of a vector or a matrix, and zeros."""
    result = np.zeros((whole,) * values.ndim)
    corner = (slice(size),) * values.ndim
    result[corner] = values[corner]
    return result


def settings(law, noisy):
    """The sample's law with each contour on which its average is right, the most promising first."""
    for contour in itertools.islice(reshuffle_operator.usable_contours(law), 4):
        yield Setting(law, contour, noisy)
