"""Sphinx extension: the explorer, on its own page and as an interactive figure in a chapter.

The directive ``{explorer}`` gives the controls, the drawing and the tables that assets/explorer.js fills;
``{explorer-presets}`` gives links to chosen views with sentences whose numbers come from the same tables. What the
script draws is written at build time from data/explorer.npz as _static/explorer-data.js: a script, not JSON, so that
the page also works from a folder without a server.
"""

import base64
import json
import sys
from pathlib import Path
from typing import ClassVar

import jinja2
import matplotlib as mpl
import numpy as np
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from edgelaw.orders import ORDERS
from edgelaw.plots import DARK_COLORS, ORDER_STYLES

sys.path.append(str(Path(__file__).resolve().parents[2] / "data" / "build"))
import explorer

PAGE = "reference/explorer"
TEMPLATE = Path(__file__).with_name("explorer.html")
VIEWS = {"gaussian": "isotropic", "spectrum": "spectra"}  # the page's name of a view, the table's
RHO_LABELS = {0.25: "1/4", 0.5: "1/2", 2 / 3: "2/3"}
LABELS = {
    "cifar10": "CIFAR-10 images, ResNet-50 embeddings (512 × 512)",
    "wikipedia": "Wikipedia texts, mpnet embeddings (512 × 512)",
}
# (title, state, sentence); that each is true is a test
PRESETS = (
    (
        "Why single shuffle wins on Gaussian rows",
        {"view": "gaussian", "step": 1, "n": 50, "loss": "test", "rho": 1},
        "After 50 epochs at step 1 its test loss is the lowest of the four: random reshuffle’s is {random_reshuffle} "
        "higher, IID’s {iid}, flip-flop’s {flip_flop}.",
    ),
    (
        "Wikipedia: random reshuffle wins",
        {"view": "spectrum", "step": 1, "n": 50, "loss": "train", "data": "wikipedia"},
        "On real text embeddings a new permutation every epoch leaves the lowest training loss: single shuffle’s is "
        "{single_shuffle} higher, IID’s {iid}.",
    ),
    (
        "A step near 2",
        {"view": "gaussian", "step": 1.9, "n": 200, "loss": "train", "rho": 1},
        "Compared with step 1, three of the four orders gain in test loss, none in training loss; flip-flop’s training "
        "loss is {flip_flop} random reshuffle’s.",
    ),
    (
        "Fewer rows than dimensions",
        {"view": "gaussian", "step": 1, "n": 50, "loss": "test", "rho": 0.5},
        "Half the directions are seen by no row, and every order stops at 1 − ρ = 1/2.",
    ),
)

CONTROLS = ("view", "loss", "step", "n", "rho", "data", "laws")
IN_A_CHAPTER = ("loss", "step", "n")


def dash(style, width=2.2):
    """A matplotlib line style as an SVG dash array."""
    named = {"-": (), "--": mpl.rcParams["lines.dashed_pattern"], "-.": mpl.rcParams["lines.dashdot_pattern"]}
    pattern = named[style] if isinstance(style, str) else style[1]
    return " ".join(f"{width * part:g}" for part in pattern) or "none"


def label(name):
    """A spectrum's name on the page."""
    if name in LABELS:
        return LABELS[name]
    beta = float(name.split()[1])
    return f"designed, F(λ) ∝ λ^β with β = {beta:g}"


def error_percent(tables):
    """The largest interpolation error of both tables in per cent, rounded up to two digits after the point."""
    worst = max(float(tables[f"error {name}"]) for name in VIEWS.values())
    return np.ceil(1e4 * worst) / 100


def _plain(array):
    """Nested lists of 6-digit numbers, None for NaN."""
    if np.ndim(array):
        return [_plain(part) for part in array]
    return None if np.isnan(array) else float(f"{array:.6g}")


def exported(tables):
    """What the page's script needs, as plain lists and text."""
    views = {}
    for view, name in VIEWS.items():
        views[view] = {
            "steps": [float(x) for x in tables[f"steps {name}"]],
            "epochs": [int(n) for n in tables[f"epochs {name}"]],
            "table": base64.b64encode(tables[f"table {name}"].astype("<u2").tobytes()).decode(),
            "constants": _plain(tables[f"constants {name}"]),
            "powers": _plain(tables[f"powers {name}"]),
            "error": float(tables[f"error {name}"]),
        }
    names = [name.replace(" ", "") for name in tables["spectra"].tolist()]
    views["spectrum"] |= {"names": names, "labels": [label(name) for name in tables["spectra"].tolist()]}
    styles = [{"name": order, **ORDER_STYLES[order]} for order in ORDERS]
    return {
        "views": views,
        "rho": [float(x) for x in tables["rho"]],
        "rho_labels": [RHO_LABELS.get(float(x), f"{x:g}") for x in tables["rho"]],
        "scale": int(tables["scale"]),
        "floor": float(tables["floor"]),
        "orders": [
            {key: style[key] for key in ("name", "color", "marker", "label")}
            | {"dash": dash(style["linestyle"]), "dark": DARK_COLORS[style["name"]]}
            for style in styles
        ],
    }


def losses(tables, state):
    """The four losses of a preset, by order, as the page's script finds them."""
    name = VIEWS[state["view"]]
    if name == "isotropic":
        place = int(np.flatnonzero(np.isclose(tables["rho"], state["rho"]))[0])
    else:
        place = tables["spectra"].tolist().index(state["data"])
    values = explorer.read(name, tables[f"table {name}"], place, state["step"], np.array([state["n"]]))
    return dict(zip(ORDERS, values[:, ("test", "train").index(state["loss"]), 0], strict=True))


def sentence(tables, state, text):
    """A preset's sentence with its numbers: how much larger each loss is than the least."""
    loss_of, words = losses(tables, state), {}
    for order, value in loss_of.items():
        ratio = value / min(loss_of.values())
        words[order] = f"{ratio:.0f} times" if ratio >= 3 else f"{100 * (ratio - 1):.0f}\u00a0%"
    return text.format(**words)


class Explorer(SphinxDirective):
    """``{explorer}``: the explorer's own page; with options, in a chapter, a moving figure.

    ``figure`` names a figure on the page that shows the same standing still: in print, and where JavaScript does not
    run. ``loss``, ``step`` and ``n`` say where it starts; what the tables do not have fails the build.
    """

    option_spec: ClassVar = {
        "figure": directives.unchanged_required,
        "loss": lambda text: directives.choice(text, ("test", "train")),
        "step": float,
        "n": directives.positive_int,
    }

    def run(self):
        """The raw page; the script fills it."""
        tables, figure = explorer.tables(), self.options.pop("figure", None)
        step, last = self.options.get("step", 1.0), tables["epochs isotropic"][-1]
        if not np.isclose(tables["steps isotropic"], step).any():
            raise self.error(f"The explorer has no step {step:g}.")
        if self.options.get("n", 1) > last:
            raise self.error(f"The explorer's curves end at epoch {last}.")
        open_at = figure and PAGE in self.env.found_docs
        text = jinja2.Template(TEMPLATE.read_text(encoding="utf-8")).render(
            start={key: f"{value}" for key, value in self.options.items()},
            figure=figure,
            shown=IN_A_CHAPTER if figure else CONTROLS,
            page=self.env.app.builder.get_relative_uri(self.env.docname, PAGE) if open_at else "",
            held_out=sum(len(tables[f"held out {name}"]) for name in VIEWS.values()) * 2 * len(ORDERS),
            error=f"{error_percent(tables):.2f}",
        )
        return [nodes.raw("", text, format="html", explorer=figure or PAGE)]


class Presets(SphinxDirective):
    """``{explorer-presets}``: links to views, with what is to be seen there."""

    def run(self):
        """A list of links."""
        tables, items = explorer.tables(), ""
        for title, state, text in PRESETS:
            view = "&amp;".join(f"{key}={value}" for key, value in state.items())
            items += f'<li><a class="reference internal" href="#{view}">{title}</a>. '
            items += f"{sentence(tables, state, text)}</li>"
        return [nodes.raw("", f'<ul class="explorer-presets">{items}</ul>', format="html")]


def _write(app):
    """The tables as a script beside the page's other static files."""
    if app.builder.format != "html":
        return
    folder = Path(app.outdir) / "_static"
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(exported(explorer.tables()), ensure_ascii=False, separators=(",", ":"))
    (folder / "explorer-data.js").write_text(f"window.EDGELAW_EXPLORER = {text};\n", encoding="utf-8")


def _scripts(app, pagename, templatename, context, doctree):
    """The script, its data and its style on the pages that hold an explorer, whose still figure must be there."""
    for node in doctree.findall(nodes.raw) if doctree else ():
        figure = node.get("explorer")
        if not figure:
            continue
        if figure != PAGE and not any(figure in other["ids"] for other in doctree.findall(nodes.figure)):
            raise ExtensionError(
                f"{pagename}: the explorer is to stand in the figure {figure!r}, which is not there."
            )
        app.add_css_file("explorer.css")
        app.add_js_file("explorer-data.js", loading_method="defer")
        app.add_js_file("explorer.js", loading_method="defer")


def setup(app):
    """Register the directives, and write the tables once the builder is there."""
    app.add_directive("explorer", Explorer)
    app.add_directive("explorer-presets", Presets)
    app.connect("builder-inited", _write)
    app.connect("html-page-context", _scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
