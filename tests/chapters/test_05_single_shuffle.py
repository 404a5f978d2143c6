"""Chapter 5: what it prints and says, against the library called afresh and against its own formulas."""

import itertools
import math

import numpy as np
import pytest
import scipy.integrate
import scipy.special
from outputs import numbers, prose, table, text

from edgelaw import data, kaczmarz
from edgelaw.theory import free, single_shuffle

CHAPTER = "05_single_shuffle"
CASES = ((1.0, 1.0, 0.45, 0.3), (0.6, 1.0, 0.5, -0.4), (1.5, 1.2, 0.1, 0.2))


def resolvent(A, z):
    """All powers of A in one matrix."""
    return np.linalg.inv(np.eye(len(A)) - z * A)


def test_the_training_loss_is_a_tenth_above_its_asymptote_at_twenty_epochs():
    (ratio,) = numbers(CHAPTER, r"training loss, exact over asymptote at n = 20: (\S+)\n")
    exact = single_shuffle.train_loss(20) * 20**1.5 / single_shuffle.train_constant()
    assert ratio == pytest.approx(exact, abs=6e-4)


def test_two_rows_in_the_plane_have_the_losses_by_hand():
    for n in (1, 2, 3):
        test, by_hand, train = numbers(CHAPTER, rf"n = {n}: test (\S+), by hand (\S+); training (\S+)\n")
        assert test == by_hand == pytest.approx(math.cos(0.7) ** (4 * n - 2) / 2, abs=6e-6)
        assert train == pytest.approx(math.sin(0.7) ** 2 * test, abs=1e-5)


def test_the_mean_over_all_angles_is_a_power_law_and_the_training_loss_a_share_of_it():
    for n, test, train in ((1, 1 / 4, 1 / 16), (2, 5 / 32, 5 / 256)):
        printed = numbers(CHAPTER, rf"n = {n}: test (\S+), training (\S+)\n")
        assert printed == pytest.approx([test, train], abs=6e-6)
        assert test == math.comb(4 * n - 2, 2 * n - 1) / 2 / 4 ** (2 * n - 1)
        assert train == test / (4 * n)
    far = math.comb(238, 119) / 2 / 4**119  # n = 60, the end of the figure
    assert far * math.sqrt(8 * math.pi * 60) == pytest.approx(1, abs=0.01)


def test_the_first_losses_by_hand_are_the_librarys():
    for n, test, library, train, library_train in table(CHAPTER, "n   test: by hand   library"):
        assert (test, train) == (library, library_train)
        assert test == pytest.approx(single_shuffle.test_loss(int(n)), abs=6e-9)
        assert train == pytest.approx(single_shuffle.train_loss(int(n)), abs=6e-9)
    e = math.e
    H, G = single_shuffle.queue_weights(4)
    assert pytest.approx([1, e - 1, e**2 - 2 * e, e**3 - 3 * e**2 + 1.5 * e], rel=1e-12) == H
    assert pytest.approx(1, rel=1e-12) == G


def test_a_row_changes_both_traces_as_the_identities_say():
    _, after = numbers(CHAPTER, r"\ntrace before the row (\S+), after it (\S+)\n")
    assert numbers(CHAPTER, r"the formula for the trace after it (\S+)\n") == [after]
    _, after = numbers(CHAPTER, r"tr RT before the row (\S+), after it (\S+)\n")
    assert numbers(CHAPTER, r"by the identity (\S+)\n") == [after]


def test_the_new_rows_own_projection_is_the_one_that_step_six_averages():
    rows, step = data.normalize_rows(data.gaussian(30, 25, rng=2)) / 5, 1.5
    u, R = rows[-1], resolvent(kaczmarz.epoch_matrix(rows[:-1], step), 0.5)
    delta = 1 - step + step * u @ R @ u
    after = resolvent(kaczmarz.epoch_matrix(rows, step), 0.5)
    assert u @ after == pytest.approx(((1 - step) * u @ R + step * (u @ R @ u) * u) / delta, abs=1e-12)


def test_one_row_errs_by_the_root_and_the_trace_by_one_over_d():
    (one,) = numbers(CHAPTER, r"one row: spread ~ d\^\((\S+)\)\n")
    slope, error = numbers(CHAPTER, r"the trace: spread ~ d\^\((\S+) ± (\S+)\), 160 draws\n")
    assert one == pytest.approx(-0.5, abs=0.05)  # 2000 rows at each size: known to 0.01
    assert slope == pytest.approx(-1, abs=3 * error)
    assert error <= 0.03
    (near,) = numbers(CHAPTER, r"at 1/z = 1.02 instead of 1.2 one row's spread is (\d+) times larger\n")
    assert near > 5


def test_traces_of_one_matrix_are_carried_along():
    rows = [
        numbers(CHAPTER, rf"rho {rho}, z = (\S+): 1 \+ h = ({first}\S+), theory (\S+)\n")
        for rho in (0.5, 1.0, 2.0)
        for first in ("1", "0")
    ]
    for (z, found, theory), (rho, v) in zip(rows, itertools.product((0.5, 1, 2), (0.1, -0.05)), strict=True):
        on_curve = single_shuffle.generating_functions(v, 0.0, 1.4, rho)[0].real
        assert z == pytest.approx(on_curve, abs=6e-5)
        assert theory == pytest.approx(1 + v / (1.4 * (1 - v)), abs=6e-5)
        assert found == pytest.approx(theory, abs=1 / 600)  # a trace errs by 1/d
    rate, predicted = numbers(CHAPTER, r"at 1/z = 1.3: dh/dt = (\S+), predicted (\S+)\n")
    assert rate == pytest.approx(predicted, rel=0.1)


def test_trace_moments_tend_to_the_first_term_of_the_proposition():
    for rho, *ratios in table(CHAPTER, "rho   n = 10   n = 100   n = 400"):
        n = np.array([10, 100, 400])
        first = rho / (rho - 1) ** 2 * (rho * np.exp(1 - rho)) ** n / np.sqrt(2 * np.pi) / n**1.5
        assert ratios == pytest.approx(free.trace_moment(n, rho=rho) / first, abs=6e-4)
        assert 1 - ratios[2] == pytest.approx((1 - ratios[1]) / 4, rel=0.2)  # an error of order 1/n


@pytest.mark.parametrize("s", [-1.0, 0.0, 1.0])
def test_in_the_window_trace_moments_are_the_mean_positive_part_of_a_normal_variable(s):
    limit = math.exp(-(s**2) / 2) / math.sqrt(2 * math.pi) - s * scipy.special.ndtr(-s)
    assert 1e3 * free.trace_moment(10**6, rho=1 + s / 1e3) == pytest.approx(limit, rel=2e-3)


@pytest.mark.parametrize(("step", "rho", "v", "v2"), CASES)
def test_the_equations_along_the_curves_end_at_the_closed_forms(step, rho, v, v2):
    h, h2 = (x / (step * (1 - x)) for x in (v, v2))
    both = (1 + step * h) * (1 + step * h2)

    def along(t, state):
        phi, Y = state
        grow = step**2 / both * (phi - 1 - h - h2)
        new = (1 - step) ** 2 * phi + step * (2 - step) * (1 + h) * (1 + h2)
        return [grow * phi, grow * Y + new / both]

    start = [(1 + h) * (1 + h2), 0.0]
    ends = scipy.integrate.solve_ivp(along, (0, rho), start, rtol=1e-10, atol=1e-12).y[:, -1]
    z, z2, phi, psi = np.real(single_shuffle.generating_functions(v, v2, step, rho))
    assert ends == pytest.approx([phi, rho * psi], rel=1e-7)
    K = z * z2 * math.exp(-step * (2 - step) * rho * (1 - v) * (1 - v2))
    assert (1 + h + h2) / (1 - K) == pytest.approx(phi, rel=1e-12)


def test_both_generating_functions_are_seen_on_one_matrix():
    for step, rho, v, v2 in CASES:
        case = rf"step {step:g}, rho {rho:g}: "
        phi, stated, psi, stated_psi = numbers(
            CHAPTER, case + r"Phi (\S+), theory (\S+); Psi (\S+), theory (\S+)\n"
        )
        library = np.real(single_shuffle.generating_functions(v, v2, step, rho)[2:])
        assert [stated, stated_psi] == pytest.approx(library, abs=6e-4)
        assert [phi, psi] == pytest.approx(library, abs=3 / 900)  # traces err by 1/d


def test_the_sums_and_the_contour_integrals_agree_in_all_printed_digits():
    for rho, n in itertools.product((0.5, 1.0, 1.6), (5, 40, 200)):
        by_sum, by_integral = numbers(CHAPTER, rf"rho {rho}, n = +{n}: test loss (\S+) by the sum, (\S+)\n")
        assert by_sum == by_integral == pytest.approx(single_shuffle.test_loss(n, 1.0, rho), rel=6e-7)


def test_at_step_1_9_the_asymptote_is_as_late_as_the_summary_says():
    printed = numbers(CHAPTER, r"step 1.9: exact over asymptote (\S+) at n = 100, (\S+) at n = 10\^5\n")
    n = np.array([10**2, 10**5])
    exact = single_shuffle.test_loss(n, 1.9) * np.sqrt(n) / single_shuffle.test_constant(1.9)
    assert printed == pytest.approx(exact, abs=6e-3)
    said = numbers(CHAPTER, r"is ([\d.]+) times the asymptote at \$n = 100\$ and ([\d.]+) times", prose)
    assert said == pytest.approx(exact, abs=6e-3)


@pytest.mark.parametrize("loss", ["test", "train"])
def test_each_further_term_gains_half_a_power_and_four_give_five_digits(loss):
    n = np.array([1000, 3000])
    exact, expansion = (getattr(single_shuffle, f"{loss}_{what}") for what in ("loss", "expansion"))
    for terms in range(1, 6):
        error = np.abs(expansion(n, terms) / exact(n) - 1)
        assert np.log(error[1] / error[0]) / np.log(3) == pytest.approx(-terms / 2, abs=0.05)
    assert expansion(100) == pytest.approx(exact(100), rel=1e-5)


@pytest.mark.parametrize("loss", ["test", "train"])
def test_the_coefficients_that_are_printed_are_the_librarys_and_the_theorems(loss):
    lines = text(CHAPTER).split(f"\n{loss}:\n" if loss == "train" else f"{loss}:\n")[1].splitlines()[:6]
    found = [tuple(line.replace(" / ", " ").replace(" n^-", " ").split()) for line in lines]
    library = single_shuffle.expansion(loss, 6)
    assert found == [(str(c), "pi" if o == 1 else "sqrt(pi)", str(p)) for p, c, o in library]
    for c, over, power in found[:4]:
        top, bottom = c.split("/")
        root = r"\pi" if over == "pi" else r"\sqrt\pi"
        assert rf"\tfrac{{{top}}}{{{bottom}{root}}}n^{{-{power}}}" in prose(CHAPTER)


@pytest.mark.parametrize("s", [-1.0, 0.0, 1.5])
def test_in_the_window_both_losses_have_their_limits(s):
    kappa = np.linspace(0, 12, 2001)
    normal = np.exp(-((kappa + s) ** 2) / 2) / np.sqrt(2 * np.pi)
    bracket = normal - s * scipy.special.ndtr(-kappa - s)
    limit = 2 * np.trapezoid(np.exp(2 * s * kappa) * bracket**2, kappa)
    n = 10**6
    assert 1e3 * single_shuffle.test_loss(n, 1.0, 1 + s / 1e3) == pytest.approx(limit, rel=0.01)
    train = 8 * math.sqrt(math.pi) * 1e9 * single_shuffle.train_loss(n, 1.0, 1 + s / 1e3)
    assert train == pytest.approx(math.exp(-(s**2)), rel=0.01)


def test_with_more_rows_than_dimensions_the_loss_falls_more_slowly_than_the_moments_squared():
    for rho in (2.0, 2.5, 3.0):
        measured, rate, trace_rate = numbers(CHAPTER, rf"rho = {rho}: (\d\S+), (\S+); (\S+)\n")
        c = -scipy.special.lambertw(-rho * math.exp(-rho)).real / rho  # c e^(rho (1 - c)) = 1
        assert rate == pytest.approx(rho * (1 - math.sqrt(c)) ** 2, abs=6e-5)
        assert trace_rate == pytest.approx(2 * (rho - 1 - math.log(rho)), abs=6e-5)
        assert measured == pytest.approx(rate, rel=3e-3)
        assert measured < trace_rate


def test_the_exercises_first_losses_at_any_step_are_the_librarys():
    for step, rho in ((1.0, 1.0), (0.4, 0.7), (1.7, 2.0)):
        (two,) = numbers(CHAPTER, rf"step {step}, rho {rho}: test loss (\S+)\n")
        assert two == pytest.approx(single_shuffle.test_loss(2, step, rho), abs=6e-7)
        (one,) = numbers(CHAPTER, rf"step {step}, rho {rho}: training loss after one epoch (\S+)\n")
        assert one == pytest.approx(single_shuffle.train_loss(1, step, rho), abs=6e-7)


def test_the_best_step_of_the_training_constant_is_its_minimum():
    best, constant = numbers(CHAPTER, r"best step (\S+): constant (\S+)\n")
    exact = 2 / (1 + 1 / math.sqrt(3))
    assert best == pytest.approx(exact, abs=6e-4)
    least = single_shuffle.train_constant(exact)
    assert constant == pytest.approx(least, abs=6e-5)
    assert all(single_shuffle.train_constant(exact + off) > least for off in (-0.01, 0.01))
    assert numbers(CHAPTER, r"at step 1: constant (\S+)\n") == pytest.approx(
        [single_shuffle.train_constant()], abs=6e-5
    )


def test_of_the_papers_three_corrections_the_sign_of_one_is_wrong():
    for name, sign in (("trace moment", 1), ("test loss", -1), ("training loss", 1)):
        left, ratio, left_far, ratio_far = numbers(CHAPTER, rf"\n{name} +(-?\d\S+) +(\S+) +(\S+) +(\S+)\n")
        assert ratio_far == pytest.approx(sign, abs=0.02)
        assert ratio == pytest.approx(sign, abs=0.06)
        assert abs(left_far) < abs(left)


def test_the_two_resolvent_identity_holds_with_our_fourth_term_only():
    (truth,) = numbers(CHAPTER, r"trace of the product after the row: (\S+)\n")
    assert numbers(CHAPTER, r"equation above: (\S+)\n") == [truth]
    (printed,) = numbers(CHAPTER, r"as printed in the paper: (\S+)\n")
    assert abs(printed - truth) > 1e-3


def test_the_papers_trace_moments_are_too_large_and_its_integrals_right():
    for rho in (1.5, 2.0):
        shares = numbers(CHAPTER, rf"rho = {rho}: (\S+) \(n = 10\), (\S+) \(100\), (\S+) \(400\)\n")
        exact = free.trace_moment(400, rho=rho) / (
            (rho * math.exp(1 - rho)) ** 400 / math.sqrt(800 * math.pi)
        )
        assert shares[2] == pytest.approx(exact, abs=6e-4)
        assert shares[2] < 0.03
    found, theory = numbers(CHAPTER, r"at x = 1.5 and step 1: (\S+), theory (\S+)\n")
    assert found == pytest.approx(theory, abs=0.003)
    assert theory == pytest.approx(-1 / 1.5, abs=6e-4)
    assert numbers(CHAPTER, r"edge forms at 1 - v = 1e-4: (\S+), (\S+)\n") == pytest.approx([1, 1], abs=1e-3)
    double, test = numbers(CHAPTER, r"double integrals: (\S+), (\S+)\n")
    assert double == pytest.approx(1 / (4 * math.sqrt(2 * math.pi)), abs=6e-7)
    assert test == pytest.approx(1 / (2 * math.sqrt(math.pi)), abs=6e-7)
