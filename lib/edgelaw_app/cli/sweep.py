"""``edgelaw sweep``: SGD itself on a reader's own data, for every order, step and seed asked for."""

import argparse
from typing import Any

from edgelaw import __version__
from edgelaw_app.cli.terminal import (
    Bar,
    add_json,
    add_orders,
    add_preprocessing,
    between,
    chosen_orders,
    command,
    console,
    machine,
    whole,
)

SCHEMA = "edgelaw.sweep/1"

EXAMPLES = """\
examples:
  edgelaw sweep x.npy                        four orders at step 1, three seeds
  edgelaw sweep x.npy --step 0.5 --step 1    two steps
  edgelaw sweep x.npy --order iid --seeds 10
                                             one order, more seeds
  edgelaw sweep x.npy --seeds 100 --dask     on all cores, or with an address
  edgelaw sweep x.npy --json                 for machines, every curve

Nothing is predicted here: every number is a run of SGD, from a random start to
the weights that made the targets, without noise. test is the parameter error,
train the training loss; both start at 1. A step is twice the lr for
nn.MSELoss() times the squared norm of a row. The same seed gives the same
digits wherever it runs.

JSON has schema "edgelaw.sweep/1" with runs, each with order, step, seed,
epochs, test and train."""


def add(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = command(
        commands,
        "sweep",
        run,
        "run SGD for many orders, steps and seeds",
        "Run SGD on a data matrix for every combination of orders, steps and seeds.",
        EXAMPLES,
    )
    add_preprocessing(parser)
    add_orders(parser)
    parser.add_argument(
        "--step",
        type=between(0, 2),
        action="append",
        metavar="S",
        help="in (0, 2); repeat it for several (default 1)",
    )
    parser.add_argument(
        "--seeds",
        type=whole(1, 100_000),
        default=3,
        metavar="N",
        help="how many seeds, counted from --seed (default 3)",
    )
    parser.add_argument(
        "--epochs", type=whole(1, 100_000), default=50, metavar="N", help="epochs per run (default 50)"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read, simulate, show; return the exit status."""
    orders = chosen_orders(arguments.order)
    steps = list(dict.fromkeys(arguments.step or [1.0]))
    from edgelaw_app.cli import cluster
    from edgelaw_app.cli.design import address, prepared

    where = address(arguments.dask)
    with Bar() as bar:
        design = prepared(arguments)
        seeds = range(arguments.seed, arguments.seed + arguments.seeds)
        grid = (design, orders, steps, seeds, arguments.epochs)
        if where is None:
            runs = cluster.sweep(*grid, progress=bar)
        else:
            with cluster.connect(where) as client:
                runs = cluster.sweep(*grid, client=client, progress=bar)
    if arguments.json:
        shared = {"schema": SCHEMA, "version": __version__, "file": design.name, "shape": design.shape}
        records = [
            {"order": one.order, "step": one.step, "seed": one.seed}
            | {name: getattr(one.curve, name) for name in ("epochs", "test", "train")}
            for one in runs
        ]
        machine({**shared, "steps": design.steps, "warnings": design.warnings, "runs": records})
    else:
        from edgelaw_app.cli import show

        shown = console()
        show.heading(shown, design.name, design.shape, design.steps)
        shown.print(show.sweep_table(runs))
        show.cautions(shown, design.warnings)
    return 0
