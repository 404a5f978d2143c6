"""The report in a real browser without a network: whole at every width, by day and night, with a hostile name."""

import re

import numpy as np
import pages
import pytest

from edgelaw import data, exact, spectrum
from edgelaw_app import cli
from edgelaw_app.cli import report
from edgelaw_app.forecast import predict, probe

pytestmark = pages.NEEDS_CHROMIUM

NAME = "<img src=x onerror=alert(1)>.npy"


@pytest.fixture(scope="module")
def chromium():
    with pages.browser() as chromium:
        yield chromium


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A report made by the command itself, simulation included, from a file with a hostile name."""
    folder = tmp_path_factory.mktemp("report")
    np.save(folder / NAME, data.gaussian(40, 40, rng=1))
    path = folder / "report.html"
    words = ["predict", str(folder / NAME), "--epochs", "12", "--target", "0.2", "--simulate"]
    words += ["--report", str(path)]
    assert cli.main([*words, "--json"]) == 0
    return path


@pytest.fixture
def opened(chromium, written):
    """Open the report offline; gives the page and what went wrong on it."""
    contexts = []

    def open_at(width, scheme="light"):
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
        )
        contexts.append(context)
        page, wrong = context.new_page(), []
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on(
            "request", lambda request: wrong.append(request.url) if "report.html" not in request.url else None
        )
        page.goto(written.as_uri(), wait_until="load")
        return page, wrong

    yield open_at
    for context in contexts:
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", pages.WIDTHS)
def test_the_report_is_whole(opened, width, scheme):
    page, wrong = opened(width, scheme)
    assert page.evaluate(pages.INSPECT) == []  # no sideways scrolling among other things
    assert wrong == []
    figures = page.locator("svg[role=img]")
    assert figures.count() == 3
    for index in range(3):
        box = figures.nth(index).bounding_box()
        assert box["width"] > 250
        assert box["height"] > 150
    outside = page.evaluate("""() => [...document.querySelectorAll('svg[role=img] text')].filter(text => {
        const inner = text.getBoundingClientRect(), outer = text.closest('svg').getBoundingClientRect();
        return inner.left < outer.left - 1 || inner.right > outer.right + 1 || inner.bottom > outer.bottom + 1;
    }).map(text => text.textContent)""")
    assert outside == []
    if width == 1280:  # a desk has room for all columns; on a phone a table scrolls inside its own frame
        cut = "nodes => nodes.filter(node => node.scrollWidth > node.clientWidth).length"
        assert page.locator(".scroll").evaluate_all(cut) == 0


def test_the_name_is_shown_as_it_is_and_nothing_of_it_runs(opened):
    page, wrong = opened(1280)
    page.wait_for_timeout(200)
    assert NAME in page.locator("h1").inner_text()
    assert page.locator("img").count() == 0
    assert wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(opened, scheme):
    page, _ = opened(1280, scheme)
    texts = page.evaluate("""() => {
        const ground = node => { for (; node; node = node.parentElement) {
            const c = getComputedStyle(node).backgroundColor; if (!c.endsWith(', 0)')) return c; } return 'white'; };
        return [...document.querySelectorAll('h1, h2, p, li, td, th, dt, dd, figcaption, svg text')].map(node =>
            [node.tagName, getComputedStyle(node)[node.closest('svg') ? 'fill' : 'color'], ground(node)]);
    }""")

    def light(colour):
        channels = [int(value) / 255 for value in re.findall(r"\d+", colour)[:3]]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    assert len(texts) > 50
    for tag, ink, ground in texts:
        high, low = sorted([light(ink), light(ground)], reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5, (tag, ink, ground)


def test_it_prints_on_a_few_pages(opened):
    page, _ = opened(1280, "dark")
    sheets = page.pdf(format="A4", print_background=True)
    assert sheets.startswith(b"%PDF")
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", sheets)) <= 4


def test_the_check_can_fail(chromium, written):
    page = chromium.new_page(viewport={"width": 390, "height": 900})
    text = written.read_text().replace("</main>", '<div style="width:900px">wide</div></main>')
    page.set_content(text)
    assert any("px wide" in problem for problem in page.evaluate(pages.INSPECT))
    page.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_report_of_a_probe_is_as_wide_as_its_screen(chromium, width):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 24))
    made = probe(X, np.where(X[:, 0] > 0, "one kind", "the other"), epochs=6, schedule="best")
    page = chromium.new_page(viewport={"width": width, "height": 900})
    page.set_content(report.html(made, NAME))
    assert page.evaluate(pages.INSPECT) == []
    advice = page.locator(".advice p").all_inner_texts()
    assert advice[0] == made.advice.sentences[0]
    assert max(map(len, advice)) < 400
    page.close()


# in a notebook ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ink", "ground"), [("#222222", "#ffffff"), ("#dddddd", "#111111")])
@pytest.mark.parametrize("width", [320, 800])
def test_what_objects_show_in_a_notebook_is_whole_on_a_light_and_a_dark_page(chromium, width, ink, ground):
    prediction = predict(data.gaussian(40, 40, rng=1), epochs=12)
    law = spectrum.edge_law(prediction.eigenvalues)
    shown = [prediction, exact.curve("iid", prediction.eigenvalues, 12), law, law.fit]
    body = "<hr>".join(one._repr_html_() for one in shown if one is not None)
    page = chromium.new_page(viewport={"width": width, "height": 900})
    page.set_content(f"<body style='margin:8px;font:14px sans-serif;color:{ink};background:{ground}'>{body}")
    assert page.evaluate(pages.INSPECT) == []
    drawings = page.locator("svg[role=img]")
    assert drawings.count() >= 3
    outside = page.evaluate("""() => [...document.querySelectorAll('svg[role=img] text')].filter(text => {
        const inner = text.getBoundingClientRect(), outer = text.closest('svg').getBoundingClientRect();
        return inner.left < outer.left - 1 || inner.right > outer.right + 1 || inner.bottom > outer.bottom + 1;
    }).map(text => text.textContent)""")
    assert outside == []
    own_ink = f"rgb({', '.join(str(int(ink[k : k + 2], 16)) for k in (1, 3, 5))})"
    fills = page.locator("svg text").evaluate_all("nodes => nodes.map(node => getComputedStyle(node).fill)")
    assert set(fills) == {own_ink}
    page.close()
