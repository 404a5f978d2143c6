r"""Single shuffle on spectra with single large eigenvalues: the poles of α are followed to where contours cannot go.

The average of a sample is known outside a contour in ζ, through :math:`t = 1/G(\zeta)`. It is a functional of functions
that are analytic inside, and α has poles, at :math:`\lambda_k = (\log z + 2\pi ik)/c`. The contours of `curve`
keep them outside. That is not always possible: where an eigenvalue stands alone, t has critical points above and below
it, at a relative distance of about :math:`1/\sqrt m`, which belong inside, and a pole may have to pass below one of
them long before |z| = 1. Nothing happens to the losses then. The pole's place :math:`\zeta_k`, with
:math:`t(\zeta_k) = \rho\lambda_k`, goes on smoothly; only :math:`\lambda_k` turns around at the critical value and
comes back on another sheet of ζ(t).

So poles are allowed inside, and what this changes is added. Let N be the average of a contour, and let φ have a simple
pole of residue r at :math:`\lambda_k` inside. Without the pole's part φ is analytic, and of 1/(λ − λ_k) the average is
known from :math:`\zeta_k`. Hence

.. math:: \langle\varphi\rangle = N(\varphi) + r\,\Delta_k, \qquad
   \lambda_k\Delta_k = \rho - \frac{\zeta_k}{\lambda_k} - N\Bigl(\frac{\lambda}{\lambda-\lambda_k}\Bigr),

where Δ vanishes as long as the pole is outside. The equation for c becomes

.. math:: c\,\bigl(1/\eta + N(\lambda\alpha)\bigr) + \sum_k\lambda_k\Delta_k = \rho, \qquad
   t(\zeta_k) = \rho\lambda_k,

to be solved for c and all :math:`\zeta_k` together: it is regular at the critical points. In Φ and Ψ every function
averaged is linear in α and D, which have residues 1/c and :math:`-\langle\lambda/(\lambda-\lambda_k)\rangle/c`, so
that a pole acts like one more node of its own point z. The resolvents :math:`1/(s_k+\sigma\lambda)` have poles as well,
but τ vanishes there, and in Ψ they cancel.

Two points with the same poles, z = w, would have to be treated as a limit. They do not occur on staggered circles
(`graded_circle`), which are the only ones used here.
"""

import numpy as np

from edgelaw.exact.single_shuffle import kernel
from edgelaw.exact.single_shuffle.pairs import Pairs, stations

_FIRST = -5.0  # log |z| where all poles are far to the left
_RADII = 40  # stations from there to the circle
_POWERS = 8  # negative powers of z that are asked for
_FAR = 2.0  # poles so many times as far away as the furthest node
_NEGLIGIBLE = 1e-9  # and with so small a λΔ/ρ are outside


class FollowedPairs(Pairs):
    """Φ and Ψ/ρ at pairs of points, some poles of α being followed.

    What is solved at a point is a row: c, log z, and the places ζ of the poles followed.
    """

    def __init__(self, average, step, rho, gram, parts, turns):
        super().__init__(average, step, rho)
        self._gram, self._parts, self._turns = gram, parts, turns

    def around(self, radius, angles):
        """The solution at radius·e^(i·angles), angles descending from π, and Newton's largest last relative change."""
        logarithm = np.log(radius)
        way = np.union1d(stations(logarithm), angles)[::-1]
        way = way[way >= angles[-1]]
        path = np.concatenate(
            [np.linspace(_FIRST, logarithm, _RADII)[:-1] + 1j * np.pi, logarithm + 1j * way]
        )
        c, _ = self._exponents(np.exp(path[:1]), self._start)
        poles = (path[0] + 2j * np.pi * self._turns) / c[0]
        seen = (self.heavy / (self.nodes - poles[:, None])).sum(axis=1)
        solved, worst = kernel.followed_exponents(
            path,
            self.nodes,
            self.heavy,
            1 / self.step,
            self.rho,
            self._gram,
            self._parts,
            self._turns,
            np.append(c[0], (self.rho - seen) * poles),
        )
        places = _RADII - 1 + np.searchsorted(-way, -angles)
        return np.insert(solved[places], 1, path[places], axis=1), worst

    def real(self, solved):
        """Real exponents are not asked for: no point is on the real axis."""
        return np.ones(len(solved), dtype=bool)

    def negative_powers(self, angles, solved):
        """The largest coefficient of the first negative powers of z in c, over c at z = 0, from equidistant angles."""
        waves = np.exp(1j * np.multiply.outer(np.arange(1, _POWERS), angles))
        return np.abs((waves * solved[:, 0]).real.mean(axis=1)).max() / np.abs(self._start)

    def poles(self, log_z, solved):
        """The nearest poles of α that are not followed."""
        low, high = self._turns[0], self._turns[-1]
        turns = 2 * np.pi * np.array([low - 2, low - 1, high + 1, high + 2])[:, None]
        return (log_z + 1j * turns) / solved[:, 0]

    def values(self, z, solved, first, second):
        """Φ and Ψ/ρ at pairs of indices into the points followed by their conjugates."""
        c, logs, zeta = solved[:, 0], solved[:, 1], solved[:, 2:]
        poles = (logs[:, None] + 2j * np.pi * self._turns) / c[:, None]
        inverse = 1 / (self.nodes - poles[:, :, None])
        alone = 1 - self.rho + zeta / poles  # −⟨λ_k/(λ − λ_k)⟩
        moved = self.rho - zeta / poles - inverse @ self.heavy  # λ_k Δ_k
        outside = (np.abs(poles) > _FAR * np.abs(self.nodes).max()) & (np.abs(moved) < _NEGLIGIBLE * self.rho)
        moved = np.where(outside, 0, moved) / c[:, None]
        alpha, D = self._resolvents(np.exp(logs), c)
        D -= (moved[:, :, None] * inverse).sum(axis=1)
        own = np.stack([np.where(outside, 1, poles), moved, -(1 - alone) * moved])
        return self._values(logs, c, alpha, D, own, first, second)
