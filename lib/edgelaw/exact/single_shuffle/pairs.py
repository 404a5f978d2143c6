r"""Single shuffle on any spectrum: the two-variable generating functions of its losses, without any eigenproblem.

With m = ρd rows in batches of κd, each row at a step τ (κ = 0 for single rows), chapters 9 and 13 derive

.. math:: \sum_n z^n\,E A^n \simeq 1 + \alpha, \quad
   \frac1a = \frac1\tau + \Bigl\langle\frac{\lambda\alpha}\theta\Bigr\rangle, \quad \theta = 1-\kappa a\lambda, \quad
   \alpha = \frac{z\theta^{\rho/\kappa}}{1-z\theta^{\rho/\kappa}}, \quad
   TY = \theta\theta'\,Y + \kappa p\,\lambda\,\langle\lambda\tau Y\rangle,

where :math:`\theta^{\rho/\kappa}` is :math:`e^{-\rho a\lambda}` for single rows; a′ and β are a and α at w,
σ = a + a′, p = aa′ and τ = 1 + α + β. The losses are the coefficients :math:`[z^nw^n]` of :math:`\Phi = \langle\tau
Y\rangle`, :math:`Y = (I - zw\,T^{\rho/\kappa})^{-1}1`, and of Ψ, which follows from it by integration by parts. As T is
diagonal plus rank one, both are **closed forms up to one sum**, over logarithms of zw or roots of unity. With

.. math::

   v_k = \frac{-\log zw + 2\pi ik}{\rho}, \quad w_k = \frac{e^{\kappa v}-1}\kappa, \quad r = 1 + \kappa w, \quad
   D = w + \lambda(\sigma - \kappa p\lambda), \quad t_j = \Bigl\langle\frac{\lambda^{1+j}\tau}D\Bigr\rangle, \quad
   e_j = \Bigl\langle\frac{\lambda^{1+j}}D\Bigr\rangle, \quad u_j = \Bigl\langle\frac{\lambda^{1+j}T}D\Bigr\rangle,

where now :math:`T = \rho\tau + D_z + D_w`,
:math:`D_z(\lambda) = \langle\lambda'\frac{\alpha(\lambda')-\alpha(\lambda)}{\lambda'-\lambda}\rangle'`, and
:math:`c = pt_0/(1-pt_1)`, :math:`b = \sigma t_0-\kappa pt_1`,

.. math::

    \Phi &= \frac{\langle\tau\rangle}{1-zw} + \frac1\rho\sum_k r\,\Bigl\{ct_0 - \frac bw\Bigr\}, \\
    \rho\Psi &= \tfrac12\langle\lambda T\rangle + \frac1\rho\sum_k\Bigl\{
       r\,\bigl(u_0 + c\,(u_1 + \kappa e_1 + we_0t_0) - be_0\bigr) - \tfrac\kappa2\langle\lambda T\rangle\Bigr\} .

The terms of k and −k together are even in k and analytic at infinity. The first few are taken as they are, the others
by the Gauss rule of :math:`\sum_{k>K} y_k\delta_{y_k}`, :math:`y = 1/(k^2 + (K+1)k_{\max})`, as far from the poles on
either side.
"""

import functools

import numpy as np
import numpy.typing as npt

from edgelaw._common.compiled import has_numba
from edgelaw._common.types import Array, ArrayLike, Integers
from edgelaw.exact import sources
from edgelaw.exact.levy import Average
from edgelaw.exact.single_shuffle import kernel


class Pairs:
    """Φ and Ψ/ρ at pairs of points for one average, with batches of κd of the ρd rows, each row at a step τ.

    What is solved at a point is a row whose first number is the amplitude a; points are given by log z.
    """

    def __init__(self, average: Average, rho: float, tau: float, kappa: float = 0.0) -> None:
        moving = average.nodes != 0
        self.null = average.weights[~moving].sum().real
        self.nodes = average.nodes[moving].astype(complex)
        self.weights = average.weights[moving].astype(complex)
        self.heavy = self.nodes * self.weights
        self.average, self.rho, self.tau, self.kappa = average, rho, tau, kappa
        self._mirror = np.abs(self.nodes[:, None].conj() - self.nodes).argmin(axis=1)
        gaps = self.nodes[:, None] - self.nodes
        np.fill_diagonal(gaps, np.inf)
        self._divided = self.heavy[:, None] / gaps
        self.equation = self._amplitudes([rho], [kappa], [tau])

    def _amplitudes(self, *kinds: ArrayLike) -> kernel.Equation:
        """The equation of batches of these kinds: their rows over d in an epoch, κ and τ."""
        rhos, kappas, taus = (np.asarray(x, dtype=float) for x in kinds)
        return kernel.Equation(self.nodes, self.heavy, rhos, kappas, taus)

    @property
    def count(self) -> int:
        """Batches per epoch; 0 for single rows, of which there are infinitely many."""
        return round(self.rho / self.kappa) if self.kappa else 0

    def around(self, log_z: npt.NDArray) -> npt.NDArray:
        """What is solved at points log z of descending angles; NaN from where that cannot be followed."""
        near_zero = self.decay(self.equation.taus, self.nodes).real.min(initial=0.0) - 5  # α is small there
        path = np.append(near_zero + 1j * np.pi, log_z)
        with np.errstate(all="ignore"):
            return kernel.follow(path, self._start(path[:1]), self.equation)[1:]

    def _start(self, path: npt.NDArray) -> npt.NDArray:
        """A guess at the solution where a path begins."""
        return self.equation.taus.astype(complex)

    def decay(self, solved: npt.NDArray, places: npt.NDArray) -> npt.NDArray:
        """δ at some λ: α is 1/(e^δ/z − 1)."""
        seen = solved[..., :1] * places
        return -self.rho / self.kappa * np.log(1 - self.kappa * seen) if self.kappa else self.rho * seen

    def alpha(self, log_z: npt.NDArray, solved: npt.NDArray, places: npt.NDArray) -> npt.NDArray:
        """α at some λ."""
        x = log_z[:, None] - self.decay(solved, places)
        return -np.exp(x) / np.expm1(x)

    def real(self, solved: npt.NDArray) -> npt.NDArray:
        """Whether amplitudes are real."""
        return np.abs(solved[:, 0].imag) < 1e-7 * np.abs(solved[:, 0])

    def poles(self, log_z: npt.NDArray, solved: npt.NDArray) -> npt.NDArray:
        """The poles of α as functions of λ that are nearest to the nodes, and of batches those opposite."""
        turns = np.arange(-2.0, 3)
        if not self.kappa:
            return (log_z + 2j * np.pi * turns[:, None]) / (self.rho * solved[:, 0])
        turns = np.unique(np.append(turns, self.count // 2 + turns) % self.count)
        return -np.expm1(-(log_z + 2j * np.pi * turns[:, None]) / self.count) / (self.kappa * solved[:, 0])

    def negative_powers(self, log_z: npt.NDArray, solved: npt.NDArray) -> float:
        """How much a has of negative powers of z: nothing, because no pole is followed past a branch point."""
        return 0.0

    def diagonal(self, log_z: npt.NDArray, solved: npt.NDArray) -> Array:
        """Φ and Ψ/ρ at the pairs (z, z̄), where they are squared norms as long as the series converge."""
        places = np.arange(len(log_z))
        return self.values(log_z, solved, places, places + len(log_z)).real

    def values(
        self, log_z: npt.NDArray, solved: npt.NDArray, first: Integers, second: Integers
    ) -> npt.NDArray:
        """Φ and Ψ/ρ at pairs of indices into the points followed by their conjugates."""
        points = self._points(log_z, solved)
        logs, (_, heavy) = points.logs, points.totals
        tau = points.weights[:, 0] @ (1 / self.nodes) + (points.own[:, 0] / points.places).sum(axis=1)
        phi, psi = self._sums(points, first, second)
        phi -= (tau[first] + tau[second]) / np.expm1(logs[first] + logs[second])
        phi += self.null / (np.expm1(logs[first]) * np.expm1(logs[second]))
        psi += (heavy[first] + heavy[second]) / 2
        return np.stack([phi, psi / self.rho])

    def label_sums(
        self, log_z: npt.NDArray, solved: npt.NDArray, start: Average, first: Integers, second: Integers
    ) -> npt.NDArray:
        """The sums over k of training loss, fresh-row loss and distance (`label_pairs`), for single rows."""
        return self._sums(self._points(log_z, solved), first, second, start)

    def resolvents(
        self, log_z: npt.NDArray, solved: npt.NDArray
    ) -> tuple[npt.NDArray, npt.NDArray, npt.NDArray]:
        """α and D at the nodes, and the points' own nodes: places, and weight · place times α and times D."""
        alpha = self.alpha(log_z, solved, self.nodes)
        slope = self.rho * solved[:, :1] / (1 - self.kappa * solved[:, :1] * self.nodes)
        D = alpha @ self._divided - alpha * self._divided.sum(axis=0)
        return alpha, D - self.heavy * slope * alpha * (1 + alpha), np.empty((3, len(log_z), 0), complex)

    def _points(self, log_z: npt.NDArray, solved: npt.NDArray) -> kernel.Points:
        """What the sums need to know of the points and their conjugates."""
        alpha, D, (places, moved, turned) = self.resolvents(log_z, solved)
        tau = self.heavy * (0.5 + alpha)
        kinds = [tau, self.rho * tau + self.heavy * D, 0.5 * self.heavy + 0 * tau]
        if self.kappa:
            kinds += [self.nodes * tau, self.nodes * (kinds[1] + self.kappa * kinds[2])]
        weights, own = (
            np.stack(kinds, axis=1),
            np.stack([moved, self.rho * moved + turned, 0 * moved], axis=1),
        )
        weights = np.concatenate([weights, weights.conj()[:, :, self._mirror]])
        logs, a, places, own = (np.concatenate([x, x.conj()]) for x in (log_z, solved[:, 0], places, own))
        totals = weights.sum(axis=2)[:, :2] + own.sum(axis=2)[:, :2]
        return kernel.Points(logs, a, weights, places, own, totals.T)

    def _sums(
        self, points: kernel.Points, first: Integers, second: Integers, start: Average | None = None
    ) -> npt.NDArray:
        """The sums over k, over ρ, for pairs of points: in Φ and Ψ, or in the three losses from a start."""
        a = points.a[:, None]
        reach = [self.decay(a, self.nodes), self.rho * a * points.places, points.logs.real]
        begun: tuple[npt.NDArray, ...] = ()
        if start is not None:
            reach.append(self.decay(a, start.nodes))
            tau = start.weights * start.nodes * (0.5 + self.alpha(points.logs, a, start.nodes))
            begun = start.nodes, tau[:, None]
        furthest = max(np.abs(x).max(initial=0.0) for x in reach) / np.pi
        rule = kernel.Rule(*terms(furthest, self.average.error, self.count), self.rho, 2 / self.tau - 1)
        if has_numba() and not (begun or self.kappa or points.places.size):
            return kernel.single_row_sums(first, second, points, self.nodes, rule) / self.rho
        size = max(1, 2**18 // (len(rule.places) * (len(self.nodes) + 2 * points.places.shape[1])))
        blocks = [slice(k, k + size) for k in range(0, len(first), size)]
        with np.errstate(all="ignore"):  # where amplitudes are not known
            parts = [self._block(first[k], second[k], points, rule, *begun) for k in blocks]
        return np.concatenate(parts, axis=1) / self.rho

    def _block(
        self,
        i: Integers,
        j: Integers,
        points: kernel.Points,
        rule: kernel.Rule,
        starts: npt.NDArray | None = None,
        begun: npt.NDArray | None = None,
    ) -> npt.NDArray:
        """The sums by a rule of k and weights, for so few pairs that their arrays are in the cache.

        A start has nodes and, at each point, weights of τ there.
        """
        shares, kappa = rule.shares, self.kappa
        logs, sigma, p = (
            (points.logs[i] + points.logs[j])[:, None],
            points.a[i] + points.a[j],
            points.a[i] * points.a[j],
        )
        sigma, p = sigma[:, None], p[:, None]
        v = (2j * np.pi / self.rho) * rule.places + (
            2j * np.pi * np.rint(logs.imag / (2 * np.pi)) - logs
        ) / self.rho
        w = np.expm1(kappa * v) / kappa if kappa else v

        def means(nodes: npt.NDArray, weights: npt.NDArray, i: Integers = i, j: Integers = j) -> npt.NDArray:
            return kernel.inverse_sums(i, j, nodes * (sigma - kappa * p * nodes), weights, w)

        moments = means(self.nodes, points.weights)
        if points.places.size:
            moments += sum(means(points.places[k], points.own / 2, k, k) for k in (i, j))
        whole, total = ((x[i] + x[j])[:, None] for x in points.totals)
        if kappa:
            t0, u0, e0, t1, u1 = moments
            r, c, b = 1 + kappa * w, p / (1 - p * t1), sigma * t0 - kappa * p * t1
            psi = r * (u0 + c * t0 * (u1 + w * e0 * t0) - b * e0) - kappa / 2 * total
            return np.stack([r * (c * t0 * t0 - b / w), psi]) @ shares
        (t0, u0, e0), gain = moments, rule.gain
        c = shares / (gain + w * t0)  # 1 − pt₁ is (gain + wt₀)p/σ, so no digits are lost
        if starts is None or begun is None:
            phi, psi = -sigma * gain * c * t0 / w, c * (t0 * total + gain * (u0 - sigma * e0 * t0))
            return np.stack([phi, psi]).sum(axis=2)
        c *= means(starts, begun)[0]
        fresh, distance = c * (whole - w * t0), sigma * c * t0
        return np.stack([c * (total - w * u0) + w * e0 * distance, fresh, distance]).sum(axis=2)


def terms(furthest: float, error: float, count: int = 0) -> tuple[Array, Array]:
    """k and weights of the sum over k, or over so many roots of unity, for poles up to i·furthest."""
    largest = (
        float(2.0 ** (np.ceil(2 * np.log2(max(furthest, 1.0))) / 2)) if np.isfinite(furthest) else np.inf
    )
    if count and (count <= 96 or 8 * largest > count):
        return np.arange(float(count)) - count // 2, np.ones(count)
    digits = np.ceil(-np.log10(error + np.finfo(float).eps))
    return _sum_rule(largest if np.isfinite(largest) else 1.0, float(digits), count)


@functools.lru_cache(maxsize=64)
def _sum_rule(largest: float, decimal: float, count: int) -> tuple[Array, Array]:
    """The terms |k| ≤ K as they are and the others by a Gauss rule; K makes the two parts cost the same."""
    digits = decimal * np.log(10)
    explicit = max(1, int(np.ceil((0.12 * digits * np.sqrt(largest)) ** (2 / 3) - 1)))
    size = 2 + int(np.ceil(digits / 4.15 * np.sqrt(largest / (explicit + 1))))
    shift = (explicit + 1.0) * largest
    if count:
        k = np.arange(explicit + 1.0, count // 2 + 1)
        y = 1 / ((count / np.pi * np.sin(np.pi * k / count)) ** 2 + shift)
        masses = np.where(2 * k == count, 0.5, 1.0) * y
    else:
        k = np.arange(explicit + 1.0, 20001)
        u, weights = np.polynomial.legendre.leggauss(60)
        u, weights, start = (u + 1) / 2, weights / 2, 20000.5  # the rest is an integral over k = start/u
        beyond = u**2 / (start**2 + shift * u**2)
        y = np.append(1 / (k**2 + shift), beyond)
        masses = np.append(y[: len(k)], weights * beyond * start / u**2)
    roots, parts = sources.gauss_rule(y / y[0], masses, size)
    late = np.sqrt(np.maximum(1 / (roots * y[0]) - shift, 0))
    if count:
        late = count / np.pi * np.arcsin(np.minimum(np.pi * late / count, 1.0))
    near, shares = np.arange(-explicit, explicit + 1.0), parts / (roots * y[0])
    return np.concatenate([near, late, -late]), np.concatenate([np.ones(len(near)), shares, shares])
