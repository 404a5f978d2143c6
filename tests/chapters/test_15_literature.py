"""Chapter 15: its tables of floors and products, against its sentences and the library; its map, against itself."""

import numpy as np
import pytest
from outputs import numbers, prose, table

from edgelaw import data
from edgelaw.exact import labels as noise
from edgelaw.orders import ORDERS
from edgelaw.theory.regimes import orthogonal, products

CHAPTER = "15_literature"


@pytest.fixture(scope="module")
def lines():
    """Three lines in the plane at sixty degrees, one of them twice, as projections."""
    angles = np.deg2rad([0, 60, 60, 120])
    u = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return u[:, :, None] * u[:, None, :]


def test_one_step_of_the_recorded_map_comes_out_again():
    X = data.normalize_rows(np.random.default_rng(15).standard_normal((512, 128)))
    values = np.linalg.eigvalsh(X.T @ X)
    steps, recorded = noise.recorded_parts("gaussian 4", "distance", epochs=4)
    for order, kept in zip(ORDERS, recorded.signal[:, 20], strict=True):
        again = noise.signal_and_noise(values, 512, [4], steps[20], order)
        assert again.signal[0, 0] == pytest.approx(kept, rel=3e-3)


def test_parts_of_the_loss_that_are_printed_are_those_of_the_library():
    X = data.normalize_rows(np.random.default_rng(15).standard_normal((512, 128)))
    values = np.linalg.eigvalsh(X.T @ X)
    for order, name in zip(ORDERS, ("IID", "random reshuffle", "single shuffle", "flip-flop"), strict=True):
        parts = noise.signal_and_noise(values, 512, [4], 0.9, order)
        signal, rising = numbers(CHAPTER, rf"{name} (\S+) \+ s \* (\S+)")
        assert signal == pytest.approx(parts.signal[0, 0], rel=0.05)
        assert rising == round(float(parts.noise[0, 0]), 3)


def test_floors_along_one_direction_are_those_of_the_library():
    for step, *ratios in table(CHAPTER, "floor / IID's, 100 rows"):
        floors = np.array([orthogonal.floor(100, step, order) for order in ORDERS])
        assert ratios == pytest.approx(floors[1:] / floors[0], rel=0.05)
        if step < 0.5:  # there the memory is an epoch long or longer
            assert (np.diff(floors[[0, 2, 1, 3]]) < 0).all()


def test_with_noise_a_slow_axis_delays_shuffling_as_the_tables_say():
    rows = {row[0]: row[1:] for row in table(CHAPTER, "epochs   best step   reshuffle")}
    for epochs, pattern in (
        (
            (50, 1000),
            r"the best loss is (\S+) of IID's after 50 epochs and (\S+) of it after 1000 \| tight up",
        ),
        ((20, 100), r"the best loss is (\S+) times IID's after 20 epochs and (\S+) times after 100"),
    ):
        column = 1 if epochs == (50, 1000) else 2
        assert [rows[n][column] for n in epochs] == numbers(CHAPTER, pattern, prose)


def test_random_reshuffle_leads_on_structured_rows_at_every_printed_noise():
    """And by at least what the Summary says, which the ledger checks at all levels of noise."""
    (least,) = numbers(CHAPTER, r"ahead of every other order by at least the factor (\S+) on", prose)
    for budget in (4, 20):
        for loss, orders in (("distance", "four orders"), ("training loss", "without flip-flop")):
            head = rf"{loss}, {orders}, {budget} epochs; noise: 1e-06 1e-04 1e-02 1e\+00[^;]*?"
            for design in ("power law, 4d", "CIFAR-10, 4d", "Wikipedia, 4d"):
                leads = numbers(CHAPTER, head + design + r" R (\S+)" * 4)
                assert min(leads) > least


def test_norms_of_mean_products_are_those_of_the_library(lines):
    rows = table(CHAPTER, "norms of the means")
    for step, n, *norms in rows:
        assert norms == pytest.approx(products.mean_products(lines, step, int(n)).norms, rel=1e-6)
    first = {(row[0], row[1]): row[2] < row[3] for row in rows}
    assert first == {(0.01, 10): True, (0.1, 10): True, (0.5, 10): True, (0.5, 69): False, (0.8, 4): False}


def test_one_class_of_orders_is_slower_than_the_mean_epoch_at_every_step_of_the_exercise():
    for _, before, between, after in table(CHAPTER, "log radius of the mean epoch"):
        assert between > 0 > before
        assert before == after
