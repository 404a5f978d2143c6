"""``edgelaw probe FILE --labels Y``: which learning rate, order and number of epochs a linear probe needs."""

import argparse
from typing import Any

from edgelaw_app.cli import forecasting
from edgelaw_app.cli.terminal import ROWS, SWITCH, TRAINING, Bar, Option, Refusal, between, command

SCHEMA = "edgelaw.probe/1"
SCHEDULES = ("constant", "cosine", "linear")
WHERE = "a key of FILE, a column of a table, another file, or FILE:KEY"
TESTED = (
    "a fraction of FILE's, another file with the same names, a pair FEATURES,LABELS of files or keys, or none"
)
LABELS: tuple[Option, ...] = (
    ("--labels", "Y", {"required": True}, f"what to predict: {WHERE}"),
    ("--classes", "", SWITCH, "labels are classes, or numbers (default: by their type)"),
    ("--held-out", "H", {"default": "0.2"}, f"rows to test on: {TESTED} (default 0.2)"),
    (
        "--schedule",
        "NAME",
        {"choices": SCHEDULES},
        f"how lr changes by epoch: {', '.join(SCHEDULES)} (default constant)",
    ),
    ("--weight-decay", "W", between(0), "of torch.optim.SGD (default 0)"),
)

EXAMPLES = """\
examples:
  edgelaw probe x.npz --key x --labels y              a key of the same file
  edgelaw probe x.npy --labels y.npy                  a file of their own
  edgelaw probe x.csv --labels y --held-out test.csv  rows to test on
  edgelaw probe x.csv --labels y --standardize        columns of any scale
  edgelaw probe x.csv --labels y --lr 0.01            also: your own lr
  edgelaw probe x.csv --labels y --schedule cosine    an lr that falls
  edgelaw probe x.csv --labels y --json               for machines

Integers, booleans, texts, and floats that are few and whole are classes; other
numbers are regressed on. Losses are squared errors, summed over outputs and
averaged over rows. lr is for torch.optim.SGD and nn.MSELoss().

JSON has schema "edgelaw.probe/1", fields of edgelaw_app.forecast.Forecast."""


def add(commands: Any) -> None:
    """Describe the command to the parser."""
    short = "rows with labels: lr, order and epochs of a linear probe"
    description = "Forecast a linear probe on features with labels: lr, order, epochs, and code."
    command(commands, "probe", run, (short, description, EXAMPLES), [*ROWS, *TRAINING, *LABELS])


def run(arguments: argparse.Namespace) -> int:
    """Read features and labels, forecast, show; return the exit status."""
    if arguments.dask is not None:
        raise Refusal("--dask is for rows without labels; leave it out, or use edgelaw predict.")
    path = forecasting.report_path(arguments)
    import dataclasses

    from edgelaw_app.cli import reading
    from edgelaw_app.forecast import Caution, Preparation, Training, probe

    options = forecasting.options(arguments, Training, Preparation)
    with Bar() as bar:
        bar(what="reading")
        read, options["held_out"] = reading.features_and_labels(arguments)
        forecast = probe(read.X, read.y, rng=arguments.seed, progress=bar, **options)
    odd = tuple(Caution("columns", sentence) for sentence in read.warnings)
    forecast = dataclasses.replace(
        forecast, cautions=(*odd, *forecast.cautions), preparation=(*read.notes, *forecast.preparation)
    )
    names = {"file": str(arguments.file), "labels": arguments.labels}
    return forecasting.tell(forecast, arguments, SCHEMA, names, path)
