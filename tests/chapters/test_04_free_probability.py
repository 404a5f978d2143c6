"""Chapter 4: what it prints and says, against the library called afresh and against its own formulas."""

import math

import numpy as np
import pytest
from outputs import numbers, prose, table, text

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


def test_the_s_transform_of_a_product_is_the_product_of_s_transforms():
    for k in range(4):
        product, factors = numbers(CHAPTER, rf"y\^{k}: S of XY (\S+) S of X times S of Y (\S+)\n")
        assert product == pytest.approx(factors, abs=0.011)


def test_one_block_has_the_s_transform_of_the_first_step_and_many_that_of_the_second():
    for m in (10, 100, 1000):
        blocks = free.s_transform(0.05, rho=0.8, blocks=m)
        assert blocks == pytest.approx((1 + 0.8 / (m * 1.05 - 0.8)) ** m, rel=1e-12)
        assert 0 < blocks - math.exp(0.8 / 1.05) < 1 / m


@pytest.mark.parametrize("rho", [0.5, 1.0, 2.0])
def test_the_newsvendors_leftover_is_the_moment_and_their_series_is_lamberts_function(rho):
    n, z = np.arange(1, 40), 0.6
    moments = free.trace_moment(n, rho=rho)
    for k in n:
        sold = np.arange(k)
        chances = np.exp(sold * np.log(rho * k) - rho * k - [math.lgamma(j + 1) for j in sold])
        assert moments[k - 1] == pytest.approx(((1 - sold / k) * chances).sum(), rel=1e-9)
    assert moments[:2] == pytest.approx([math.exp(-rho), math.exp(-2 * rho) * (1 + rho)], rel=1e-12)
    w = free.lambert_w(-rho * math.exp(-rho) * z)
    assert 1 + (moments * z**n).sum() == pytest.approx(rho / (rho + w), rel=1e-6)


def test_one_epoch_has_the_moments_of_the_formula_twice():
    rows = table(CHAPTER, "n   tr A^n/d   tr (AA')^n/d   n^n/(e^n n!)")
    assert len(rows) == 5
    for n, found, squares, limit in rows:
        assert limit == pytest.approx(free.trace_moment(int(n)), abs=6e-4)
        assert [found, squares] == pytest.approx([limit] * 2, abs=4 / 1000 + 1e-3)


def test_second_moments_tend_to_their_limits_singly_and_in_blocks():
    for step, rho in ((1.0, 1.0), (0.5, 2.0), (1.5, 0.5)):
        d = 2**16
        limit = math.exp(-2 * step * rho) * (1 + step**2 * rho)
        assert free.second_moments(d, round(rho * d), 1, step)[0] == pytest.approx(limit, rel=1e-3)
        assert free.second_moments(d, round(rho * 256), 256, step)[0] == pytest.approx(limit, rel=0.03)
    d, (_, _, trace2) = 4096, free.second_moments(4096, 4096)
    spread = d**2 * (trace2 - (1 - 1 / d) ** (2 * d))
    assert spread == pytest.approx(math.exp(-2) * (math.e - 1.5), rel=1e-3)


def test_at_another_step_the_squares_have_another_step():
    assert "tends to $e^{-1/2} = 0.61$" in prose(CHAPTER)
    assert "tends to $e^{-3/4} = 0.47$" in prose(CHAPTER)
    assert [free.trace_moment(1, step) for step in (0.5, 0.75)] == pytest.approx([0.61, 0.47], abs=0.005)


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
    law = free.SquaredSingularValues(1.0)
    for p, by_hand, drawn in table(CHAPTER, "quantile   by hand   one epoch, d = 1000"):
        assert by_hand == pytest.approx(law.quantile(p), abs=6e-5)
        density = law.pdf(by_hand)
        assert abs(drawn - by_hand) * density < 0.004 + 0.0006 * density  # the share that lies between them


def test_most_eigenvalues_are_complex_and_their_mean_square_modulus_is_between_two_moments():
    """Real ones would have the second moment; Schur's inequality allows up to the first."""
    assert "more than 80 % are complex: True\n" in text(CHAPTER)
    (modulus,) = numbers(CHAPTER, r"mean of \|lambda\|\^2: (\S+)\n")
    assert free.trace_moment(2) < modulus < free.trace_moment(1)
    said = numbers(CHAPTER, r"\\phi\(A\^2\) = ([\d.]+)\$ and \$\\phi\(AA\^\\top\) = ([\d.]+)\$", prose)
    assert said == pytest.approx([free.trace_moment(2), free.trace_moment(1)], abs=6e-4)
    assert f"our epoch has {modulus}." in prose(CHAPTER)


def test_two_blocks_leave_half_of_the_values_and_the_arcsine_law():
    rng, d = np.random.default_rng(9), 400
    first, second = (np.eye(d) - (basis := data.haar(d, d // 2, rng)) @ basis.T for _ in range(2))
    squares = np.sort(np.linalg.svd(first @ second, compute_uv=False) ** 2)
    assert (squares < 1e-12).sum() == d / 2
    arcsine = 2 / np.pi * np.arcsin(np.sqrt(squares[d // 2 :]))
    assert np.abs(arcsine - (np.arange(d // 2) + 0.5) / (d // 2)).max() < 5 / (d // 2)  # rigid: a few values
    for n in (1, 2, 3):
        assert free.block_trace_moment(n, 2) == pytest.approx(math.comb(2 * n, n) / 4**n / 2, rel=1e-13)


def test_the_lower_edge_has_the_exercises_closed_form():
    for step in (0.5, 0.05):
        q, tau = (1 - step) ** 2, step * (2 - step)
        closed = q**2 * math.exp(-tau * (1 + q) / q)
        assert free.SquaredSingularValues(1.0, step).support[0] == pytest.approx(closed, rel=1e-10)
    assert -math.log(closed) / step == pytest.approx(8, abs=0.25)


def test_an_epoch_of_photographs_leaves_more_and_its_values_lie_higher():
    (left,) = numbers(CHAPTER, r"left after one epoch: (\d+) %\n")
    assert left > 100 / math.e + 10
    law = free.SquaredSingularValues(1.0)
    for x in (0.1, 0.5, 0.9):
        found, promised = numbers(CHAPTER, rf"share above {x}: photographs (\S+), law (\S+)\n")
        assert promised == pytest.approx(1 - law.cdf(x), abs=6e-3)
        assert found > promised + 0.1


@pytest.mark.parametrize("step", [0.5, 1.0, 1.5])
def test_the_moments_fall_with_the_edge_constant_and_appendix_c_is_too_large_by_root_two(step):
    n = 10**8
    scaled = math.sqrt(n * math.pi) * free.trace_moment(n, step)
    assert scaled == pytest.approx(math.sqrt((2 - step) / (2 * step)), abs=1e-4)
    gap = 1e-12  # below the singularity at 1
    w = free.r_lambert(*((1 - gap) * math.exp(-step) * np.array([-(step**2), step - 1])))
    assert math.sqrt(gap) / (step + w) == pytest.approx(scaled, rel=1e-3)


def test_the_papers_density_has_the_opposite_sign_and_its_support_misses_a_third():
    rho, x = 0.5, 0.3
    a = -rho * math.exp(-rho) / x + 0j
    upper, lower = free.lambert_w(a), free.lambert_w(a, -1)
    assert upper == pytest.approx(lower.conjugate(), rel=1e-12)
    theirs = (rho / (x * (rho + upper)) - rho / (x * (rho + lower))) / (2j * math.pi)
    law = free.SquaredSingularValues(rho)
    assert -theirs == pytest.approx(law.pdf(x), rel=1e-9)
    assert law.cdf(math.exp(-2 * rho)) > 1 / 3
