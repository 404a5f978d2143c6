"""The command line as a whole: which commands there are, and what happens when something goes wrong.

Each command is a module of its own (``spectrum``, ``predict``, ``probe``, ``demo``) with ``add(commands)``,
which describes it, and ``run(arguments)``, which imports what it needs, so that ``edgelaw --help`` is instant.
``edgelaw FILE`` is ``edgelaw predict FILE``, or ``edgelaw probe FILE`` where labels are given.

What goes wrong is said in one sentence on standard error, never as a traceback: status 2 for arguments or a file
that cannot be used, 1 when the answer could not be computed, 130 when stopped by Ctrl-C. ``EDGELAW_DEBUG=1`` in the
environment shows the traceback too.

``--json`` prints one JSON object and nothing else. Its ``schema`` names the command and a version, such as
``edgelaw.predict/3``; the version changes when a field changes its meaning or goes, not when one is added. Numbers that
are not finite are ``null``.
"""

import argparse
import contextlib
import difflib
import importlib
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from edgelaw import __version__
from edgelaw._common import extras
from edgelaw._common.project import address
from edgelaw_app.cli import demo, predict, probe, spectrum
from edgelaw_app.cli.terminal import (
    Refusal,
    SentenceParser,
    Unwritten,
    interruptible,
    printable,
    reason,
    shortened,
    tell,
)

SHORT_HELP = """\
edgelaw forecasts SGD on your data: order, learning rate, epochs.

  edgelaw demo                        see what it does, in a few seconds
  edgelaw embeddings.npy              your matrix, one sample per row: which
                                      order, which lr, how many epochs
  edgelaw features.npz --labels y     the same for a linear probe on labels
  edgelaw spectrum embeddings.npy     the left edge of its spectrum, and a plot
  edgelaw --help                      all commands"""

EXAMPLES = """\
examples:
  edgelaw demo                       the idea, on data that ships
  edgelaw embeddings.npy             short for edgelaw predict embeddings.npy
  edgelaw features.csv --labels y    short for edgelaw probe, with these words
  edgelaw predict embeddings.npy     which order, which lr, how many epochs
  edgelaw probe --help               every option of probe, with examples
  edgelaw spectrum embeddings.npy    the left edge of the spectrum, and a plot

Exit status: 0 for success, 1 if something could not be computed, 2 for
arguments or a file that cannot be used, 130 if stopped by Ctrl-C. An error is
one sentence on standard error; so is what a command does that takes more than
two seconds. Standard output has the answer only."""

COMMANDS: dict[str, Callable[[Any], None]] = {
    "spectrum": spectrum.add,
    "predict": predict.add,
    "probe": probe.add,
    "demo": demo.add,
}
FILE_ENDINGS = (
    *(".npy", ".npz", ".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".feather", ".arrow"),
    *(".safetensors", ".pt", ".pth"),
)


def parser() -> SentenceParser:
    """The whole command line."""
    top = SentenceParser(
        prog="edgelaw",
        description="Forecasts of SGD on your data, from its spectrum: order, learning rate, epochs.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument(
        "--version", action="version", version=f"edgelaw {__version__}", help="print the version"
    )
    commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=SentenceParser)
    for add in COMMANDS.values():
        add(commands)
    return top


def _with_dask(words: Sequence[str]) -> list[str]:
    """``--dask`` alone, even before the file: argparse would take the file for an address."""
    following = [*words, ""][1:]
    return [
        "--dask=local" if word == "--dask" and "://" not in after else word
        for word, after in zip(words, following, strict=True)
    ]


def _file_alone(words: Sequence[str]) -> list[str]:
    """``edgelaw FILE`` is ``predict``, with ``--labels`` ``probe``; what is neither command nor file is refused."""
    first = words[0] if words else "-"
    labelled = any(word.split("=")[0] == "--labels" for word in words)
    if first == "predict" and labelled:
        raise Refusal("--labels is not for predict, which has rows only; use edgelaw probe FILE --labels Y.")
    if first.startswith("-") or first in COMMANDS:
        return list(words)
    if _looks_like_a_file(first):
        return ["probe" if labelled else "predict", *words]
    if first == "verify":
        raise Refusal(f"The claims are checked in a clone of {address()}, by python -m edgelaw_ledger E12.")
    near = difflib.get_close_matches(first.lower(), COMMANDS, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}" if near else f"the commands are {', '.join(COMMANDS)}"
    raise Refusal(f"There is no command or file {shortened(first)}: {hint}; edgelaw --help shows examples.")


def _looks_like_a_file(word: str) -> bool:
    """Whether a word names what is there, or has the form of a path, of a pattern or of a file that can be read."""
    with contextlib.suppress(ValueError):  # a null character
        if os.path.lexists(word):
            return True
    signs = {os.sep, os.altsep or os.sep, "*", "?"}
    return bool(signs & set(word)) or word.lower().endswith(FILE_ENDINGS)


def _raised_here(error: BaseException) -> bool:
    """Whether the library itself raised an error (its refusals are ValueErrors of one sentence), not one below it."""
    frames = list(traceback.walk_tb(error.__traceback__))
    name = frames[-1][0].f_globals.get("__name__", "") if frames else ""
    return name == "__main__" or name.split(".")[0] in ("edgelaw", "edgelaw_app", "edgelaw_ledger")


def _unexpected(error: BaseException) -> str:
    """The last resort: what happened, where, and whom to tell."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" in {os.path.basename(frames[-1].filename)}, line {frames[-1].lineno}" if frames else ""
    what = printable(f"{type(error).__name__}: {error}".rstrip(" :."))
    what = what if len(what) <= 200 else what[:199] + "…"
    return (
        f"This should not have happened ({what}{where}); EDGELAW_DEBUG=1 in the environment shows the details, "
        f"and an issue at {address()} with them would help."
    )


def _failed(error: BaseException) -> int:
    """Say in one sentence what went wrong, and return the exit status."""
    if os.environ.get("EDGELAW_DEBUG"):
        traceback.print_exception(error)
    if isinstance(error, Refusal) or (isinstance(error, ValueError) and _raised_here(error)):
        tell(f"edgelaw: {error}")
        return 2
    if isinstance(error, Unwritten):
        tell(f"edgelaw: {error}")
        return 1
    if (package := extras.missing(error)) is not None:
        tell(f"edgelaw: {extras.sentence(package)}")
        return 1
    if isinstance(error, KeyboardInterrupt):
        tell("edgelaw: stopped.")
        return 130
    if isinstance(error, MemoryError):
        tell("edgelaw: There is not enough memory for this; use --rows and --dims for a smaller matrix.")
    elif isinstance(error, OSError):
        place = f" ({printable(error.filename)})" if error.filename else ""
        tell(f"edgelaw: The system said no: {reason(error)}{place}.")
    else:
        tell(f"edgelaw: {_unexpected(error)}")
    return 1


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status; what goes wrong is said in one sentence.

    Parameters
    ----------
    words : sequence of str, optional
        What was typed after ``edgelaw``; ``sys.argv`` by default, and then the process is the command's own: Ctrl-C
        ends it, whatever it is computing.
    """
    process = words is None
    words = sys.argv[1:] if words is None else list(words)
    if not words:
        print(SHORT_HELP, file=sys.stderr)
        return 2
    if process and words[0] == "demo":  # nothing is compiled for it, which would take longer than all else
        os.environ.setdefault("EDGELAW_NUMBA", "0")
    return answered(lambda: parser().parse_args(_with_dask(_file_alone(words))), process)


def answered(parse: Callable[[], argparse.Namespace], process: bool) -> int:
    """Parse arguments, do what their ``run`` does, and return the exit status; `process` is that of :func:`main`."""
    with warnings.catch_warnings():
        if not os.environ.get("EDGELAW_DEBUG"):  # a warning is for programmers
            warnings.showwarning = lambda *_, **__: None
        try:
            arguments = parse()
            if not getattr(arguments, "json", False):
                importlib.import_module("rich")  # tables and progress: missed before the work, not after it
            status = interruptible(lambda: arguments.run(arguments), process)
            if sys.stdout is not None:
                sys.stdout.flush()
            return status
        except BrokenPipeError:  # a reader such as `head` has seen enough
            with contextlib.suppress(OSError, ValueError, AttributeError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except (Exception, KeyboardInterrupt) as error:
            return _failed(error)
