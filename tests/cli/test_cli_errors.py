"""What goes wrong on the command line is one sentence and a status, whatever it is."""

import gzip
import json
import os
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from running import refused, run

from edgelaw_app import files
from edgelaw_app.cli import terminal


@pytest.fixture
def matrix():
    return np.random.default_rng(0).normal(size=(30, 24))


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Shell:
    """What a pickle could do."""

    def __reduce__(self):
        return (os.system, ("touch pwned",))


def missing(matrix):
    return "nowhere.npy"


def folder(matrix):
    os.mkdir("folder.npy")
    return "folder.npy"


def unknown(matrix):
    open("embeddings.xlsx", "w").close()
    return "embeddings.xlsx"


def empty(matrix):
    open("empty.npy", "w").close()
    return "empty.npy"


def empty_table(matrix):
    open("empty.csv", "w").close()
    return "empty.csv"


def truncated(matrix):
    np.save("short.npy", matrix)
    with open("short.npy", "r+b") as file:
        file.truncate(2000)
    return "short.npy"


def truncated_zip(matrix):
    np.savez("short.npz", x=matrix)
    with open("short.npz", "r+b") as file:
        file.truncate(2000)
    return "short.npz"


def truncated_gzip(matrix):
    with gzip.open("short.csv.gz", "wt") as file:
        np.savetxt(file, matrix, delimiter=",")
    with open("short.csv.gz", "r+b") as file:
        file.truncate(2000)
    return "short.csv.gz"


def objects(matrix):
    np.save("objects.npy", np.array([[Shell()]], dtype=object))
    return "objects.npy"


def pickled(matrix):
    with open("pickled.npy", "wb") as file:
        pickle.dump(Shell(), file)
    return "pickled.npy"


def pickled_member(matrix):
    with zipfile.ZipFile("pickled.npz", "w") as file:
        file.writestr("x.npy", pickle.dumps(Shell()))
    return "pickled.npz"


def pickled_torch(matrix):
    pytest.importorskip("torch")
    with open("pickled.pt", "wb") as file:
        pickle.dump(Shell(), file)
    return "pickled.pt"


def two_arrays(matrix):
    np.savez("two.npz", first=matrix, second=matrix)
    return "two.npz"


def text_in_table(matrix):
    rows = [",".join(map(str, row)) for row in matrix]
    rows[4] = rows[4].replace(rows[4].split(",")[2], "many", 1)
    with open("words.csv", "w") as file:
        file.write("\n".join(rows) + "\n")
    return "words.csv"


def not_numbers(matrix):
    matrix[7, 3] = matrix[9, 1] = np.nan
    matrix[8, 0] = np.inf
    np.save("nan.npy", matrix)
    return "nan.npy"


def constant(matrix):
    np.save("constant.npy", np.full((30, 24), 2.5))
    return "constant.npy"


def duplicates(matrix):
    np.save("same.npy", np.repeat(matrix[:1], 30, axis=0))
    return "same.npy"


def one_row(matrix):
    np.save("one.npy", matrix[:1])
    return "one.npy"


def narrow(matrix):
    np.save("narrow.npy", matrix[:, :19])
    return "narrow.npy"


def imaginary(matrix):
    np.save("complex.npy", matrix + 1j)
    return "complex.npy"


def a_cube(matrix):
    np.save("cube.npy", matrix.reshape(2, 15, 24))
    return "cube.npy"


def strings(matrix):
    np.save("strings.npy", matrix.astype(str))
    return "strings.npy"


CASES = [
    (missing, ["There is no file nowhere.npy"]),
    (folder, ["folder.npy"]),
    (unknown, ["embeddings.xlsx", ".npy", ".parquet"]),
    (empty, ["empty.npy", "empty"]),
    (empty_table, ["empty.csv"]),
    (truncated, ["short.npy"]),
    (truncated_zip, ["short.npz"]),
    (truncated_gzip, ["short.csv.gz"]),
    (objects, ["objects.npy", "pickle"]),
    (pickled, ["pickled.npy", "damaged, protected or of another format"]),
    (pickled_member, ["pickled.npz", "damaged, protected or of another format"]),
    (pickled_torch, ["pickled.pt", "never loaded"]),
    (two_arrays, ["'first', 'second'"]),
    (text_in_table, ["words.csv", "line 5", "number 2, counted from 0", "many"]),
    (not_numbers, ["nan", "row 7", "column '3'"]),
    (constant, ["constant.npy"]),
    (duplicates, ["same.npy", "30 rows", "equal"]),
    (one_row, ["one.npy", "at least 2 rows"]),
    (narrow, ["19 dimensions", "20"]),
    (imaginary, ["complex.npy", "real numbers"]),
    (a_cube, ["cube.npy", "shape (2, 15, 24)"]),
    (strings, ["strings.npy", "real numbers"]),
]


@pytest.mark.parametrize(("make", "words"), CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_a_bad_file_is_refused_in_one_sentence(here, matrix, make, words):
    name = make(matrix)
    command = ("spectrum", "predict")[len(name) % 2]  # both read files by the same function
    line = refused(command, name, "--json")
    for word in words:
        assert word in line, line
    assert not (here / "pwned").exists()


def test_a_wrong_key_is_answered_with_the_right_ones(here, matrix):
    np.savez("two.npz", first=matrix, second=matrix)
    line = refused("predict", "two.npz", "--key", "x_train")
    assert "'x_train'" in line
    assert "'first', 'second'" in line
    np.save("one.npy", matrix)
    assert "'x_train'" in refused("spectrum", "one.npy", "--key", "x_train")


def test_a_row_without_a_direction_cannot_be_scaled(here, matrix):
    matrix[5] = 0
    np.save("zero.npy", matrix)
    line = refused("spectrum", "zero.npy", "--no-center")
    assert "zero.npy" in line
    assert "5" in line


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--lr", "0"], "greater than 0, not '0'"),
        (["--lr", "best"], "greater than 0"),
        (["--step", "1"], "nrecognized arguments"),
        (["--simulate"], "nrecognized arguments"),
        (["--lr", "5"], "lr must be below 0."),
        (["--lr", "1e300"], "lr must be"),
        (["--batch", "31"], "batch"),
        (["--no-search"], "nrecognized arguments"),
        (["--labels", "y.npy"], "use edgelaw probe"),
        (["--no-normalize"], "leave it out"),
        (["--lr", "-0.5"], "greater than 0"),
        (["--lr", "nan"], "greater than 0"),
        (["--lr", "inf"], "greater than 0"),
        (["--batch", "0"], "batch"),
        (["--batch", "1.5"], "batch"),
        (["--target", "1"], "strictly between 0 and 1"),
        (["--target", "0"], "strictly between 0 and 1"),
        (["--epochs", "0"], "positive integer"),
        (["--epochs", "1.5"], "positive integer"),
        (["--epochs", "9" * 5000], "positive integer"),
        (["--epochs", "100001"], "at most 100,000"),
        (["--rows", "1"], "at least 2"),
        (["--dims", "-3"], "at least 2"),
        (["--seed", "-1"], "at least 0"),
        (["--order", "backwards"], "iid, random_reshuffle, single_shuffle, flip_flop"),
        (["--rows", "31"], "30"),
        (["--dims", "19"], "20"),
        (["--dask=somewhere"], "tcp://"),
        (["--ste", "1"], "nrecognized arguments"),
        (["--epochs"], "expected one argument"),
        (["another.npy"], "nrecognized arguments: another.npy"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_with_what_would(here, matrix, options, words):
    np.save("x.npy", matrix)
    assert words in refused("predict", "x.npy", *options)


def bad_reports(here):
    """Paths that cannot be written, with a part of the sentence that says why."""
    (here / "folder.html").mkdir()
    (here / "locked.html").touch(0o400)
    yield "nowhere/report.html", "no such file or directory"
    yield "folder.html", "it is a folder"
    yield "report.txt", "must end in .html or .htm"
    yield "x" * 300 + ".html", "name too long"
    yield "x.npy/report.html", "not a directory"
    if os.geteuid() != 0:
        yield "locked.html", "you may not change it"


def test_a_report_that_cannot_be_written_is_refused_before_anything_is_computed(here, matrix, monkeypatch):
    np.save("x.npy", matrix)

    def never(*_, **__):
        raise AssertionError("the file was read")

    monkeypatch.setattr(files, "open_matrix", never)
    for path, words in bad_reports(here):
        assert words in refused("predict", "x.npy", "--report", path), path
        plot = path.replace(".html", ".png")
        if path not in ("folder.html", "locked.html"):
            assert words.replace(".html or .htm", ".png or .svg or .pdf") in refused(
                "spectrum", "x.npy", "--plot", plot
            )
    assert "null" in refused("predict", "x.npy", "--report", "a\0b.html")
    assert not list(here.glob(".edgelaw*"))


def test_the_file_that_is_read_is_never_written(here, matrix):
    np.save("x.npy", matrix)
    os.rename("x.npy", "x.html")
    os.link("x.html", "y.html")
    assert "being read" in refused("predict", "x.html", "--report", "y.html")


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (
            [
                "predict",
                "--report",
                "r.html",
                "--epochs",
                2,
                "--order",
                "iid",
            ],
            "r.html",
        ),
        (["spectrum", "--plot", "r.svg"], "r.svg"),
    ],
)
def test_a_disk_that_fills_up_loses_no_answer_and_leaves_no_half_file(here, matrix, monkeypatch, words, path):
    np.save("x.npy", matrix)
    (here / path).write_text("before")
    command, *options = words
    before = [run(command, "x.npy", *options[2:], *form)[1] for form in ([], ["--json"])]

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for form, whole in zip(([], ["--json"]), before, strict=True):
        status, out, err = run(command, "x.npy", *options, *form)
        assert status == 1
        assert (
            err
            == f"edgelaw: {path} could not be written: no space left on device; the answer itself is complete.\n"
        )
        assert out == whole
        assert (here / path).read_text() == "before"
        assert sorted(os.listdir()) == sorted([path, "x.npy"])


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_an_answer_that_cannot_be_printed_is_a_sentence_and_the_plot_is_there(here, matrix):
    np.save("x.npy", matrix)
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "edgelaw_app", "spectrum", "x.npy", "--plot", "r.svg"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert ended.returncode == 1
    assert ended.stderr == "edgelaw: The system said no: no space left on device.\n"
    assert (here / "r.svg").read_text().rstrip().endswith("</svg>")


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (MemoryError(), 1, "not enough memory"),
        (np._core._exceptions._ArrayMemoryError((10**6, 10**6), np.dtype(float)), 1, "not enough memory"),
        (KeyboardInterrupt(), 130, "stopped"),
        (OSError(5, "Input/output error", "x.npy"), 1, "input/output error (x.npy)"),
        (
            ZeroDivisionError("division\nby zero"),
            1,
            "ZeroDivisionError: division by zero in test_cli_errors.py",
        ),
        (RecursionError(), 1, "RecursionError"),
        (AssertionError("x" * 1000), 1, "EDGELAW_DEBUG=1"),
        (ValueError("not of ours"), 1, "https://"),
    ],
    ids=lambda case: type(case).__name__ if isinstance(case, BaseException) else None,
)
def test_whatever_happens_is_one_sentence(monkeypatch, error, status, words):
    def broken(*_, **__):
        raise error

    monkeypatch.setattr(files, "open_matrix", broken)
    ended, out, err = run("spectrum", "x.npy")
    assert (ended, out) == (status, "")
    assert len(err.splitlines()) == 1
    assert len(err) < 600
    assert words in err


def test_the_traceback_is_there_for_those_who_ask(monkeypatch):
    monkeypatch.setenv("EDGELAW_DEBUG", "1")
    status, _, err = run("spectrum", "nowhere.npy")
    assert status == 2
    assert "Traceback" in err
    assert err.splitlines()[-1] == "edgelaw: There is no file nowhere.npy."


def test_odd_names_are_said_in_one_line():
    assert "There is no file" in refused("spectrum", "two\nlines\x1b[31m.npy")
    assert "There is no file" in refused("spectrum", "half\udcff.npy")
    assert refused("spectrum", "a\0b.npy")


def test_a_value_is_told_whole_but_not_endless():
    assert terminal.shortened("a" * 100) == repr("a" * 39 + "…")
    assert terminal.printable("a\nb\t\x07c\udcff") == "a b c\\udcff"


def test_json_knows_no_nan_and_is_ascii(capsys):
    terminal.machine(
        {"a": np.float64("nan"), "b": [np.inf, np.int64(3)], "c": {"two\nlines": (True, None, "\udcff")}}
    )
    out = capsys.readouterr().out
    assert out.isascii()
    assert json.loads(out, parse_constant=pytest.fail) == {
        "a": None,
        "b": [None, 3],
        "c": {"two\nlines": [True, None, "\\udcff"]},
    }
    with pytest.raises(TypeError, match="JSON"):
        terminal.machine({"a": object()})


def test_a_closed_pipe_or_a_full_disk_is_no_traceback(tmp_path, matrix):
    np.save(tmp_path / "x.npy", matrix)
    quoted = f"{sys.executable} -m edgelaw_app spectrum {tmp_path / 'x.npy'} --json"
    closed = subprocess.run(f"{quoted} | true", shell=True, capture_output=True, text=True)
    assert closed.stderr == ""
    if os.path.exists("/dev/full"):
        full = subprocess.run(f"{quoted} > /dev/full", shell=True, capture_output=True, text=True)
        assert full.returncode == 1
        assert len(full.stderr.splitlines()) == 1
        assert "no space left" in full.stderr.lower()


@pytest.fixture(scope="module")
def ascii_run(tmp_path_factory):
    """A whole run in a process of its own whose terminal knows only ASCII; then it says which modules it loaded."""
    path = tmp_path_factory.mktemp("ascii") / "x.npy"
    np.save(path, np.random.default_rng(0).normal(size=(30, 24)))
    code = (
        f"import sys\nfrom edgelaw_app.cli import main\nstatus = main(['spectrum', {str(path)!r}])\n"
        "print('modules:', *sys.modules)\nsys.exit(status)"
    )
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)


def test_a_terminal_that_knows_only_ascii_gets_ascii(ascii_run):
    assert (ascii_run.returncode, ascii_run.stderr) == (0, "")
    assert "30 x 24" in ascii_run.stdout
    assert ascii_run.stdout.isascii()


def test_a_file_is_read_without_torch_and_dask(ascii_run):
    modules = ascii_run.stdout.split("modules:")[1].split()
    assert "numpy" in modules
    assert not {"torch", "dask", "distributed", "matplotlib", "pandas", "pyarrow", "jinja2"} & set(modules)
