"""All certificates, part by part."""

import functools
import math
from collections.abc import Iterator
from fractions import Fraction

from flint import acb, arb

from edgelaw.laws import MarchenkoPastur
from edgelaw.theory import BY_ORDER, flip_flop, free, single_shuffle
from edgelaw_ledger.certificates import edges, expansions, sums
from edgelaw_ledger.certificates.balls import DOUBLE, precisely, root
from edgelaw_ledger.certificates.entries import AT_LEAST, Certificate, Paper, at, papers

PARTS = ("constants", "edge", "expansions", "sums")
ONE, HALF = Fraction(1), Fraction(1, 2)
STEPS = (ONE, Fraction(1, 4), HALF, Fraction(3, 2))
LOSSES = ("test", "train")
CONSTANTS = {"single_shuffle": edges.single_shuffle, "iid": edges.iid, "flip_flop": edges.flip_flop}
ITERATED = 5e-14  # relative rounding of a loss that the library sums or integrates


@precisely()
def everything() -> tuple[Certificate, ...]:
    """All of them, computed once per process (half a minute)."""
    limits = (constants, trace_limits, singularities, ratios)
    coefficients = (shuffle_coefficients, other_coefficients, overdetermined)
    losses = (first_losses, first_coefficients, one_epoch)
    return tuple(entry for group in limits + coefficients + losses for entry in group())


def _named(order, loss=""):
    """An order in words, and its loss."""
    words = order.replace("iid", "IID").replace("flip_flop", "flip-flop").replace("_", " ")
    return f"{words}, {loss.replace('train', 'training')}" if loss else words


def _at_steps(part, what, ball, ours, stated, rounding):
    """A certificate at each step at which a claim states the number; `stated` has what is said at any, and at 1."""
    always, at_one = stated
    for step in STEPS:
        told = papers(at(step), **always) + (papers(**at_one) if step == 1 else ())
        if told:
            quantity = f"{what}, $\\eta={step}$"
            yield Certificate(part, quantity, ball(step), ours(float(step)), told, rounding)


# ------------------------------------------------------------------------------------------- leading constants

SHUFFLE_TEST, FLIP_TEST = "sqrt((1/eta - offset)/(scale*pi))", "sqrt((1/tau - offset)/(scale*pi))"
#: Who states a constant at every step, and who at step 1.
STATED = {
    ("single_shuffle", "test"): (
        {"A7": SHUFFLE_TEST, "F15": SHUFFLE_TEST, "F28": "sqrt((1/eta - half)/(single*pi))"},
        {"A10": "single", "D19": "leading", "E23": "shuffle_test"},
    ),
    ("single_shuffle", "train"): (
        {},
        {"A16": "front", "D20": "leading", "D30": "constant", "E23": "shuffle_train"},
    ),
    ("iid", "test"): (
        {"A8": "1/sqrt(scale*pi*eta)", "B5": "test/sqrt(eta)"},
        {"A10": "independent", "E23": "iid_test"},
    ),
    ("iid", "train"): (
        {"A15": "front/(eta**power*(drop - eta))", "B5": "train/(eta**power*(drop - eta))"},
        {"E23": "iid_train"},
    ),
    ("flip_flop", "test"): (
        {"A9": FLIP_TEST, "F23": FLIP_TEST, "F28": "sqrt((1/tau - half)/(flip*pi))"},
        {"A10": "flip", "E3": "leading", "E23": "flip_test", "F23": "1/sqrt(at_one*pi)"},
    ),
    ("flip_flop", "train"): ({}, {"A17": "front", "E11": "leading", "E23": "flip_train"}),
}


def constants() -> Iterator[Certificate]:
    """Three orders, two losses, and the steps at which a claim states the constant."""
    for (order, loss), stated in STATED.items():
        ball, ours = (functools.partial(route, order, loss) for route in (_enclosed, _computed))
        yield from _at_steps("constants", _named(order, loss), ball, ours, stated, DOUBLE)


def _enclosed(order, loss, step):
    return CONSTANTS[order](step)[LOSSES.index(loss)]


def _computed(order, loss, step):
    return getattr(BY_ORDER[order], f"{loss}_constant")(step)


# ------------------------------------------------------------------------------------------- singularities and ratios


def trace_limits() -> Iterator[Certificate]:
    """Trace moments: at a step τ = η(2 − η) their constant is flip-flop's test constant at η."""
    for eta in STEPS[:3]:
        step, ours = eta * (2 - eta), flip_flop.test_constant(float(eta))
        limit = "sqrt((one - half*eta)/eta/pi)"
        stated = papers(at(step), F2=limit, F8=limit, F27="sqrt((one/eta - half)/pi)",
                        F28="sqrt((1 - half*eta)/eta/(trace*pi))", C16="sqrt(factor*(2 - eta)/eta/pi)")  # fmt: skip
        stated += papers(F2="1/sqrt(at_one*pi)", C17="constant") if step == 1 else ()
        quantity = f"$\\lim\\sqrt n\\,m_n$, trace moments, step ${step}$"
        yield Certificate("edge", quantity, edges.trace_moment(step), ours, stated)
        quantity = f"squared limit of $\\sqrt{{1-z}}/(\\eta+W_r)$ over $(2-\\eta)/\\eta$, $\\eta={step}$"
        factor = ours**2 * math.pi * float(step / (2 - step))
        yield Certificate("edge", quantity, edges.r_lambert_factor(step), factor, papers(C15="factor"))


def singularities() -> Iterator[Certificate]:
    """Factors at the edge, the integrals of the transfer, and numbers of other kinds."""
    test, train = edges.shuffle_singularity(ONE)
    first, second = edges.transfer_integrals()
    value, slope = edges.flip_flop_generating(ONE)
    shuffle, shuffled = single_shuffle.test_constant(), single_shuffle.train_constant()
    below = acb(-arb.const_e()).lambertw().log().imag / arb.pi()
    rows = [
        ("single shuffle's $\\Phi$ at $(1,1)$, its factor", test, shuffle * math.sqrt(2 * math.pi), {"D13": "leading"}),
        ("single shuffle's $\\Psi$ at $(1,1)$, its factor", train, 4 * shuffled * math.sqrt(2 * math.pi),
         {"D29": "1/sqrt(inside)"}),
        ("contour integral of the test loss, over $\\sqrt2$", first / root(2), shuffle, {"D14": "value"}),
        ("contour integral of the training loss", second, math.sqrt(2) * shuffled, {"D30": "value"}),
        ("flip-flop's training losses added up, $\\mathcal G_1(1)$", arb(value), None, {"E10": "value"}),
        ("minus the factor of $\\sqrt{1-z}$ in $\\mathcal G_1$", slope,
         math.sqrt(4 * math.pi) * flip_flop.train_constant(), {"E10": "slope"}),
        ("$(W_0(-1/e+u)+1)^2/u$ as $u\\to0$", edges.lambert_square(), None, {"E9": "inside"}),
        ("$\\lim F(\\lambda)/\\sqrt\\lambda$, Marchenko–Pastur law, $m=d$", 2 / arb.pi(), MarchenkoPastur().edge.Q,
         {"A6": "Q"}),
        # a support that starts at e^(−left) has nothing below e^(−2), if left is at most 2
        ("share of squared singular values below $e^{-2}$, $m=d$", below,
         float(free.SquaredSingularValues().cdf(math.exp(-2))), {"C21": "0 if left < 2.001 else pm(1)"}),
    ]  # fmt: skip
    for quantity, ball, ours, stated in rows:
        yield Certificate("edge", quantity, ball, ours, papers(**stated))


def ratios() -> Iterator[Certificate]:
    """Ratios of constants, some of them printed also with two decimals."""
    rounded, least = "rounded + pm(0.005)", (Paper("E22", "1", relation=AT_LEAST),)
    rows = [
        ("iid", "single_shuffle", "test", ONE, papers(A11=["factor", rounded], E23=["ratio", rounded])),
        ("iid", "single_shuffle", "train", ONE, papers(A18=["factor", rounded])),
        ("flip_flop", "single_shuffle", "train", ONE, papers(E20=["factor", rounded])),
        ("flip_flop", "iid", "test", HALF, least),
    ]
    for top, bottom, loss, step, stated in rows:
        ball = _enclosed(top, loss, step) / _enclosed(bottom, loss, step)
        ours = _computed(top, loss, float(step)) / _computed(bottom, loss, float(step))
        quantity = f"{_named(top)} over {_named(bottom, loss)}, $\\eta={step}$"
        yield Certificate("edge", quantity, ball, ours, stated)


# ------------------------------------------------------------------------------------------- second coefficients


def shuffle_coefficients() -> Iterator[Certificate]:
    """Single shuffle's second and third coefficients; a remainder O(n^−power) says that one of a lower power is 0."""
    borrowed = tuple(Paper(claim, "second", source="D15") for claim in ("D16", "D17"))
    rows = [
        ("test", expansions.shuffle_test(), ("-1/2", "-1", "-3/2"), papers(D15="second") + borrowed,
         papers(D18="relative"), papers(D16="0 if power > 1.5 else pm(1)")),
        ("train", expansions.shuffle_train(), ("-3/2", "-2", "-5/2"), papers(D20="second"),
         papers(D20="relative", D22="0"), papers(D21="0 if power > 2.5 else pm(1)")),
    ]  # fmt: skip
    for loss, model, (leading, power, last), absolute, relative, third in rows:
        ours = [float(c) / math.pi**over for _, c, over in single_shuffle.expansion(loss, 3)]
        name = f"{_named('single_shuffle', loss)}, of $n^{{"
        yield Certificate("expansions", f"{name}{power}}}$", model[1], ours[1], absolute)
        quantity = f"{name}{power}}}$ over that of $n^{{{leading}}}$"
        yield Certificate("expansions", quantity, model[1] / model[0], ours[1] / ours[0], relative)
        yield Certificate("expansions", f"{name}{last}}}$", model[2], ours[2], third)


def other_coefficients() -> Iterator[Certificate]:
    """Flip-flop: the training loss's second, whose printed value is wrong; Stirling's series for the test loss."""
    train, test = expansions.flip_flop_train(), expansions.critical_moment()
    name = "flip-flop, test ($n^ne^{-n}/n!$), of"
    rows = [
        ("flip-flop, training, of $n^{-5/2}$ over that of $n^{-3/2}$", train[2] / train[0], None,
         (*papers(E12="second"), Paper("E13", "second", source="E12"))),
        (f"{name} $n^{{-1/2}}$", test[0], flip_flop.test_constant(), papers(C2="leading", D5="leading", E4="leading")),
        (f"{name} $n^{{-3/2}}$ over that of $n^{{-1/2}}$", test[2] / test[0], None,
         papers(C2="-second", D5="-second", E4="-second")),
        (f"{name} $n^{{-5/2}}$ over that of $n^{{-1/2}}$", test[4] / test[0], None, papers(D5="third", E4="third")),
    ]  # fmt: skip
    for row in rows:
        yield Certificate("expansions", *row)


def overdetermined() -> Iterator[Certificate]:
    """Trace moments at ρ > 1 over the law that is printed for them, for every n from 1000 on: it should tend to 1."""
    for rho in (Fraction(3, 2), Fraction(2)):
        inverse, scaled = expansions.overdetermined_ratio(rho, 1000)
        quantity = f"$m_n({rho})$ over the printed law, every $n\\ge1000$"
        yield Certificate("expansions", quantity, inverse * scaled, None, papers(D8="1"))


# ------------------------------------------------------------------------------------------- losses after few epochs

# What claims say at any step, and at step 1: c_1 and c_2; m_2 and m_3, also as b_2 and b_3; then a_1, a_2 and a_3.
M_2 = "exp(-2*tau)*(1 + second*tau**2)"
M_3 = "exp(-3*tau)*(1 + third*tau**2 - cubic*tau**3 + square*tau**4)"
FIRST = {
    ("single_shuffle", 1): ({"F16": "exp((eta - rate)*eta)"}, {}),
    ("single_shuffle", 2): (
        {"F17": "exp((eta - four)*eta)*(exp(growth*eta**2) + (two - eta)**2*eta**2*(1 + eta**2))"},
        {},
    ),
    ("flip_flop", 2): ({"F7": M_2, "F26": M_2}, {"F26": "two*exp(-2)"}),
    ("flip_flop", 3): ({"F7": M_3, "F26": M_3}, {"F26": "nine*exp(-3)"}),
}
COEFFICIENTS = {
    1: {"E15": "(linear*rho - constant)*exp(-rho) + second*exp(-2*rho)"},
    2: {"E16": "(linear*rho + (rho**2 - inner)*exp(rho) + constant)*exp(-3*rho)"},
    3: {
        "E17": "half*(square*rho**2 + linear*rho + constant"
        " + (cubic*rho**3 + rho**2 - inner_linear*rho - inner)*exp(rho))*exp(-4*rho)"
    },
}


def first_losses() -> Iterator[Certificate]:
    """Test losses: coefficients of single shuffle's generating function, and flip-flop's two counts."""
    for (order, n), stated in FIRST.items():
        ball, ours = getattr(sums, f"{order}_test"), BY_ORDER[order].test_loss
        what = f"{_named(order, 'test')}, $n={n}$"
        yield from _at_steps(
            "sums", what, functools.partial(ball, n), functools.partial(ours, n), stated, ITERATED
        )


def first_coefficients() -> Iterator[Certificate]:
    """The paper's a_1, a_2, a_3 as functions of ρ, against its own Poisson expectations."""
    for n, stated in COEFFICIENTS.items():
        for rho in (HALF, ONE, Fraction(2)):
            ball = sums.flip_flop_poisson(n, rho) * at(rho=rho)["rho"]
            ours = float(rho) * flip_flop.train_loss(n, rho=float(rho))
            quantity = f"flip-flop, $a_{n}(\\rho)$, $\\rho={rho}$, $\\eta=1$"
            yield Certificate("sums", quantity, ball, ours, papers(at(rho=rho), **stated), ITERATED)


def one_epoch() -> Iterator[Certificate]:
    """A ratio after one epoch, which a factor "at any number of epochs" would have to be."""
    ball = sums.flip_flop_test(1, ONE) / sums.single_shuffle_test(1, ONE)
    ours = flip_flop.test_loss(1) / single_shuffle.test_loss(1)
    quantity = f"{_named('flip_flop')} over {_named('single_shuffle', 'test')}, $n=1$, $\\eta=1$"
    yield Certificate("sums", quantity, ball, ours, papers(G4="ratio"), ITERATED)
