r"""Single shuffle from given targets: the two-variable generating functions of its losses.

Notation and objects as in :mod:`edgelaw.exact.single_shuffle.pairs`. The mean over orders of
:math:`A^{j\top}NA^i`, a function of the sample matrix, has a deterministic equivalent that is a function of Σ; starts
enter it through one more linear functional. With :math:`q_a = (o_a\cdot t)^2` for the eigenvectors of the Gram matrix,
κ_a its eigenvalues, and :math:`y = 1/x(\zeta)` as in the theory of the average,

.. math:: \Bigl\langle\frac{\lambda}{y-\lambda}\Bigr\rangle_t = \sum_a\frac{q_a}{\zeta-\kappa_a} ,

which defines :math:`\langle\varphi\rangle_t` for φ(0) = 0. The residuals of least squares are what t has in the null
space of the Gram matrix, κ = 0. With E = 1 + α, F = 1 + β and the solution of :math:`(s_k-J)C = M`,

.. math:: C = \frac M{s_k+\sigma\lambda} + \sigma\varphi_k\mu_k\frac\lambda{s_k+\sigma\lambda}, \qquad
   \mu_k = \Bigl\langle\frac{\lambda\tau}{s_k+\sigma\lambda}\Bigr\rangle_t ,

the part of C that carries the start itself sums over k to EF/τ · M, and its share of the integral over s in Ψ to
:math:`(\beta FD_z + \alpha ED_w)M/\tau`. What remains is

.. math::

   \text{training} &: \langle\lambda(\rho EF + FD_z + ED_w)\rangle_t
      + \frac1\rho\sum_k\varphi_k\mu_k\,\{\langle\lambda T\rangle - s_k\langle\lambda T/(s_k+\sigma\lambda)\rangle
      + \sigma s_kg_kv_k\}, \\
   \text{fresh rows} &: \langle\lambda EF\rangle_t
      + \frac1\rho\sum_k\varphi_k\mu_k\,\{\langle\lambda\tau\rangle - s_kg_k\}, \\
   \text{distance} &: \langle EF\rangle_t + \frac\sigma\rho\sum_k\varphi_k\mu_kg_k, \qquad
   v_k = \Bigl\langle\frac\lambda{s_k+\sigma\lambda}\Bigr\rangle ,

for m times the training loss, for d times the mean squared error on a fresh row of the same law (noise included), and
for the squared distance. EF at λ = 0 is :math:`E_0F_0 = 1/((1-z)(1-w))`, and :math:`\langle EF\rangle_t` stands for
:math:`\langle EF-E_0F_0\rangle_t`; its nodes' total weight times :math:`E_0F_0` is added and taken from the
coefficients again, since without it the function would not decay. From the distance goes what the residuals have of it
in the null space, :math:`|r|^2(f(z)F_0 + f(w)E_0)` with f the slope at 0 of the mean of the iterates,
:math:`\langle E-E_0\rangle` for the one eigenvalue 0.
"""

import numpy as np

from edgelaw._common.compiled import compiled
from edgelaw.exact.single_shuffle import pairs as shuffle_pairs

TRAIN, FRESH, DISTANCE = range(3)
_NEAR = 1e-2  # of itself: a node so close to a place is next to it


class LabelPairs:
    """The three generating functions at pairs of points, for one average, start measure, step and ρ.

    `pairs` are the average's `shuffle_pairs.Pairs`; `null` is the start measure of a target in the null space of the
    Gram matrix, and `noise` its squared length.
    """

    def __init__(self, pairs, start, null=None, noise=0.0):
        self.pairs, self.start, self.null, self.noise = pairs, start, null, noise
        self.total = start.weights.sum().real

    def values(self, z, c, first, second):
        """The functions at pairs of indices into the points followed by their conjugates."""
        z, c = np.concatenate([z, z.conj()]), np.concatenate([c, c.conj()])
        return self._separable(z, c)[:, first, second] + self._sums(z, c, first, second)

    def _separable(self, z, c):
        """The terms without a sum over k, at all pairs of points."""
        start, rho = self.start, self.pairs.rho
        E, moved = _geometric(z, c, start.nodes)
        D = self._differences(z, c, start.nodes, E - 1)
        heavy = start.weights * start.nodes
        both = (E * heavy) @ E.T
        values = np.empty((3, len(z), len(z)), dtype=complex)
        values[TRAIN] = rho * both + (D * heavy) @ E.T + (E * heavy) @ D.T
        values[FRESH] = both
        E0, mean = 1 / (1 - z), moved @ start.weights
        values[DISTANCE] = (moved * start.weights) @ E.T + np.multiply.outer(E0, mean + self.total * E0)
        if self.noise:
            slope = self.noise * (_geometric(z, c, self.null.nodes)[1] @ self.null.weights)
            values[DISTANCE] -= np.multiply.outer(slope, E0) + np.multiply.outer(E0, slope)
        return values

    def _differences(self, z, c, places, alpha):
        """D at given places: ⟨λ'(α(λ') − α(λ))/(λ' − λ)⟩' over the nodes of the average.

        A node next to a place would cost digits: there α(λ') − α(λ) is (1 + α(λ'))α(λ)·(e^(−c(λ' − λ)) − 1).
        """
        pairs = self.pairs
        gaps = pairs.nodes[:, None] - places
        near = np.abs(gaps) < _NEAR * np.abs(places)
        divided = np.where(near, 0, pairs.heavy[:, None] / np.where(near, 1, gaps))
        E = _geometric(z, c, pairs.nodes)[0]
        D = (E - 1) @ divided - alpha * divided.sum(axis=0)
        node, place = np.nonzero(near)
        gap = gaps[node, place]
        exponents = -c[:, None] * gap
        slopes = np.where(gap == 0, -c[:, None], np.expm1(exponents) / np.where(gap == 0, 1, gap))
        return D + (E[:, node] * alpha[:, place] * slopes * pairs.heavy[node]) @ np.eye(len(places))[place]

    def _sums(self, z, c, first, second):
        """The sums over k."""
        pairs, a = self.pairs, c / self.pairs.rho
        alpha = _geometric(z, c, pairs.nodes)[0] - 1
        D = self._differences(z, c, pairs.nodes, alpha)
        reach = max(np.abs(pairs.nodes).max(), np.abs(self.start.nodes).max())
        furthest = np.abs(a[first] + a[second]).max() * pairs.rho * reach
        furthest = max(furthest, np.abs(np.log(np.abs(z[first] * z[second]))).max()) / (2 * np.pi)
        places, shares = shuffle_pairs.terms(furthest)
        heavy = self.start.weights * self.start.nodes
        return _label_sums(
            first,
            second,
            np.log(z),
            a,
            alpha,
            D,
            pairs.nodes,
            pairs.heavy,
            _geometric(z, c, self.start.nodes)[0] - 1,
            self.start.nodes.astype(complex),
            heavy.astype(complex),
            2 / pairs.step - 1,
            pairs.rho,
            places,
            shares,
        )


def _geometric(z, c, nodes):
    """1/(1 − z e^(−cλ)) for points z and nodes λ, and by how much it differs from its value at λ = 0."""
    exponents = -c[:, None] * nodes
    values = 1 / (1 - z[:, None] * np.exp(exponents))
    return values, z[:, None] * np.expm1(exponents) * values / (1 - z[:, None])


@compiled
def _inverse(x, y):
    scale = 1 / (x * x + y * y)
    return x * scale, -y * scale


@compiled
def _label_sums(
    first, second, logs, a, alpha, D, nodes, heavy, begun, starts, weighty, kappa, rho, places, shares
):
    """The sums over k of training, fresh-row loss and distance, for pairs of points; `begun` is α at the `starts`.

    Real and imaginary parts of the inner sums are kept apart, for vector registers.
    """
    tr, ti, dr, di, mr, mi = np.empty((6, nodes.size))
    sr, si, nr, ni = np.empty((4, starts.size))
    hr, hi = heavy.real.copy(), heavy.imag.copy()
    values = np.empty((3, first.size), np.complex128)
    for pair in range(first.size):
        i, j = first[pair], second[pair]
        sigma, logarithm = a[i] + a[j], logs[i] + logs[j]
        turn = logarithm.imag - 2 * np.pi * np.round(logarithm.imag / (2 * np.pi))
        at_r, at_i = -logarithm.real / rho, -turn / rho
        light, rest_total = 0j, 0j
        for k in range(nodes.size):
            tau = heavy[k] * (1 + alpha[i, k] + alpha[j, k])
            rest = heavy[k] * (D[i, k] + D[j, k])
            moved = sigma * nodes[k]
            tr[k], ti[k], dr[k], di[k] = tau.real, tau.imag, rest.real, rest.imag
            mr[k], mi[k] = at_r + moved.real, at_i + moved.imag
            light += tau
            rest_total += rest
        for k in range(starts.size):
            tau = weighty[k] * (1 + begun[i, k] + begun[j, k])
            moved = sigma * starts[k]
            sr[k], si[k] = tau.real, tau.imag
            nr[k], ni[k] = at_r + moved.real, at_i + moved.imag
        train, fresh, distance = 0j, 0j, 0j
        for n in range(places.size):
            way = 2 * np.pi / rho * places[n]
            gr, gi, ur, ui, vr, vi, er, ei = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for k in range(nodes.size):
                x, y = _inverse(mr[k], mi[k] + way)
                gr += tr[k] * x - ti[k] * y
                gi += tr[k] * y + ti[k] * x
                ur += dr[k] * x - di[k] * y
                ui += dr[k] * y + di[k] * x
                vr += hr[k] * x - hi[k] * y
                vi += hr[k] * y + hi[k] * x
            for k in range(starts.size):
                x, y = _inverse(nr[k], ni[k] + way)
                er += sr[k] * x - si[k] * y
                ei += sr[k] * y + si[k] * x
            s, g, v = at_r + 1j * (at_i + way), gr + 1j * gi, vr + 1j * vi
            factor = shares[n] * (er + 1j * ei) / (kappa + s * g)
            left = light - s * g
            train += factor * (rho * left + rest_total - s * (ur + 1j * ui) + sigma * s * g * v)
            fresh += factor * left
            distance += factor * g
        values[0, pair], values[1, pair] = train / rho, fresh / rho
        values[2, pair] = sigma * distance / rho
    return values
