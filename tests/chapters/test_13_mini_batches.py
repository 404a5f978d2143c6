"""Chapter 13: what it prints about batches, against the library, the laws beside it, and its own sentences."""

import functools
import re
from pathlib import Path

import numpy as np
import pytest
from outputs import cells, numbers, prose, table

from edgelaw import data, exact
from edgelaw.exact import stability
from edgelaw.orders import ORDERS
from edgelaw.spectrum import gram_eigenvalues

CHAPTER = "13_mini_batches"


@functools.cache
def eigenvalues(name):
    """Those of the matrix of the first figure, or of 512 photographs."""
    if name == "Gaussian":
        return gram_eigenvalues(data.normalize_rows(data.gaussian(256, 256, rng=0)))
    return gram_eigenvalues(data.preprocess(data.load(name).features, 512, 512, rng=0).X)


@functools.cache
def largest_step(name, order, batch):
    return stability(order, eigenvalues(name), batch=batch)


@pytest.fixture(scope="module")
def captions():
    figures = [cell["metadata"].get("mystnb", {}).get("figure", {}) for cell in cells(CHAPTER)]
    return {figure["name"]: figure["caption"] for figure in figures if figure}


def loss_near_its_best(name, order, batch, epochs, share):
    """The test loss at a share of the largest stable step, the one at which a search finds the least."""
    step = share * largest_step(name, order, batch)
    return float(exact.curve(order, eigenvalues(name), [epochs], step, batch=batch).test[-1])


def test_small_batches_cost_what_the_caption_says(captions):
    pattern = r"Batches of 8 cost no order more than (\d+) %, batches of 32 no order more than (\d+) %"
    stated = [float(x) for x in re.search(pattern, captions["fig-mb-best"]).groups()]
    shares = {  # of the largest stable step, for 1, 8 and 32 rows
        "iid": (0.883, 0.884, 0.890),
        "random_reshuffle": (0.901, 0.901, 0.904),
        "single_shuffle": (0.843, 0.898, 0.949),
        "flip_flop": (0.500, 0.672, 0.815),
    }
    costs = []
    for order in ORDERS:
        losses = zip((1, 8, 32), shares[order], strict=True)
        single, *batches = (loss_near_its_best("Gaussian", order, b, 40, share) for b, share in losses)
        costs.append([100 * (loss / single - 1) for loss in batches])
    assert (np.max(costs, axis=0) < stated).all()
    assert (np.max(costs, axis=0) > np.array(stated) - 1).all()


def test_a_slow_direction_sees_the_mean_that_is_proved():
    mean, error, share = numbers(CHAPTER, r"20,000 random cuts: (\S+) ± (\S+) \(m - b\)/\(m - 1\): (\S+)")
    assert share == round(48 / 59, 4)
    assert error < 0.001
    assert abs(mean - share) < 4 * error


def test_effective_steps_meet_in_one_batch_and_are_the_closed_ones_before():
    rows = np.array(table(CHAPTER, "Gaussian rows, tau = 1/2"))
    tau, kappa = 0.5, np.array([1, 8, 64, 256, 512]) / 512
    flat = gram_eigenvalues(data.normalize_rows(data.gaussian(512, 512, rng=0)))
    for order, printed in zip(ORDERS, rows, strict=True):
        found = [exact.effective_step(order, b * tau, flat, b) for b in (1, 8, 64, 256, 512)]
        assert printed == pytest.approx(found, abs=6e-5)
    assert (rows[:, -1] == tau).all()
    assert (rows[0] == tau).all()
    assert rows[1] == pytest.approx(tau + tau**2 / 2 * (1 - kappa), rel=2e-3)
    assert rows[2] == pytest.approx(1 / (1 / tau - (1 - kappa) / 2), rel=2e-3)


def test_small_batches_have_the_least_accurate_training_loss():
    eight, many = (np.reshape(row[1:], (4, 2)) for row in table(CHAPTER, "IID  random reshuffle    single"))
    assert "The training loss of small batches is the least accurate" in prose(CHAPTER)
    assert eight[:, 1].min() > max(eight[:, 0].max(), many.max())


def test_larger_steps_are_stable_in_the_order_of_the_caption(captions):
    assert "the largest, then single shuffle, IID and flip-flop, up to" in captions["fig-mb-stability"]
    for batch in (8, 32):
        limits = [
            largest_step("Gaussian", order, batch)
            for order in ("random_reshuffle", "single_shuffle", "iid", "flip_flop")
        ]
        assert (np.diff(limits) < 0).all()


def test_beyond_the_critical_size_a_batch_allows_hardly_a_larger_rate():
    for name in ("cifar10", "wikipedia"):
        size, one, eight, some, many = numbers(
            CHAPTER, rf"{name}, m = d = 512: b\* = (\S+) (\S+) (\S+) (\S+) (\S+)"
        )
        assert one == 2
        assert 6 <= eight / one <= 7.3
        assert 1.01 <= many / some < 1.025
        assert many == pytest.approx(2 * size, rel=0.01)


def test_batches_of_embeddings_cost_what_the_summary_says():
    pattern = "random reshuffle: loss over that of single rows 1.00 (\\S+) \\S+ (\\S+)"
    printed = [numbers(CHAPTER, f"{name}, b = 1, 8, 64, 256, {pattern}") for name in ("images", "texts")]
    stated = numbers(
        CHAPTER,
        "leaves (\\S+) and (\\S+) times the test loss of single rows in batches of 8, and (\\S+) and (\\S+) times in",
        prose,
    )
    assert np.transpose(printed).ravel().tolist() == stated


def test_what_iid_leaves_more_falls_as_the_text_says():
    pattern = r"{}, b = 1, 8, 64, 256, random reshuffle: .*? IID's loss over its loss (\S+) \S+ \S+ (\S+)"
    images, texts = (
        numbers(CHAPTER, pattern.format(name).replace(".*?", "[^I]*")) for name in ("images", "texts")
    )
    first = numbers(
        CHAPTER, r"falls from (\d+) % \(images\) and (\d+) % \(text\) for single rows to (\d+) %", prose
    )
    assert [round(100 * (x - 1)) for x in (images[0], texts[0])] == first[:2]
    assert [round(100 * (x - 1)) for x in (images[1], texts[1])] == [first[2]] * 2


def test_in_large_batches_of_photographs_the_orders_rank_as_in_the_caption(captions):
    """There the best step is the largest that is tried, 95 % of the stable one."""
    assert (
        "Random reshuffle is lowest up to 64 rows, and at 256 rows less than 1 % behind"
        in captions["fig-mb-real"]
    )
    losses = {
        batch: {order: loss_near_its_best("cifar10", order, batch, 16, 0.949) for order in ORDERS}
        for batch in (64, 256)
    }
    assert min(ORDERS, key=losses[64].get) == "random_reshuffle"
    assert losses[256]["random_reshuffle"] < 1.01 * losses[256]["single_shuffle"]
    assert losses[256]["random_reshuffle"] < losses[256]["iid"] < losses[256]["flip_flop"]


def test_torchs_own_loop_ends_on_the_predicted_curve():
    images = gram_eigenvalues(data.preprocess(data.load("cifar10").features, 256, 256, rng=0).X)
    for order, name in (
        ("iid", "IID"),
        ("random_reshuffle", "random reshuffle"),
        ("single_shuffle", "single shuffle"),
    ):
        mean, error, predicted = numbers(CHAPTER, rf"{name} (\S+) ± (\S+), predicted (\S+)")
        assert predicted == round(float(exact.curve(order, images, 20, 8.0, batch=16).test[-1]), 3)
        assert error <= 0.01 * mean
        assert abs(mean - predicted) <= 4 * error


def test_without_tuning_momentum_and_adam_leave_five_per_cent_more_with_replacement():
    for kind in ("momentum 0.9, lr/10", "Adam, lr 0.03"):
        drawn, _, fresh, _ = numbers(CHAPTER, f"{kind} IID (\\S+) ± (\\S+) random reshuffle (\\S+) ± (\\S+)")
        assert drawn / fresh == pytest.approx(1.05, abs=0.005)


def test_shuffling_is_worth_less_than_one_per_cent_from_the_size_of_the_solution_on():
    assert "from $b = 26$ on" in prose(CHAPTER)
    for size, printed in zip((25, 26), numbers(CHAPTER, r"b = 25: (\S+) b = 26: (\S+)"), strict=True):
        steps = [
            exact.effective_step(order, 1.0, np.ones(100_000), size) for order in ("iid", "single_shuffle")
        ]
        assert printed == round(float((steps[1] / steps[0]) ** 0.5), 5)
        assert (printed < 1.01) == (size == 26)


def test_the_training_loss_late_in_training_is_the_formula_of_the_exercise():
    for size, library, by_hand in np.reshape(
        numbers(CHAPTER, " ".join([r"b = (\d+)\s*: training over test (\S+), by hand (\S+)"] * 3)), (3, 3)
    ):
        test, train = exact.constants("single_shuffle", np.ones(512), 0.6 * size, int(size))
        assert library == round(float(train / test), 4)
        assert by_hand == pytest.approx(library, rel=2e-3)


def test_the_benchmark_says_what_the_chapter_quotes_of_it():
    """The largest differences of both losses at 0.4 and at 0.8 of the limit, and with few rows per batch at 0.8."""
    parts = (Path(__file__).parents[2] / "benchmarks" / "BATCHES.md").read_text().split("**")
    usual, few = (parts[parts.index(name) + 1] for name in ("Accuracy.", "Where theory is off."))
    told = numbers(
        CHAPTER,
        r"at most (\S+) % in test loss and (\S+) % in training loss .*? at most (\S+) % and (\S+) %, and with batches "
        r"of 2, 3 and 6 rows at \$d = 300\$ at most (\S+) % and (\S+) %\.",
        prose,
    )
    found = []
    for page, share in ((usual, "0.4"), (usual, "0.8"), (few, "0.8")):
        rows = "".join(line for line in page.splitlines(True) if f"| {share} |" in line)
        for ends in (r"\| ([-+]\S+) ±", r"/ ([-+]\S+) ±"):
            found.append(max(abs(float(one)) for one in re.findall(ends, rows)))
    assert found == told
