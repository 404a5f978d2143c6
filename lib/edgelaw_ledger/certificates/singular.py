"""Certificates of what stands between a generating function and a constant: singularities, integrals, ratios."""

import math
from collections.abc import Iterator
from fractions import Fraction

from flint import acb, arb

from edgelaw.laws import MarchenkoPastur
from edgelaw.theory import BY_ORDER, flip_flop, free, single_shuffle
from edgelaw_ledger.certificates import edges
from edgelaw_ledger.certificates.balls import exact, root
from edgelaw_ledger.certificates.entries import AT_LEAST, Certificate, Paper
from edgelaw_ledger.certificates.naming import CLOSED, ITERATED, LOSS_NAMES, LOSSES, NAMES, STEPS


def _edge(quantity, ball, ours, *papers, rounding=CLOSED):
    return Certificate("edge", quantity, arb(ball), ours, rounding, papers)


def _named(claim, name):
    """A claim that states the number itself."""
    return Paper(claim, lambda p: p[name])


def _rounded(claim):
    """A claim that states it to two decimals."""
    return Paper(claim, lambda p: p["rounded"] + arb(0, 0.005))


def trace_moments() -> Iterator[Certificate]:
    """At a step τ = η(2 − η) their constant is flip-flop's test constant at η."""
    for eta in STEPS[:3]:
        step = eta * (2 - eta)
        ours = flip_flop.test_constant(float(eta))
        ball = edges.trace_moment(step)
        yield _edge(f"$\\lim\\sqrt n\\,m_n$, trace moments, step ${step}$", ball, ours, *_trace_papers(step))
        quantity = f"squared limit of $\\sqrt{{1-z}}/(\\eta+W_r)$ over $(2-\\eta)/\\eta$, $\\eta={step}$"
        factor = ours**2 * math.pi * float(step) / (2 - float(step))
        yield _edge(quantity, edges.r_lambert_factor(step), factor, _named("C15", "factor"))


def _trace_papers(step):
    t, pi = exact(step), arb.pi()
    papers = [
        Paper("F2", lambda p: root((p["one"] - p["half"] * t) / t / pi)),
        Paper("F8", lambda p: root((p["one"] - p["half"] * t) / t / pi)),
        Paper("F27", lambda p: root((p["one"] / t - p["half"]) / pi)),
        Paper("F28", lambda p: root((1 - p["half"] * t) / t / (p["trace"] * pi))),
        Paper("C16", lambda p: root(p["factor"] * (2 - t) / t / pi)),
    ]
    if step == 1:
        papers += [Paper("F2", lambda p: 1 / root(p["at_one"] * pi)), _named("C17", "constant")]
    return papers


def singularities() -> Iterator[Certificate]:
    """Factors at the edge, the integrals of the transfer, and three numbers of other kinds."""
    test, train = edges.shuffle_singularity(Fraction(1))
    first, second = edges.transfer_integrals()
    value, slope = edges.flip_flop_generating(Fraction(1))
    shuffle, flip = single_shuffle.test_constant(), flip_flop.train_constant()
    shuffled = single_shuffle.train_constant()
    yield _edge("single shuffle's $\\Phi$ at $(1,1)$, its factor", test, shuffle * math.sqrt(2 * math.pi),
                _named("D13", "leading"))  # fmt: skip
    yield _edge("single shuffle's $\\Psi$ at $(1,1)$, its factor", train, 4 * shuffled * math.sqrt(2 * math.pi),
                Paper("D29", lambda p: 1 / root(p["inside"])))  # fmt: skip
    yield _edge("contour integral of the test loss, over $\\sqrt2$", first / root(2), shuffle,
                _named("D14", "value"))  # fmt: skip
    yield _edge("contour integral of the training loss", second, math.sqrt(2) * shuffled,
                _named("D30", "value"))  # fmt: skip
    yield _edge("flip-flop's training losses added up, $\\mathcal G_1(1)$", value, None,
                _named("E10", "value"))  # fmt: skip
    yield _edge("minus the factor of $\\sqrt{1-z}$ in $\\mathcal G_1$", slope, 2 * flip * math.sqrt(math.pi),
                _named("E10", "slope"))  # fmt: skip
    yield _edge("$(W_0(-1/e+u)+1)^2/u$ as $u\\to0$", edges.lambert_square(), None, _named("E9", "inside"))


def laws() -> Iterator[Certificate]:
    """Two numbers of laws of spectra: the front of Marchenko–Pastur, and a share of squared singular values."""
    yield _edge("$\\lim F(\\lambda)/\\sqrt\\lambda$, Marchenko–Pastur law, $m=d$", 2 / arb.pi(),
                MarchenkoPastur().edge.Q, _named("A6", "Q"))  # fmt: skip
    below = acb(-arb.const_e()).lambertw().log().imag / arb.pi()
    ours = float(free.SquaredSingularValues().cdf(math.exp(-2)))
    yield _edge("share of squared singular values below $e^{-2}$, $m=d$", below, ours,
                Paper("C21", _nothing_below), rounding=ITERATED)  # fmt: skip


def _nothing_below(p):
    """A support that starts at e^(−left) has nothing below e^(−2), if left is at most 2."""
    return arb(0) if p["left"] < 2.001 else arb(0, 1)


def ratios() -> Iterator[Certificate]:
    """Ratios of constants."""
    one, half = Fraction(1), Fraction(1, 2)
    exact_factor = [_named("A11", "factor"), _rounded("A11"), _named("E23", "ratio"), _rounded("E23")]
    rows = [
        ("iid", "single_shuffle", "test", one, exact_factor),
        ("iid", "single_shuffle", "train", one, [_named("A18", "factor"), _rounded("A18")]),
        ("flip_flop", "single_shuffle", "train", one, [_named("E20", "factor"), _rounded("E20")]),
        ("flip_flop", "iid", "test", half, [Paper("E22", lambda p: arb(1), relation=AT_LEAST)]),
    ]
    for top, bottom, loss, step, papers in rows:
        which = LOSSES.index(loss)
        ball = getattr(edges, top)(step)[which] / getattr(edges, bottom)(step)[which]
        ours = [getattr(BY_ORDER[name], f"{loss}_constant")(float(step)) for name in (top, bottom)]
        quantity = f"{NAMES[top]} over {NAMES[bottom]}, {LOSS_NAMES[loss]}, $\\eta={step}$"
        yield _edge(quantity, ball, ours[0] / ours[1], *papers)
