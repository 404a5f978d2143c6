"""Signal and noise apart, in theory: linear in the noise, and what real orders do; who leads; refusals."""

import numpy as np
import pytest

from edgelaw import exact, kaczmarz
from edgelaw.exact import labels as noise
from edgelaw.orders import ORDERS


@pytest.fixture(scope="module")
def design():
    """96 unit rows in 48 dimensions with a spectrum that is not flat."""
    X = np.random.default_rng(4).standard_normal((96, 48)) * np.arange(1, 49) ** -0.25
    return X / np.linalg.norm(X, axis=1)[:, None]


def eigenvalues(X):
    return np.linalg.eigvalsh(X.T @ X)


def test_the_loss_is_linear_in_the_noise(design):
    values = eigenvalues(design)
    for order in ("iid", "random_reshuffle", "single_shuffle"):
        parts = noise.signal_and_noise(values, 96, [2, 6], 0.6, order)
        losses, errors = parts.at([0.0, 0.3])
        made = exact.probe_curve(order, noise.LabelledRows.isotropic(values, 96, 0.3), [2, 6], 0.6)
        assert losses[0, :, 1] == pytest.approx(made.distance[1:] / 48, rel=1e-5)
        assert losses[1, :, 1] == pytest.approx(made.train[1:] - 0.3, rel=1e-5)
        assert losses[..., 0] == pytest.approx(parts.signal)
        assert (errors < 1e-3 * losses).all()


@pytest.mark.parametrize("order", ORDERS)
def test_both_parts_are_those_of_real_orders(design, order):
    parts = noise.signal_and_noise(eigenvalues(design), 96, [4], 0.7, order)
    runs = kaczmarz.signal_and_noise(design, order, [4], 0.7, runs=150, rng=3)
    pairs = [
        (parts.signal[0, 0], runs.distance_signal),
        (parts.noise[0, 0], runs.distance_noise),
        (parts.signal[1, 0], runs.signal),
        (parts.noise[1, 0], runs.noise),
    ]
    for theory, sample in pairs[: 2 if order == "flip_flop" else 4]:
        error = sample.std(ddof=1) / np.sqrt(150)
        assert error < 0.03 * sample.mean()
        # the theory is for many dimensions: 48 of them are allowed 0.015
        assert abs(theory - sample.mean()) < 3 * error + 0.015 * sample.mean()


def test_the_training_loss_of_flip_flop_is_not_a_number(design):
    parts = noise.signal_and_noise(eigenvalues(design), 96, [2], 0.5, "flip_flop")
    assert np.isfinite(parts.signal[0]).all()
    assert np.isnan(parts.signal[1]).all()
    assert np.isnan(parts.noise[1]).all()


def test_a_lead_within_the_margin_or_the_errors_is_a_tie():
    losses = np.array([[1.0, 1.0, 1.0], [1.005, 1.2, 1.2], [np.nan, 3.0, 3.0]])
    errors = np.array([[0.0, 0.0, 0.15], [0.0, 0.0, 0.1], [0.0, 0.0, 0.0]])
    who, lead = noise.leader(losses, errors)
    assert who.tolist() == [-1, 0, -1]
    assert lead == pytest.approx([1.005, 1.2, 1.2])
    assert np.isnan(noise.leader([[-1.0], [2.0]])[1]).all()


@pytest.mark.parametrize(
    ("values", "rows", "level", "words"),
    [
        ([1.0, 2.0], 2, 0.1, "more than the 2 eigenvalues"),
        ([1.0, 0.0], 4, 0.1, "positive"),
        ([1.0, 2.0], 4, -0.1, "noise must be"),
    ],
)
def test_designs_without_room_for_noise_are_refused(values, rows, level, words):
    with pytest.raises(ValueError, match=words):
        noise.LabelledRows.isotropic(values, rows, level)
