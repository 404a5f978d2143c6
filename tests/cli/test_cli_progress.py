"""The progress bar: on a terminal only, after a while only, on standard error only."""

import contextlib
import io
import time

import pytest

from edgelaw._common.compiled import compiled
from edgelaw_app.cli.terminal import COMPILING, Bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


@contextlib.contextmanager
def terminal():
    """Standard error as a terminal (not a fixture: pytest puts its own stream in place between set-up and test)."""
    stream = Terminal()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(stream):
        patch.setenv("TERM", "xterm")
        patch.delenv("NO_COLOR", raising=False)
        yield stream


def work(patience, seconds):
    with Bar(patience) as bar:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            bar(3, 10, "summing")
            time.sleep(0.02)
    return bar


def test_what_takes_long_shows_a_bar_and_clears_it():
    with terminal() as stream:
        assert work(0.05, 0.6).shown
    written = stream.getvalue()
    assert "summing" in written
    assert "30%" in written
    assert written.rstrip("\r\n").endswith("\x1b[2K")  # the line is erased at the end


def test_what_is_quick_shows_nothing():
    with terminal() as stream:
        assert not work(30, 0.05).shown
    assert stream.getvalue() == ""


def test_without_a_terminal_nothing_is_shown(capsys):
    assert not work(0.01, 0.1).shown
    assert capsys.readouterr().err == ""


def broken(bars):
    with Bar(0.01) as bar:
        bars.append(bar)
        time.sleep(0.2)
        bar(0, None, "an unknown total")
        raise KeyError


def test_an_error_inside_ends_the_bar_too():
    bars = []
    with terminal() as stream:
        with pytest.raises(KeyError):
            broken(bars)
        assert bars[0].shown
        before = stream.getvalue()
        time.sleep(0.3)
        assert stream.getvalue() == before


def test_the_bar_says_when_something_is_compiled_and_then_goes_on(capsys):
    with terminal() as stream, Bar(0.01) as bar:
        bar(3, 10, "summing")
        began = time.monotonic()
        while COMPILING not in stream.getvalue():  # until a compilation was long enough to be drawn
            assert time.monotonic() - began < 60
            assert compiled(eval("lambda x: x + 1"))(1) == 2
        compiling = len(stream.getvalue())
        time.sleep(0.3)
        assert "summing" in stream.getvalue()[compiling:]
    assert capsys.readouterr().out == ""
