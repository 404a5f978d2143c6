"""What a stranger types first: a file alone, no words, a slip, the demo; and a source tree that is not installed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from running import refused, run

from edgelaw_app.cli import demo, parser

ROOT = Path(__file__).resolve().parents[2]
WORKING = r"(edgelaw: working: .*\.\n)?"  # on standard error, where something takes more than two seconds


# a file alone ----------------------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.random.default_rng(0).normal(size=(30, 24)))
    return tmp_path


def test_a_file_alone_is_predicted_and_with_labels_probed(here):
    options = ["--epochs", 2, "--order", "iid"]
    answer = run("x.npy", *options)
    assert answer[0] == 0
    assert answer == run("predict", "x.npy", *options)
    np.save("y.npy", np.arange(30) % 2)
    for labels in (["--labels", "y.npy"], ["--labels=y.npy"]):
        answer = run("x.npy", *labels, *options)
        assert answer[0] == 0
        assert answer == run("probe", "x.npy", *labels, *options)
    os.mkdir("parts")
    shutil.copy("x.npy", "parts/rows")  # a folder without an ending; what is in it cannot be read
    assert "parts" in refused("parts")


@pytest.mark.parametrize("name", ["nowhere.npy", "nowhere.CSV", "some/where", "part-*.parquet", "a\0b.npy"])
def test_a_file_that_is_not_there_gets_the_sentence_on_the_file(here, name):
    assert refused(name) == refused("predict", name)


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("predcit", "did you mean predict;"),
        ("prob", "did you mean probe;"),
        ("Spectrum", "did you mean spectrum;"),
        ("demos", "did you mean demo;"),
        ("embeddings", "the commands are spectrum, predict, probe, demo;"),
    ],
)
def test_a_slip_of_a_command_gets_the_nearest_one(here, word, hint):
    assert hint in refused(word, "x.npy")


def test_a_command_wins_over_a_folder_of_its_name(here):
    os.mkdir("predict")
    assert "There is no file nowhere.npy" in refused("predict", "nowhere.npy")


def test_no_words_at_all_get_the_help():
    assert run() == run("--help")


# the demo --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demonstration():
    """What a pipe gets; the environment of the test may have a width of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COLUMNS", raising=False)
        patch.delenv("FORCE_COLOR", raising=False)
        status, out, err = run("demo")
    assert (status, err) == (0, "")
    return out


def test_the_demo_shows_theory_runs_advice_and_what_is_next_in_eighty_columns(demonstration):
    assert max(map(len, demonstration.splitlines())) <= 80
    assert "\x1b" not in demonstration
    plot = demonstration.split("Training loss by epoch:")[1].split("after 30 epochs")[0]
    assert {"i", "r", "s", "f"} <= set(plot)
    assert len(set(plot) & {chr(code) for code in range(0x2801, 0x2900)}) > 10
    assert "Use random reshuffle (shuffled anew every epoch) with lr = 0.00" in demonstration
    assert "noisy labels" in demonstration
    examples = re.findall(r"^  edgelaw (.*?)  ", demonstration, flags=re.M)
    assert len(examples) == 4
    for words in (example.split() for example in examples):
        if "--help" not in words:
            assert parser.parser().parse_args(parser._file_alone(words)).run is not demo.run


def test_the_demos_sgd_is_where_the_theory_says(demonstration):
    rows = re.findall(
        r"^[irsf]  (\w+) +(\S+) +(\S+) ±(\S+)% +(\S+) +(\S+) ±(\S+)%", demonstration, flags=re.M
    )
    assert [row[0] for row in rows] == ["iid", "random_reshuffle", "single_shuffle", "flip_flop"]
    for _, *numbers in rows:
        train, train_run, train_error, test, test_run, test_error = map(float, numbers)
        assert abs(train_run / train - 1) < 0.03 + 3 * train_error / 100  # what exact curves are good for
        assert abs(test_run / test - 1) < 0.01 + 3 * test_error / 100


def test_the_readme_shows_how_the_demo_ends(demonstration):
    blocks = re.findall(r"^```(?:text)?\n(.*?)^```$", (ROOT / "README.md").read_text(), flags=re.M | re.S)
    (shown,) = [block for block in blocks if block.startswith("$ edgelaw demo\n")]
    lines = shown.splitlines()[1:]
    printed = [line.rstrip() for line in demonstration.splitlines()]
    places = [printed.index(line) for line in lines]
    assert len(lines) >= 7
    assert places == sorted(places)


def test_the_demo_in_a_terminal_that_knows_only_ascii(monkeypatch):
    code = (
        "import sys\nfrom edgelaw_app.cli import demo, main\n"
        "demo.SIDE, demo.EPOCHS, demo.RUNS, demo.RECORD = 24, 4, 2, (1, 2, 3, 4)\nsys.exit(main(['demo']))"
    )
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(WORKING, done.stderr)
    assert done.stdout.isascii()
    assert "+-" in done.stdout
    assert "|" in done.stdout
    assert "?" not in done.stdout.replace("matter?", "")


# a source tree without installation ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def uninstalled(tmp_path_factory):
    """A function that runs Python on the source tree's ``lib``, with what is installed but the package itself.

    ``-S`` leaves out site-packages and with it the package's metadata; a folder of links stands for the rest.
    """
    import numpy
    import rich
    import scipy

    links = tmp_path_factory.mktemp("packages")
    site = Path(numpy.__file__).parents[1]
    assert Path(scipy.__file__).parents[1] == Path(rich.__file__).parents[1] == site
    for entry in site.iterdir():
        if "edgelaw" not in entry.name and not entry.name.endswith(".pth"):
            (links / entry.name).symlink_to(entry)

    def start(*words, lib=ROOT / "lib"):
        plain = {key: value for key, value in os.environ.items() if not key.startswith("COV_CORE")}
        env = plain | {"PYTHONPATH": os.pathsep.join([str(lib), str(links)])}
        return subprocess.run([sys.executable, "-S", *words], capture_output=True, text=True, env=env)

    probe = start("-c", "import importlib.metadata as m; m.version('edgelaw')")
    assert "PackageNotFoundError" in probe.stderr  # the fixture is what it says
    return start


def test_a_source_tree_knows_its_version(uninstalled):
    version = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), flags=re.M)[1]
    done = uninstalled("-m", "edgelaw_app", "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"edgelaw {version}\n", "")
    done = uninstalled("-c", "import edgelaw; print(edgelaw.__version__)")
    assert (done.stdout, done.stderr) == (f"{version}\n", "")


def test_a_source_tree_predicts_and_verifies(uninstalled, here):
    done = uninstalled("-m", "edgelaw_app", "x.npy", "--epochs", "2", "--order", "iid")
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(WORKING, done.stderr)
    assert "Use sampling with replacement" in done.stdout
    done = uninstalled("-m", "edgelaw_ledger", "Z1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "There is no claim Z1" in done.stderr


def test_a_copy_of_the_library_alone_says_so_in_one_sentence(uninstalled, tmp_path):
    for package in ("edgelaw", "edgelaw_app"):
        shutil.copytree(
            ROOT / "lib" / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    done = uninstalled("-m", "edgelaw_app", "--version", lib=tmp_path)
    assert (done.returncode, done.stdout) == (0, "edgelaw 0+unknown\n")
    code = "from edgelaw_app.cli import parser\nprint(parser._unexpected(ZeroDivisionError('x')))"
    assert "an issue at its repository" in uninstalled("-c", code, lib=tmp_path).stdout
    assert "https://" in uninstalled("-c", code).stdout
