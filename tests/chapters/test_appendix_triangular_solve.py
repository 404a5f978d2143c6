"""The appendix on triangular solves: two rows by hand, and what the page prints against what it proves."""

import itertools
import math
import re

import numpy as np
import pytest
import scipy.integrate
import scipy.special
from outputs import numbers, prose, table, text
from scipy.special import roots_genlaguerre

from edgelaw import data, kaczmarz
from edgelaw.orders import stream
from edgelaw.theory import free, single_shuffle

CHAPTER = "appendix_triangular_solve"
PAIR = np.array([[1.0, 0.0], [0.6, 0.8]])
CASES = ((1.0, 1.0, 0.45, 0.3), (0.6, 1.0, 0.5, -0.4), (1.5, 1.2, 0.1, 0.2))
BY_HAND = np.array([[0.0, -12.0], [0.0, 9.0]]) / 25


def test_two_rows_in_the_plane_are_what_the_page_finds_by_hand():
    w = np.array([1.0, 2.0])
    assert np.abs(kaczmarz.epoch_matrix(PAIR, step=1.0) - BY_HAND).max() < 1e-15
    assert np.abs(kaczmarz.epoch_matrix(PAIR[::-1], step=1.0) - BY_HAND.T).max() < 1e-15
    assert numbers(CHAPTER, r"w after = (\S+), (\S+)") == pytest.approx(BY_HAND @ w, abs=1e-12)
    assert r"\bigl(-\frac{24}{25}, \frac{18}{25}\bigr)" in prose(CHAPTER)
    assert BY_HAND.T @ w == pytest.approx([0, 0.24], abs=1e-15)  # the caption's end of the other order


def test_the_iid_epoch_of_the_picture_visits_fifteen_rows():
    assert len(set(stream("iid", 24, rng=1).epoch(0))) == 15


def test_the_formula_gives_the_epoch_of_the_definition_on_the_page():
    assert "largest difference below 1e-12: True" in text(CHAPTER)
    assert "backwards is the transpose: True" in text(CHAPTER)
    assert "A is the square of one update: True" in text(CHAPTER)


def test_inverses_of_the_triangle_stay_below_their_bound():
    lines = [
        numbers(CHAPTER, rf"step ({step}): norm of the inverse (\S+), bound (\S+)")
        for step in (0.5, 1.0, 1.5, 1.9)
    ]
    for step, norm, bound in lines:
        assert norm <= bound
        assert bound == pytest.approx(2 * step / (2 - step), abs=0.005)


def test_an_epoch_loses_what_the_exercise_says():
    for step in (0.5, 1.3, 1.9):
        lost, formula = numbers(
            CHAPTER, rf"step {step}: lost in one epoch (\S+), \(2/step - 1\) \|z\|\^2 (\S+)"
        )
        assert lost == formula > 0


def test_the_best_order_for_one_epoch_is_not_the_best_for_ten():
    six = np.random.default_rng(0).standard_normal((6, 6))
    six /= np.linalg.norm(six, axis=1, keepdims=True)
    ends = {}
    for n in (1, 10):
        least, most, *best = numbers(
            CHAPTER, rf"n = +{n}: loss (\S+) to (\S+), best order \[" + ", ".join([r"(\d)"] * 6) + r"\]"
        )
        A = kaczmarz.epoch_matrix(six[[int(row) for row in best]], step=1.0)
        ends[n] = best
        assert (np.linalg.matrix_power(A, n) ** 2).sum() / 6 == pytest.approx(least, abs=5e-5)
        assert least < most
    assert ends[1] != ends[10]


def test_the_logarithm_of_z_begins_with_the_square_and_the_cube():
    for v in (1e3, 1e4):
        for step in (0.5, 1.3, 1.9):
            a = 1 / step - 0.5
            exact = np.log1p(-1 / v) + step / (1 - step + step * v)
            assert abs(exact + a / v**2 + (1 / 12 + a - a**2) / v**3) < 3 / v**4 + 1e-15


def test_sixteen_designs_agree_with_both_characteristics_and_the_formula():
    lines = re.findall(r"^step [\d.]+, rho [\d.]+, F = [\d.]+: +(.*)$", text(CHAPTER), re.MULTILINE)
    found = np.array([re.findall(r"[+-]?[\d.]+", line) for line in lines], dtype=float).reshape(4, 3, 2)
    mean, error = np.moveaxis(found, -1, 0)  # per cent, to a hundredth
    assert (np.abs(mean) < 4 * error + 250 / 500 + 0.005).all()
    assert error.max() < 1


def test_exact_losses_after_a_million_epochs_have_the_forms_of_the_table():
    lines = re.findall(r"^[\w -]+?((?: +\d\.\d{4}, \d\.\d{4}){3})$", text(CHAPTER), re.MULTILINE)
    pairs = np.array([re.findall(r"\d\.\d{4}", line) for line in lines], dtype=float).reshape(5, 3, 2)
    np.testing.assert_allclose(pairs[..., 0], pairs[..., 1], rtol=1e-3)
    step = np.array([0.5, 1.0, 1.5])
    np.testing.assert_allclose(pairs[0, :, 1], np.sqrt((1 / step - 0.5) / np.pi), atol=5.1e-5)


def test_single_shuffles_coefficient_is_the_library_s_as_mended_and_not_as_printed():
    rows = re.findall(r"^(0\.5|1\.0|1\.5)   (\d) +(\S+) +(\S+) +(\S+) +\S+$", text(CHAPTER), re.MULTILINE)
    assert len(rows) == 9
    for step, n, loss, mended, printed in (map(float, row) for row in rows):
        assert loss == mended == pytest.approx(single_shuffle.test_loss(int(n), step), abs=6e-7)
        assert printed > 2 * loss


def test_trace_moments_fall_where_the_theorem_says():
    lines = re.findall(r"^ *(\d+)   (0\.\d{4})    (\w+), (\w+), (\w+)$", text(CHAPTER), re.MULTILINE)
    assert [line[2:] for line in lines] == [("no", "yes", "yes")] * 6
    for n, rho, *_ in lines:
        largest = roots_genlaguerre(int(n) - 1, 1)[0].max()
        assert float(rho) == pytest.approx(largest / (4 * int(n)), abs=6e-5)


def resolvent(A, z):
    """All powers of A in one matrix."""
    return np.linalg.inv(np.eye(len(A)) - z * A)


def test_a_row_changes_the_trace_of_two_resolvents_as_the_identity_says():
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


def test_the_papers_trace_moments_are_too_large():
    for rho in (1.5, 2.0):
        shares = numbers(CHAPTER, rf"rho = {rho}: (\S+) \(n = 10\), (\S+) \(100\), (\S+) \(400\)\n")
        exact = free.trace_moment(400, rho=rho) / (
            (rho * math.exp(1 - rho)) ** 400 / math.sqrt(800 * math.pi)
        )
        assert shares[2] == pytest.approx(exact, abs=6e-4)
        assert shares[2] < 0.03
