"""Contours for the diagonals of single shuffle's generating functions; see :mod:`edgelaw.theory.single_shuffle`.

Everything is written in :math:`e = 1 - v`, since for many epochs the nodes crowd at v = 1. With b = 1 − η:
g = 1 − b e, y = v/g, log z = log y + η ρ e. The admissible region is ρ Λ(‖v‖², ‖g‖²) < 1, Λ the logarithmic mean.

- η ≤ 1: circles ‖v‖ = r, on which Λ is largest at v = r.
- η > 1: level curves of Λ in polar coordinates about v = 0, as far as they are star-shaped (below the saddle of Λ on
  the real axis); above it, level curves about v = 1.

For ρ < 1 a contour may enclose v = 1, the pole of the eigenvalue 1, whose residue is then the atom's 1 − ρ.
"""

import functools

import numpy as np
import scipy.optimize
from scipy.special import exprel, log1p

_REACH = 1e-17  # nodes whose weight is smaller, relative to the largest, are left out
_DISTANCE = 3.0  # how strongly to keep away from singularities: larger needs fewer nodes and loses digits
_LEAST, _MOST = 48, 6144  # nodes
_STRIP = 512  # rows of the kernel at a time, to keep the memory small
_LOWEST, _HIGHEST = -700.0, 12.0  # logarithms of radii between which contours are looked for


def _log_mean(A, B):
    """The logarithm of the logarithmic mean of e^A and e^B; −∞ where one of them vanishes."""
    with np.errstate(divide="ignore"):
        return np.maximum(A, B) + np.log(exprel(-np.abs(A - B)))


def _log_mean_slope(A, B):
    """The derivative of ``_log_mean`` by A; the one by B is the rest of 1."""
    x = A - B
    small = np.abs(x) < 0.02
    safe = np.where(small, 1.0, x)
    return np.where(small, 0.5 + x / 12 - x**3 / 720, -1 / np.expm1(-np.clip(safe, -700, 700)) - 1 / safe)


class Model:
    """The generating functions at one step and one aspect ratio."""

    def __init__(self, step, rho):
        self.eta, self.b, self.rho = step, 1 - step, rho

    @functools.cached_property
    def saddle(self):
        """log Λ at its saddle on the real axis, between the zeros of v and g (infinite for η ≤ 1)."""
        if self.eta <= 1:
            return np.inf
        end = self.eta / -self.b
        saddle = scipy.optimize.minimize_scalar(
            lambda v: -_log_mean(2 * np.log(v), 2 * np.log(1 - self.b * (1 - v))),
            bounds=(min(1.0, end / 2), end * (1 - 1e-9)),
            method="bounded",
            options={"xatol": 1e-12},
        )
        return max(-saddle.fun, 0.0)

    def log_z(self, v, e):
        log_v = np.where(np.abs(e) < 0.5, log1p(-e), np.log(v))
        return log_v - log1p(-self.b * e) + self.eta * self.rho * e

    def slope(self, v, e):
        """d log z / dv."""
        b, rho = self.b, self.rho
        return self.eta * (1 - rho + rho * e * (1 + b - b * e)) / (v * (1 - b * e))

    def kernel(self, loss, v, e, v2, e2):
        """Φ or Ψ between nodes; e and e2 are 1 − v and 1 − v2, and neither is rounded from the other."""
        eta, b, rho = self.eta, self.b, self.rho
        g, g2 = 1 - b * e, 1 - b * e2
        one, two = eta * e / g, eta * e2 / g2  # 1 − y
        u, w, gg = (v / g) * (v2 / g2), one + two - one * two, g * g2  # w = 1 − u
        exponent = rho * gg * w
        ratio = np.expm1(exponent) / exponent
        q = 1 - rho * gg * u * ratio  # (1 − K)/(1 − u)
        if loss == "test":
            return gg / (eta**2 * e * e2 * q)
        return ((g + g2) / eta - 1 - (2 - eta) / eta * u * gg * ratio) / (w * q)

    # ------------------------------------------------------------------------------------------------- contours

    def _point(self, about, radius, angle):
        """v, e = 1 − v, dv/d(radius), log ‖v‖² and log ‖g‖²; the radius is a logarithm, from v = 0 or 1."""
        direction = np.exp(radius + 1j * angle)
        v, e = (direction, -np.expm1(radius + 1j * angle)) if about == 0 else (1 + direction, -direction)
        with np.errstate(divide="ignore"):
            A = 2 * radius if about == 0 else np.log1p(-2 * e.real + np.abs(e) ** 2)
            return v, e, direction, A, np.log1p(-2 * self.b * e.real + np.abs(self.b * e) ** 2)

    def _slopes(self, v, e, direction, A, B):
        """The derivative of log Λ by the radius, less i times the one by the angle."""
        by_v = _log_mean_slope(A, B)
        return 2 * direction * (by_v / v + (1 - by_v) * self.b / (1 - self.b * e))

    def contour(self, about, level, angle):
        """Nodes v, e and dv/d(angle) of the contour; ``level`` is log ‖v‖ for the circles of η ≤ 1, else log Λ."""
        level, angle = np.broadcast_arrays(level, angle)
        if self.eta <= 1:
            v, e, direction, *_ = self._point(0, level, angle)
            return v, e, 1j * direction
        point = self._point(about, self._crossing(about, level, angle), angle)
        slopes = self._slopes(*point)
        v, e, direction, *_ = point
        return v, e, direction * (1j + slopes.imag / slopes.real)

    def _crossing(self, about, level, angle):
        """The radius at which log Λ first is the level: Newton's steps, and halves of a bracket that they leave."""
        low, high = self._bracket(level, angle) if about == 0 else (_LOWEST, _HIGHEST)
        radius, change = (low + high) / 2 + 0 * angle, np.inf
        while change > 1e-10:  # the error after a step of Newton's is of the order of its square
            point = self._point(about, radius, angle)
            excess = _log_mean(*point[3:]) - level
            low, high = np.where(excess > 0, low, radius), np.where(excess > 0, radius, high)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                newton = radius - excess / self._slopes(*point).real
            after = np.where((newton >= low) & (newton <= high), newton, (low + high) / 2)
            radius, change = after, np.abs(after - radius).max()
        return radius

    def _bracket(self, level, angle):
        """Between which radii about 0 log Λ first exceeds the level: below ‖v‖ = 1 for levels below 0."""
        scan = np.concatenate([np.geomspace(1e-3, 0.9, 12), np.linspace(1, 0.9999 * self.eta / -self.b, 40)])
        ends = np.concatenate([[_LOWEST], np.log(scan), [_HIGHEST]])
        above = np.array([_log_mean(*self._point(0, r, angle)[3:]) > level for r in ends[1:-1]])
        first = np.where(above.any(axis=0), above.argmax(axis=0), len(scan))
        return ends[first], ends[first + 1]

    @functools.cached_property
    def _candidates(self):
        """Contours to choose from: about, levels, and at some angles the logarithms of kernel and ‖z‖."""
        outermost, gaps = -np.log(self.rho), np.geomspace(1e-6, 30, 100)
        angle = np.concatenate([[0.0], np.geomspace(0.02, np.pi, 20)])
        families = [(0, min(outermost, self.saddle) - gaps)]
        if self.eta <= 1:
            families, angle = [(0, self._largest_circle() - gaps)], angle[:1]
        elif outermost > self.saddle:
            height = outermost - self.saddle
            families.append((1, self.saddle + height * (1 - np.geomspace(1e-4, 0.9, 40))))
        candidates = []
        for about, levels in families:
            v, e, _ = self.contour(about, levels[:, None], angle)
            with np.errstate(all="ignore"):
                size = np.log(np.abs(self.kernel("test", v, e, v.conj(), e.conj())))
                candidates.append((about, levels, size, self.log_z(v, e).real))
        return candidates

    def choose(self, n):
        """The contour (about, level) on which the integrand is smallest, kept away from the singularities."""
        best = (np.inf, 0, 0.0)
        for about, levels, kernel, log_z in self._candidates:
            with np.errstate(all="ignore"):
                size = _DISTANCE * kernel - 2 * n * log_z
            worst = np.where(np.isfinite(size), size, np.inf).max(axis=1)
            if self.saddle < -np.log(self.rho):  # a contour through the saddle would have a corner there
                worst = worst - _DISTANCE * np.log(np.abs(levels - self.saddle))
            i = worst.argmin()
            best = min(best, (worst[i], about, levels[i]))
        return best

    def _largest_circle(self):
        """log ‖v‖ where ρ Λ = 1 on the positive real axis."""
        return scipy.optimize.brentq(
            lambda radius: _log_mean(*self._point(0, radius, 0.0)[3:]) + np.log(self.rho),
            _LOWEST,
            _HIGHEST,
            xtol=1e-15,
        )

    def diagonals(self, loss, n, tolerance):
        """Losses at an ascending array of n ≥ 1 within a factor of two, and the change at the last refinement."""
        size, about, level = self.choose(np.sqrt(n[0] * n[-1]))
        if size < -1500:
            return np.full(len(n), max(0.0, 1 - self.rho) if loss == "test" else 0.0), 0.0
        angle = np.concatenate([[0.0], np.geomspace(1e-9, 1e-2, 200), np.linspace(1e-2, np.pi, 600)[1:]])
        heights = self.log_z(*self.contour(about, level, angle)[:2]).real
        base = heights.min()
        reached = np.nonzero(n[0] * (heights - base) < -np.log(_REACH))[0][-1]
        window = angle[min(reached + 1, len(angle) - 1)]
        window = np.pi if window > 0.9 * np.pi else window
        encloses_one = self.rho < 1 and (about == 1 or level > 0)  # Λ is 1 at v = 1
        atom = 1 - self.rho if loss == "test" and encloses_one else 0.0
        scale = np.exp(np.maximum(-2 * n * base, -745.0))
        old, change, previous, nodes = None, np.inf, np.inf, _LEAST
        while change > tolerance and not (previous < 1e-8 and change > 0.1 * previous) and nodes <= _MOST:
            new, magnitude = self._quadrature(loss, n, about, level, window, nodes, base)
            new = atom + scale * new
            if old is not None:
                with np.errstate(all="ignore"):
                    previous, change = change, np.nanmax(np.abs(new / old - 1), initial=0.0)
            old, nodes = new, 2 * nodes
        shown = new > 1e-300
        lost = (scale * magnitude)[shown] / new[shown] * 1e-16
        return np.where(shown, new, 0.0), max(change, lost.max(initial=0.0))

    def _quadrature(self, loss, n, about, level, window, nodes, base):
        r"""The diagonals :math:`[z^nw^n]` times :math:`e^{2n\,\text{base}}`, and the same with every term's size.

        By Cauchy's formula they are quadratic forms in :math:`z_j^{-n}\,d\log z_j/2\pi i` at the nodes.
        """
        half = (np.arange(nodes // 2) + 0.5) * 2 * window / nodes
        v, e, dv = self.contour(about, level, half)
        weights = self.slope(v, e) * dv * (2 * window / nodes) / (2j * np.pi)
        log_z = self.log_z(v, e)
        v, e, log_z, weights = (np.concatenate([x, x.conj()]) for x in (v, e, log_z, weights))

        powers = np.exp(-np.outer(n, log_z - base)) * weights
        sizes = np.abs(powers)
        values, magnitudes = np.zeros(len(n)), np.zeros(len(n))
        for k in range(0, len(half), _STRIP):  # rows below the real axis are the conjugates of those above
            rows = slice(k, min(k + _STRIP, len(half)))
            strip = self.kernel(loss, v[rows, None], e[rows, None], v, e)
            values += 2 * ((powers[:, rows] @ strip) * powers).sum(axis=1).real
            magnitudes += 2 * ((sizes[:, rows] @ np.abs(strip)) * sizes).sum(axis=1)
        return values, magnitudes


@functools.lru_cache(maxsize=64)
def model(step, rho):
    """The model at one step and aspect ratio, kept with the contours it has worked out."""
    return Model(step, rho)
