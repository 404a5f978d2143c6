"""The accuracy to expect of a probe: by hand, and beside trained ones."""

import json

import numpy as np
import pytest

from edgelaw import exact, shipped
from edgelaw.exact.iid import labels as iid
from edgelaw.exact.labels import LabelledRows
from edgelaw.exact.random_reshuffle import labels as random_reshuffle
from edgelaw_app import labels
from edgelaw_app.labels import simulation


@pytest.fixture(scope="module", params=["cifar10", "wikipedia"])
def embedded(request):
    """Six hundred rows of a shipped set, projected onto 64 dimensions, with their classes."""
    loaded, rng = shipped.load(request.param), np.random.default_rng(0)
    X = loaded.features[:600] @ rng.standard_normal((loaded.features.shape[1], 64)) / 8
    return X.astype(np.float64), loaded.labels[:600]


@pytest.mark.parametrize("order", ["iid", "random_reshuffle"])
def test_trained_probes_are_as_accurate_as_the_mean_weights(embedded, order):
    """Sixteen runs at the predicted lr, 150 held-out rows: within 3 standard errors and 2 percentage points."""
    probe = labels.forecast(*embedded, epochs=8, orders=[order], held_out=0.25)
    X, T = probe.data.held
    places = (T + probe.data.target_mean).argmax(axis=1)
    trained = []
    for seed in range(16):
        rng = np.random.default_rng(seed)
        W = simulation.simulate(probe.data, order, probe.rates, 1, 0.0, 1, rng).weights
        trained.append(((X @ W + probe.data.target_mean).argmax(axis=1) == places).mean())
    error = np.std(trained, ddof=1) / 4
    assert error < 0.01
    assert abs(np.mean(trained) - probe.accuracy.held_out) < 3 * error + 0.02
    assert probe.accuracy.held_out > probe.accuracy.largest_class + 0.1


def test_a_margin_is_counted_by_hand():
    """Two orthogonal features that are the classes: IID shrinks every error by (1 − step/2)² per two draws."""
    X = np.repeat(np.eye(2), 10, axis=0)
    y = np.repeat(["a", "b"], 10)
    probe = labels.forecast(
        X, y, epochs=1, orders=["iid"], lr=0.1, center=False, intercept=False, held_out=(X[::10], y[::10])
    )
    learnt = 1 - (1 - 0.1 / 2) ** 20
    assert probe.accuracy.held_out == 1.0
    assert probe.accuracy.margin == pytest.approx(learnt, rel=1e-12)
    assert probe.accuracy.largest_class == 0.5
    assert "classify 100.0 % of the held-out rows correctly" in probe.sentences["accuracy"]
    assert json.loads(json.dumps(probe.to_dict()))["accuracy"]["margin"] == probe.accuracy.margin


@pytest.mark.parametrize(
    "options", [{"held_out": None}, {"ridge": 0.01}, {"y": "numbers"}], ids=["no rows", "ridge", "numbers"]
)
def test_nothing_is_said_of_accuracy_without_classes_or_rows_to_judge_them(options):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 5))
    y = X[:, 0] if options.pop("y", "") else (X[:, 0] > 0).astype(int)
    probe = labels.forecast(X, y, epochs=2, orders=["iid"], lr=0.01, **options)
    assert probe.accuracy is None
    assert probe.sentences["accuracy"] == ""


@pytest.mark.parametrize("batch", [1, 7])
def test_mean_errors_are_those_of_the_curves(batch):
    """Weights without variance would have the loss of the mean: what the curves add to it is not negative."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((90, 30))
    X /= np.linalg.norm(X, axis=1)[:, None]
    T = X @ rng.standard_normal((30, 2)) + 0.3 * rng.standard_normal((90, 2))
    rows = LabelledRows.of(X, T, (X[:40], T[:40]))
    steps = np.array([0.4, 0.2, 0.2, 0.1])
    for order, room in (("iid", iid), ("random_reshuffle", random_reshuffle)):
        left = room.mean_error(rows, steps, batch)
        assert left.min() > 0
        assert left.max() < 1
        mean = float(rows.held_out.of_mean(1 - left))
        scores = rows.held_out.scores(1 - left)
        assert ((scores - T[:40]) ** 2).sum() / 40 == pytest.approx(mean, rel=1e-9)
        assert mean <= exact.probe_curve(order, rows, 4, steps, batch).held_out[-1] * (1 + 1e-9)
