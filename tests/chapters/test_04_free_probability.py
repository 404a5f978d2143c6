"""Chapter 4: what it prints and says, against the library called afresh and against its own formulas."""

import math

import numpy as np
import pytest
from outputs import cells, numbers, prose, table, text

from edgelaw import data
from edgelaw.theory import free

CHAPTER = "04_free_probability"


def test_two_mirrors_have_the_moments_of_coins_and_of_the_arcsine_law():
    rows = table(CHAPTER, "moment   coins   random angle   one rotation, d = 600   arcsine law")
    assert len(rows) == 4
    for moment, coins, plane, large, arcsine in rows:
        n = int(moment) // 2
        assert coins == 2 ** (2 * n) / 2
        assert plane == arcsine == math.comb(2 * n, n)
        assert large == pytest.approx(arcsine, rel=0.01)  # a rigid spectrum at d = 600


def test_only_the_random_rotation_makes_the_alternating_moment_vanish():
    sizes = [
        numbers(CHAPTER, rf"{kind} d = 256: (\S+)\n")[0] for kind in ("Haar", "commuting", "half shared")
    ]
    assert sizes[0] == pytest.approx(0.13 / 256, abs=1e-3)
    assert sizes[1] == pytest.approx(1 / 16, abs=1e-3)
    assert sizes[2] > 0.02
    (slope,) = numbers(CHAPTER, r"falls like d\^(\S+)\n")
    # 25 to 400 draws at five sizes: a standard deviation from 25 is known to 14 %, the slope to about 0.05
    assert slope == pytest.approx(-1, abs=0.1)


def test_the_s_transform_of_a_product_is_the_product_of_s_transforms():
    for k in range(4):
        product, factors = numbers(CHAPTER, rf"y\^{k}: S of XY (\S+) S of X times S of Y (\S+)\n")
        assert product == pytest.approx(factors, abs=0.011)


def test_many_blocks_have_an_exponential_s_transform_up_to_one_over_their_number():
    for m in (10, 100, 1000):
        blocks, limit = numbers(CHAPTER, rf"m = +{m}: S of m blocks (\S+), exp\(rho/\(1\+y\)\) = (\S+)\n")
        assert blocks == pytest.approx((1 + 0.8 / (m * 1.05 - 0.8)) ** m, abs=6e-6)
        assert limit == pytest.approx(math.exp(0.8 / 1.05), abs=6e-6)
        assert 0 < blocks - limit < 1 / m


@pytest.mark.parametrize("rho", [0.5, 1.0, 2.0])
def test_the_first_moments_are_those_by_hand_and_the_series_is_lamberts_function(rho):
    first, second, series, lambert = numbers(
        CHAPTER, rf"rho = {rho}: moments (\S+), (\S+); series at 0.6: (\S+), Lambert: (\S+)\n"
    )
    assert first == pytest.approx(math.exp(-rho), abs=6e-6)
    assert second == pytest.approx(math.exp(-2 * rho) * (1 + rho), abs=6e-6)
    assert series == lambert
    w = free.lambert_w(-rho * math.exp(-rho) * 0.6)
    assert lambert == pytest.approx(rho / (rho + w), abs=6e-6)


def test_block_kaczmarz_as_it_is_drawn_is_within_five_values_of_its_formula():
    """The caption's statement on the three matrices of the figure, drawn again."""
    assert "no dot or cross is farther than $5/d$ from its line" in captions("code-21")
    d, n, rng = 480, np.arange(1, 13), np.random.default_rng(3)
    for blocks in (2, 4, d):
        A = np.eye(d)
        for _ in range(blocks):
            basis = data.haar(d, d // blocks, rng)
            A -= basis @ (basis.T @ A)
        squares = np.linalg.svd(A, compute_uv=False) ** 2
        dots = (np.linalg.eigvals(A)[:, None] ** n).real.sum(axis=0) / d
        theory = free.block_trace_moment(n, blocks)
        assert np.abs(dots - theory).max() < 5 / d
        assert np.abs((squares[:, None] ** n).sum(axis=0) / d - theory).max() < 5 / d


def captions(cell_id):
    """The caption below one cell's figure."""
    (cell,) = (cell for cell in cells(CHAPTER) if cell["id"] == cell_id)
    return cell["metadata"]["mystnb"]["figure"]["caption"]


def test_second_moments_of_single_rows_tend_to_their_limits_like_one_over_d():
    distances = []
    for d in (256, 1024, 4096):
        square, limit, variance, target = numbers(
            CHAPTER, rf"d = +{d}: tr A\^2/d (\S+), limit (\S+) d\^2 Var\(tr A/d\) = (\S+), limit (\S+)\n"
        )
        assert limit == pytest.approx(math.exp(-2) * 2, abs=6e-7)
        assert target == pytest.approx(math.exp(-2) * (math.e - 1.5), abs=6e-5)
        exact = free.second_moments(d, d)
        assert square == pytest.approx(exact[0], abs=6e-7)
        assert variance == pytest.approx(d**2 * (exact[2] - (1 - 1 / d) ** (2 * d)), abs=6e-5)
        distances.append(d * (limit - square))
    assert distances == pytest.approx([distances[0]] * 3, rel=0.1)


def test_squared_singular_values_have_the_moments_of_another_step():
    rows = table(CHAPTER, "step   n   tr A^n/d   limit    tr (AA')^n/d   limit")
    assert len(rows) == 6
    for step, n, found, limit, found_squares, limit_squares in rows:
        tau = step * (2 - step)
        assert limit == pytest.approx(free.trace_moment(int(n), step), abs=6e-4)
        assert limit_squares == pytest.approx(free.trace_moment(int(n), tau), abs=6e-4)
        assert found == pytest.approx(limit, abs=4 / 600 + 0.006)
        assert found_squares == pytest.approx(limit_squares, abs=4 / 600 + 0.006)


def test_the_moments_fall_with_the_edge_constant():
    for step in (0.5, 1.0, 1.5):
        scaled, root = numbers(
            CHAPTER, rf"step {step}: sqrt\(pi n\) phi\(A\^n\) = (\S+), sqrt\(a\) = (\S+)\n"
        )
        assert scaled == root == pytest.approx(math.sqrt(1 / step - 1 / 2), abs=6e-5)


def test_no_share_of_the_singular_values_is_off_by_more_than_four_in_a_thousand():
    rows = table(CHAPTER, "rho   step   d * distance   atom   support of the density")
    assert len(rows) == 4
    for rho, step, distance, atom, low, high in rows:
        law = free.SquaredSingularValues(rho, step)
        assert atom == law.atom == max(0, 1 - rho)
        assert [low, high] == pytest.approx(law.support, abs=6e-5)
        assert distance <= 4
    assert "No share is off by more than four in a thousand" in prose(CHAPTER)


def test_quantiles_at_step_one_are_uniform_angles():
    for p, by_hand, library, drawn in table(CHAPTER, "quantile   by hand   library   one epoch, d = 1000"):
        theta = math.pi * (1 - p)
        assert by_hand == library
        assert library == pytest.approx(
            math.sin(theta) / theta * math.exp(theta / math.tan(theta) - 1), abs=6e-5
        )
        density = free.SquaredSingularValues(1.0).pdf(library)
        assert abs(drawn - library) * density < 0.004 + 0.0006 * density  # the share that lies between them


def test_most_eigenvalues_are_complex_and_their_mean_square_modulus_is_between_two_moments():
    """Real ones would have the second moment; Schur's inequality allows up to the first."""
    assert "more than 80 % of the eigenvalues are complex: True\n" in text(CHAPTER)
    modulus, square = numbers(CHAPTER, r"mean \|lambda\|\^2 = (\S+); mean of lambda\^2 = (\S+)\n")
    assert free.trace_moment(2) < modulus < free.trace_moment(1)
    assert square == pytest.approx(free.trace_moment(2), abs=0.005 + 4 / 1000)
    said = numbers(CHAPTER, r"\\phi\(A\^2\) = ([\d.]+)\$ and \$\\phi\(AA\^\\top\) = ([\d.]+)\$", prose)
    assert said == pytest.approx([free.trace_moment(2), free.trace_moment(1)], abs=6e-4)
    assert f"one draw of $d = 1000$ has {modulus}." in prose(CHAPTER)


def test_two_blocks_leave_half_of_the_values_and_the_arcsine_law():
    vanish, of, within = numbers(CHAPTER, r"(\d+) of (\d+) values vanish; .* within a share of (\S+)\n")
    assert vanish == of / 2
    assert within < 5 / of  # rigid: a few values
    for n in (1, 2, 3):
        assert free.block_trace_moment(n, 2) == pytest.approx(math.comb(2 * n, n) / 4**n / 2, rel=1e-13)


def test_beyond_m_equal_d_the_moment_has_the_exercises_constant():
    off = []
    for n in (100, 400):
        found, formula = numbers(CHAPTER, rf"n = {n}: moment / P\(N = n\) = (\S+), formula (\S+)\n")
        assert formula == pytest.approx(1.5 / 0.5**2 / n, abs=6e-5)
        off.append(formula / found - 1)
    assert off[1] == pytest.approx(off[0] / 4, rel=0.2)  # an error of order 1/n


def test_the_lower_edge_has_the_exercises_closed_form():
    for step in (0.5, 0.05):
        low, rate = numbers(CHAPTER, rf"step {step}: lower end (\S+), -log\(lower end\)/step = (\S+)\n")
        q, tau = (1 - step) ** 2, step * (2 - step)
        closed = q**2 * math.exp(-tau * (1 + q) / q)
        assert free.SquaredSingularValues(1.0, step).support[0] == pytest.approx(closed, rel=1e-10)
        assert low == pytest.approx(closed, abs=6e-6)
        assert rate == pytest.approx(-math.log(closed) / step, abs=6e-3)
    assert rate == pytest.approx(8, abs=0.25)


def test_our_lambert_keeps_its_digits_where_scipys_loses_them():
    rows = (
        text(CHAPTER).split("scipy loses digits   ours is right to 1e-15\n")[1].split("\n\n")[0].splitlines()
    )
    assert [row.split()[2:] for row in rows] == [["False", "True"], *[["True", "True"]] * 4]


def test_the_law_has_other_names_and_free_addition_gives_another():
    for n, stretched, ours, boolean, blocks, freely in table(CHAPTER, "n   n^n/n!   e^n phi(A^n)"):
        assert stretched == ours == boolean == blocks
        assert stretched == pytest.approx(n**n / math.factorial(int(n)), abs=6e-4)
        assert (freely == stretched) == (n < 3)
        if n == 3:
            assert freely == 5.5
            assert stretched == 4.5


@pytest.mark.parametrize("step", [0.5, 1.0, 1.5])
def test_appendix_c_prints_the_constant_too_large_by_root_two(step):
    strength, decay, here, there = numbers(
        CHAPTER, rf"\n{step} (\d\.\d{{3}}) (\d\.\d{{4}}) (\d\.\d{{4}}) (\d\.\d{{4}})\n"
    )
    assert decay == here == pytest.approx(math.sqrt((2 - step) / (2 * step)), abs=6e-5)
    assert strength == pytest.approx(here, abs=1e-3)
    assert there / here == pytest.approx(math.sqrt(2), abs=3e-4)


def test_the_two_hundredth_moment_is_stirlings():
    moment, stirling = numbers(CHAPTER, r"moment 200: (\S+), Stirling (\S+)\n")
    assert moment == pytest.approx(math.exp(200 * math.log(200) - 200 - math.lgamma(201)), abs=6e-11)
    assert moment / stirling - 1 == pytest.approx(1 / (288 * 200**2), rel=0.1)


def test_the_papers_density_has_the_opposite_sign_and_its_distribution_function_lacks_a_factor():
    real, imaginary = numbers(CHAPTER, r"W_0 and W_-1 at a/x: (\S+) \+- (\S+) i\n")
    w = free.lambert_w(-0.5 * math.exp(-0.5) / 0.3 + 0j)
    assert [real, imaginary] == pytest.approx([w.real, w.imag], abs=6e-4)
    theirs, true = numbers(CHAPTER, r"density at 0.3: the paper's formula (\S+), true (\S+)\n")
    law = free.SquaredSingularValues(0.5)
    assert -theirs == true == pytest.approx(law.pdf(0.3), abs=6e-5)
    _, imaginary, true = numbers(CHAPTER, r"CDF at 0.3: the paper's (\S+) (\S+) i \+ C, true (\S+)\n")
    assert true == pytest.approx(law.cdf(0.3), abs=6e-5)
    assert -imaginary / math.pi == pytest.approx(true, abs=6e-4)


def test_large_shares_lie_below_the_papers_left_end():
    for rho in (0.5, 1.0, 2.0):
        (share,) = numbers(CHAPTER, rf"rho = {rho}: (\d+) % of the law lies below exp\(-2 rho\)\n")
        assert share / 100 == pytest.approx(
            free.SquaredSingularValues(rho).cdf(math.exp(-2 * rho)), abs=0.006
        )
