"""The script behind the sweep of the universal gap: its designs and orders, and its numbers again."""

import numpy as np
import pytest
import universal_gap

from edgelaw import data, kaczmarz


def test_the_script_makes_a_cell_again_within_the_scatter_of_its_draws():
    sweep = data.sweep("universal_gap")
    i, j, n = 3, 3, 2 ** np.arange(11)  # beta = 1/2, step 1
    assert (sweep["betas"][i], sweep["steps"][j]) == (0.5, 1.0)
    cell = universal_gap.edge_cell(0.5, 1.0, np.random.default_rng(99), 200, 3, n, 2, 16)
    for order in ("single_shuffle", "flip_flop"):
        stored, spread = (sweep[f"{order}_step{x}"][i, j, 7] for x in ("", "_se"))
        again, error = (cell[f"{order}_step{x}"][7] for x in ("", "_se"))
        assert abs(again - stored) < 4 * np.hypot(error, spread) + 0.03 * stored  # d = 200 against 400


def test_an_extrapolation_finds_a_known_limit_and_says_when_it_cannot():
    n = 2 ** np.arange(30)
    share = n**-0.4
    steps = 2.0 * np.exp(-0.3 * share + 0.05 * share**2)
    value, distance = universal_gap.limit(steps, share, n, 0.4, dims=500)
    assert value == pytest.approx(2.0, rel=1e-6)
    assert distance < 0.01
    assert np.isnan(universal_gap.limit(steps[:4], share[:4], n[:4], 0.4, dims=500)).all()


def test_designs_have_unit_rows_and_sorted_ones_keep_classes_together():
    rng = np.random.default_rng(0)
    for name in universal_gap.DESIGNS:
        U = universal_gap.design(name, 60, rng)
        np.testing.assert_allclose((U**2).sum(axis=1), 1)
    clustered = universal_gap.design("clustered_sorted", 60, np.random.default_rng(1))
    K = clustered @ clustered.T
    assert K[np.arange(59), np.arange(1, 60)].mean() > 0.6  # neighbours are mostly of one cluster
    shuffled = universal_gap.design("clustered", 60, np.random.default_rng(1))
    assert (shuffled @ shuffled.T)[np.arange(59), np.arange(1, 60)].mean() < 0.4


def test_every_arrangement_is_a_permutation_and_the_greedy_paths_are_greedy():
    rng = np.random.default_rng(2)
    U = universal_gap.unit_rows(rng.normal(size=(40, 40)))
    K = np.abs(U @ U.T)
    for name in universal_gap.ARRANGEMENTS:
        path = universal_gap.arrangement(name, U, rng)
        assert sorted(path.tolist()) == list(range(40))
    near, far = (universal_gap.arrangement(name, U, rng) for name in ("near", "far"))
    assert K[near[:-1], near[1:]].mean() > 3 * K[far[:-1], far[1:]].mean()
    assert far[1] == np.where(np.arange(40) == 0, np.inf, K[0]).argmin()


def test_given_kinds_have_unit_rows_and_the_condition_tells_what_they_are():
    rng = np.random.default_rng(4)
    for kind in universal_gap.GIVEN:
        np.testing.assert_allclose((universal_gap.given(kind, 128, rng) ** 2).sum(axis=1), 1)
    orthonormal, doubled = np.eye(8), np.repeat(np.eye(8), 2, axis=0)
    assert universal_gap.condition(orthonormal) == (0, 0)
    assert universal_gap.condition(doubled) == (0, 1)


def test_random_reshuffle_by_epoch_matrices_is_that_of_the_simulator():
    U = universal_gap.given("signs", 16, np.random.default_rng(3))
    runs = [universal_gap.again(U, (1, 2), np.random.default_rng(seed)) for seed in range(64)]
    mean, error = np.mean(runs, axis=0), np.std(runs, axis=0, ddof=1) / 8
    curve = kaczmarz.simulate(U, "random_reshuffle", 2, 1.0, runs=200, rng=5, starts="all")
    for k, loss in enumerate(("test", "train")):
        spread = np.hypot(error[k], getattr(curve, f"{loss}_se")[1:])
        assert (np.abs(mean[k] - getattr(curve, loss)[1:]) < 4 * spread).all()
