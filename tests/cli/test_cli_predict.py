"""``edgelaw predict``: what the library says, in 80 columns, as JSON and as a report."""

import json
import re

import numpy as np
import pytest
from running import run

from edgelaw import data
from edgelaw.orders import ORDERS
from edgelaw_app import files, forecast
from edgelaw_app.cli import answer, terminal
from edgelaw_app.forecast import predict

QUICK = ["--epochs", "6"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The three files of the README's examples, raw: a mean, rows of different norms, an anisotropic cloud."""
    folder = tmp_path_factory.mktemp("predict")
    rng = np.random.default_rng(2)
    raw = rng.normal(size=(48, 48)) * np.geomspace(1, 0.3, 48) * rng.uniform(1, 2, (48, 1)) + 3
    np.save(folder / "embeddings.npy", raw)
    np.savez(folder / "embeddings.npz", x_train=raw, y_train=np.arange(48.0))
    np.savetxt(folder / "features.csv", raw, delimiter=",")
    np.save(folder / "tall.npy", rng.normal(size=(500, 24)) * np.geomspace(1, 0.1, 24))
    np.save(folder / "wide.npy", rng.normal(size=(30, 60)))
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.delenv("COLUMNS", raising=False)
    return folder


@pytest.fixture(scope="module")
def found(folder):
    """What the library says of the same file."""
    design = files.design(files.open_matrix(folder / "embeddings.npz", "x_train"), rng=0)
    return predict(design, epochs=6, target=0.2, rng=0)


def as_json(*words):
    status, out, err = run("predict", *words, "--json")
    assert (status, err) == (0, "")
    return json.loads(out, parse_constant=pytest.fail)


def flat(text):
    return " ".join(text.split())


def test_the_numbers_are_those_of_the_library(here, found):
    machine = as_json("embeddings.npz", "--key", "x_train", "--target", "0.2", *QUICK)
    assert machine["schema"] == "edgelaw.predict/3"
    assert machine["file"] == "embeddings.npz"
    assert machine["labels"] is None
    assert list(machine["orders"]) == list(ORDERS)
    kept = {name: value for name, value in machine.items() if name not in ("schema", "version", "file")}
    assert kept == json.loads(json.dumps(found.to_dict()))


@pytest.mark.parametrize("columns", [None, "60", "80", "200"])
def test_the_answer_says_everything_in_the_order_in_which_it_is_needed(here, found, monkeypatch, columns):
    """What to do, code, the table, what was assumed, cautions; in at most 80 columns, or those of the terminal."""
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(forecast, "predict", lambda *_, **__: found)
    status, out, err = run("predict", "embeddings.npy", "--target", "0.2")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    wide = min(int(columns or 80), 80)
    table = [line for line in lines if re.match(r"order|" + "|".join(ORDERS), line)]
    code = found.code.splitlines()
    if wide == 80:
        places = [
            flat(out).index(flat(part))
            for part in (
                "48 rows × 48 columns",
                found.advice.sentences[0],
                found.advice.sentences[-1],
                found.code,
                table[0],
                *(found.assumed, *(caution.text for caution in found.cautions)),
                found.preparation[0],
            )
        ]
        assert places == sorted(places)
        assert [line for line in lines if line.startswith("  ") and line[2:] in code] == [
            "  " + line for line in code
        ]
        assert "…" not in out
        assert len(lines) <= 45
    else:
        kept = [*code, *(line[2:] for line in table)]  # neither is broken, whatever the width
        lines = [line for line in lines if line[2:] not in kept]
    assert max(map(len, lines)) <= wide


@pytest.mark.parametrize(
    "words",
    [
        ["embeddings.npy"],
        ["embeddings.npy", "--epochs", "1"],
        ["embeddings.npy", "--target", "0.3", "--lr", "0.001", "--batch", "4"],
        ["tall.npy", "--batch", "500"],
        ["tall.npy", "--order", "flip_flop", "--target", "1e-7"],
        ["wide.npy", "--standardize"],
        ["wide.npy", "--no-center", "--lr", "1e-10", "--epochs", "30"],
        ["features.csv", "--rows", "20", "--dims", "20", "--epochs", "100000", "--order", "iid"],
    ],
    ids=" ".join,
)
def test_the_answer_fits_a_screen_whatever_is_asked(here, words):
    words = words if "--epochs" in words else [*words, *QUICK]
    status, out, err = run("predict", *words, "--operations", "2e9")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= (51 if "--lr" in words else 45)
    assert not re.search(r"\bnan\b|\binf\b|None|…|e\+\d", out)


def test_the_table_has_both_losses_of_every_order_at_its_own_lr_under_their_names_and_times(
    here, found, monkeypatch
):
    monkeypatch.setattr(forecast, "predict", lambda *_, **__: found)
    out = run("predict", "embeddings.npy")[1]
    lines = [re.split(r" {2,}", line.strip()) for line in out.splitlines()]
    (place,) = [k for k, words in enumerate(lines) if words[0] == "order"]
    assert lines[place - 1] == ["parameter", "error", "training", "loss"]
    assert lines[place][1] == "lr"
    times = [float(head.removeprefix("epoch ")) for head in lines[place][2:]]
    assert times == 2 * sorted({found.advice.time, *times})
    for (order, one), words in zip(found.orders.items(), lines[place + 1 :], strict=False):
        losses = [loss for loss in one.losses for _ in times[:2]]
        cells = [answer.cell(one, *column) for column in zip(times, losses, strict=True)]
        assert words == [order, answer.digits(one.lr), *cells]
    for order, time in found.reached.items():
        last = answer.moment(found.orders[order].epochs[-1], 48)
        when = f"not by {last}" if time is None else f"at {answer.moment(time, 48)}"
        assert f"{order} {when}" in flat(out)
    assert None in found.reached.values()


def test_a_learning_rate_of_ones_own_is_shown_beside_the_best(here):
    words = ["embeddings.npy", "--lr", "0.001", "--order", "iid", *QUICK]
    machine = as_json(*words)
    assert machine["asked"]["iid"]["lr"] == pytest.approx(0.001)
    assert (
        machine["asked"]["iid"]["losses"]["training loss"][-1]
        > 2 * (machine["orders"]["iid"]["losses"]["training loss"][-1])
    )
    rows = [line for line in run("predict", *words)[1].splitlines() if line.startswith("iid ")]
    assert len(rows) == 2
    assert "0.00100" in rows[1]


def test_one_order_with_a_report(here):
    words = ["--order", "single_shuffle", "--report", "report.html"]
    status, out, err = run("predict", "features.csv", *words, *QUICK)
    assert (status, err) == (0, "")
    assert out.endswith("The report is in report.html.\n")
    assert "random_reshuffle" not in out
    text = (here / "report.html").read_text()
    assert "features.csv" in text
    assert "random reshuffle</th>" not in text


def test_where_theory_refuses_every_order_is_run_and_says_how_well(here):
    np.save(here / "few.npy", data.gaussian(15, 40, rng=0))
    machine = as_json("few.npy", "--epochs", "4", "--order", "iid", "--order", "single-shuffle")
    assert list(machine["orders"]) == ["iid", "single_shuffle"]
    for one in machine["orders"].values():
        assert one["how"] == "simulated"
        assert one["runs"] > 1
        assert max(one["errors"]["parameter error"]) > 0
    assert machine["operations"] > 0


def test_the_same_seed_gives_the_same_output(here):
    words = ["embeddings.npy", "--epochs", "3", "--rows", "30", "--dims", "30", "--order", "iid"]
    first = run("predict", *words)
    assert first == run("predict", *words)
    assert first[1] != run("predict", *words, "--seed", "1")[1]


def test_an_order_named_twice_counts_once():
    assert terminal.chosen_orders(["iid", "IID", "flip-flop"]) == ["iid", "flip_flop"]
