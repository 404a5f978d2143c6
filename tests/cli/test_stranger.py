"""A stranger's path: a table with labels, one command, its lines of PyTorch pasted, and the loss that was promised."""

import json

import numpy as np
import pytest
from running import run

torch = pytest.importorskip("torch")
pyarrow = pytest.importorskip("pyarrow")
RUNS = 16


def test_from_a_parquet_file_to_a_trained_probe_with_the_promised_loss(tmp_path):
    from pyarrow import parquet

    rng = np.random.default_rng(5)
    kinds = np.array(["cat", "dog", "fish"])
    species = rng.integers(3, size=600)
    X = rng.standard_normal((600, 24)) + 0.8 * np.eye(3, 24)[species]
    columns = {f"emb_{k}": X[:, k] for k in range(24)} | {"species": kinds[species]}
    path = tmp_path / "features.parquet"
    parquet.write_table(pyarrow.table(columns), path)
    held = slice(0, 150)
    parquet.write_table(pyarrow.table(columns).slice(0, 150), tmp_path / "held.parquet")
    parquet.write_table(pyarrow.table(columns).slice(150), path)
    words = [path, "--labels", "species", "--held-out", tmp_path / "held.parquet", "--epochs", 8, "--json"]
    status, out, err = run(*words)
    assert (status, err) == (0, "")
    answer = json.loads(out)
    assert answer["schema"].startswith("edgelaw.probe/")
    assert answer["labels"]["classes"] == kinds.tolist()
    losses = []
    for seed in range(RUNS):
        torch.manual_seed(seed)
        names = {"torch": torch, "X": torch.tensor(X[150:]).float(), "y": torch.tensor(species[150:])}
        exec(answer["code"], names)
        with torch.no_grad():
            scores = names["net"](torch.tensor(X[held]).float() - names["mean"]) + names["bias"]
            hot = torch.nn.functional.one_hot(torch.tensor(species[held]))
            losses.append(float((scores - hot).square().sum(1).mean()))
    one = answer["orders"][answer["advice"]["order"]]
    promised = one["losses"]["held-out loss"][one["epochs"].index(answer["advice"]["epochs"])]
    error = np.std(losses, ddof=1) / np.sqrt(RUNS)
    assert abs(np.mean(losses) - promised) < 0.01 * promised + 3 * error  # 1 % is what theory is good for
    assert promised < 0.9 * answer["labels"]["chance"]
