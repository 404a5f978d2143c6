"""The command line as a whole: which commands there are, and what happens when something goes wrong.

Each command is a module of its own (``spectrum``, ``predict``, ``probe``, ``demo``) with ``add(commands)``,
which describes it, and ``run(arguments)``, which imports what it needs, so that ``edgelaw --help`` is instant.

``--json`` prints one JSON object and nothing else. Its ``schema`` names the command and a version, such as
``edgelaw.predict/3``; the version changes when a field changes its meaning or goes, not when one is added. Numbers that
are not finite are ``null``. ``EDGELAW_DEBUG=1`` in the environment shows the traceback of an error.
"""

import argparse
import contextlib
import difflib
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
    interruptible,
    printable,
    reason,
    shortened,
    tell,
)

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


def parser() -> SentenceParser:
    """The whole command line."""
    top = SentenceParser(
        prog="edgelaw",
        description="Forecasts of SGD on your data, from its spectrum: order, learning rate, epochs.",
        epilog=EXAMPLES,
    )
    top.add_argument(
        "--version", action="version", version=f"edgelaw {__version__}", help="print the version"
    )
    commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=SentenceParser)
    for add in COMMANDS.values():
        add(commands)
    return top


def _file_alone(words: Sequence[str]) -> list[str]:
    """``edgelaw FILE`` is ``predict``, with ``--labels`` ``probe``; what is neither command nor file is refused."""
    first = words[0] if words else "--help"
    labelled = any(word.split("=")[0] == "--labels" for word in words)
    if first == "predict" and labelled:
        raise Refusal("--labels is not for predict, which has rows only; use edgelaw probe FILE --labels Y.")
    if first.startswith("-") or first in COMMANDS:
        return list(words) or [first]
    if set(first) & {".", "/", os.sep, "*", "?"} or os.path.lexists(first):
        return ["probe" if labelled else "predict", *words]
    near = difflib.get_close_matches(first.lower(), COMMANDS, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}" if near else f"the commands are {', '.join(COMMANDS)}"
    raise Refusal(f"There is no command or file {shortened(first)}: {hint}; edgelaw --help shows examples.")


def _raised_here(error: BaseException) -> bool:
    """Whether the library itself raised an error (its refusals are ValueErrors of one sentence), not one below it."""
    frames = list(traceback.walk_tb(error.__traceback__))
    name = frames[-1][0].f_globals.get("__name__", "") if frames else ""
    return name == "__main__" or name.split(".")[0] in ("edgelaw", "edgelaw_app", "edgelaw_ledger")


def _unexpected(error: BaseException) -> str:
    """The last resort: what happened, where, and whom to tell."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" in {os.path.basename(frames[-1].filename)}, line {frames[-1].lineno}" if frames else ""
    what = f"{type(error).__name__}: {printable(error)[:160]}".rstrip(" :.")
    return (
        f"This should not have happened ({what}{where}); EDGELAW_DEBUG=1 in the environment shows the details, "
        f"and an issue at {address()} with them would help."
    )


def _failed(error: BaseException) -> tuple[int, str]:
    """The exit status, and one sentence on what went wrong."""
    if isinstance(error, Refusal):
        return error.status, str(error)
    if isinstance(error, ValueError) and _raised_here(error):
        return 2, str(error)
    if isinstance(error, KeyboardInterrupt):
        return 130, "stopped."
    if (package := extras.missing(error)) is not None:
        return 1, extras.sentence(package)
    if isinstance(error, MemoryError):
        return 1, "There is not enough memory for this; use --rows and --dims for a smaller matrix."
    if isinstance(error, OSError):
        place = f" ({printable(error.filename)})" if error.filename else ""
        return 1, f"The system said no: {reason(error)}{place}."
    return 1, _unexpected(error)


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
    if process and words[:1] == ["demo"]:  # nothing is compiled for it, which would take longer than all else
        os.environ.setdefault("EDGELAW_NUMBA", "0")
    return answered(lambda: parser().parse_args(_file_alone(words)), process)


def answered(parse: Callable[[], argparse.Namespace], process: bool) -> int:
    """Parse arguments, do what their ``run`` does, and return the exit status; `process` is that of :func:`main`."""
    debug = os.environ.get("EDGELAW_DEBUG")
    with warnings.catch_warnings():
        if not debug:  # a warning is for programmers
            warnings.showwarning = lambda *_, **__: None
        try:
            arguments = parse()
            status = interruptible(lambda: arguments.run(arguments), process)
            if sys.stdout is not None:
                sys.stdout.flush()
            return status
        except BrokenPipeError:  # a reader such as `head` has seen enough
            with contextlib.suppress(OSError, ValueError, AttributeError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except (Exception, KeyboardInterrupt) as error:
            if debug:
                traceback.print_exception(error)
            status, sentence = _failed(error)
            tell(f"edgelaw: {sentence}")
            return status
