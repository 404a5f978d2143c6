"""Single shuffle's thresholds: each is needed, and moved by a factor of ten the wrong way it makes things worse."""

import numpy as np
import pytest

from edgelaw import exact
from edgelaw.exact import agreement, graded_circle
from edgelaw.exact.labels import LabelledRows
from edgelaw.exact.single_shuffle import batches, labels, pairs, settings
from edgelaw.theory import single_shuffle

EDGE = np.linspace(0.05, 1.0, 60) ** 2
GAPPED = np.linspace(0.5, 1.5, 60)
LEVELS = np.where(np.arange(64) < 20, 0.1, 1.4)


def stated(values=EDGE, n=50, step=1.2, rho=1.0, **batch):
    """The error that a curve states; infinite if it is refused."""
    for kept in (graded_circle._rule, pairs._sum_rule):
        kept.cache_clear()
    try:
        with np.errstate(all="ignore"):
            return exact.curve("single_shuffle", values, n, step, rho, **batch).error
    except (ArithmeticError, ValueError):
        return np.inf


def of_batches():
    """The same of batches, whose poles are not followed."""
    return stated(n=30, step=4.0, batch=4)


def of_few_rows():
    """The same of batches of fewer rows than dimensions with a gap."""
    return stated(np.append(np.zeros(60), GAPPED), 60, 2.0, 0.5, batch=4)


def of_levels():
    """The same where no contour keeps clear of the poles, which are followed."""
    return stated(LEVELS, 60, 1.7, 1.2)


def of_a_covariance():
    """The same of rows of a covariance, four per dimension."""
    try:
        return exact.population_curve("single_shuffle", GAPPED, 12, 1.0, 4.0).error
    except ArithmeticError:
        return np.inf


def next_to_two():
    """The same next to step 2, where points are equidistant."""
    return stated(n=100, step=1.95)


def of_labels():
    """The error that labels state of late losses which only rounding leaves."""
    X = np.random.default_rng(0).standard_normal((160, 40))
    X /= np.linalg.norm(X, axis=1)[:, None]
    return exact.probe_curve("single_shuffle", LabelledRows.of(X, X[:, 0]), [60], 1.2).error


def limit():
    """How far the limit of two batches of isotropic rows is from 8 − 4√3 per row."""
    with pytest.raises(ValueError, match="step must be below") as refused:
        exact.population_curve("single_shuffle", np.ones(64), 2, 60.0, batch=32)
    return abs(float(str(refused.value).split()[4].rstrip(",")) / (32 * (8 - 4 * 3**0.5)) - 1)


def test_what_agrees_by_chance_is_stated_to_be_no_better_than_circles_are_made_for():
    """LEAST."""
    assert stated(GAPPED, 12, 1.0, 4.0) == graded_circle.LEAST == 2e-8


def test_late_epochs_lose_no_digits_on_a_circle():
    """SciPy's am is told m next to 1: from ten thousand epochs on it left seven digits of a curve, then six."""
    n = [10_000, 100_000]
    late = exact.population_curve("single_shuffle", [1.0], n, 0.8)
    for loss in ("test", "train"):
        truth = getattr(single_shuffle, f"{loss}_loss")(np.array(n), 0.8)
        assert getattr(late, loss)[1:] == pytest.approx(truth, rel=1e-8)


def test_labels_take_so_many_epochs_as_a_circle_has_points():
    """MOST."""
    rows = LabelledRows.of(np.eye(30), np.ones(30))
    with pytest.raises(ValueError, match="at most 1600 for single shuffle"):
        labels.curve(rows, graded_circle.MOST + 1, 0.5)


def test_equidistant_points_are_more_than_the_epochs_and_graded_ones_know_the_domain_all_around():
    """BESIDES: next to step 2 few epochs would have hardly more points. ANGLES, _ALL_AROUND: they reach all around."""
    assert graded_circle.plan(2, np.zeros(5), 14.5, 2.0)[0] > 15
    assert graded_circle.plan(20, np.zeros(5), 14.5, 2.0)[0] == 20 + graded_circle.BESIDES
    assert graded_circle.ANGLES[0] == settings._ALL_AROUND[0] == np.pi
    assert np.abs(np.diff(settings._ALL_AROUND)).max() < 0.3


def resolutions(**factors):
    """Both resolutions with some of their numbers multiplied."""
    return tuple(
        each._replace(**{name: factor * getattr(each, name) for name, factor in factors.items()})
        for each in settings.RESOLUTIONS
    )


@pytest.mark.parametrize(
    ("module", "name", "moved", "worse", "bar"),
    [
        (graded_circle, "BESIDES", 5, next_to_two, 1e-5),
        (graded_circle, "AMPLIFIED", 40.0, lambda: stated(n=200), 1e-5),
        (graded_circle, "MOST", 160, lambda: stated(n=200, step=1.95), 1e-4),
        (settings, "RESOLUTIONS", resolutions(circle=0.1), of_batches, 1e-4),
        (settings, "RESOLUTIONS", resolutions(average=0.1), of_batches, 1e-4),
        (settings, "RESOLUTIONS", resolutions(wide=0.1), of_batches, 1e-4),
        (settings, "NARROW", 7.5, of_few_rows, 1e-6),
        (settings, "GAPPED", 30.0, of_a_covariance, 1e-6),
        (settings, "BORNE", 1e-60, of_batches, 1e-4),
        (settings, "_STATIONS", settings._STATIONS[::16], of_levels, 1e-5),
        (batches, "LIMIT_PRECISION", 0.1, limit, 0.005),
        (agreement, "STATED_ABOVE", 1e-5, of_labels, 3e-8),
    ],
)
def test_a_threshold_moved_by_a_factor_of_ten_makes_it_worse(monkeypatch, module, name, moved, worse, bar):
    assert worse() < bar
    monkeypatch.setattr(module, name, moved)
    assert worse() > bar
