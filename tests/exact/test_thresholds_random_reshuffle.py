"""Thresholds of random reshuffle: each is needed, and moved by a factor of ten the wrong way it makes things worse."""

import dataclasses
import functools

import numpy as np
import pytest

from edgelaw import exact
from edgelaw.exact import agreement, levy
from edgelaw.exact.labels import LabelCurve, LabelledRows, interpolation
from edgelaw.exact.random_reshuffle import contours, engine, labels

EDGE = np.linspace(0.05, 1.0, 60) ** 2
GAPPED = np.linspace(0.5, 1.5, 60)
SPREAD = np.geomspace(1e-6, 1, 50)


def stated(values=EDGE, n=50, step=1.2, rho=1.0):
    """The error that a curve states; infinite if it is refused."""
    contours._sample.cache_clear()
    try:
        with np.errstate(all="ignore"):
            return exact.curve("random_reshuffle", values, n, step, rho).error
    except ArithmeticError:
        return np.inf


def effective():
    """The relative error of a wide spectrum's effective step, against its second order; infinite if it is refused."""
    step = 1e-3
    try:
        return abs(exact.effective_step("random_reshuffle", step, SPREAD) / (step + step**2 / 2) - 1)
    except ValueError:
        return np.inf


def between():
    """How far interpolated epochs are from those of operators of their own."""
    X = np.random.default_rng(0).standard_normal((80, 40))
    targets = X[:, 0] + np.random.default_rng(1).standard_normal(80)
    made = LabelledRows.of(X / np.linalg.norm(X, axis=1)[:, None], targets)
    (family, *_), maps = labels.families(made), next(labels.all_maps(made))
    worst = 0.0
    for step in np.linspace(1.0, 0.1, 10):
        ask = made, np.arange(2), np.array([step])
        worst = max(worst, labels._compared(*ask, [functools.partial(maps.move, 0), family.at])[0])
    return worst


def resolution(which, **changed):
    return getattr(engine, which)._replace(**changed)


@pytest.mark.parametrize(
    ("module", "name", "moved", "worse", "bar"),
    [
        (contours, "SCALE", 10.0, lambda: stated(GAPPED, 20, 1.0, 4.0), 1e-2),
        (contours, "SCALE", 0.1, lambda: stated(GAPPED, 20, 1.0, 4.0), 1e-2),
        (contours, "WIDTHS", tuple(10 * width for width in contours.WIDTHS), stated, 1e-5),
        (levy, "HALF_HEIGHT", 12.0, effective, 1e-5),
        (engine, "INSIDE", 0.08, stated, 1e-5),
        (engine, "POLYNOMIALS", 2, stated, 1e-5),
        (engine, "FINE", resolution("FINE", digits=1.13), stated, 1e-5),
        (engine, "FINE", resolution("FINE", times=0.092), stated, 1e-5),
        (engine, "COARSE", resolution("COARSE", digits=0.96), stated, 1e-5),
        (engine, "COARSE", resolution("COARSE", times=0.084), stated, 1e-5),
        (engine, "COARSE", resolution("COARSE", wide=11.0), stated, 1e-5),
        (agreement, "AT_ONCE", 1e-6, lambda: stated(GAPPED, 6, 1.0, 16.5), 1e-5),
        (agreement, "AT_ONCE", 1e-8, lambda: stated(GAPPED, 6, 1.0, 18.0), 3e-9),
        (interpolation, "TERMS", 4, between, 1e-3),
    ],
)
def test_a_threshold_moved_by_a_factor_of_ten_makes_it_worse(monkeypatch, module, name, moved, worse, bar):
    assert worse() < bar
    monkeypatch.setattr(module, name, moved)
    assert worse() > bar


def test_the_error_of_labels_is_relative_to_the_loss_or_to_a_billionth_of_its_start():
    """_VANISHED."""
    start, late = np.array([1.0, 1e-6]), np.array([1.0, 1e-10])
    curve, small = (LabelCurve(np.arange(2), losses, None, losses) for losses in (start, late))
    assert labels._distance(curve, dataclasses.replace(curve, train=1.01 * start)) == pytest.approx(0.01)
    assert labels._distance(small, dataclasses.replace(small, train=np.array([1.0, 0.0]))) == pytest.approx(
        0.1
    )


def test_two_resolutions_that_agree_share_an_error_that_another_contour_shows(monkeypatch):
    """_LEAST_STATED: a tenth of it would be far less than how much small training losses differ."""
    levels = np.repeat([0.0, 0.22839797, 1.0], [154, 58, 44])
    curve = exact.curve("random_reshuffle", levels, 11, 0.9486, 102 / 256)
    monkeypatch.setattr(contours, "SCALE", 1.3)
    other = exact.curve("random_reshuffle", levels, 11, 0.9486, 102 / 256)
    seen = curve.train > 1e-12
    gap = np.abs(other.train[seen] / curve.train[seen] - 1).max()
    assert curve.error / 5 < gap < curve.error
