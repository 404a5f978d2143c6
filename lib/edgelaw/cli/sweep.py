"""``edgelaw sweep``: SGD itself on a reader's own data, for every order, step and seed asked for."""

import math

import numpy as np
from rich.table import Table

from edgelaw import __version__
from edgelaw.cli import cluster, format
from edgelaw.cli.design import address, prepared
from edgelaw.cli.format import digits, plain
from edgelaw.cli.predict import chosen_orders
from edgelaw.cli.show import heading
from edgelaw.cli.terminal import Bar, console, machine

SCHEMA = "edgelaw.sweep/1"


def run(arguments):
    """Read, simulate, show; return the exit status."""
    orders = chosen_orders(arguments.order)
    steps = list(dict.fromkeys(arguments.step or [1.0]))
    where = address(arguments.dask)
    with Bar() as bar:
        design = prepared(arguments)
        seeds = range(arguments.seed, arguments.seed + arguments.seeds)
        asked = (design, orders, steps, seeds, arguments.epochs)
        if where is None:
            runs = cluster.sweep(*asked, progress=bar)
        else:
            with cluster.connect(where) as client:
                runs = cluster.sweep(*asked, client=client, progress=bar)
    if arguments.json:
        shared = {"schema": SCHEMA, "version": __version__, "file": design.name, "shape": design.shape}
        found = [
            {"order": one.order, "step": one.step, "seed": one.seed}
            | {kind: getattr(one.curve, kind) for kind in ("epochs", "test", "train")}
            for one in runs
        ]
        machine({**shared, "steps": design.steps, "runs": found})
    else:
        shown = console()
        heading(shown, design.name, design.shape, design.steps)
        shown.print(table(runs))
    return 0


def table(runs):
    """Means over seeds, with standard errors, at a few epochs; the lowest mean of each column stands out."""
    moments = format.milestones(runs[0].curve.epochs)
    groups = {}
    for one in runs:
        groups.setdefault((one.order, one.step), []).append(one.curve)
    columns = [("test", n) for n in moments] + [("train", moments[-1])]
    means = {key: [_mean(curves, *column) for column in columns] for key, curves in groups.items()}
    lowest = [min(row[place][0] for row in means.values()) for place in range(len(columns))]
    found = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    found.add_column("order", no_wrap=True)
    found.add_column("step", justify="right", no_wrap=True)
    for kind, n in columns:
        found.add_column(f"{'test' if kind == 'test' else 'training'}, epoch {n:,}", justify="right")
    for (order, step), row in means.items():
        cells = [
            f"[bold green]{_said(*value)}[/]" if value[0] == least and len(means) > 1 else _said(*value)
            for value, least in zip(row, lowest, strict=True)
        ]
        found.add_row(order, plain(step), *cells)
    return found


def _mean(curves, kind, epoch):
    """Mean over seeds at an epoch, and its standard error (NaN for one seed)."""
    values = np.array([format.at(curve, epoch, kind) for curve in curves])
    error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return float(values.mean()), float(error)


def _said(mean, error):
    return digits(mean) + (f" ± {digits(error, 1)}" if math.isfinite(error) else "")
