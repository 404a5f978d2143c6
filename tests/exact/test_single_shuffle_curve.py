"""Single shuffle on any spectrum: against the closed forms, by hand, against matrices, and what it refuses."""

import numpy as np
import pytest
import scipy.special

from edgelaw import data, exact, kaczmarz
from edgelaw.exact import agreement, graded_circle, sources
from edgelaw.exact.batches.blocks import SampleRows
from edgelaw.exact.single_shuffle import kernel as shuffle_kernel
from edgelaw.exact.single_shuffle import pairs as shuffle_pairs
from edgelaw.exact.single_shuffle import settings as shuffle_curve
from edgelaw.spectrum import gram_eigenvalues
from edgelaw.theory import single_shuffle


def marchenko_pastur(rho=1.0, nodes=3000):
    """Midpoint rule for the law in the angle."""
    theta = (np.arange(nodes) + 0.5) * np.pi / nodes
    values = 1 + 1 / rho - 2 * np.cos(theta) / np.sqrt(rho)
    weights = np.sin(theta) ** 2 / values
    if rho < 1:  # directions that no row has
        values, weights = np.append(0, values), np.append(1 - rho, rho * weights / weights.sum())
    return {"eigenvalues": values, "weights": weights}


@pytest.mark.parametrize("step", [0.1, 1.0, 1.9])
def test_marchenko_pastur_gives_the_closed_forms(step):
    n = np.arange(1, 101)
    curve = exact.curve("single_shuffle", **marchenko_pastur(), epochs=100, step=step)
    assert np.abs(curve.test[1:] / single_shuffle.test_loss(n, step) - 1).max() < 1e-7
    assert np.abs(curve.train[1:] / single_shuffle.train_loss(n, step) - 1).max() < 1e-5
    assert curve.error < 1e-5


@pytest.mark.parametrize(("step", "rho"), [(0.1, 0.5), (0.1, 2.0), (1.0, 1.0), (1.9, 0.5)])
def test_an_isotropic_covariance_gives_the_closed_forms_relatively_also_where_they_are_tiny(step, rho):
    n = np.array([1, 2, 7, 30, 100])
    curve = exact.population_curve("single_shuffle", np.ones(3), n, step, rho)
    assert np.abs(curve.test[1:] / single_shuffle.test_loss(n, step, rho) - 1).max() < 1e-7
    assert np.abs(curve.train[1:] / single_shuffle.train_loss(n, step, rho) - 1).max() < 1e-5


def test_large_epochs_continue_without_a_seam():
    n = np.array([12, 13, 24, 25, 1000, 100_000])
    curve = exact.population_curve("single_shuffle", np.ones(2), n, 0.8)
    assert np.abs(curve.test[1:] / single_shuffle.test_loss(n, 0.8) - 1).max() < 1e-8
    assert np.abs(curve.train[1:] / single_shuffle.train_loss(n, 0.8) - 1).max() < 1e-8


@pytest.mark.parametrize("step", [0.3, 1.0, 1.7])
def test_one_epoch_by_hand(step):
    """In the first epoch every row is fresh: the mean square along an eigenvector of the covariance obeys the linear
    equation of IID sampling with the covariance in place of the sample, solved here by an eigendecomposition.
    """
    covariance = np.array([0.3, 0.9, 1.8])
    rows = exact.population_curve("single_shuffle", covariance, 1, step)
    lam = covariance / covariance.mean()
    generator = -2 * step * np.diag(lam) + step**2 * np.outer(lam, lam) / 3
    values, vectors = np.linalg.eig(generator)
    s = vectors @ (np.exp(values) * np.linalg.solve(vectors, np.ones(3)))
    assert abs(rows.test[1] / s.mean() - 1) < 1e-8


def test_orthogonal_rows_shrink_by_one_minus_step():
    n = np.arange(6)
    curve = exact.curve("single_shuffle", np.full(40, 2.0), 5, 0.6)
    assert np.allclose(curve.test, 0.4 ** (2 * n), rtol=1e-6)
    assert np.allclose(curve.train, 0.4 ** (2 * n), rtol=1e-6)


def truth(U, step, epochs):
    A = kaczmarz.epoch_matrix(U, step)
    P, done, values = A, 1, []
    for n in epochs:
        if n > done:
            P = P @ (P if n == 2 * done else np.linalg.matrix_power(A, n - done))
        done = n
        values.append([(P**2).sum() / len(A), ((U @ P) ** 2).sum() / len(U)])
    return np.array(values).T


COVARIANCES = {
    "two-point": lambda d: np.where(np.arange(d) < d // 2, 0.2, 1.8),
    "uniform": lambda d: np.linspace(0, 2, d) + 1 / d,
    "j^(-1/2)": lambda d: np.arange(1, d + 1) ** -0.5,
}


@pytest.mark.parametrize(("name", "step"), [("two-point", 1.0), ("uniform", 0.5), ("j^(-1/2)", 1.5)])
def test_matrices_follow_their_own_eigenvalues(name, step):
    """d = 300, 2 matrices, 12 orders each: deviations of order 1/d; standard errors are stated and capped."""
    d, epochs, rng = 300, [1, 2, 5, 10, 20, 40], np.random.default_rng(5)
    ratios = []
    for _ in range(2):
        X = rng.standard_normal((d, d)) * np.sqrt(COVARIANCES[name](d))
        U = X / np.linalg.norm(X, axis=1)[:, None]
        curve = exact.curve("single_shuffle", gram_eigenvalues(data.normalize_rows(X)), epochs, step)
        predicted = np.array([curve.test[1:], curve.train[1:]])
        ratios += [truth(U[rng.permutation(d)], step, epochs) / predicted - 1 for _ in range(12)]
    mean, error = np.mean(ratios, axis=0), np.std(ratios, axis=0, ddof=1) / np.sqrt(len(ratios))
    assert (error.max(axis=1) < [0.005, 0.015]).all()
    assert (np.abs(mean[0]) < 1.5 / d + 4 * error[0]).all()
    assert (np.abs(mean[1]) < 4.0 / d + 4 * error[1]).all()


def test_both_forms_agree_to_the_sampling_error():
    d = 1000
    covariance = COVARIANCES["j^(-1/2)"](d)
    X = np.random.default_rng(2).standard_normal((d, d)) * np.sqrt(covariance)
    sample = exact.curve("single_shuffle", gram_eigenvalues(data.normalize_rows(X)), 20, 1.0)
    population = exact.population_curve("single_shuffle", covariance, 20, 1.0)
    assert np.abs(sample.test / population.test - 1).max() < 0.01
    assert np.abs(sample.train / population.train - 1).max() < 0.02


def test_rho_one_population_and_nearly_one_agree():
    covariance = [0.4, 1.6]
    at, near = (
        exact.population_curve("single_shuffle", covariance, [1, 5, 20], 1.2, rho) for rho in (1.0, 1.0001)
    )
    assert np.abs(near.test / at.test - 1).max() < 2e-3
    assert np.abs(near.train / at.train - 1).max() < 6e-3


def test_null_directions_stay_in_the_test_loss_for_ever():
    """Half of the directions are in no row, so m = d rows are twice as many as there are dimensions."""
    half = exact.population_curve("single_shuffle", [0.0, 1.0], [1, 10], 1.0)
    full = exact.population_curve("single_shuffle", [1.0], [1, 10], 1.0, rho=2.0)
    assert np.allclose(half.test, 0.5 + 0.5 * full.test, rtol=1e-9)
    assert np.allclose(half.train, full.train, rtol=1e-7)
    zeros = np.concatenate([np.zeros(2), np.linspace(0.01, 2, 198)])
    assert exact.curve("single_shuffle", zeros, 60, 1.0).test[-1] > 0.01


@pytest.mark.parametrize("step", [0.5, 1.0])
def test_a_gap_at_zero_is_right_and_goes_on_where_nothing_is_left(step):
    """Eigenvalues in [0.1, 1.9] at m = d decay exponentially: over six orders of magnitude as matrices do."""
    d, epochs = 200, [1, 2, 5, 10, 25]
    X = data.normalize_rows(data.with_spectrum(np.linspace(0.1, 1.9, d), d, np.random.default_rng(0)))
    curve = exact.curve("single_shuffle", gram_eigenvalues(X), epochs, step)
    measured = truth(X / np.linalg.norm(X, axis=1)[:, None], step, epochs)
    assert np.allclose(measured[0], curve.test[1:], rtol=0.01)
    assert np.allclose(measured[1], curve.train[1:], rtol=0.03)
    long = exact.curve("single_shuffle", gram_eigenvalues(X), 300, step)
    assert np.allclose(long.test[epochs], curve.test[1:], rtol=long.error + curve.error)
    assert (np.diff(long.train) <= 0).all()
    if long.continued is not None:
        assert long.train[long.continued] < 1e-12


def test_thousands_of_epochs_near_step_two_are_refused_not_guessed():
    with pytest.raises(ArithmeticError, match=r"at most (1550|1600) epochs, or for a smaller step"):
        exact.curve("single_shuffle", np.linspace(0.0001, 2, 40), [6000], 1.97)


@pytest.mark.parametrize("name", ["cifar10", "wikipedia"])
def test_the_null_row_that_centring_leaves_counts_whatever_epochs_are_asked_for(name):
    """All shuffled orders have one first epoch; with more epochs contours in the gap are tried, without zero."""
    X = data.preprocess(data.load(name).features, 256, 512, rng=0).X
    values = gram_eigenvalues(X)
    assert (values == 0).sum() == 257
    for step in (0.5, 1.5):
        alone = exact.curve("random_reshuffle", values, 1, step, 0.5)
        curve = exact.curve("single_shuffle", values, 50, step, 0.5)
        assert [curve.test[1], curve.train[1]] == pytest.approx([alone.test[1], alone.train[1]], rel=1e-8)


def test_a_curve_that_has_vanished_goes_on_by_its_law_and_says_since_when():
    """Sixty-four rows per dimension: after a few epochs less is left than is computed."""
    values = np.linspace(0.6, 1.4, 60)
    curve = exact.curve("single_shuffle", values, 40, 0.5, rho=64.0)
    assert curve.continued is not None
    assert curve.train[curve.continued] < 1e-12
    late = np.log(curve.train[curve.continued : curve.continued + 6])
    rates = np.diff(late)
    assert (rates < 0).all()
    assert (np.diff(rates) >= 0).all()  # a loss that is a mean of exponentials falls ever more slowly
    assert rates[-1] == pytest.approx(rates[0], rel=0.01)


@pytest.mark.parametrize("rho", [0.125, 0.5, 600 / 512, 4.0, 16.0, 64.0])
@pytest.mark.parametrize("step", [0.1, 0.5, 1.0, 1.5])
def test_closed_forms_at_every_aspect_to_eight_digits(rho, step):
    theta, w = (
        (np.polynomial.legendre.leggauss(400)[0] + 1) * np.pi / 2,
        np.polynomial.legendre.leggauss(400)[1],
    )
    values = 1 + 1 / rho - 2 * np.cos(theta) / np.sqrt(rho)
    shares = w * np.sin(theta) ** 2 / values
    if rho < 1:
        values, shares = np.append(0, values), np.append(1 - rho, shares)
    n = np.arange(1, 51)
    curve = exact.curve("single_shuffle", values, 50, step, rho, weights=shares / shares.sum())
    for loss, plateau in (("test", max(0.0, 1 - rho)), ("train", 0.0)):
        truth = getattr(single_shuffle, loss + "_loss")(n, step, rho)
        seen = truth - plateau > 1e-12
        error = np.abs(getattr(curve, loss)[1:] / np.where(seen, truth, 1) - 1)[seen].max(initial=0.0)
        assert error < 1e-8
        assert error <= curve.error


def test_no_epochs_leave_everything():
    assert exact.curve("single_shuffle", np.linspace(0.1, 2, 30), 0).test.tolist() == [1.0]
    assert exact.population_curve("single_shuffle", [0.5, 1.5], 0).train.tolist() == [1.0]


def test_settings_that_all_fail_are_refused_with_the_first_reason(monkeypatch):
    def fail(setting, last):
        raise ArithmeticError("solved to 1e-3 only")

    monkeypatch.setattr(shuffle_curve, "domain", fail)
    with pytest.raises(ArithmeticError, match="solved to 1e-3 only"):
        exact.curve("single_shuffle", np.linspace(0.1, 2, 30), 3)
    monkeypatch.setattr(shuffle_curve, "made", lambda *_: [])
    with pytest.raises(ArithmeticError, match="No contour around this spectrum"):
        exact.curve("single_shuffle", np.linspace(0.1, 2, 30), 3)


@pytest.mark.parametrize("n", [np.arange(1, 201), np.array([3, 7, 50])])
def test_equidistant_points_give_coefficients_where_singularities_are_on_all_sides(n):
    # eight poles on the circle |z| = 1.2: [zⁿwⁿ] of the sum of 1/((1 − z/p)(1 − w/q)) over p and q is a sum of powers
    poles = 1.2 * np.exp(2j * np.pi * (np.arange(8) + 0.5) / 8)
    last = int(n[-1])
    count, distance, grading = graded_circle.plan(last, np.zeros(5), 14.5, 2.0)
    assert grading == np.inf
    assert count == last + graded_circle.BESIDES
    circle = graded_circle.circle(n, count, 1.2 * np.exp(-distance), grading)
    places = np.concatenate([circle.points, circle.points.conj()])
    one = (1 / (1 - places[:, None] / poles)).sum(axis=1)
    computed = circle.pair_coefficients(one[circle.first] * one[circle.second])
    truth = (poles ** (-n[:, None].astype(float))).sum(axis=1).real ** 2
    # only every eighth coefficient is not zero, on the scale of 1.2^(−2n)
    np.testing.assert_allclose(computed * 1.2 ** (2.0 * n), truth * 1.2 ** (2.0 * n), atol=64 * 3e-7)
    np.testing.assert_allclose(truth[n % 8 == 0] * 1.2 ** (2.0 * n[n % 8 == 0]), 64)


@pytest.mark.parametrize("size", [32, 33])
def test_the_first_aliases_of_two_staggered_circles_cancel(size):
    """1/((1 − z)(1 − w)) at half its radius: (1/2)^(2N) is left of N points per variable, not (1/2)^N."""
    n = np.arange(1, 31)
    circle = graded_circle.circle(n, size, 0.5, np.inf)
    assert len(circle.first) == size * (size + 1) // 2
    places = np.concatenate([circle.points, circle.points.conj()])
    values = 1 / ((1 - places[circle.first]) * (1 - places[circle.second]))
    error = np.abs(circle.pair_coefficients(values) * 0.25**n - 0.25**n)
    assert error.max() < 4e-16 < 1e-5 * 0.5**size


def test_graded_and_staggered_circles_give_the_same_coefficients():
    """Of 1/(1 − (z + w)/3), whose coefficients are central binomials over powers of nine."""
    n = np.arange(1, 21)
    truth = scipy.special.binom(2 * n, n) / 9.0**n
    for grading, size in ((np.inf, 60), (0.3, 80)):
        circle = graded_circle.circle(n, size, 1.2, grading)
        places = np.concatenate([circle.points, circle.points.conj()])
        computed = circle.pair_coefficients(1 / (1 - (places[circle.first] + places[circle.second]) / 3))
        np.testing.assert_allclose(computed, truth, rtol=1e-8)


def test_a_singularity_in_a_narrow_sector_bounds_the_domain():
    """Half as many rows as columns, step 1.9: the domain ends at angle 0.35, between coarser stations."""
    rng = np.random.default_rng(0)
    X = data.gaussian(256, 512, rng=rng) * np.arange(1, 513) ** -0.25
    values = np.maximum(gram_eigenvalues(data.normalize_rows(X)), 0)
    values, shares = sources.sample(values)
    spectrum = SampleRows(values, shares, 0.5)
    setting = shuffle_curve.around(spectrum, 1.9, 200, 0.5 * spectrum.gram[spectrum.gram > 0][0], 0.5)
    edge, _ = shuffle_curve.domain(setting, 200)
    curve = exact.curve("single_shuffle", values, 200, 1.9, 0.5, weights=shares)
    rate = -np.log(curve.train[200] / curve.train[199])
    # the losses decay like e^(−2·edge·n) times a power of n between −1/2 and −3/2
    assert 2 * edge + 0.5 / 200 < rate < 2 * edge + 1.6 / 200


@pytest.mark.parametrize(("rho", "step"), [(0.125, 1.95), (0.5, 1.9), (1.0, 1.9), (1.0, 1.95)])
def test_next_to_step_two_200_epochs_have_six_digits_and_an_honest_error(rho, step):
    n = np.arange(201)
    curve = exact.curve("single_shuffle", **marchenko_pastur(rho), epochs=n, step=step, rho=rho)
    truth = np.array([single_shuffle.test_loss(n, step, rho), single_shuffle.train_loss(n, step, rho)])
    error = np.abs(np.array([curve.test, curve.train]) / truth - 1)
    seen = truth - np.array([[max(0.0, 1 - rho)], [0.0]]) > 1e-12
    assert curve.continued is None
    assert error[seen].max() <= min(1e-6, curve.error)


def test_a_thousand_epochs_next_to_step_two_take_more_points_than_epochs():
    n = np.array([10, 999, 1000])
    curve = exact.curve("single_shuffle", **marchenko_pastur(), epochs=n, step=1.98)
    for loss in ("test", "train"):
        truth = getattr(single_shuffle, loss + "_loss")(n, 1.98)
        assert np.abs(getattr(curve, loss)[1:] / truth - 1).max() <= min(1e-6, curve.error)
    with pytest.raises(ArithmeticError, match="ask for at most 1550 epochs, or for a smaller step"):
        exact.curve("single_shuffle", **marchenko_pastur(), epochs=[2000], step=1.98)


def test_what_has_vanished_does_not_make_the_stated_error_larger():
    """Losses e^(−n) are below 1e-12 from epoch 28 on; from 30 on two resolutions differ, by ever more."""
    computed = np.arange(1, 60)
    fine = np.tile(np.exp(-1.0 * computed), (2, 1))
    difference = np.where(computed < 30, 1e-9, np.minimum(1e-3 * 2.0 ** (computed - 30), 3.0))
    curve = agreement.vouched(
        np.arange(60), computed, agreement.Attempt(fine, fine * (1 + difference), 0.0, 1e-12)
    )
    assert curve.error < 1e-8
    assert curve.continued == 29
    assert np.allclose(np.log(curve.train), -curve.epochs, rtol=1e-9)


def test_losses_that_differ_before_they_vanish_still_count():
    computed = np.arange(1, 60)
    fine = np.tile(np.exp(-1.0 * computed), (2, 1))
    difference = np.where(computed < 20, 1e-9, np.minimum(1e-3 * 1.3 ** (computed - 20), 3.0))
    curve = agreement.vouched(
        np.arange(60), computed, agreement.Attempt(fine, fine * (1 + difference), 0.0, 1e-12)
    )
    assert curve.error > 1e-3
    assert curve.train[curve.continued] < 1e-12


def test_sums_over_nodes_are_the_same_in_vectors():
    rng = np.random.default_rng(0)

    def numbers(*shape):
        return rng.normal(size=shape) + 1j * rng.normal(size=shape)

    pairs = graded_circle.all_pairs(3)
    given = *pairs, numbers(len(pairs[0]), 9), numbers(6, 3, 9), numbers(len(pairs[0]), 5)
    loops = shuffle_kernel.inverse_sums.function(*given)
    for made in (shuffle_kernel.inverse_sums(*given), shuffle_kernel.inverse_sums.twin(*given)):
        np.testing.assert_allclose(made, loops, rtol=1e-10)


def test_sums_of_single_rows_in_one_go_are_those_of_any_pairs(monkeypatch):
    values = np.linspace(0.05, 1.0, 60) ** 2
    one = exact.curve("single_shuffle", values, 30, 1.2)
    monkeypatch.setattr(shuffle_pairs, "has_numba", lambda: False)
    other = exact.curve("single_shuffle", values, 30, 1.2)
    np.testing.assert_allclose(one.test, other.test, rtol=one.error)
    np.testing.assert_allclose(one.train, other.train, rtol=one.error)
