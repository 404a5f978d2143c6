"""The style of the book: one look per order, and what the drawing functions draw."""

import dataclasses

import hypothesis
import hypothesis.strategies as st
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from edgelaw import orders, plots
from edgelaw.curves import LearningCurve
from edgelaw.spectrum import EdgeFit, fit_edge


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def test_there_is_a_style_for_every_order_in_their_order():
    assert tuple(plots.ORDER_STYLES)[:4] == orders.ORDERS


def test_every_order_differs_in_colour_marker_and_dashes():
    for key in ("color", "marker", "linestyle", "label"):
        assert len({str(style[key]) for style in plots.ORDER_STYLES.values()}) == len(plots.ORDER_STYLES)


def test_no_two_orders_have_the_same_grey_and_the_same_dashes():
    greys = [
        float(np.dot(to_rgb(style["color"]), [0.299, 0.587, 0.114])) for style in plots.ORDER_STYLES.values()
    ]
    dashes = [str(style["linestyle"]) for style in plots.ORDER_STYLES.values()]
    for i in range(len(greys)):
        for j in range(i):
            assert abs(greys[i] - greys[j]) > 0.05 or dashes[i] != dashes[j]


def test_a_style_can_be_changed_for_one_line_without_changing_it_for_the_next():
    assert plots.order_style("iid", linewidth=3)["linewidth"] == 3
    assert "linewidth" not in plots.order_style("iid")


def test_an_unknown_order_is_refused_and_the_known_ones_are_listed():
    with pytest.raises(ValueError, match="one of 'iid', 'random_reshuffle', 'single_shuffle', 'flip_flop'"):
        plots.order_style("sorted")


def test_the_style_is_adopted_only_when_asked_for():
    with mpl.rc_context():
        mpl.rcParams["axes.grid"] = False
        plots.use()
        assert mpl.rcParams["axes.grid"]


def test_the_drawn_cdf_is_the_empirical_one_without_its_zeros(ax):
    plots.spectrum_cdf(ax, [2.0, 0.0, 1.0, 4.0])
    x, y = ax.lines[0].get_data()
    assert x.tolist() == [1.0, 2.0, 4.0]
    assert y.tolist() == [0.25, 0.5, 0.75]
    assert ax.get_xscale() == ax.get_yscale() == "log"


def test_the_drawn_fit_is_the_fitted_law_on_its_window(ax):
    fit = fit_edge((np.arange(1, 501) / 500) ** 2)
    plots.edge_fit(ax, fit)
    x, y = ax.lines[1].get_data()
    assert (x[0], x[-1]) == pytest.approx(fit.window)
    assert y == pytest.approx(fit.Q * x**fit.beta)
    assert "0.50" in ax.lines[1].get_label()


def test_nothing_to_draw_is_refused(ax):
    with pytest.raises(ValueError, match="at least one positive value"):
        plots.spectrum_cdf(ax, [0.0, 0.0])
    with pytest.raises(ValueError, match="finite window"):
        plots.edge_fit(ax, EdgeFit(0.5, 1.0))


@pytest.fixture
def curve():
    n = np.arange(101)
    loss = 1.0 / np.maximum(n, 1)
    error = np.where(n < 50, 0.1 * loss, np.nan)
    return LearningCurve(n, loss, np.where(n > 90, 0.0, loss**2), error, error)


def test_the_drawn_curve_is_the_curve_where_logarithms_exist(ax, curve):
    plots.learning_curve(ax, curve, "iid")
    x, y = ax.lines[0].get_data()
    assert x.tolist() == list(range(1, 101))
    assert y == pytest.approx(1 / x)
    assert (ax.get_xscale(), ax.get_yscale(), ax.get_ylabel()) == ("log", "log", "test loss")
    plots.learning_curve(ax, curve, "flip_flop", "train")
    assert ax.lines[1].get_data()[0][-1] == 90
    assert ax.get_ylabel() == "training loss"
    assert ax.lines[1].get_color() == plots.ORDER_STYLES["flip_flop"]["color"]


def test_markers_are_a_few_with_both_ends(ax, curve):
    plots.learning_curve(ax, curve, "iid")
    places = ax.lines[0].get_markevery()
    assert (places[0], places[-1]) == (0, 99)
    assert 4 <= len(places) <= 8


def test_the_band_is_two_standard_errors_where_they_are_known(ax, curve):
    plots.learning_curve(ax, curve, "iid", band=True)
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    assert corners[:, 0].max() == 49
    assert corners[corners[:, 0] == 10][:, 1] == pytest.approx([0.08, 0.12])


def test_the_band_of_a_computed_curve_is_two_deviations_of_a_run_of_its_size(ax, curve):
    nothing_drawn = np.full(101, np.nan)
    computed = dataclasses.replace(curve, test_se=nothing_drawn, finite_size_test=0.2 * curve.test)
    plots.learning_curve(ax, computed, "iid", band=True)
    corners = ax.collections[0].get_paths()[0].vertices
    assert corners[corners[:, 0] == 10][:, 1] == pytest.approx([0.06, 0.14])


def test_a_hollow_curve_has_no_line_and_no_entry_in_the_legend(ax, curve):
    plots.learning_curve(ax, curve, "iid", hollow=True)
    assert ax.lines[0].get_linestyle() == "None"
    assert ax.get_legend_handles_labels() == ([], [])


def test_a_loss_that_does_not_exist_is_refused(ax, curve):
    with pytest.raises(ValueError, match="'test', 'train'"):
        plots.learning_curve(ax, curve, "iid", "held-out")


def test_a_curve_of_zeros_draws_nothing(ax):
    zeros = LearningCurve(*(np.zeros(3) for _ in range(5)))
    plots.learning_curve(ax, zeros, "iid")
    assert len(ax.lines[0].get_data()[0]) == 0


def test_logarithmic_axes_get_plain_labels(ax):
    ax.set(xscale="log", yscale="log", xlim=(0.9, 2e5), ylim=(0.11, 0.9))
    plots.log_ticks(ax)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "10", "100", "1000", "10,000", "10⁵"]
    assert [label.get_text() for label in ax.get_yticklabels()][:3] == ["0.2", "0.4", "0.6"]


@hypothesis.given(st.floats(-30, 30), st.floats(0, 30))
@hypothesis.example(1.00001, 0.0)  # between 10 and 11
def test_any_axis_has_a_few_labels_inside_it(low, length):
    high = low + max(length, 0.04)
    labelled, minor = plots._log_ticks(low, high)
    assert 1 <= len(labelled) <= 7
    assert all(low - 1e-6 <= place <= high + 1e-6 for place, _ in labelled)
    assert all(low <= place <= high for place in minor)
    assert len({label for _, label in labelled}) == len(labelled)


@pytest.mark.parametrize(
    ("mantissa", "exponent", "label"),
    [(1, 0, "1"), (2, -3, "0.002"), (1, 4, "10,000"), (1, -5, "10⁻⁵"), (3, 12, "3·10¹²")],
)
def test_labels_of_an_axis_are_as_one_writes_them(mantissa, exponent, label):
    assert plots._power(mantissa, exponent) == label


def test_an_axis_from_zero_shows_zero_beside_the_ticks_on_one_vertical_scale():
    figure = plt.figure()
    zero, rest = plots.from_zero(figure, figure.add_gridspec(1, 2)[0], [25, 50, 400])
    zero.set_ylim(2, 3)
    assert zero.get_xticks().tolist() == [0]
    assert rest.get_ylim() == (2, 3)
    assert rest.get_xscale() == "log"
    assert [label.get_text() for label in rest.get_xticklabels()] == ["25", "50", "400"]
    plt.close(figure)


def test_ratios_by_share_have_a_line_at_one_and_fractions_for_labels():
    figure, ax = plt.subplots()
    plots.ratios_by_share(ax, [1 / 64, 1 / 8, 1], [0.9, 1.1, 1.0], [0.01, 0.01, 0.0], label="measured")
    figure.canvas.draw()
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert labels[-2:] == ["1/2", "1"]
    assert "1/64" in labels
    assert any(set(line.get_ydata()) == {1} for line in ax.lines)
    assert ax.get_legend_handles_labels()[1] == ["measured"]
    plt.close(figure)
