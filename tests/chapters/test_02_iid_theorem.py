"""Chapter 2: what it prints and says, against the library called afresh and against its own formulas."""

import numpy as np
import pytest
from outputs import numbers, prose, table

from edgelaw import data, exact, spectrum
from edgelaw.theory import iid

CHAPTER = "02_iid_theorem"


def test_two_eigenvalues_have_the_rates_of_the_text_and_the_librarys_curve():
    rates = numbers(CHAPTER, r"decay rates: (\S+), (\S+)\n")
    said = numbers(CHAPTER, r"with noise they are \$([\d.]+)\$ and \$([\d.]+)\$", prose)
    values = np.array([0.4, 1.6])
    assert rates == said == pytest.approx(np.roots([1, -1.66, 0.38 * 1.28 - 0.0064])[::-1], abs=6e-4)
    assert [np.sum(values**2 / (values - x)) for x in rates] == pytest.approx([8, 8], rel=0.02)
    assert 1 - rates[1] / 1.6 == pytest.approx(0.2, abs=0.01)
    assert 1 - rates[0] / 0.4 == pytest.approx(0.07, abs=0.005)
    curve = exact.curve("iid", values, [1, 3, 10], 0.5, weights=np.ones(2)).test[1:]
    for n, loss in zip((1, 3, 10), curve, strict=True):
        noisy, plain = numbers(CHAPTER, rf"n = {n}: test loss (\S+), without noise (\S+)\n")
        assert noisy == pytest.approx(loss, abs=6e-5)
        assert plain == pytest.approx(np.exp(-n * values).mean(), abs=6e-5)


def test_the_equation_is_as_close_to_the_exact_mean_on_photographs_as_is_said():
    rows = table(CHAPTER, "test: rows   equation   training: rows   equation")
    assert [row[0] for row in rows] == [1, 10, 100]
    (most,) = numbers(CHAPTER, r"The gap is below ([\d.]+) %", prose)
    X = data.preprocess(data.load("cifar10").features, 512, 512, rng=0).X
    mean = exact.expected_curve(X, [1, 10, 100], 1.0)
    theory = exact.curve("iid", spectrum.gram_eigenvalues(X), [1, 10, 100])
    printed = np.array(rows)[:, 1:].T
    ours = mean.test, theory.test, mean.train, theory.train
    for shown, curve in zip(printed, ours, strict=True):
        assert shown == pytest.approx(curve[1:], abs=6e-5)
    for first, second in (ours[:2], ours[2:]):
        assert np.abs(second / first - 1).max() < most / 100


def test_the_runs_of_the_first_figure_are_within_a_few_per_cent_of_the_exact_curves():
    (off,) = numbers(CHAPTER, r"the runs are within (\S+)% of the exact curves\n")
    # 110 means over 16 designs: at epoch 100 the training loss of one design and start strays by 12 or 13 %
    assert off < 100 * 3 * 0.125 / np.sqrt(16)


def test_a_large_step_is_behind_for_as_long_as_is_said_and_its_early_slope_means_nothing():
    n = np.arange(1, 61)
    large = iid.test_loss(n, 1.9)
    words = r"above that of step 1 up to \$n = (\d+)\$ and above that of step 1.5 up to \$n = (\d+)\$"
    said = numbers(CHAPTER, words, prose)
    assert said == [n[large > iid.test_loss(n, step)][-1] for step in (1.0, 1.5)]
    assert np.log(large[7] / large[0]) / np.log(8) == pytest.approx(-0.5, abs=0.02)
    over = large[:8] * np.sqrt(n[:8]) / iid.test_constant(1.9)
    assert over == pytest.approx([3] * 8, abs=0.7)  # about three times its power law


def test_unnormalised_rows_contract_below_the_limit_and_diverge_above_it_at_the_rate_of_the_recursion():
    for share in (0.9, 1.1):
        (left,) = numbers(CHAPTER, rf"{share} of the limit: (\S+) after 2000 updates")
        step = share * 2 / 66
        predicted = 2000 * np.log(1 - 2 * step + 66 * step**2)  # covariance I: one factor per update
        # the log of a mean of 500 products of 2000 factors
        assert np.log(left) == pytest.approx(predicted, abs=1.5)
        assert (left < 1) == (share < 1)


@pytest.mark.parametrize("step", [0.5, 1.0, 1.5, 1.9])
def test_noise_leaves_the_density_at_the_edge_alone(step):
    x = np.array([1e-4, 1e-5])
    ratio = iid.rate_density(x, step) / spectrum.MarchenkoPastur().pdf(x)
    assert ratio == pytest.approx(1 + 2 * step / (2 - step) * x, abs=1e-4)  # 1 + (2b/a) x + O(x²)


def test_one_term_explains_the_distance_from_the_power_law():
    for step in (0.25, 0.5, 1.0, 1.5, 1.9):
        test, c, train, three_c = numbers(
            CHAPTER, rf"step +{step}: test (\S+)% \(c/n = (\S+)%\), train (\S+)% \(3c/n = (\S+)%\)\n"
        )
        exact_c = 100 * (2 * step / (2 - step) - 1 / 8) / (4 * step) / 100
        assert [c, three_c] == pytest.approx([exact_c, 3 * exact_c], abs=0.006)
        edge = iid.edge_law(100, spectrum.MarchenkoPastur().edge, step)
        losses = iid.test_loss(100, step), iid.train_loss(100, step)
        for shown, loss, law in zip((test, train), losses, edge, strict=True):
            assert shown == pytest.approx(100 * (loss / law - 1), abs=0.006)


def test_the_best_steps_are_where_the_exact_losses_are_smallest():
    testing, training = numbers(CHAPTER, r"for the test loss at 10 (\S+), for training as n grows (\S+)\n")
    assert training == pytest.approx(6 / 5, abs=0.006)
    assert all(iid.test_loss(10, testing) < iid.test_loss(10, testing + off) for off in (-0.02, 0.02))
