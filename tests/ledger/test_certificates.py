"""Certified constants: every ball against the ledger's verdict, the paper's number and the library's."""

import math
import re
import tomllib
from fractions import Fraction
from pathlib import Path

import flint
import pytest
from flint import arb, arb_poly, fmpq

from edgelaw_ledger import certificates as package
from edgelaw_ledger.certificates import edges, entries, expansions, models, sums
from edgelaw_ledger.certificates.entries import CONTAINED, EXCLUDED, Certificate, Paper, ledger
from edgelaw_ledger.certificates.models import START, TERMS

ROOT = Path(__file__).resolve().parents[2]
ONE = Fraction(1)
HOLD = re.findall(
    r"\w+",
    "A6 A7 A8 A9 A10 A11 A15 A16 A17 A18 B5 C2 D5 D13 D14 D19 D20 D29 D30 E3 E4 E10 E11 E15 E16 E17 E20 E23 "
    "F2 F7 F8 F15 F16 F17 F23 F26 F27 F28",
)
FAIL = re.findall(r"\w+", "C15 C16 C17 C21 D8 D15 D16 D17 D18 D21 D22 E9 E12 E13 E22 G4")
# what a failing claim's check states, and the number that would have been right
RIGHT = {
    **{claim: {"factor": 0.5} for claim in ("C15", "C16")},
    "C17": {"constant": (2 * math.pi) ** -0.5},
    **{claim: {"second": 1 / (6 * math.pi)} for claim in ("D15", "D16", "D17")},
    "D18": {"relative": 1 / (3 * math.pi**0.5)},
    "D21": {"power": 2.5},
    "E9": {"inside": 2 * math.e},
    **{claim: {"second": -14 / 15} for claim in ("E12", "E13")},
}
# what a check states and no certificate uses: an exponent, an initial value, a coefficient of a proof
UNUSED = {("A6", "beta"), ("D17", "power"), ("D22", "leading"), ("E13", "power"), ("F16", "zero")}


@pytest.fixture(autouse=True)
def many_bits():
    """What a test computes with balls it computes with 256 bits."""
    with flint.ctx.workprec(256):
        yield


def shuffle_test(n):
    """Single shuffle's test loss at step 1, Σ H_k P(N = n−k)²; beyond the computed H_k, 2 within Cauchy's bound."""
    weights, bound, total = expansions.queue_weights(), expansions.queue_bound(), arb(0)
    for k, p in enumerate(sums._poisson_below(n, n)):
        H = weights[k] if k < len(weights) else 2 + arb(0, (bound * arb(4) ** -k).abs_upper())
        total += H * p**2
    return total


def shuffle_train(n):
    """Single shuffle's training loss at step 1, Σ (k/n)² P(N = n−k)²."""
    return sum((fmpq(k, n) ** 2 * p**2 for k, p in enumerate(sums._poisson_below(n, n))), arb(0))


def about(claim):
    """The pairs of a certificate and a statement that concern a claim."""
    return [(c, p) for c in package.certificates() for p in c.papers if p.claim == claim]


# ------------------------------------------------------------ the paper's numbers


def test_every_claim_with_a_certificate_is_listed_here_and_none_is_imprecise():
    assert {paper.claim for entry in package.certificates() for paper in entry.papers} == {*HOLD, *FAIL}


@pytest.mark.parametrize("claim", [*HOLD, *FAIL])
def test_every_ball_contains_the_papers_number_where_a_claim_holds_and_excludes_it_where_it_fails(claim):
    holds = claim in HOLD
    assert ledger()[claim].verdict == ("holds" if holds else "fails")
    assert {entry.verdict(paper) for entry, paper in about(claim)} == {CONTAINED if holds else EXCLUDED}


@pytest.mark.parametrize("claim", HOLD)
@pytest.mark.parametrize("factor", [0.98, 1.02])
def test_a_stated_number_moved_by_two_per_cent_is_excluded(claim, factor):
    pairs = about(claim)
    for name in {name for _, paper in pairs for name in paper.names}:
        moved = [(e, p, p.stated()[name] * factor) for e, p in pairs if name in p.names]
        verdicts = [entry.verdict(paper, **{name: value}) for entry, paper, value in moved]
        assert EXCLUDED in verdicts, f"{claim}: nothing depends on {name}"


@pytest.mark.parametrize("claim", RIGHT)
def test_the_right_number_in_a_failing_claims_place_is_contained(claim):
    pairs = [(entry, paper) for entry, paper in about(claim) if paper.names >= set(RIGHT[claim])]
    assert {entry.verdict(paper, **RIGHT[claim]) for entry, paper in pairs} == {CONTAINED}


def test_only_rounded_and_structural_numbers_of_a_check_go_without_a_ball():
    unused = set()
    for claim in (*HOLD, *FAIL):
        used = {name for _, paper in about(claim) if not paper.source for name in paper.names}
        unused |= {(claim, name) for name in ledger()[claim].stated() if name not in used}
    assert unused == UNUSED


# ------------------------------------------------------------ the library's numbers


def test_every_ball_contains_the_librarys_value_within_its_rounding():
    compared = [entry for entry in package.certificates() if entry.ours is not None]
    assert [entry.quantity for entry in compared if not entry.agrees()] == []
    for shift in (2e-2, -2e-2, 1e-12, -1e-12):
        assert [entry.quantity for entry in compared if entry.agrees(entry.ours * (1 + shift))] == []


def test_the_library_has_a_value_for_all_but_a_few_which_do_not_pretend_to_agree():
    without = [entry for entry in package.certificates() if entry.ours is None]
    assert len(without) == 7
    for entry in without:
        assert re.search("mathcal G_1|W_0|printed law|n\\^ne|n\\^{-5/2}", entry.quantity)
        with pytest.raises(ValueError, match="no function for this: "):
            entry.agrees()


def test_balls_are_far_smaller_than_a_doubles_rounding():
    for entry in package.certificates():
        if "every" not in entry.quantity:
            assert entry.ball.rad() < 1e-22 * abs(entry.ball), entry.quantity


def test_every_certificate_is_about_a_claim_and_is_there_once():
    quantities = [(entry.part, entry.quantity) for entry in package.certificates() if entry.papers]
    assert len(set(quantities)) == len(quantities) == len(package.certificates())
    assert {part for part, _ in quantities} == {*package.PARTS}


def test_first_losses_are_those_done_by_hand():
    e = arb.const_e()
    assert all(ball.overlaps(e**-2) for ball in (shuffle_train(1), sums.flip_flop_poisson(1)))
    assert sums.single_shuffle_test(2, ONE).overlaps(e**-2 + 2 * e**-3)
    assert sums.flip_flop_test(2, ONE).overlaps(2 * e**-2)
    assert sums.single_shuffle_test(1, ONE).overlaps(1 / e)
    assert not sums.single_shuffle_test(1, ONE).overlaps(1 / e + arb(10) ** -50)


@pytest.mark.parametrize("n", [1, 2, 10])
def test_single_shuffle_at_step_1_is_one_number_by_two_routes(n):
    assert sums.single_shuffle_test(n, ONE).overlaps(shuffle_test(n))


@pytest.mark.parametrize("n", [1, 2, 25])
def test_flip_flops_training_loss_is_a_difference_in_n(n):
    """V(n) − V(n+1) with V = 1/2 + 2p − p Σ r, the rewriting that the expansion starts from."""

    def V(n):
        p = (n * arb(n).log() - n).exp() / arb(n).fac()
        ratios = [arb(math.perm(n, k)) / arb(n) ** k for k in range(n + 1)]
        return arb(0.5) + 2 * p - p * sum(ratios, arb(0))

    assert (V(n) - V(n + 1)).overlaps(sums.flip_flop_poisson(n))


def test_queue_weights_stay_within_cauchys_bound():
    weights, bound, e = expansions.queue_weights(), expansions.queue_bound(), arb.const_e()
    assert weights[1].overlaps(e - 1)
    assert weights[2].overlaps(e**2 - 2 * e)
    assert all(abs(w - 2) <= bound * arb(4) ** -k for k, w in enumerate(weights))
    assert bound < 4


# ------------------------------------------------------------ expansions with remainders


@pytest.mark.parametrize("n", [START, 4 * START])
@pytest.mark.parametrize(
    ("model", "loss", "power"),
    [
        (expansions.shuffle_test, shuffle_test, 1),
        (expansions.shuffle_train, shuffle_train, 3),
        (expansions.flip_flop_train, sums.flip_flop_poisson, 3),
    ],
)
def test_a_loss_lies_in_the_ball_of_its_expansion_which_is_small(model, loss, power, n):
    enclosure, value = models.at(model(), n), loss(n) * arb(n).sqrt() ** power
    assert enclosure.overlaps(value)
    assert enclosure.rad() < 3e-6 * enclosure
    assert not enclosure.overlaps(model().truncate(2)(arb(n).rsqrt()))  # two terms alone would not do
    assert all(c.rad() < 1e-90 for c in model().coeffs()[:5])


@pytest.mark.parametrize("weight", [1, 2])
@pytest.mark.parametrize("power", [0, 1, 2])
def test_power_sums_are_those_added_up_term_by_term(weight, power):
    n, ratio, total = START, arb(1), arb(0)
    for k in range(1500):
        total += k**power * ratio**weight
        ratio *= fmpq(n - k, n)
    left = arb(0, n ** (power + 1) * ratio.abs_upper() ** weight)  # r falls
    value = (total + left) / arb(n).sqrt() ** (power + 1)
    assert models.at(expansions.power_sum(weight, power), n).overlaps(value)


def test_a_coefficient_moved_by_a_hundred_millionth_leaves_the_ball():
    model, exact = expansions.shuffle_test(), shuffle_test(START) * arb(START).sqrt()
    moved = model + arb_poly([0, model[1] * arb(1e-8)])
    assert models.at(model, START).overlaps(exact)
    assert not models.at(moved, START).overlaps(exact)


def test_the_coefficients_contain_their_closed_forms_and_zero_between():
    train, test = expansions.flip_flop_train(), expansions.shuffle_test()
    assert train[1].contains(0)
    assert train[3].contains(0)
    assert (train[2] / train[0]).overlaps(arb(fmpq(-14, 15)))
    assert test[1].overlaps(1 / (6 * arb.pi()))
    assert all(c.rad() < 1e-90 for c in (test[5], expansions.shuffle_train()[5]))


def test_models_add_multiply_and_exponentiate_like_the_functions_they_stand_for():
    n, x = START, models.folded(arb_poly([0, 1, fmpq(1, 3)]))
    s = arb(n).rsqrt()
    value = s + s**2 / 3
    factorial = (n * arb(n).log() - n).exp() / arb(n).fac() * (2 * arb.pi() * n).sqrt()
    assert models.at(models.exponential(x), n).rad() < 1e-15
    for model, wanted in (
        (models.exponential(x), value.exp()),
        (models.folded(x * x) - x + 2, value**2 - value + 2),
        (models.binomial(fmpq(-3, 2)), (1 + s**2) ** arb(-1.5)),
        (models.folded(x.left_shift(TERMS - 1)), value * s ** (TERMS - 1)),
        (models.over_power(x, 1), value / s),
        (models.stirling(), factorial),
    ):
        assert models.at(model, n).overlaps(wanted)


def test_models_refuse_what_they_cannot_vouch_for():
    with pytest.raises(ValueError, match=f"n of {START} and more, not for 100"):
        models.at(arb_poly([1]), 100)
    with pytest.raises(ArithmeticError, match="first 1 coefficients do not vanish"):
        models.over_power(arb_poly([1]), 1)


@pytest.mark.parametrize("rho", [Fraction(3, 2), Fraction(2)])
@pytest.mark.parametrize("n", [1000, 3000])
def test_overdetermined_trace_moments_fall_by_a_factor_n_faster_than_printed(rho, n):
    _, scaled = expansions.overdetermined_ratio(rho, 1000)
    r = arb(fmpq(rho.numerator, rho.denominator))
    printed = (r * (1 - r).exp()) ** n / (2 * arb.pi() * n).sqrt()
    moment = sum((k * p for k, p in enumerate(sums._poisson_below(n, n * r))), arb(0)) / n
    assert scaled.overlaps(n * moment / printed)
    assert scaled.rad() < 0.02 * scaled
    assert scaled.overlaps(r / (r - 1) ** 2)


# ------------------------------------------------------------ edges


def test_another_shape_of_singularity_is_refused(monkeypatch):
    monkeypatch.setattr(edges, "_shuffle_ratios", lambda eta, direction: (direction, direction))
    with pytest.raises(ArithmeticError, match="not of the shape"):
        edges.shuffle_singularity(Fraction(1, 3))


@pytest.mark.parametrize(("ball", "verdict"), [(0.9, EXCLUDED), (1, CONTAINED), (1.1, CONTAINED)])
def test_a_statement_that_a_number_is_not_smaller_is_excluded_by_a_smaller_one_only(ball, verdict):
    assert (
        Certificate("edge", "x", arb(ball)).verdict(Paper("E22", "1", relation=entries.AT_LEAST)) == verdict
    )


def test_the_papers_numbers_are_read_from_the_checks_and_not_retyped():
    paper = Paper("E12", "second + pi")
    assert paper.names == {"second"}
    assert paper.stated() == ledger()["E12"].stated()
    assert paper.value().overlaps(arb(fmpq(203, 120)) + arb.pi())
    with pytest.raises(KeyError):
        Paper("E12", "third").value()


def test_results_do_not_depend_on_the_precision_in_force():
    with flint.ctx.workprec(20):
        coarse, fine = edges.iid.__wrapped__.__wrapped__(Fraction(2, 3))[0], edges.iid(Fraction(2, 3))[0]
    assert fine.rad() < 1e-60
    assert coarse.rad() > 1e-8
    assert coarse.overlaps(fine)


def test_flint_is_pinned_for_the_tests_and_no_dependency_of_the_package():
    pins = (ROOT / "requirements.txt").read_text().splitlines()
    assert f"python-flint=={flint.__version__}" in pins
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [project["dependencies"], *project["optional-dependencies"].values()]
    assert not any("flint" in requirement for group in asked for requirement in group)
    for path in (ROOT / "lib").rglob("*.py"):
        if path.parent.name != "certificates":
            assert not re.search(r"^\s*(import|from) flint", path.read_text(), flags=re.M), path


def test_more_epochs_than_coefficients_are_refused():
    with pytest.raises(IndexError):
        sums.flip_flop_test(14, Fraction(1, 2))
