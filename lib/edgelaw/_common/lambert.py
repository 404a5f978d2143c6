r"""Lambert W and the r-Lambert function with their branches, accurate up to the branch points.

Near a branch point the naive equation cancels: :math:`u e^u` is flat there, and the last digits of x decide
about half of the digits of u. Both functions therefore solve for the distance s from the critical point
:math:`u_c`,

.. math:: (u_c + s) e^{u_c + s} + r (u_c + s) - f(u_c) = e^{u_c} \sum_{k \ge 2} (k + u_c) \frac{s^k}{k!},

a series without cancellation, and compute its left side, x minus the critical value, in twice the working
precision.
"""

import functools
import math

import mpmath
import numpy as np
import numpy.typing as npt
import scipy
import scipy.special

from edgelaw._common import arguments
from edgelaw._common.types import ArrayLike, FloatOrArray

# e as the sum of two doubles.
_E = (2.718281828459045, 1.4456468917292502e-16)
_CUSP = math.exp(-2)
_INVERSE_FACTORIALS = 1 / scipy.special.factorial(np.arange(40))
_NEAR = 0.25


def lambert_w(x: npt.ArrayLike, branch: int = 0) -> FloatOrArray:
    r"""Lambert W: the solution u of :math:`u e^u = x`, on one of the two branches that are real somewhere.

    Branch 0 is the principal one, :math:`u \ge -1` for real :math:`x \ge -1/e`; branch −1 has
    :math:`u \le -1` for :math:`-1/e \le x < 0`. They meet at :math:`x = -1/e`. For real x below, both are
    complex and conjugate to each other: ask for them with a complex x (an imaginary part +0 means the upper
    side of the cut).

    Parameters
    ----------
    x : float, complex or array of them
    branch : {0, -1}

    Returns
    -------
    float, complex or ndarray
        Real for real x. The relative error is a few units in the last place for every double x, also next to
        the branch point. (``scipy.special.lambertw``, used away from it, loses up to half of the digits there
        on branch 0 and is off by up to 7e-5 on branch −1.) The double nearest to −1/e lies below it and
        counts as −1/e.

    Examples
    --------
    >>> float(lambert_w(math.e)), round(float(lambert_w(-0.1, branch=-1)), 12)
    (1.0, -3.577152063957)
    >>> u = complex(lambert_w(-1.0 + 0j))
    >>> round(u.real, 6), round(u.imag, 6)
    (-0.318132, 1.337236)
    """
    branch = _branch(branch, (0, -1))
    x = np.asarray(x)
    if x.dtype.kind not in "fiubc":
        raise ValueError(f"x must hold real or complex numbers, not dtype {x.dtype}.")
    if x.dtype.kind != "c":
        x = x.astype(float)
        gap = _gap(x, _E)
        if not (gap >= -1e-16).all() or (branch == -1 and not (x < 0).all()):
            raise ValueError(
                f"A real x must be at least -1/e{' and negative on branch -1' if branch else ''} "
                "for W to be real; give x as a complex number for the complex value."
            )
        gap = np.where(gap < 0, 0.0, gap)
    else:
        gap = _gap(x.real, _E) + 1j * (x.imag * _E[0])
    u = scipy.special.lambertw(x, branch)
    if x.dtype.kind != "c":
        u = u.real
    near = np.abs(gap) < _NEAR
    if branch == -1 and x.dtype.kind == "c":
        near &= x.imag >= 0  # below the cut the branch that meets W0 at -1/e is number 1, not number -1
    u = np.where(near, _distance(np.where(near, gap, 0.1), branch) - 1, u)
    return u[()]


def _gap(x, constant):
    """1 + c·x for a constant c given as two doubles, with the product's rounding error carried along."""
    high, low = constant
    with np.errstate(over="ignore", invalid="ignore"):
        product = x * high
        x_big, c_big = 134217729.0 * x, 134217729.0 * high
        x_big, c_big = x_big - (x_big - x), c_big - (c_big - high)
        x_small, c_small = x - x_big, high - c_big
        error = ((x_big * c_big - product) + x_big * c_small + x_small * c_big) + x_small * c_small
        gap = (1 + product) + (error + x * low)
    return np.where(np.isfinite(gap), gap, 1 + product)


def _distance(gap, branch):
    """s = 1 + W at x = (gap − 1)/e, for a small gap: Newton on Σ_{k≥2} (k − 1) s^k / k! = gap."""
    p = (-1 if branch else 1) * np.sqrt(2 * gap)
    s = p * (1 + p * (-1 / 3 + p * (11 / 72 - p * 43 / 540)))
    for _ in range(4):
        slope = s * np.exp(s)
        s = s - np.where(s == 0, 0, (_series(s, -1.0) - gap) / np.where(s == 0, 1, slope))
    return s


def _series(s, u_c):
    """Σ_{k≥2} (k + u_c) s^k / k!, for an s of moderate size."""
    total = np.zeros_like(s)
    for k in range(len(_INVERSE_FACTORIALS) - 1, 1, -1):
        total = total * s + (k + u_c) * _INVERSE_FACTORIALS[k]
    return total * s * s


def r_lambert_branch_points(r: float) -> list[tuple[float, float]]:
    r"""Where the real branches of the r-Lambert function meet: the critical points of :math:`u e^u + r u`.

    They solve :math:`(1 + u) e^u = -r`: one for r ≤ 0, two for :math:`0 < r < e^{-2}`, none beyond.

    Returns
    -------
    list of (u, x)
        The critical points, from right to left, and the values :math:`x = u e^u + r u` there.

    Examples
    --------
    >>> [(round(u, 6), round(x, 6)) for u, x in r_lambert_branch_points(0.1)]
    [(-1.409315, -0.485242), (-2.991446, -0.449359)]
    >>> r_lambert_branch_points(0.2)
    []
    """
    r = _finite(r, "r")
    return [(u, high) for u, _, high, _ in _critical(r)]


@functools.lru_cache(maxsize=4096)
def _critical(r):
    """(u_c, 2 + u_c, critical value as two doubles) of each critical point, from right to left."""
    if r >= _CUSP:
        return []
    branches = []
    for branch in (0, -1) if r > 0 else (0,):
        with mpmath.workdps(40):
            w = mpmath.lambertw(-mpmath.mpf(r) * mpmath.e, branch).real
            value = -((w - 1) ** 2) * mpmath.exp(w - 1)
            high = float(value)
            branches.append((float(w - 1), float(w + 1), high, float(value - high)))
    return branches


def r_lambert(x: ArrayLike, r: ArrayLike, branch: int = 0) -> FloatOrArray:
    r"""The r-Lambert function: the real solution u of :math:`u e^u + r u = x` on a chosen branch.

    - branch 0: right of the rightmost critical point (all of the line if there is none). It contains u = 0.
    - branch −1: for r ≤ 0 all that lies left of the critical point; for :math:`0 < r < e^{-2}` the middle,
      decreasing piece between the two.
    - branch −2, for :math:`0 < r < e^{-2}` only: left of both.

    For r = 0 branches 0 and −1 are those of `lambert_w`. (Mező and Baricz number branches otherwise, by their
    place on the line.)

    Parameters
    ----------
    x, r : float or arrays that broadcast
    branch : {0, -1, -2}

    Returns
    -------
    float or ndarray
        The relative error is a few units in the last place, also next to the branch points and to the cusp
        :math:`r = e^{-2}`, where two of them merge. An x beyond an end by less than its own rounding counts
        as the end.

    Examples
    --------
    >>> [round(float(r_lambert(-0.46, 0.1, branch)), 9) for branch in (0, -1, -2)]
    [-0.930510147, -2.319822318, -3.65424099]
    >>> float(r_lambert(0.0, 0.7))
    0.0
    """
    branch = _branch(branch, (0, -1, -2))
    x, r = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(r, dtype=float))
    values = [_one(_finite(a, "x"), _finite(b, "r"), branch) for a, b in zip(x.flat, r.flat, strict=True)]
    return np.array(values).reshape(x.shape)[()]


def _one(x, r, branch):
    points = _critical(r)
    if -branch > len(points) or (branch == -1 and r == 0 and x >= 0):
        raise ValueError(f"For r = {r:g} the r-Lambert function has no branch {branch} at x = {x:g}.")
    pieces = [np.inf, *(u for u, *_ in points), -np.inf]
    high, low = pieces[-branch], pieces[1 - branch]
    ends = {0: points[:1], -1: points[:2], -2: points[1:]}[branch]
    for u_c, two_plus, value, rest in ends:
        delta = (x - value) - rest  # exact where it matters: x and value are then close
        inside_right = u_c == low  # the branch lies to the right of this critical point
        rises = two_plus > 0  # at the right critical point f is smallest, at the left one largest
        if delta == 0 or ((delta > 0) != rises and abs(delta) <= np.spacing(abs(value))):
            return u_c
        if (delta > 0) != rises:
            raise ValueError(
                f"Branch {branch} for r = {r:g} ends at x = {value:.17g}, where it meets another, "
                f"and x = {x:.17g} is beyond."
            )
        reach = min(1.0, (high - low) / 2)
        end = reach if inside_right else -reach
        target = delta * math.exp(-u_c)

        def equation(s, two_plus=two_plus, target=target):
            return _shifted(s, two_plus) - target

        if equation(end) * -target < 0:
            return u_c + _root(equation, 0.0, end)
    return _root(lambda u: u * math.exp(u) + r * u - x, *_bracket(x, r, low, high))


def _shifted(s, two_plus):
    """Σ_{k≥2} (k + u_c) s^k / k!, with 2 + u_c given to full relative accuracy (it vanishes at r = e⁻²)."""
    total = 0.0
    for k in range(28, 1, -1):
        total = total * s + ((k - 2) + two_plus) * _INVERSE_FACTORIALS[k]
    return total * s * s


def _bracket(x, r, low, high):
    """Finite ends of a piece of the line between which u e^u + r u takes the value x."""

    def f(u):
        return u * math.exp(u) + r * u

    if np.isinf(high):
        start = max(low, 0.0) if np.isfinite(low) else 0.0
        width, sign = 1.0, 1 if f(start) < x else -1
        if sign > 0:
            while f(start + width) < x:
                width *= 1.5
            return start, start + width
        high = start
    if np.isinf(low):
        width, sign = 1.0, np.sign(f(high) - x)
        while np.sign(f(high - width) - x) == sign:
            width *= 2
        low = high - width
    return low, high


def _root(function, low, high):
    if function(high) == 0:
        return high
    return scipy.optimize.brentq(function, low, high, xtol=1e-300, rtol=4 * np.finfo(float).eps, maxiter=400)


def _finite(value, name):
    return arguments.number(value, name, -np.inf)


def _branch(branch, allowed):
    if isinstance(branch, bool) or branch not in allowed:
        raise ValueError(f"branch must be one of {', '.join(map(str, allowed))}, not {branch!r}.")
    return int(branch)
