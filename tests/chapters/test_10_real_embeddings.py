"""Chapter 10: what it prints and says of real embeddings, against the recorded runs, the library and by hand."""

import functools
import itertools
import re

import numpy as np
import pytest
from outputs import captions, numbers, prose, text

from edgelaw import data, exact, kaczmarz, spectrum
from edgelaw.orders import ORDERS
from edgelaw.theory import random_reshuffle

REAL = ("cifar10", "wikipedia")


@pytest.fixture(scope="module")
def sweep():
    return data.sweep("real_embeddings")


@functools.cache
def eigenvalues(name):
    """Of 512 rows in 512 dimensions, seed 0."""
    prepared = data.preprocess(data.load(name).features, rows=512, dims=512, rng=0)
    return spectrum.gram_eigenvalues(prepared.X, method="gram")


def over(sweep, name, order, other):
    """Exact losses at step 1 over those of another order: (epochs to 50, losses)."""
    at = list(sweep["exact steps"]).index(1.0)
    return sweep[f"{name} {order} exact"][at] / sweep[f"{name} {other} exact"][at]


def factors(cosine, step, m):
    """The test loss's factor per epoch in the long run for m rows of one cosine, in the order of ORDERS."""
    U = np.linalg.cholesky((1 - cosine) * np.eye(m) + cosine)
    updates = [np.eye(m) - step * np.outer(u, u) for u in U]
    maps = [kaczmarz.epoch_matrix(U[list(way)], step) for way in itertools.permutations(range(m))]
    drawn, fresh = (np.mean([np.kron(A, A) for A in each], axis=0) for each in (updates, maps))
    drawn, fresh, *once = (np.abs(np.linalg.eigvals(A)).max() for A in (drawn, fresh, *maps))
    np.testing.assert_allclose(once, once[0], rtol=1e-6)  # no fixed order is better than another
    return drawn**m, fresh, once[0] ** 2, np.linalg.norm(maps[0], 2) ** 2


def four_rows():
    """What the chapter prints for four rows: four factors, by step and cosine."""
    found = re.findall(r"^step (\S+)  c (\S+) +(\S+) +(\S+) +(\S+) +(\S+)$", text("10"), re.MULTILINE)
    return {(float(step), float(c)): [float(x) for x in row] for step, c, *row in found}


def readings(heading, words):
    """The lines of a printed table with their numbers, by the words they begin with."""
    (part,) = text("10").split(heading)[1:]
    found = re.findall(rf"^({words}) +(.*)$", part.split("\n\n")[0], re.MULTILINE)
    return {name: [float(x) for x in re.findall(r"-?[\d.]+", row)] for name, row in found}


def test_two_rows_have_the_factors_of_the_four_orders_found_by_hand():
    c = 0.7
    by_hand = ((1 + c**2) / 2) ** 2, c**2 * (1 + c**2) / 2, c**4, c**2
    np.testing.assert_allclose(factors(c, 1.0, 2), by_hand)


def test_four_rows_have_the_printed_factors_and_the_winners_that_the_text_names():
    printed = four_rows()
    assert len(printed) == 8
    for case in ((1.0, 0.4), (1.5, 0.8)):
        np.testing.assert_allclose(factors(case[1], case[0], 4), printed[case], atol=5.1e-4)
    for step in (1.0, 1.5):
        assert ORDERS[int(np.argmin(printed[step, 0.2]))] == "single_shuffle"
        assert ORDERS[int(np.argmin(printed[step, 0.8]))] == "random_reshuffle"
    assert printed[1.5, 0.8][ORDERS.index("iid")] < printed[1.5, 0.8][ORDERS.index("single_shuffle")]


def test_images_rank_the_orders_as_four_rows_of_cosine_four_fifths_do():
    labels = ("IID", "random reshuffle", "single shuffle", "flip-flop")
    rows = readings("after 50 epochs  step 1: test, training    step 1.5", "|".join(labels))
    for step, at in ((1.0, 0), (1.5, 2)):
        losses = [rows[label][at] for label in labels]
        assert np.argsort(losses).tolist() == np.argsort(four_rows()[step, 0.8]).tolist()


def test_three_rows_prefer_a_fixed_order_and_more_rows_do_up_to_the_printed_cosine():
    leads = [factors(c, 1.0, 3) for c in (0.1, 0.3, 0.5, 0.7, 0.9, 0.99)]
    assert all(once < fresh for _, fresh, once, _ in leads)
    for m in (4, 5):
        (threshold,) = numbers("10", rf"\n{m} rows: random reshuffle from cosine (\S+) on")
        _, fresh, once, _ = np.transpose([factors(threshold + shift, 1.0, m) for shift in (-0.01, 0.01)])
        assert (fresh < once).tolist() == [False, True]


def test_the_largest_eigenvalues_are_those_of_the_caption():
    text_largest, images_largest = numbers("10", r"for noise, (\d+) for text and (\d+) for images", captions)
    assert round(eigenvalues("wikipedia")[-1]) == text_largest
    assert round(eigenvalues("cifar10")[-1]) == images_largest


@pytest.mark.parametrize("name", REAL)
def test_recorded_exact_curves_are_what_the_library_says_today(sweep, name):
    epochs = sweep["epochs"][:5]
    for order in ("iid", "single_shuffle"):
        curve = exact.curve(order, eigenvalues(name), epochs, 1.0)
        stored = sweep[f"{name} {order} exact"][list(sweep["exact steps"]).index(1.0), :5]
        np.testing.assert_allclose(np.stack([curve.test, curve.train], axis=1)[1:], stored, rtol=1e-3)


def test_iid_is_within_one_per_cent_of_the_exact_curve_and_the_power_law_far_off():
    rows = re.findall(
        r"^\w+ +[\d.]+ +\d+ +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)$", text("10"), re.MULTILINE
    )
    found = np.array(rows, dtype=float).reshape(9, 5)
    near, high = numbers(
        "10", r"within ([\d.]+) % of the exact curve. .*? up to ([\d.]+) times too high", prose
    )
    assert np.abs(found[:, :2] - 1).max() <= near / 100 + 5e-4
    assert found[:, 2].max() < 0.0065  # the largest standard errors
    assert 1 / found[:, 3:].min() == pytest.approx(high, abs=0.3)  # printed to two decimals


def test_the_power_law_is_late_on_wikipedia_and_its_slope_is_not_the_fitted_one():
    late = re.findall(r"^(\w+) +test: (.+?) +training: (.+)$", text("10"), re.MULTILINE)
    slopes = readings("fitted; epoch 1/(2λ) of the fit's end", r"\w+")
    assert [name for name, *_ in late] == list(slopes) == ["gaussian", *REAL]
    for name, *epochs in late:
        slope, beta, _ = slopes[name]
        assert ("not by 100" in epochs[0], "not by 100" in epochs[1]) == 2 * (name == "wikipedia",)
        assert (abs(slope - beta) > 0.05) == (name == "wikipedia")


def test_the_figure_of_orders_has_the_shares_of_its_caption_and_of_the_opening(sweep):
    above, images, texts = numbers(
        "10",
        r"reshuffle's test loss is at most ([\d.]+) % above single shuffle's, and .* is ([\d.]+) and ([\d.]+) of it",
        captions,
    )
    low, high, isotropic = numbers(
        "10", r"test loss (\d+) to (\d+) % below that of drawing .* it would be (\d+) % after", prose
    )
    ratio = {name: over(sweep, name, "random_reshuffle", "single_shuffle") for name in REAL}
    assert round(100 * (max(ratio[name][:, 0].max() for name in REAL) - 1), 1) == above
    assert [round(ratio[name][-1, 1], 2) for name in REAL] == [images, texts]
    gains = np.array([1 - over(sweep, name, "random_reshuffle", "iid") for name in REAL])
    assert [round(100 * gains[..., 0].min()), round(100 * gains[..., 0].max())] == [low, high]
    assert ((gains[:, 2:, 1] > 0.22) & (gains[:, 2:, 1] < 0.26)).all()  # about 25 % after a few epochs
    assert round(100 * (1 - random_reshuffle.effective_step(1.0) ** -0.5)) == isotropic


def test_runs_of_all_orders_agree_with_exact_curves_within_four_standard_errors():
    (part,) = text("10").split("the value farthest from 1 (largest standard error)")[1:]
    pairs = re.findall(r"(\d\.\d{3}) \((\d\.\d{3})\)", part.split("loss over single")[0])
    found = np.array(pairs, dtype=float).reshape(2, 2, 4, 3, 2)  # losses, data, orders, steps
    off, error = np.abs(found[..., 0] - 1), found[..., 1]
    finite = np.array([0.01, 0.015])[:, None, None, None]
    assert (off < 4 * error + finite).all()
    test, train = numbers("10", r"agree within ([\d.]+) % in test and (\d+) % in training", prose)
    assert 100 * off[0].max() <= test + 0.001
    assert 100 * off[1].max() <= train


def test_random_reshuffle_is_best_or_within_a_per_cent_of_it_at_every_step(sweep):
    (near,) = numbers("10", r"or within ([\d.]+) % of it, at every step and for both losses", captions)
    at, worst = list(sweep["epochs"]).index(20), 0.0
    for name in REAL:
        losses = np.array([sweep[f"{name} {order} exact"][:, at] for order in ORDERS])
        worst = max(worst, (losses[ORDERS.index("random_reshuffle")] / losses.min(axis=0)).max() - 1)
    assert round(100 * worst, 1) == near


def test_at_its_best_step_random_reshuffle_is_first_and_every_best_step_lies_inside_the_grid(sweep):
    for name, n, k in itertools.product(REAL, (5, 20, 50), (0, 1)):
        at = list(sweep["epochs"]).index(n)
        losses = np.array([sweep[f"{name} {order} exact"][:, at, k] for order in ORDERS])
        assert ORDERS[int(losses.min(axis=1).argmin())] == "random_reshuffle"
        assert np.isin(losses.argmin(axis=1), np.arange(1, len(sweep["exact steps"]) - 1)).all()


def test_the_exponent_is_near_one_half_at_m_equal_to_d_only_whatever_the_data():
    names = r"noise|cifar10|wikipedia|synthetic 1/j²?"
    rows = readings("m = d/2      m = d        m = 1.5 d    m = 2 d      erank", names)
    found = np.array([row[:8:2] for row in rows.values()])
    assert found.shape == (5, 4)
    assert np.ptp(found[:, 1]) < 0.02
    assert np.abs(found[:, 1] - 0.485).max() < 0.02
    assert found[:, [0, 2, 3]].min() > 1.2
    assert rows["synthetic 1/j²"][-1] == 4


def test_the_constant_of_a_known_covariance_is_the_fitted_one():
    predicted, fitted, spread = numbers("10", r"Q: predicted (\S+), fitted (\S+) ± (\S+); isotropic")
    assert abs(fitted - predicted) < 4 * spread / 2 + 0.05  # of four blocks


def test_of_five_numbers_only_the_exponent_does_not_tell_data_from_noise():
    columns = "exponent|constant Q|effective rank|q95/q05|top eigenvalue"
    rows = readings("distance from noise, in spreads of one draw:", columns)
    rows = {name: row[-2:] for name, row in rows.items()}
    assert max(rows.pop("exponent")) < 2
    assert len(rows) == 4
    assert min(map(min, rows.values())) > 5
    difference, spread = numbers("10", r"CIFAR-10 minus noise: (\S+); one draw's spread (\S+)")
    assert abs(difference) < spread


def test_images_are_within_two_spreads_of_the_papers_draw():
    away = numbers("10", r"in spreads: exponent (\S+), rank (\S+), quantile ratio (\S+)\n")
    assert max(away) < 2
    assert "agrees with the paper's single draw within two spreads of a draw" in prose("10")


@pytest.mark.parametrize("seed", range(4))
def test_no_eigenvalue_of_a_tall_sample_is_below_its_covariances_times_the_smallest(seed):
    tau = np.sqrt((np.arange(256) + 0.5) / 256)
    X = data.gaussian(512, 256, rng=seed)
    least = spectrum.gram_eigenvalues(X)[0]
    assert (spectrum.gram_eigenvalues(X * np.sqrt(tau)) > least * tau).all()


def test_effective_ranks_of_512_rows_are_those_found_by_hand():
    for label, by_hand in (("sphere", 512**2 / 1023), ("Gaussian", 512**2 / 1025)):
        mean, spread, stated = numbers("10", rf"\n{label} +(\S+) ± (\S+) per draw, by hand (\S+)\n")
        assert stated == pytest.approx(by_hand, abs=5e-3)
        assert abs(mean - by_hand) < 4 * spread / np.sqrt(12) + 0.05


def test_permuting_every_column_makes_the_two_orders_change_places():
    as_they_are, permuted = (
        numbers("10", rf"{how} +test loss, reshuffle over single shuffle: (\S+)\n")[0]
        for how in ("as they are", "permuted")
    )
    assert as_they_are < 0.98 < 1.04 < permuted


def test_one_more_row_repairs_what_the_null_direction_does_to_the_exponent():
    rows = readings(
        "zero counted     zero dropped     513 rows         not centred", r"noise|cifar10|wikipedia"
    )
    assert len(rows) == 3
    for row in rows.values():
        counted, dropped, more, uncentred = row[::2]
        assert 0.008 < more - counted < 0.017
        assert 0.008 < dropped - more < 0.017
        assert abs(more - uncentred) < 0.002


def test_training_losses_jump_under_fresh_draws_and_hardly_under_a_fixed_order():
    said = numbers("10", r"jumps by ([\d.]+) % from epoch to epoch on Gaussian rows and by (\d+) % on", prose)
    for name, percent in zip(("gaussian", "cifar10"), said, strict=True):
        *_, test, train = numbers("10", rf"{name} +IID +(\S+) +(\S+) +(\S+) +(\S+)\n")
        *_, fixed = numbers("10", rf"{name} +single shuffle +(\S+) +(\S+) +(\S+) +(\S+)\n")
        assert train == pytest.approx(percent / 100, abs=5e-4)
        assert train > 20 * test
        assert fixed < 0.1 * train


def test_twice_as_many_rows_reach_a_thousandth_at_the_predicted_epoch():
    (needed,) = numbers("10", r"loss 1e-3 predicted at epoch (\d+)\n")
    prepared = data.preprocess(data.cifar10().features, 1024, 512, rng=0)
    values = spectrum.gram_eigenvalues(prepared.X)
    before, at = exact.curve("iid", values, [int(needed) - 1, int(needed)], 1.0, rho=2.0).test[1:]
    assert at < 1e-3 < before
    (run,) = numbers("10", r"simulated loss there: (\S+)\n")
    assert run == pytest.approx(1e-3, rel=0.15)
