"""A prediction as one HTML file: three plots and the numbers, readable by day and night, on paper and on a phone.

The file needs nothing else: no network, no script, no font, no picture beside it, and its own content policy forbids
to load any. Everything that comes from a reader's file, its name above all, is escaped.
"""

from html import escape

import numpy as np

from edgelaw import plots
from edgelaw._common import atomic
from edgelaw.cli import figures, format
from edgelaw.cli.format import digits, plain, uncertain

_HOW = {
    "exact": ("exact", "exact theory on the measured eigenvalues"),
    "simulated": ("simulated", "simulated on these rows"),
    "pilot": ("pilot", "simulated on a random subset of the same shape"),
}
# The book's colours, and lighter ones of the same hue for a dark page.
_DARK = {
    "iid": "#56b4e9",
    "random_reshuffle": "#f2b632",
    "single_shuffle": "#2fc79b",
    "flip_flop": "#e79bc8",
    "data": "#7cc5ef",
    "fit": "#ff8a4c",
}


def html(prediction, name, version=""):
    """The whole report as text.

    Parameters
    ----------
    prediction : edgelaw.predict.Prediction
        What to report.
    name : str
        The name of the file that was read, as the reader knows it; it is escaped here.
    version : str
        Version of the library, for the last line.

    Returns
    -------
    str
        A complete HTML page.
    """
    name = str(name).encode("utf-8", "replace").decode("utf-8")
    safe = escape(name)
    sections = [
        _head(prediction, safe),
        _advice(prediction),
        _tiles(prediction),
        _cautions(prediction),
        _spectrum(prediction),
        _curves(prediction),
        _orders(prediction),
        _diagnostic(prediction),
        _steps(prediction),
        _epochs(prediction),
        _foot(version),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'\">\n"
        '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n'
        f"<title>{safe} · edgelaw report</title>\n<style>{_style()}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(section for section in sections if section)
        + "\n</main>\n</body>\n</html>\n"
    )


def write(path, prediction, name, version=""):
    """Write the report, whole or not at all; a report that was there before stays until then."""
    atomic.write(path, html(prediction, name, version))


# pieces ----------------------------------------------------------------------------------------------------


def _sentence(text):
    return escape(str(text))


def _shape(prediction):
    m, d = prediction.shape
    return f"{m:,} × {d:,}"


def _head(prediction, safe):
    return (
        f'<header><p class="kicker">SGD at the spectral edge · report</p><h1>{safe}</h1>'
        f"<p>{_shape(prediction)} after preprocessing; {prediction.epochs:,} "
        f"epoch{'s' if prediction.epochs != 1 else ''}, {_step_words(prediction)}.</p></header>"
    )


def _step_words(prediction):
    return "every order at its best step" if prediction.step == "best" else f"step {plain(prediction.step)}"


def _advice(prediction):
    advice = prediction.advice
    title = "No clear winner" if advice.tie else "Recommendation"
    return (
        f'<section class="advice" aria-labelledby="advice"><h2 id="advice">{title}</h2>'
        f"<p>{_sentence(advice.reason)}</p></section>"
    )


def _tiles(prediction):
    fit, error = prediction.edge, prediction.edge_error
    exponent = "none"
    if fit is not None:
        value, _, spread = uncertain(fit.beta, error).partition(" ± ")
        exponent = value + (f" <small>± {spread}</small>" if spread else "")
    values = [
        ("edge exponent β", exponent),
        ("effective rank", f"{digits(prediction.effective_rank)} <small>of {prediction.shape[1]:,}</small>"),
        ("quantile ratio 95 / 5 %", digits(prediction.quantile_ratio)),
        ("rows / columns", digits(prediction.shape[0] / prediction.shape[1])),
    ]
    cells = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in values)
    return f'<dl class="tiles">{cells}</dl>'


def _cautions(prediction):
    if not prediction.warnings:
        return ""
    entries = "".join(f"<li>{_sentence(caution.text)}</li>" for caution in prediction.warnings)
    return (
        '<section class="cautions" aria-labelledby="cautions"><h2 id="cautions">Before you rely on it</h2>'
        f"<ul>{entries}</ul></section>"
    )


def _figure(number, title, drawing, series, caption):
    return (
        f"<figure><h3>{title}</h3>{drawing}{figures.legend(series)}<figcaption><b>Figure {number}.</b> {caption}"
        "</figcaption></figure>"
    )


def _spectrum(prediction):
    values = np.sort(np.asarray(prediction.eigenvalues, dtype=float))
    positive = values[values > 0]
    null = len(values) - len(positive)
    ranks = np.arange(1, len(positive) + 1) / len(values)  # as plots.spectrum_cdf draws it
    series = [figures.Series("eigenvalues", "data", positive, ranks, dots=True)]
    fit = prediction.edge
    label = f"Fraction of the {len(values):,} eigenvalues below each value, on logarithmic axes."
    caption = "Fraction F(λ) of positive eigenvalues of XᵀX/m up to λ"
    caption += f" ({null:,} of {len(values):,} are zero and not shown). " if null else ". "
    if fit is None:
        caption += "No power law could be fitted to the left edge."
    else:
        low, high = fit.window
        reach = np.geomspace(max(low / 10, fit.lambda_0 * (1 + 1e-9)), high * 10, 120)
        inside = np.geomspace(low, high, 40)
        law = f"Q (λ − {digits(fit.lambda_0)})" if fit.lambda_0 else "Q λ"
        series.append(figures.Series("", "fit", reach, fit.cdf(reach), linestyle="-", thin=True))
        series.append(
            figures.Series(
                f"fitted edge, β = {digits(fit.beta, 2)}, Q = {digits(fit.Q, 2)}",
                "fit",
                inside,
                fit.cdf(inside),
                linestyle="-",
            )
        )
        label += f" The fitted edge has exponent {digits(fit.beta, 2)} and constant {digits(fit.Q, 2)}."
        caption += (
            f"The line is the fitted left edge, F(λ) ≈ {law}<sup>β</sup> with β = "
            f"{uncertain(fit.beta, prediction.edge_error)}, bold over the {fit.count:,} eigenvalues that it was fitted "
            "to. While such a law lasts, gradient descent's test loss falls as n<sup>−β</sup>."
        )
    drawing = figures.loglog(label, series, "eigenvalue λ", "F(λ)")
    figure = _figure(1, "The spectrum and its left edge", drawing, series, caption)
    return f'<section aria-label="Spectrum" class="plots one">{figure}</section>'


def _series(prediction, kind):
    """Curves of all orders: a line where it is computed, a band where it is measured, hollow marks beside a line."""
    drawn = []
    for order, forecast in prediction.forecasts.items():
        style, curve = plots.ORDER_STYLES[order], forecast.curve
        error = getattr(curve, f"{kind}_se") if forecast.how != "exact" else None
        name = style["label"] + ("" if forecast.how == "exact" else f" ({_HOW[forecast.how][0]})")
        shared = {"style": order, "marker": style["marker"]}
        drawn.append(
            figures.Series(
                name,
                x=curve.epochs,
                y=getattr(curve, kind),
                error=error,
                linestyle=style["linestyle"],
                **shared,
            )
        )
        beside = forecast.simulated
        if beside is not None and forecast.how == "exact":
            title = f"{style['label']}, simulated"
            drawn.append(
                figures.Series(
                    "", x=beside.epochs, y=getattr(beside, kind), hollow=True, title=title, **shared
                )
            )
    return drawn


def _curves(prediction):
    titles = {"test": "Test loss by epoch", "train": "Training loss by epoch"}
    meaning = {
        "test": "Squared parameter error, relative to its start: not a loss on held-out rows.",
        "train": "Mean squared residual on the rows themselves, relative to the squared starting error.",
    }
    target = prediction.target
    levels = [] if target is None else [(target, f"target {plain(target)}")]
    figures = []
    for number, kind in enumerate(titles, start=2):
        series = _series(prediction, kind)
        ends = "; ".join(
            f"{plots.ORDER_STYLES[order]['label']} {digits(float(getattr(forecast.curve, kind)[-1]))}"
            for order, forecast in prediction.forecasts.items()
        )
        label = f"{titles[kind]} on logarithmic axes. After {prediction.epochs:,} epochs: {ends}."
        drawing = figures.loglog(
            label, series, "epoch", f"{'test' if kind == 'test' else 'training'} loss", levels
        )
        bands = any(forecast.how != "exact" for forecast in prediction.forecasts.values())
        beside = any(one.hollow for one in series)
        caption = meaning[kind] + (" Bands are two standard errors to either side." if bands else "")
        caption += " Lines are theory, hollow marks the simulation." if beside else ""
        figures.append(_figure(number, titles[kind], drawing, series, caption))
    return f'<section aria-label="Learning curves" class="plots two">{"".join(figures)}</section>'


def _orders(prediction):
    """The table of orders, a line for each loss."""
    forecasts = prediction.forecasts
    moments = format.milestones(next(iter(forecasts.values())).curve.epochs)
    best = any(step for forecast in forecasts.values() for step in (forecast.best_step or {}).values())
    compared = any(forecast.discrepancy for forecast in forecasts.values())
    names = [f"epoch<br>{n:,}" for n in moments]
    names += [] if prediction.target is None else [f"epochs<br>to {plain(prediction.target)}"]
    names += ["best<br>step"] * best + ["simulated<br>− theory"] * compared
    head = '<th scope="col">order</th><th scope="col">known<br>by</th><th scope="col" class="n">step</th>'
    head += '<th scope="col">loss</th>' + "".join(f'<th scope="col" class="n">{name}</th>' for name in names)
    rows = []
    for order, forecast in forecasts.items():
        key = f'<span class="swatch {order}" aria-hidden="true"></span>'
        short, long = _HOW[forecast.how]
        first = (
            f'<th scope="rowgroup" rowspan="2">{key}{_sentence(plots.ORDER_STYLES[order]["label"])}</th>'
            f'<td rowspan="2" title="{long}">{short}</td><td rowspan="2" class="n">{digits(forecast.step)}</td>'
        )
        for kind, label in (("test", "test"), ("train", "training")):
            numbers = [digits(format.at(forecast.curve, n, kind)) for n in moments]
            if prediction.target is not None:
                numbers.append(escape(format.needed(forecast, kind, prediction.epochs)))
            if best:
                numbers.append(digits((forecast.best_step or {}).get(kind)))
            if compared:
                numbers.append(format.apart((forecast.discrepancy or {}).get(kind)))
            cells = "".join(f'<td class="n">{value}</td>' for value in numbers)
            rows.append(f'<tr class="{kind}">{first}<td>{label}</td>{cells}</tr>')
            first = ""
    notes = "".join(
        f'<p class="note"><b>{", ".join(_sentence(plots.ORDER_STYLES[order]["label"]) for order in orders)}:</b> '
        f"{_sentence(why)}</p>"
        for orders, why in format.reasons(prediction)
    )
    return (
        '<section aria-labelledby="orders"><h2 id="orders">The orders, in numbers</h2>'
        f'<div class="scroll" tabindex="0" role="region" aria-labelledby="orders"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>{notes}</section>"
    )


def _diagnostic(prediction):
    found = prediction.diagnostic
    return (
        '<section aria-labelledby="fits"><h2 id="fits">Are the data of the kind the theory assumes?</h2>'
        f"<p>{_sentence(found.text)}</p></section>"
    )


def _steps(prediction):
    entries = "".join(f"<li>{_sentence(step)}</li>" for step in prediction.steps)
    if not entries:
        return ""
    return (
        '<section aria-labelledby="steps"><h2 id="steps">What was done to the data</h2>'
        f"<ol>{entries}</ol></section>"
    )


def _epochs(prediction):
    """Both losses of every order at a dozen epochs."""
    orders = list(prediction.forecasts)
    recorded = prediction.forecasts[orders[0]].curve.epochs[1:]
    spread = np.geomspace(1, recorded[-1], min(len(recorded), 13))
    wanted = sorted({int(recorded[np.abs(recorded - n).argmin()]) for n in spread})
    head = "".join(
        f'<th scope="colgroup" colspan="2" class="n">{_sentence(plots.ORDER_STYLES[order]["label"])}</th>'
        for order in orders
    )
    under = '<th scope="col" class="n">test</th><th scope="col" class="n">training</th>' * len(orders)
    rows = []
    for n in wanted:
        cells = "".join(
            f'<td class="n">{digits(format.at(prediction.forecasts[order].curve, n, kind))}</td>'
            for order in orders
            for kind in ("test", "train")
        )
        rows.append(f'<tr><th scope="row" class="n">{n:,}</th>{cells}</tr>')
    return (
        '<section aria-labelledby="epochs"><h2 id="epochs">Losses by epoch</h2>'
        '<div class="scroll" tabindex="0" role="region" aria-labelledby="epochs"><table><thead>'
        f'<tr><th scope="col" rowspan="2" class="n">epoch</th>{head}</tr><tr>{under}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div></section>"
    )


def _foot(version):
    made = f"edgelaw {escape(version)}" if version else "edgelaw"
    return (
        f"<footer><p>Made by {made}. <b>Test loss</b> is the squared distance of the parameters from the solution, "
        "<b>training loss</b> the mean squared residual on the rows; both are relative to the start and start near 1. "
        "An epoch is as many updates as there are rows; a step of 1 projects onto each row's equation. "
        "<b>Exact</b> curves are the large-matrix limit on the measured eigenvalues.</p></footer>"
    )


def _style():
    light = {order: style["color"] for order, style in plots.ORDER_STYLES.items()}
    light |= {"data": "#2f86bd", "fit": plots.THEORY["color"]}
    day = "".join(f".{name}{{--c:{colour}}}" for name, colour in light.items())
    night = "".join(f".{name}{{--c:{colour}}}" for name, colour in _DARK.items())
    return _CSS.replace("/*day*/", day).replace("/*night*/", night)


_CSS = """
:root{color-scheme:light dark;--ink:#1d232b;--soft:#5b6673;--page:#fbfbf9;--card:#fff;--line:#e3e5e8;--fine:#f1f2f4;
--accent:#00694d;--wash:#eaf6f1;--warn:#8a5a00;--warnwash:#fdf4e1}
/*day*/
@media screen and (prefers-color-scheme:dark){:root{--ink:#e7eaee;--soft:#a3adb9;--page:#14181d;--card:#1b2027;
--line:#333b46;--fine:#242b33;--accent:#5fd6b2;--wash:#16302a;--warn:#f0c063;--warnwash:#32291a}/*night*/}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:1100px;margin:0 auto;padding:2.5rem 1.25rem 3rem}
header{margin-bottom:1.5rem}
.kicker{margin:0 0 .35rem;color:var(--soft);font-size:.8rem;letter-spacing:.06em;text-transform:uppercase}
h1{margin:0;font-size:1.9rem;line-height:1.2;font-weight:650;overflow-wrap:anywhere}
header p:last-child{margin:.4rem 0 0;color:var(--soft)}
h2{margin:0 0 .6rem;font-size:1.15rem;font-weight:650}
h3{margin:0 0 .4rem;font-size:1rem;font-weight:600}
section{margin:0 0 1.75rem}
p,li{overflow-wrap:anywhere}
.advice{background:var(--wash);border-left:4px solid var(--accent);border-radius:6px;padding:1rem 1.25rem}
.advice h2{color:var(--accent);font-size:.85rem;letter-spacing:.05em;text-transform:uppercase;margin-bottom:.25rem}
.advice p{margin:0;font-size:1.15rem;line-height:1.5}
.cautions{background:var(--warnwash);border-left:4px solid var(--warn);border-radius:6px;padding:1rem 1.25rem}
.cautions h2{color:var(--warn);font-size:.85rem;letter-spacing:.05em;text-transform:uppercase;margin-bottom:.25rem}
.cautions ul{margin:0;padding-left:1.1rem}.cautions li+li{margin-top:.35rem}
.tiles{display:grid;grid-template-columns:repeat(4,1fr);gap:.75rem;margin:0 0 1.75rem}
.tiles div{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.75rem 1rem}
.tiles dt{color:var(--soft);font-size:.8rem}
.tiles dd{margin:.1rem 0 0;font-size:1.45rem;font-weight:600;font-variant-numeric:tabular-nums;white-space:nowrap}
.tiles small{font-size:.85rem;font-weight:400;color:var(--soft)}
.plots{display:grid;gap:.9rem}.plots.two{grid-template-columns:1fr 1fr}
figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:1rem 1.1rem;min-width:0}
figure svg[role=img]{display:block;width:100%;height:auto;max-height:430px}
.plots.one figure{display:grid;grid-template-columns:minmax(0,1.7fr) minmax(0,1fr);column-gap:1.75rem;
grid-template-rows:auto auto 1fr}
.plots.one figure>svg,.plots.one figure>.none{grid-row:1/4;grid-column:1}
.plots.one h3,.plots.one .legend,.plots.one figcaption{grid-column:2}
.plots.one .legend{flex-direction:column}
figcaption{color:var(--soft);font-size:.88rem;margin-top:.5rem}
svg text{font-size:13px;fill:var(--soft);font-family:inherit}
svg .axis{fill:var(--ink);font-size:14px}
svg path{fill:none}
svg .grid{stroke:var(--line);stroke-width:1}svg .fine{stroke:var(--fine);stroke-width:1}
svg .frame{stroke:var(--soft);stroke-width:1}
svg .line{stroke:var(--c);stroke-width:2;stroke-linejoin:round}
svg .thin{stroke:var(--c);stroke-width:1}
svg .band{fill:var(--c);opacity:.16}
svg .mark{fill:var(--c);stroke:var(--card);stroke-width:1}
svg .hollow{fill:var(--card);stroke:var(--c);stroke-width:1.6}
svg .dots{stroke:var(--c);stroke-width:4;stroke-linecap:round}
svg .level path{stroke:var(--ink);stroke-width:1;stroke-dasharray:2 3}svg .level text{fill:var(--ink)}
.legend{display:flex;flex-wrap:wrap;gap:.15rem 1.1rem;list-style:none;margin:.5rem 0 0;padding:0;font-size:.88rem}
.legend li{display:flex;align-items:center;gap:.45rem}.legend svg{flex:none}
.scroll{overflow-x:auto;border:1px solid var(--line);border-radius:8px;background:var(--card)}
table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.45rem .7rem;text-align:left;border-bottom:1px solid var(--line);vertical-align:bottom}
tbody tr:last-child>*,tbody tr.test:nth-last-child(2)>*{border-bottom:0}
sup{line-height:0}
thead th{white-space:nowrap;color:var(--soft);font-weight:600;font-size:.82rem}
tbody th{font-weight:600;white-space:nowrap}
tr.test>*:not([rowspan]){border-bottom:0;padding-bottom:.15rem}tr.train>*{padding-top:.15rem}
td[rowspan],th[rowspan]{vertical-align:top}thead th[rowspan]{vertical-align:bottom}
.n{text-align:right}td.n{white-space:nowrap}
.swatch{display:inline-block;width:.7rem;height:.7rem;border-radius:2px;background:var(--c);margin-right:.5rem}
.note{color:var(--soft);font-size:.9rem;margin:.6rem 0 0}
ol{margin:0;padding-left:1.25rem}
footer{color:var(--soft);font-size:.85rem;border-top:1px solid var(--line);padding-top:1rem}footer p{margin:0}
@media (max-width:760px){main{padding:1.5rem .9rem 2rem}h1{font-size:1.45rem}.tiles{grid-template-columns:1fr 1fr}
.plots.two{grid-template-columns:minmax(0,1fr)}.plots.one figure{display:block}figure{padding:.8rem .8rem}
svg text{font-size:15px}svg .axis{font-size:15.5px}.tiles dd{font-size:1.2rem}.tiles div{padding:.6rem .75rem}}
@page{margin:14mm}
@media print{body{background:#fff;font-size:10.5pt}main{max-width:none;padding:0}
figure,.advice,.cautions,tr,.tiles div{break-inside:avoid}.scroll{overflow:visible}
.advice,.cautions{-webkit-print-color-adjust:exact;print-color-adjust:exact}
table{font-size:8.5pt}th,td{padding:.3rem .4rem}}
"""
