"""The first epoch tells rows that the theory describes from those that it gets wrong."""

import numpy as np

from edgelaw import data
from edgelaw.forecast import diagnostic
from edgelaw.forecast.rows import equal_norm_design
from edgelaw.predict import predict


def alarm(X, seed):
    design, _ = equal_norm_design(X)
    return not diagnostic.diagnose(design, np.random.default_rng(seed)).fits


def test_the_first_epoch_raises_no_false_alarm_on_rows_of_the_kind_assumed(embeddings):
    alarms = [
        alarm(data.gaussian(m, d, rng=1000 * seed + m + d), seed)
        for seed in range(3)
        for m, d in ((24, 24), (64, 64), (48, 96), (96, 48))
    ]
    alarms += [
        alarm(embeddings(name, 96, 96, seed), seed) for name in ("cifar10", "wikipedia") for seed in (0, 1)
    ]
    assert sum(alarms) == 0  # of 16


def test_the_first_epoch_notices_every_kind_of_row_that_the_theory_gets_wrong_by_ten_per_cent():
    shipped = data.sweep("what_breaks")
    excess = shipped["measured"][:, 0, 2, 1, 0] / shipped["predicted"][:, 0, 2, 1, 0] - 1
    wrong = np.abs(shipped["measured"][:, 0, :, 1] / shipped["predicted"][:, 0, :, 1] - 1).max(axis=(1, 2))
    flagged = np.abs(excess - diagnostic.BIAS / 128) > diagnostic.ALLOWED + 0.3 / 128
    assert flagged[wrong > 0.1].all()
    assert not flagged[wrong < 0.04].any()
    assert flagged.any()


def test_rows_in_pairs_are_simulated_by_default_and_not_if_forbidden():
    X = data.gaussian(48, 48, rng=0)
    X[24:] = X[:24] + 0.02 * data.gaussian(24, 48, rng=1)
    prediction = predict(X, epochs=4, orders=["single_shuffle"], search=False)
    forecast = prediction.forecasts["single_shuffle"]
    assert not prediction.diagnostic.fits
    assert prediction.diagnostic.excess < -0.15
    assert prediction.warnings[0].code == "not_haar"
    assert forecast.how == "simulated"
    assert forecast.why.startswith("The first epoch says that eigenvalues are not enough here. Means over")
    assert forecast.curve is forecast.simulated
    assert abs(forecast.discrepancy["train"]["worst"]) > 0.1
    forbidden = predict(X, epochs=4, orders=["single_shuffle"], search=False, simulate=False)
    assert forbidden.forecasts["single_shuffle"].how == "exact"


def test_where_the_first_epoch_cannot_be_predicted_the_theory_is_not_trusted():
    design, _ = equal_norm_design(data.gaussian(12, 30, rng=0), center=False)  # twelve positive eigenvalues
    diagnosis = diagnostic.diagnose(design, np.random.default_rng(0))
    assert not diagnosis.fits
    assert "12 positive eigenvalues" in diagnosis.text
