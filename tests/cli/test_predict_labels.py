"""`edgelaw predict --labels`: a probe's learning rate from a file, on one screen, as JSON, as a report; refusals."""

import html
import json
import os
import re

import numpy as np
import pytest
from running import refused, run

from edgelaw_app import labels
from edgelaw_app.labels import sentences

FAST = ("--epochs", "3", "--order", "iid")


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(1)
    y = np.arange(240) % 3
    X = rng.normal(size=(3, 24))[y] * 0.5 + rng.normal(size=(240, 24))
    return X, y


@pytest.fixture(scope="module")
def folder(tmp_path_factory, made):
    X, y = made
    place = tmp_path_factory.mktemp("labels")
    words = np.array(["ash", "oak", "yew"])[y]
    np.savez(place / "both.npz", x=X, y=y, words=words, number=X[:, 0] + 0.5, two=X[:, :2] * 2.0)
    np.savez(place / "test.npz", x=X[:50], y=y[:50])
    np.save(place / "x.npy", X)
    np.save(place / "y.npy", y)
    np.save(place / "short.npy", y[:-1])
    np.save(place / "one.npy", 0 * y)
    np.save(place / "nan.npy", np.where(y == 1, np.nan, 1.0))
    np.save(place / "objects.npy", words.astype(object), allow_pickle=True)
    names = [f"f{k}" for k in range(24)]
    lines = [",".join([*names, "tree"])]
    lines += [
        ",".join([*(f"{value:.8g}" for value in row), word]) for row, word in zip(X, words, strict=True)
    ]
    (place / "table.csv").write_text("\n".join(lines) + "\n")
    (place / "words.csv").write_text("tree\n" + "\n".join(words) + "\n")
    return place


def probe(*words):
    status, out, err = run("predict", *words, "--json", *FAST)
    assert (status, err) == (0, "")
    return json.loads(out)["probe"]


def test_json_holds_what_to_train_with_and_what_to_expect(folder, made):
    ours = probe(folder / "both.npz", "--key", "x", "--labels", "y")
    theirs = labels.forecast(*made, epochs=3, orders=["iid"])
    assert (ours["lr"], ours["batch"], ours["order"], ours["epochs"]) == (theirs.lr, 1, "iid", 3)
    assert ours["train"] == theirs.train.tolist()
    assert ours["held_out"] == theirs.held_out.tolist()
    assert ours["classes"] == ["0", "1", "2"]


@pytest.mark.parametrize(
    "words",
    [
        ("both.npz", "--key", "x", "--labels", "words"),
        ("x.npy", "--labels", "{}/y.npy"),
        ("x.npy", "--labels", "{}/both.npz:y"),
        ("x.npy", "--labels", "{}/words.csv"),
        ("x.npy", "--labels", "{}/table.csv:tree"),
        ("table.csv", "--labels", "tree"),
        ("table.csv", "--labels", "-1"),
    ],
)
def test_labels_are_found_wherever_they_are(folder, words):
    """All of them name the same classes, so that the answer is the same but for a csv file's digits."""
    first = probe(folder / "both.npz", "--key", "x", "--labels", "y")
    other = probe(folder / words[0], *(word.format(folder) for word in words[1:]))
    assert other["lr"] == pytest.approx(first["lr"], rel=1e-4)
    assert other["held_out"] == pytest.approx(first["held_out"], rel=1e-4)


def test_floats_are_numbers_in_one_column_or_several(folder):
    assert probe(folder / "both.npz", "--key", "x", "--labels", "number")["outputs"] == 1
    assert probe(folder / "both.npz", "--key", "x", "--labels", "two")["outputs"] == 2
    status, out, _ = run(
        "predict", folder / "table.csv", "--labels", "f0,f1", "--drop", "tree", "--json", *FAST
    )
    assert status == 0
    assert json.loads(out)["probe"]["shape"][1] == 22


def test_held_out_rows_come_from_a_fraction_or_a_file_or_not_at_all(folder):
    words = (folder / "both.npz", "--key", "x", "--labels", "y")
    assert probe(*words, "--held-out", "0.5")["held_out_rows"] == 120
    assert probe(*words, "--held-out", folder / "test.npz")["held_out_rows"] == 50
    assert probe(*words, "--held-out", f"{folder / 'x.npy'},{folder / 'y.npy'}")["held_out_rows"] == 240
    assert probe(*words, "--held-out", "none")["held_out"] is None


def test_rows_dims_normalise_and_batches_are_applied(folder):
    words = (folder / "both.npz", "--key", "x", "--labels", "y")
    assert probe(*words, "--rows", "100", "--dims", "20")["shape"] == [80, 20]
    normalised = probe(*words, "--normalize")
    assert normalised["step"] == pytest.approx(24 * normalised["lr"])
    assert probe(*words, "--batch", "16")["batch"] == 16


def test_the_answer_fits_one_screen_and_says_what_to_type(folder):
    status, out, err = run("predict", folder / "both.npz", "--key", "x", "--labels", "y", *FAST)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    for words in ("For your probe use lr =", "held-out", "ten times smaller lr", "larger lr", "closed form"):
        assert words in out.replace("\n", " "), words


def test_the_learning_rates_of_a_schedule_are_listed_wherever_it_is_recommended(folder):
    path = folder / "rates.html"
    words = ("predict", folder / "both.npz", "--key", "x", "--labels", "y", *FAST, "--schedule", "best")
    made = probe(*words[1:])
    listed = "lr by epoch: " + ", ".join(sentences.rounded(rate) for rate in made["rates"]) + "."
    assert len(made["rates"]) == 3
    assert listed in run(*words, "--report", path)[1].replace("\n", " ")
    assert listed in path.read_text()
    assert "lr by epoch" not in run(*words[:-2])[1]


def test_columns_that_are_no_features_are_named_and_what_was_left_out_is_said(folder, made):
    """Row numbers, a constant and the classes as integers: terminal, JSON and report warn of each."""
    X, y = made
    table, path = folder / "odd.csv", folder / "odd.html"
    names = [*(f"f{k}" for k in range(24)), "code", "one", "number", "tree"]
    rows = [
        ",".join([str(k), *(f"{value:.8g}" for value in row), str(label), "1", str(1000 + k), "abc"[label]])
        for k, (row, label) in enumerate(zip(X, y, strict=True))
    ]
    table.write_text("\n".join(["," + ",".join(names), *rows]) + "\n")
    out = run("predict", table, "--labels", "tree", *FAST, "--report", path)[1].replace("\n  ", " ")
    answer = probe(table, "--labels", "tree")
    texts = " ".join(caution["text"] for caution in answer["cautions"] if caution["code"] == "columns")
    for words in (
        "'one' holds one number only",
        "'number' numbers the rows",
        "'code' holds 3 different integers",
    ):
        assert words in out
        assert words in texts
        assert words in html.unescape(path.read_text())
    index = answer["preparation"][0]
    assert "without a name" in index
    assert index in html.unescape(path.read_text())
    clean = probe(table, "--labels", "tree", "--drop", "code,one,number")
    assert not any(caution["code"] == "columns" for caution in clean["cautions"])


def test_every_simulated_loss_has_its_standard_error(folder):
    path = folder / "errors.html"
    words = ("--labels", "y", "--epochs", "3", "--report", path)
    out = run("predict", folder / "both.npz", "--key", "x", *words)[1]
    assert re.search(r"flip-flop, same lr \(simulated\) +[\d.]+ ±[\d.]+%", out)
    assert re.search(r"IID, same lr \(simulated\)|IID, same lr .*±", out) is None
    assert re.search(r"<td>simulated, ±[\d.]+%</td>", path.read_text())


def test_a_given_learning_rate_is_judged(folder):
    words = (folder / "both.npz", "--key", "x", "--labels", "y")
    assert "best constant one" in run("predict", *words, *FAST, "--lr", "1e-5")[1].replace("\n", " ")
    assert probe(*words, "--lr", "1e-5")["lr"] == 1e-5


def test_the_report_draws_the_curves_and_the_run(folder):
    path = folder / "probe.html"
    words = (
        "predict",
        folder / "both.npz",
        "--key",
        "x",
        "--labels",
        "y",
        *FAST,
        "--simulate",
        "--report",
        path,
    )
    assert run(*words)[0] == 0
    page = path.read_text()
    assert page.count("<svg") == 2
    assert "For your probe use lr" in page
    assert "hollow marks runs of SGD" in page
    assert "script" not in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--labels", "{}/short.npy"), "one label for each of the 240 rows, not 239"),
        (("--labels", "{}/one.npy"), "at least two classes"),
        (("--labels", "{}/nan.npy"), "NaN"),
        (("--labels", "{}/objects.npy"), "never loaded"),
        (("--labels", "{}/missing.npy"), "There is no file"),
        (("--labels", "{}/both.npz"), "name one as"),
        (("--labels", "{}/both.npz:z"), "no array 'z'"),
        (("--labels", "y"), "without a key"),
        (("--labels", "{}/y.npy", "--lr", "9"), "must be below 0."),
        (("--labels", "{}/y.npy", "--schedule", "steep"), "--schedule"),
        (("--labels", "{}/y.npy", "--held-out", "2"), "strictly between 0 and 1"),
        (("--labels", "{}/y.npy", "--held-out", "{}/x.npy"), "give FEATURES,LABELS"),
        (("--labels", "{}/y.npy", "--target", "0.1"), "--target"),
        (("--labels", "{}/y.npy", "--dask"), "--dask cannot be used with --labels"),
        (("--labels", "{}/y.npy", "--no-search"), "give --lr"),
        (("--labels", "{}/y.npy", "--rows", "999"), "at most 240"),
        (("--lr", "0.1"), "--lr is an option of linear probes and needs --labels"),
        (("--schedule", "best"), "--schedule is an option of linear probes and needs --labels"),
        (("--held-out", "0.1"), "--held-out is an option of linear probes and needs --labels"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(folder, words, message):
    assert message in refused("predict", folder / "x.npy", *(word.format(folder) for word in words))


def test_a_pipe_of_labels_is_refused_and_nobody_waits(folder):
    path = folder / "pipe.npy"
    os.mkfifo(path)
    assert "is not a regular file" in refused("predict", folder / "x.npy", "--labels", path)


def test_a_pickle_renamed_is_refused(folder):
    path = folder / "pickle.npy"
    path.write_bytes(b"\x80\x04N.")
    assert "pickles are never loaded" in refused("predict", folder / "x.npy", "--labels", path)
