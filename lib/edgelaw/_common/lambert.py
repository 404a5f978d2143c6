"""Lambert W and the r-Lambert function with their branches, accurate up to the branch points.

Near a branch point :math:`u e^u` is flat, and the last digits of x decide about half of the digits of u: so the
equation is evaluated in 40 digits.
"""

import functools
import math
from types import ModuleType

import numpy as np
import numpy.typing as npt
import scipy.optimize

from edgelaw._common import arguments, extras
from edgelaw._common.types import ArrayLike, FloatOrArray

_DIGITS = 40
_CUSP = math.exp(-2)


def lambert_w(x: npt.ArrayLike, branch: int = 0) -> FloatOrArray:
    r"""Lambert W: the solution u of :math:`u e^u = x`, on one of the two branches that are real somewhere.

    Branch 0 has :math:`u \ge -1` for real :math:`x \ge -1/e`, branch −1 has :math:`u \le -1` for :math:`-1/e \le x <
    0`. For the complex values give a complex x (an imaginary part +0 means the upper side of the cut). The relative
    error is a few units in the last place, also next to the branch point, where ``scipy.special.lambertw`` loses half
    of the digits. The double nearest to −1/e lies below it and counts as −1/e.

    Examples
    --------
    >>> float(lambert_w(math.e)), round(float(lambert_w(-0.1, branch=-1)), 12)
    (1.0, -3.577152063957)
    """
    branch = _branch(branch, (0, -1))
    x = np.asarray(x)
    if x.dtype.kind not in "fiubc":
        raise ValueError(f"x must hold real or complex numbers, not dtype {x.dtype}.")
    real = x.dtype.kind != "c"
    x = x.astype(float if real else complex)
    if real and not ((x >= -1 / math.e) & ((x < 0) | (branch == 0))).all():
        raise ValueError(
            f"A real x must be at least -1/e{' and negative on branch -1' if branch else ''} "
            "for W to be real; give x as a complex number for the complex value."
        )
    u = np.array([_w(value, branch) for value in x.astype(complex).ravel()], dtype=complex).reshape(x.shape)
    return (u.real if real else u)[()]


@functools.cache
def _precise() -> ModuleType:
    """The arithmetic of many digits, which a small installation lacks: asked for where it is needed."""
    with extras.named():
        import mpmath
    return mpmath


def _w(x, branch):
    """From the upper half plane, W_k at the conjugate being the conjugate of W_(−k)."""
    mpmath, sign = _precise(), -1 if math.copysign(1, x.imag) < 0 else 1
    with mpmath.workdps(_DIGITS):
        u = complex(mpmath.lambertw(mpmath.mpc(x.real, abs(x.imag)), sign * branch))
    return u if sign > 0 else u.conjugate()


def r_lambert_branch_points(r: float) -> list[tuple[float, float]]:
    """Where the real branches of the r-Lambert function meet: the critical points of :math:`u e^u + r u`.

    They solve :math:`(1 + u) e^u = -r`: one for r ≤ 0, two for :math:`0 < r < e^{-2}`, none beyond. A list of (u, x),
    from right to left, with the values :math:`x = u e^u + r u` there.

    >>> [(round(u, 6), round(x, 6)) for u, x in r_lambert_branch_points(0.1)]
    [(-1.409315, -0.485242), (-2.991446, -0.449359)]
    """
    return [(float(u), float(x)) for u, x in _critical(_finite(r, "r"))]


@functools.lru_cache(maxsize=4096)
def _critical(r):
    """Each critical point and its value, in 40 digits, from right to left."""
    if r >= _CUSP:
        return []
    mpmath = _precise()
    with mpmath.workdps(_DIGITS):
        branches = (0, -1) if r > 0 else (0,)
        points = [mpmath.lambertw(-mpmath.mpf(r) * mpmath.e, branch).real - 1 for branch in branches]
        return [(u, -(u**2) * mpmath.exp(u)) for u in points]


def r_lambert(x: ArrayLike, r: ArrayLike, branch: int = 0) -> FloatOrArray:
    """The r-Lambert function: the real solution u of :math:`u e^u + r u = x` on a chosen branch.

    - branch 0: right of the rightmost critical point (all of the line if there is none). It contains u = 0.
    - branch −1: for r ≤ 0 all that lies left of the critical point; for :math:`0 < r < e^{-2}` the middle,
      decreasing piece between the two.
    - branch −2, for :math:`0 < r < e^{-2}` only: left of both.

    (Mező and Baricz number branches by their place on the line.) The relative error is a few units in the last place,
    also next to branch points and cusp. An x beyond an end by less than its own rounding counts as the end.

    >>> [round(float(r_lambert(-0.46, 0.1, branch)), 9) for branch in (0, -1, -2)]
    [-0.930510147, -2.319822318, -3.65424099]
    """
    branch = _branch(branch, (0, -1, -2))
    x, r = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(r, dtype=float))
    values = [_one(_finite(a, "x"), _finite(b, "r"), branch) for a, b in zip(x.flat, r.flat, strict=True)]
    return np.reshape(values, x.shape)[()]


def _one(x, r, branch):
    points = _critical(r)
    if -branch > len(points) or (branch == -1 and r == 0 and x >= 0):
        raise ValueError(f"For r = {r:g} the r-Lambert function has no branch {branch} at x = {x:g}.")
    ends = points[max(-branch - 1, 0) : 1 - branch]  # of this branch, from right to left
    for u, value in ends:
        rises = u > -2  # at the right critical point u e^u + r u is smallest, at the left one largest
        beyond = value - x if rises else x - value
        if 0 <= beyond <= np.spacing(abs(float(value))):
            return float(u)
        if beyond > 0:
            raise ValueError(
                f"Branch {branch} for r = {r:g} ends at x = {float(value):.17g}, where it meets another, "
                f"and x = {x:.17g} is beyond."
            )

    if x == 0 and branch == (0 if r >= -1 else -1):
        return 0.0

    mpmath = _precise()

    def excess(u):
        with mpmath.workdps(_DIGITS):
            return float(u * mpmath.exp(u) + r * mpmath.mpf(u) - x)

    start = float(ends[0][0]) if ends else 0.0
    if len(ends) == 2:
        low, high = float(ends[1][0]), start
    else:
        outwards = -1.0 if branch else 1.0 if ends else math.copysign(1.0, x)
        while excess(start + outwards) * excess(start) > 0:
            outwards *= 2
        low, high = sorted((start, start + outwards))
    if excess(low) * excess(high) > 0:  # rounding of an end has left no change of sign
        return min(low, high, key=lambda end: abs(excess(end)))
    return scipy.optimize.brentq(excess, low, high, xtol=1e-300, rtol=4 * np.finfo(float).eps, maxiter=400)


def _finite(value, name):
    return arguments.number(value, name, -np.inf)


def _branch(branch, allowed):
    if isinstance(branch, bool) or branch not in allowed:
        raise ValueError(f"branch must be one of {', '.join(map(str, allowed))}, not {branch!r}.")
    return int(branch)
