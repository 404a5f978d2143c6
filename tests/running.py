"""The command line, run inside the test's own process."""

import contextlib
import io

from edgelaw_app import cli
from edgelaw_app.cli import terminal

terminal.PATIENCE = (
    600.0  # on a busy machine nothing would be quick, and what takes long says so on standard error
)


def run(*words):
    """Exit status, standard output, standard error."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = cli.main([str(word) for word in words])
        except SystemExit as leaving:  # --help leaves by itself
            status = leaving.code
    return status, out.getvalue(), err.getvalue()


def refused(*words):
    """The one sentence with which a question is refused; nothing else may have been said."""
    status, out, err = run(*words)
    assert status == 2, (status, out, err)
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("edgelaw: ")
    assert line.endswith(".")
    assert "should not have happened" not in line
    return line
