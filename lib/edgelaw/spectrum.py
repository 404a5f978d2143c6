r"""Eigenvalues of a design and the law of their left edge.

The Gram matrix of an m × d design is :math:`H = X^\top X / m`, its d eigenvalues are sorted ascending, and what
floating point cannot distinguish from zero is exactly ``0.0``, so that no logarithm is taken of rounding noise.
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import scipy
import scipy.linalg
import scipy.special

from edgelaw import data
from edgelaw._common import arguments, notebook
from edgelaw._common.gram import smaller_gram
from edgelaw._common.numerics import bracketed_root, panels
from edgelaw._common.types import Array, ArrayLike, Integers, Rng
from edgelaw.laws import EdgeFit, MarchenkoPastur, square_edge

__all__ = [
    "EdgeFit",
    "EdgeLaw",
    "MarchenkoPastur",
    "Position",
    "edge_law",
    "effective_rank",
    "eigenvalues_repel",
    "fit_edge",
    "fit_edge_laplace",
    "fit_shifted_edge",
    "general_position",
    "gram_eigenvalues",
    "quantile_ratio",
    "square_edge",
]

_SVD_LIMIT = 4096  # above, the Gram matrix is several times cheaper than singular values of X itself


def gram_eigenvalues(X: ArrayLike, method: str = "auto") -> Array:
    r"""Ascending eigenvalues of :math:`X^\top X / m`; what is below the resolution is exactly 0.0.

    ``method="svd"`` squares the singular values of X and resolves eigenvalues down to about 1e-26 of the largest;
    ``"gram"`` sums :math:`X^\top X` over blocks of rows in float64, so that a ``numpy.memmap`` is never held in memory
    whole, but only down to 1e-13; ``"auto"`` takes the singular values when neither side exceeds 4096.

    Examples
    --------
    >>> gram_eigenvalues([[3.0, 0.0], [0.0, 1.0]])
    array([0.5, 4.5])
    """
    method = arguments.choice(method, "method", ("auto", "svd", "gram"))
    X = arguments.unread_matrix(X)
    m, d = X.shape
    if method == "auto":
        method = "svd" if resolves_singular_values(m, d) else "gram"
    if method == "svd":
        X = arguments.matrix(X).astype(np.float64, copy=False)
        values = np.linalg.svd(X, compute_uv=False)[
            ::-1
        ]  # SciPy's would hold the GIL all the time: no Ctrl-C
        return _resolved(values, (m, d)) ** 2 / m
    return of_gram(smaller_gram(X), (m, d))


def resolves_singular_values(rows: int, columns: int) -> bool:
    """Whether :func:`gram_eigenvalues` takes the singular values of a matrix of this shape by itself."""
    return max(rows, columns) <= _SVD_LIMIT


def of_gram(gram: Array, shape: tuple[int, int]) -> Array:
    r"""Ascending eigenvalues of :math:`X^\top X/m` from the sum :math:`X^\top X` (or :math:`XX^\top`) itself."""
    values = scipy.linalg.eigvalsh(gram.T, lower=False, overwrite_a=True, check_finite=False)
    return _resolved(values / shape[0], shape)


def _resolved(values: Array, shape: tuple[int, int]) -> Array:
    """All d values, ascending: what rounding hides is 0.0, and so is what a design with fewer rows lacks."""
    values[values <= max(shape) * np.finfo(float).eps * values[-1]] = 0.0
    return np.concatenate([np.zeros(shape[1] - len(values)), values])


def fit_edge(eigenvalues: ArrayLike, quantile: float = 0.10, skip: int = 5, zeros: str = "count") -> EdgeFit:
    r"""Fit the left edge as the paper's "Spectral exponent fitting" does.

    Weighted least squares of :math:`\log(i/d) = \beta \log \lambda_i + \log Q` over the left ``quantile`` without the
    ``skip`` smallest, with weights proportional to the rank i. Zeros have no logarithm: ``zeros="count"`` gives them
    ranks, as the paper does, and they must be among the skipped; ``"drop"`` does not, which is nearer to the truth.

    Examples
    --------
    >>> ranks = np.arange(1, 1001) / 1000
    >>> fit = fit_edge((ranks / 0.5) ** (1 / 0.75))
    >>> round(fit.beta, 10), round(fit.Q, 10), fit.count
    (0.75, 0.5, 95)
    """
    values = arguments.eigenvalues(eigenvalues)
    quantile = arguments.number(quantile, "quantile", 0, 1)
    skip = arguments.whole(skip, "skip", 0)
    zeros = arguments.choice(zeros, "zeros", ("count", "drop"))
    null = int((values == 0).sum())
    if zeros == "count" and null > skip:
        raise ValueError(
            f"{null} eigenvalues are zero, more than the {skip} skipped, and zero has no logarithm; "
            'zeros="drop" fits the positive ones.'
        )
    edge, ranks = _left(values[null:] if zeros == "drop" else values, quantile, skip, fewest=3)
    beta, log_Q, squares = _line(np.log(edge), np.log(ranks / len(values)), ranks)
    return _fitted(beta, np.exp(log_Q), squares, edge, null)


def fit_edge_laplace(eigenvalues: ArrayLike, quantile: float = 0.10) -> EdgeFit:
    r"""Read the edge off the slope of the learning curve that it causes; better than :func:`fit_edge`.

    For :math:`F = Q\lambda^\beta` the slope of gradient descent's loss on logarithmic axes is exactly :math:`-\beta =
    -\int t\lambda\,e^{-t\lambda}\,dF \big/ \int e^{-t\lambda}\,dF`: here a ratio of sums over the positive eigenvalues
    at :math:`t = 3/\lambda_q`, :math:`\lambda_q` the given quantile. There are no ranks, nothing to skip and no
    logarithm.

    **Measured** (root mean square error of β over draws; :func:`fit_edge` in parentheses): Gaussian m = d = 512 0.010
    (0.023), d = 128 0.046 (0.080), centred d = 256 0.026 (0.031); 512 independent eigenvalues of β = 0.5 0.077 (0.084),
    of β = 0.3 0.050 (0.051). For an edge away from zero use :func:`fit_shifted_edge`.

    Examples
    --------
    >>> fit = fit_edge_laplace(((np.arange(20000) + 0.5) / 20000 / 0.5) ** (1 / 0.75))
    >>> round(fit.beta, 3), round(fit.Q, 3)
    (0.75, 0.5)
    """
    values, edge, ranks, null = _window(eigenvalues, quantile)
    t, total = 3 / edge[-1], null + len(values)
    weights = np.exp(-t * values)
    beta = float(t * (values @ weights) / weights.sum())
    Q = float(weights.sum() / total * t**beta / scipy.special.gamma(beta + 1))
    misfit = np.log((ranks - 0.5) / total) - beta * np.log(edge) - np.log(Q)
    return _fitted(beta, Q, ranks @ misfit**2 / ranks.sum(), edge, null)


def fit_shifted_edge(eigenvalues: ArrayLike, quantile: float = 0.10, offset: float = 0.5) -> EdgeFit:
    r"""Fit :math:`F(\lambda) \approx Q(\lambda-\lambda_0)^\beta` with the position of the edge unknown.

    Least squares of :math:`\log\frac{i-c}{d} = \beta\log(\lambda_i-\lambda_0) + \log Q` over the left ``quantile`` of
    the positive eigenvalues with weights proportional to the rank i, and a search for :math:`\lambda_0` in :math:`[0,
    \lambda_1)`. ``offset`` is c: the middle of a step, 1/2, is unbiased, 0 is the paper's convention in
    :func:`fit_edge`.

    Three parameters share one bend: β is that of the window, and not the exponent at the edge unless d is very large.
    **Measured** on Gaussian designs with m = 2d = 1024, where β = 3/2: the left tenth gives 1.22 ± 0.07, the left 2 %
    1.6 ± 0.5 (standard deviation over draws).

    Examples
    --------
    >>> fit = fit_shifted_edge(0.2 + ((np.arange(1000) + 0.5) / 1000 / 0.5) ** (1 / 1.5))
    >>> round(fit.lambda_0, 6), round(fit.beta, 6), round(fit.Q, 6)
    (0.2, 1.5, 0.5)
    """
    values, edge, ranks, null = _window(eigenvalues, quantile)
    offset = arguments.number(offset, "offset", -1e-300, 1)
    y = np.log((ranks - offset) / (null + len(values)))

    def line(gap: float) -> tuple[float, float, float]:  # gap = λ_1 − λ_0
        return _line(np.log(edge - edge[0] + gap), y, ranks)

    # the misfit grows without bound as the gap closes, so the search is bounded by the edge at zero alone
    gaps = np.geomspace(1e-9 * edge[0], edge[0], 200)
    best = int(np.argmin([line(gap)[2] for gap in gaps]))
    gap = edge[0]
    if best < len(gaps) - 1:
        search = scipy.optimize.minimize_scalar(
            lambda logarithm: line(np.exp(logarithm))[2],
            bounds=(np.log(gaps[max(best - 1, 0)]), np.log(gaps[best + 1])),
            method="bounded",
            options={"xatol": 1e-12},
        )
        gap = np.exp(search.x)
    beta, log_Q, squares = line(gap)
    return _fitted(beta, np.exp(log_Q), squares, edge, null, float(max(edge[0] - gap, 0.0)))


def _fitted(beta: float, Q: float, squares: float, edge: Array, null: int, lambda_0: float = 0.0) -> EdgeFit:
    """A fit with its mean square misfit and the eigenvalues that it used."""
    window = (float(edge[0]), float(edge[-1]))
    return EdgeFit(beta, float(Q), lambda_0, len(edge), null, float(np.sqrt(squares)), window)


def _line(x: Array, y: Array, ranks: Integers) -> tuple[float, float, float]:
    """β, log Q and the mean square misfit of y = β x + log Q, by least squares weighted with the rank."""
    w = ranks / ranks.sum()
    x_mean, y_mean = w @ x, w @ y
    beta = w @ ((x - x_mean) * (y - y_mean)) / (w @ (x - x_mean) ** 2)
    log_Q = y_mean - beta * x_mean
    return float(beta), float(log_Q), float(w @ (y - beta * x - log_Q) ** 2)


@dataclass(frozen=True)
class EdgeLaw:
    r"""Whether the left edge is a power law at zero, :math:`F(\lambda) \approx Q\lambda^\beta`, by three tests."""

    holds: (
        bool | None
    )  #: True: no test contradicts it, and they could have. False: one does. None: too few eigenvalues.
    reason: str  #: A sentence why it is not claimed; empty if it holds.
    failed: tuple[str, ...] = ()  #: Of curvature, drift, gap: those that contradict it.
    fit: EdgeFit | None = None  #: By :func:`fit_edge_laplace`, also where the law does not hold.
    error: float | None = None  #: Standard error of the fitted exponent.
    curvature: float = (
        np.nan
    )  #: The first of three tests; each is NaN where there are too few eigenvalues for it.
    curvature_error: float = np.nan
    drift: float = np.nan  #: The second test.
    drift_error: float = np.nan
    gap: float = np.nan  #: The third test.
    #: Those that were looked at, ascending.
    eigenvalues: Array | None = field(default=None, repr=False, compare=False, metadata={"plain": False})

    @property
    def edge(self) -> EdgeFit | None:
        """The fit, where the law holds."""
        return self.fit if self.holds else None

    @property
    def edge_error(self) -> float | None:
        """The standard error of its exponent, where the law holds."""
        return self.error if self.holds else None

    def lines(self) -> list[notebook.Line]:
        """What is drawn: the spectrum, and the law that was tried, dotted where it does not hold."""
        lines = []
        if self.eigenvalues is not None:
            ranks = np.arange(1, len(self.eigenvalues) + 1) / len(self.eigenvalues)
            lines.append(notebook.Line(self.eigenvalues, ranks, "eigenvalues", "#2f86bd", "none", "."))
        if self.fit is not None:
            name, style = ("power law", "-") if self.holds else ("what was tried", ":")
            lines.append(notebook.Line(*self.fit.line(), name, "#D55E00", style))
        return lines

    def _repr_html_(self) -> str:
        """The verdict in a notebook: the spectrum with the law that was tried, and the three tests."""
        number, sentence, rows = notebook.number, self.reason, []
        if self.fit is not None:
            if self.holds:
                beta, Q = number(self.fit.beta, 2, self.error), number(self.fit.Q)
                sentence = f"A power law at the left edge: β = {beta}, Q = {Q}."
            for test in ("curvature", "drift", "gap"):
                value = number(getattr(self, test), 2, getattr(self, f"{test}_error", None))
                rows.append([test, value, "contradicts" if test in self.failed else "does not contradict"])
        picture = notebook.plot(self.lines(), "eigenvalue λ", "F(λ)", sentence)
        return notebook.card(sentence, picture, ["test", "value", "a power law"], rows)


# A test contradicts the law beyond this fraction of the exponent and so many standard errors; the law is claimed only
# if a curvature of CLAIMED times the exponent (Gaussian rows at m/d = 1.17, 2, 1/2 have 0.36 to 0.6) would have shown.
BENT, DRIFTED, SIGMAS, CLAIMED = 0.15, 0.25, 3.5, 0.40
# Eigenvalues that the law may expect below the smallest: P(more) < 1e-3, for those that repel and for independent ones.
MOST_MISSING = {True: 3.0, False: 8.0}


def edge_law(eigenvalues: ArrayLike) -> EdgeLaw:
    r"""Fit the left edge at zero, and test whether there is a power law.

    With weights :math:`e^{-t\lambda}` the exponent of :func:`fit_edge_laplace` is the mean of tλ, and the law makes tλ
    a Gamma variable, whose variance is its mean. Three tests:

    - **curvature**: :math:`d\beta/d\log t`, which is that mean minus the variance, at the window of the fit;
    - **drift**: the exponent at a later time, where about a quarter of the eigenvalues is left, minus that of the fit;
    - **gap**: :math:`dQ\lambda_1^\beta`, the eigenvalues expected below the smallest one, many where m ≠ d.

    Standard errors are those of sums of independent terms, or, for eigenvalues that repel each other
    (:func:`eigenvalues_repel`), of a random matrix's at a wall, whose fluctuations in log t have the spectral density
    :math:`\tanh(\pi\nu/2\beta)/(2\pi\sinh\pi\nu)` (at β = 1/2 the Bessel process). *Derived* here.

    **Measured** (a test repeats it; Gaussian rows, 200 draws of each size): at m = d from 128 to 512 the law is never
    denied, and claimed in 91 % of the draws at 128, 98 % at 192 and all from 256 on; at m/d = 1.17, 2 and 1/2, where
    there is none, it is claimed in 2 of 1800. Below a hundred eigenvalues the answer is mostly "too few".

    Examples
    --------
    >>> from edgelaw import data
    >>> law = edge_law(gram_eigenvalues(data.gaussian(256, 256, rng=0)))
    >>> law.holds, bool(abs(law.fit.beta - 0.5) < 3 * law.error < 0.1)
    (True, True)
    >>> edge_law(gram_eigenvalues(data.gaussian(600, 512, rng=0))).failed
    ('curvature', 'drift', 'gap')
    """
    values = arguments.eigenvalues(eigenvalues)
    try:
        fit = fit_edge_laplace(values)
    except ValueError as refusal:
        reason = f"No power law is claimed: {str(refusal)[0].lower()}{str(refusal)[1:]}"
        return EdgeLaw(None, reason, eigenvalues=values)
    positive = values[values > 0]
    now = _Moments.at(positive, 3 / fit.window[1])
    later = _Moments.at(positive, _later(positive, now))
    repel = eigenvalues_repel(positive)
    errors = _repelling_errors(now, later) if repel else _independent_errors(now, later, fit.count)
    far = later.time > 1.5 * now.time
    tests = EdgeLaw(
        holds=None,
        reason="",
        fit=fit,
        error=_with_ranks(errors[0], values, fit),
        curvature=now.mean - now.variance,
        curvature_error=errors[1],
        drift=later.mean - now.mean if far else np.nan,
        drift_error=errors[2] if far else np.nan,
        gap=float(len(values) * fit.cdf(positive[0])),
        eigenvalues=values,
    )
    return _judged(tests, MOST_MISSING[repel])


def _judged(tests: EdgeLaw, most_missing: float) -> EdgeLaw:
    """The verdict of the three tests, in words where the law is not claimed."""
    assert tests.fit is not None
    beta = tests.fit.beta
    sentences = {
        "curvature": (
            abs(tests.curvature) > BENT * beta + SIGMAS * tests.curvature_error,
            f"on logarithmic axes F is curved: its slope changes by {tests.curvature:+.2g} ± "
            f"{tests.curvature_error:.1g} per factor e around {beta:.2g}",
        ),
        "drift": (
            abs(tests.drift) > DRIFTED * beta + SIGMAS * tests.drift_error,  # False for NaN
            f"the exponent depends on the window: {beta:.2g}, but {beta + tests.drift:.2g} ± {tests.drift_error:.1g} "
            "over the smallest quarter of it",
        ),
        "gap": (
            tests.gap > most_missing,
            f"the edge is not at zero: the law expects {tests.gap:.1f} eigenvalues below {tests.fit.window[0]:.2g}, "
            "and there are none",
        ),
    }
    failed = tuple(name for name, (fails, _) in sentences.items() if fails)
    if failed:
        why = "; ".join(sentences[name][1] for name in failed)
        return replace(tests, holds=False, failed=failed, reason=f"No power law at zero: {why}.")
    if abs(tests.curvature) + 2 * tests.curvature_error > CLAIMED * beta:
        return replace(
            tests,
            reason=f"No power law is claimed: {tests.fit.count} eigenvalues at the left edge are too few to tell one "
            f"from a curved edge (a slope of {beta:.2g} that changes by {tests.curvature:+.2g} ± "
            f"{tests.curvature_error:.1g} per factor e).",
        )
    return replace(tests, holds=True)


class _Moments(NamedTuple):
    """Of x = tλ with weights exp(-x): all x, the weights and their sum, the mean and the variance."""

    time: float
    x: Array
    weights: Array
    total: float
    mean: float
    variance: float

    @classmethod
    def at(cls, positive: Array, time: float) -> "_Moments":
        x = time * positive
        weights = np.exp(-x)
        total = float(weights.sum())
        mean = float(weights @ x) / total
        return cls(time, x, weights, total, mean, float(weights @ (x - mean) ** 2) / total)

    @property
    def influence(self) -> Array:
        """What each eigenvalue adds to the error of the mean."""
        return self.weights * (self.x - self.mean) / self.total


def _later(positive: Array, now: _Moments) -> float:
    """The time at which the weights add up to a quarter of what they do now, but at least to 4."""
    goal = max(4.0, now.total / 4)
    if now.total <= goal:
        return now.time
    farthest = np.log(now.total / goal) + np.log1p(700 / (now.time * positive[0]))
    root = bracketed_root(
        lambda u: np.exp(-now.time * np.exp(u) * positive).sum() - goal, 0.0, farthest, tolerance=1e-10
    )
    return float(now.time * np.exp(root))


def _independent_errors(now: _Moments, later: _Moments, count: int) -> tuple[float, float, float]:
    """Standard errors of exponent, curvature and drift where eigenvalues are independent.

    Estimated from `count` eigenvalues, the last two are too small by up to about 8/count (measured), and are raised.
    """
    bend = now.influence - now.weights * ((now.x - now.mean) ** 2 - now.variance) / now.total
    terms = (now.influence, bend, later.influence - now.influence)
    exponent, curvature, drift = (float(np.sqrt(term @ term)) for term in terms)
    return exponent, (1 + 8 / count) * curvature, (1 + 8 / count) * drift


def _repelling_errors(now: _Moments, later: _Moments) -> tuple[float, float, float]:
    """The same where they repel each other: integrals over the spectral density of the fluctuations in log t."""
    nu, weights = panels([0.0, 12.0], 200)  # the density falls as exp(-πν)
    density = weights * np.tanh(np.pi * nu / (2 * now.mean)) / (np.pi * np.sinh(np.pi * nu))  # ν and −ν
    slope, turned = density * (nu**2 + now.mean**2), np.cos(nu * np.log(later.time / now.time))
    exponent = slope.sum() / now.total**2
    drift = exponent + slope.sum() / later.total**2 - 2 * (slope @ turned) / (now.total * later.total)
    curvature = density @ (nu**2 + now.mean**2) ** 2 / now.total**2
    return float(np.sqrt(exponent)), float(np.sqrt(curvature)), float(np.sqrt(max(drift, 0.0)))


def _with_ranks(error: float, values: Array, fit: EdgeFit) -> float:
    """The error of the exponent, at least half of the difference to :func:`fit_edge`, which sees a bend differently."""
    try:
        with np.errstate(over="ignore"):  # of Q, where the exponent is very large
            by_ranks = fit_edge(values, skip=min(5, fit.count // 4), zeros="drop").beta
    except ValueError:
        return error
    return max(error, abs(by_ranks - fit.beta) / 2)


def eigenvalues_repel(values: ArrayLike) -> bool:
    """Whether eigenvalues repel each other, as those of random matrices do, or lie independently.

    The mean ratio of the smaller to the larger of two neighbouring gaps is 0.536 if they repel and 0.386 if they are
    independent; the answer is yes if it exceeds 0.46 by more than its standard error, with ten positive gaps at least.

    Examples
    --------
    >>> eigenvalues_repel(np.random.default_rng(0).random(200))
    False
    """
    gaps = np.diff(np.sort(arguments.real_array(values, "values", 1)))
    gaps = gaps[gaps > 0]
    if len(gaps) < 10:
        return False
    ratios = np.minimum(gaps[1:], gaps[:-1]) / np.maximum(gaps[1:], gaps[:-1])
    return bool(ratios.mean() - ratios.std() / np.sqrt(len(ratios)) > 0.46)


def _window(eigenvalues: ArrayLike, quantile: float) -> tuple[Array, Array, Integers, int]:
    """Positive eigenvalues, the left quantile of them, their ranks, and the number of zeros."""
    values = arguments.eigenvalues(eigenvalues)
    quantile = arguments.number(quantile, "quantile", 0, 1)
    null = int((values == 0).sum())
    return values[null:], *_left(values[null:], quantile, skip=0, fewest=4), null


def _left(ranked: Array, quantile: float, skip: int, fewest: int) -> tuple[Array, Integers]:
    """The left quantile of ascending eigenvalues without the `skip` smallest, and their ranks."""
    last = int(np.floor(quantile * len(ranked) * (1 + 1e-12)))
    if last - skip < fewest:
        which, remedy = "positive eigenvalues", "a larger quantile"
        if skip:
            which, remedy = f"eigenvalues without the {skip} smallest", "a larger quantile or a smaller skip"
        raise ValueError(
            f"The left {quantile:g} of {len(ranked)} {which} leaves {max(last - skip, 0)} to fit; at least {fewest} "
            f"are needed, so use more eigenvalues or {remedy}."
        )
    edge = ranked[skip:last]
    if edge[-1] <= edge[0] * (1 + 1e-12):
        raise ValueError(
            f"The {len(edge)} eigenvalues at the left edge all equal {edge[0]:g}; a power law needs them to vary."
        )
    return edge, np.arange(skip + 1, last + 1)


def effective_rank(eigenvalues: ArrayLike) -> float:
    r"""Effective rank :math:`(\sum \lambda)^2 / \sum \lambda^2`: d for a flat spectrum, 1 for a single direction.

    For Marchenko–Pastur at aspect ρ = m/d it tends to :math:`d \rho / (1 + \rho)`.

    >>> effective_rank([1.0, 1.0, 1.0]), effective_rank([0.0, 0.0, 5.0])
    (3.0, 1.0)
    """
    values = arguments.eigenvalues(eigenvalues)
    if values[-1] == 0:
        raise ValueError("The effective rank needs at least one positive eigenvalue, but all are zero.")
    values = values / values[-1]
    return float(values.sum() ** 2 / (values @ values))


def quantile_ratio(eigenvalues: ArrayLike) -> float:
    """Ratio of the 95 % and the 5 % quantile of the spectrum; infinite when the lower one is zero.

    >>> round(quantile_ratio(np.arange(1, 102)), 6)
    16.0
    """
    bottom, top = np.quantile(arguments.eigenvalues(eigenvalues), [0.05, 0.95])
    return float(top / bottom) if bottom > 0 else np.inf


LOOKED_AT = 512  # rows, of more a random part
BEYOND = (2.0, 1.5)  # times the largest of the twins: more is a failure, of the one half and of the other


class Position(NamedTuple):
    """The two halves of the condition under which eigenvalues are enough, and what they are for random rows."""

    uneven: float  #: the spread of the diagonal of K² over its mean, K the cosines of the rows
    parallel: float  #: the cosine of a row with the nearest other one, in the mean over rows
    usual: tuple[float, float]  #: the largest of both among rows with the same eigenvalues and Haar bases

    @property
    def failed(self) -> tuple[str, ...]:
        """Which halves fail: more than twice what is usual of `uneven`, or 1.5 times of `parallel`."""
        pairs = zip(("uneven", "parallel"), self[:2], self.usual, BEYOND, strict=True)
        return tuple(name for name, seen, usual, times in pairs if seen > times * usual + 1e-9)


def general_position(X: ArrayLike, rng: Rng, twins: int = 16) -> Position:
    """Whether rows are in general position: flat diagonals and small other entries of powers of their cosines.

    The order of the rows does not matter, because theory visits them in a random one. Of more than 512 rows a random
    part is looked at. **Measured** (tests repeat it): at 128 rows the margins tell Gaussian, Haar and Walsh rows from
    mixtures of subspaces and from near-parallel pairs. Rows that fail need not be far from their curves.

    >>> general_position(data.gaussian(96, 96, rng=0), rng=1).failed
    ()
    """
    X, rng = data.normalize_rows(X), arguments.generator(rng)
    m = arguments.whole(len(X), "the number of rows", 3)
    if m > LOOKED_AT:
        X, m = X[rng.choice(m, LOOKED_AT, replace=False)], LOOKED_AT
    seen, values = _halves(X), np.linalg.eigvalsh(X @ X.T / X.shape[1])
    values = values[values > 1e-10 * values[-1]]
    usual = [_halves(data.haar(m, len(values), rng) * np.sqrt(values)) for _ in range(twins)]
    return Position(*seen, tuple(np.max(usual, axis=0).tolist()))


def _halves(X: Array) -> tuple[float, float]:
    """The spread of the diagonal of K² over its mean, and the mean over rows of their largest cosine."""
    U = X / np.linalg.norm(X, axis=1)[:, None]
    K = np.abs(U @ U.T)
    heights = np.einsum("ij,ij->i", K, K)
    np.fill_diagonal(K, 0)
    return float(heights.std() / heights.mean()), float(K.max(axis=1).mean())
