"""The command line: ``spectrum``, ``predict`` and ``sweep`` for your own data, ``verify`` for the paper's claims.

Here are the words it understands and what happens when something goes wrong; the commands themselves are in modules
of their own, imported only when asked for, so that ``edgelaw --help`` is instant.

What goes wrong is said in one sentence on standard error, never as a traceback: status 2 when the question or the
file makes no sense, 1 when the answer could not be computed (for ``verify``: when a check contradicts the ledger), 130
when stopped by Ctrl-C. ``EDGELAW_DEBUG=1`` in the environment shows the traceback too.

``--json`` prints one JSON object and nothing else. Its ``schema`` names the command and a version, such as
``edgelaw.predict/1``; the version changes when a field changes its meaning or goes, not when one is added. Numbers that
are not finite are ``null``.
"""

import argparse
import contextlib
import os
import sys
import traceback
import warnings
from importlib import import_module
from importlib.metadata import metadata

from edgelaw import __version__
from edgelaw.cli.terminal import (
    Refusal,
    Sentences,
    add_preprocessing,
    between,
    printable,
    reason,
    tell,
    whole,
)

EXAMPLES = """\
examples:
  edgelaw spectrum embeddings.npy           the left edge of your data's spectrum, and a plot of it
  edgelaw predict embeddings.npy            how many epochs, in which order, with which step
  edgelaw predict --help                    all that predict can be asked, by example
  edgelaw verify E12                        check one claim of the paper

The exit status is 0 when all went well, 1 when something could not be computed or confirmed, 2 when the question or the
file makes no sense; what was wrong is said in one sentence on standard error."""

SPECTRUM_EXAMPLES = """\
examples:
  edgelaw spectrum embeddings.npy                     centred, rows scaled to one norm: right for raw embeddings
  edgelaw spectrum embeddings.npz --key x_train       one array of several
  edgelaw spectrum features.csv.gz --plot cdf.png     the plot as a file, too: .png, .svg or .pdf
  edgelaw spectrum big.npy --rows 512 --dims 512      the paper's preprocessing: a square matrix from any file
  edgelaw spectrum 'shards/*.parquet' --dask          many files, block by block, on all cores
  edgelaw spectrum embeddings.npy --json | jq .edge   for machines

The edge is F(λ) ≈ Q λ^β, the fraction of eigenvalues of XᵀX/m below λ: its exponent β is the slope of the learning
curve. JSON has schema "edgelaw.spectrum/1" with file, shape, steps, null, edge, effective_rank, quantile_ratio and
eigenvalues."""

PREDICT_EXAMPLES = """\
examples:
  edgelaw predict embeddings.npy                                       four orders, 50 epochs, step 1
  edgelaw predict embeddings.npz --key x_train --target 0.05 --epochs 200
  edgelaw predict features.csv --order single_shuffle --step 1.3 --report report.html
  edgelaw predict embeddings.npy --step best                           each order at its own best step
  edgelaw predict embeddings.npy --rows 512 --dims 512 --simulate      run the real thing beside the theory
  edgelaw predict big.npy --seconds 20                                 a pilot where simulation would take longer
  edgelaw predict embeddings.npy --no-search                           sooner, without each order's best step
  edgelaw predict embeddings.npy --json | jq .advice                   for machines

Losses start at 1. "Test" is the squared parameter error, not a loss on held-out rows; "train" is the mean squared
residual on the rows themselves. JSON has schema "edgelaw.predict/1" and the fields of
edgelaw.predict.Prediction."""

SWEEP_EXAMPLES = """\
examples:
  edgelaw sweep embeddings.npy                                  four orders at step 1, three seeds each
  edgelaw sweep embeddings.npy --step 0.5 --step 1 --step 1.5   three steps
  edgelaw sweep embeddings.npy --order iid --seeds 10 --json    for machines, every curve
  edgelaw sweep embeddings.npy --seeds 100 --dask               on all cores, or --dask tcp://host:8786

Nothing is predicted here: every number is a run of SGD. The same seed gives the same digits wherever it runs. JSON has
schema "edgelaw.sweep/1" with runs, each with order, step, seed, epochs, test and train."""

VERIFY_EXAMPLES = """\
examples:
  edgelaw verify                  check all claims of the paper, on every core
  edgelaw verify D15 E12          check these two
  edgelaw verify --group F        check all of Appendix F (groups: A to H)
  edgelaw verify --failing        what does not hold, and what is true instead
  edgelaw verify --json -j 2      for machines, on two cores

The verdict of each check is computed; it is compared with the one recorded in the ledger. The exit status is 0 when
all agree, 1 when a check contradicts its record or breaks down, 2 when the question makes no sense."""


def spectrum(arguments):
    """Run ``edgelaw spectrum``."""
    return import_module("edgelaw.cli.spectrum").run(arguments)


def predict(arguments):
    """Run ``edgelaw predict``."""
    return import_module("edgelaw.cli.predict").run(arguments)


def sweep(arguments):
    """Run ``edgelaw sweep``."""
    return import_module("edgelaw.cli.sweep").run(arguments)


def verify(arguments):
    """Run ``edgelaw verify``."""
    return import_module("edgelaw_ledger.verify").run(arguments)


def _command(commands, name, run, short, description, examples):
    """A command's parser, still without arguments."""
    parser = commands.add_parser(
        name,
        help=short,
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    return parser


def _add_json(parser):
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table, and nothing else")


def _add_spectrum(commands):
    parser = _command(
        commands,
        "spectrum",
        spectrum,
        "the spectrum of your data and its left edge",
        "The spectrum of a data matrix and its left edge, which sets the slope of SGD's learning curve.",
        SPECTRUM_EXAMPLES,
    )
    add_preprocessing(parser)
    parser.add_argument("--plot", metavar="PATH", help="write the CDF plot to a .png, .svg or .pdf file")
    _add_json(parser)


def _add_predict(commands):
    parser = _command(
        commands,
        "predict",
        predict,
        "how many epochs, in which order, with which step",
        "Predict the learning curves of SGD on a data matrix in each order of the samples, and recommend one.",
        PREDICT_EXAMPLES,
    )
    add_preprocessing(parser)
    parser.add_argument(
        "--epochs", type=whole(1, 100_000), default=50, metavar="N", help="the budget of epochs (50)"
    )
    parser.add_argument(
        "--target", type=between(0, 1), metavar="T", help="how many epochs until the loss is down to T?"
    )
    _add_order(parser)
    parser.add_argument(
        "--step", type=between(0, 2, ["best"]), default=1.0, metavar="S", help="in (0, 2), or best (1)"
    )
    parser.add_argument(
        "--search",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="look for the best step of each order (done unless --no-search, which is several times faster)",
    )
    parser.add_argument(
        "--simulate",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="run SGD itself beside the theory, or never; without either, where theory does not reach",
    )
    parser.add_argument(
        "--seconds",
        type=between(0),
        default=60.0,
        metavar="S",
        help="above this cost a simulation is replaced by a pilot on fewer rows and columns (60)",
    )
    parser.add_argument("--report", metavar="PATH", help="write a report of one .html file, plots included")
    _add_json(parser)


def _add_order(parser):
    parser.add_argument(
        "--order",
        action="append",
        metavar="NAME",
        help="iid, random_reshuffle, single_shuffle or flip_flop; repeat it for several (all four)",
    )


def _add_sweep(commands):
    parser = _command(
        commands,
        "sweep",
        sweep,
        "run SGD for many orders, steps and seeds",
        "Run SGD on a data matrix for every combination of orders, steps and seeds.",
        SWEEP_EXAMPLES,
    )
    add_preprocessing(parser)
    _add_order(parser)
    parser.add_argument(
        "--step",
        type=between(0, 2),
        action="append",
        metavar="S",
        help="in (0, 2); repeat it for several (1)",
    )
    parser.add_argument(
        "--seeds", type=whole(1, 100_000), default=3, metavar="N", help="so many, from --seed on (3)"
    )
    parser.add_argument(
        "--epochs", type=whole(1, 100_000), default=50, metavar="N", help="epochs of a run (50)"
    )
    _add_json(parser)


def _add_verify(commands):
    parser = _command(
        commands,
        "verify",
        verify,
        "check the paper's claims",
        "Check the paper's claims, each by computing evidence that could contradict its verdict.",
        VERIFY_EXAMPLES,
    )
    parser.add_argument("claims", nargs="*", metavar="CLAIM", help="ids such as D15; all claims if none")
    parser.add_argument(
        "--group", action="append", default=[], metavar="LETTER", help="a whole group, A to H"
    )
    parser.add_argument("--failing", action="store_true", help="only what does not hold, with corrections")
    _add_json(parser)
    parser.add_argument(
        "-j",
        "--jobs",
        type=whole(1),
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes (default: all cores)",
    )


COMMANDS = (_add_spectrum, _add_predict, _add_sweep, _add_verify)


def parser():
    """The whole command line."""
    top = Sentences(
        prog="edgelaw",
        description="Learning curves of SGD at the left edge of the data's spectrum.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument(
        "--version", action="version", version=f"edgelaw {__version__}", help="say which version this is"
    )
    commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=Sentences)
    for add in COMMANDS:
        add(commands)
    return top


def _with_dask(words):
    """``--dask`` alone, even before the file: argparse would take the file for an address."""
    following = [*words, ""][1:]
    return [
        "--dask=local" if word == "--dask" and "://" not in after else word
        for word, after in zip(words, following, strict=True)
    ]


def _raised_here(error):
    """Whether the library itself raised an error (its refusals are ValueErrors of one sentence), not one below it."""
    frames = list(traceback.walk_tb(error.__traceback__))
    return bool(frames) and frames[-1][0].f_globals.get("__name__", "").split(".")[0] in (
        "edgelaw",
        "__main__",
    )


def _unexpected(error):
    """The last resort: what happened, where, and whom to tell."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" in {os.path.basename(frames[-1].filename)}, line {frames[-1].lineno}" if frames else ""
    what = printable(f"{type(error).__name__}: {error}".rstrip(" :."))
    what = what if len(what) <= 200 else what[:199] + "…"
    links = metadata("edgelaw").get_all("Project-URL") or []
    home = next((link.split(", ")[1] for link in links if link.startswith("Repository, ")), "its repository")
    return (
        f"This should not have happened ({what}{where}); EDGELAW_DEBUG=1 in the environment shows the details, "
        f"and an issue at {home} with them would help."
    )


def _failed(error):
    """Say in one sentence what went wrong, and return the exit status."""
    if os.environ.get("EDGELAW_DEBUG"):
        traceback.print_exception(error)
    if isinstance(error, Refusal) or (isinstance(error, ValueError) and _raised_here(error)):
        tell(f"edgelaw: {error}")
        return 2
    if isinstance(error, KeyboardInterrupt):
        tell("edgelaw: stopped.")
        return 130
    if isinstance(error, MemoryError):
        tell("edgelaw: There is not enough memory for this; --rows and --dims make a smaller matrix of it.")
    elif isinstance(error, OSError):
        place = f" ({printable(error.filename)})" if error.filename else ""
        tell(f"edgelaw: The system said no: {reason(error)}{place}.")
    else:
        tell(f"edgelaw: {_unexpected(error)}")
    return 1


def main(words=None):
    """Run the command line and return the exit status; what goes wrong is said in one sentence."""
    with (
        warnings.catch_warnings()
    ):  # a warning is for programmers: shown when they ask, and never half a sentence
        if not os.environ.get("EDGELAW_DEBUG"):
            warnings.showwarning = lambda *_, **__: None
        try:
            arguments = parser().parse_args(_with_dask(sys.argv[1:] if words is None else words))
            status = arguments.run(arguments)
            if sys.stdout is not None:
                sys.stdout.flush()
            return status
        except BrokenPipeError:  # a reader such as `head` has seen enough
            with contextlib.suppress(OSError, ValueError, AttributeError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except (Exception, KeyboardInterrupt) as error:
            return _failed(error)
