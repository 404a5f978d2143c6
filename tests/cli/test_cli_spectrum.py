"""``edgelaw spectrum``: the right numbers, the plot in characters and as a file, and JSON for machines."""

import json
import os
import re

import numpy as np
import pytest
from running import refused, run

from edgelaw import data, spectrum
from edgelaw_app.cli import parser, textplot
from edgelaw_app.cli.textplot import Layer


@pytest.fixture(scope="module")
def raw():
    """Embeddings as they come: a mean, rows of different norms, anisotropic."""
    rng = np.random.default_rng(3)
    return rng.normal(size=(120, 60)) * np.geomspace(1, 0.1, 60) * rng.uniform(1, 3, (120, 1)) + 5


@pytest.fixture
def file(raw, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("raw.npy", raw)
    return "raw.npy"


def as_json(*words):
    status, out, err = run("spectrum", *words, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


def test_the_numbers_are_those_of_the_papers_preprocessing(file, raw):
    machine = as_json(file)
    values = spectrum.gram_eigenvalues(data.preprocess(raw, None, None, 0).X)
    assert machine["schema"] == "edgelaw.spectrum/1"
    assert machine["file"] == file
    assert machine["shape"] == [120, 60]
    assert machine["eigenvalues"] == pytest.approx(values, rel=1e-9, abs=1e-13)
    assert machine["effective_rank"] == pytest.approx(spectrum.effective_rank(values))
    assert machine["quantile_ratio"] == pytest.approx(spectrum.quantile_ratio(values))
    assert machine["edge"] is None  # twice as many rows as columns
    assert machine["edge_law"]["fit"]["beta"] == pytest.approx(spectrum.fit_edge_laplace(values).beta)
    assert sum("mean" in step for step in machine["steps"]) == 1


def test_the_options_do_the_preprocessing_they_name(file, raw):
    machine = as_json(file, "--rows", "50", "--dims", "50", "--seed", "7")
    values = spectrum.gram_eigenvalues(data.preprocess(raw, 50, 50, 7).X)
    assert machine["eigenvalues"] == pytest.approx(values, rel=1e-8, abs=1e-12)
    assert machine["null"] == 1
    bare = as_json(file, "--no-center", "--no-normalize")
    assert bare["eigenvalues"] == pytest.approx(np.linalg.eigvalsh(raw.T @ raw / 120), rel=1e-6)


def test_the_edge_of_a_gaussian_square_is_a_half_within_its_own_uncertainty(tmp_path):
    np.save(tmp_path / "x.npy", data.gaussian(400, 400, rng=1))
    machine = as_json(tmp_path / "x.npy", "--no-center")
    assert 0 < machine["edge_error"] < 0.05
    assert abs(machine["edge"]["beta"] - 0.5) < 4 * machine["edge_error"]


def test_the_terminal_shows_what_was_done_the_edge_and_a_plot(file):
    status, out, err = run("spectrum", file)
    assert (status, err) == (0, "")
    for words in ("raw.npy", "120 × 60", "1. ", "mean row", "effective rank", "quantile ratio", "too few"):
        assert words in out
    assert len(re.findall("[⠁-⣿]", out)) > 30
    assert all(line == line.rstrip() for line in out.splitlines())


def test_the_edge_of_a_square_is_shown_with_its_error_and_drawn(tmp_path):
    np.save(tmp_path / "x.npy", data.gaussian(256, 256, rng=1))
    status, out, _ = run("spectrum", tmp_path / "x.npy")
    assert status == 0
    assert re.search(r"edge β = 0\.\d+ ± 0\.\d+, Q = ", out)
    assert "power law" not in out


@pytest.mark.parametrize(("name", "rows", "dims"), [("wikipedia", 600, 512), ("cifar10", 640, 1280)])
def test_no_exponent_is_printed_for_embeddings_with_more_or_fewer_rows_than_columns(
    tmp_path, name, rows, dims
):
    np.save(tmp_path / "x.npy", data.preprocess(data.load(name).features, rows, dims, 0).X)
    machine = as_json(tmp_path / "x.npy")
    assert machine["edge"] is machine["edge_error"] is None
    assert machine["edge_law"]["holds"] is False
    assert {"curvature", "gap"} <= set(machine["edge_law"]["failed"])
    status, out, _ = run("spectrum", tmp_path / "x.npy", "--plot", tmp_path / "cdf.svg")
    flat = " ".join(out.split())
    assert status == 0
    assert "no power law at the left edge" in flat
    assert " ".join(machine["edge_law"]["reason"].split()[:8]) in flat
    assert "β = " not in flat


def test_a_wide_matrix_has_zeros_and_says_so(tmp_path):
    np.save(tmp_path / "wide.npy", data.gaussian(40, 100, rng=1))
    status, out, _ = run("spectrum", tmp_path / "wide.npy")
    assert status == 0
    assert "61 of 100 eigenvalues are zero" in " ".join(out.split())
    machine = as_json(tmp_path / "wide.npy")
    assert machine["null"] == 61
    assert machine["quantile_ratio"] is None  # infinite


@pytest.mark.parametrize(("kind", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_the_plot_is_written_as_a_file_and_again_the_same(file, kind, magic):
    status, out, _ = run("spectrum", file, "--plot", f"cdf.{kind}")
    assert status == 0
    assert f"cdf.{kind}" in out
    with open(f"cdf.{kind}", "rb") as drawn:
        first = drawn.read()
    assert first.startswith(magic)
    run("spectrum", file, "--plot", f"cdf.{kind}")
    with open(f"cdf.{kind}", "rb") as drawn:
        assert drawn.read() == first
    assert sorted(os.listdir()) == [f"cdf.{kind}", "raw.npy"]


def test_a_spectrum_without_an_edge_is_no_failure(tmp_path):
    np.save(tmp_path / "flat.npy", np.linalg.qr(np.random.default_rng(0).normal(size=(64, 64)))[0])
    machine = as_json(tmp_path / "flat.npy", "--no-center", "--no-normalize")
    assert machine["edge"] is None
    status, out, _ = run(
        "spectrum", tmp_path / "flat.npy", "--no-center", "--no-normalize", "--plot", tmp_path / "a.svg"
    )
    assert status == 0
    assert "no power law" in out


def test_shards_are_one_matrix(file, raw):
    os.mkdir("shards")
    np.save("shards/a.npy", raw[:70])
    np.save("shards/b.npy", raw[70:])
    whole = as_json(file)["eigenvalues"]
    assert as_json("shards")["eigenvalues"] == pytest.approx(whole, rel=1e-9, abs=1e-13)
    assert as_json("shards/*.npy")["eigenvalues"] == pytest.approx(whole, rel=1e-9, abs=1e-13)


def test_dask_stands_alone_at_the_end_or_before_its_address(file):
    parsed = parser.parser().parse_args(["spectrum", file, "--dask"])
    assert (parsed.dask, parsed.file) == ("local", file)
    parsed = parser.parser().parse_args(["spectrum", "--dask", "tcp://host:1", file])
    assert (parsed.dask, parsed.file) == ("tcp://host:1", file)
    assert "required: FILE" in refused("spectrum", "--dask", file)
    assert "tcp://" in refused("spectrum", "--dask=nowhere", file)
    assert "127.0.0.1:9" in refused("spectrum", file, "--dask", "tcp://127.0.0.1:9")


# the plot in characters ------------------------------------------------------------------------------------


DOTS = "[⠁-⣿]"


def test_a_diagonal_is_a_diagonal():
    points = 10.0 ** np.linspace(0, 3, 200)
    drawn = [str(line) for line in textplot.loglog([Layer(points, points)], 8, 8)]
    area = [re.split("[│┤]", line)[1] for line in drawn[:8]]
    for row, line in enumerate(area):
        assert {7 - row} <= {dot.start() for dot in re.finditer(DOTS, line)} <= {6 - row, 7 - row, 8 - row}
    assert [line[:5].strip() for line in drawn[:8]] == ["1e+03", "", "1e+02", "", "", "10", "", "1"]
    assert drawn[9].split() == ["1", "1e+02"]  # 10 would touch its neighbour


def test_a_later_layer_is_on_top_in_its_colour_and_letter():
    points, last = np.array([1.0, 10.0, 100.0]), np.array([100.0])
    lines = textplot.loglog([Layer(points, points, "cyan"), Layer(last, last, "red", "x")], 10, 5)
    assert str(lines[0]).endswith("x")
    assert [span.style for span in lines[0].spans if span.style != "cyan"] == ["red"]
    assert sum(len(re.findall(DOTS, str(line))) for line in lines) == 2


def test_one_point_is_drawn_too():
    lines = textplot.loglog([Layer(np.array([2.0]), np.array([0.5]))], 10, 5)
    assert sum(len(re.findall(DOTS, str(line))) for line in lines) == 1


def test_labels_and_an_index_are_left_out_or_warned_of(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 24))
    names = [f"emb_{k}" for k in range(24)]
    table = [",".join(["", *names, "label"])]
    table += [",".join([str(k), *map(repr, row), str(k % 10)]) for k, row in enumerate(X.tolist())]
    path, plain = tmp_path / "frame.csv", tmp_path / "plain.npy"
    path.write_text("\n".join(table))
    np.save(plain, X)
    features = json.loads(run("spectrum", plain, "--json")[1])
    assert features["warnings"] == []
    for words in (["--drop", "label"], ["--columns", "emb_*"], ["--columns", "1-24"], ["--drop=-1"]):
        status, out, _ = run("spectrum", path, "--json", *words)
        answer = json.loads(out)
        assert status == 0
        assert answer["eigenvalues"] == features["eigenvalues"]
        assert answer["warnings"] == []
        assert "Read 24 of 26 columns, as asked." in answer["steps"]
    status, out, _ = run("spectrum", path)
    assert status == 0
    assert "1. Left out as row numbers: the first, without a name." in out
    assert "! Columns of nothing but whole numbers, as labels and row numbers are: 'label'" in out
    numbered = json.loads(run("spectrum", path, "--json", "--columns", "0-24")[1])
    assert numbered["effective_rank"] < 2 < 20 < features["effective_rank"]
    assert "as labels and row numbers are: ''" in numbered["warnings"][0]
    assert "has no column 'lable'" in refused("spectrum", path, "--drop", "lable")


def test_predict_warns_of_columns_too(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 24))
    np.save(tmp_path / "x.npy", np.insert(X, 3, np.arange(60) % 2, axis=1))
    words = ["--json", "--epochs", 2, "--order", "iid"]
    answer = json.loads(run("predict", tmp_path / "x.npy", *words)[1])
    (caution,) = [caution for caution in answer["cautions"] if caution["code"] == "columns"]
    assert caution["text"].startswith(
        "Columns of nothing but whole numbers, as labels and row numbers are: '3';"
    )
