"""The progress bar: after a while only, on standard error only; where that is no terminal, one line instead."""

import contextlib
import io
import json
import subprocess
import sys
import time

import numpy as np
import pytest

from edgelaw._common.compiled import compiled
from edgelaw_app.cli import terminal
from edgelaw_app.cli.terminal import COMPILING


def Bar(patience):
    """A bar that appears after so many seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terminal, "PATIENCE", patience)
        return terminal.Bar()


class Terminal(io.StringIO):
    def isatty(self):
        return True


@contextlib.contextmanager
def on_terminal():
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
    with on_terminal() as stream:
        assert work(0.05, 0.6).shown
    written = stream.getvalue()
    assert "summing" in written
    assert "30%" in written
    assert written.rstrip("\r\n").endswith("\x1b[2K")  # the line is erased at the end


def test_what_is_quick_shows_nothing():
    with on_terminal() as stream:
        assert not work(30, 0.05).shown
    assert stream.getvalue() == ""


def test_without_a_terminal_one_line_says_what_is_being_done_and_no_more(capsys):
    assert work(0.2, 0.8).shown
    assert capsys.readouterr() == ("", "edgelaw: working: summing; about 30 % of the steps are done.\n")


def test_without_a_terminal_what_is_quick_shows_nothing(capsys):
    assert not work(30, 0.05).shown
    assert capsys.readouterr() == ("", "")


def test_the_line_names_what_began_last_though_it_began_at_once_after_something_else(capsys):
    with Bar(0.2) as bar:
        bar(what="reading")
        bar(0, 7, "eigenvalues")
        time.sleep(0.5)
    assert capsys.readouterr().err == "edgelaw: working: eigenvalues.\n"  # and not that 0 % are done


def test_a_command_in_a_pipe_says_that_it_works_and_its_json_stays_json(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(30, 24)))
    code = (
        "import sys, time\nfrom edgelaw_app import cli, files\nfrom edgelaw_app.cli import terminal\n"
        "terminal.PATIENCE, read = 0.1, files.open_matrix\n"
        "files.open_matrix = lambda *words: time.sleep(1) or read(*words)\n"
        "sys.exit(cli.main(sys.argv[1:]))"
    )
    words = [sys.executable, "-c", code, "spectrum", str(tmp_path / "x.npy"), "--json"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "edgelaw: working: reading.\n")
    assert json.loads(done.stdout)["shape"] == [30, 24]


def broken(bars):
    with Bar(0.01) as bar:
        bars.append(bar)
        time.sleep(0.2)
        bar(0, None, "an unknown total")
        raise KeyError


def test_an_error_inside_ends_the_bar_too():
    bars = []
    with on_terminal() as stream:
        with pytest.raises(KeyError):
            broken(bars)
        assert bars[0].shown
        before = stream.getvalue()
        time.sleep(0.3)
        assert stream.getvalue() == before


def test_the_bar_says_when_something_is_compiled_and_then_goes_on(capsys):
    with on_terminal() as stream, Bar(0.01) as bar:
        bar(3, 10, "summing")
        began = time.monotonic()
        while COMPILING not in stream.getvalue():  # until a compilation was long enough to be drawn
            assert time.monotonic() - began < 60
            assert compiled(eval("lambda x: x + 1"))(1) == 2
        compiling = len(stream.getvalue())
        time.sleep(0.3)
        assert "summing" in stream.getvalue()[compiling:]
    assert capsys.readouterr().out == ""
