"""``edgelaw predict``: how fast SGD fits a linear model to a reader's rows, and in which order."""

import argparse
from typing import Any

from edgelaw_app.cli import forecasting
from edgelaw_app.cli.terminal import ROWS, TRAINING, Bar, Refusal, between, command

SCHEMA = "edgelaw.predict/3"

EXAMPLES = """\
examples:
  edgelaw predict x.npy                    the best order, lr, number of epochs
  edgelaw predict x.npy --target 0.05      as few epochs as possible to 5 %
  edgelaw predict x.npy --lr 0.001         also: what your own lr would do
  edgelaw predict x.csv --drop label,id    features only
  edgelaw predict x.npy --report r.html    a report with plots
  edgelaw predict x.npy --json             for machines: | jq .advice
  edgelaw probe x.npz --labels y           you have labels: use probe

Losses start at 1. The parameter error is the mean square of w - w*, not a loss
on held-out rows; the training loss that of the residual. Targets are assumed to
be linear in the rows, without noise. lr is for torch.optim.SGD, nn.MSELoss()
and rows centred and scaled to norm sqrt(columns), as in the code of the answer.

JSON has schema "edgelaw.predict/3", fields of edgelaw_app.forecast.Forecast."""


def add(commands: Any) -> None:
    """Describe the command to the parser."""
    short = "rows without labels: how fast SGD learns, in which order, with which lr"
    description = "Forecast SGD on the rows of a file: the best order, its lr and epochs, and code."
    target = ("--target", "T", between(0, 1), "reach this parameter error as soon as possible")
    command(commands, "predict", run, (short, description, EXAMPLES), [*ROWS, *TRAINING, target])


def run(arguments: argparse.Namespace) -> int:
    """Read, forecast, show; return the exit status."""
    if arguments.normalize is False:
        raise Refusal(
            "--no-normalize is not for predict, whose update does not see the norm of a row; leave it out."
        )
    path = forecasting.report_path(arguments)
    from edgelaw_app.cli.reading import decomposed
    from edgelaw_app.forecast import Training, predict

    options = forecasting.options(arguments, Training)
    with Bar() as bar:
        design = decomposed(arguments, bar)
        forecast = predict(design, rng=arguments.seed, progress=bar, **options)
    return forecasting.tell(forecast, arguments, SCHEMA, {"file": design.name}, path)
