r"""Single shuffle with averaged batches: the two-variable generating functions of its losses (*derived*).

An epoch multiplies the error by :math:`A = P_L\cdots P_1`, :math:`P_k = I - \tau_kU_k^\top U_k`, with
:math:`\kappa_kd` rows in :math:`U_k`. With the average ⟨·⟩ of :mod:`edgelaw.exact.levy` and Gaussian rows the planar
Dyson equation makes of every factor a function of λ,

.. math:: \theta_k = 1 - \kappa_ka_k\lambda, \qquad
   \frac1{a_k} = \frac1{\tau_k} + \Bigl\langle\lambda\,\frac{z\prod_{j\ne k}\theta_j}{1-z\prod_j\theta_j}\Bigr\rangle,
   \qquad \sum_n z^n\,EA^n \simeq \frac{1}{1-z\prod_j\theta_j} = 1 + \alpha ,

since a batch sees its own earlier visits through the response of its input to its output one epoch later. In the two
variables z and w (where a prime marks what belongs to w, and β is α′) ladder diagrams have the free part
:math:`(1+\alpha)(1+\beta) = \tau/(1 - zw\prod\theta_j\theta_j')`, :math:`\tau = 1 + \alpha + \beta`, so that with

.. math:: T_kY = \theta_k\theta_k'\,Y + \kappa_ka_ka_k'\,\lambda\,\langle\lambda\tau Y\rangle, \qquad
   Y = (I - zw\,T_L\cdots T_1)^{-1}1

the profile of the error, :math:`\sum z^iw^jE A^iA^{j\top} \simeq f = \tau Y`, gives the test loss
:math:`\Phi = \langle f\rangle`.

**The training loss needs no further diagrams.** For Gaussian rows, integration by parts over all m = ρd of them gives
for any matrix H of the rows that rotates with them, and f the profile of its mean,

.. math:: \frac1m E\operatorname{tr}(U^\top U\,H) = \langle\lambda f\rangle
   + \frac1\rho\Bigl\langle\!\Bigl\langle\lambda\mu\,\frac{f(\lambda)-f(\mu)}{\lambda-\mu}\Bigr\rangle\!\Bigr\rangle .

**Equal batches** have one θ and :math:`Y = (I - zwT^L)^{-1}1 = \frac1L\sum_s(I - sT)^{-1}1` over the L roots of
:math:`s^L = zw`. T is diagonal plus rank one: with :math:`q = \theta\theta'`, :math:`D = 1 - sq`, σ = a + a′,
p = aa′ and

.. math:: t_k = \Bigl\langle\frac{\lambda^{1+k}\tau}{D}\Bigr\rangle, \quad
   e_k = \Bigl\langle\frac{\lambda^{1+k}}{D}\Bigr\rangle, \quad
   u_k = \Bigl\langle\frac{\lambda^{1+k}T}{D}\Bigr\rangle, \quad c = \frac{s\kappa p\,t_0}{1-s\kappa p\,t_1},

the solution is :math:`(1 + c\lambda)/D`, the divided difference separates since D is quadratic in λ, and

.. math::

    \Phi &= \langle(1+\alpha)(1+\beta)\rangle + \frac1L\sum_s c\,t_0, \\
    \rho\Psi &= \frac1L\sum_s\Bigl\{u_0 + c\,u_1 + (c(1-s) - s\kappa\sigma)\,e_0t_0 + s\kappa^2p\,(e_1t_0+e_0t_1)
       + cs\kappa^2p\,e_1t_1\Bigr\},

with :math:`T = \rho\tau + D_z + D_w` as for single rows (`shuffle_pairs`), whose formulas these become as κ → 0. The
mean of :math:`u_0` is :math:`\langle\lambda T/(1-zwq^L)\rangle`. Terms of s far from 1 are smooth: many roots are
replaced by a Gauss rule.

**A short last batch** has its own :math:`a_s`, :math:`\theta_s`, :math:`T_s`. With n whole batches before it and
:math:`R = (I - zwT^n)^{-1}`, a sum over roots again, :math:`Y = RV` where :math:`((I-T_s)R + T_s)V = 1`: one small
linear system per pair of points. Y as a function of λ, whose derivative is needed at the nodes, is then

.. math:: Y(1 - zwq^nq_s) = 1 + \lambda\bigl\{q_s\kappa p\,(1-zwq^n)\,S + zw\,\kappa_sa_sa_s'x_s\bigr\}, \quad
   S = \frac1n\sum_s\frac{s\,\langle\lambda\tau V/D\rangle}{(1-s\kappa p\,t_1)\,D}, \quad
   zw\,x_s = \langle\lambda\tau(Y-V)\rangle .
"""

import functools

import numpy as np

from edgelaw.exact import sources
from edgelaw.exact.single_shuffle import batch_kernel as kernel
from edgelaw.exact.single_shuffle.pairs import Pairs

_DIGITS = 26.0  # e^−26 is left of the sum over roots
_ALL = 96  # so many roots, or fewer, are taken one by one
_CHUNK = 2**21  # numbers in an array of (pairs, roots, nodes)
_POLES = 5  # of α, next to z = 1 and next to the negative of it


class BatchPairs(Pairs):
    """Φ and Ψ/ρ at pairs of points, for one average and the batches of an epoch."""

    def __init__(self, average, partition, rho):
        super().__init__(average, float(partition.taus[0]), rho)
        self.whole = partition.batches if partition.equal else partition.batches - 1
        self.kappas, self.taus = partition.kappas[[0, -1]], partition.taus[[0, -1]]
        self.short = not partition.equal
        if not self.short:
            self.kappas[1] = 0.0
        self._start = self.taus.astype(complex)

    def real(self, c):
        """Whether amplitudes are real."""
        return (np.abs(c.imag) < 1e-7 * np.abs(c)).all(axis=1)

    def poles(self, log_z, c):
        """Some poles of α as functions of λ, for points z with amplitudes c: those nearest to the nodes."""
        count = (
            self.whole + self.short
        )  # the step of a short batch is the same, so that its θ is nearly the same
        roots = np.exp(-(log_z + 2j * np.pi * _pole_turns(count)[:, None]) / count)
        return (1 - roots) / (self.kappas[0] * c[:, 0])

    def _exponents(self, path, start):
        return kernel.amplitudes(path, self.nodes, self.heavy, self.whole, self.kappas, self.taus, start)

    def values(self, z, c, first, second):
        """Φ and Ψ/ρ at pairs of indices into the points followed by their conjugates."""
        z, c = np.concatenate([z, z.conj()]), np.concatenate([c, c.conj()])
        furthest = self._furthest(z, c)
        phases, shares = _roots(self.whole, furthest)
        function = self._short if self.short else self._equal
        phi, psi = function(z, c, first, second, phases, shares)
        phi += self.null / ((1 - z[first]) * (1 - z[second]))
        return np.stack([phi, psi / self.rho])

    def _furthest(self, z, c):
        """How many roots away from 1 the poles of the sums' terms are; infinite where they are all around."""
        theta = 1 - self.kappas[0] * c[:, :1] * self.nodes
        with np.errstate(all="ignore"):
            most = 2 * np.abs(np.log(theta)).max() * self.whole
        return max(most, 2 * np.abs(np.log(np.abs(z))).max()) / (2 * np.pi)

    def _equal(self, z, c, first, second, phases, shares):
        a = np.ascontiguousarray(c[:, 0])
        powers = z[:, None] * (1 - self.kappas[0] * a[:, None] * self.nodes) ** self.whole
        alpha = powers / (1 - powers)
        less = z[:, None] * (1 - self.kappas[0] * a[:, None] * self.nodes) ** (self.whole - 1)
        slope = -self.whole * self.kappas[0] * a[:, None] * less * (1 + alpha) ** 2
        T = alpha @ self._divided - alpha * self._divided.sum(axis=0) + self.heavy * slope
        T += self.rho * (0.5 + alpha)
        phi, psi = kernel.root_sums(
            first,
            second,
            np.log(z),
            a,
            alpha,
            T,
            self.nodes,
            self.heavy,
            self.kappas[0],
            self.whole,
            phases,
            shares,
        )
        phi += ((1 + alpha[first]) * (1 + alpha[second])) @ self.weights
        psi += ((T[first] + T[second]) / (1 - powers[first] * powers[second])) @ self.heavy
        return phi, psi

    def _short(self, z, c, first, second, phases, shares):
        phi, psi = np.empty(len(first), dtype=complex), np.empty(len(first), dtype=complex)
        size = max(1, _CHUNK // (len(phases) * len(self.nodes)))
        for start in range(0, len(first), size):
            place = slice(start, start + size)
            phi[place], psi[place] = self._with_short_batch(z, c, first[place], second[place], phases, shares)
        return phi, psi

    def _with_short_batch(self, z, c, first, second, phases, shares):
        """Φ and Ψ at some pairs where the last batch is short."""
        one, two = (_Side(self, z[i], c[i]) for i in (first, second))
        tau, tau_slope = 1 + one.alpha + two.alpha, one.alpha_slope + two.alpha_slope
        logarithm = np.log(z[first]) + np.log(z[second])
        logarithm = logarithm - 2j * np.pi * np.round(logarithm.imag / (2 * np.pi))
        s = np.exp(logarithm[:, None] / self.whole + 1j * phases)
        Y, slope = _profile(self, one, two, tau, s, shares)
        f, f_slope = tau * Y, tau_slope * Y + tau * slope
        phi = f @ self.weights
        psi = (f * (self.rho - 2 * self._divided.sum(axis=0))) @ self.heavy + f_slope @ self.heavy**2
        return phi, psi


class _Side:
    """What belongs to one of two points: its θ's and α at the nodes, and their derivatives by λ."""

    def __init__(self, pairs, z, c):
        (kappa, short), n = pairs.kappas, pairs.whole
        self.z, self.a, self.b = z[:, None], c[:, :1], c[:, 1:]
        self.theta, self.last = 1 - kappa * self.a * pairs.nodes, 1 - short * self.b * pairs.nodes
        self.less = self.z * self.theta ** (n - 1)
        self.power = self.less * self.theta
        G = 1 / (1 - self.power * self.last)
        self.alpha = self.power * self.last * G
        self.alpha_slope = -(n * kappa * self.a * self.less * self.last + short * self.b * self.power) * G**2


def _profile(pairs, one, two, tau, s, shares):
    """Y and its derivative by λ at the nodes, for pairs of points with roots s."""
    (kappa, short), n, nodes = pairs.kappas, pairs.whole, pairs.nodes
    product, sigma = kappa * one.a * two.a, one.a + two.a
    last_product = short * one.b * two.b
    q_s, u = one.last * two.last, one.power * two.power
    q_slope = -kappa * (sigma - 2 * product * nodes)
    D = 1 - s[:, :, None] * (one.theta * two.theta)[:, None]
    inverse = 1 / D
    weighted = (pairs.heavy * tau)[:, None] * inverse
    gain = shares / (1 - s * product * (weighted @ nodes))
    R = ((gain * s * product)[:, :, None] * inverse).transpose(0, 2, 1) @ weighted
    R *= nodes[:, None]
    places = np.arange(len(nodes))
    R[:, places, places] += 1 / (1 - u)
    last = (last_product * nodes)[:, :, None] * (pairs.heavy * tau)[:, None]  # the rank-one part of T_s
    matrix = (1 - q_s)[:, :, None] * R - (last_product * nodes)[:, :, None] * (
        (pairs.heavy * tau)[:, None] @ R
    )
    matrix += last
    matrix[:, places, places] += q_s
    V = np.linalg.solve(matrix, np.ones((len(matrix), len(nodes), 1)))
    Y = (R @ V)[:, :, 0]
    responses = (gain * s)[:, None] * (weighted @ V).transpose(0, 2, 1)
    S = (responses @ inverse)[:, 0]
    S_slope = ((responses * s[:, None]) @ inverse**2)[:, 0] * q_slope
    x = ((pairs.heavy * tau) * (Y - V[:, :, 0])).sum(axis=1, keepdims=True)
    q_s_slope = -short * (one.b + two.b - 2 * last_product * nodes)
    u_slope = n * one.less * two.less * q_slope
    inner = q_s * product * (1 - u) * S + last_product * x
    inner_slope = product * ((q_s_slope * (1 - u) - q_s * u_slope) * S + q_s * (1 - u) * S_slope)
    slope = inner + nodes * inner_slope + Y * (u * q_s_slope + q_s * u_slope)
    return Y, slope / (1 - q_s * u)


def _pole_turns(count):
    """Which poles of α to look at, counted around the circle of roots: the first ones, and those opposite."""
    near = np.arange(-(_POLES // 2), _POLES // 2 + 1)
    if count <= 2 * _POLES:
        return np.arange(count) - count // 2
    return np.concatenate([near, count // 2 + near])


def _roots(count, furthest):
    """Angles of the roots of unity, and their weights in the mean over all of them; a Gauss rule where it can be."""
    largest = 2.0 ** int(np.ceil(np.log2(max(furthest, 1.0)))) if np.isfinite(furthest) else np.inf
    if count <= _ALL or 8 * largest > count:
        return 2 * np.pi * np.arange(count) / count, np.full(count, 1 / count)
    return _root_rule(count, largest)


@functools.lru_cache(maxsize=32)
def _root_rule(count, largest):
    """The first roots on either side of 1 as they are, the others by a Gauss rule, as in `shuffle_pairs`."""
    explicit = max(1, int(np.ceil((0.12 * _DIGITS * np.sqrt(largest)) ** (2 / 3) - 1)))
    size = 2 + int(np.ceil(_DIGITS / 4.15 * np.sqrt(largest / (explicit + 1))))
    shift = (explicit + 1.0) * largest
    j = np.arange(explicit + 1, count // 2 + 1)
    chord = count / np.pi * np.sin(np.pi * j / count)
    y = 1 / (chord**2 + shift)
    masses = np.where(2 * j == count, 0.5, 1.0) * y
    roots, shares = sources.gauss_rule(y / y[0], masses, size)
    late = np.sqrt(np.maximum(1 / (roots * y[0]) - shift, 0))
    late = 2 * np.arcsin(np.minimum(np.pi * late / count, 1.0))
    near = 2 * np.pi / count * np.arange(-explicit, explicit + 1.0)
    shares = shares / (roots * y[0]) / count
    return np.concatenate([near, late, -late]), np.concatenate(
        [np.full(len(near), 1 / count), shares, shares]
    )
