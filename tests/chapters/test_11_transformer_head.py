"""Chapter 11: what it prints and says of a Transformer's head, from the recorded spectra, the library and by hand."""

import re

import numpy as np
import pytest
from outputs import numbers, prose, table, text

from edgelaw import exact, shipped, spectrum
from edgelaw.theory import gradient_descent, regimes

VARIANTS = (
    ("middle", "gap"),
    ("top", "gap"),
    ("middle", "law"),
    ("top", "law"),
)  # as the chapter prints them


@pytest.fixture(scope="module")
def lam():
    """The eigenvalues of the shipped model's features."""
    with np.load(shipped.folder() / "transformer_runs.npz", allow_pickle=False) as runs:
        return runs["frozen_spectra"][0, 0].astype(float)


def edge(lam, quantile, ranks):
    """The fitted edge with ranks in the middle of the steps or at their top."""
    return spectrum.fit_shifted_edge(lam, quantile, 0.5 if ranks == "middle" else 0.0)


def predicted_over_exact(lam, quantile, ranks, kind):
    """Both losses' ratios from the start of the window until the error has fallen to a millionth."""
    fit, step = edge(lam, quantile, ranks), 1 / lam[-1]
    n = np.unique(np.geomspace(regimes.window_start(fit, step), 7300, 120).astype(int))
    if kind == "gap":
        law = regimes.gap_and_atom(n, fit, lam[0], 1 / len(lam), step)
    else:
        law = [
            asymptotic(n, fit, step)
            for asymptotic in (gradient_descent.asymptotic_test, gradient_descent.asymptotic_train)
        ]
    truth = gradient_descent.curve(lam, n, step)
    return np.array([law[0] / truth.test[1:], law[1] / truth.train[1:]])


def test_two_contexts_have_the_errors_found_by_hand():
    assert numbers("11", r"mean squared error: (\S+), (\S+), (\S+)\n") == pytest.approx(
        [1, 9 / 32, 81 / 512], abs=5.1e-6
    )
    assert numbers("11", r"minimum (\S+); above it (\S+), (\S+)\n") == pytest.approx(
        [3 / 8, 9 / 128, 81 / 2048], abs=5.1e-6
    )


def test_fits_over_four_windows_are_the_printed_ones_and_leave_the_exponent_open(lam):
    rows = re.findall(r"^(middle|top) +(0\.\d\d) +(\S+) +(\S+) +\S+ +\S+ +(\d+)$", text("11"), re.MULTILINE)
    assert len(rows) == 8
    betas, places = {"middle": [], "top": []}, []
    for ranks, quantile, *printed in rows:
        fit = edge(lam, float(quantile), ranks)
        found = fit.lambda_0, fit.beta, regimes.window_start(fit, 1 / lam[-1])
        for value, stated, digits in zip(found, printed, (4, 2, 0), strict=True):
            assert value == pytest.approx(float(stated), abs=0.51 * 10**-digits)
        betas[ranks].append(fit.beta)
        places += [fit.lambda_0] * (ranks == "middle")
    place, low, high, top = numbers(
        "11",
        r"known to (\d) %. .* between ([\d.]+) and ([\d.]+) depending on the window, and reaches ([\d.]+)",
        prose,
    )
    assert place - 1 < 100 * np.ptp(places) / min(places) < place
    assert [round(min(betas["middle"]), 2), round(max(betas["middle"]), 2)] == [low, high]
    assert round(max(betas["top"]), 2) == top


def test_a_random_start_scatters_about_the_equal_weights_and_one_like_the_features_does_not():
    spread, away = numbers(
        "11",
        r"over starts: at most (\d+) %\nlargest distance from the equal-weight sum: (\S+) of them",
    )
    assert spread < 20
    assert away < 4
    far, likeness = numbers(
        "11",
        r"largest distance: (\d+) standard deviations\ncosine of the noise and the trained embeddings: (\S+)\n",
    )
    assert far > 8
    assert likeness > 0.5


@pytest.mark.parametrize("quantile", ["0.25", "0.10"])
def test_predictions_are_as_far_off_as_is_printed(lam, quantile):
    number = r"([\d.]+) to ([\d.]+)"
    rows = re.findall(rf"^{quantile} \D+? {number} +{number}$", text("11"), re.MULTILINE)
    assert len(rows) == 4
    for (ranks, kind), row in zip(VARIANTS, rows, strict=True):
        ratio = predicted_over_exact(lam, float(quantile), ranks, kind)
        found = [end for each in ratio for end in (each.min(), each.max())]
        np.testing.assert_allclose(found, [float(x) for x in row], atol=5.1e-3)


def test_the_correction_is_an_even_exchange_with_ranks_at_the_top_only(lam):
    for ranks, place in (("middle", "in the middle"), ("top", "at the top")):
        removed = len(lam) * edge(lam, 0.25, ranks).cdf(lam[0])
        (printed,) = numbers("11", rf"ranks {place} +removed (\S+) eigenvalues, put back 1\n")
        assert removed == pytest.approx(printed, abs=5.1e-3)
        assert removed == pytest.approx(0.5 if ranks == "middle" else 1, abs=0.1)


def test_the_slope_never_stops_rising_and_the_exponential_takes_over_at_once(lam):
    step, fit = 1 / lam[-1], edge(lam, 0.25, "middle")
    n = np.unique(np.geomspace(1, 10_000, 300).astype(int))
    rate = -2 * n[:, None] * np.log1p(-step * lam[:-1])
    slope = (rate * np.exp(-rate)).sum(axis=1) / np.exp(-rate).sum(axis=1)
    assert (np.diff(slope) > 0).all()
    start, takeover = regimes.window_start(fit, step), fit.beta / (2 * step * fit.lambda_0)
    assert numbers(
        "11", r"the law may be used from step +(\d+)\nits exponential takes over at step (\d+)\n"
    ) == [
        round(start),
        round(takeover),
    ]
    width, needed = numbers("11", r"edge width / distance: (\S+)\nneeded for a decade of power law: (\d+)\n")
    assert (fit.window[1] - fit.lambda_0) / fit.lambda_0 == pytest.approx(width, abs=0.051)
    assert 10 * 2 * step * start * (fit.window[1] - fit.lambda_0) / fit.beta == pytest.approx(
        needed, abs=0.51
    )


def test_runs_of_all_orders_on_the_features_agree_with_theory():
    rows = re.findall(
        r"^(\w[\w -]+?) +(\d\.\d{3}e\S+) +(\S+) ± (\S+) +(\d\.\d{3}e\S+) +(\S+) ± (\S+)$",
        text("11"),
        re.MULTILINE,
    )
    theory = {name: (float(early), float(full)) for name, early, _, _, full, *_ in rows}
    assert list(theory) == ["IID", "random reshuffle", "single shuffle", "flip-flop"]
    for _, _, ratio, se, _, other, other_se in rows:
        assert abs(float(ratio) - 1) < 0.015 + 4 * float(se)
        assert abs(float(other) - 1) < 0.015 + 4 * float(other_se)
    assert min(theory, key=lambda name: theory[name][0]) == "single shuffle"
    percent = numbers("11", r"single shuffle is first, by ([\d.]+) % over random reshuffle", prose)
    early, full = zip(*theory.values(), strict=True)
    assert [round(100 * (early[1] / early[2] - 1), 1)] == percent
    assert numbers("11", r"At the full step IID is ([\d.]+) % above", prose) == [
        round(100 * (full[0] / full[2] - 1), 1)
    ]
    gain, ratio, se = numbers(
        "11",
        r"theory, step 0.1: (\S+) after 4 epochs, \S+ after 8\nin the runs, after 4 epochs: (\S+) ± (\S+)\n",
    )
    assert abs(ratio - gain) < 4 * se


def test_at_the_full_step_random_reshuffle_leads_after_two_epochs(lam):
    after = {
        order: exact.curve(order, lam, 2, 1.0, 128.0).test[-1]
        for order in ("iid", "random_reshuffle", "single_shuffle")
    }
    assert min(after, key=after.get) == "random_reshuffle"
    (percent,) = numbers("11", r"and IID is (\d+) % above it after two epochs", prose)
    assert round(100 * (after["iid"] / after["random_reshuffle"] - 1)) == percent


def test_targets_of_the_text_leave_shuffled_orders_at_the_shares_that_the_text_says():
    rows = re.findall(
        r"^(\w[\w -]+), (?:run|exact) +(\S+) ± (\S+) +(\S+) ± (\S+) +(\S+)$", text("11"), re.MULTILINE
    )
    found = {name: [float(x) for x in row] for name, *row in rows}
    assert list(found) == ["random reshuffle", "single shuffle", "flip-flop"]
    errors, residuals, times = (sorted(row[k] for row in found.values()) for k in (0, 2, 4))
    low, high, *residual = numbers(
        "11",
        r"parameter error (\d+) to (\d+) times smaller than IID's, .* a residual of ([\d.]+) to ([\d.]+) of",
        prose,
    )
    assert [round(times[0]), round(times[-1])] == [low, high]
    assert [residuals[0], residuals[-1]] == residual
    assert errors[-1] == found["single shuffle"][0] < 0.2
    measured, law = numbers("11", r"IID's residual floor: (\S+), by w/\(2 - w\) times the minimum: (\S+)\n")
    assert measured == law


def test_training_moves_the_edge_by_factors_and_the_exponent_by_less_than_a_fifth():
    (change,) = numbers("11", r"beta moves by at most (\S+) on average over seeds\n")
    (limit,) = numbers(
        "11", r"averaged over seeds, stays within ([\d.]+) of what it was before training", prose
    )
    assert change < limit
    least, _ = numbers("11", r"lambda_0 falls by (\d+) to (\d+) times in 25 steps\n")
    assert least > 4
    (apart,) = numbers("11", r"depth 1 and depth 4: beta (\S+) standard errors apart\n")
    assert apart < 3


def test_the_noise_of_batches_accounts_for_what_separates_sgd_from_the_theorem():
    ratio, error, low, high = numbers(
        "11", r"over the noise: (\S+) ± (\S+) on average, (\S+) to (\S+) at single steps\n"
    )
    assert abs(ratio - 1) < 4 * error
    assert 0.6 < low < high < 1.7
    for step, *columns in table("11", "SGD - theorem   by the noise"):
        excess, error, noise, *_ = columns
        assert abs(excess - noise) < 4 * error, step


def test_the_body_moves_the_minimum_and_hardly_the_edge():
    (gap,) = numbers("11", r"largest difference of the two distances: (\S+) / 1000\n")
    assert gap < 0.2
    assert r"within $2 \times 10^{-4}$ of where the frozen run is" in prose("11")
    place, _ = numbers("11", r"lambda_0 has moved to (\S+) ± (\S+) of itself,")
    (fall,) = numbers("11", r"In 2048 steps \$\\lambda_0\$ falls by ([\d.]+) %", prose)
    assert 100 * (1 - place) == pytest.approx(fall, abs=0.051)
    change, _ = numbers("11", r"of itself, beta by (\S+) ± (\S+)\n")
    assert abs(change) < 0.02
    *_, lowest, _ = table("11", "SGD - theorem   by the noise")[-1]
    assert lowest < -10


def test_features_without_their_mean_have_a_null_direction_that_the_residual_does_not_see():
    X = np.random.default_rng(1).standard_normal((400, 16)) * np.arange(1, 17) ** -0.5
    X -= X.mean(axis=1, keepdims=True)
    X *= np.sqrt(16 / (X**2).sum(axis=1, keepdims=True))
    values = spectrum.gram_eigenvalues(X)
    assert (values == 0).sum() == 1
    curve = gradient_descent.curve(values, [20_000], 1 / values[-1])
    assert curve.test[-1] == pytest.approx(1 / 16, rel=1e-9)
    assert curve.train[-1] < 1e-12
    assert numbers("11", r"zero eigenvalues: (\d+), edge of the others") == [1]
    assert numbers("11", r"d times the parameter error after 20000 steps: (\S+)\n") == [1]


def test_a_small_sample_puts_the_edge_too_low_by_a_factor_between_the_two_derived():
    for size in (1024, 4096):
        flat, factor, alone = numbers("11", rf"\n{size} features: (\S+) < (\S+) < (\S+)\n")
        assert flat == pytest.approx((1 - np.sqrt(128 / size)) ** 2, abs=5.1e-3)
        assert alone == pytest.approx(1 - 128 / size, abs=5.1e-3)
        assert flat < factor < alone
    (largest,) = numbers("11", r"65536 features: lambda_0 = (\S+), beta")
    (chapter,) = numbers("11", r"\nlambda_0 = (\S+), beta = \S+, Q = \S+\n")
    assert largest == pytest.approx(chapter, rel=0.05)
