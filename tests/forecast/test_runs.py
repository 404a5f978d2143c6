"""Runs of SGD: their means, errors that cover, and the operations that they may take."""

import math
from typing import NamedTuple

import numpy as np
import pytest

from edgelaw import data
from edgelaw_app import files
from edgelaw_app.forecast import runs
from edgelaw_app.forecast.runs import Budget, Sample, until_precise
from edgelaw_app.forecast.spectral import Spectral

TIMES = np.array([0.0, 1.0])


class Made(NamedTuple):
    """Losses that are made up: 1 at the start, then of a lognormal distribution; a run costs 10."""

    spread: float = 0.3
    losses: tuple = ("parameter error", "training loss")

    def cost(self, times):
        return 10.0

    def run(self, order, steps, times, count, rng):
        drawn = np.exp(self.spread * rng.standard_normal((count, 2, 1)))
        return Sample(np.concatenate([np.ones((count, 2, 1)), drawn], axis=2), tuple(rng.random(count)))


def ran(problem, total=1e9, share=1e9, seed=0):
    budget = Budget(total)
    made = until_precise(problem, "iid", np.ones(1), TIMES, np.random.default_rng(seed), budget, share)
    return made, budget


def test_the_error_of_two_runs_is_half_of_students_interval():
    """Of 1 and 3: the standard error is 1, the quantile of Student's t with one degree of freedom 12.706."""
    sample = Sample(np.array([1.0, 3.0]).reshape(2, 1, 1))
    assert sample.mean() == 2
    quantile = math.tan(math.pi * 0.475)  # of Cauchy's distribution
    assert sample.errors()[0, 0] == pytest.approx(quantile / 1.96 / 2)


def test_the_error_of_many_runs_is_the_standard_error():
    drawn = np.random.default_rng(0).normal(5, 1, (4000, 1, 1))
    expected = drawn.std(ddof=1) / np.sqrt(4000) / drawn.mean()
    assert Sample(drawn).errors()[0, 0] == pytest.approx(expected, rel=2e-3)


def test_where_one_run_has_half_of_the_sum_the_error_says_so():
    losses = np.ones((100, 1, 1))
    losses[0] = 100.0
    assert Sample(losses).errors()[0, 0] > 0.49


def test_one_run_says_nothing_and_equal_runs_say_all():
    assert Sample(np.ones((1, 1, 1))).errors()[0, 0] == np.inf
    assert Sample(np.ones((9, 1, 1))).errors()[0, 0] == 0


def test_runs_go_on_until_the_error_is_three_per_cent_and_not_much_longer():
    made, budget = ran(Made(1.0))
    assert made.errors.max() <= runs.PRECISE
    assert 500 < made.runs <= 4096  # (e − 1)/0.0009 = 1909 is enough of them
    assert budget.spent == 10 * made.runs
    assert made.why == f"Means over {made.runs:,} runs of SGD."


def test_runs_end_with_the_operations_and_say_to_how_much_they_are_known():
    made, budget = ran(Made(1.0), share=1600.0)
    assert (made.runs, budget.spent) == (160, 1600)
    assert f"to {100 * made.errors.max():.0f} % only, because the operations are spent" in made.why
    made, budget = ran(Made(1.0), total=905.0)
    assert (made.runs, budget.spent, budget.left) == (90, 900, 5)


def test_too_few_operations_for_four_runs_buy_none():
    made, budget = ran(Made(), share=39.9)
    assert (made, budget.spent) == (None, 0)
    assert ran(Made(), share=40.0)[0].runs == 4


def test_accuracy_is_the_mean_of_runs_with_their_scatter():
    made, _ = ran(Made(0.0))
    assert made.accuracy[0] == pytest.approx(0.5, abs=4 / np.sqrt(12 * made.runs))
    assert made.accuracy[1] == pytest.approx(1 / np.sqrt(12), rel=0.25)


def test_losses_that_have_vanished_are_not_waited_for():
    class Vanished(Made):
        def run(self, *arguments):
            sample = super().run(*arguments)
            sample.losses[:, :, 1] *= 1e-14
            return sample

    assert ran(Vanished(2.0))[0].runs == runs.CHUNK


def test_the_same_loss_is_searched_with_the_same_runs_and_within_its_share():
    problem, budget = Made(1.0), Budget(200.0)
    ask = ("iid", np.ones(1), (0, 1.0), 7)
    first = runs.loss_by_running(problem, *ask, budget, 1e9)
    assert (first, budget.spent) == (runs.loss_by_running(problem, *ask, Budget(1e9), 80.0), 80)
    assert np.isnan(runs.loss_by_running(problem, *ask, budget, 19.0))
    assert budget.spent == 80


@pytest.fixture(scope="module")
def known():
    """200 × 30 Gaussian rows, and the losses of single shuffle after two epochs over 6000 runs."""
    problem = Spectral(files.design(data.gaussian(200, 30, rng=0)))
    times, steps = np.array([0.0, 1.0, 2.0]), np.ones(2)
    truth = problem.run("single_shuffle", steps, times, 6000, np.random.default_rng(10**6))
    assert truth.errors()[:, 2].max() < 0.01
    return problem, steps, times, truth.mean()[:, 2]


@pytest.mark.parametrize("affordable", [4, 64])
def test_two_standard_errors_cover_the_truth(known, affordable):
    """In 45 of 50 seeds at least, both losses.

    The truth is a mean over 6000 other runs, known to 0.8 %; the intervals are of 64 runs (8 % wide) and of 4.
    """
    problem, steps, times, truth = known
    share, covered = 1.001 * affordable * problem.cost(times), np.zeros(2)
    for seed in range(50):
        rng = np.random.default_rng(seed)
        made = until_precise(problem, "single_shuffle", steps, times, rng, Budget(share), share)
        assert made.runs == affordable
        covered += np.abs(made.values[:, 2] - truth) <= 2 * made.errors[:, 2] * made.values[:, 2]
    assert covered.min() >= 45
