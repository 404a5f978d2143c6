"""Features as they come: text columns, comments, masks, paths, scales far apart, and too little memory."""

import gzip
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from input_files import WRITERS, X, everything, refusal

from edgelaw._common import arguments
from edgelaw_app.files import design, gram, open_matrix
from edgelaw_app.files.label_files import read_labels
from edgelaw_app.forecast import predict

PEOPLE = pa.table(
    {
        "id": [f"p{k}" for k in range(30)],
        "age": np.arange(30.0) ** 2,
        "species": ["ash", "oak", "yew"] * 10,
        "height": np.arange(30.0) ** 0.5,
        "city": [f"city {k % 7}" for k in range(30)],
    }
)


def write_csv(table, path):
    rows = [table.column_names, *zip(*table.to_pydict().values(), strict=True)]
    path.write_text("\n".join(",".join(map(str, row)) for row in rows))


# text columns


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("x.csv", write_csv),
        ("x.parquet", lambda table, path: pq.write_table(table, path)),
        ("x.feather", lambda table, path: pyarrow.feather.write_feather(table, str(path))),
    ],
)
def test_columns_of_text_are_named_all_at_once_with_what_to_type(tmp_path, name, write):
    path = tmp_path / name
    write(PEOPLE, path)
    assert refusal(open_matrix, path) == (
        f"{path} has columns of text (or of no plain numbers): 'id', 'species', 'city'; leave them out with "
        "--drop id,species,city, or learn one with --labels species."
    )
    assert open_matrix(path, drop="id,species,city").columns == ["age", "height"]
    assert "of no plain numbers): 'id'; leave them out with --drop id, or" in refusal(
        open_matrix, path, drop="species,city"
    )
    assert read_labels(str(path), "species", 30).tolist() == ["ash", "oak", "yew"] * 10


def test_columns_of_text_without_plain_names_are_typed_as_numbers(tmp_path):
    lines = ["first name,a,b b,c", *(f"x{k},{k},y,{k}" for k in range(20))]
    (tmp_path / "odd.csv").write_text("\n".join(lines))
    assert "--drop 0,2, or learn one with --labels 2." in refusal(open_matrix, tmp_path / "odd.csv")
    (tmp_path / "none.csv").write_text("\n".join(f"{k},{k},z,w,{k}" for k in range(20)))
    message = refusal(open_matrix, tmp_path / "none.csv")
    assert "'2', '3'; leave them out with --drop 2-3, or" in message
    assert open_matrix(tmp_path / "none.csv", drop="2-3").shape == (20, 3)


def test_one_odd_cell_is_no_column_of_text_and_its_column_is_counted_as_drop_counts(tmp_path):
    lines = [f"{k},{k / 2},{-k}" for k in range(40)]
    lines[7] = "7,unknown,7"
    (tmp_path / "x.csv").write_text("\n".join(lines))
    message = refusal(everything, tmp_path / "x.csv")
    assert "the text 'unknown' in line 8, column '1' (number 1, counted from 0)" in message
    assert message.endswith("leave the column out with --drop 1.")
    assert open_matrix(tmp_path / "x.csv", drop="1").matrix().shape == (40, 2)


def test_truth_values_in_a_table_of_arrow_are_numbers(tmp_path):
    pq.write_table(pa.table({"a": [True, False, True], "b": [1.0, 2.0, 3.0]}), tmp_path / "x.parquet")
    assert everything(tmp_path / "x.parquet").tolist() == [[1, 1], [0, 2], [1, 3]]
    pq.write_table(pa.table({"a": [b"x", b"y"], "b": [1.0, 2.0], "c": [1.0, 2.0]}), tmp_path / "y.parquet")
    assert "columns of text (or of no plain numbers): 'a'; leave" in refusal(
        open_matrix, tmp_path / "y.parquet"
    )


# comments


@pytest.mark.parametrize("zipped", [True, False])
def test_lines_that_begin_with_a_hash_are_comments(tmp_path, zipped):
    text = b"# made by hand\n#\na,b\n1,2\n# in between, 3\n3,4\n# the end"
    path = tmp_path / ("x.csv.gz" if zipped else "x.csv")
    path.write_bytes(gzip.compress(text) if zipped else text)
    assert open_matrix(path).columns == ["a", "b"]
    assert everything(path).tolist() == [[1, 2], [3, 4]]
    assert read_labels(str(path), "b", 2).tolist() == [2, 4]


# masks


def test_masked_entries_are_refused_wherever_an_array_enters():
    masked = np.ma.masked_greater(np.random.default_rng(0).normal(size=(40, 24)), 2)
    count = int(masked.mask.sum())
    words = f"has {count} masked entries: fill them, as by X.filled(0), or leave out their rows."
    assert refusal(design, masked) == f"X {words}"
    for call in (predict, arguments.matrix):
        with pytest.raises(ValueError, match=f"X has {count} masked entries"):
            call(masked)
    whole = np.ma.masked_array(masked.data, False)
    np.testing.assert_array_equal(design(whole).matrix(), design(masked.data).matrix())


# too little memory

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (400_000 * 1024,) * 2)
from edgelaw_app.files import InputError, design
try:
    design(sys.argv[1]).gram_eigenvalues()
except InputError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as ulimit -v does")
def test_a_limit_of_memory_that_bites_is_said_to_be_one(tmp_path):
    path = tmp_path / "x.pt"  # torch alone needs more
    WRITERS["x.pt"](path)
    run = subprocess.run([sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True)
    assert run.stdout.startswith(f"not enough memory: {path} needs more than this process may use")
    assert (run.stderr, run.returncode) == ("", 0)


# paths


def test_a_path_is_a_design_and_its_keys_are_told(tmp_path):
    np.savez(tmp_path / "x.npz", train=X, test=2 * X)
    assert "needs a key that says which array to read; its arrays are: 'train', 'test'" in refusal(
        design, tmp_path / "x.npz"
    )
    assert "no array 'x'; its arrays are: 'train', 'test'" in refusal(
        design, str(tmp_path / "x.npz"), key="x"
    )
    made = design(str(tmp_path / "x.npz"), key="train", rows=50)
    np.testing.assert_array_equal(made.matrix(), design(X, rows=50).matrix())
    assert made.name == str(tmp_path / "x.npz")
    assert "key names an array in a file" in refusal(design, X, key="train")
    with pytest.raises(FileNotFoundError):
        design("nowhere.npy")


# scales

WIDE = X.astype(np.float64) * 10.0 ** np.linspace(-3, 3, 24) + 5
WIDE[:, 4] = 2.5


def test_columns_far_apart_in_scale_are_measured_and_named(tmp_path):
    np.savetxt(
        tmp_path / "x.csv", WIDE, delimiter=",", header=",".join(f"c{k}" for k in range(24)), comments=""
    )
    deviations = WIDE.std(axis=0)
    varying = np.delete(deviations, 4)
    for source in (WIDE, tmp_path / "x.csv", open_matrix(tmp_path / "x.csv")):
        scales = design(source).scales
        named = ("c23", "c0") if "csv" in repr(source) else ("23", "0")
        assert (scales.largest, scales.smallest) == named
        assert scales.ratio == pytest.approx(varying.max() / varying.min(), rel=1e-12)
        found = gram.survey(design(source).source.blocks()).deviations
        assert found[4] == 0
        np.testing.assert_allclose(np.delete(found, 4), varying, rtol=1e-12)
    assert gram.survey(np.ones((30, 3))).scales(["a", "b", "c"]).ratio == 1


@pytest.mark.parametrize(
    ("center", "normalize"), [(True, True), (True, False), (False, True), (False, False)]
)
@pytest.mark.parametrize("options", [{}, {"rows": 90, "dims": 21, "rng": 3}], ids=["all", "projected"])
def test_standardized_columns_are_those_of_a_matrix_that_was_standardized(
    tmp_path, center, normalize, options
):
    chosen = design(WIDE, **options)._plan.chosen
    rows = WIDE if chosen is None else WIDE[chosen]
    deviations = rows.std(axis=0)
    deviations[4] = np.inf  # a constant column is left at zero
    expected = design(WIDE / deviations, center=center, normalize=normalize, **options).matrix()
    np.savetxt(tmp_path / "x.csv", WIDE, delimiter=",", fmt="%.17g")
    for source in (WIDE, tmp_path / "x.csv"):
        made = design(source, center=center, normalize=normalize, standardize=True, **options)
        assert "Scaled every column to standard deviation 1 (constant columns to zero)." == made.steps[1]
        np.testing.assert_allclose(made.matrix(), expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(made.take([3, 1]), expected[[3, 1]], rtol=1e-9, atol=1e-9)
        if not options and center and not normalize:
            scaled = made.matrix().std(axis=0)
            np.testing.assert_allclose(np.delete(scaled, 4), 1, rtol=1e-12)
            assert not made.matrix()[:, 4].any()


def test_a_long_file_is_standardized_block_by_block(tmp_path):
    long = np.random.default_rng(0).normal(size=(6000, 30)) * 10.0 ** np.linspace(-2, 2, 30)
    np.save(tmp_path / "x.npy", long)
    values = design(tmp_path / "x.npy", standardize=True, normalize=False).gram_eigenvalues()
    np.testing.assert_allclose(values, np.linalg.eigvalsh(np.corrcoef(long.T)), rtol=1e-9)


def test_a_column_whose_squares_vanish_is_not_standardized_to_nothing():
    tiny = X.astype(np.float64)
    tiny[:, 3] *= 1e-200
    assert "Column 3 (counted from 0) of X holds numbers so small that their squares vanish" in refusal(
        design(tiny, standardize=True).matrix
    )
