"""The report: whole, alone, escaped, and written at once or not at all."""

import math
import os
import re
from html.parser import HTMLParser

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from edgelaw import data
from edgelaw._common import atomic
from edgelaw.cli import figures, format, report
from edgelaw.predict import predict

HOSTILE = '<img src=x onerror="alert(1)">&amp;\'.npy'


@pytest.fixture(scope="module")
def prediction():
    return predict(data.gaussian(40, 40, rng=0), epochs=12, target=0.2, simulate=False, rng=0, search=False)


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


def test_it_has_three_plots_with_descriptions_and_every_order(prediction):
    page = Outline(report.html(prediction, "embeddings.npy", "1.2.3"))
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


def test_its_numbers_are_those_of_the_prediction(prediction):
    words = " ".join(Outline(report.html(prediction, "embeddings.npy")).words)
    for forecast in prediction.forecasts.values():
        for kind in ("test", "train"):
            for n in (1, 12):
                assert format.digits(float(getattr(forecast.curve, kind)[n])) in words
        assert str(forecast.epochs_to_target["test"]) in words


def test_a_hostile_file_name_is_only_text(prediction):
    text = report.html(prediction, HOSTILE)
    page = Outline(text)
    assert page.named("img") == page.named("script") == []
    assert HOSTILE in page.words  # the parser unescapes: readers see the name as it is
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)


@hypothesis.given(st.text(max_size=40))
@hypothesis.settings(max_examples=15)
def test_any_name_leaves_the_page_whole(prediction, name):
    page = Outline(report.html(prediction, name))
    page_without = Outline(report.html(prediction, "plain"))
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in page_without.tags]


def test_it_loads_nothing(prediction):
    text = report.html(prediction, "embeddings.npy")
    assert not re.search(r"https?://|url\(|@import|<script|<iframe|<img", text)
    page = Outline(text)
    assert [link["href"] for link in page.named("link")] == ["data:,"]
    policy = next(one["content"] for one in page.named("meta") if "http-equiv" in one)
    assert policy.startswith("default-src 'none'")


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


# the plots -------------------------------------------------------------------------------------------------


def numbers(path):
    return [float(found) for found in re.findall(r"-?\d+\.?\d*", path)]


def test_a_power_law_is_a_straight_line_where_it_should_be():
    x = np.array([1.0, 10.0, 100.0])
    drawn = figures.loglog("a law", [figures.Series("law", "iid", x, 1 / x, linestyle="-")], "x", "y")
    line = numbers(re.search(r'class="line" d="M([^"]*)"', drawn)[1])
    (x0, y0), (x1, y1), (x2, y2) = zip(line[::2], line[1::2], strict=True)
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)
    assert y1 - y0 == pytest.approx(y2 - y1, abs=0.2)
    assert x0 < x1
    assert y0 < y1  # y runs downwards in SVG, and the law falls


def test_everything_drawn_is_inside_the_frame():
    x = np.arange(0, 60)
    y = np.where(x < 40, 1.0 / np.maximum(x, 1) ** 2, 0.0)
    y[45:50] = np.nan
    y[50:] = 1e-40
    error = np.full(60, 0.5)
    one = figures.Series("s", "iid", x, y, error=error, linestyle="--", marker="s", dots=True)
    drawn = figures.loglog("s", [one], "x", "y", [(0.5, "target")])
    for path in re.findall(r' d="([^"]*)"', drawn):
        if "a4" in path or "v7" in path:  # a mark, drawn around its own origin
            continue
        assert "nan" not in path
        assert "inf" not in path
    band = numbers(re.search(r'class="band" d="([^"]*)"', drawn)[1])
    assert min(band) >= 0
    assert max(band[::2]) <= figures.WIDTH
    assert max(band[1::2]) <= figures.HEIGHT


def test_nothing_to_draw_is_said():
    empty = figures.loglog("All losses are zero.", [figures.Series("s", "iid", [1], [0.0])], "x", "y")
    assert "nothing to draw" in empty


@hypothesis.given(st.floats(-30, 30), st.floats(0, 30))
@hypothesis.example(1.00001, 0.0)  # between 10 and 11
def test_any_axis_has_a_few_labels_inside_it(low, length):
    high = low + max(length, 0.04)
    labelled, minor = figures._ticks(low, high)
    assert 1 <= len(labelled) <= 7
    assert all(low - 1e-6 <= place <= high + 1e-6 for place, _ in labelled)
    assert all(low <= place <= high for place in minor)
    assert len({label for _, label in labelled}) == len(labelled)


@pytest.mark.parametrize(
    ("mantissa", "exponent", "label"),
    [(1, 0, "1"), (2, -3, "0.002"), (1, 4, "10,000"), (1, -5, "10⁻⁵"), (3, 12, "3·10¹²")],
)
def test_labels_of_an_axis_are_as_one_writes_them(mantissa, exponent, label):
    assert figures._power(mantissa, exponent) == label


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
    chosen = format.milestones(recorded)
    assert chosen[0] == 1
    assert chosen[-1] == last
    assert len(chosen) <= 4
    assert set(chosen) <= set(recorded.tolist())
