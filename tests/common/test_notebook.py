"""What predictions, curves and spectra show of themselves in a notebook."""

import dataclasses
import json
import re
import subprocess
import sys
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest

from edgelaw import data, laws, spectrum
from edgelaw._common import notebook
from edgelaw.curves import LearningCurve
from edgelaw_app.forecast import predict
from edgelaw_app.plain import plain


@pytest.fixture(scope="module")
def prediction():
    return predict(data.gaussian(40, 40, rng=1), epochs=12)


@pytest.fixture
def curve():
    times = np.array([0, 0.25, 0.5, 1, 2, 5])
    losses = np.array([1, 0.8, 0.6, 0.4, 0.2, 0.05])
    return LearningCurve(times, losses, losses**2, 0.01 * losses, np.full(6, np.nan))


def parsed(text):
    """The HTML as a tree (it is well-formed), its drawing, and the drawing's text."""
    root = ElementTree.fromstring(text)
    drawing = root.find("svg")
    return root, drawing, [] if drawing is None else [node.text for node in drawing.iter("text")]


def test_a_prediction_shows_its_advice_all_orders_and_a_table(prediction):
    root, drawing, labels = parsed(prediction._repr_html_())
    assert root.find("p").text == " ".join(prediction.advice.sentences)
    assert {"IID", "random reshuffle", "single shuffle", "flip-flop", "epoch", "parameter error"} <= set(
        labels
    )
    rows = [[cell.text for cell in row] for row in root.find(".//table").iter("tr")]
    assert [row[0] for row in rows] == ["order", "IID", "random reshuffle", "single shuffle", "flip-flop"]
    iid = prediction.orders["iid"]
    assert rows[1][1] == notebook.number(iid.lr)
    assert rows[1][-1].startswith(notebook.number(iid.losses["parameter error"][-1]))
    assert rows[0][-1] == "parameter error, epoch 12"
    assert prediction.assumed in "".join(root.itertext())
    assert "parameter error" in drawing.get("aria-label")


def test_a_curve_with_times_in_the_first_epoch_shows_them(curve):
    root, _, labels = parsed(curve._repr_html_())
    assert {"test", "train", "epoch", "loss"} <= set(labels)
    rows = [[cell.text for cell in row] for row in root.find(".//table").iter("tr")]
    assert rows[0][1] == "0.25"
    assert rows[1][1] == "0.8 ± 0.008"
    assert rows[2][-1] == "0.0025"


def test_the_law_of_an_edge_shows_the_verdict_and_the_tests():
    law = spectrum.edge_law(spectrum.gram_eigenvalues(data.gaussian(256, 256, rng=0)))
    root, _, labels = parsed(law._repr_html_())
    beta, error = notebook.number(law.fit.beta, 2), notebook.number(law.error, 1)
    assert root.find("p").text.startswith(f"A power law at the left edge: β = {beta} ± {error}, Q = ")
    assert {"eigenvalues", "power law"} <= set(labels)
    bent = spectrum.edge_law(spectrum.gram_eigenvalues(data.gaussian(300, 256, rng=0)))
    root, _, labels = parsed(bent._repr_html_())
    assert root.find("p").text == bent.reason
    assert "what was tried" in labels
    verdicts = {row[0].text: row[2].text for row in root.find(".//table").find("tbody")}
    assert (
        {test for test, verdict in verdicts.items() if verdict == "contradicts"} == set(bent.failed) != set()
    )
    unfitted = spectrum.edge_law(np.ones(50))
    assert parsed(unfitted._repr_html_())[0].find("p").text == unfitted.reason


def test_a_law_knows_its_eigenvalues_and_neither_json_nor_comparison_sees_them():
    values = spectrum.gram_eigenvalues(data.gaussian(128, 128, rng=0))
    law = spectrum.edge_law(values)
    np.testing.assert_array_equal(law.eigenvalues, values)
    assert "eigenvalues" not in plain(law)
    assert law == dataclasses.replace(law, eigenvalues=None)
    assert "array" not in repr(law)


@pytest.mark.parametrize(
    ("fit", "words"),
    [
        (laws.MarchenkoPastur(1.0).edge, "an exact law: F(λ) ≈ Q λ^β with β = 0.5 and Q = 0.637"),
        (laws.MarchenkoPastur(2.0).edge, "an exact law: F(λ) ≈ Q (λ − 0.0858)^β with β = 1.5"),
        (laws.EdgeFit(0.5, 0.6), "an exact law"),
        (laws.EdgeFit(0.5, 0.6, count=9, window=(1e-3, 0.1)), "fitted to 9 eigenvalues"),
    ],
)
def test_an_edge_shows_its_law_and_a_line(fit, words):
    root, drawing, _ = parsed(fit._repr_html_())
    assert words in root.find("p").text
    assert drawing is not None
    x, y = fit.line()
    assert 0 < x[0] < x[-1] < np.inf
    np.testing.assert_allclose(y, fit.cdf(x))


def every_object(prediction, curve):
    return [prediction, curve, spectrum.edge_law(prediction.eigenvalues), laws.EdgeFit(0.5, 0.6)]


def test_the_same_object_gives_the_same_bytes_whatever_the_notebooks_style(prediction, curve):
    before = [one._repr_html_() for one in every_object(prediction, curve)]
    with mpl.rc_context({"axes.facecolor": "red", "font.size": 30, "lines.linewidth": 9, "axes.grid": False}):
        style = dict(mpl.rcParams)
        assert [one._repr_html_() for one in every_object(prediction, curve)] == before
        assert dict(mpl.rcParams) == style
    assert len(set(before)) == 4


def test_no_ground_is_painted_and_text_has_the_pages_colour(prediction, curve):
    for one in every_object(prediction, curve):
        text = one._repr_html_()
        assert notebook.INK not in text
        assert "currentColor" in text
        assert not re.search(r"fill:\s*(#fff|white)", text)
        assert "http" not in text.replace("http://www.w3.org", "")
        assert len(text) < 30_000


def test_names_are_escaped():
    line = notebook.Line([1, 2], [1, 2], "<script>alert(1)</script>")
    picture = notebook.plot([line], "<b>", "&", '"<i>')
    assert not re.search("<script|<b>|<i>", picture)
    text = notebook.card("<script>", picture, ["<b>"], [["<i>"]], "<u>")
    assert not re.search("<script|<b>|<i>|<u>", text)
    assert "<script>" in "".join(parsed(text)[0].itertext())


@pytest.mark.parametrize("losses", [[1.0, 0.0], [1.0, np.nan], [1.0, 1e-200]])
def test_a_curve_that_logarithmic_axes_do_not_have_still_shows_its_numbers(losses):
    nan = np.full(2, np.nan)
    curve = LearningCurve(np.array([0, 1]), np.array(losses), np.array(losses), nan, nan)
    root, _, _ = parsed(curve._repr_html_())
    assert len(root.find(".//table").findall(".//tr")) == 3


def test_a_curve_without_times_is_no_error():
    empty = np.array([])
    assert "Learning curve" in LearningCurve(empty, empty, empty, empty, empty)._repr_html_()


def test_a_long_line_is_thinned_and_keeps_its_ends():
    x = np.arange(1.0, 100_001)
    thin, *_ = notebook.Line(x, 1 / x).points()
    assert (thin[0], thin[-1]) == (1, 100_000)
    assert 50 < len(thin) <= notebook.MOST_POINTS


def test_matplotlib_is_loaded_when_something_is_shown_and_not_before():
    code = (
        "import json, sys\nfrom edgelaw import data, spectrum\n"
        "law = spectrum.edge_law(spectrum.gram_eigenvalues(data.gaussian(64, 64, rng=0)))\n"
        "before = 'matplotlib' in sys.modules\nlaw._repr_html_()\n"
        "print(json.dumps([before, 'matplotlib' in sys.modules, 'matplotlib.pyplot' in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [False, True, False]
