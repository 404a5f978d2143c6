"""The built book in a real browser, every page at desktop and phone width; and proof that the check can fail."""

import shutil

import pages
import pytest
from pages import HTML

ONLINE = not (HTML / "_static" / "mathjax" / "tex-mml-chtml.js").exists()
HOSTS = ("cdn.jsdelivr.net",) if ONLINE else ()

pytestmark = pages.NEEDS_CHROMIUM


def test_which_kind_of_build_was_checked(capsys):
    if ONLINE:
        with capsys.disabled():
            print("\nNOTICE: this is an ONLINE build, whose formulas come from MathJax's public address.")
    config = (HTML / "intro.html").read_text()
    assert ("_static/mathjax/tex-mml-chtml.js" in config) != ONLINE


def test_every_page_is_whole_on_a_phone_and_on_a_desk_and_weighs_less_than_two_megabytes(chromium, address):
    complaints = []
    for path in pages.table_of_contents():
        faults, asked = pages.visit(chromium, address, path, sorted(pages.WIDTHS), HOSTS)
        weight = pages.weight(path, asked)
        if not 50_000 < weight < pages.HEAVIEST:
            faults.append(f"weighs {weight} bytes")
        complaints += [f"{path}: {fault}" for fault in faults]
    assert complaints == []


def test_formulas_are_really_there_to_be_checked(chromium, address):
    page = chromium.new_page()
    page.goto(f"{address}/chapters/01_spectral_condition.html")
    page.wait_for_selector("mjx-container")
    assert page.locator("mjx-container").count() > 30
    assert page.locator("img").count() >= 3
    page.close()


def test_search_finds_a_chapter_by_a_word_of_its_text(chromium, address):
    page = chromium.new_page()
    page.goto(f"{address}/search.html?q=staircase")
    page.wait_for_selector("#search-results li a", timeout=pages.PATIENCE)
    links = page.locator("#search-results li a").evaluate_all("nodes => nodes.map(node => node.href)")
    assert any("01_spectral_condition" in link for link in links)
    page.goto(f"{address}/search.html?q=zyzzyva")
    page.wait_for_timeout(1500)
    assert page.locator("#search-results li a").count() == 0
    page.close()


def test_the_launch_menu_leads_to_binder_and_colab(chromium, address):
    import address as repository

    slug = repository.stated().removeprefix("https://github.com/")
    page = pages.without_formulas(chromium)
    page.goto(f"{address}/chapters/01_spectral_condition.html")
    links = page.locator(".dropdown-launch-buttons a").evaluate_all("nodes => nodes.map(node => node.href)")
    file = "chapters/01_spectral_condition.ipynb"
    assert f"https://mybinder.org/v2/gh/{slug}/main?urlpath=lab/tree/{file}" in [
        link.replace("%2F", "/") for link in links
    ]
    assert f"https://colab.research.google.com/github/{slug}/blob/main/{file}" in links
    page.close()


@pytest.mark.parametrize("width", pages.WIDTHS)
def test_claims_can_be_searched_and_filtered_and_a_citation_leads_to_its_row(chromium, address, width):
    import edgelaw_ledger as claims

    ledger = claims.load()
    tally = claims.counts(ledger.values())
    page = pages.without_formulas(chromium, viewport={"width": width, "height": 900})
    page.goto(f"{address}/reference/claims.html")
    shown = page.locator("tr.claim-row:visible")
    assert shown.count() == len(ledger)
    for verdict, number in tally.items():
        page.click(f"button[data-verdict={verdict}]")
        assert shown.count() == number
        assert page.locator(f"tr.row-{verdict}:visible").count() == number
    page.click("button[data-verdict=fails]")
    page.fill("#claims-search", "E12")
    assert shown.evaluate_all("rows => rows.map(row => row.id)") == ["claim-e12"]
    assert page.locator("#claims-shown").inner_text() == f"1 of {len(ledger)} claims are shown."
    page.click("button[data-verdict=holds]")
    assert shown.count() == 0
    page.click("button[data-verdict=all]")
    page.fill("#claims-search", "zyzzyva")
    assert shown.count() == 0
    page.fill("#claims-search", "lambert")
    assert 0 < shown.count() < len(ledger)
    page.fill("#claims-search", "zyzzyva")
    page.evaluate("location.hash = '#claim-d15'")  # a link to a row that the filter hides brings it back
    page.wait_for_function("document.getElementById('claim-d15').offsetParent !== null")
    assert shown.count() == len(ledger)
    page.goto(f"{address}/chapters/06_flip_flop.html")
    page.locator("a.claim[href$='claims.html#claim-e12']").first.click()
    page.wait_for_url("**/claims.html#claim-e12")
    row = page.locator("#claim-e12")
    assert row.bounding_box()["y"] < 900
    row.locator("summary").click()
    assert row.locator(".claim-check").is_visible()
    assert row.locator("a[href^='../chapters/06_flip_flop.html#']").count() >= 1
    page.close()


# ------------------------------------------------------------------------------------------ shown to fail


HOST = "reference/scaling.html"  # a page with one formula: MathJax is there, and soon done
PLANTED = {
    "TeX error": r'<span class="math notranslate nohighlight">\(x^2^3\)</span>',
    "unknown TeX command": r'<span class="math notranslate nohighlight">\(\nosuchcommand x\)</span>',
    "formula not rendered": '<span class="math">x^2</span>',
    "page is": '<div style="width: 3000px">wide</div>',
    "image not loaded": '<img src="nowhere.png" alt="nothing">',
    "image without alt text": '<img src="_static/logo.svg">',
    "request to another host": '<img src="https://example.org/x.png" alt="elsewhere">',
    "JavaScript error": "<script>undefinedFunction()</script>",
}


@pytest.fixture(scope="module")
def scratch(chromium, tmp_path_factory):
    folder = tmp_path_factory.mktemp("scratch") / "html"
    shutil.copytree(HTML, folder, ignore=shutil.ignore_patterns("_sources", "_modules", "*.ipynb"))
    with pages.served(folder) as address:
        assert pages.problems(chromium, address, HOST, 1280, HOSTS) == []
    return folder


@pytest.mark.parametrize("complaint", PLANTED)
def test_a_planted_fault_turns_the_check_red(chromium, scratch, complaint):
    text = (HTML / HOST).read_text()
    (scratch / "planted.html").write_text(text.replace("</article>", PLANTED[complaint] + "</article>", 1))
    with pages.served(scratch) as address:
        faults = pages.problems(chromium, address, "planted.html", 1280, HOSTS)
    assert any(problem.startswith(complaint) for problem in faults), faults
