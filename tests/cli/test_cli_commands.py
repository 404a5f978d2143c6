"""The command line as a whole: which commands there are, their help, plug-ins, and how it is started."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from running import refused, run

from edgelaw_app.cli import demo, parser, predict, probe, spectrum, terminal

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
    assert not re.search(r"--(no-)?search|--no-simulate|best step", out)


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
            assert parser.parser(plugins=False).parse_args(words).run is chosen[words[0]].run


def test_the_help_names_the_schema_of_the_json():
    for module in (spectrum, predict, probe):
        assert f'schema "{module.SCHEMA}"' in module.EXAMPLES


# commands of other packages --------------------------------------------------------------------------------


def add_greeting(commands):
    terminal.command(commands, "greet", lambda _: print("hello") or 0, "say hello", "Say hello.", "")


def add_half(commands):
    terminal.command(commands, "half", lambda _: 0, "half a command", "Half a command.", "")
    raise RuntimeError("only half of it is there")


@pytest.fixture
def plugged(monkeypatch):
    """Put entry points in the place of those that are installed."""

    def plug(**points):
        given = [EntryPoint(name, value, parser.PLUGINS) for name, value in points.items()]
        monkeypatch.setitem(sys.modules, "plugin_of_a_test", sys.modules[__name__])
        monkeypatch.setattr(parser, "entry_points", lambda group: given if group == parser.PLUGINS else [])

    return plug


def test_another_package_can_add_a_command(plugged):
    plugged(greet="plugin_of_a_test:add_greeting")
    assert run("greet") == (0, "hello\n", "")
    assert "say hello" in run("--help")[1]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("there_is_no_such_package:add", "No module named 'there_is_no_such_package'"),
        ("plugin_of_a_test:there_is_no_such_function", "AttributeError"),
        ("plugin_of_a_test:add_half", "only half of it is there"),
    ],
)
def test_a_broken_plugin_says_so_when_it_is_asked_for_and_breaks_nothing_else(plugged, value, why):
    plugged(half=value, greet="plugin_of_a_test:add_greeting")
    sentence = refused("half", "of", "--it")
    assert sentence.startswith("edgelaw: The command half")
    assert why in sentence
    assert run("greet") == (0, "hello\n", "")
    status, out, err = run("--help")
    assert (status, err) == (0, "")
    assert "half" in out


def test_a_plugin_cannot_take_the_place_of_a_command(plugged):
    plugged(predict="there_is_no_such_package:add")
    status, out, err = run("--help")
    assert status == 0
    assert "how fast SGD learns" in out
    assert len(err.splitlines()) == 1
    assert "There is no file" in refused("predict", "nowhere.npy")


def test_the_librarys_own_commands_load_no_plugin(monkeypatch):
    def never(group):
        raise AssertionError("plug-ins were loaded")

    monkeypatch.setattr(parser, "entry_points", never)
    assert "There is no file" in refused("spectrum", "nowhere.npy")


# how it is started -----------------------------------------------------------------------------------------


def test_the_package_installs_it_under_its_name():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"edgelaw": "edgelaw_app.cli:main"}
    assert project["entry-points"][parser.PLUGINS] == {"verify": "edgelaw_ledger.verify:add"}


def test_it_starts_as_a_module_too():
    done = subprocess.run([sys.executable, "-m", "edgelaw_app", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()[0]) == (0, "edgelaw"), done.stderr


def test_help_is_instant_since_nothing_heavy_is_imported():
    code = (
        "import sys\nfrom edgelaw_app.cli import parser\n"
        "for words in (['--version'], ['predict', '--help'], ['probe', '--help']):\n"
        "    try:\n        parser.main(words)\n"
        "    except SystemExit as leaving:\n        assert leaving.code == 0\n"
        "parser.parser(plugins=False).format_help()\n"
        "heavy = {'numpy', 'scipy', 'matplotlib', 'numba', 'torch', 'dask', 'rich', 'mpmath', 'jinja2'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    assert "edgelaw" in done.stdout
