"""What the commands share: refusing in a sentence, reading option values, progress, and JSON that any parser takes.

Nothing heavy is imported here: the parser and its help are built from these pieces, and ``--help`` must be instant.
"""

import argparse
import codecs
import contextlib
import json
import math
import os
import re
import sys
import threading
import time

from edgelaw._common import atomic

SPELT = {
    "×": "x",
    "±": "+-",
    "β": "beta",
    "λ": "lambda",
    "∞": "inf",
    "–": "-",
    "−": "-",
    "…": "...",
    "√": "sqrt",
}
PATIENCE = 2.0  # seconds before a progress bar appears


class Refusal(Exception):
    """A question that makes no sense; the message is one sentence."""


class Sentences(argparse.ArgumentParser):
    """A parser that refuses in one sentence."""

    def error(self, message):
        """Say what was wrong and where help is, and leave with status 2."""
        raise Refusal(f"{message[:1].upper()}{message[1:].rstrip('.')}; {self.prog} --help shows examples.")


def printable(text):
    """Text that can be shown anywhere in one line: no control characters, no half characters of odd file names."""
    whole = str(text).encode("utf-8", "backslashreplace").decode("utf-8")
    line = "".join(character if character.isprintable() else " " for character in whole)
    return " ".join(line.split())


# option values ---------------------------------------------------------------------------------------------


def whole(minimum, maximum=10**15):
    """A reader of integers from ``minimum`` to ``maximum``."""
    wanted = "a positive integer" if minimum == 1 else f"an integer of at least {minimum}"

    def read(text):
        if not re.fullmatch(r"[0-9]{1,16}", text) or int(text) < minimum:
            raise argparse.ArgumentTypeError(f"it must be {wanted}, not {shortened(text)}")
        if int(text) > maximum:
            raise argparse.ArgumentTypeError(f"it must be at most {maximum:,}, not {shortened(text)}")
        return int(text)

    return read


def between(low, high=math.inf, instead=()):
    """A reader of numbers strictly between two bounds, or of one of a few words."""
    wanted = f"greater than {low:g}" if high == math.inf else f"strictly between {low:g} and {high:g}"
    wanted += "".join(f", or {word}" for word in instead)

    def read(text):
        if text in instead:
            return text
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not low < value < high:
            raise argparse.ArgumentTypeError(f"it must be a number {wanted}, not {shortened(text)}")
        return value

    return read


def shortened(text, length=40):
    """A value as it was typed, quoted, and not longer than a line can bear."""
    return repr(text if len(text) <= length else text[: length - 1] + "…")


def add_preprocessing(parser):
    """The options of the paper's preprocessing, and which file they are applied to."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a matrix, one sample a row: .npy .npz .csv .tsv (plain or .gz) .parquet .safetensors .pt .zarr; "
        "or a folder or a quoted pattern of several such files",
    )
    parser.add_argument("--key", metavar="NAME", help="which array of a file that holds several")
    parser.add_argument("--rows", type=whole(2), metavar="M", help="keep M rows, drawn at random")
    parser.add_argument("--dims", type=whole(2), metavar="D", help="project the columns at random onto D")
    parser.add_argument(
        "--center",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="subtract the mean row first (done unless --no-center)",
    )
    parser.add_argument(
        "--normalize",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="scale every row to the same norm (done unless --no-normalize)",
    )
    parser.add_argument(
        "--seed", type=whole(0), default=0, metavar="N", help="seed of all that is random (0)"
    )
    parser.add_argument(
        "--dask",
        nargs="?",
        const="local",
        metavar="ADDRESS",
        help="compute on Dask: alone for a local cluster, or the tcp:// address of a running one",
    )


# output ----------------------------------------------------------------------------------------------------


def machine(record):
    """Print strict JSON: no NaN, no Infinity, ASCII only."""
    print(json.dumps(strict(record), indent=1, allow_nan=False))


def strict(value):
    """The same value with plain types only, and None where a number is not finite."""
    if isinstance(value, dict):
        return {printable(key): strict(entry) for key, entry in value.items()}
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if value is None or isinstance(value, bool | int):
        return value
    if hasattr(value, "tolist"):  # numpy's scalars and arrays
        return strict(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [strict(entry) for entry in value]
    raise TypeError(f"{type(value).__name__} is nothing that JSON knows")


def console(width=120):
    """Where tables go: as wide as the terminal, or of the given width when there is none."""
    from rich.console import Console

    if hasattr(sys.stdout, "reconfigure") and _narrow(sys.stdout.encoding):
        codecs.register_error("edgelaw", _spelt)
        sys.stdout.reconfigure(errors="edgelaw")
    shown = Console(highlight=False)
    if not shown.is_terminal and "COLUMNS" not in os.environ:
        shown = Console(highlight=False, width=width)
    return shown


def ascii_only(shown):
    """Whether a console cannot show dots in braille."""
    return _narrow(shown.encoding)


def _narrow(encoding):
    try:
        "⣿×λ".encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return True
    return False


def _spelt(error):
    """Write out the few signs that an encoding does not have."""
    return "".join(SPELT.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


class Bar:
    """A progress bar on standard error that appears after two seconds, on a terminal only.

    It is called with (done, total, what); ``total`` None or 0 means that nobody knows.
    """

    def __init__(self, patience=PATIENCE):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

        errors = Console(stderr=True)
        self.enabled = errors.is_terminal
        columns = [TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()]
        self._progress = Progress(*columns, console=errors, transient=True)
        self._task = self._progress.add_task("working", total=None)
        self._timer = threading.Timer(patience, self._appear)
        self._timer.daemon = True
        self._lock = threading.Lock()
        self._over = False
        self.shown = False
        self._last = 0.0

    def _appear(self):
        with self._lock:
            if not self._over:
                self._progress.start()
                self.shown = True

    def __enter__(self):
        if self.enabled:
            self._timer.start()
        return self

    def __call__(self, done=0, total=None, what="working"):
        """Take note of how far it has come; cheap enough to be called often."""
        now = time.monotonic()
        if not self.enabled or (now - self._last < 0.05 and done != total):
            return
        self._last = now
        self._progress.update(
            self._task,
            completed=float(done),
            total=float(total) if total else None,
            description=printable(what),
        )

    def __exit__(self, *_):
        with self._lock:
            self._over = True
            self._timer.cancel()
            if self.shown:
                self._progress.stop()


# files -----------------------------------------------------------------------------------------------------


def destination(path, endings, source=None, option="--report"):
    """The path of a file that can be written, or a refusal: found out before anything long is computed.

    Parameters
    ----------
    path : str
        What was asked for.
    endings : tuple of str
        Allowed endings, such as ``(".html", ".htm")``; they keep a slip from overwriting something else.
    source : str, optional
        The file being read, which must not be written.
    option : str
        The option to name in a refusal.
    """
    name = printable(path)
    if not path.lower().endswith(endings):
        raise Refusal(f"{option} must end in {' or '.join(endings)}, not {shortened(name)}.")
    try:
        real = os.path.realpath(path)
        if os.path.isdir(real):
            raise Refusal(f"{name} cannot be written: it is a folder.")
        if os.path.exists(real):
            if source and os.path.exists(source) and os.path.samefile(real, source):
                raise Refusal(f"{name} cannot be written: it is the file that is being read.")
            if not os.path.isfile(real) or not os.access(real, os.W_OK):
                raise Refusal(f"{name} cannot be written: it is there and not yours to change.")
        else:
            with contextlib.suppress(FileNotFoundError):
                os.stat(real)  # a name too long is refused here
        atomic.probe(real)
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        raise Refusal(f"{name} cannot be written: {reason(error)}.") from None
    return real


def reason(error):
    """What the system says of an error, as a part of a sentence."""
    text = printable(getattr(error, "strerror", None) or error or type(error).__name__)
    return text[:1].lower() + text[1:].rstrip(".")


def tell(message):
    """One sentence on standard error, whatever the message holds."""
    line = printable(message)
    stream = sys.stderr
    if stream is None:
        return
    with contextlib.suppress(OSError, ValueError):
        encoding = getattr(stream, "encoding", None) or "utf-8"
        stream.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        stream.flush()
