"""The harness of the sweeps: cells are computed once, files appear whole, and every script gathers what ships."""

import any_spectrum
import card
import diagnostic_rates
import embedding_traces
import explorer
import finite_size
import loader_orders
import noise_map
import numpy as np
import order_map
import pilots
import predict_accuracy
import pytest
import real_embeddings
import resumable
import sorted_files
import sweep
import torch_probe
import universal_gap
import what_breaks

from edgelaw import data


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A sweep of two cells whose script lies in a folder of its own; and the cells computed so far."""
    monkeypatch.setattr(sweep, "BUILD", tmp_path)
    (tmp_path / "small.py").write_text("# first version\n")
    made = sweep.Sweep(
        "small", title="A small one", source="made up", seed=3, prose="\n# Prose\n", list_cells=True
    )
    calls = []

    def cell(name):
        calls.append(name)
        return {"squares": np.arange(3) ** 2, "name": name}

    cells = {name: lambda name=name: cell(name) for name in ("a 1/2", "b")}

    def run(*options):
        made.run(
            made.parser("Help.").parse_args([str(tmp_path / "out.npz"), *options]),
            cells,
            lambda parts: {
                "names": [str(part["name"]) for part in parts.values()],
                "squares": parts["b"]["squares"],
            },
        )

    return run, calls, tmp_path


def test_arrays_and_card_are_written_and_nothing_else_stays(small, capsys):
    run, calls, folder = small
    run()
    assert calls == ["a 1/2", "b"]
    with np.load(folder / "out.npz") as arrays:
        assert arrays["names"].tolist() == ["a 1/2", "b"]
        assert arrays["squares"].tolist() == [0, 1, 4]
    facts, prose = card.split((folder / "out.md").read_text(encoding="utf-8"))
    assert facts["sha256"] == resumable.sha256(folder / "out.npz")
    assert facts["keys"] == ["names", "squares"]
    assert (facts["seed"], facts["built_by"]) == (3, "data/build/small.py")
    assert [line.split(":")[0] for line in facts["parts"]] == ["a 1/2", "b"]
    assert f"numpy {np.__version__}" in facts["machine"]
    assert prose == "\n# Prose\n"
    assert sorted(path.name for path in folder.iterdir()) == ["out.md", "out.npz", "small.py"]
    assert "Wrote out.npz" in capsys.readouterr().out


def test_a_run_whose_time_is_up_continues_and_an_edited_script_starts_anew(small):
    run, calls, folder = small
    with pytest.raises(SystemExit, match="start it again"):
        run("--seconds", "0")
    assert calls == []
    blocked = folder / "out.npz"
    blocked.mkdir()  # the cells are finished, but the output cannot be written
    with pytest.raises(OSError, match=r"out\.npz"):
        run()
    blocked.rmdir()
    run("--seconds", "0")  # nothing is left to compute
    assert calls == ["a 1/2", "b"]
    blocked.unlink()
    blocked.mkdir()
    with pytest.raises(OSError, match=r"out\.npz"):
        run()
    (folder / "small.py").write_text("# second version\n")
    blocked.rmdir()
    run()
    assert calls == ["a 1/2", "b"] * 3


def ladder(number):
    """Ones for a grid of probes; how many steps it has is found in the run, so it is read from the file."""
    shipped = data.sweep("torch_probe")
    return tuple(np.ones(shipped[f"{key} {number}"].shape) for key in ("steps", "grid", "tuned"))


SCRIPTS = {  # with the functions that compute for minutes, and what stands in for them
    any_spectrum: {
        "measure": lambda U, step, rng: np.ones((4, 2, 9)),
        "more": lambda name, d, number: np.ones((3, 4, 2, 9)),
        "matrix": lambda name, d: (np.eye(3), np.eye(3), None),
        "predict": lambda eigenvalues: np.ones((3, 4, 2, 9)),
    },
    diagnostic_rates: {
        "rows": lambda *arguments: np.eye(20),
        "measure": lambda X, rng: (np.ones((4, 2, 6)), np.ones((4, 2, 6))),
    },
    embedding_traces: {
        "measure": lambda *arguments: np.ones((2, 4, 2, 6)),
        "predict": lambda X, step: np.ones((4, 2, 6)),
        "rows": lambda name, seed: None,
    },
    finite_size: {
        "cell": lambda number: {
            **dict.fromkeys(("effective_rank", "slowest"), 1.0),
            **dict.fromkeys(("predicted", "population_off"), np.ones((4, 2, 7))),
            "off": np.ones((16, 4, 2, 7)),
        }
    },
    loader_orders: {
        "measure": lambda *arguments: np.ones((2, 6), dtype=np.float32),
        "rows": lambda *arguments: None,
        "floor": lambda *arguments: (1.0, 1.0),
    },
    noise_map: {"rows": lambda design: np.eye(128)},
    order_map: {
        "sample": lambda name: np.linspace(0.1, 1.9, 30),
        "STEPS": (1.0,) * 11,
        "EPOCHS": range(1, 10),
    },
    pilots: {"curves": lambda X, rng, runs: np.ones((2, 4, 2, 5)), "part": lambda *arguments: None},
    predict_accuracy: {
        "cell": lambda number: dict.fromkeys(("measured", "error", "predicted"), np.ones((4, 2, 50)))
    },
    real_embeddings: {
        "matrix": lambda name, seed: None,
        "measure": lambda *arguments: np.ones((15, 2), dtype=np.float32),
    },
    sorted_files: {
        "rows": lambda *arguments: (np.eye(3), None),
        "measure": lambda *arguments: np.ones((2, 6)),
        "floor": lambda *arguments: (1.0, 1.0),
    },
    torch_probe: {
        "cell": lambda *cell: np.ones((6, 5, 7, 3)),
        "exact": lambda step: np.ones((4, 4, 7, 2)),
        "tuned": lambda *grid: ladder(torch_probe.GRIDS.index(grid)),
    },
    what_breaks: {
        "measure": lambda X, step, rng: (np.ones((4, 2, 6)), np.ones((4, 2, 6))),
        "predict": lambda X, step: np.ones((4, 2, 6)),
    },
}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_a_script_gathers_arrays_of_the_shipped_names_shapes_and_types(script, monkeypatch, tmp_path):
    for name, value in SCRIPTS[script].items():
        monkeypatch.setattr(script, name, value)
    if script is real_embeddings:
        shipped = data.sweep("real_embeddings")
        exact = {key: value for key, value in shipped.items() if " exact" in key}
        monkeypatch.setattr(script, "exact", lambda: exact)
    if script is diagnostic_rates:
        monkeypatch.setattr(script.forecasting, "diagnosis", lambda *arguments: ("undecided", 0.1, 0.2))
        monkeypatch.setattr(script.forecasting, "exact", lambda *arguments: np.ones((2, 6)))
    if script is order_map:
        monkeypatch.setattr(script.losses, "predicted", lambda *arguments: np.ones((4, 2, 9)))
    if script is noise_map:
        parts = noise_map.noise.Parts(*np.ones((4, 2, 2)))
        monkeypatch.setattr(script.noise, "signal_and_noise", lambda *arguments: parts)
    output = tmp_path / f"{script.__name__}.npz"
    script.main([str(output)])
    shipped = data.sweep(script.__name__)
    with np.load(output) as arrays:
        arrays = dict(arrays)
    if script is any_spectrum:  # its matrices stand for larger ones
        arrays |= {key: shipped[key] for key in shipped if key.startswith("eigenvalues")}
    assert set(arrays) >= set(shipped)
    for key, value in shipped.items():
        assert (arrays[key].shape, arrays[key].dtype) == (value.shape, value.dtype), key
    facts, _ = card.split(output.with_suffix(".md").read_text(encoding="utf-8"))
    recorded, _ = card.split((sweep.DATA / f"{script.__name__}.md").read_text(encoding="utf-8"))
    for fact in ("title", "source", "licence", "built_by", "seed", "keys"):
        assert facts[fact] == recorded[fact]


def test_the_cells_of_the_other_two_scripts_are_the_shipped_ones():
    """Their tables have tests of their own."""
    cells = explorer.all_cells()
    assert len(cells) == 12 * 34 + 5 * 18 + 2 * explorer.HELD_OUT
    shipped = data.sweep("universal_gap")
    stored = {
        key: value.astype(np.float64) if value.dtype == np.float32 else value
        for key, value in shipped.items()
    }
    arrays = universal_gap.gathered({"all": stored})
    assert {key: value.dtype for key, value in arrays.items()} == {k: v.dtype for k, v in shipped.items()}
