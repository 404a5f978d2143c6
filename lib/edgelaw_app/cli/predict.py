"""``edgelaw predict``: how fast SGD fits a linear model to a reader's rows, and in which order."""

import argparse
from typing import Any

from edgelaw_app.cli import forecasting
from edgelaw_app.cli.terminal import (
    Bar,
    Refusal,
    add_json,
    add_orders,
    add_preprocessing,
    between,
    chosen_orders,
    command,
    whole,
)

EPOCHS = 50
SCHEMA = "edgelaw.predict/3"

EXAMPLES = """\
examples:
  edgelaw predict x.npy                    the best order, lr, number of epochs
  edgelaw predict x.npz --key train        one array of several
  edgelaw predict x.npy --target 0.05      as few epochs as possible to 5 %
  edgelaw predict x.npy --batch 64         batches of 64 rows, averaged
  edgelaw predict x.npy --lr 0.001         also: what your own lr would do
  edgelaw predict x.npy --simulate         run SGD itself in every order
  edgelaw predict x.csv --drop label,id    features only
  edgelaw predict x.npy --report r.html    a report with plots
  edgelaw predict x.npy --json             for machines: | jq .advice
  edgelaw probe x.npz --labels y           you have labels: use probe

Losses start at 1. The parameter error is the mean square of w - w*, not a loss
on held-out rows; the training loss is the mean squared residual on the rows
themselves. Targets are assumed to be a linear function of the rows without
noise. lr is what you type into torch.optim.SGD for nn.MSELoss(), rows centred
and scaled to norm sqrt(columns); the answer has the code.

JSON has schema "edgelaw.predict/3" and the fields of
edgelaw_app.forecast.Forecast."""


def add(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = command(
        commands,
        "predict",
        run,
        "rows without labels: how fast SGD learns, in which order, with which lr",
        "Forecast SGD on the rows of a file: the best order, its lr and epochs, and code.",
        EXAMPLES,
    )
    add_preprocessing(parser)
    parser.add_argument(
        "--epochs", type=whole(1, 100_000), default=EPOCHS, metavar="N", help="the budget (default 50)"
    )
    parser.add_argument(
        "--target", type=between(0, 1), metavar="T", help="reach this parameter error as soon as possible"
    )
    add_orders(parser)
    add_rates(parser)
    parser.add_argument("--report", metavar="PATH", help="also write an HTML report, which must end in .html")
    add_json(parser)


def add_rates(parser: argparse.ArgumentParser) -> None:
    """What both forecasts have: learning rate, batch, runs."""
    parser.add_argument(
        "--lr",
        type=between(0),
        metavar="LR",
        help="also say what this lr would do, beside the best one of each order",
    )
    parser.add_argument(
        "--step",
        type=between(0),
        metavar="S",
        help="the same in units of the theory: below 2 for single rows",
    )
    parser.add_argument(
        "--batch",
        type=whole(1),
        default=1,
        metavar="B",
        help="rows per update, averaged as PyTorch does (default 1)",
    )
    parser.add_argument(
        "--simulate",
        action="store_true",
        help="run SGD in every order (default: only where theory is not enough)",
    )
    parser.add_argument(
        "--operations",
        type=between(0),
        metavar="N",
        help="multiply-adds that running SGD may take (default 2.5e10)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Read, forecast, show; return the exit status."""
    orders = chosen_orders(arguments.order)
    if arguments.normalize is False:
        raise Refusal(
            "--no-normalize is not for predict, whose update does not see the norm of a row; leave it out."
        )
    path = forecasting.report_path(arguments)
    from edgelaw_app.cli.design import decomposed
    from edgelaw_app.forecast import predict
    from edgelaw_app.forecast.request import OPERATIONS

    with Bar() as bar:
        design = decomposed(arguments, bar)
        forecast = predict(
            design,
            arguments.epochs,
            orders,
            lr=arguments.lr,
            step=arguments.step,
            target=arguments.target,
            batch=arguments.batch,
            simulate=arguments.simulate,
            operations=arguments.operations or OPERATIONS,
            rng=arguments.seed,
            progress=bar,
        )
    return forecasting.tell(forecast, arguments, SCHEMA, {"file": design.name}, path)
