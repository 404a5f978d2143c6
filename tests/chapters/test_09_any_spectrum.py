"""Chapter 9: what it prints and says of exact curves, against the library, the recorded sweeps and by hand."""

import itertools
import re

import numpy as np
import pytest
from outputs import captions, numbers, prose, text
from scipy.stats import random_correlation

from edgelaw import data, exact, kaczmarz
from edgelaw.orders import ORDERS
from edgelaw.spectrum import gram_eigenvalues
from edgelaw_ledger.own import spectra

TWO = np.array([0.4, 1.6])


def spread_over_data_sets(size):
    """Standard deviation over 30 data sets, over their mean, of the test loss after five epochs."""
    fixed, losses = (np.arange(1, size + 1) - 0.5) ** 2, []
    for seed in range(30):
        gram = random_correlation.rvs(fixed / fixed.mean(), random_state=np.random.default_rng(seed))
        A = kaczmarz.epoch_matrix(np.linalg.cholesky(gram), 1.0)
        losses.append((np.linalg.matrix_power(A, 5) ** 2).sum())
    return np.std(losses, ddof=1) / np.mean(losses)


def over_reshuffle(loss):
    """Single shuffle's loss over random reshuffle's on the recorded map: (spectra, steps, epochs)."""
    losses = data.sweep("order_map")["losses"][..., loss, :]
    return losses[:, :, ORDERS.index("single_shuffle")] / losses[:, :, ORDERS.index("random_reshuffle")]


@pytest.fixture(scope="module")
def breaks():
    """Deviations in per cent of eight kinds of rows and of their surrogates: draws, orders, losses, epochs."""
    sweep = data.sweep("what_breaks")
    return 100 * sweep["off"].astype(float), 100 * sweep["twin_off"].astype(float)


def test_four_rows_know_their_order_by_the_stated_two_terms():
    U = np.random.default_rng(9).standard_normal((4, 4))
    U /= np.linalg.norm(U, axis=1)[:, None]
    K, walks = U @ U.T, []
    for order in itertools.permutations(range(4)):
        P = K[np.ix_(order, order)]
        L = np.tril(P, -1)
        walks.append([np.trace(word @ P) / 4 for word in (L, L @ L, L @ L @ L)])
    pairs, triples, cycles = np.transpose(walks)
    m2, m3, m4 = (np.trace(np.linalg.matrix_power(K, k)) / 4 for k in (2, 3, 4))
    np.testing.assert_allclose(pairs, (m2 - 1) / 2)
    np.testing.assert_allclose(triples, (m3 - 3 * m2 + 2) / 6)
    assert np.ptp(cycles) > 1e-3
    kappa = m4 - 4 * m3 - 2 * m2**2 + 10 * m2 - 5
    uneven, parallel = (K**2).sum(axis=1).var(), ((K**4).sum() - 4) / 4
    assert cycles.mean() == pytest.approx((kappa - 2 * uneven + parallel) / 24, rel=1e-12)


def test_data_sets_of_the_same_eigenvalues_agree_better_in_proportion_to_their_size():
    few, many = spread_over_data_sets(8), spread_over_data_sets(64)
    error = np.hypot(1, 1) / np.sqrt(2 * 29)  # relative, of a quotient of deviations of 30 draws each
    assert abs(np.log(few / many / 8)) < 4 * error


def test_deviations_fall_like_one_over_the_size_but_for_the_steepest_covariance():
    found = re.findall(
        r"^(\S+) +test [\d.]+, training [\d.]+; powers (\S+), (\S+)$", text("09"), re.MULTILINE
    )
    powers = {name: (float(test), float(train)) for name, test, train in found}
    steep = powers.pop("1/j")
    assert len(powers) == 3
    assert all(-1.4 < power < -0.8 for pair in powers.values() for power in pair)
    assert all(-0.7 < power < -0.4 for power in steep)


def test_one_scalar_equation_gives_the_traces_of_powers_of_a_matrix():
    found = re.findall(r"tr A\^\d / d: matrix (\S+), theory (\S+)", text("09"))
    assert len(found) == 4
    for matrix, theory in found:
        assert abs(float(matrix) - float(theory)) < 3 / 500 + 0.001
    (first,) = numbers("09", r"tr A\^1 / d: matrix \S+, theory (\S+)\n")
    assert first == pytest.approx(np.exp(-1.2 * TWO).mean(), abs=5e-4)


def test_both_generating_functions_are_those_of_a_matrix_of_500_rows():
    for loss in ("test", "training"):
        matrix, theory = numbers("09", rf"{loss} +at \(0.6, 0.8\): matrix (\S+), theory (\S+)\n")
        assert matrix == pytest.approx(theory, rel=3 / 500)


def test_a_sample_gives_averages_over_its_covariance_at_every_shape():
    found = re.findall(r"^ +m = \S+ d: (\S+), (\S+)$", text("09"), re.MULTILINE)
    assert len(found) == 3
    for sample, population in found:
        assert float(sample) == pytest.approx(float(population), rel=0.01)


@pytest.mark.parametrize("order", ORDERS)
def test_isotropic_losses_are_within_five_per_cent_of_their_power_law_from_epoch_34_on(order):
    (first,) = numbers("09", r"isotropic rows: all orders are within 5 % from (\d+) epochs on", captions)
    n = np.array([first, 100, 3000], dtype=int)
    over = exact.population_curve(order, np.ones(2), n).test[1:] * np.sqrt(n)
    over = np.abs(over / exact.constants(order, np.ones(2))[0] - 1)
    assert over.max() < 0.05
    assert over[-1] < 0.01


def test_single_shuffle_is_a_tenth_above_its_power_law_at_the_dotted_line():
    tau = 1 / np.arange(1, 65)
    tau /= tau.mean()
    (late,) = numbers("09", r"the dotted line is at n = (\d+)")
    assert late == round(100 * np.mean(1 / tau) * np.mean(tau**2) ** 2 / (144 / 8))
    loss = exact.population_curve("single_shuffle", tau, [int(late)]).test[1]
    law = exact.constants("single_shuffle", tau)[0] / np.sqrt(late)
    assert loss / law == pytest.approx(1.1, abs=0.04)


def test_the_recorded_map_is_what_the_library_says_today():
    rows = data.preprocess(data.wikipedia().features, rows=512, dims=512, rng=9).X
    values = np.maximum(gram_eigenvalues(data.normalize_rows(rows)), 0)
    table = data.sweep("order_map")
    place = table["names"].tolist().index("wikipedia"), table["steps"].tolist().index(0.5)
    at = np.isin(table["epochs"], (5, 50))
    for order in ("iid", "random_reshuffle"):
        fresh = exact.curve(order, values, [5, 50], 0.5).test[1:]
        stored = table["losses"][place][ORDERS.index(order), 0][at]
        np.testing.assert_allclose(fresh, stored, rtol=1e-3)


def test_single_shuffle_leads_at_high_rank_and_steps_to_three_halves_at_every_later_epoch():
    table = data.sweep("order_map")
    losses = table["losses"][table["effective_rank"] > 240][:, table["steps"] <= 1.5][..., 0, 1:]
    assert table["epochs"][:2].tolist() == [1, 2]
    single = losses[:, :, ORDERS.index("single_shuffle")]
    assert (single[:, :, None] <= losses).all()
    over = [(single / losses[:, :, ORDERS.index(o)]).min() for o in ("iid", "random_reshuffle")]
    assert numbers("09", r"up to (\d+) % below IID's and up to (\d+) % below random", prose) == [
        round(100 * (1 - ratio)) for ratio in over
    ]


def test_random_reshuffle_leads_on_embeddings_at_large_steps_and_late_in_training():
    table = data.sweep("order_map")
    real = np.isin(table["names"], ("cifar10", "wikipedia"))
    late = over_reshuffle(0)[real][:, table["steps"] >= 1.25][..., table["epochs"] >= 5]
    train = over_reshuffle(1)[real][:, table["steps"] >= 0.5][..., table["epochs"] == 50]
    assert min(late.min(), train.min()) > 1
    assert numbers("09", r"from step 0.5 on, by factors from ([\d.]+) to ([\d.]+) \(", prose) == [
        round(train.min(), 2),
        round(train.max(), 1),
    ]


def test_harmless_rows_and_surrogates_deviate_as_little_as_the_text_says(breaks):
    rows, twins = (np.abs(off.mean(axis=1)).max(axis=(1, 3)) for off in breaks)  # kinds, losses
    test, train, single = numbers(
        "09", r"test loss is within ([\d.]+) % and .* within ([\d.]+) %; single .* up to (\d+) %", prose
    )
    assert [round(x, 1) for x in rows[:4].max(axis=0)] == [test, train]
    assert round(np.abs(breaks[0][:4, :, :, 1]).max()) <= single
    (pairs,) = numbers("09", r"Even here the test loss is within ([\d.]+) % on each draw", prose)
    assert np.abs(breaks[0][-1, :, :, 0]).max() < pairs
    assert (twins.max(axis=0) < (1, 2)).all()


def test_any_threshold_between_the_two_stated_separates_the_kinds_it_was_set_on(breaks):
    first = np.abs(breaks[0][:, :, ORDERS.index("single_shuffle"), 1, 0])
    bad = np.abs(breaks[0][:, :, :, 1]).max(axis=(2, 3)) > 5
    ends = [round(first[~bad].max(), 1), round(first[bad].min(), 1)]
    assert numbers("09", r"any threshold between ([\d.]+) % and ([\d.]+) % separates", prose) == ends
    assert ends[0] < 3 < ends[1]


def test_one_epoch_of_three_orders_is_the_one_found_by_hand_and_iids_is_not():
    by_hand, drawn = numbers("09", r"one epoch by hand (\S+); IID (\S+)\n")
    for order in ORDERS:
        loss = exact.population_curve(order, [0.3, 0.9, 1.8], 1).test[1]
        assert loss == pytest.approx(drawn if order == "iid" else by_hand, abs=1e-6)


def test_each_kind_of_rows_fails_by_the_half_of_the_condition_that_it_misses():
    for kind, fails in (
        ("Gaussian", "neither"),
        ("CIFAR-10", "neither"),
        ("half in a quarter", "uneven"),
        ("near-parallel pairs", "parallel"),
        ("tenth repeated", "uneven, parallel"),
    ):
        line = rf"^{kind} +(\S+) \((\S+)\) +(\S+) \((\S+)\) +(\S.*)$"
        (found,) = re.findall(line, text("09"), re.MULTILINE)
        uneven, usually_uneven, nearest, usually_near = map(float, found[:4])
        assert found[4] == fails
        assert (uneven > 1.9 * usually_uneven) == ("uneven" in fails)  # two digits are printed
        assert (nearest > 1.45 * usually_near) == ("parallel" in fails)


def test_single_shuffles_runs_with_few_rows_are_above_their_curve_as_much_as_it_says_of_itself():
    shown = [numbers("09", rf"{n} epochs: (\d+) ± (\d+) %; (\d+) %") for n in (20, 40, 60)]
    above, error, stated = np.transpose(shown)
    assert (above > 5 * error).all()
    assert (np.diff(above) > 0).all()
    assert (np.abs(above - stated) < stated).all()


def test_what_the_law_of_finite_size_does_not_cover_is_as_large_as_it_says():
    sweep = data.sweep("finite_size")
    case = (sweep["sizes"] == 400) & (sweep["aspects"] == 0.5)
    assert sweep["steps"][case].tolist() == 5 * [1.0]
    from_covariance = 100 * sweep["population_off"][case][:, :, 0, sweep["epochs"].tolist().index(16)]
    least, most = numbers("09", r"step 1 and 16 epochs (\d+) to (\d+) % of the test loss", prose)
    assert [round(from_covariance.min()), round(from_covariance.max())] == [least, most]
    beyond = []
    for fitted in (True, False):
        off, estimate = spectra.one_run(fitted)
        first = (np.abs(off) - 2 * estimate[:, None])[:, :, 1:, :, 0]
        beyond.append(first[np.isfinite(first)])
    beyond = np.concatenate(beyond)
    assert "one shuffled run in eight is beyond twice the estimate, mostly by less than 2 %" in prose("09")
    assert np.mean(beyond > 0) == pytest.approx(1 / 8, abs=0.01)
    assert np.mean(beyond[beyond > 0] < 0.02) > 0.9
    assert (len(sweep["sizes"]), len(set(sweep["kinds"]))) == (150, 11)
    assert "150 settings, with eleven kinds of rows" in prose("09")
