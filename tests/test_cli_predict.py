"""``edgelaw predict``: what the library says, in a table, as JSON and as a report."""

import json

import numpy as np
import pytest
from running import run

from edgelaw import _cli_predict, _format, inputs
from edgelaw.orders import ORDERS
from edgelaw.predict import predict


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The three files of the README's examples, raw: a mean, rows of different norms, an anisotropic cloud."""
    folder = tmp_path_factory.mktemp("predict")
    rng = np.random.default_rng(2)
    raw = rng.normal(size=(64, 64)) * np.geomspace(1, 0.3, 64) * rng.uniform(1, 2, (64, 1)) + 3
    np.save(folder / "embeddings.npy", raw)
    np.savez(folder / "embeddings.npz", x_train=raw, y_train=np.arange(64.0))
    np.savetxt(folder / "features.csv", raw, delimiter=",")
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def found(*words):
    status, out, err = run("predict", *words, "--json")
    assert (status, err) == (0, "")
    return json.loads(out, parse_constant=pytest.fail)


def test_the_numbers_are_those_of_the_library(here):
    machine = found(
        "embeddings.npz", "--key", "x_train", "--target", "0.2", "--epochs", "20", "--no-simulate"
    )
    design = inputs.design(inputs.open_matrix("embeddings.npz", "x_train"), rng=0)
    prediction = predict(design, epochs=20, target=0.2, simulate=False, rng=0)
    assert machine["schema"] == "edgelaw.predict/1"
    assert machine["file"] == "embeddings.npz"
    assert machine["shape"] == [64, 64]
    assert list(machine["forecasts"]) == list(ORDERS)
    assert machine["advice"]["reason"] == prediction.advice.reason
    assert machine["edge"]["beta"] == pytest.approx(prediction.edge.beta, rel=1e-6)
    for order, forecast in prediction.forecasts.items():
        shown = machine["forecasts"][order]
        assert shown["how"] == forecast.how == "exact"
        assert shown["curve"]["test"] == pytest.approx(forecast.curve.test, rel=1e-6)
        assert shown["curve"]["train"] == pytest.approx(forecast.curve.train, rel=1e-6)
        assert shown["epochs_to_target"] == forecast.epochs_to_target


def test_the_table_has_both_losses_of_every_order_and_a_recommendation(here):
    words = ["embeddings.npy", "--epochs", "20", "--target", "0.2", "--no-simulate"]
    status, out, err = run("predict", *words)
    assert (status, err) == (0, "")
    machine = found(*words)
    flat = " ".join(out.split())
    for expected in ("64 × 64", "mean row", "edge β = ", "epoch 1", "epochs to 0.2", "best step"):
        assert expected in flat
    for order in ORDERS:
        assert order in out
        for kind in ("test", "train"):
            assert _format.digits(machine["forecasts"][order]["curve"][kind][-1]) in flat
    assert machine["advice"]["reason"] in flat
    for caution in machine["warnings"]:
        assert caution["text"] in flat
    assert all(line == line.rstrip() for line in out.splitlines())


def test_a_narrow_terminal_loses_no_number(here, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    words = ["embeddings.npy", "--epochs", "100", "--target", "0.2", "--no-simulate"]
    status, out, _ = run("predict", *words)
    assert status == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out


def test_one_order_at_its_step_with_a_report(here):
    words = [
        "features.csv",
        "--order",
        "single_shuffle",
        "--step",
        "1.3",
        "--report",
        "report.html",
        "--epochs",
        "5",
    ]
    status, out, err = run("predict", *words, "--no-simulate")
    assert (status, err) == (0, "")
    assert "The report is in report.html." in out
    assert "random_reshuffle" not in out
    text = (here / "report.html").read_text()
    assert "features.csv" in text
    assert "step 1.3" in text
    assert "random reshuffle</th>" not in text


def test_simulation_beside_theory_shows_how_far_they_are_apart(here):
    words = ["embeddings.npy", "--epochs", "5", "--order", "iid", "--order", "single-shuffle", "--simulate"]
    machine = found(*words)
    assert list(machine["forecasts"]) == ["iid", "single_shuffle"]
    for forecast in machine["forecasts"].values():
        assert len(forecast["simulated"]["test"]) == 6
        assert forecast["discrepancy"]
    assert "simulated" in run("predict", *words)[1]


def test_the_best_step_is_shown(here):
    machine = found("embeddings.npy", "--epochs", "5", "--order", "iid", "--step", "best", "--no-simulate")
    step = machine["forecasts"]["iid"]["step"]
    assert 0 < step < 2
    assert step != 1
    out = run(
        "predict", "embeddings.npy", "--epochs", "5", "--order", "iid", "--step", "best", "--no-simulate"
    )[1]
    assert _format.digits(step) in out


def test_the_same_seed_gives_the_same_output(here):
    words = [
        "embeddings.npy",
        "--epochs",
        "3",
        "--rows",
        "40",
        "--dims",
        "40",
        "--order",
        "iid",
        "--simulate",
    ]
    assert run("predict", *words) == run("predict", *words)
    assert run("predict", *words)[1] != run("predict", *words, "--seed", "1")[1]


def test_an_order_named_twice_counts_once():
    assert _cli_predict.chosen_orders(["iid", "IID", "flip-flop"]) == ["iid", "flip_flop"]
    assert _cli_predict.chosen_orders(None) == list(ORDERS)
