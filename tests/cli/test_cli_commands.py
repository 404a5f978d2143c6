"""The command line as a whole: which commands there are, their help, and how it is started."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from running import refused, run

from edgelaw_app.cli import demo, parser, predict, probe, spectrum

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [(["spectra"], "no command or file 'spectra': did you mean spectrum"), (["--spectrum"], "required")],
)
def test_a_question_that_makes_no_sense_is_refused_in_one_sentence(words, sentence):
    assert sentence in refused(*words)


@pytest.mark.parametrize("words", [[], ["spectrum"], ["predict"], ["probe"], ["demo"]])
def test_help_fits_eighty_columns_and_names_what_is_there_only(words, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = run(*words, "--help")[1]
    assert max(map(len, out.splitlines())) <= 80
    options = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", out.split("examples:")[1]))
    known = {word for one in COMMANDS for word in re.findall(r"--[a-z][\w-]*", run(one, "--help")[1])}
    assert options <= known | {"--help"}
    assert not re.search(r"--(no-)?search|--simulate|--step|best step", out)


COMMANDS = ("spectrum", "predict", "probe", "demo")


@pytest.mark.parametrize("words", [[], ["spectrum"], ["predict"], ["probe"]])
def test_help_teaches_by_example(words):
    status, out, err = run(*words, "--help")
    assert (status, err) == (0, "")
    assert "examples:" in out
    assert out.count(" ".join(["  edgelaw", *words])) >= 4


@pytest.mark.parametrize("module", [parser, spectrum, predict, probe])
def test_every_example_of_the_help_is_understood(module):
    lines = [line for line in module.EXAMPLES.splitlines() if line.startswith("  edgelaw ")]
    assert len(lines) >= 4
    for line in lines:
        words = shlex.split(line.split("  ")[1].split(" | ")[0])[1:]
        if words[0] in parser.COMMANDS and "--help" not in words:
            chosen = {"spectrum": spectrum, "predict": predict, "probe": probe, "demo": demo}
            assert parser.parser().parse_args(words).run is chosen[words[0]].run


def test_the_help_names_the_schema_of_the_json():
    for module in (spectrum, predict, probe):
        assert f'schema "{module.SCHEMA}"' in module.EXAMPLES


# how it is started -----------------------------------------------------------------------------------------


def test_the_package_installs_it_under_its_name():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"edgelaw": "edgelaw_app.cli:main"}
    assert "entry-points" not in project


def test_it_starts_as_a_module_too():
    done = subprocess.run([sys.executable, "-m", "edgelaw_app", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()[0]) == (0, "edgelaw"), done.stderr


def test_help_is_instant_since_nothing_heavy_is_imported():
    code = (
        "import sys\nfrom edgelaw_app.cli import parser\n"
        "for words in (['--version'], ['predict', '--help'], ['probe', '--help']):\n"
        "    try:\n        parser.main(words)\n"
        "    except SystemExit as leaving:\n        assert leaving.code == 0\n"
        "parser.parser().format_help()\n"
        "heavy = {'numpy', 'scipy', 'matplotlib', 'numba', 'torch', 'dask', 'rich', 'mpmath', 'jinja2'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    assert "edgelaw" in done.stdout
