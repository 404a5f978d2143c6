"""What all commands share: parsers, values of options, refusals in one sentence, progress, and JSON for machines.

Nothing heavy is imported here: the parser and its help are built from these pieces, and ``--help`` must be instant.
"""

import argparse
import codecs
import contextlib
import contextvars
import ctypes
import json
import math
import os
import re
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from edgelaw._common.compiled import when_compiling
from edgelaw_app import atomic
from edgelaw_app.plain import plain

if TYPE_CHECKING:
    from rich.console import Console

WORDS = "×=x ±=+- β=beta λ=lambda ∞=inf –=- −=- …=... √=sqrt │=| ┤=+ └=+ ─=- ┬=+"
SPELLED_OUT = {pair[0]: pair[2:] for pair in WORDS.split()} | {chr(k): "." for k in range(0x2801, 0x2900)}
PATIENCE = 2.0  # seconds before a progress bar appears
GRACE = 0.3  # seconds that work has to end after Ctrl-C before it is left as it is
COMPILING = "compiling, once per machine: about half a minute"


class Refusal(Exception):
    """Arguments that cannot be used; the message is one sentence."""

    status = 2


class Unwritten(Refusal):
    """A file that could not be written beside an answer that was given."""

    status = 1


class SentenceParser(argparse.ArgumentParser):
    """A parser that refuses in one sentence."""

    def __init__(self, **given: Any) -> None:
        raw = argparse.RawDescriptionHelpFormatter
        super().__init__(**{"formatter_class": raw, "allow_abbrev": False, **given})

    def error(self, message: str) -> NoReturn:
        """Say what was wrong and where help is, and leave with status 2."""
        raise Refusal(f"{message[:1].upper()}{message[1:].rstrip('.')}; {self.prog} --help shows examples.")


def printable(text: object) -> str:
    """Text that can be shown anywhere in one line: no control characters, no half characters of odd file names."""
    whole = str(text).encode("utf-8", "backslashreplace").decode("utf-8")
    line = "".join(character if character.isprintable() else " " for character in whole)
    return " ".join(line.split())


# parsers ---------------------------------------------------------------------------------------------------


def command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], int],
    texts: tuple[str, str, str],
    options: "Iterable[Option]" = (),
) -> None:
    """Add a command: a few words for ``edgelaw --help``, a description and examples; and its options."""
    short, description, examples = texts
    parser = commands.add_parser(name, help=short, description=description, epilog=examples)
    parser.set_defaults(run=run, seed=0)
    for option in options:
        add(parser, *option)


def add(parser: argparse.ArgumentParser, name: str, metavar: str, kind: Any, text: str) -> None:
    """Add one option of a table: `kind` reads its value, or is what `add_argument` takes."""
    given = {**(kind if isinstance(kind, dict) else {"type": kind}), "help": text}
    parser.add_argument(name, **given | ({"metavar": metavar} if metavar else {}))


def chosen_orders(names: Iterable[str]) -> list[str]:
    """The orders asked for, each once."""
    from edgelaw.orders import ORDERS

    chosen: list[str] = []
    for name in names:
        order = name.lower().replace("-", "_")
        if order not in ORDERS:
            raise Refusal(f"There is no order {shortened(name)}: the orders are {', '.join(ORDERS)}.")
        chosen += [order] if order not in chosen else []
    return chosen


# option values ---------------------------------------------------------------------------------------------


def whole(minimum: int, maximum: int = 10**15) -> Callable[[str], int]:
    """A reader of integers from ``minimum`` to ``maximum``."""
    kind = "a positive integer" if minimum == 1 else f"an integer of at least {minimum}"

    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,16}", text) or int(text) < minimum:
            raise argparse.ArgumentTypeError(f"it must be {kind}, not {shortened(text)}")
        if int(text) > maximum:
            raise argparse.ArgumentTypeError(f"it must be at most {maximum:,}, not {shortened(text)}")
        return int(text)

    return read


def between(low: float, high: float = math.inf) -> Callable[[str], float]:
    """A reader of numbers strictly between two bounds."""
    kind = f"greater than {low:g}" if high == math.inf else f"strictly between {low:g} and {high:g}"

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not low < value < high:
            raise argparse.ArgumentTypeError(f"it must be a number {kind}, not {shortened(text)}")
        return value

    return read


def shortened(text: str, length: int = 40) -> str:
    """A value as it was typed, quoted, and cut to `length` characters."""
    return repr(text if len(text) <= length else text[: length - 1] + "…")


Option = tuple[str, str, Any, str]  # its name, what stands for its value, how that is read, help
FLAG, SWITCH, SEVERAL = (
    {"action": "store_true"},
    {"action": argparse.BooleanOptionalAction},
    {"action": "append"},
)
FORMATS = ".npy .npz .csv .tsv (plain or .gz) .parquet .feather .arrow .safetensors .pt"
LISTS = "names, patterns such as 'emb_*', numbers from 0, ranges such as 3-9 or 3-, separated by commas"
ORDER_NAMES = "iid, random_reshuffle, single_shuffle or flip_flop; repeat it for several"
DASK = "compute on Dask: alone for a local cluster, or the tcp:// address of a running one"
JSON: Option = ("--json", "", FLAG, "print JSON instead of a table, and nothing else")
ROWS: tuple[Option, ...] = (
    (
        "file",
        "FILE",
        str,
        f"a matrix, one sample per row: {FORMATS}; or a folder or quoted pattern of such files",
    ),
    ("--key", "NAME", str, "which array of a file that holds several"),
    ("--columns", "LIST", SEVERAL, f"read these columns only: {LISTS} (default: all but a row index)"),
    ("--drop", "LIST", SEVERAL, "leave out columns, such as labels: --drop label,id"),
    ("--standardize", "", FLAG, "scale every column to standard deviation 1 (default: off)"),
    ("--rows", "M", whole(2), "keep M rows, drawn at random"),
    ("--dims", "D", whole(2), "project the columns at random onto D"),
    ("--center", "", SWITCH, "subtract the mean row (default: on)"),
    ("--normalize", "", SWITCH, "scale every row to the same norm (default: on, but off for probe)"),
    ("--seed", "N", whole(0), "seed of the random numbers (default 0)"),
    ("--dask", "ADDRESS", {"nargs": "?", "const": "local"}, DASK),
)
TRAINING: tuple[Option, ...] = (
    ("--epochs", "N", whole(1, 100_000), "the budget (default 50, of probe 20)"),
    ("--order", "NAME", SEVERAL, f"{ORDER_NAMES} (default: all, of probe all but flip_flop)"),
    ("--lr", "LR", between(0), "also say what this lr would do, beside the best one of each order"),
    ("--batch", "B", whole(1), "rows per update, averaged as PyTorch does (default 1)"),
    ("--operations", "N", between(0), "multiply-adds that running SGD may take (default 2.5e10)"),
    ("--report", "PATH", str, "also write an HTML report, which must end in .html"),
    JSON,
)


# output ----------------------------------------------------------------------------------------------------


def machine(record: dict) -> None:
    """Print one JSON object that any parser takes: no NaN, no Infinity, ASCII only."""
    print(json.dumps(plain(record), indent=1, allow_nan=False))


def console(width: int = 120) -> "Console":
    """Where tables go: as wide as the terminal, or of the given width where there is no terminal."""
    from rich.console import Console

    try:
        "⣿×λ".encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        codecs.register_error("edgelaw", _spell_out)
        sys.stdout.reconfigure(errors="edgelaw")  # type: ignore[union-attr]
    shown = Console(highlight=False)
    if not shown.is_terminal and "COLUMNS" not in os.environ:
        shown.width = width
    return shown


def line(shown: "Console", text: str) -> None:
    """One line, as it is, however narrow the terminal: code and paths are copied from there."""
    from rich.text import Text

    shown.print(Text(text), soft_wrap=True)


def paragraph(shown: "Console", text: str, style: str = "", mark: str = "") -> None:
    """A sentence or two, wrapped by words, with a hanging mark."""
    from rich.text import Text

    mark, width = (f"{mark} ", shown.width) if mark else ("", shown.width - 1)
    wrapper = textwrap.TextWrapper(max(20, width), mark, " " * len(mark), break_on_hyphens=False)
    for wrapped in wrapper.wrap(printable(text)):
        shown.print(Text(wrapped, style=style))


def cautions(shown: "Console", sentences: Sequence[str]) -> None:
    """What a reader is warned of."""
    for sentence in sentences:
        shown.print()
        paragraph(shown, sentence, "yellow", "!")


def _spell_out(error: UnicodeError) -> tuple[str, int]:
    """Write out the signs that an encoding does not have."""
    assert isinstance(error, UnicodeEncodeError)
    return "".join(SPELLED_OUT.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


class Bar:
    """The progress bar of every command: on standard error, after two seconds; where that is no terminal, one line.

    It is a context, and called inside it as ``bar(done, total, what)``; a ``total`` of None or 0 means that it is
    not known. While loops are being compiled, which the first run on a machine waits for, it says so.
    """

    current: "ClassVar[Bar | None]" = None  # the one that is shown, or will be

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

        columns = [TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()]
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._progress.add_task("working", total=None)
        self._timer = threading.Timer(PATIENCE, self._appear)
        self._timer.daemon = True
        self._lock = threading.Lock()  # it may end while it appears
        self.shown = self._over = False
        self._last, self._what = 0.0, "working"
        self._compiling = when_compiling(self._compile)

    def _compile(self, beginning: bool) -> None:
        """Say that the compiler is at work, or what was being done before."""
        self._progress.update(self._task, description=COMPILING if beginning else self._what)

    def _appear(self) -> None:
        with self._lock:
            if self._over:
                return
            self.shown, task = True, self._progress.tasks[0]
            if self._progress.console.is_terminal:
                self._progress.start()
            else:
                done = f"; about {task.percentage:.0f} % of the steps are done" if task.percentage else ""
                tell(f"edgelaw: working: {task.description}{done}.")

    def __enter__(self) -> "Bar":
        self._compiling.__enter__()
        Bar.current = self
        self._timer.start()
        return self

    def __call__(self, done: float = 0, total: float | None = None, what: str = "working") -> None:
        """Update what is shown; cheap enough to be called often."""
        now, what = time.monotonic(), printable(what)
        if now - self._last < 0.05 and done != total and what == self._what:
            return
        self._last, self._what = now, what
        self._progress.update(self._task, completed=done, total=total or None, description=what)

    def __exit__(self, *error: Any) -> None:
        self._compiling.__exit__(*error)
        self.close()

    def close(self) -> None:
        """Clear what is shown, and show nothing more."""
        with self._lock:
            self._over = True
            self._timer.cancel()
            if self._progress.live.is_started:
                self._progress.stop()


def interruptible(work: Callable[[], int], process: bool) -> int:
    """Do the work in a thread, so that Ctrl-C is seen at once, even while LAPACK computes for many seconds.

    The thread is asked to end, which removes what is half-written; our own `process` does not wait for one too busy.
    """
    outcome: list[int | BaseException] = []
    done = threading.Event()  # join() would take an interrupted thread for an ended one

    def target() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # is raised again below
            outcome.append(error)
        finally:
            done.set()

    worker = threading.Thread(target=contextvars.copy_context().run, args=(target,), daemon=True)
    try:
        worker.start()
        while not done.wait(0.1):
            pass
    except KeyboardInterrupt:
        end, ident = ctypes.py_object(KeyboardInterrupt), ctypes.c_ulong(worker.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, end)
        with contextlib.suppress(KeyboardInterrupt):
            done.wait(GRACE)
        if Bar.current is not None:
            Bar.current.close()
        if process and not done.is_set():
            for child in getattr(sys.modules.get("multiprocessing"), "active_children", list)():
                child.terminate()
            tell("edgelaw: stopped.")
            os._exit(130)
        raise
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


# files -----------------------------------------------------------------------------------------------------


def destination(
    path: str, endings: tuple[str, ...], source: str | None = None, option: str = "--report"
) -> str:
    """The real path of a file that can be written, with one of these endings and not what is read; or a refusal."""
    name, why = printable(path), ""
    if not path.lower().endswith(endings):
        raise Refusal(f"{option} must end in {' or '.join(endings)}, not {shortened(name)}.")
    try:
        real = os.path.realpath(path)
        with contextlib.suppress(FileNotFoundError):
            there = os.stat(real)  # a name too long is refused here
            if os.path.isdir(real):
                why = "it is a folder"
            elif source and os.path.exists(source) and os.path.samestat(there, os.stat(source)):
                why = "it is the file that is being read"
            elif not os.path.isfile(real) or not os.access(real, os.W_OK):
                why = "it exists and you may not change it"
        if not why:
            atomic.ensure_writable(real)
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        why = reason(error)
    if why:
        raise Refusal(f"{name} cannot be written: {why}.")
    return real


def deliver(
    arguments: argparse.Namespace,
    record: dict,
    show: "Callable[[Console], None]",
    shown: "Console",
    file: tuple[str, str, Callable[[], None]],
) -> int:
    """Print the answer as JSON or as `show` does; write a file (what, where, how). A full disk is told of last."""
    (what, path, write), failure = file, None
    if path:
        try:
            write()
        except OSError as error:
            why = f"could not be written: {reason(error)}; the answer itself is complete."
            failure = Unwritten(f"{printable(path)} {why}")
    if arguments.json:
        machine(record)
    else:
        show(shown)
        if path and not failure:
            line(shown, f"\nThe {what} is in {printable(path)}.")
    if failure:
        raise failure
    return 0


def reason(error: BaseException) -> str:
    """What the system says of an error, as a part of a sentence."""
    text = printable(getattr(error, "strerror", None) or error or type(error).__name__)
    return text[:1].lower() + text[1:].rstrip(".")


def tell(message: object) -> None:
    """One sentence on standard error, whatever the message holds."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, full, or none at all
        encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
        sys.stderr.write(printable(message).encode(encoding, "backslashreplace").decode(encoding) + "\n")
        sys.stderr.flush()
