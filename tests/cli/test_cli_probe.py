"""``edgelaw probe FILE --labels Y``: labels wherever they are, the answer on a screen, as JSON, as a report."""

import html
import json
import os
import pickle
import re

import numpy as np
import pytest
from running import refused, run

import edgelaw_app
from edgelaw_app.forecast import probe as forecast

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
    np.savez(
        place / "both.npz", x=X, y=y, words=words, number=X[:, 0] + 0.5, two=X[:, :2] * 2.0, whole=y * 1.0
    )
    np.savez(place / "test.npz", x=X[:50], y=y[:50])
    np.save(place / "x.npy", X)
    np.save(place / "scales.npy", X * np.geomspace(1, 1000, 24))
    np.save(place / "y.npy", y)
    np.save(place / "rare.npy", (np.arange(240) % 30 == 0).astype(int))
    np.save(place / "chance.npy", np.random.default_rng(7).integers(0, 2, 240))
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


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.delenv("COLUMNS", raising=False)
    return folder


def as_json(*words, fast=FAST):
    status, out, err = run("probe", *words, "--json", *fast)
    assert (status, err) == (0, "")
    return json.loads(out, parse_constant=pytest.fail)


def flat(text):
    return " ".join(text.split())


LABELLED = ("both.npz", "--key", "x", "--labels", "y")


# what it says ----------------------------------------------------------------------------------------------


def test_json_holds_what_the_library_found(here, made):
    ours = as_json(*LABELLED)
    theirs = forecast(*made, epochs=3, orders=["iid"])
    assert (ours["schema"], ours["file"], ours["labels"]["classes"]) == (
        "edgelaw.probe/1",
        "both.npz",
        ["0", "1", "2"],
    )
    ours = {name: value for name, value in ours.items() if name not in ("schema", "version", "file")}
    assert ours == json.loads(json.dumps(theirs.to_dict()))


@pytest.mark.parametrize(
    "words",
    [
        LABELLED,
        (*LABELLED, "--batch", "32", "--weight-decay", "0.001", "--order", "iid"),
        (*LABELLED, "--schedule", "linear", "--lr", "0.001"),
        (*LABELLED, "--schedule", "cosine"),
        ("both.npz", "--key", "x", "--labels", "two", "--standardize", "--normalize", "--held-out", "none"),
        ("both.npz", "--key", "x", "--labels", "number", "--no-center", "--order", "flip_flop"),
        ("scales.npy", "--labels", "rare.npy", "--epochs", "8"),
        ("x.npy", "--labels", "chance.npy", "--epochs", "2"),
    ],
    ids=" ".join,
)
def test_the_answer_fits_a_screen_and_comes_in_the_order_in_which_it_is_needed(here, monkeypatch, words):
    """What to do, code, the table, what was assumed, cautions; what --json has, word for word."""
    made, ask = {}, edgelaw_app.forecast.probe

    def once(*arguments, progress, **options):
        question = pickle.dumps((arguments, options))
        if question not in made:
            made[question] = ask(*arguments, progress=progress, **options)
        return made[question]

    monkeypatch.setattr(edgelaw_app.forecast, "probe", once)
    fast = () if "--epochs" in words else ("--epochs", "4")
    status, out, err = run("probe", *words, *fast)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= (54 if "--lr" in words else 48)
    machine = as_json(*words, fast=fast)
    assert len(made) == 1  # both forms asked the same
    table = next(line for line in lines if line.startswith("order "))
    parts = [
        *machine["advice"]["sentences"],
        machine["code"],
        table,
        machine["assumed"],
        *(caution["text"] for caution in machine["cautions"]),
        machine["preparation"][0],
    ]
    text = flat(out.replace("\n! ", "\n").replace("\n  ", "\n"))
    places = [text.index(flat(part)) for part in parts]
    assert places == sorted(places)
    assert ["  " + line for line in machine["code"].splitlines()] == [
        line for line in lines if line[2:] in machine["code"].splitlines() and line.strip()
    ]
    assert not re.search(r"\bnan\b|\binf\b|None|…|e\+\d", out)


def test_the_code_of_the_answer_runs_and_reaches_the_loss_that_it_promises(here, made):
    import torch

    answer = as_json(*LABELLED, fast=("--epochs", "6"))
    rng = np.random.default_rng(0)
    X, y = made
    # the split is drawn by seed; any other rows of the same kind reach about the same training loss
    chosen = np.sort(rng.permutation(240)[: answer["shape"][0]])
    torch.manual_seed(0)
    names = {"torch": torch, "X": torch.tensor(X[chosen], dtype=torch.float32), "y": torch.tensor(y[chosen])}
    exec(answer["code"], names)
    with torch.no_grad():
        reached = float(((names["net"](names["X"]) - names["Y"]) ** 2).sum(1).mean())
    order, epochs = answer["orders"][answer["advice"]["order"]], answer["advice"]["epochs"]
    assert reached == pytest.approx(order["losses"]["training loss"][epochs], rel=0.1)


def test_the_learning_rates_of_a_schedule_are_in_the_code_and_in_the_report(here):
    words = (*LABELLED, *FAST, "--schedule", "linear", "--report", "rates.html")
    machine = as_json(*words, fast=())
    rates = machine["orders"]["iid"]["rates"]
    assert np.allclose(rates, rates[0] * np.array([3, 2, 1]) / 3)
    rate = f"rate = {rates[0]:.3g} * (1 - n / 3)"
    assert rate in machine["code"]
    assert rate in run("probe", *words)[1]
    assert rate in (here / "rates.html").read_text()


def test_the_answer_says_what_other_rates_and_a_direct_solution_cost(here):
    text = flat(run("probe", *LABELLED, *FAST)[1])
    for words in (
        "A tenth of this lr",
        "ten times this lr",
        "diverges from lr",
        "in closed form",
        "held-out loss",
    ):
        assert words in text, words
    assert "3 classes" in text
    assert "1 output," not in text
    assert (
        flat(run("probe", "both.npz", "--key", "x", "--labels", "number", *FAST)[1]).count(", 1 output ") == 1
    )


def test_a_given_learning_rate_is_judged_beside_the_best(here):
    words = (*LABELLED, "--lr", "1e-5")
    machine = as_json(*words)
    assert machine["asked"]["iid"]["lr"] == 1e-5
    assert machine["asked"]["iid"]["losses"]["held-out loss"][-1] > machine["advice"]["value"]
    assert "at your lr" in run("probe", *words, *FAST)[1]


def test_every_loss_of_a_run_has_its_standard_error(here):
    words = (*LABELLED, "--epochs", "3", "--order", "flip_flop")
    machine = as_json(*words, "--operations", "1e8", fast=())
    assert machine["orders"]["flip_flop"]["how"] == "simulated"
    out = run("probe", *words, "--operations", "1e8", "--report", "errors.html")[1]
    assert re.search(r"flip_flop +\S+ +[\d.]+ ±[\d.]+%", out)
    assert re.search(r"<td class=\"n\">[\d.]+ ±[\d.]+%</td>", (here / "errors.html").read_text())


def test_features_of_very_different_scale_are_advised_to_be_standardised(here):
    words = ("scales.npy", "--labels", "y.npy", "--epochs", "5", "--order", "iid")
    codes = [caution["code"] for caution in as_json(*words, fast=())["cautions"]]
    assert "scale" in codes
    assert "with --standardize" in flat(run("probe", *words)[1])
    after = [caution["code"] for caution in as_json(*words, "--standardize", fast=())["cautions"]]
    assert "scale" not in after


def test_classes_of_very_different_size_are_named(here):
    codes = [caution["code"] for caution in as_json("x.npy", "--labels", "rare.npy")["cautions"]]
    assert "imbalanced" in codes


def test_columns_that_are_no_features_are_named_and_what_was_left_out_is_said(here, made):
    """Row numbers, a constant and the classes as integers: terminal, JSON and report warn of each."""
    X, y = made
    names = [*(f"f{k}" for k in range(24)), "code", "one", "number", "tree"]
    rows = [
        ",".join([str(k), *(f"{value:.8g}" for value in row), str(label), "1", str(1000 + k), "abc"[label]])
        for k, (row, label) in enumerate(zip(X, y, strict=True))
    ]
    (here / "odd.csv").write_text("\n".join(["," + ",".join(names), *rows]) + "\n")
    out = flat(run("probe", "odd.csv", "--labels", "tree", *FAST, "--report", "odd.html")[1])
    page = html.unescape((here / "odd.html").read_text())
    answer = as_json("odd.csv", "--labels", "tree")
    texts = " ".join(caution["text"] for caution in answer["cautions"] if caution["code"] == "columns")
    for words in (
        "nothing but one number: 'one'",
        "nothing but whole numbers, as labels and row numbers are: 'code', 'number'",
    ):
        assert words in out
        assert words in texts
        assert words in page
    index = answer["preparation"][0]
    assert index == "Left out as row numbers: the first, without a name."
    assert index in page
    clean = as_json("odd.csv", "--labels", "tree", "--drop", "code,one,number")
    assert not any(caution["code"] == "columns" for caution in clean["cautions"])


def test_the_report_draws_both_losses(here):
    assert run("probe", *LABELLED, *FAST, "--report", "probe.html")[0] == 0
    page = (here / "probe.html").read_text()
    assert page.count("<svg") == 2
    assert "Use sampling with replacement" in page
    assert "Held-out loss by epoch" in page
    assert "script" not in page


# where labels and held-out rows come from --------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("both.npz", "--key", "x", "--labels", "words"),
        ("both.npz", "--key", "x", "--labels", "whole"),
        ("x.npy", "--labels", "y.npy"),
        ("x.npy", "--labels", "both.npz:y"),
        ("x.npy", "--labels", "words.csv"),
        ("x.npy", "--labels", "table.csv:tree"),
        ("table.csv", "--labels", "tree"),
        ("table.csv", "--labels", "-1"),
    ],
    ids=" ".join,
)
def test_labels_are_found_wherever_they_are(here, words):
    """All of them name the same classes, so that the answer is the same but for a csv file's digits."""
    first, other = as_json(*LABELLED), as_json(*words)
    assert other["advice"]["lr"] == pytest.approx(first["advice"]["lr"], rel=1e-3)
    assert other["advice"]["value"] == pytest.approx(first["advice"]["value"], rel=1e-4)


def test_floats_are_numbers_in_one_column_or_several_and_whole_ones_are_classes_unless_denied(here):
    words = ("both.npz", "--key", "x", "--labels")
    assert as_json(*words, "number")["labels"]["outputs"] == 1
    assert as_json(*words, "two")["labels"]["outputs"] == 2
    whole = as_json(*words, "whole")
    assert whole["labels"]["classes"] == ["0", "1", "2"]
    (note,) = [text for text in whole["preparation"] if "as classes" in text]
    option = re.search(r"\((--[\w-]+)\)", note)[1]
    assert as_json(*words, "whole", option)["labels"]["classes"] is None  # the remedy that is named is there
    status, out, _ = run("probe", "table.csv", "--labels", "f0,f1", "--drop", "tree", "--json", *FAST)
    assert status == 0
    assert json.loads(out)["shape"][1] == 22


def test_held_out_rows_come_from_a_fraction_or_a_file_or_not_at_all(here):
    assert as_json(*LABELLED, "--held-out", "0.5")["labels"]["held_out_rows"] == 120
    assert as_json(*LABELLED, "--held-out", "test.npz")["labels"]["held_out_rows"] == 50
    assert as_json(*LABELLED, "--held-out", "x.npy,y.npy")["labels"]["held_out_rows"] == 240
    none = as_json(*LABELLED, "--held-out", "none")
    assert none["labels"]["held_out_rows"] == 0
    assert list(none["orders"]["iid"]["losses"]) == ["training loss"]


def test_rows_dims_normalise_and_batches_are_applied(here):
    assert as_json(*LABELLED, "--rows", "100", "--dims", "20")["shape"] == [80, 20]
    iid = as_json(*LABELLED, "--normalize")["orders"]["iid"]
    assert iid["step"] == pytest.approx(iid["lr"] * 2 * 24 / 3)  # rows of norm √24, three outputs
    assert as_json(*LABELLED, "--batch", "16")["advice"]["batch"] == 16


# refusals --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--labels", "short.npy"), "for each of the 240 rows, not an array of shape (239,)"),
        (("--labels", "one.npy"), "at least two classes"),
        (("--labels", "nan.npy"), "NaN"),
        (("--labels", "objects.npy"), "never loaded"),
        (("--labels", "missing.npy"), "There is no file"),
        (("--labels", "both.npz"), "name one as"),
        (("--labels", "both.npz:z"), "no array 'z'"),
        (("--labels", "y"), "without a key"),
        (("--labels", "y.npy", "--lr", "9"), "lr must be below 0."),
        (("--labels", "y.npy", "--batch", "999"), "batch"),
        (("--labels", "y.npy", "--schedule", "steep"), "--schedule"),
        (("--labels", "y.npy", "--held-out", "2"), "strictly between 0 and 1"),
        (("--labels", "y.npy", "--held-out", "x.npy"), "give FEATURES,LABELS"),
        (("--labels", "y.npy", "--target", "0.1"), "--target"),
        (("--labels", "y.npy", "--dask"), "--dask is for"),
        (("--labels", "y.npy", "--rows", "999"), "at most 240"),
        (("--labels", "y.npy", "--order", "backwards"), "the orders are"),
        ((), "--labels"),
    ],
    ids=" ".join,
)
def test_bad_input_is_refused_in_one_sentence(here, words, message):
    assert message in refused("probe", "x.npy", *words)


@pytest.mark.parametrize(
    "words", [("--labels", "y.npy"), ("--schedule", "linear"), ("--held-out", "0.1")], ids=" ".join
)
def test_what_only_labels_have_is_refused_where_there_are_none(here, words):
    assert words[0] in refused("predict", "x.npy", *words)


def test_a_pipe_of_labels_is_refused_and_nobody_waits(here):
    os.mkfifo("pipe.npy")
    assert "is not a regular file" in refused("probe", "x.npy", "--labels", "pipe.npy")


def test_a_pickle_renamed_is_refused(here):
    (here / "pickle.npy").write_bytes(b"\x80\x04N.")
    assert "damaged, protected or of another format" in refused("probe", "x.npy", "--labels", "pickle.npy")
