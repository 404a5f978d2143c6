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

from edgelaw import data, spectrum
from edgelaw._common import notebook
from edgelaw._common import svg as elements
from edgelaw_app import atomic
from edgelaw_app.cli import answer, format, report
from edgelaw_app.forecast import Caution, predict, probe

HOSTILE = '<img src=x onerror="alert(1)">&amp;\'.npy'


@pytest.fixture(scope="module")
def forecast():
    return predict(data.gaussian(40, 40, rng=0), epochs=12, target=0.2, lr=0.005, rng=0)


@pytest.fixture(scope="module")
def probed():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 24))
    y = np.where(X[:, 0] > 0, "<b>one</b>", "other & more")
    return probe(X, y, epochs=6, schedule="linear")


@pytest.fixture(scope="module")
def text(forecast):
    """The page of a file with a tame name."""
    return report.html(forecast, "embeddings.npy", "1.2.3")


@pytest.fixture(scope="module")
def text_probed(probed):
    return report.html(probed, "features.csv", "1.2.3")


@pytest.fixture(scope="module", params=["rows", "labels"])
def page(request, text, text_probed):
    """The text of either kind of report."""
    return text if request.param == "rows" else text_probed


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


def words_of(text):
    return " ".join(" ".join(Outline(text).words).split())


def test_it_has_the_five_parts_of_an_answer_in_their_order(forecast, text):
    words = words_of(text)
    places = [
        words.index(" ".join(part.split()))
        for part in (
            forecast.advice.sentences[0],
            forecast.advice.sentences[-1],
            forecast.code,
            "Parameter error by epoch",
            "The orders, in numbers",
            forecast.assumed.split("`")[0],
            forecast.preparation[0],
        )
    ]
    assert places == sorted(places)
    cautious = dataclasses.replace(forecast, cautions=(Caution("odd", "Something is odd; do otherwise."),))
    assert "Something is odd; do otherwise." in words_of(report.html(cautious, "x.npy"))


def test_it_has_a_plot_of_each_loss_with_a_description_and_every_order(text, text_probed):
    for one, losses in (
        (text, ("Parameter error", "Training loss")),
        (text_probed, ("Training loss", "Held-out loss")),
    ):
        page = Outline(one)
        plots = [one for one in page.named("svg") if one.get("role") == "img"]
        assert len(plots) == len(page.named("figcaption")) == 2
        for plot, loss in zip(plots, losses, strict=True):
            assert plot["aria-label"].startswith(
                f"{loss} by epoch, each order at its best learning rate. At the end: "
            )
            assert "random reshuffle" in plot["aria-label"]
    for expected in ("IID", "random reshuffle", "single shuffle", "flip-flop", "1.2.3"):
        assert expected in words_of(text)


def test_its_numbers_are_those_of_the_forecast(forecast, text):
    words = words_of(text)
    for group in (forecast.orders, forecast.asked):
        for one in group.values():
            for loss in ("parameter error", "training loss"):
                for time in (1, 12):
                    assert answer.cell(one, time, loss) in words
            assert f" {format.digits(one.lr)} " in words
    assert "at the lr asked for" in words
    for order, time in forecast.reached.items():
        assert f"{order} at epoch {time:.0f}" in words


def test_a_report_of_labels_says_what_is_known_only_with_them(probed, text_probed):
    words = words_of(text_probed)
    assert "in closed form" in words
    assert "2 classes" in words
    assert "A tenth of this lr" in words
    assert "rate = 0." in words
    assert f"{probed.labels.held_out_rows} rows held out" in words


@pytest.mark.usefixtures("undrawn")
def test_a_hostile_file_name_is_only_text(forecast):
    page = Outline(report.html(forecast, HOSTILE))
    assert page.named("img") == page.named("script") == []
    assert HOSTILE in page.words  # the parser unescapes: readers see the name as it is
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)


@pytest.fixture
def undrawn():
    """In the place of the pictures, which know nothing of names and sentences."""
    with pytest.MonkeyPatch.context() as patch:
        empty = {name: report.Picture(None, name, name) for name in ("parameter error", "training loss")}
        patch.setattr(report, "drawn", lambda _: empty)
        yield


@pytest.mark.usefixtures("undrawn")
def test_any_name_leaves_the_page_whole(forecast):
    tame = [tag for tag, _ in Outline(report.html(forecast, "embeddings.npy")).tags]

    @hypothesis.given(st.text(max_size=40))
    @hypothesis.settings(max_examples=15)
    def whole(name):
        assert [tag for tag, _ in Outline(report.html(forecast, name)).tags] == tame

    whole()


@pytest.mark.usefixtures("undrawn")
def test_sentences_of_a_forecast_are_escaped_too(forecast):
    hostile = dataclasses.replace(
        forecast,
        preparation=("<b>kept</b>",),
        assumed="<s>assumed</s>",
        code="<i>code</i>",
        cautions=(Caution("odd", "<em>odd</em>"),),
        check=dataclasses.replace(forecast.check, verdict="agrees", text="<u>fits</u>"),
        advice=dataclasses.replace(
            forecast.advice, sentences=("<i>single</i> & shuffle", "<i>rest</i>"), tie=("iid",)
        ),
    )
    page = Outline(report.html(hostile, "x.npy"))
    assert page.named("i") == page.named("u") == page.named("s") == page.named("em") == []
    assert {"<b>kept</b>", "<i>single</i> & shuffle", "<i>code</i>", "<em>odd</em>"} <= set(page.words)
    words = " ".join(page.words)
    assert "<u>fits</u>" in words
    assert "<s>assumed</s>" in words
    assert "No clear winner" in words


def test_the_same_forecast_gives_the_same_page(forecast, text):
    assert report.html(forecast, "embeddings.npy", "1.2.3") == text


def test_no_two_elements_have_the_same_id_and_every_reference_has_one(page):
    outline = Outline(page)
    ids = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    references = set(re.findall(r"""(?:href="|url\()#([^")]+)""", page))
    references |= {one["aria-labelledby"] for _, one in outline.tags if "aria-labelledby" in one}
    assert len(references) > 3
    assert references <= set(ids)


def test_every_colour_of_a_picture_is_a_variable_that_both_pages_define(page):
    inside = "".join(re.findall(r"<svg.*?</svg>", page, re.DOTALL))
    assert not re.search(r":\s*#[0-9a-f]{3}", inside)
    light, dark = page.split("prefers-color-scheme:dark", 1)
    used = set(re.findall(r"var\((--[\w-]+)\)", page))
    assert {"--iid", "--random_reshuffle", "--ink"} <= used
    for variable in used:
        assert f"{variable}:#" in light
        assert f"{variable}:#" in dark


def test_where_losses_were_run_that_is_said_with_their_errors(forecast):
    iid = forecast.orders["iid"]
    errors = {loss: np.full(len(iid.epochs), 0.1) for loss in iid.losses}
    measured = dataclasses.replace(iid, how="pilot", why="No exact curve.", errors=errors)
    changed = dataclasses.replace(forecast, orders={**forecast.orders, "iid": measured})
    words = words_of(report.html(changed, "wide.npy"))
    for expected in ("±10%", "IID (pilot)", "bands are two standard errors", "IID: No exact curve."):
        assert expected in words


def test_orders_of_which_the_same_is_true_share_a_sentence(forecast):
    ran = {
        o: dataclasses.replace(one, how="simulated", why="Means over 64 runs.")
        for o, one in forecast.orders.items()
    }
    words = words_of(report.html(dataclasses.replace(forecast, orders=ran), "x.npy"))
    assert "IID, random reshuffle, single shuffle, flip-flop: Means over 64 runs." in words
    assert words.count("Means over 64 runs.") == 1


def test_words_between_backticks_are_code_and_still_escaped(forecast):
    changed = dataclasses.replace(forecast, assumed="Type `a <b> FILE`, or not.")
    page = Outline(report.html(changed, "x.npy"))
    assert page.named("b") == Outline(report.html(forecast, "x.npy")).named("b")
    assert "a <b> FILE" in page.words
    assert len(page.named("code")) == 1


def test_nothing_to_draw_is_said(forecast):
    one = forecast.orders["iid"]
    zero = dataclasses.replace(one, losses={**one.losses, "training loss": 0 * one.losses["training loss"]})
    changed = dataclasses.replace(
        forecast, orders={"iid": zero}, advice=dataclasses.replace(forecast.advice, order="iid")
    )
    page = Outline(report.html(changed, "zero.npy"))
    assert len([one for one in page.named("svg") if one.get("role") == "img"]) == 1
    assert " ".join(page.words).count("There is nothing to draw.") == 1


def test_it_loads_nothing(page):
    assert not re.search(r"https?://|url\((?!#)|@import|<script|<iframe|<img", page)
    outline = Outline(page)
    assert [link["href"] for link in outline.named("link")] == ["data:,"]
    policy = next(one["content"] for one in outline.named("meta") if "http-equiv" in one)
    assert policy.startswith("default-src 'none'")


@pytest.mark.usefixtures("undrawn")
def test_it_is_written_whole_with_the_permissions_of_any_file(forecast, tmp_path):
    path = tmp_path / "report.html"
    report.write(path, forecast, "a\udcff.npy")
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


def only(forecast, epochs, losses, how="theory", error=0.0):
    """The forecast with one order and these losses."""
    both = dict.fromkeys(("parameter error", "training loss"), losses)
    errors = dict.fromkeys(both, np.full(len(epochs), error))
    one = dataclasses.replace(forecast.orders["iid"], epochs=epochs, losses=both, errors=errors, how=how)
    return dataclasses.replace(forecast, orders={"iid": one}, target=None)


def test_a_power_law_is_a_straight_line_where_it_should_be(forecast):
    n = np.array([0, 1, 10, 100])
    law = only(forecast, n, 1.0 / np.maximum(n, 1))
    x, y = path_of(law.picture("parameter error", "a law", {"#0072b2": "var(--iid)"}), "stroke:var(--iid)")
    assert x[1] - x[0] == pytest.approx(x[2] - x[1], abs=0.02)
    assert y[1] - y[0] == pytest.approx(y[2] - y[1], abs=0.02)
    assert x[0] < x[1]
    assert y[0] < y[1]  # y runs downwards in SVG, and the law falls


def test_losses_far_below_the_largest_do_not_widen_the_axes(forecast):
    n = np.arange(60)
    y = np.where(n < 40, 1.0 / np.maximum(n, 1) ** 2, 1e-40)
    y[45:50] = np.nan
    y[55:] = 0
    svg = only(forecast, n, y, "simulated", 0.5).picture("training loss", "a loss")
    ticks = [float(text) for text in re.findall(r">([\d.e-]+)</text>", svg)]
    assert 1e-4 <= min(ticks) < y[1]
    assert max(ticks) < 60
    assert "nan" not in svg


def test_the_target_is_drawn_in_the_picture_of_the_loss_that_decides_only(forecast, text):
    first, second = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert "target 0.2" in first
    assert "target" not in second


def test_a_picture_holds_its_text_as_text_and_is_small(text):
    figures = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    for svg, words in zip(figures, ("parameter error", "training loss"), strict=True):
        assert f">{words}</text>" in svg
        assert "font-family" not in svg
        assert len(svg) < 30_000


def test_older_styles_of_text_keep_their_size_only():
    assert elements._declaration(" font: 12px 'DejaVu Sans', sans-serif", {}) == "font-size:12px"
    assert elements._declaration("font: inherit", {}) == ""


def test_four_thousand_eigenvalues_are_drawn_by_a_hundred_dots():
    law = spectrum.edge_law(np.sort(np.random.default_rng(0).gamma(2.0, size=4096)))
    assert 50 < notebook.file(law.lines(), "λ", "F", "svg").count(b"<use") < 200


# numbers ---------------------------------------------------------------------------------------------------


@hypothesis.given(st.floats(-1e300, 1e300) | st.sampled_from([math.nan, math.inf, -math.inf]))
def test_digits_are_close_to_the_number(value):
    text = format.digits(value)
    if math.isfinite(value):
        assert float(text.replace(",", "")) == pytest.approx(value, rel=0.006)
    else:
        assert text in "–∞−∞"


@hypothesis.given(st.floats(1e-15, 1e6), st.floats(0, 2))
def test_a_cell_has_its_error_where_it_was_run_and_no_digits_below_the_floor(forecast, value, error):
    one = only(forecast, np.array([0, 1]), np.array([1.0, value]), "simulated", error).orders["iid"]
    text = answer.cell(one, 1.0, "training loss")
    assert text.startswith("< 1e-12") == (value < 1e-12)
    assert ("±" in text) == (error >= 0.005 and value >= 1e-12)
    assert answer.cell(one, 7.0, "training loss") == "–"
    diverged = only(forecast, np.array([0, 1]), np.array([1.0, np.inf])).orders["iid"]
    assert answer.cell(diverged, 1.0, "training loss") == "diverges"


def test_the_axis_of_a_picture_ends_where_nothing_is_left():
    """Sixteen rows per dimension: after a few epochs no order has a loss that could be drawn."""
    forecast = predict(data.gaussian(960, 60, rng=0), epochs=50)
    x = [float(t) for t in re.findall(r">([\d.]+)</text>", forecast.picture("training loss", "losses"))]
    assert max(x) < 12


def test_small_labels_have_small_losses_that_are_told_from_nothing():
    X = data.gaussian(150, 24, rng=0)
    made = probe(X, 1e-9 * (X[:, 0] + np.random.default_rng(1).standard_normal(150)), epochs=2)
    page = report.html(made, "tiny.npy")
    assert "&lt; 1e" not in page
    assert answer.cells(made, made.best, [1.0])["held-out loss"][0] in page
