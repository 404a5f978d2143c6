"""The command line: what it shows, how it exits, and that it never shows a traceback."""

import tomllib
from pathlib import Path

import pytest

from edgelaw import cli


def shown(capsys, *words):
    """Exit status, standard output, standard error."""
    try:
        status = cli.main(list(words))
    except SystemExit as leaving:  # --help leaves by itself
        status = leaving.code
    streams = capsys.readouterr()
    return status, streams.out, streams.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["spectra"], "invalid choice: 'spectra'"),
        ([], "required"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_in_one_sentence(capsys, words, sentence):
    status, out, err = shown(capsys, *words)
    assert status == 2
    assert out == ""
    assert sentence in err
    assert len(err.strip().splitlines()) == 1


def test_help_teaches_by_example(capsys):
    status, out, _ = shown(capsys, "--help")
    assert status == 0
    assert "examples:" in out
    assert "edgelaw verify " in out


def test_the_package_installs_it_under_its_name():
    project = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"edgelaw": "edgelaw.cli:main"}
