"""What a visitor meets besides the words: pages all can read in both themes, light, and good to share."""

import re
from pathlib import Path

import axe_playwright_python
import pages
import pytest
from pages import HTML

pytestmark = [pages.NEEDS_CHROMIUM, pytest.mark.usefixtures("built")]

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
RULES = ["image-alt", "svg-img-alt", "input-image-alt", "heading-order", "page-has-heading-one", "link-name"]
RULES += ["button-name", "label", "select-name", "html-has-lang", "document-title", "list", "listitem"]
RULES += [
    "aria-valid-attr",
    "aria-valid-attr-value",
    "aria-required-attr",
    "duplicate-id-aria",
    "meta-viewport",
]
RUN = """
rules => axe.run(document, {runOnly: {type: 'rule', values: rules}, resultTypes: ['violations']})
"""
# axe's own rule of contrast takes a minute on a page with much code; this one looks at each pair of colours once.
# A ratio of 4.5, or of 3 for large text, is level AA of the accessibility guidelines.
CONTRAST = """
() => {
  const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const over = (top, below) => {
    const alpha = top.length > 3 ? top[3] : 1;
    return [0, 1, 2].map(i => alpha * top[i] + (1 - alpha) * below[i]);
  };
  const light = rgb => {
    const [r, g, b] = rgb.map(c => c / 255).map(c => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const grounds = new Map([[null, [255, 255, 255]]]);
  const ground = node => {
    if (!grounds.has(node))
      grounds.set(node, over(parse(getComputedStyle(node).backgroundColor), ground(node.parentElement)));
    return grounds.get(node);
  };
  const faults = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !node.checkVisibility({opacityProperty: true, visibilityProperty: true}))
      continue;
    if (node.closest('script, style, noscript, svg, [disabled], [aria-disabled=true], .visually-hidden')) continue;
    const style = getComputedStyle(node), back = ground(node), front = over(parse(style.color), back);
    const [low, high] = [light(front), light(back)].sort((a, b) => a - b);
    const size = parseFloat(style.fontSize), bold = Number(style.fontWeight) >= 700;
    const ratio = (high + .05) / (low + .05), least = size >= 24 || (bold && size >= 18.66) ? 3 : 4.5;
    if (ratio < least) {
      const pair = `${style.color} on rgb(${back.map(Math.round)})`;
      faults.set(pair, `color-contrast: ${ratio.toFixed(2)}, ${pair}: ${walker.currentNode.data.trim().slice(0, 40)}`);
    }
  }
  return [...faults.values()];
}
"""


def violations(chromium, address, path, themes):
    """What is wrong with a page: axe's rules, which no theme changes, and contrast in each of the themes."""
    page = pages.without_formulas(
        chromium, viewport={"width": 1280, "height": 900}
    )  # no glyph can break a rule
    page.add_init_script("localStorage.setItem('mode', 'light'); localStorage.setItem('theme', 'light')")
    try:
        page.goto(f"{address}/{path}", wait_until="load")
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.dataset.theme") == "light"
        page.add_style_tag(content="* { transition: none !important }")  # colours as they are in the end
        page.evaluate(AXE)
        lines = [
            f"{violation['id']}: {node['html'][:120]}"
            for violation in page.evaluate(RUN, RULES)["violations"]
            for node in violation["nodes"]
        ]
        for theme in themes:  # as the button for the theme does it
            page.evaluate(
                "theme => Object.assign(document.documentElement.dataset, {theme, mode: theme})", theme
            )
            lines += page.evaluate(CONTRAST)
        return lines
    finally:
        page.close()


def test_every_page_meets_the_accessibility_rules_in_both_themes(chromium, address):
    paths = pages.table_of_contents()
    found = {path: violations(chromium, address, path, ["light", "dark"]) for path in paths}
    assert {path: lines for path, lines in found.items() if lines} == {}


PLANTED = {
    "color-contrast": '<p style="color: #999999; background: #aaaaaa">hardly to be read</p>',
    "image-alt": '<img src="_static/logo.svg">',
    "heading-order": "<h5>far below</h5>",
    "link-name": '<a href="claims.html"></a>',
    "label": '<input type="range">',
}


@pytest.mark.parametrize("rule", PLANTED)
def test_a_planted_barrier_is_found(chromium, tmp_path, rule):
    text = (HTML / "reference" / "bibliography.html").read_text()
    (tmp_path / "planted.html").write_text(text.replace("</article>", PLANTED[rule] + "</article>", 1))
    (tmp_path / "_static").symlink_to(HTML / "_static")
    with pages.served(tmp_path) as address:
        reported = violations(chromium, address, "planted.html", ["light"])
    assert any(line.startswith(f"{rule}:") for line in reported), reported


def test_text_that_only_the_dark_theme_hides_is_noticed(chromium, tmp_path):
    text = (HTML / "reference" / "bibliography.html").read_text()
    hidden = (
        '<style>html[data-theme="dark"] .dim { color: #222222 }</style><p class="dim">hardly to be read</p>'
    )
    (tmp_path / "planted.html").write_text(text.replace("</article>", hidden + "</article>", 1))
    (tmp_path / "_static").symlink_to(HTML / "_static")
    with pages.served(tmp_path) as address:
        assert violations(chromium, address, "planted.html", ["light"]) == []
        (line,) = violations(chromium, address, "planted.html", ["light", "dark"])
    assert line.startswith("color-contrast:")


def test_every_page_says_what_a_shared_link_shows():
    for path in pages.table_of_contents():
        head = (HTML / path).read_text().split("</head>")[0]
        tags = dict(
            re.findall(r'<meta (?:property|name)="((?:og|twitter):[a-z_:]+)" content="([^"]*)"', head)
        )
        required = {"og:title", "og:description", "og:url", "og:image", "og:image:alt", "twitter:card"}
        assert required <= set(tags), path
        assert tags["og:url"].endswith(path), path
        assert len(tags["og:description"]) > 40, path
        picture = tags["og:image"].rsplit("/_static/", 1)[1]
        assert (HTML / "_static" / picture).is_file()
        assert re.search(r'<link rel="icon" href="[^"]*logo\.svg"', head), path
