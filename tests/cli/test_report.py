"""The report: whole, alone, escaped, and written at once or not at all."""

import dataclasses
import math
import os
import re
from html.parser import HTMLParser

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from edgelaw import data
from edgelaw._common import svg as elements
from edgelaw.curves import LearningCurve
from edgelaw.laws import EdgeFit
from edgelaw.spectrum import EdgeLaw
from edgelaw_app import atomic
from edgelaw_app.cli import format, pictures, report
from edgelaw_app.forecast import exact_curves, predict

HOSTILE = '<img src=x onerror="alert(1)">&amp;\'.npy'


@pytest.fixture(scope="module")
def prediction():
    return predict(data.gaussian(40, 40, rng=0), epochs=12, target=0.2, simulate=False, rng=0, search=False)


@pytest.fixture(scope="module")
def text(prediction):
    """The page of a file with a tame name."""
    return report.html(prediction, "embeddings.npy", "1.2.3")


class Outline(HTMLParser):
    """Which elements there are, with their attributes, and whether every one is closed."""

    VOID = {"meta", "link", "br"}  # noqa: RUF012

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    def named(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def test_it_has_three_plots_with_descriptions_and_every_order(prediction, text):
    page = Outline(text)
    plots = [one for one in page.named("svg") if one.get("role") == "img"]
    assert len(plots) == 3
    assert all(len(one["aria-label"]) > 40 for one in plots)
    assert len(page.named("figcaption")) == 3
    words = " ".join(page.words)
    for expected in (
        "IID",
        "random reshuffle",
        "single shuffle",
        "flip-flop",
        "1.2.3",
        prediction.advice.reason,
    ):
        assert expected in words


def test_its_numbers_are_those_of_the_prediction(prediction, text):
    words = " ".join(Outline(text).words)
    for forecast in prediction.forecasts.values():
        for kind in ("test", "train"):
            for n in (1, 12):
                assert format.digits(float(getattr(forecast.curve, kind)[n])) in words
        assert str(forecast.epochs_to_target["test"]) in words


@pytest.mark.usefixtures("undrawn")
def test_a_hostile_file_name_is_only_text(prediction):
    page = Outline(report.html(prediction, HOSTILE))
    assert page.named("img") == page.named("script") == []
    assert HOSTILE in page.words  # the parser unescapes: readers see the name as it is
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)


@pytest.fixture
def undrawn():
    """In the place of the pictures, which know nothing of names and sentences."""
    with pytest.MonkeyPatch.context() as patch:
        empty = {name: report.Picture(None, name) for name in ("spectrum", "test", "train")}
        patch.setattr(report, "drawn", lambda _: empty)
        yield


@pytest.mark.usefixtures("undrawn")
def test_any_name_leaves_the_page_whole(prediction):
    tame = [tag for tag, _ in Outline(report.html(prediction, "embeddings.npy")).tags]

    @hypothesis.given(st.text(max_size=40))
    @hypothesis.settings(max_examples=15)
    def whole(name):
        assert [tag for tag, _ in Outline(report.html(prediction, name)).tags] == tame

    whole()


@pytest.mark.usefixtures("undrawn")
def test_sentences_of_a_prediction_are_escaped_too(prediction):
    hostile = dataclasses.replace(
        prediction,
        preparation=("<b>kept</b>",),
        advice=dataclasses.replace(prediction.advice, reason="<i>single</i> & shuffle", tie=True),
        diagnostic=dataclasses.replace(prediction.diagnostic, text="<u>fits</u>"),
    )
    page = Outline(report.html(hostile, "x.npy"))
    assert page.named("i") == page.named("u") == []
    assert {"<b>kept</b>", "<i>single</i> & shuffle", "<u>fits</u>", "No clear winner"} <= set(page.words)


def test_the_same_prediction_gives_the_same_page(prediction, text):
    assert report.html(prediction, "embeddings.npy", "1.2.3") == text


def test_no_two_elements_have_the_same_id_and_every_reference_has_one(text):
    ids = [attributes["id"] for _, attributes in Outline(text).tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    references = set(re.findall(r"""(?:href="|url\()#([^")]+)""", text))
    assert len(references) > 3
    assert references <= set(ids)


def test_every_colour_of_a_picture_is_a_variable_that_both_pages_define(text):
    inside = "".join(re.findall(r"<svg.*?</svg>", text, re.DOTALL))
    assert not re.search(r":\s*#[0-9a-f]{3}", inside)
    light, dark = text.split("prefers-color-scheme:dark", 1)
    for variable in set(re.findall(r"var\((--\w+)\)", inside)):
        assert f"{variable}:#" in light
        assert f"{variable}:#" in dark


def test_a_wide_matrix_without_an_edge_and_with_measured_curves_is_reported_too(prediction):
    iid = prediction.forecasts["iid"]
    n = iid.curve.epochs
    noisy = LearningCurve(n, iid.curve.test, iid.curve.train, 0.1 * iid.curve.test, 0.1 * iid.curve.train)
    measured = dataclasses.replace(iid, how="pilot", why="No exact curve.", curve=noisy, simulated=noisy)
    other = dataclasses.replace(prediction.forecasts["flip_flop"], simulated=noisy)
    changed = dataclasses.replace(
        prediction,
        eigenvalues=np.append(np.zeros(7), prediction.eigenvalues[7:]),
        edge=None,
        edge_error=None,
        edge_law=EdgeLaw(
            False, "No power law at zero: it is bent.", fit=EdgeFit(0.5, 0.6, 0.0, 9, 0, 0.01, (0.01, 0.5))
        ),
        target=None,
        step="best",
        forecasts={"iid": measured, "flip_flop": other},
    )
    words = " ".join(" ".join(Outline(report.html(changed, "wide.npy")).words).split())
    for expected in (
        "7 of 40 are zero",
        "±10%",
        "No power law at zero: it is bent. The dotted line is the power law that was tried.",
        "no power law here (dotted: what was tried)",
        "IID (pilot)",
        "Bands are two standard errors",
        "hollow marks the simulation",
        "every order at its best step",
        "No exact curve.",
    ):
        assert expected in words


def test_nothing_to_draw_is_said(prediction):
    zero = LearningCurve(
        *(np.array(column) for column in ([0, 1], [1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0]))
    )
    forecasts = {"iid": dataclasses.replace(prediction.forecasts["iid"], curve=zero)}
    changed = dataclasses.replace(prediction, forecasts=forecasts, epochs=1)
    page = Outline(report.html(changed, "zero.npy"))
    assert len([one for one in page.named("svg") if one.get("role") == "img"]) == 1
    assert " ".join(page.words).count("There is nothing to draw.") == 2


def test_it_loads_nothing(text):
    assert not re.search(r"https?://|url\((?!#)|@import|<script|<iframe|<img", text)
    page = Outline(text)
    assert [link["href"] for link in page.named("link")] == ["data:,"]
    policy = next(one["content"] for one in page.named("meta") if "http-equiv" in one)
    assert policy.startswith("default-src 'none'")


@pytest.mark.usefixtures("undrawn")
def test_it_is_written_whole_with_the_permissions_of_any_file(prediction, tmp_path):
    path = tmp_path / "report.html"
    report.write(path, prediction, "a\udcff.npy")
    plain = tmp_path / "plain"
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode
    assert path.read_text(encoding="utf-8").endswith("</html>\n")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["plain", "report.html"]


def test_a_failure_leaves_what_was_there_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("before")

    def broken(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="No space"):
        atomic.write(path, "after")
    assert path.read_text() == "before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_a_link_is_followed_not_replaced(tmp_path):
    (tmp_path / "real.html").write_text("before")
    (tmp_path / "link.html").symlink_to(tmp_path / "real.html")
    atomic.write(tmp_path / "link.html", "after")
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "real.html").read_text() == "after"


# the pictures ----------------------------------------------------------------------------------------------


def path_of(svg, style):
    """Coordinates of the first path that has a style, as columns."""
    path = re.search(rf'<path d="([^"]*)"[^>]*style="[^"]*{re.escape(style)}', svg)[1]
    values = [float(number) for number in re.findall(r"-?\d+\.?\d*", path)]
    return np.array(values).reshape(-1, 2).T


def test_a_power_law_is_a_straight_line_where_it_should_be(prediction):
    n = np.array([0, 1, 10, 100])
    curve = LearningCurve(n, 1.0 / np.maximum(n, 1), np.ones(4), np.zeros(4), np.zeros(4))
    iid = dataclasses.replace(prediction.forecasts["iid"], curve=curve)
    law = dataclasses.replace(prediction, forecasts={"iid": iid}, target=None)
    x, y = path_of(pictures.inline(pictures.losses(law, "test"), "a law", "law"), "stroke:var(--iid)")
    assert x[1] - x[0] == pytest.approx(x[2] - x[1], abs=0.02)
    assert y[1] - y[0] == pytest.approx(y[2] - y[1], abs=0.02)
    assert x[0] < x[1]
    assert y[0] < y[1]  # y runs downwards in SVG, and the law falls


def test_losses_far_below_the_largest_do_not_widen_the_axes(prediction):
    n = np.arange(60)
    y = np.where(n < 40, 1.0 / np.maximum(n, 1) ** 2, 1e-40)
    y[45:50] = np.nan
    y[55:] = 0
    curve = LearningCurve(n, y, y, np.full(60, 0.5), np.full(60, 0.5))
    iid = dataclasses.replace(prediction.forecasts["iid"], curve=curve, how="simulated")
    figure = pictures.losses(dataclasses.replace(prediction, forecasts={"iid": iid}, target=0.5), "train")
    low, high = figure.axes[0].get_ylim()
    assert 1e-4 < low < y[39]
    assert 1 < high < 2
    assert "nan" not in pictures.inline(figure, "a loss", "loss")


def test_a_picture_holds_its_text_as_text_and_is_small(text):
    figures = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    for svg, words in zip(figures, ("eigenvalue λ", "test loss", "training loss"), strict=True):
        assert f">{words}</text>" in svg
        assert "font-family" not in svg
        assert len(svg) < 30_000


def test_older_styles_of_text_keep_their_size_only():
    assert elements._declaration(" font: 12px 'DejaVu Sans', sans-serif", {}) == "font-size:12px"
    assert elements._declaration("font: inherit", {}) == ""


def test_four_thousand_eigenvalues_are_drawn_by_a_few_hundred_dots(prediction):
    values = np.sort(np.random.default_rng(0).gamma(2.0, size=4096))
    svg = pictures.inline(pictures.spectrum(values, None), "many", "many")
    assert 200 < svg.count("<use") < 600


# numbers ---------------------------------------------------------------------------------------------------


@hypothesis.given(st.floats(-1e300, 1e300) | st.sampled_from([math.nan, math.inf, -math.inf]))
def test_digits_are_close_to_the_number(value):
    text = format.digits(value)
    if math.isfinite(value):
        assert float(text.replace(",", "")) == pytest.approx(value, rel=0.006)
    else:
        assert text in "–∞−∞"


@hypothesis.given(st.integers(1, 10**6))
def test_milestones_are_a_few_and_end_with_the_last(last):
    recorded = np.unique(np.round(np.geomspace(1, last, 300)).astype(int))
    chosen = format.milestones(LearningCurve(recorded, *np.ones((4, len(recorded)))))
    assert chosen[0] == 1
    assert chosen[-1] == last
    assert len(chosen) <= 4
    assert set(chosen) <= set(recorded.tolist())


def test_milestones_of_a_first_epoch_are_fractions_and_what_is_below_the_floor_is_not_printed():
    times = np.append(0, np.geomspace(0.001, 1, 30))
    losses = np.exp(-100 * times)
    curve = LearningCurve(times, losses, losses, *np.full((2, len(times)), np.nan))
    chosen = format.milestones(curve)
    assert all(0 < time < 1 for time in chosen)
    assert [format.value_at(curve, time, "train") > format.FLOOR for time in chosen] == [True] * len(chosen)
    assert format.loss_digits(losses[-1]) == "< 1e-12"
    assert format.FLOOR == exact_curves.FLOOR


def test_the_axis_of_a_picture_ends_where_nothing_is_left():
    """Sixteen rows per dimension: after a few epochs no order has a loss that could be drawn."""
    prediction = predict(data.gaussian(960, 60, rng=0), epochs=50, search=False)
    axes = pictures.losses(prediction, "train").axes[0]
    curves = [forecast.curve for forecast in prediction.forecasts.values()]
    drawn = [curve.epochs[curve.train >= axes.get_ylim()[0]][-1] for curve in curves]
    assert max(drawn) <= axes.get_xlim()[1] < 12
