"""Sphinx extension: the explorer page.

The directive ``{explorer}`` gives the controls, the drawing and the tables that assets/explorer.js fills;
``{explorer-presets}`` gives links to chosen views with sentences whose numbers come from the same tables, and fails the
build when the order said to win does not. What the script draws is written at build time from data/explorer.npz as
_static/explorer-data.js: a script, not JSON, so that the page also works from a folder without a server.
"""

import base64
import json
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from edgelaw.orders import ORDERS
from edgelaw.plots import ORDER_STYLES

sys.path.append(str(Path(__file__).resolve().parents[2] / "data" / "build"))
import explorer

PAGE = "explorer"
VIEWS = {"gaussian": "isotropic", "spectrum": "spectra"}  # the page's name of a view, the table's
RHO_LABELS = {0.25: "1/4", 0.5: "1/2", 2 / 3: "2/3"}
LABELS = {
    "cifar10": "CIFAR-10 images, ResNet-50 embeddings (512 × 512)",
    "wikipedia": "Wikipedia texts, mpnet embeddings (512 × 512)",
}
# (title, state, the order that must have the lowest loss there, or None where it does not matter, sentence)
PRESETS = (
    (
        "Why single shuffle wins on Gaussian rows",
        {"view": "gaussian", "step": 1, "n": 50, "loss": "test", "rho": 1},
        "single_shuffle",
        "After 50 epochs at step 1 its test loss is the lowest of the four: random reshuffle’s is {random_reshuffle} "
        "higher, IID’s {iid}, flip-flop’s {flip_flop}.",
    ),
    (
        "Wikipedia: random reshuffle wins",
        {"view": "spectrum", "step": 1, "n": 50, "loss": "train", "data": "wikipedia"},
        "random_reshuffle",
        "On real text embeddings a new permutation every epoch leaves the lowest training loss: single shuffle’s is "
        "{single_shuffle} higher, IID’s {iid}.",
    ),
    (
        "A step near 2",
        {"view": "gaussian", "step": 1.9, "n": 200, "loss": "train", "rho": 1},
        "random_reshuffle",
        "Compared with step 1, three of the four orders gain in test loss, none in training loss; flip-flop’s training "
        "loss is {flip_flop} random reshuffle’s.",
    ),
    (
        "Fewer rows than dimensions",
        {"view": "gaussian", "step": 1, "n": 50, "loss": "test", "rho": 0.5},
        None,
        "Half the directions are seen by no row, and every order stops at 1 − ρ = 1/2.",
    ),
)

HTML = """
<div class="explorer" id="explorer-tool" hidden>
<fieldset><legend>What the rows are</legend>
<label class="choice"><input type="radio" name="view" value="gaussian"><span>Gaussian rows</span></label>
<label class="choice"><input type="radio" name="view" value="spectrum"><span>Any spectrum</span></label>
</fieldset>
<fieldset><legend>Which loss</legend>
<label class="choice"><input type="radio" name="loss" value="test"><span>Test loss</span></label>
<label class="choice"><input type="radio" name="loss" value="train"><span>Training loss</span></label>
</fieldset>
<p class="legend" id="explorer-legend" aria-hidden="true"></p>
<div class="panels">
<figure><p id="explorer-curves-title"></p><svg id="explorer-curves" role="img"></svg></figure>
<figure class="second"><p id="explorer-steps-title"></p><svg id="explorer-steps" role="img"></svg></figure>
</div>
<div class="controls">
<div class="control"><label for="explorer-step"><span>Step η</span>
<output id="explorer-step-value"></output></label>
<input type="range" name="step" id="explorer-step" step="1"></div>
<div class="control"><div class="line"><label for="explorer-epochs">Epochs n</label>
<input type="number" name="n" min="1" step="1" aria-label="Epochs n, as a number" inputmode="numeric"></div>
<input type="range" name="epochs" id="explorer-epochs" min="0" step="1"></div>
<div class="control"><label for="explorer-rho"><span>Aspect ratio ρ = m/d</span>
<output id="explorer-rho-value"></output></label>
<input type="range" name="rho" id="explorer-rho" step="1" aria-describedby="explorer-rho-why">
<small id="explorer-rho-why"></small></div>
<div class="control"><label for="explorer-data">Spectrum, m = d</label>
<select name="data" id="explorer-data" aria-describedby="explorer-data-why"></select>
<small id="explorer-data-why"></small></div>
<div class="control"><label class="check" for="explorer-laws"><input type="checkbox" name="laws" id="explorer-laws"
aria-describedby="explorer-laws-why">Power laws (dotted)</label><small id="explorer-laws-why"></small></div>
</div>
<p class="said" id="explorer-said" aria-live="polite"></p>
<div class="scroll" tabindex="0" role="region" aria-label="The numbers at the chosen epoch"><table>
<caption id="explorer-caption"></caption>
<thead><tr><th scope="col">order</th><th scope="col">loss</th><th scope="col">against single shuffle</th>
<th scope="col">power law</th><th scope="col">best step for n</th><th scope="col">loss there</th></tr></thead>
<tbody id="explorer-numbers"></tbody></table></div>
<details><summary>All drawn numbers as a table</summary><div class="scroll" tabindex="0" role="region"
aria-label="All drawn numbers"><table><thead><tr id="explorer-heads"><th scope="col">epochs n</th></tr></thead>
<tbody id="explorer-all"></tbody></table></div></details>
<div class="foot"><p>Drawn from tables of exact curves. Between their epochs they are
interpolated: the largest error, over {held_out} curves at every epoch, is <b id="explorer-error">{error}&nbsp;%</b>.
Losses below {floor} are not drawn.</p>
<span><button type="button" id="explorer-copy">Copy the link to this view</button>
<span id="explorer-copied" role="status"></span></span></div>
</div>
<noscript><p>The explorer needs JavaScript; the chapters do not.</p></noscript>
"""


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
            | {"dash": dash(style["linestyle"])}
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


def sentence(tables, state, winner, text):
    """A preset's sentence with its numbers; refused where the winner is another one."""
    loss_of = losses(tables, state)
    least = min(loss_of, key=loss_of.get)
    if winner not in (least, None):
        raise ExtensionError(f"The explorer says that {winner} wins at {state}, but it is {least}.")
    words = {}
    for order, value in loss_of.items():
        ratio = value / loss_of[least]
        words[order] = f"{ratio:.0f} times" if ratio >= 3 else f"{100 * (ratio - 1):.0f}\u00a0%"
    return text.format(**words)


def address(state):
    """The part of the address that keeps a view."""
    return "#" + "&".join(f"{key}={value}" for key, value in state.items())


class Explorer(SphinxDirective):
    """``{explorer}``: controls, drawing, tables."""

    def run(self):
        """The raw page; the script fills it."""
        tables = explorer.tables()
        _depend(self.env)
        text = HTML.format(
            held_out=sum(len(tables[f"held out {name}"]) for name in VIEWS.values()) * 2 * len(ORDERS),
            error=f"{error_percent(tables):.2f}",
            floor="10⁻⁹",
        )
        return [nodes.raw("", text, format="html")]


class Presets(SphinxDirective):
    """``{explorer-presets}``: links to views, with what is to be seen there."""

    def run(self):
        """A list of links."""
        tables = explorer.tables()
        _depend(self.env)
        items = "".join(
            f'<li><a class="reference internal" href="{address(state).replace("&", "&amp;")}">{title}</a>. '
            f"{sentence(tables, state, winner, text)}</li>"
            for title, state, winner, text in PRESETS
        )
        return [nodes.raw("", f'<ul class="explorer-presets">{items}</ul>', format="html")]


def _depend(env):
    for path in (Path(__file__), Path(env.srcdir) / "data" / "explorer.npz"):
        env.note_dependency(str(path))


def _write(app):
    """The tables as a script beside the page's other static files."""
    if app.builder.format != "html":
        return
    folder = Path(app.outdir) / "_static"
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(exported(explorer.tables()), ensure_ascii=False, separators=(",", ":"))
    (folder / "explorer-data.js").write_text(f"window.EDGELAW_EXPLORER = {text};\n", encoding="utf-8")


def _scripts(app, pagename, templatename, context, doctree):
    if pagename == PAGE:
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
