"""Print the built book to one PDF: cover, contents, the pages in the order of the table of contents, page numbers.

Chromium prints each page as a reader would; pypdf joins them, writes the outline, and turns links between pages of the
book into links inside the file.
"""

import argparse
import contextlib
import html
import os
import shutil
import sys
import tempfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml
from playwright.sync_api import sync_playwright
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, NameObject, NullObject

import book
from book import HTML, ROOT

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
PAPER = {"format": "A4", "margin": {"top": "18mm", "bottom": "20mm", "left": "18mm", "right": "18mm"}}
# What the screen needs and paper does not. Solutions are unfolded by `OPEN`; the evidence of the claims is not, nor are
# cells whose code is folded: paper shows what they print and draw.
PRINT = """
@page { size: A4; }
.bd-sidebar-primary, .bd-sidebar-secondary, .bd-header, .bd-header-article, .header-article, .prev-next-footer,
.bd-footer, .bd-footer-content, .sidebar-toggle, .headerlink, .copybtn, .skip-link, #pst-skip-link,
.search-button__wrapper, button.toggle-button, .claims-controls, footer,
.cell details.hide { display: none !important; }
.bd-main, .bd-content, .bd-article-container, .bd-article {
  max-width: 100% !important; margin: 0 !important; padding: 0 !important; }
html { font-size: 13px; }
body { background: white; }
pre { white-space: pre-wrap !important; overflow-wrap: anywhere; font-size: .82rem; }
figure, .cell_output img, .proof, .exercise, tr { break-inside: avoid; }
/* a box that could scroll, or whose parts stand beside each other, is never divided between sheets */
[class*="highlight-"], div.highlight, .cell_input, .cell_output .output {
  display: block !important; break-inside: auto !important; }
.cell, .cell_input, .cell_output, .cell_output *, div.highlight, pre {
  break-inside: auto !important; overflow: visible !important; max-height: none !important; }
.cell_output figure { break-inside: avoid !important; } /* a picture stays with its caption */
h1, h2, h3 { break-after: avoid; break-inside: avoid; }
table { font-size: .8rem !important; }
.bd-article div.math, .bd-article mjx-container[display="true"] { overflow: visible !important; }
"""
OPEN = """
() => {
  document.documentElement.dataset.theme = 'light';
  document.querySelectorAll('details').forEach(node => { node.open = !node.closest('table.claims'); });
  document.querySelectorAll('.toggle-hidden').forEach(node => node.classList.remove('toggle-hidden'));
  // a formula wider than the paper is set smaller, not cut
  const width = document.querySelector('article').clientWidth;
  for (const box of document.querySelectorAll('mjx-container[display=true]')) {
    const inner = box.querySelector('mjx-math');
    const wide = inner ? inner.getBoundingClientRect().width : 0;
    if (wide > width) box.style.fontSize = `${Math.floor(95 * width / wide)}%`;
  }
}
"""


def files():
    """The pages of the book in order, as paths below the built folder, with the captions of their parts."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    chosen = [("", f"{toc['root']}.html")]
    for part in toc["parts"]:
        chosen += [(part["caption"], f"{chapter['file']}.html") for chapter in part["chapters"]]
    return chosen


def _ready(page):
    """Wait until formulas are set and pictures are there."""
    page.evaluate("() => window.MathJax && MathJax.startup ? MathJax.startup.promise.then(() => true) : true")
    page.evaluate(
        "() => Promise.all([...document.images].map(image => {"
        " image.loading = 'eager';"  # a lazy one far below would never come
        " return image.decode().catch(() => null); }))"
    )


def print_page(browser, path, target):
    """Print one built page and return its title."""
    with contextlib.closing(browser.new_page(viewport={"width": 660, "height": 960})) as page:
        page.goto((HTML / path).as_uri(), wait_until="load")
        page.emulate_media(media="print", color_scheme="light")
        page.add_style_tag(content=PRINT)
        _ready(page)
        page.evaluate(OPEN)
        _ready(page)
        page.pdf(path=target, print_background=True, **PAPER)
        return page.locator("h1").first.evaluate("node => node.firstChild.textContent.trim()") or path


def print_text(browser, body, target, margin=PAPER["margin"]):
    """Print a piece of HTML."""
    style = "body { font: 12pt/1.5 'DejaVu Sans', sans-serif; color: #222832; margin: 0; }"
    source = Path(target).with_suffix(".html")
    source.write_text(f"<meta charset='utf-8'><style>{style}</style>{body}")
    with contextlib.closing(browser.new_page()) as page:
        page.goto(source.as_uri(), wait_until="load")
        _ready(page)
        page.pdf(path=target, print_background=True, format="A4", margin=margin)


def cover():
    """The first sheet."""
    picture = (HTML / "_static" / "cover.png").as_uri()
    return f"""<div style="padding-top: 45mm; text-align: center">
<h1 style="font-size: 32pt; margin: 0 0 4mm">SGD at the Spectral Edge</h1>
<p style="font-size: 14pt; margin: 0 0 14mm">Learning curves of SGD from the eigenvalues of the data:<br>
an executable book and its library, edgelaw</p>
<img src="{picture}" style="width: 100%" alt="">
<p style="margin-top: 14mm">The edgelaw contributors</p>
<p style="font-size: 10pt">Code MIT, text CC BY 4.0</p></div>"""


def contents(entries):
    """The table of contents from (part, title, page number)."""
    lines, part = ["<h1>Contents</h1>"], ""
    for caption, title, number in entries:
        if caption != part:
            lines.append(f"<h3 style='margin: 5mm 0 1mm'>{html.escape(caption)}</h3>")
            part = caption
        lines.append(
            "<div style='display: flex'><span>" + html.escape(title) + "</span>"
            "<span style='flex: 1; border-bottom: 1px dotted #888; margin: 0 2mm 1.5mm'></span>"
            f"<span>{number}</span></div>"
        )
    return "\n".join(lines)


def numbers(first, last):
    """Sheets with nothing but their page number."""
    sheet = "<div style='height: 296mm; position: relative; break-after: page'>{}</div>"
    text = "<div style='position: absolute; bottom: 9mm; width: 100%; text-align: center; font-size: 9pt'>{}</div>"
    return "".join(sheet.format(text.format(number)) for number in range(first, last + 1))


def _inside(writer, starts):
    """Turn links to pages of the book into links inside the file; a path of the machine that printed leads nowhere."""
    for page in writer.pages:
        for reference in page.get("/Annots") or []:
            link = reference.get_object()
            address = urlsplit(str((link.get("/A") or {}).get("/URI", "")))
            if address.scheme != "file":
                continue
            del link[NameObject("/A")]
            target = os.path.relpath(unquote(address.path), HTML)
            if target in starts:
                place = [writer.pages[starts[target]].indirect_reference, NameObject("/XYZ")]
                link[NameObject("/Dest")] = ArrayObject([*place, *[NullObject()] * 3])


def _printed(browser, folder, chosen, say):
    """Print the chosen pages into a folder: of each its part, path, title, file and number of sheets."""
    for count, (part, path) in enumerate(chosen, 1):
        file = folder / f"{count}.pdf"
        title = print_page(browser, path, file)
        sheets = len(PdfReader(file).pages)
        say(f"{count:>3} of {len(chosen)}  {path}  {sheets} pages", flush=True)
        yield part, path, title, file, sheets


def make(target, chosen=None, say=print):
    """Print the book to ``target``, all of it or the chosen pages; return the number of sheets."""
    chromium = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    if not chromium:
        sys.exit("make pdf needs Chromium: install it or set CHROMIUM to its program.")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        printed = list(_printed(browser, folder, chosen or files(), say))
        numbered, number = [], 1  # the first page after the contents is page 1
        for part, _, title, _, sheets in printed:
            numbered.append((part, title, number))
            number += sheets
        print_text(browser, cover(), folder / "cover.pdf")
        print_text(browser, contents(numbered), folder / "contents.pdf")
        none = dict.fromkeys(PAPER["margin"], "0")
        print_text(browser, numbers(1, number - 1), folder / "numbers.pdf", none)
        browser.close()
        writer, starts = PdfWriter(), {}
        for front in ("cover.pdf", "contents.pdf"):
            writer.append(folder / front, import_outline=False)
        ahead = len(writer.pages)
        for _, path, title, file, _ in printed:
            starts[path] = len(writer.pages)
            writer.append(file, outline_item=title, import_outline=False)
        for page, stamp in zip(writer.pages[ahead:], PdfReader(folder / "numbers.pdf").pages, strict=False):
            page.merge_page(stamp)
        _inside(writer, starts)
        writer.compress_identical_objects()
        writer.add_metadata({"/Title": "SGD at the Spectral Edge", "/Author": "The edgelaw contributors"})
        writer.write(target)
        return len(writer.pages)


def main():
    """Print the book, if it is built and nothing has changed since."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    place = ROOT / "_build" / "edgelaw.pdf"
    parser.add_argument("--to", type=Path, default=place, help="where to write the PDF")
    target = parser.parse_args().to
    if problem := book.problem():
        sys.exit(problem)
    pages, size = make(target), target.stat().st_size / 1e6
    print(f"The book is printed to {os.path.relpath(target)}: {pages} pages, {size:.1f} MB.")


if __name__ == "__main__":
    main()
