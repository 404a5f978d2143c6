r"""Single shuffle on any spectrum: the two-variable generating functions of its losses, and their coefficients.

One epoch multiplies the error by A. In terms of the average ⟨·⟩ of :mod:`edgelaw.theory.levy`, with m = ρd,

.. math:: \sum_n z^n\,E A^n \simeq (I - z e^{-c\Sigma})^{-1}, \qquad c\,\bigl(1/\eta + \langle\lambda\alpha\rangle\bigr)
   = \rho, \qquad \alpha = \frac{z e^{-c\lambda}}{1 - z e^{-c\lambda}},

and with a = c/ρ at z, b and β the same at w, σ = a + b, γ = ab, and the linear operator J on functions of λ,
:math:`J C = -\sigma\lambda C + \gamma\lambda\langle\lambda(1+\alpha+\beta)C\rangle`,

.. math:: \Phi(z, w) = \sum_{i,j} z^i w^j\,\frac{E\operatorname{tr}A^iA^{j\top}}{d}
   = \langle(1+\alpha+\beta)\,C_0\rangle, \qquad C_0 = (I - zw\,e^{\rho J})^{-1}1 .

The training loss is the same with :math:`S = \sum_k u_ku_k^\top` in the trace. With :math:`C_s = e^{sJ}C_0`,
:math:`p = e^{a\lambda s}`, :math:`q = e^{b\lambda s}`, :math:`X = a\langle\lambda\alpha p\rangle` and
:math:`Y = b\langle\lambda\beta q\rangle` it is :math:`[z^nw^n]\,\Psi/\rho`,

.. math:: \Psi = \int_0^\rho \bigl\{&\langle\lambda(1+\alpha+\beta)C_0\rangle
   + XY\langle\lambda(1+\alpha+\beta)C_s\rangle \\
   &- X\langle\lambda(q\beta C_s + (1+\alpha)C_0/p)\rangle
   - Y\langle\lambda(p\alpha C_s + (1+\beta)C_0/q)\rangle\bigr\}\,ds .

On N nodes J is a diagonal plus a rank-one matrix; all pairs (z, w) of a contour are done in batches, a quarter of
them thanks to the symmetries :math:`\Phi(z,w) = \Phi(w,z) = \overline{\Phi(\bar z,\bar w)}`.

The coefficients :math:`[z^nw^n]` are double contour integrals, on a circle in general. At ρ = 1 and for large n the
circle is replaced by a hyperbola in log z around the cut from z = 1, whose two dozen nodes serve all n up to twice
the smallest. It may enter the cloud of inverse eigenvalues of A, where Φ is not analytic, and it does at large steps
and small n; so a hyperbola is believed only where two of different sizes agree.
"""

import numpy as np
import scipy.optimize


class Pairs:
    """Φ and Ψ/ρ on all pairs of given points, for one average, step and ρ; `samples` points in the integral over s."""

    def __init__(self, average, step, rho, samples):
        nodes, weights = average.nodes.astype(complex), average.weights.astype(complex)
        null = nodes == 0
        self.null, self.nodes, self.weights = weights[null].sum(), nodes[~null], weights[~null]
        self.step, self.rho = step, rho
        x, dx = np.polynomial.legendre.leggauss(samples)
        self.s, self.ds = rho * (x + 1) / 2, rho * dx / 2

    def exponent(self, z):
        """c(z), followed along the ray from 0 to z; where ρ < 1, to −r first and then around the circle.

        For ρ < 1 all nodes' terms are singular at z = 1, though c is not, and rays that pass it would lose their way.
        """
        c = np.full(z.shape, self.step * self.rho, dtype=complex)
        end = z if self.rho >= 1 else -np.abs(z)
        for part in np.linspace(0.05, 1, 20):
            c, change = self._newton(part * end, c, 4)
        if self.rho < 1:
            turn = np.angle(-z)
            for part in np.linspace(0, 1, 160)[1:]:
                c, change = self._newton(end * np.exp(1j * part * turn), c, 3)
        c, change = self._newton(z, c, 8)
        worst = np.abs(change / c).max()
        if not worst < 1e-9:
            raise ArithmeticError(
                f"The equation for single shuffle's exponent was solved to {worst:.0e} only."
            )
        return c

    def _newton(self, z, c, times):
        for _ in range(times):
            powers = z[:, None] * np.exp(-c[:, None] * self.nodes)
            alpha = powers / (1 - powers)
            h = (alpha * self.nodes) @ self.weights + 1 / self.step
            slope = h - c * ((alpha * (1 + alpha) * self.nodes**2) @ self.weights)
            change = (c * h - self.rho) / slope
            c = c - change
        return c, change

    def __call__(self, z):
        """Φ and Ψ/ρ as matrices over all pairs of the points z, which are closed under conjugation."""
        a = self.exponent(z) / self.rho
        powers = z[:, None] * np.exp(-self.rho * a[:, None] * self.nodes)
        alpha = powers / (1 - powers)
        late = z[:, None, None] * np.exp(
            -a[:, None, None] * self.nodes * (self.rho - self.s)[:, None]
        )  # α p (1 − powers)
        late /= (1 - powers)[:, None, :]
        early = (
            np.exp(-a[:, None, None] * self.nodes * self.s[:, None]) / (1 - powers)[:, None, :]
        )  # (1 + α)/p
        x = a[:, None] * ((late * self.nodes) @ self.weights)
        image, conjugated = _representatives(z)
        size = len(z)
        functions = np.zeros((2, size * size), dtype=complex)
        distinct = np.unique(image)
        for block in np.array_split(distinct, 1 + len(distinct) // 256):
            i, j = np.divmod(block, size)
            q = z[i] * z[j]
            total = 1 + alpha[i] + alpha[j]
            rates, vectors, parts = self._modes(a[i], a[j], total)
            parts = parts / (1 - q[:, None] * np.exp(self.rho * rates))
            c0 = (vectors @ parts[..., None])[..., 0]
            cs = (vectors @ (parts[..., None] * np.exp(rates[..., None] * self.s))).swapaxes(1, 2)
            known = self.null * (1 / (1 - z[i]) + 1 / (1 - z[j]) - 1) / (1 - q)
            functions[0, block] = (total * c0) @ self.weights + known
            heavy = self.weights * self.nodes
            first = (late[j] * cs + early[i] * c0[:, None, :]) @ heavy
            second = (late[i] * cs + early[j] * c0[:, None, :]) @ heavy
            density = x[i] * x[j] * ((cs * total[:, None, :]) @ heavy) - x[i] * first - x[j] * second
            functions[1, block] = (total * c0) @ heavy + density @ self.ds / self.rho
        functions = functions[:, image]
        return np.where(conjugated, functions.conj(), functions)

    def _modes(self, a, b, total):
        """Eigenvalues and eigenvectors of J for a batch of pairs, and the constant 1 in them."""
        nodes = self.nodes
        matrix = (a * b)[:, None, None] * nodes[:, None] * (self.weights * nodes * total)[:, None, :]
        matrix[:, np.arange(len(nodes)), np.arange(len(nodes))] -= (a + b)[:, None] * nodes
        rates, vectors = np.linalg.eig(matrix)
        return rates, vectors, np.linalg.solve(vectors, np.ones((len(a), len(nodes), 1)))[..., 0]


def _representatives(z):
    """For each pair the flat index of the pair that stands for it, and whether by conjugation."""
    size = len(z)
    mirror = np.abs(z[:, None].conj() - z).argmin(axis=1)
    i, j = np.indices((size, size))
    plain = np.minimum(i * size + j, j * size + i)
    conjugate = np.minimum(mirror[i] * size + mirror[j], mirror[j] * size + mirror[i])
    return np.minimum(plain, conjugate), conjugate < plain


def circle(pairs, n, radius, points):
    """[zⁿwⁿ] of both functions for each n, by the trapezoidal rule on a circle."""
    angles = 2 * np.pi * (np.arange(points) + 0.5) / points
    values = pairs(radius * np.exp(1j * angles))
    waves = np.exp(-1j * np.multiply.outer(n, angles)) / points
    sums = np.einsum("ni,kij,nj->kn", waves, values, waves, optimize=True).real
    return sums * radius ** (-2.0 * n)


def hyperbola(pairs, n, points):
    """The same along a hyperbola in log z that serves all n from the smallest to the largest, after Weideman."""
    p, weights = _hyperbola_nodes(n.min(), n.max(), points)
    values = pairs(np.exp(-p))
    waves = weights * np.exp(np.multiply.outer(n, p))
    return np.einsum("ni,kij,nj->kn", waves, values, waves, optimize=True).real


def _hyperbola_nodes(first, last, points):
    """Nodes and weights of Weideman and Trefethen's hyperbola for times in [first, last], closed under conjugation."""
    ratio = last / first

    def width(angle):
        return np.arccosh(
            ((np.pi - 2 * angle) * ratio + 4 * angle - np.pi) / ((4 * angle - np.pi) * np.sin(angle))
        )

    angle = scipy.optimize.minimize_scalar(
        lambda x: (2 * np.pi * x - np.pi**2) / width(x),
        bounds=(np.pi / 4 + 1e-3, np.pi / 2 - 1e-3),
        method="bounded",
    ).x
    h = width(angle) / points
    scale = (4 * np.pi * angle - np.pi**2) * points / (width(angle) * last)
    u = (np.arange(points) + 0.5) * h
    p = scale * (1 + np.sin(1j * u - angle))
    weights = h * scale * np.cos(1j * u - angle) / (2 * np.pi)
    return np.concatenate([p, p.conj()]), np.concatenate([weights, weights.conj()])


def coefficients(fine, coarse, n):
    """Both losses at each positive n, ascending, at two resolutions: an array (2, 2, len(n)), the fine one first."""
    losses = np.empty((2, 2, len(n)))
    if fine.rho != 1:
        return np.stack([_following(fine, n, 1e-8, 2.2), _following(coarse, n, 1e-7, 1.8)])
    first = len(n)
    while first and n[first - 1] > 12:
        start = np.searchsorted(n, max(n[first - 1] / 2, 12), side="right")
        group = slice(start, first)
        small, large = hyperbola(coarse, n[group], 10), hyperbola(coarse, n[group], 14)
        if not np.abs(small / large - 1).max() < 3e-6:
            break
        losses[0, :, group], losses[1, :, group] = hyperbola(fine, n[group], 14), large
        first = start
    if first:
        last = n[first - 1]
        if last > 128:
            raise ArithmeticError(
                f"Single shuffle at step {fine.step:g} is not yet near its edge at epoch {last}, and contours for "
                "so many epochs take too long: ask for at most 128 epochs, or for a smaller step."
            )
        losses[0, :, :first] = circle(fine, n[:first], 1e-8 ** (0.5 / max(last, 8)), int(1.7 * last) + 20)
        losses[1, :, :first] = circle(coarse, n[:first], 1e-7 ** (0.5 / max(last, 8)), int(1.4 * last) + 18)
    return losses


def _following(pairs, n, amplitude, points):
    """Both losses at each n, on circles that follow their exponential decay: each twice as far as the one before.

    Where they decay at one rate, one circle serves both. Below ρ = 1 the test loss has a plateau and stays on |z| = 1,
    while the training loss goes on to circles of its own once it is small.
    """
    curves = np.empty((2, len(n)))
    groups, done, last = [([0, 1], 1.0)], 0, 2
    while done < len(n):
        last = max(2, min(last, int(n[-1])))
        here = np.searchsorted(n, last, side="right")
        every, places, following = np.arange(1, last + 1), n[done:here] - 1, []
        for losses, radius in groups:
            values = circle(pairs, every, radius * amplitude ** (0.5 / last), int(points * last) + 16)[losses]
            if not (values[:, -2:] > 0).all():
                raise ArithmeticError(
                    f"After {last} epochs less is left of a loss than the arithmetic carries: ask for fewer epochs."
                )
            curves[losses, done:here] = values[:, places]
            radii = np.sqrt(values[:, -2] / values[:, -1])
            if len(losses) == 2 and pairs.rho < 1:
                far = values[1, -1] < 1e-3
                following += [([0], 1.0), ([1], radii[1])] if far else [(losses, 1.0)]
            else:
                plateau = pairs.rho < 1 and losses == [0]
                following.append((losses, 1.0 if plateau else radii.min()))
        groups, done, last = following, here, 2 * last
    return curves
