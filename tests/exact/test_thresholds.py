"""Thresholds of the exact curves: each has one name, a reason and a test, and fails one when it is moved.

Those of the policy of accuracy are in `test_agreement.py`. A threshold is moved in its source, by a factor of ten the
wrong way, to see its test fail.
"""

import ast
import collections
import importlib
import pathlib

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from edgelaw import exact
from edgelaw.exact import first_epoch, levy, silverstein, sources
from edgelaw.exact.batches import blocks, requests
from edgelaw.exact.iid import labels as iid_labels
from edgelaw.exact.iid import modes
from edgelaw.exact.labels import LabelledRows, best_steps, signal_and_noise
from edgelaw.exact.labels.curves import start
from edgelaw.theory import iid as closed_form

ROOM = pathlib.Path(exact.__file__).parent
SPIKED = np.append(np.linspace(0.001, 1, 100), [20.0, 40.0])


# the house -------------------------------------------------------------------------------------------------


def is_numeric(value):
    """Whether a module's constant is a number, or an array or tuple of numbers."""
    if isinstance(value, tuple):
        return bool(value) and all(map(is_numeric, value))
    return isinstance(value, (int, float, np.ndarray)) and not isinstance(value, bool)


def thresholds():
    """(file, name, whether its own line or the one above has a comment) of all numeric constants of modules."""
    constants = []
    for path in sorted(ROOM.rglob("*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        dotted = ".".join(path.relative_to(ROOM.parents[1]).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.parse("\n".join(lines)).body:
            if not isinstance(node, ast.Assign | ast.AnnAssign):
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
            explained = any("#" in line for line in lines[max(node.lineno - 2, 0) : node.end_lineno])
            module = importlib.import_module(dotted)
            constants += [
                (str(path.relative_to(ROOM)), name, explained)
                for name in names
                if not name.startswith("__") and is_numeric(getattr(module, name))
            ]
    return constants


def test_every_threshold_has_one_name_a_reason_and_a_test():
    constants = thresholds()
    assert constants
    places = collections.defaultdict(list)
    for path, name, _ in constants:
        places[name].append(path)
    twice = {name: paths for name, paths in places.items() if len(paths) > 1}
    assert not twice, f"named twice: {twice}"
    bare = [f"{path}: {name}" for path, name, explained in constants if not explained]
    assert not bare, f"without a reason in a comment: {bare}"
    tests = "".join(path.read_text(encoding="utf-8") for path in pathlib.Path(__file__).parent.glob("*.py"))
    untested = {name for _, name, _ in constants if name not in tests}
    assert not untested, "named in no test under tests/exact"


# averages --------------------------------------------------------------------------------------------------


def test_a_contour_of_this_height_gives_averages_of_few_nodes_to_eight_digits():
    """HALF_HEIGHT: lower contours need more points than there are. _LOEWNER: fewer of them give fewer digits."""
    values, shares = sources.sample(SPIKED)
    assert levy.from_gram(values, shares, 1.0, -0.05, 1e-8).error < 1e-8
    assert levy.from_gram(values, shares, 1.0, -0.05, 1e-8, levy.HALF_HEIGHT / 10).error > 1e-3


def test_functions_of_a_covariance_are_seen_at_enough_points_of_a_contour():
    """_LOEWNER: with a tenth of the most points the largest error between two would not be seen."""
    u = np.log(levy.ellipse(np.array([1e-4, 1.0]), -1e-6))
    assert np.abs(np.diff(u)).max() < 0.1


def test_too_few_eigenvalues_are_no_spectrum():
    assert sources.FEWEST == 20
    with pytest.raises(ValueError, match="at least 20"):
        exact.curve("iid", np.ones(19), 1)
    assert exact.curve("iid", np.ones(20), 1).test[1] < 1


def test_an_edge_is_largest_far_from_the_largest_eigenvalue_and_next_to_it():
    """A ten-thousandth of the rows has its edge far away, all of them have theirs at the eigenvalue."""
    isotropic = silverstein.PopulationRows(np.ones(1), np.ones(1), 1.0)
    assert isotropic.edge(1e-4) == pytest.approx(1.01**2, rel=1e-9)
    values = np.linspace(0.1, 1.9, 50)
    assert blocks.SampleRows(values, np.full(50, 0.02), 1.0).edge(1.0) == pytest.approx(1.9, rel=1e-12)


def test_the_first_epoch_is_known_to_eleven_digits():
    """_CONTOUR_POLES, _OF_AVERAGES: moved by ten they lose digits of the error or of the loss."""
    assert first_epoch.curve(np.geomspace(0.02, 2, 60), [0.1, 1.0], 1.9, 1.0).error <= 2e-11


def test_the_first_epoch_solves_its_equations():
    """With three eigenvalues, against steps of an integrator."""
    nodes, weights, step, rho = np.array([0.1, 0.9, 1.8]), np.array([0.3, 0.4, 0.3]), 1.9, 6.0
    nodes /= weights @ nodes

    def slopes(s, CD):
        C, D = np.split(CD, 2)
        single = np.exp(-step * nodes * s)
        gamma = (weights * nodes) @ single
        source = nodes * (step**2 * gamma**2 - 2 * step * gamma * single)
        return np.concatenate(
            [
                -2 * step * nodes * x + step**2 * nodes * ((weights * nodes) @ x) + y
                for x, y in ((C, 0), (D, source))
            ]
        )

    times = np.array([0.0, 0.1, 1.0, rho])
    start = np.concatenate([np.ones(3), rho * nodes])
    options = {"t_eval": times, "method": "DOP853", "rtol": 1e-12, "atol": 1e-16}
    C, D = np.split(solve_ivp(slopes, (0, rho), start, **options).y, 2)
    average = levy.Average(nodes.astype(complex), weights.astype(complex), 0.0)
    assert first_epoch.losses(average, rho, step, times) == pytest.approx(
        np.array([weights @ C, weights @ D / rho]), rel=1e-9
    )


# IID -------------------------------------------------------------------------------------------------------


def test_talbots_contour_has_points_for_nine_digits():
    """Twenty-four of them, compared with twenty."""
    curve = exact.population_curve("iid", np.ones(2), [1, 10, 100], 0.8)
    assert curve.error < 1e-9
    assert curve.test[1:] == pytest.approx(closed_form.test_loss(np.array([1, 10, 100]), 0.8), rel=1e-10)


def test_tiny_eigenvalues_of_iid_are_no_zeros():
    """_NEVER_MOVES: a quarter of the mass below 1e-90 of the largest must not become a plateau."""
    values, shares = sources.sample([1e-101, 1e-99, 1.0], [1.0, 1.0, 2.0], requests._NEVER_MOVES)
    assert shares.tolist() == [0.25, 0.25, 0.5]
    assert (values > 0).tolist() == [False, True, True]


def test_rules_of_a_sample_spectrum_are_as_good_as_is_stated():
    """Far beyond an edge away from zero too, where a loss is what the slowest direction leaves."""
    assert exact.population_curve("iid", np.ones(100), [1, 5, 50], 37.5, 5.0, 25).error < 2e-11
    late = exact.population_curve("iid", np.arange(1, 301) ** -0.5, [150, 300], 10.0, 4.0, 32)
    assert late.error < 2e-11
    assert late.test[1] == pytest.approx(2.19888122e-33, rel=1e-8)


def test_the_mean_of_one_data_set_is_more_accurate_than_its_tolerance():
    """Losses are compared every eight steps of Lanczos: two neighbouring ones may agree by chance."""
    X = np.random.default_rng(0).standard_normal((12, 6)) / np.arange(1, 7)
    rough, fine = (exact.expected_curve(X, [30], 0.5, tolerance) for tolerance in (1e-4, 1e-14))
    assert rough.test == pytest.approx(fine.test, rel=1e-8)


def test_the_mean_of_one_data_set_ends_where_no_tolerance_can_be_met():
    """After so many steps as Chebyshev polynomials would need, whatever rounding still changes."""
    X = np.random.default_rng(0).standard_normal((12, 6)) / np.arange(1, 7)
    endless, fine = (exact.expected_curve(X, [30], 0.5, tolerance) for tolerance in (1e-300, 1e-14))
    assert endless.test == pytest.approx(fine.test, rel=1e-10)


def test_eigenvalues_below_their_rounding_are_left_out():
    """ROUNDED_AWAY: a ten-trillionth of the largest."""
    kept = LabelledRows.of(np.diag([1.0, 10**-6.25]), [1.0, 1.0])
    lost = LabelledRows.of(np.diag([1.0, 10**-6.75]), [1.0, 1.0])
    assert (len(kept.eigenvalues), len(lost.eigenvalues)) == (2, 1)


def test_roots_are_exact_after_the_last_step():
    """Two poles p, q leave (p − x)(q − x) + a(q − x) + b(p − x) = 0."""
    (p, q), (a, b) = poles, weights = np.array([-1.0, -0.25]), np.array([0.09, 0.04])
    roots = np.sort(np.roots([1.0, -(p + q + a + b), p * q + a * q + b * p]))
    assert modes.secular(poles, np.sqrt(weights)).values == pytest.approx(roots, rel=1e-14)


@pytest.fixture(scope="module")
def noisy():
    """Rows of a power law with noisy targets."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 40)) * np.arange(1, 41) ** -0.5
    return LabelledRows.of(X, X @ rng.standard_normal(40) + 0.5 * rng.standard_normal(200))


def test_epochs_between_the_steps_of_a_series_are_those_of_the_map(noisy):
    """TERMS."""
    (family,) = iid_labels.families(noisy)
    for step in np.geomspace(1e-3, 1.5, 9):
        between = family(np.array([step])).walk(start(noisy))[-1].second
        truth = iid_labels.epoch(noisy, step)(start(noisy)).second
        assert between.sum() == pytest.approx(truth.sum(), rel=1e-4)


def test_no_less_than_rounding_is_stated():
    """ROUNDING: a curve by rates has lost about as much after a million epochs."""
    assert exact.curve("iid", np.linspace(0.1, 1.9, 40), 10**6).error >= 1e-12


# parts of labels -------------------------------------------------------------------------------------------


def test_best_steps_are_largest_between_those_of_a_grid():
    """Between two steps of a grid 40 others are tried: exp(−10η) + s η² is least at 0.3."""
    steps = np.geomspace(0.1, 1, 12)
    parts = type(signal_and_noise(np.linspace(0.5, 1.5, 30), 60, [4], 0.5, "iid"))(
        np.exp(-10 * steps), steps**2, 0 * steps, 0 * steps
    )
    best, _ = best_steps(steps, parts, [np.exp(-3) / 0.06])
    assert best[0] == pytest.approx(0.3, rel=5e-3)


def test_errors_of_small_signals_are_stated_of_a_ten_thousandth_of_the_start():
    """STATED_ABOVE."""
    parts = signal_and_noise(np.linspace(0.5, 1.5, 30), 60, [40], 0.5, "iid")
    design = LabelledRows.isotropic(np.linspace(0.5, 1.5, 30), 60)
    error = exact.probe_curve("iid", design, [40], 0.5).error
    assert parts.signal[0, 0] < 1e-5
    assert parts.signal_error[0, 0] == pytest.approx(1e-4 * error, rel=1e-6)
