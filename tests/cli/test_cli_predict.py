"""``edgelaw predict``: what the library says, in a table, as JSON and as a report."""

import json

import numpy as np
import pytest
from running import run

from edgelaw.orders import ORDERS
from edgelaw_app import files
from edgelaw_app import forecast as room
from edgelaw_app.cli import format, terminal
from edgelaw_app.forecast import predict

QUICK = ["--epochs", "6", "--no-simulate", "--no-search"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The three files of the README's examples, raw: a mean, rows of different norms, an anisotropic cloud."""
    folder = tmp_path_factory.mktemp("predict")
    rng = np.random.default_rng(2)
    raw = rng.normal(size=(48, 48)) * np.geomspace(1, 0.3, 48) * rng.uniform(1, 2, (48, 1)) + 3
    np.save(folder / "embeddings.npy", raw)
    np.savez(folder / "embeddings.npz", x_train=raw, y_train=np.arange(48.0))
    np.savetxt(folder / "features.csv", raw, delimiter=",")
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="module")
def prediction(folder):
    """What the library says of the same file."""
    design = files.design(files.open_matrix(folder / "embeddings.npz", "x_train"), rng=0)
    return predict(design, epochs=6, target=0.2, simulate=False, rng=0, search=False)


def as_json(*words):
    status, out, err = run("predict", *words, "--json")
    assert (status, err) == (0, "")
    return json.loads(out, parse_constant=pytest.fail)


def test_the_numbers_are_those_of_the_library(here, prediction):
    machine = as_json("embeddings.npz", "--key", "x_train", "--target", "0.2", *QUICK)
    assert machine["schema"] == "edgelaw.predict/2"
    assert machine["file"] == "embeddings.npz"
    assert machine["shape"] == [48, 48]
    assert list(machine["forecasts"]) == list(ORDERS)
    assert machine["preparation"] == list(prediction.preparation)
    assert machine["advice"]["reason"] == prediction.advice.reason
    assert machine["edge"] is prediction.edge is None  # 48 eigenvalues are too few to tell
    assert machine["edge_law"]["fit"]["beta"] == pytest.approx(prediction.edge_law.fit.beta, rel=1e-6)
    assert machine["edge_law"]["reason"] == prediction.edge_law.reason
    for order, forecast in prediction.forecasts.items():
        shown = machine["forecasts"][order]
        assert shown["how"] == forecast.how
        assert shown["curve"]["test"] == pytest.approx(forecast.curve.test, rel=1e-6)
        assert shown["curve"]["train"] == pytest.approx(forecast.curve.train, rel=1e-6)
        assert shown["epochs_to_target"] == forecast.epochs_to_target


@pytest.mark.parametrize("columns", ["80", "120"])
def test_the_table_has_both_losses_of_every_order_and_a_recommendation(
    here, prediction, monkeypatch, columns
):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(room, "predict", lambda *_, **__: prediction)
    status, out, err = run("predict", "embeddings.npy", "--target", "0.2")
    assert (status, err) == (0, "")
    flat = " ".join(out.split())
    for expected in (
        "48 × 48",
        "mean row",
        "no power law at the left edge",
        "too few to tell",
        "epoch 1",
        "to 0.2",
        prediction.advice.reason,
    ):
        assert expected in flat
    for order, forecast in prediction.forecasts.items():
        assert order in out
        for kind in ("test", "train"):
            for n in (1, 6):
                assert format.digits(float(getattr(forecast.curve, kind)[n])) in flat
    for caution in prediction.warnings:
        assert caution.text in flat
    assert max(map(len, out.splitlines())) <= int(columns)
    assert "…" not in out


def test_one_order_at_its_step_with_a_report(here):
    words = ["--order", "single_shuffle", "--step", "1.3", "--report", "report.html"]
    status, out, err = run("predict", "features.csv", *words, *QUICK)
    assert (status, err) == (0, "")
    assert "The report is in report.html." in out
    assert "random_reshuffle" not in out
    text = (here / "report.html").read_text()
    assert "features.csv" in text
    assert "step 1.3" in text
    assert "random reshuffle</th>" not in text


def test_simulation_beside_theory_shows_the_discrepancy(here):
    words = ["embeddings.npy", "--epochs", "4", "--order", "iid", "--order", "single-shuffle", "--simulate"]
    machine = as_json(*words, "--no-search")
    assert list(machine["forecasts"]) == ["iid", "single_shuffle"]
    for forecast in machine["forecasts"].values():
        assert len(forecast["simulated"]["test"]) == 5
        assert forecast["discrepancy"]["test"]["worst"] is not None
    out = run("predict", *words, "--no-search")[1]
    for forecast in machine["forecasts"].values():
        for kind in ("test", "train"):
            assert format.discrepancy(forecast["discrepancy"][kind]) in out


def test_the_best_step_is_looked_for_and_shown(here):
    words = ["embeddings.npy", "--epochs", "4", "--order", "iid", "--step", "best", "--no-simulate"]
    machine = as_json(*words)
    step = machine["forecasts"]["iid"]["step"]
    assert 0 < step < 2
    assert machine["forecasts"]["iid"]["best_step"]["test"] == pytest.approx(step)
    assert format.digits(step) in run("predict", *words)[1]


def test_the_same_seed_gives_the_same_output(here):
    words = [
        "embeddings.npy",
        "--epochs",
        "3",
        "--rows",
        "30",
        "--dims",
        "30",
        "--order",
        "iid",
        "--no-search",
    ]
    first = run("predict", *words)
    assert first == run("predict", *words)
    assert first[1] != run("predict", *words, "--seed", "1")[1]


def test_an_order_named_twice_counts_once():
    assert terminal.chosen_orders(["iid", "IID", "flip-flop"]) == ["iid", "flip_flop"]
    assert terminal.chosen_orders(None) == list(ORDERS)
