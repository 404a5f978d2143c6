"""The report in a real browser without a network: whole at every width, by day and night, with a hostile name."""

import re

import numpy as np
import pages
import pytest

from edgelaw import data, exact, spectrum
from edgelaw_app import cli
from edgelaw_app.forecast import predict, probe

pytestmark = pages.NEEDS_CHROMIUM

NAME = "<img src=x onerror=alert(1)>.npy"


@pytest.fixture(scope="module")
def chromium():
    with pages.browser() as chromium:
        yield chromium


@pytest.fixture(scope="module", params=["predict", "probe"])
def written(request, tmp_path_factory):
    """A report made by the command itself, with as much on it as can be, from a file with a hostile name."""
    folder = tmp_path_factory.mktemp("report")
    X = data.gaussian(120 if request.param == "probe" else 40, 40, rng=1)
    np.save(folder / NAME, X)
    np.save(folder / "y.npy", np.where(X[:, 0] > 0, "one kind", "the other"))
    path = folder / "report.html"
    words = {
        "predict": ["--epochs", "12", "--target", "0.2", "--lr", "0.001"],
        "probe": [
            "--epochs",
            "6",
            "--labels",
            str(folder / "y.npy"),
            "--schedule",
            "linear",
            "--lr",
            "0.001",
        ],
    }[request.param]
    assert cli.main([request.param, str(folder / NAME), *words, "--report", str(path), "--json"]) == 0
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
    assert figures.count() == 2
    for index in range(2):
        box = figures.nth(index).bounding_box()
        assert box["width"] > 250
        assert box["height"] > 150
    outside = page.evaluate("""() => [...document.querySelectorAll('svg[role=img] text')].filter(text => {
        const inner = text.getBoundingClientRect(), outer = text.closest('svg').getBoundingClientRect();
        return inner.left < outer.left - 1 || inner.right > outer.right + 1 || inner.bottom > outer.bottom + 1;
    }).map(text => text.textContent)""")
    assert outside == []
    code = page.locator("pre")
    assert "torch.optim.SGD" in code.inner_text()
    assert code.evaluate("node => parseFloat(getComputedStyle(node).paddingLeft)") >= 8
    if (
        width == 1280
    ):  # a desk has room for all columns; on a phone table and code scroll inside their own frames
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
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0] < 128") == (
        scheme == "dark"
    )
    texts = page.evaluate("""() => {
        const ground = node => { for (; node; node = node.parentElement) {
            const c = getComputedStyle(node).backgroundColor; if (!c.endsWith(', 0)')) return c; } return 'white'; };
        const all = 'h1, h2, h3, p, li, td, th, dt, dd, pre, code, figcaption, svg text';
        return [...document.querySelectorAll(all)].map(node =>
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


def test_lines_of_the_table_stand_between_orders_and_not_within_one(opened):
    page, _ = opened(1280)
    below = page.locator("tbody tr:not(.group)").evaluate_all(
        "rows => rows.map(row => [row.className, parseFloat(getComputedStyle(row.lastElementChild).borderBottomWidth)])"
    )
    assert len(below) >= 12
    assert all(width == 0 for name, width in below if name == "first")
    assert all(width > 0 for name, width in below[:-1] if name == "")


# in a notebook ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ink", "ground"), [("#222222", "#ffffff"), ("#dddddd", "#111111")])
@pytest.mark.parametrize("width", [320, 800])
def test_what_objects_show_in_a_notebook_is_whole_on_a_light_and_a_dark_page(chromium, width, ink, ground):
    X = data.gaussian(40, 40, rng=1)
    law = spectrum.edge_law(spectrum.gram_eigenvalues(X))
    curve = exact.curve("iid", spectrum.gram_eigenvalues(X), 12, 1.0, 1.0)
    labelled = probe(data.gaussian(80, 24, rng=1), np.arange(80) % 2, epochs=3)
    shown = [predict(X, epochs=12), labelled, curve, law, law.fit]
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
