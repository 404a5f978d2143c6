"""Eigenvalues of designs, fits of their left edge with its error, and the laws they are compared with."""

import mpmath
import numpy as np
import pytest
import scipy.integrate
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from edgelaw import data
from edgelaw.spectrum import (
    EdgeFit,
    MarchenkoPastur,
    edge_law,
    effective_rank,
    eigenvalues_repel,
    fit_edge,
    fit_edge_laplace,
    fit_shifted_edge,
    general_position,
    gram_eigenvalues,
    quantile_ratio,
    square_edge,
)

ASPECTS = [0.3, 0.9, 0.999, 1.0, 1.001, 1.5, 4.0]


def by_gram(X):
    """The eigenvalues by the faster route, where the smallest is far above its resolution."""
    return gram_eigenvalues(X, method="gram")


# ---------------------------------------------------------------------------------------------- eigenvalues


def test_eigenvalues_of_a_two_by_two_design_by_hand():
    # XᵀX/2 = [[5, 4], [4, 5]]/2 has eigenvalues 1/2 and 9/2.
    assert gram_eigenvalues([[2.0, 1.0], [1.0, 2.0]]) == pytest.approx([0.5, 4.5], rel=1e-14)


@pytest.mark.parametrize("method", ["svd", "gram"])
@pytest.mark.parametrize("shape", [(40, 17), (17, 17), (9, 17)])
def test_both_routes_agree_with_the_dense_gram_matrix(shape, method):
    X = data.gaussian(*shape, rng=7)
    values = gram_eigenvalues(X, method=method)
    assert values == pytest.approx(np.linalg.eigvalsh(X.T @ X / shape[0]), rel=1e-9, abs=1e-13)
    assert values.shape == (shape[1],)
    assert (np.diff(values) >= 0).all()


def test_the_singular_value_route_resolves_what_the_gram_route_cannot():
    X = data.with_spectrum([1e-22, 1e-8, 1.0, 2.0], rows=6, rng=0)
    assert gram_eigenvalues(X, method="svd")[0] == pytest.approx(1e-22, rel=1e-3)
    assert gram_eigenvalues(X, method="gram")[0] == 0.0


def test_what_cannot_be_told_from_zero_is_exactly_zero():
    X = data.gaussian(30, 30, rng=0)
    for method in ("svd", "gram"):
        values = gram_eigenvalues(X - X.mean(axis=0), method=method)
        assert values[0] == 0.0
        assert values[1] > 1e-6
        assert (gram_eigenvalues(X[:12], method=method) == 0).sum() == 18


def test_large_designs_take_the_gram_route_on_their_own(monkeypatch):
    X = data.gaussian(20, 6, rng=0)
    expected = gram_eigenvalues(X)
    monkeypatch.setattr("edgelaw.spectrum._SVD_LIMIT", 10)
    monkeypatch.setattr("scipy.linalg.svdvals", lambda *_: pytest.fail("singular values of a large design"))
    assert gram_eigenvalues(X) == pytest.approx(expected, rel=1e-10)


def test_a_memory_map_is_read_in_blocks_and_gives_the_same_eigenvalues(tmp_path):
    X = data.gaussian(50, 8, rng=0).astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert gram_eigenvalues(mapped, method="gram") == pytest.approx(gram_eigenvalues(X), rel=1e-6)
    X[31, 2] = np.nan
    np.save(tmp_path / "bad.npy", X)
    with pytest.raises(ValueError, match="finite"):
        gram_eigenvalues(np.load(tmp_path / "bad.npy", mmap_mode="r"), method="gram")


@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=7),
        elements=st.floats(-100, 100, allow_subnormal=False),
    )
)
def test_eigenvalues_sum_to_the_mean_square_row_norm_and_are_never_negative(X):
    values = gram_eigenvalues(X)
    assert (values >= 0).all()
    assert values.sum() == pytest.approx((X**2).sum() / len(X), rel=1e-9, abs=1e-30)


# ------------------------------------------------------------------------------------------- the edge's fit


@given(st.floats(0.05, 3), st.floats(0.05, 20), st.integers(100, 600))
def test_an_exact_power_law_is_recovered_whatever_its_exponent_and_constant(beta, Q, d):
    fit = fit_edge((np.arange(1, d + 1) / d / Q) ** (1 / beta))
    assert fit.beta == pytest.approx(beta, rel=1e-9)
    assert fit.Q == pytest.approx(Q, rel=1e-8)
    assert fit.residual < 1e-9


def test_the_fit_is_the_papers_weighted_least_squares_on_ranks_six_to_fifty_one():
    values = gram_eigenvalues(data.gaussian(512, 512, rng=4))
    ranks = np.arange(6, 52)
    # numpy squares its weights, so weights ∝ rank are square roots here
    beta, log_Q = np.polyfit(np.log(values[5:51]), np.log(ranks / 512), 1, w=np.sqrt(ranks))
    fit = fit_edge(np.random.default_rng(0).permutation(values))
    assert (fit.beta, fit.Q) == pytest.approx((beta, np.exp(log_Q)), rel=1e-10)
    assert fit.count == 46
    assert fit.window == (values[5], values[50])
    unweighted = np.polyfit(np.log(values[5:51]), np.log(ranks / 512), 1)[0]
    assert abs(unweighted - fit.beta) > 1e-4  # the weights matter, so the comparison above means something


def test_scaling_the_eigenvalues_changes_the_constant_and_not_the_exponent():
    values = gram_eigenvalues(data.gaussian(200, 200, rng=1))
    one, ten = fit_edge(values), fit_edge(10 * values)
    assert ten.beta == pytest.approx(one.beta, rel=1e-10)
    assert ten.Q == pytest.approx(one.Q * 10**-one.beta, rel=1e-10)


def test_gaussian_designs_fit_close_to_one_half_and_below_it():
    """The paper prints 0.50; over 40 draws at d = 512 the procedure gives 0.482 ± 0.002 (one standard error)."""
    betas = [fit_edge(by_gram(data.gaussian(512, 512, rng=seed))).beta for seed in range(40)]
    error = np.std(betas, ddof=1) / np.sqrt(len(betas))
    assert error < 0.003
    assert 0.47 < np.mean(betas) < 0.5 - 4 * error


def test_the_zero_of_a_centred_design_is_the_papers_rank_one_unless_it_is_dropped():
    X = data.gaussian(512, 512, rng=0)
    values = gram_eigenvalues(data.normalize_rows(X - X.mean(axis=0)))
    assert (values == 0).sum() == 1
    counted, dropped = fit_edge(values), fit_edge(values, zeros="drop")
    assert counted.null == dropped.null == 1
    ranks = np.arange(6, 52)
    weights = np.sqrt(ranks)
    by_hand = np.polyfit(np.log(values[5:51]), np.log(ranks / 512), 1, w=weights)[0]
    assert counted.beta == pytest.approx(by_hand, rel=1e-10)
    by_hand = np.polyfit(np.log(values[6:52]), np.log(ranks / 512), 1, w=weights)[0]
    assert dropped.beta == pytest.approx(by_hand, rel=1e-10)


def test_counting_the_zero_of_centring_biases_the_exponent_by_minus_0_024():
    moved, kept = [], []
    for seed in range(16):
        X = data.gaussian(512, 512, rng=seed)
        values = by_gram(data.normalize_rows(X - X.mean(axis=0)))
        kept.append(fit_edge(values, zeros="drop").beta)
        moved.append(fit_edge(values).beta - kept[-1])
    error = np.std(moved, ddof=1) / np.sqrt(len(moved))
    assert error < 0.001
    assert np.mean(moved) == pytest.approx(-0.024, abs=4 * error + 5e-4)
    assert np.mean(kept) == pytest.approx(0.5, abs=0.015)


@pytest.mark.parametrize("name", ["cifar10", "wikipedia"])
@pytest.mark.parametrize("method", ["svd", "gram"])
def test_the_null_direction_of_preprocessed_embeddings_meets_no_logarithm(name, method):
    made = data.preprocess(data.load(name).features, 512, 512, rng=3)
    values = gram_eigenvalues(made.X, method=method)
    assert (values == 0).sum() == made.null == 1
    with np.errstate(all="raise"):
        fit = fit_edge(values)
    assert fit.null == 1
    assert 0.3 < fit.beta < 0.6


def test_the_law_of_a_fit_is_zero_left_of_its_edge():
    assert EdgeFit(0.5, 2.0, lambda_0=1.0).cdf([0.5, 1.0, 2.0, 5.0]).tolist() == [0.0, 0.0, 2.0, 4.0]


@pytest.mark.parametrize("aspect", [0.5, 1.0, 2.0])
def test_the_laplace_transform_of_an_edge_is_the_limit_of_the_true_one(aspect):
    law = MarchenkoPastur(aspect)
    left, right = law.support

    def exact(t):  # in √(λ − λ₋), where nothing is singular
        value, _ = scipy.integrate.quad(
            lambda x: 2 * x * law.pdf(left + x * x) * np.exp(-t * x * x), 0, np.sqrt(right - left), limit=500
        )
        return value * np.exp(-t * left)

    errors = [law.edge.laplace(t) / exact(t) - 1 for t in (500.0, 2000.0)]
    assert abs(errors[1]) < 0.01
    assert errors[1] == pytest.approx(errors[0] / 4, rel=0.1)  # the first correction is of order 1/t


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: fit_edge(np.ones(50)), r"leaves 0 to fit; at least 3"),
        (lambda: fit_edge(np.ones(500)), "all equal 1"),
        (
            lambda: fit_edge(np.r_[np.zeros(490), np.arange(1, 11)]),
            "490 eigenvalues are zero, more than the 5",
        ),
        (lambda: fit_edge(np.r_[np.zeros(490), np.arange(1, 11)], zeros="drop"), "of 10 eigenvalues"),
        (lambda: fit_edge(np.arange(500), zeros="keep"), "zeros must be one of 'count', 'drop'"),
        (lambda: fit_edge(np.arange(500), quantile=0.0), "quantile must be .* strictly between 0 and 1"),
        (lambda: fit_edge(np.arange(500), quantile=1.0), "quantile must be .* strictly between 0 and 1"),
        (lambda: fit_edge(np.arange(500), quantile=np.nan), "quantile must be"),
        (lambda: fit_edge(np.arange(500), skip=-1), "skip must be an integer of at least 0"),
        (lambda: fit_edge(np.arange(500) - 1.0), "non-negative"),
        (lambda: fit_edge([1.0, np.nan]), "finite"),
        (lambda: fit_edge([1.0]), "at least 2 values"),
        (lambda: fit_edge(np.ones((3, 3))), "1 dimension"),
        (lambda: fit_edge([1j, 2.0]), "real numbers"),
        (lambda: effective_rank(np.zeros(4)), "at least one positive"),
        (lambda: effective_rank([1.0, -1.0]), "non-negative"),
        (lambda: gram_eigenvalues([[1.0, np.nan], [0.0, 1.0]]), "finite"),
        (lambda: gram_eigenvalues([[1.0, 2.0]]), "at least 2 rows"),
        (lambda: gram_eigenvalues(np.array([["a", "b"], ["c", "d"]], dtype=object)), "real numbers"),
        (lambda: gram_eigenvalues(np.eye(3), method="qr"), "method must be one of 'auto', 'svd', 'gram'"),
        (lambda: MarchenkoPastur(0.0), "aspect must be a finite number greater than 0"),
        (lambda: MarchenkoPastur(1.0).quantile(1.1), "probability between 0 and 1"),
        (lambda: MarchenkoPastur(1.0).quantile(np.nan), "probability between 0 and 1"),
        (lambda: MarchenkoPastur(1.0).cdf(np.nan), "none of them NaN"),
        (lambda: MarchenkoPastur(1.0).pdf(1j), "real numbers"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, complaint):
    with pytest.raises(ValueError, match=complaint) as error:
        call()
    assert "\n" not in str(error.value)
    assert str(error.value).endswith(".")


# ------------------------------------------------------------------------------------------ two other fits


@pytest.mark.parametrize("beta", [0.3, 0.5, 1.0, 2.0])
def test_the_laplace_fit_recovers_an_exact_power_law(beta):
    d, Q = 40000, 0.7
    fit = fit_edge_laplace(((np.arange(d) + 0.5) / d / Q) ** (1 / beta), quantile=0.1)
    # the sum stops at the largest eigenvalue, tλ = 3·10^(1/β): what is missing is 0.3 % at β = 2
    assert fit.beta == pytest.approx(beta, rel=1e-3 if beta <= 1 else 4e-3)
    assert fit.Q == pytest.approx(Q, rel=5e-3 if beta <= 1 else 0.05)
    assert fit.residual < 0.02
    assert fit.count == 4000


def test_the_laplace_fit_is_the_slope_of_the_loss_by_finite_differences():
    values = gram_eigenvalues(data.gaussian(300, 300, rng=2))
    t = 3 / values[29]
    around = np.log([np.exp(-t * (1 + h) * values).sum() for h in (1e-4, -1e-4)])
    assert fit_edge_laplace(values).beta == pytest.approx(-(around[0] - around[1]) / 2e-4, rel=1e-6)


def test_the_laplace_fit_beats_the_papers_on_gaussian_and_on_independent_eigenvalues():
    """Root mean square errors of β over draws: their ratio is known to about 10 %, and is 0.6 to 0.93 or less."""
    rng = np.random.default_rng(0)
    draws = {
        "gaussian": [by_gram(data.gaussian(256, 256, rng)) for _ in range(60)],
        "centred": [by_gram((X := data.gaussian(200, 200, rng)) - X.mean(axis=0)) for _ in range(60)],
        "independent": list(rng.random((600, 256)) ** 2),
    }
    for name, most in [("gaussian", 0.75), ("centred", 0.95), ("independent", 0.98)]:
        new = np.array([fit_edge_laplace(values).beta for values in draws[name]]) - 0.5
        old = np.array([fit_edge(values, zeros="drop").beta for values in draws[name]]) - 0.5
        assert np.sqrt(np.mean(new**2)) < most * np.sqrt(np.mean(old**2)), name


@given(st.floats(0.0, 1.0), st.floats(0.4, 2.5), st.floats(0.1, 5))
def test_the_shifted_fit_recovers_an_exact_shifted_law(lambda_0, beta, Q):
    values = lambda_0 + ((np.arange(400) + 0.5) / 400 / Q) ** (1 / beta)
    fit = fit_shifted_edge(values)
    assert fit.beta == pytest.approx(beta, rel=2e-3)
    assert fit.Q == pytest.approx(Q, rel=2e-2)
    assert fit.lambda_0 == pytest.approx(lambda_0, abs=2e-3 * (values[39] - lambda_0))


def test_the_shifted_fit_of_a_soft_edge_depends_on_the_window():
    """β = 3/2 at the edge of m = 2d, but a tenth of the spectrum is too wide to see it, however large d."""
    law = MarchenkoPastur(2.0)
    left = law.quantile((np.arange(301) + 0.5) / 3000)
    exact = np.append(left, np.full(2699, law.support[1]))  # what lies beyond the window is only counted
    wide, narrow = fit_shifted_edge(exact, 0.1), fit_shifted_edge(exact, 0.003)
    assert 1.15 < wide.beta < 1.3
    assert wide.beta + 0.15 < narrow.beta < 1.5
    assert narrow.lambda_0 == pytest.approx(MarchenkoPastur(2.0).edge.lambda_0, rel=1e-3)


def test_both_fits_leave_zeros_out():
    positive = ((np.arange(90) + 0.5) / 100) ** 2
    values = np.r_[np.zeros(10), positive]
    for fit in (fit_edge_laplace(values, 0.3), fit_shifted_edge(values, 0.3)):
        assert fit.null == 10
        assert fit.count == 27
        assert fit.beta == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("fit", [fit_edge_laplace, fit_shifted_edge])
def test_too_few_or_equal_eigenvalues_are_refused(fit):
    with pytest.raises(ValueError, match=r"leaves 3 to fit; at least 4 are needed"):
        fit(np.arange(1.0, 31.0))
    with pytest.raises(ValueError, match="all equal 1"):
        fit(np.ones(100))


# --------------------------------------------------------------------------------- the error of the exponent


def test_the_error_of_the_edge_is_calibrated_for_repelling_and_for_independent_eigenvalues():
    gaussian = [edge_law(gram_eigenvalues(data.gaussian(160, 160, rng=s))) for s in range(30)]
    scores = [(law.fit.beta - 0.5) / law.error for law in gaussian]
    assert 0.6 < np.sqrt(np.mean(np.square(scores))) < 1.5
    rng = np.random.default_rng(1)
    independent = [edge_law(rng.random(400) ** 2) for _ in range(100)]
    scores = [(law.fit.beta - 0.5) / law.error for law in independent]
    assert 0.7 < np.sqrt(np.mean(np.square(scores))) < 1.5
    assert np.median([law.error for law in independent]) > 1.5 * np.median([law.error for law in gaussian])


def test_the_edge_is_the_laplace_fit_and_zeros_change_neither_it_nor_its_error():
    values = gram_eigenvalues(data.gaussian(200, 200, rng=1))
    law, padded = edge_law(values[::-1]), edge_law(np.append(np.zeros(20), values))
    assert law.edge == fit_edge_laplace(values)
    assert (padded.edge.beta, padded.edge.null) == (pytest.approx(law.edge.beta, rel=1e-12), 20)
    assert padded.edge_error == pytest.approx(law.edge_error, rel=1e-9)


def test_where_no_edge_can_be_fitted_there_is_no_error_either_and_bad_input_is_still_refused():
    for values in (np.ones(200), np.arange(1.0, 31.0)):
        law = edge_law(values)
        assert (law.edge, law.edge_error) == (None, None)
    with pytest.raises(ValueError, match="finite"):
        edge_law([1.0, np.nan])


def test_a_bend_that_only_the_ranks_see_is_a_lower_bound_of_the_error():
    values = (
        (np.arange(400) + 0.5) / 400
    ) ** 2  # exact quantiles: neither formula would give an error of zero
    values[:20] *= np.linspace(0.2, 1, 20)
    law = edge_law(values)
    by_ranks = fit_edge(values, skip=5, zeros="drop").beta
    assert law.error >= abs(by_ranks - law.fit.beta) / 2
    flat = np.append([0.1, 0.2], np.ones(98))  # what the ranks look at is flat: there is no second fit
    with pytest.raises(ValueError, match="all equal"):
        fit_edge(flat, skip=2)
    assert 0 < edge_law(flat).error < np.inf


# ------------------------------------------------------------------------------- is there a power law at all


def verdicts(rng, m, d, draws):
    """How many Gaussian draws are said to have a power law, to have none, and to be too small to tell."""
    laws = [edge_law(gram_eigenvalues(data.gaussian(m, d, rng=rng), "gram")) for _ in range(draws)]
    return tuple(sum(law.holds is answer for law in laws) for answer in (True, False, None))


@pytest.mark.parametrize(
    ("d", "draws", "claimed"), [(128, 200, 0.84), (192, 200, 0.95), (256, 200, 0.97), (512, 60, 0.94)]
)
def test_square_gaussian_rows_have_a_power_law_and_are_never_denied_it(d, draws, claimed):
    # none of 200: at 95 %, the rate of false alarms is below 1.5 % (of 60: 5 %); the bounds below are the measured
    # fractions 0.91, 0.985, 1 and 1 minus three binomial standard errors (one expected failure for those of 1)
    holds, fails, _ = verdicts(np.random.default_rng([5, d]), d, d, draws)
    assert fails == 0
    assert holds >= claimed * draws


@pytest.mark.parametrize("d", [128, 192, 256])
@pytest.mark.parametrize("aspect", [600 / 512, 2, 0.5])
def test_rows_more_or_fewer_than_dimensions_are_not_said_to_have_a_power_law(d, aspect):
    # measured: 2 misses in 1800 draws; 3 of 100 here would be more than a rate of 0.5 % allows at 98 %
    holds, _, _ = verdicts(np.random.default_rng([6, d]), round(aspect * d), d, 100)
    assert holds <= 2


def test_an_edge_away_from_zero_is_denied_where_there_are_enough_eigenvalues():
    rng = np.random.default_rng(8)
    assert verdicts(rng, 600, 512, 20) == (0, 20, 0)
    assert verdicts(rng, 1024, 512, 20) == (0, 20, 0)
    assert verdicts(rng, 600, 1200, 10)[0] == 0


@pytest.mark.parametrize("beta", [0.3, 0.5, 1.0, 2.0])
def test_independent_eigenvalues_of_a_power_law_have_one_and_shifted_ones_do_not(beta):
    rng = np.random.default_rng(9)
    laws = [edge_law(rng.random(2048) ** (1 / beta)) for _ in range(100)]
    assert sum(law.holds is True for law in laws) >= 98  # measured 300 of 300
    assert np.mean([law.fit.beta for law in laws]) == pytest.approx(beta, rel=0.03)
    if beta <= 1:  # at β = 2 a shift by 0.05 is a sixth of the window, and does not show
        assert not any(edge_law(0.05 + rng.random(2048) ** (1 / beta)).holds for _ in range(30))


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_the_errors_of_curvature_and_drift_are_those_of_independent_draws(beta):
    rng = np.random.default_rng(10)
    laws = [edge_law(rng.random(2048) ** (1 / beta)) for _ in range(200)]
    for name in ("curvature", "drift"):
        scores = [getattr(law, name) / getattr(law, f"{name}_error") for law in laws]
        assert 0.8 < np.std(scores) < 1.2  # 200 draws know it to 5 %


def test_the_errors_of_curvature_and_drift_are_those_of_random_matrices():
    laws = [edge_law(gram_eigenvalues(data.gaussian(300, 300, rng=s), "gram")) for s in range(100)]
    for name in ("curvature", "drift"):
        scores = [getattr(law, name) / getattr(law, f"{name}_error") for law in laws]
        assert 0.75 < np.std(scores) < 1.25  # 100 draws know it to 7 %


def test_each_test_alone_denies_what_only_it_sees():
    quantiles = (np.arange(2000) + 0.5) / 2000
    assert edge_law(quantiles**2).holds is True
    missing = quantiles[20:] ** 2  # a law that lacks its twenty smallest
    assert "gap" in edge_law(missing).failed
    wide = edge_law(np.append(np.zeros(2000), missing))  # rows that span half of the dimensions
    assert wide.gap == pytest.approx(edge_law(missing).gap, rel=1e-9)  # zeros change no expectation
    bent = np.where(quantiles < 0.02, quantiles * 0.02, quantiles**2)  # β = 1 below the fiftieth, 1/2 above
    assert "drift" in edge_law(np.sort(bent)).failed
    curved = np.exp(-np.sqrt(-8 * np.log(quantiles)) - 1)  # log-normal-like: no straight piece
    law = edge_law(curved)
    assert law.holds is False
    assert law.reason.startswith("No power law at zero: ")
    assert law.edge is law.edge_error is None


def test_eigenvalues_of_random_matrices_repel_and_independent_numbers_do_not():
    rng = np.random.default_rng(3)
    assert all(eigenvalues_repel(gram_eigenvalues(data.gaussian(100, 100, rng))) for _ in range(10))
    assert not any(eigenvalues_repel(rng.random(100)) for _ in range(10))
    assert not eigenvalues_repel(gram_eigenvalues(data.gaussian(10, 10, rng)))  # nine gaps say nothing


# ------------------------------------------------------------------------------------------ two diagnostics


def test_effective_rank_counts_equal_directions_and_ignores_null_ones_and_scale():
    assert effective_rank([0, 0, 2, 2, 2]) == pytest.approx(3)
    assert effective_rank([1e-200, 1e200, 1e200]) == pytest.approx(2)


@pytest.mark.parametrize("aspect", [0.5, 1.0, 3.0])
def test_effective_rank_of_gaussian_designs_tends_to_its_limit(aspect):
    d = 400
    values = gram_eigenvalues(data.gaussian(int(aspect * d), d, rng=0))
    assert effective_rank(values) / d == pytest.approx(aspect / (1 + aspect), rel=0.02)


def test_quantile_ratio_of_a_gaussian_design_tends_to_500():
    law = MarchenkoPastur(1.0)
    limit = law.quantile(0.95) / law.quantile(0.05)
    assert limit == pytest.approx(500.0, abs=0.1)
    exact = law.quantile((np.arange(4000) + 0.5) / 4000)
    assert quantile_ratio(exact) == pytest.approx(limit, rel=0.01)
    assert quantile_ratio([0.0, 0.0, 1.0]) == np.inf


# ----------------------------------------------------------------------------------------- Marchenko–Pastur


@pytest.mark.parametrize("aspect", ASPECTS)
def test_the_cdf_agrees_with_a_closed_form_in_high_precision(aspect):
    law = MarchenkoPastur(aspect)
    left, right = law.support
    x = left + (right - left) * np.array([1e-6, 1e-3, 0.05, 0.3, 0.6, 0.95, 0.999])
    with mpmath.workdps(40):
        r = mpmath.mpf(aspect) ** mpmath.mpf("-0.5")

        def closed_form(x):
            t = mpmath.acos((1 + r**2 - mpmath.mpf(x)) / (2 * r))
            if r == 1:
                return (t + mpmath.sin(t)) / mpmath.pi
            turn = mpmath.atan((1 + r) / abs(1 - r) * mpmath.tan(t / 2))
            return (-2 * abs(1 - r**2) * turn + (1 + r**2) * t + 2 * r * mpmath.sin(t)) / (
                2 * mpmath.pi * r**2
            )

        precise = np.array([float(closed_form(float(point))) for point in x])
    assert law.cdf(x) - law.atom == pytest.approx(precise, rel=1e-8)
    assert law.cdf(x[2:]) - law.atom == pytest.approx(precise[2:], rel=1e-12)


@pytest.mark.parametrize("aspect", ASPECTS)
def test_the_density_integrates_to_the_cdf_and_has_mean_one(aspect):
    law = MarchenkoPastur(aspect)
    left, right = law.support
    # t ↦ left + t² takes the singular or square-root edge out of quadrature's way
    root = np.sqrt(right - left)
    middle = root * 0.7
    total, _ = scipy.integrate.quad(lambda t: 2 * t * law.pdf(left + t * t), 0, root, limit=500, epsabs=1e-11)
    part, _ = scipy.integrate.quad(
        lambda t: 2 * t * law.pdf(left + t * t), 0, middle, limit=500, epsabs=1e-11
    )
    mean, _ = scipy.integrate.quad(
        lambda t: 2 * t * (left + t * t) * law.pdf(left + t * t), 0, root, limit=500
    )
    assert total + law.atom == pytest.approx(1, abs=1e-7)
    assert part + law.atom == pytest.approx(float(law.cdf(left + middle**2)), abs=1e-7)
    assert mean == pytest.approx(1, abs=1e-6)


@given(st.floats(0.05, 20), st.floats(1e-6, 1 - 1e-6))
def test_quantile_inverts_the_cdf(aspect, p):
    law = MarchenkoPastur(aspect)
    x = float(law.quantile(p))
    if p <= law.atom:
        assert x == 0.0
    else:
        assert law.support[0] <= x <= law.support[1]
        assert float(law.cdf(x)) == pytest.approx(p, abs=1e-9)


def test_quantiles_at_the_ends_and_cdf_and_density_outside():
    for aspect in ASPECTS:
        law = MarchenkoPastur(aspect)
        left, right = law.support
        assert law.quantile(1.0) == pytest.approx(right)
        assert law.quantile(0.0) == (0.0 if aspect < 1 else left)
        assert law.cdf([-1.0, right, right + 1]) == pytest.approx([0, 1, 1], abs=1e-12)
        assert law.cdf(0.0) == pytest.approx(law.atom, abs=1e-12)
        assert law.pdf([-1.0, right + 1]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("aspect", ASPECTS)
def test_the_edge_constants_are_the_limit_of_the_cdf(aspect):
    law = MarchenkoPastur(aspect)
    edge, left = law.edge, law.support[0]
    assert edge.beta == (0.5 if aspect == 1 else 1.5)
    offsets = (left if left else 1.0) * np.array([1e-3, 1e-4])
    ratio = (law.cdf(left + offsets) - law.atom) / edge.cdf(left + offsets)
    assert ratio == pytest.approx(1, abs=2e-3)
    assert abs(ratio[1] - 1) < abs(ratio[0] - 1) / 5  # and it is a limit: the error shrinks with the offset


@pytest.mark.parametrize("aspect", [0.5, 1.0, 2.0])
def test_eigenvalues_of_gaussian_designs_follow_the_law(aspect):
    """Eigenvalues are rigid: the CDFs differ by O(1/d), not by the O(1/√d) of independent draws."""
    d = 1000
    values = by_gram(data.gaussian(int(aspect * d), d, rng=11))
    positive = values[values > 0]
    law = MarchenkoPastur(aspect)
    ranks = np.arange(1, len(positive) + 1) / d + law.atom
    assert np.abs(law.cdf(positive) - ranks).max() < 5 / d
    wrong = MarchenkoPastur(1.05 * aspect)
    assert np.abs(wrong.cdf(positive) - (ranks - law.atom + wrong.atom)).max() > 5 / d


# ------------------------------------------------------------------------------------ the edge of a square sample


def test_the_square_edge_of_an_isotropic_covariance_is_marchenko_and_pasturs():
    assert square_edge([3.0, 3.0]) == EdgeFit(0.5, MarchenkoPastur(1.0).edge.Q)


def test_the_square_edge_by_hand_on_two_variances():
    # mean 1, 1/0.5 and 1/1.5 average to 4/3
    assert square_edge([0.5, 1.5]).Q == pytest.approx(2 / np.pi * np.sqrt(4 / 3))


@pytest.mark.parametrize("covariance", [np.repeat([0.2, 1.8], 400), np.linspace(0.05, 1.95, 800)])
def test_a_square_sample_of_any_covariance_has_that_edge(covariance):
    """Read off the smallest 3 %, as Q = F/√λ at mean 1; four draws, standard error about 1 %."""
    rng, constants, d = np.random.default_rng(4), [], len(covariance)
    for _ in range(4):
        values = by_gram(rng.standard_normal((d, d)) * np.sqrt(covariance))
        k = np.arange(6, 25)
        constants.append(np.mean((k - 0.5) / d / np.sqrt(values[k - 1] / values.mean())))
    error = np.std(constants, ddof=1) / 2
    assert error < 0.03 * np.mean(constants)
    assert abs(np.mean(constants) - square_edge(covariance).Q) < 4 * error + 0.01 * np.mean(constants)
    assert abs(np.mean(constants) - 2 / np.pi) > 8 * error  # and not the isotropic one


def test_a_direction_without_variance_has_no_square_edge():
    with pytest.raises(ValueError, match="must be positive"):
        square_edge([0.0, 1.0])


def test_a_shifted_edge_can_be_fitted_to_the_top_of_the_steps():
    values = 0.2 + (np.arange(1, 1001) / 1000 / 0.5) ** (1 / 1.5)
    top, middle = fit_shifted_edge(values, offset=0.0), fit_shifted_edge(values)
    assert (top.lambda_0, top.beta, top.Q) == pytest.approx((0.2, 1.5, 0.5), rel=1e-6)
    assert abs(middle.beta - 1.5) > 1e-3
    for offset in (-0.1, 1.0, None):
        with pytest.raises(ValueError, match="offset"):
            fit_shifted_edge(values, offset=offset)


# the position of the rows ----------------------------------------------------------------------------------------


def test_the_position_of_rows_is_that_of_any_order_scale_and_rotation_of_them():
    rng = np.random.default_rng(6)
    X = np.repeat(rng.standard_normal((32, 64)), 2, axis=0) + 0.3 * rng.standard_normal((64, 64))
    one = general_position(X, 1)
    other = general_position(
        (X * rng.uniform(1, 9, (64, 1)))[rng.permutation(64)] @ data.haar(64, 64, rng), 2
    )
    np.testing.assert_allclose(one[:2], other[:2], rtol=1e-10)


def test_of_many_rows_a_part_is_looked_at():
    rng = np.random.default_rng(7)
    X = np.repeat(
        rng.standard_normal((400, 256)), 2, axis=0
    )  # three fifths of 512 of 800 have their twin with them
    assert "parallel" in general_position(X, rng).failed
    with pytest.raises(ValueError, match="number of rows"):
        general_position(np.eye(2), 0)
