"""``edgelaw demo``: the whole idea in a few seconds, on data that ships."""

import argparse
from typing import TYPE_CHECKING, Any

from edgelaw_app.cli.terminal import Bar, command, console, line, paragraph

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from edgelaw.curves import LearningCurve
    from edgelaw_app.forecast.results import OrderForecast

SIDE, EPOCHS, RUNS = 256, 30, 4
RECORD = (1, 2, 3, 4, 6, 8, 11, 15, 20, EPOCHS)
WIDTH = 80
COLOURS = {"iid": "blue", "random_reshuffle": "yellow", "single_shuffle": "green", "flip_flop": "magenta"}

QUESTION = (
    "SGD visits the rows of a data set in some order. How fast does it learn, and does the order matter? Both can be "
    "known before the first step, from the eigenvalues of the data."
)
DATA = (
    f"Here are {SIDE} CIFAR-10 images as ResNet-50 embeddings in {SIDE} dimensions. Lines are the theory at one "
    f"learning rate; letters are real SGD on least squares, run just now: means over {RUNS} runs in each order."
)
ORDERS = (
    "i: iid, rows drawn with replacement; r: random_reshuffle, a new shuffle in every epoch; s: single_shuffle, one "
    "shuffle for all epochs; f: flip_flop, one shuffle forwards and backwards in turn."
)
LOSSES = "The parameter error is the mean square of w - w*, the training loss that of the residual; both start at 1."
NEXT = """\
Try next:
  edgelaw embeddings.npy                 your own matrix, one sample per row
  edgelaw features.npz --labels y        a linear probe on your features
  edgelaw spectrum embeddings.npy        the left edge of its spectrum
  edgelaw predict --help                 every option, with examples"""

EXAMPLES = """\
examples:
  edgelaw demo          the same numbers in every run"""


def add(commands: Any) -> None:
    """Describe the command to the parser."""
    texts = (
        "a tour of the idea on data that ships, in a few seconds",
        "SGD on shipped embeddings in four orders beside its theory, and the advice.",
        EXAMPLES,
    )
    command(commands, "demo", run, texts)


def run(arguments: argparse.Namespace) -> int:
    """Predict, simulate, show; return the exit status."""
    from edgelaw import data, kaczmarz
    from edgelaw_app import files
    from edgelaw_app.forecast import predict
    from edgelaw_app.learning_rate import learning_rate

    with Bar() as bar:
        design = files.design(data.load("cifar10").features, rows=SIDE, dims=SIDE, rng=0)
        forecast = predict(design, epochs=EPOCHS, lr=learning_rate(1.0, SIDE), progress=bar)
        runs: dict[str, LearningCurve] = {}
        for order in forecast.asked:
            bar(len(runs), len(forecast.asked), f"{order}: SGD")
            runs[order] = kaczmarz.simulate(design.matrix(), order, RECORD, runs=RUNS, starts="all")
    shown = console(WIDTH)
    shown.width = min(shown.width, WIDTH)
    for text in (QUESTION, DATA, ORDERS):
        paragraph(shown, text)
        shown.print()
    shown.print("Training loss by epoch:", style="bold")
    for dots in _plot(shown.width, forecast.asked, runs):
        shown.print(dots, no_wrap=True, overflow="crop")
    shown.print()
    shown.print(_table(forecast.asked, runs))
    paragraph(shown, LOSSES, "dim")
    shown.print()
    first, *rest = forecast.advice.sentences
    paragraph(shown, first, "bold green")
    paragraph(shown, " ".join(rest))
    shown.print()
    paragraph(shown, forecast.assumed, "dim")
    shown.print()
    line(shown, NEXT)
    return 0


def _plot(width: int, asked: "dict[str, OrderForecast]", runs: "dict[str, LearningCurve]") -> "list[Text]":
    """The training loss by epoch: a line of dots for the theory, a letter for SGD."""
    import numpy as np

    from edgelaw_app.cli.textplot import Layer, loglog

    fine, theory, letters = np.geomspace(1, EPOCHS, 240), [], []
    for number, (order, colour) in enumerate(COLOURS.items()):
        times, losses = asked[order].epochs[1:], asked[order].losses["training loss"][1:]
        theory.append(Layer(fine, np.exp(np.interp(np.log(fine), np.log(times), np.log(losses))), colour))
        part = slice(2 - number // 2, None, 2)  # every other time, in turn, since letters hide each other
        letters.append(Layer(runs[order].epochs[part], runs[order].train[part], colour, order[0]))
    return loglog(theory + letters, max(24, width - 10), 14)


def _table(asked: "dict[str, OrderForecast]", runs: "dict[str, LearningCurve]") -> "Table":
    """Both losses after the last epoch, of the theory and of SGD with its standard error."""
    from rich.table import Table

    from edgelaw_app.cli.format import digits

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(f"after {EPOCHS} epochs", no_wrap=True)
    for title in ("training loss", "SGD", "parameter error", "SGD"):
        table.add_column(title, justify="right", no_wrap=True)
    for order, one in asked.items():
        cells = []
        for name, loss in (("training loss", "train"), ("parameter error", "test")):
            mean, error = (getattr(runs[order], part)[-1] for part in (loss, f"{loss}_se"))
            cells += [digits(float(one.losses[name][-1])), f"{digits(mean)} ±{100 * error / mean:.1f}%"]
        table.add_row(f"{order[0]}  {order}", *cells)
    return table
