"""What a built page must be when a reader opens it, seen by a real browser."""

import contextlib
import functools
import gzip
import http.server
import os
import re
import shutil
import threading
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "_build" / "html"
CHROMIUM = shutil.which(os.environ.get("CHROMIUM", "chromium"))
REQUIRED = os.environ.get("EDGELAW_BROWSER") == "required"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--disable-sync", "--no-first-run"]
WIDTHS = (1280, 390)
HEAVIEST = 2_000_000  # bytes of a page with everything that it asks for
TEXT = {".html", ".css", ".js", ".json", ".svg"}
PATIENCE = 120_000  # milliseconds: a page with a thousand formulas on a busy machine

if not CHROMIUM and REQUIRED:
    raise RuntimeError(
        "The browser tests are required here (EDGELAW_BROWSER=required), but there is no Chromium."
    )
NEEDS_CHROMIUM = pytest.mark.skipif(
    not CHROMIUM, reason="no Chromium was found: NOTHING OF THE BUILT BOOK WAS CHECKED"
)

# JavaScript errors that are known, harmless and not ours: (part of the message, why). Empty, and better kept so.
ALLOWED_ERRORS = ()

# Run in the page once MathJax has finished: everything a reader would see as broken.
INSPECT = """
() => {
  const faults = [];
  const text = node => (node.textContent || '').trim().slice(0, 60);
  for (const node of document.querySelectorAll('mjx-merror'))
    faults.push('TeX error: ' + (node.getAttribute('data-mjx-error') || text(node)));
  for (const node of document.querySelectorAll("mjx-mtext[style*='red']"))
    faults.push('unknown TeX command: ' + text(node));
  for (const node of document.querySelectorAll('span.math, div.math'))
    if (!node.querySelector('mjx-container')) faults.push('formula not rendered: ' + text(node));
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth + 1) {
    const wide = [...document.querySelectorAll('main *')].filter(
      node => node.getBoundingClientRect().right > root.clientWidth + 1);
    const names = wide.slice(0, 3).map(node => node.tagName + '.' + node.className);
    faults.push(`page is ${root.scrollWidth} px wide in a window of ${root.clientWidth}: ${names.join(', ')}`);
  }
  for (const image of document.images) {
    if (!image.complete || image.naturalWidth === 0) faults.push('image not loaded: ' + image.src);
    if (!(image.getAttribute('alt') || '').trim()) faults.push('image without alt text: ' + image.src.slice(0, 80));
  }
  return faults;
}
"""


def table_of_contents():
    """Every page of the book, as a path below the built folder."""
    text = (ROOT / "_toc.yml").read_text()
    return [f"{name}.html" for name in re.findall(r"(?:root|file): (\S+)", text)]


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(folder):
    """Serve a folder on loopback; gives the address."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@contextlib.contextmanager
def browser():
    """A headless Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        plain = chromium.new_page

        def patient(**options):
            page = plain(**options)
            page.set_default_timeout(PATIENCE)
            return page

        chromium.new_page = patient
        yield chromium
        chromium.close()


def visit(chromium, address, path, widths, hosts=()):
    """Open a page at the first width and look at it at each; everything wrong with it, and what the visit asked for.

    `hosts` may be asked besides our own. Formulas are set once: that takes longer than all the rest.
    """
    faults, own = [], urlsplit(address).netloc
    page = chromium.new_page(viewport={"width": widths[0], "height": 900})

    def on_request(request):
        host = urlsplit(request.url).netloc
        if request.url.startswith("http") and host != own and host not in hosts:
            faults.append(f"request to another host: {request.url}")

    def on_error(error):
        if not any(part in str(error) for part, _ in ALLOWED_ERRORS):
            faults.append(f"JavaScript error: {error}")

    page.on("request", on_request)
    page.on("pageerror", on_error)
    page.on("requestfailed", lambda request: faults.append(f"request failed: {request.url}"))
    page.on("response", lambda r: faults.append(f"{r.status}: {r.url}") if r.status >= 400 else None)
    try:
        page.goto(f"{address}/{path}", wait_until="load")
        if page.locator(".math").count():  # INSPECT sees what is still not rendered when patience ends
            with contextlib.suppress(Exception):
                ready = "window.MathJax && MathJax.startup && MathJax.startup.promise"
                page.wait_for_function(ready, timeout=PATIENCE)
                page.evaluate("MathJax.startup.promise.then(() => true)")
        page.evaluate(
            "document.querySelectorAll('img[loading=lazy]').forEach(image => image.loading = 'eager')"
        )
        with contextlib.suppress(Exception):  # of dozens of images INSPECT names those that never come
            page.wait_for_function("[...document.images].every(image => image.complete)", timeout=PATIENCE)
        for width in widths:
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(150)
            faults += [f"{fault} (at {width} px)" for fault in page.evaluate(INSPECT)]
        asked = page.evaluate("performance.getEntriesByType('resource').map(entry => entry.name)")
    finally:
        page.close()
    return faults, asked


def without_formulas(chromium, **options):
    """A new page that leaves formulas as they are written: faster, where they do not matter."""
    page = chromium.new_page(**options)
    page.route("**/mathjax/**", lambda route: route.abort())
    return page


def problems(chromium, address, path, width, hosts=()):
    """Everything wrong with a page at one width."""
    return visit(chromium, address, path, [width], hosts)[0]


def weight(path, asked):
    """Bytes that a visit brings over the wire: text compressed, as hosts send it, everything else as it is."""
    files = {HTML / path} | {HTML / unquote(urlsplit(url).path).lstrip("/") for url in asked}
    return sum(
        len(gzip.compress(file.read_bytes())) if file.suffix in TEXT else file.stat().st_size
        for file in files
        if file.is_file()
    )
