import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from edgelaw import orders, plots
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
    with pytest.raises(ValueError, match=r"one of iid, random_reshuffle, single_shuffle, flip_flop"):
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
