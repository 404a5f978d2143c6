"""The explorer in a real browser, its numbers against the library's; and the tables behind it."""

import contextlib
import functools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import explorer
import explorer_page
import numpy as np
import pages
import pypdf
import pytest

import pdf
from edgelaw import exact as engines
from edgelaw.orders import ORDERS
from edgelaw.plots import ORDER_STYLES

ROOT = Path(__file__).resolve().parents[2]

CONF = """
extensions = ["myst_parser", "explorer_page"]
html_theme = "sphinx_book_theme"
html_static_path = [{assets!r}]
html_css_files = ["edgelaw.css"]
"""
PAGE = "# Explorer\n\n```{explorer}\n```\n\n## Where to start\n\n```{explorer-presets}\n```\n"
COMPACT = """# A chapter

```{explorer}
:figure: fig-still
:loss: train
:step: 0.5
:n: 20
```

```{figure} ../logo.svg
:name: fig-still
:alt: what does not move

The same, standing still.
```
"""


@pytest.fixture(scope="module")
def tables():
    return explorer.tables()


# ------------------------------------------------------------------------------------------------ the tables


@functools.cache
def computed(view, place, step, n):
    return explorer.COMPUTE[view]((place, step), np.array(n))


def exact(view, place, step, n):
    """Losses (orders, 2, n) by the library; two tests that ask for the same ones share them."""
    return computed(view, int(place), float(step), tuple(int(x) for x in n))


@pytest.mark.parametrize(("view", "low", "high"), [("isotropic", 0.05, 1.5), ("spectra", 0.1, 1.6)])
def test_random_entries_of_the_tables_are_the_librarys(tables, view, low, high):
    rng = np.random.default_rng()  # other entries every time
    steps, n = tables[f"steps {view}"], tables[f"epochs {view}"]
    allowed = np.flatnonzero((steps >= low) & (steps <= high))  # nearer to 2 single shuffle takes long
    for _ in range(2):
        place, step = rng.integers(len(tables[f"table {view}"])), rng.choice(allowed)
        truth = exact(view, place, steps[step], n)
        assert tables[f"table {view}"].shape[2:] == truth.shape
        stored = tables[f"table {view}"][place, step].astype(float)
        off = np.abs(stored + explorer.SCALE * np.log(np.maximum(truth, 1e-300)))
        # Half a unit of rounding, and what float32 logarithms kept between runs may add to it.
        assert off[stored < 65535].max() < 0.6, (view, place, step)
        assert (truth[stored == 65535] < 1e-13).all()


@pytest.mark.parametrize("view", explorer.COMPUTE)
def test_a_held_out_curve_is_within_the_recorded_error(tables, view):
    places = tables[f"held out {view}"]
    assert len(places) >= 20
    k, step = next(place for place in places if 0.3 < place[1] < 1.5)
    n = np.arange(1, explorer.EPOCHS[view][-1] + 1)
    truth = exact(view, int(k), step, n)
    interpolated = explorer.read(view, tables[f"table {view}"], int(k), step, n)
    seen = (truth > explorer.FLOOR) | (interpolated > explorer.FLOOR)
    assert seen.sum() > 20
    assert np.abs(interpolated / truth - 1)[seen].max() <= float(tables[f"error {view}"]) * (1 + 1e-6)


def test_the_printed_error_is_the_recorded_one_and_below_half_a_per_cent(tables):
    worst = max(float(tables[f"error {view}"]) for view in explorer.COMPUTE)
    assert 0 < worst < 0.005
    assert 100 * worst <= explorer_page.error_percent(tables) < 0.5


def test_the_table_and_the_card_are_those_of_the_script(tables):
    assert [str(name) for name in tables["spectra"]] == list(explorer.SPECTRA)
    np.testing.assert_array_equal(tables["rho"], explorer.RHO)
    for view in explorer.COMPUTE:
        np.testing.assert_allclose(tables[f"steps {view}"], explorer.STEPS[view], rtol=1e-12)
        assert tuple(tables[f"epochs {view}"]) == explorer.EPOCHS[view]
    for name in explorer.SPECTRA[-2:]:
        np.testing.assert_allclose(
            tables[f"eigenvalues {name}"], explorer.sample(name)[0], rtol=1e-6, atol=1e-9
        )
    assert (ROOT / "data" / "explorer.npz").stat().st_size < 350_000


def test_power_laws_are_the_librarys_constants(tables):
    step = int(np.flatnonzero(np.isclose(tables["steps isotropic"], 0.6))[0])
    for i, theory in enumerate(explorer.BY_ORDER.values()):
        constants = theory.test_constant(0.6), theory.train_constant(0.6)
        np.testing.assert_allclose(tables["constants isotropic"][step, i], constants, rtol=1e-6)
    k = list(explorer.SPECTRA).index("beta 0.5")
    step = int(np.flatnonzero(np.isclose(tables["steps spectra"], 0.6))[0])
    # The curve of the law itself, after many epochs: IID and random reshuffle reach theirs soon.
    values, weights = explorer.law(0.5, 400)
    for i, name in ((0, "iid"), (1, "random_reshuffle")):
        curve = engines.curve(name, values, np.array([300]), 0.6, weights=weights)
        law = tables["constants spectra"][k, step, i, 0] * 300**-0.5
        assert abs(law / curve.test[1] - 1) < 0.01
    assert np.isnan(tables["constants spectra"][:, :, 1:, 1]).all()  # no such constant is known
    curve = engines.curve("iid", values, np.array([300]), 0.6, weights=weights)
    assert abs(tables["constants spectra"][k, step, 0, 1] * 300**-1.5 / curve.train[1] - 1) < 0.02


def test_two_quadratures_of_a_designed_law_give_the_same_curves():
    n = np.array([1, 10, 50])
    for beta in explorer.BETA:
        few, many = (
            engines.curve("iid", v, n, 1.7, weights=w) for v, w in map(explorer.law, (beta,) * 2, (200, 320))
        )
        np.testing.assert_allclose(few.test, many.test, rtol=1e-8)
        np.testing.assert_allclose(few.train, many.train, rtol=1e-8)


# Each preset and the order that must have the lowest loss there, or None where it does not matter.
WINNERS = ("single_shuffle", "random_reshuffle", "random_reshuffle", None)
PRESETS = [(*preset, winner) for preset, winner in zip(explorer_page.PRESETS, WINNERS, strict=True)]


@pytest.mark.parametrize(("title", "state", "text", "winner"), PRESETS, ids=lambda x: str(x)[:20])
def test_what_a_preset_says_is_true(tables, title, state, text, winner):
    view = explorer_page.VIEWS[state["view"]]
    kind = ("test", "train").index(state["loss"])
    names = list(tables["rho"]) if view == "isotropic" else list(explorer.SPECTRA)
    place = names.index(state["rho"] if view == "isotropic" else state["data"])
    now = exact(view, place, state["step"], np.array([state["n"]]))[..., 0]
    losses = dict(zip(ORDERS, now[:, kind], strict=True))
    assert winner in (min(losses, key=losses.get), None)
    sentence = explorer_page.sentence(tables, state, text)
    for order, value in losses.items():  # every number in the sentence, to the digit it is given with
        if f"{{{order}}}" in text:
            ratio = value / min(losses.values())
            shown = ratio if ratio >= 3 else 100 * (ratio - 1)
            assert any(abs(float(x) - shown) < 0.8 for x in re.findall(r"\d+", sentence))
    if "Compared with step 1" in text:
        before = exact(view, place, 1.0, np.array([state["n"]]))[..., 0]
        assert (now[:, 0] < before[:, 0]).sum() == 3
        assert (now[:, 1] > before[:, 1]).all()
    if "every order stops" in text:
        assert (np.abs(exact(view, place, state["step"], np.array([200]))[:, 0, 0] - 0.5) < 0.005).all()


# ----------------------------------------------------------------------------------------------- the browser

seen_by_a_browser = pages.NEEDS_CHROMIUM


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The explorer and a chapter that holds one, in the theme of the book; it must build without a warning."""
    folder = tmp_path_factory.mktemp("explorer")
    (folder / "conf.py").write_text(CONF.format(assets=str(ROOT / "assets")))
    (folder / "index.md").write_text("# Book\n\n```{toctree}\nreference/explorer\nchapters/one\n```\n")
    (folder / "reference").mkdir()
    (folder / "reference" / "explorer.md").write_text(PAGE)
    (folder / "chapters").mkdir()
    (folder / "chapters" / "one.md").write_text(COMPACT)
    shutil.copy(ROOT / "assets" / "logo.svg", folder)
    done = built(folder)
    assert done.returncode == 0, done.stderr
    return folder / "html"


def built(folder):
    """Build the book of a folder."""
    path = os.pathsep.join([str(ROOT / "tools" / "sphinx"), str(ROOT / "lib")])
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", folder, folder / "html"]
    return subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)


@pytest.fixture(scope="module")
def chromium():
    with pages.browser() as chromium:
        yield chromium


@contextlib.contextmanager
def opened(chromium, book, width=1280, address="", theme="light", path="reference/explorer.html"):
    """The page from its folder, no server and the network off; any error or request elsewhere fails."""
    faults = []
    context = chromium.new_context(viewport={"width": width, "height": 900}, offline=True, color_scheme=theme)
    page = context.new_page()
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: faults.append(request.url) if not ours(request.url) else None)
    page.goto(f"file://{book}/{path}{address}")
    page.wait_for_selector("#explorer-tool:not([hidden])")
    page.wait_for_timeout(100)
    yield page
    context.close()
    assert faults == []


def ours(url):
    """Files and inline data; the theme's own icon fonts and badges are none of the explorer's doing."""
    return url.startswith(("file:", "data:", "blob:"))


def numbers(page):
    """The numbers of the small table: order -> (loss, ratio, law, best step, loss there)."""
    rows = page.locator("#explorer-numbers tr").evaluate_all(
        "rows => rows.map(r => [r.dataset.order, [...r.querySelectorAll('td')].map(x => x.dataset.value ?? null)])"
    )
    return {order: [None if x is None else float(x) for x in values] for order, values in rows}


def drawn(page):
    """What the left picture shows, read off its lines: order -> (epochs, losses)."""
    axes = json.loads(page.locator("#explorer-curves").get_attribute("data-axes"))
    curves = {}
    for order, d in page.locator("#explorer-curves path.curve").evaluate_all(
        "lines => lines.map(line => [line.dataset.order, line.getAttribute('d')])"
    ):
        x, y = np.array(
            [[float(z) for z in point.split(",")] for point in re.findall(r"[ML]([\d.,-]+)", d)]
        ).T
        n = axes["range"][1] ** ((x - axes["left"]) / (axes["right"] - axes["left"]))
        share = (axes["bottom"] - y) / (axes["bottom"] - axes["top"])
        curves[order] = n, 10 ** (axes["low"] + share * (axes["high"] - axes["low"]))
    return curves


def compare(page, tables, view, place, step, n, kind):
    """The table, the drawing and the sentence against the library at the state they should be in."""
    error = explorer_page.error_percent(tables) / 100
    grid = np.unique([*explorer.EPOCHS[view], n])
    truth = exact(view, place, step, grid)[:, kind]
    at, shown, lines = int(np.flatnonzero(grid == n)[0]), numbers(page), drawn(page)
    for i, order in enumerate(ORDERS):
        assert shown[order][0] == pytest.approx(truth[i, at], rel=error)
        assert shown[order][1] == pytest.approx(truth[i, at] / truth[2, at], rel=2.1 * error)
        epochs, losses = lines[order]
        np.testing.assert_allclose(epochs, explorer.EPOCHS[view], rtol=2e-3)
        listed = truth[i][np.isin(grid, explorer.EPOCHS[view])]
        np.testing.assert_allclose(losses, listed, rtol=error + 5e-3)  # a hundredth of a pixel, and the error
    assert page.locator("#explorer-all tr").count() == len(explorer.EPOCHS[view])
    values = page.locator("#explorer-all td").evaluate_all(
        "cells => cells.map(cell => Number(cell.dataset.value))"
    )
    listed = truth[:, np.isin(grid, explorer.EPOCHS[view])].T
    np.testing.assert_allclose(np.reshape(values, listed.shape), listed, rtol=error)
    best = ORDERS[int(truth[:, at].argmin())]
    page.wait_for_timeout(300)
    sentence = page.locator("#explorer-said").inner_text()
    assert f"{ORDER_STYLES[best]['label']}’s" in sentence
    assert f"{n} epochs at step {step:g}" in sentence


@seen_by_a_browser
@pytest.mark.parametrize("width", pages.WIDTHS)
def test_a_slider_is_moved_and_the_drawn_numbers_are_the_librarys(chromium, book, tables, width):
    with opened(chromium, book, width, "#view=gaussian&step=1&rho=1&n=50&loss=test") as page:
        compare(page, tables, "isotropic", explorer.RHO.index(1.0), 1.0, 50, 0)
        page.locator("#explorer-step").fill("12")  # the 13th step, 0.65
        compare(page, tables, "isotropic", explorer.RHO.index(1.0), 0.65, 50, 0)
        page.locator("#explorer-rho").fill(str(explorer.RHO.index(0.9)))
        page.get_by_label("Training loss").check(force=True)
        page.locator("input[name=n]").fill("77")
        page.locator("input[name=n]").press("Enter")
        compare(page, tables, "isotropic", explorer.RHO.index(0.9), 0.65, 77, 1)
        assert page.evaluate("location.hash") == "#view=gaussian&step=0.65&n=77&loss=train&rho=0.9"
        page.get_by_label("Any spectrum").check(force=True)
        page.locator("#explorer-data").select_option("wikipedia")
        page.locator("#explorer-step").fill("7")  # the eighth step, 0.8
        page.locator("input[name=n]").fill("33")
        page.locator("input[name=n]").press("Enter")
        compare(page, tables, "spectra", explorer.SPECTRA.index("wikipedia"), 0.8, 33, 1)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")


@seen_by_a_browser
def test_the_script_interpolates_as_the_python_that_measured_the_error(chromium, book, tables):
    rng = np.random.default_rng(3)
    ask = "([view, ...rest]) => EDGELAW_EXPLORER.loss(EDGELAW_EXPLORER.views[view], ...rest)"
    with opened(chromium, book) as page:
        for view, name in explorer_page.VIEWS.items():
            table = tables[f"table {name}"]
            for _ in range(40):
                place, stop = int(rng.integers(len(table))), int(rng.integers(len(explorer.STEPS[name])))
                order, kind, n = (
                    int(rng.integers(4)),
                    int(rng.integers(2)),
                    int(rng.integers(1, explorer.EPOCHS[name][-1] + 1)),
                )
                mine = explorer.read(name, table, place, explorer.STEPS[name][stop], np.array([n]))[
                    order, kind, 0
                ]
                assert page.evaluate(ask, [view, place, stop, order, kind, n]) == pytest.approx(
                    mine, rel=1e-9
                )


@seen_by_a_browser
def test_the_best_step_is_the_best_of_the_librarys(chromium, book, tables):
    with opened(chromium, book, address="#view=gaussian&n=20&loss=train&rho=1") as page:
        shown = numbers(page)
    steps = explorer.STEPS["isotropic"]
    for i in (0, 1, 3):  # single shuffle takes long near 2
        theory = explorer.BY_ORDER[ORDERS[i]]
        losses = np.array([theory.train_loss(20, step) for step in steps])
        assert losses[np.isclose(steps, shown[ORDERS[i]][3])][0] <= losses.min() * 1.002
        assert shown[ORDERS[i]][4] == pytest.approx(losses.min(), rel=0.002)
        law = theory.train_constant(1.0) * 20**-1.5
        assert shown[ORDERS[i]][2] == pytest.approx(law, rel=1e-4)


@seen_by_a_browser
def test_the_address_restores_a_view_and_back_and_forward_work(chromium, book):
    address = "#view=spectrum&step=1.3&n=17&loss=train&data=cifar10&laws=0"
    with opened(chromium, book, address=address) as page:
        state = "() => [...document.querySelectorAll('#explorer-tool :checked')].map(x => x.value ?? x.name).join()"
        assert page.evaluate(state) == "spectrum,train,cifar10"
        assert page.locator("#explorer-step-value").inner_text() == "1.3"
        assert page.locator("input[name=n]").input_value() == "17"
        assert "CIFAR-10" in page.locator("#explorer-caption").inner_text()
        assert page.locator("#explorer-curves path.law").count() == 0
        page.get_by_label("Test loss").check(force=True)
        page.locator("#explorer-data").select_option("beta1")
        page.go_back()
        page.wait_for_function("location.hash.includes('cifar10')")
        assert page.evaluate(state) == "spectrum,test,cifar10"
        page.go_back()
        assert page.evaluate("location.hash") == address
        assert page.evaluate(state) == "spectrum,train,cifar10"
        page.go_forward()
        page.go_forward()
        page.wait_for_function("location.hash.includes('beta1')")
        assert page.evaluate(state) == "spectrum,test,beta1"


@seen_by_a_browser
@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("#view=nonsense&step=abc&n=-3&rho=&loss=x&data=y", "view=gaussian step 1 n 1"),
        ("#step=99&n=1e9", "view=gaussian step 1.9 n 200"),
        ("#view=spectrum&step=0&n=1000000&data=<b>", "view=spectrum step 0.1 n 50"),
        ("#claims-a", "view=gaussian step 1 n 50"),
    ],
)
def test_a_nonsensical_address_shows_the_nearest_sensible_view(chromium, book, address, shown):
    with opened(chromium, book, address=address) as page:
        view = page.locator("[name=view]:checked").input_value()
        step, n = (
            page.locator("#explorer-step-value").inner_text(),
            page.locator("input[name=n]").input_value(),
        )
        assert f"view={view} step {step} n {n}" == shown
        assert page.locator("#explorer-curves path.curve").count() == 4


@seen_by_a_browser
def test_what_has_no_theory_is_greyed_out_and_says_why(chromium, book):
    with opened(chromium, book, address="#view=gaussian&rho=1") as page:
        assert page.locator("#explorer-laws").is_enabled()
        assert page.locator("#explorer-curves path.law").count() == 4
        assert page.locator("#explorer-data").is_disabled()
        assert "Marchenko" in page.locator("#explorer-data-why").inner_text()
        page.locator("#explorer-rho").fill(str(explorer.RHO.index(0.5)))
        assert page.locator("#explorer-laws").is_disabled()
        assert "No power law at ρ ≠ 1" in page.locator("#explorer-laws-why").inner_text()
        assert "1 − ρ = 0.5" in page.locator("#explorer-laws-why").inner_text()
        assert page.locator("#explorer-curves path.law").count() == 0
        page.get_by_label("Any spectrum").check(force=True)
        assert page.locator("#explorer-rho").is_disabled()
        assert "m = d" in page.locator("#explorer-rho-why").inner_text()
        assert page.locator("#explorer-data").is_enabled()
        page.get_by_label("Training loss").check(force=True)
        assert page.locator("#explorer-curves path.law").count() == 1
        assert "Only IID" in page.locator("#explorer-laws-why").inner_text()
        for name in ("rho", "data", "laws"):  # the reason is read out with its control
            assert (
                page.locator(f"#explorer-{name}").get_attribute("aria-describedby") == f"explorer-{name}-why"
            )


@seen_by_a_browser
def test_everything_can_be_done_from_the_keyboard(chromium, book):
    with opened(chromium, book, address="#view=gaussian&step=1&n=50&rho=1") as page:
        page.locator("[name=view]:checked").focus()
        page.keyboard.press("ArrowRight")
        assert page.locator("[name=view]:checked").input_value() == "spectrum"
        reached = []
        for _ in range(12):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.name || document.activeElement.tagName"))
            if reached[-1] == "step":
                page.keyboard.press("ArrowRight")
            if reached[-1] == "epochs":
                page.keyboard.press("Home")
            if reached[-1] == "data":
                page.keyboard.press("ArrowUp")
            if reached[-1] == "laws":
                page.keyboard.press("Space")
        for name in ("loss", "step", "n", "epochs", "data", "laws", "SUMMARY", "BUTTON"):
            assert name in reached
        assert page.evaluate("location.hash") == "#view=spectrum&step=1.1&n=1&loss=test&data=cifar10&laws=0"


@seen_by_a_browser
def test_every_control_has_a_name_and_the_numbers_a_table(chromium, book):
    with opened(chromium, book) as page:
        nameless = page.locator("#explorer-tool :is(input, select, button)").evaluate_all(
            "all => all.filter(x => !x.labels?.length && !x.ariaLabel && !x.textContent.trim()).map(x => x.name)"
        )
        assert nameless == []
        assert page.locator("#explorer-said").get_attribute("aria-live") == "polite"
        for name in ("curves", "steps"):
            assert len(page.locator(f"#explorer-{name}").get_attribute("aria-label")) > 20
        assert page.locator("#explorer-step").get_attribute("aria-valuetext") == "1"
        assert page.locator("#explorer-tool th:not([scope])").count() == 0
        assert page.locator("#explorer-error").inner_text().replace("\xa0", " ").endswith(" %")


CONTRAST = """
() => {
  const linear = x => x <= .04045 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4;
  const light = text => { const [r, g, b] = text.match(/[\\d.]+/g).map(x => linear(x / 255));
    return .2126 * r + .7152 * g + .0722 * b; };
  const ground = node => { for (; node; node = node.parentElement) { const c = getComputedStyle(node).backgroundColor;
    if (!/, 0\\)$|transparent/.test(c)) return light(c); } return 1; };
  const ratio = (a, b) => (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  const texts = [...document.querySelectorAll(
    '#explorer-tool :is(label > span, small, td, th, p, caption, summary, output)')];
  const inks = [...document.querySelectorAll('#explorer-tool svg text')].map(x => [getComputedStyle(x).fill, x]);
  return [...texts.filter(x => x.textContent.trim()).map(x => [getComputedStyle(x).color, x]), ...inks]
    .map(([ink, x]) => [ratio(light(ink), ground(x)), x.textContent.trim().slice(0, 30)]).filter(([r]) => r < 4.5);
}
"""


@seen_by_a_browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_can_be_read_in_light_and_dark_and_lines_are_the_books(chromium, book, theme):
    with opened(chromium, book, theme=theme) as page:
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        page.wait_for_timeout(300)
        assert page.evaluate(CONTRAST) == []
        strokes = page.locator("#explorer-curves path.curve").evaluate_all(
            "lines => lines.map(x => [x.dataset.order, x.getAttribute('stroke'), x.getAttribute('stroke-dasharray')])"
        )
        assert {order: colour for order, colour, _ in strokes} == {
            o: ORDER_STYLES[o]["color"] for o in ORDERS
        }
        assert len({dashes for *_, dashes in strokes}) == 4


@seen_by_a_browser
def test_a_preset_leads_to_its_view(chromium, book):
    with opened(chromium, book) as page:
        for title, state, _, winner in PRESETS:
            page.get_by_role("link", name=title).click()
            page.wait_for_timeout(350)
            assert page.locator("#explorer-step-value").inner_text() == f"{state['step']:g}"
            assert page.locator("[name=loss]:checked").input_value() == state["loss"]
            sentence = page.locator("#explorer-said").inner_text()
            assert f"{ORDER_STYLES[winner]['label']}’s" in sentence if winner else "agree" in sentence


def test_the_page_with_its_tables_is_light(book):
    own = sum(
        (book / "_static" / name).stat().st_size
        for name in ("explorer.js", "explorer.css", "explorer-data.js")
    )
    assert own < 500_000


# ------------------------------------------------------------------------------------------------ in a chapter

# (the built folder or None for the small book, the page, the figure, where the widget starts there)
HOSTS = [
    pytest.param(
        (None, "chapters/one.html", "fig-still", {"step": 0.5, "n": 20, "loss": "train"}), id="small"
    ),
    pytest.param(
        (
            pages.HTML,
            "chapters/03_shuffling_constants.html",
            "fig-move-the-step",
            {"step": 1, "n": 50, "loss": "test"},
        ),
        id="real",
    ),
]


@pytest.fixture
def host(request, book):
    folder, path, figure, start = request.param
    assert folder is None or (folder / path).exists(), "The book is not built: run make book first."
    return folder or book, path, figure, start


def in_chapter(chromium, host, **options):
    """The chapter that holds the widget."""
    folder, path, _, _ = host
    return opened(chromium, folder, path=path, **options)


@seen_by_a_browser
@pytest.mark.parametrize("host", HOSTS, indirect=True)
@pytest.mark.parametrize("width", pages.WIDTHS)
def test_in_a_chapter_it_stands_in_its_figure_and_reacts_to_the_step(chromium, host, tables, width):
    _, _, figure, start = host
    with in_chapter(chromium, host, width=width) as page:
        assert page.locator(f"figure#{figure} > #explorer-tool").count() == 1
        assert page.locator("#explorer-tool").count() == 1
        assert page.locator(f"figure#{figure} img").is_hidden()
        assert page.locator(f"figure#{figure} > figcaption").is_visible()
        kind = ("test", "train").index(start["loss"])
        compare_in_chapter(page, tables, start["step"], start["n"], kind)
        page.locator("#explorer-step").focus()
        page.keyboard.press("ArrowRight")
        compare_in_chapter(page, tables, start["step"] + 0.05, start["n"], kind)
        page.locator("[name=loss]:checked").focus()
        page.keyboard.press("ArrowRight")
        compare_in_chapter(page, tables, start["step"] + 0.05, start["n"], 1 - kind)
        assert page.evaluate("location.hash") == ""  # the address of a chapter is its own
        other = ("train", "test")[kind]
        expected = (
            f"explorer.html#view=gaussian&step={start['step'] + 0.05:g}&n={start['n']}&loss={other}&rho=1"
        )
        assert page.locator("#explorer-open").get_attribute("href").endswith(expected)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")
        for name in ("view", "rho", "data", "laws"):
            assert page.locator(f"[name={name}]").first.is_hidden()


def compare_in_chapter(page, tables, step, n, kind):
    """The numbers of the table, open or folded, and the sentence against the library, at m = d."""
    page.wait_for_timeout(300)
    truth = exact("isotropic", explorer.RHO.index(1.0), step, np.array([n]))[:, kind, 0]
    error, shown = explorer_page.error_percent(tables) / 100, numbers(page)
    for i, order in enumerate(ORDERS):
        assert shown[order][0] == pytest.approx(truth[i], rel=error)
    assert page.locator("#explorer-curves path.curve").count() == 4
    assert f"{n} epochs at step {step:g}" in page.locator("#explorer-said").inner_text()


@seen_by_a_browser
@pytest.mark.parametrize("host", HOSTS, indirect=True)
def test_the_still_figure_takes_its_place_in_print_and_without_javascript(chromium, host):
    folder, path, figure, _ = host
    picture = f"figure#{figure} img"
    with in_chapter(chromium, host) as page:
        page.emulate_media(media="print")
        assert page.locator(picture).is_visible()
        assert page.locator(picture).evaluate("image => image.complete && image.naturalWidth > 0")
        assert page.locator("#explorer-tool").is_hidden()
        page.emulate_media(media="screen")
        assert page.locator("#explorer-tool").is_visible()
    context = chromium.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(f"file://{folder}/{path}")
    assert page.locator(picture).is_visible()
    assert page.locator("#explorer-tool").is_hidden()
    context.close()


@seen_by_a_browser
@pytest.mark.parametrize("host", HOSTS, indirect=True)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_in_a_chapter_words_can_be_read_and_controls_have_names(chromium, host, theme):
    with in_chapter(chromium, host, theme=theme) as page:
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        page.locator("#explorer-tool details").evaluate("node => { node.open = true; }")
        page.wait_for_timeout(300)
        assert page.evaluate(CONTRAST) == []
        nameless = page.locator("#explorer-tool :is(input, select, button, a)").evaluate_all(
            "all => all.filter(x => !x.labels?.length && !x.ariaLabel && !x.textContent.trim()).map(x => x.name)"
        )
        assert nameless == []
        ids = page.locator("[id]").evaluate_all("all => all.map(x => x.id)")
        assert len([name for name in ids if name.startswith("explorer-")]) == len(
            {name for name in ids if name.startswith("explorer-")}
        )
        assert page.locator("#explorer-tool th:not([scope])").count() == 0
        assert page.locator("#explorer-said").get_attribute("aria-live") == "polite"


@seen_by_a_browser
def test_the_pdf_has_the_still_figure(chromium, book, tmp_path, monkeypatch):
    monkeypatch.setattr(pdf, "HTML", book)
    pdf.print_page(chromium, "chapters/one.html", tmp_path / "one.pdf")
    text = " ".join(sheet.extract_text() for sheet in pypdf.PdfReader(tmp_path / "one.pdf").pages)
    assert "The same, standing still." in text
    for words in ("Training loss", "Step η", "Open this view"):
        assert words not in text


@pytest.mark.parametrize(
    ("before", "after", "complaint"),
    [
        (":step: 0.5", ":step: 0.53", "no step 0.53"),
        (":n: 20", ":n: 2000", "end at epoch 200"),
        (":n: 20", ":colour: red", "Unknown option keys: ['colour']"),
        (":figure: fig-still", ":figure: fig-nowhere", "which is not there"),
    ],
)
def test_a_directive_that_asks_for_what_is_not_there_is_refused(tmp_path, before, after, complaint):
    (tmp_path / "conf.py").write_text(CONF.format(assets=str(ROOT / "assets")))
    (tmp_path / "index.md").write_text(COMPACT.replace("../", "").replace(before, after))
    shutil.copy(ROOT / "assets" / "logo.svg", tmp_path)
    done = built(tmp_path)
    assert done.returncode != 0
    assert complaint in done.stderr


def test_only_pages_with_an_explorer_load_its_tables(book):
    for path, loads in (
        ("reference/explorer.html", True),
        ("chapters/one.html", True),
        ("index.html", False),
    ):
        assert ("explorer-data.js" in (book / path).read_text()) == loads
