"""``edgelaw predict``: what SGD will do on a reader's own data, and what to do about it."""

import argparse
import gc
import math
from typing import TYPE_CHECKING, Any

from edgelaw import __version__
from edgelaw_app.cli import labels
from edgelaw_app.cli.terminal import (
    Bar,
    add_json,
    add_orders,
    add_preprocessing,
    attempt,
    between,
    chosen_orders,
    command,
    console,
    destination,
    machine,
    printable,
    whole,
)

if TYPE_CHECKING:
    from edgelaw_app.files import Design

EPOCHS = 50
SCHEMA = "edgelaw.predict/2"

EXAMPLES = """\
examples:
  edgelaw predict embeddings.npy                                       four orders, 50 epochs, step 1
  edgelaw predict embeddings.npz --key x_train --target 0.05 --epochs 200
  edgelaw predict features.csv --order single_shuffle --step 1.3 --report report.html
  edgelaw predict table.parquet --drop label,id                        features only; --columns 'emb_*' names them
  edgelaw predict embeddings.npy --step best                           each order at its own best step
  edgelaw predict embeddings.npy --batch 64                            which lr for batches of 64, and what they cost
  edgelaw predict features.npz --key x --labels y                      lr and epochs of a linear probe on labels y
  edgelaw predict features.csv --labels species --held-out 0.3         a column of the table; 30 % of the rows to test
  edgelaw predict features.npy --labels labels.npy --batch 32          labels in a file of their own, batches of 32
  edgelaw predict features.npz --key x --labels y --lr 0.01            is 0.01 a good learning rate for this probe?
  edgelaw predict embeddings.npy --rows 512 --dims 512 --simulate      run SGD itself beside the theory
  edgelaw predict big.npy --operations 1e10                            simulate fewer rows and columns if all cost more
  edgelaw predict embeddings.npy --json | jq .advice                   for machines

Losses start at 1. "Test" is the squared parameter error, not a loss on held-out rows; "train" is the mean squared
residual on the rows themselves. Targets are assumed to be a linear function of the rows without noise. With real
labels losses end at a floor that rises with the step, so that a smaller step or fewer epochs can be better; --labels
finds them for yours.

With --labels the losses are those of your labels: squared errors, summed over outputs, averaged over rows. lr is what
you type into torch.optim.SGD for half that loss, features centred and otherwise as they are. JSON then has schema
"edgelaw.predict.labels/1" and the answer in "probe": lr, batch, order, epochs, and by epoch from 0 train and held_out.

JSON has schema "edgelaw.predict/2" and the fields of edgelaw_app.forecast.Prediction."""


def add(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = command(
        commands,
        "predict",
        run,
        "how many epochs, in which order, with which step",
        "Predict the learning curves of SGD on a data matrix in each order of the samples, and recommend one.",
        EXAMPLES,
    )
    add_preprocessing(parser)
    parser.add_argument(
        "--epochs",
        type=whole(1, 100_000),
        metavar="N",
        help=f"number of epochs (default {EPOCHS}; with --labels {labels.EPOCHS})",
    )
    parser.add_argument(
        "--target", type=between(0, 1), metavar="T", help="also count the epochs until each loss is T"
    )
    add_orders(parser)
    parser.add_argument(
        "--step",
        type=between(0, math.inf, ["best"]),
        metavar="S",
        help="in (0, 2), more with batches; or best: each order at its own (default 1; with --batch, best)",
    )
    parser.add_argument(
        "--batch",
        type=whole(1),
        default=1,
        metavar="B",
        help="rows per update, averaged as PyTorch does (default 1)",
    )
    parser.add_argument(
        "--search",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="also find the best step of each order (default: on)",
    )
    parser.add_argument(
        "--simulate",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="run SGD beside the theory, or never (default: only where theory gives no curve)",
    )
    parser.add_argument(
        "--operations",
        type=between(0),
        default=1e11,
        metavar="N",
        help="budget of simulations in multiply-adds; above it a pilot on fewer rows and columns runs (default 1e11)",
    )
    labels.add_options(parser)
    parser.add_argument("--report", metavar="PATH", help="write a report with plots, one .html file")
    add_json(parser)


def _first_result(design: "Design", what: str, result: Any) -> str:
    """A line on something that is known before the rest: the spectrum, or the curve of an order."""
    from edgelaw import spectrum
    from edgelaw_app.cli.format import digits, loss_digits

    m, d = design.shape
    if what == "spectrum":
        return f"{design.name}  {m:,} × {d:,}, effective rank {digits(spectrum.effective_rank(result))}"
    if result is None:
        return f"{what:<17} no exact curve: to be simulated"
    last = int(result.epochs[-1])
    losses = f"test {loss_digits(result.test[-1])}, training {loss_digits(result.train[-1])}"
    return f"{what:<17} after {last:,} epoch{'s' if last > 1 else ''}: {losses}"


def run(arguments: argparse.Namespace) -> int:
    """Read, predict, show; return the exit status.

    Cycles are not collected meanwhile: looking for them among what the compiler loads takes a twentieth of a forecast.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _run(arguments) if arguments.labels is None else labels.run(arguments)
    finally:
        if collecting:
            gc.enable()


def _step(step: float | str | None, batch: int) -> float | str:
    """The step to take: as asked, 1 for single rows, or best; one that no batch of its size allows is refused."""
    if step is None:
        return 1.0 if batch == 1 else "best"
    if not isinstance(step, str) and step >= 2 * batch:
        from edgelaw_app.files import InputError

        rows = "" if batch == 1 else f" with batches of {batch} rows"
        raise InputError(f"--step must be strictly between 0 and {2 * batch}{rows}, or best, not {step:g}.")
    return step


def _run(arguments: argparse.Namespace) -> int:
    labels.refuse_without_labels(arguments)
    orders = chosen_orders(arguments.order)
    step = _step(arguments.step, arguments.batch)
    path = arguments.report and destination(arguments.report, (".html", ".htm"), arguments.file)
    from edgelaw_app.cli.design import decomposed
    from edgelaw_app.forecast import predict

    with Bar() as bar:
        design = decomposed(arguments, bar)
        prediction = predict(
            design,
            epochs=arguments.epochs or EPOCHS,
            step=step,
            orders=orders,
            target=arguments.target,
            simulate="auto" if arguments.simulate is None else arguments.simulate,
            rng=arguments.seed,
            operations=arguments.operations,
            progress=bar,
            search=arguments.search or step == "best",
            batch=arguments.batch,
            watch=lambda what, result: bar.note(_first_result(design, what, result)),
        )
    failure = None
    if path:
        from edgelaw_app.cli import report

        failure = attempt(arguments.report, lambda: report.write(path, prediction, design.name, __version__))
    if arguments.json:
        machine({"schema": SCHEMA, "version": __version__, "file": design.name, **prediction.to_dict()})
    else:
        from edgelaw_app.cli import show

        shown = console()
        show.prediction(shown, prediction, design.name)
        if path and not failure:
            show.line(shown, f"\nThe report is in {printable(arguments.report)}.")
    if failure:
        raise failure
    return 0
