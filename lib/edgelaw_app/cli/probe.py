"""``edgelaw probe FILE --labels Y``: which learning rate, order and number of epochs a linear probe needs."""

import argparse
from typing import Any

from edgelaw_app.cli import forecasting
from edgelaw_app.cli.terminal import Bar, Refusal, between, chosen_orders

HELD_OUT = "0.2"
SCHEMA = "edgelaw.probe/1"
SCHEDULES = ("constant", "cosine", "linear")

EXAMPLES = """\
examples:
  edgelaw probe x.npz --key x --labels y       another key of the same file
  edgelaw probe x.csv --labels species         a column of the table
  edgelaw probe x.npy --labels y.npy           a file of their own
  edgelaw probe x.csv --labels y --held-out test.csv
                                               rows to test on from a file
  edgelaw probe x.csv --labels y --standardize
                                               columns of different scale
  edgelaw probe x.csv --labels y --lr 0.01     also: what your own lr would do
  edgelaw probe x.csv --labels y --batch 32    batches of 32 rows, averaged
  edgelaw probe x.csv --labels y --schedule cosine
                                               an lr that falls
  edgelaw probe x.csv --labels y --json        for machines: | jq .advice

Integers, booleans and texts are classes, and so are floating point numbers
that are few and whole; other numbers are regressed on. Losses are squared
errors, summed over outputs (the one-hot columns of classes), averaged over
rows. lr is what you type into torch.optim.SGD for nn.MSELoss(); the answer has
the code. How this is computed: the book's chapter "Linear probes".

JSON has schema "edgelaw.probe/1" and the fields of
edgelaw_app.forecast.Forecast."""


def add(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = forecasting.parser(
        commands,
        "probe",
        run,
        "rows with labels: lr, order and epochs of a linear probe",
        "Forecast a linear probe on features with labels: lr, order, epochs, and code.",
        EXAMPLES,
        epochs=20,
        orders="random_reshuffle, iid and single_shuffle",
    )
    parser.add_argument(
        "--labels",
        required=True,
        metavar="Y",
        help="what to predict: a key of FILE, a column of a table, another file, or FILE:KEY",
    )
    parser.add_argument(
        "--classes",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="labels are classes, or numbers (default: by their type)",
    )
    parser.add_argument(
        "--held-out",
        default=HELD_OUT,
        metavar="H",
        help="rows to test on: a fraction of FILE's, another file with the same names in it, a pair FEATURES,LABELS of "
        f"files or keys, or none (default {HELD_OUT})",
    )
    parser.add_argument(
        "--schedule",
        choices=SCHEDULES,
        default="constant",
        metavar="NAME",
        help=f"how lr changes from epoch to epoch: {', '.join(SCHEDULES)} (default constant)",
    )
    parser.add_argument(
        "--weight-decay", type=between(0), default=0.0, metavar="W", help="of torch.optim.SGD (default 0)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Read features and labels, forecast, show; return the exit status."""
    if arguments.dask is not None:
        raise Refusal("--dask is for rows without labels; leave it out, or use edgelaw predict.")
    path = forecasting.report_path(arguments)
    import dataclasses

    from edgelaw_app.cli import reading
    from edgelaw_app.forecast import Caution, Preparation, Training, probe

    options = forecasting.options(arguments, Training, Preparation)
    if arguments.order:
        options["orders"] = chosen_orders(arguments.order)
    with Bar() as bar:
        bar(what="reading")
        read = reading.features_and_labels(arguments)
        options["held_out"] = read.held_out
        forecast = probe(read.X, read.y, rng=arguments.seed, progress=bar, **options)
    odd = tuple(Caution("columns", sentence) for sentence in read.warnings)
    forecast = dataclasses.replace(
        forecast, cautions=(*odd, *forecast.cautions), preparation=(*read.notes, *forecast.preparation)
    )
    return forecasting.tell(forecast, arguments, SCHEMA, {"file": read.name, "labels": read.labels}, path)
