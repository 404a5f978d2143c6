"""A matrix in files of every format, and how the tests of this room read and refuse them."""

import gzip
import io

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import safetensors.numpy
import scipy.sparse
import torch

from edgelaw_app.files import InputError, open_matrix

X = (np.random.default_rng(0).normal(size=(300, 24)) * np.arange(1, 25) ** -0.5 + 2).astype(np.float32)


def refusal(call, *arguments, **options):
    """The one sentence of the InputError that a call must end in."""
    with pytest.raises(InputError) as excinfo:
        call(*arguments, **options)
    message = str(excinfo.value)
    assert message.endswith(".")
    assert "\n" not in message
    return message


def everything(path, key=None, rows=70):
    """A file's rows through its blocks."""
    return np.concatenate(list(open_matrix(path, key).blocks(rows)))


def load(path, **options):
    """All of a file's rows in memory."""
    return open_matrix(path, **options).matrix()


def write_text(path, separator, header=None):
    buffer = io.StringIO()
    np.savetxt(buffer, X, delimiter=separator, fmt="%.9g", header=header or "", comments="")
    data = buffer.getvalue().removeprefix("\n").encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def write_shards(path):
    path.mkdir()
    for k in range(4):
        np.save(path / f"part{k}.npy", X[75 * k : 75 * k + 75])


def parquet(path, table):
    pq.write_table(table, path, row_group_size=90)


def columns():
    return pa.table({f"c{k}": X[:, k] for k in range(24)})


def lists():
    return pa.table({"title": ["t"] * 300, "e": pa.array(list(X))})


def arrow(path, table, make):
    with make(str(path), table.schema) as file:
        file.write_table(table, max_chunksize=90)


WRITERS = {
    "x.npy": lambda path: np.save(path, X),
    "fortran.npy": lambda path: np.save(path, np.asfortranarray(X)),
    "x.npz": lambda path: np.savez(path, labels=np.arange(300), weights=X),
    "small.npz": lambda path: np.savez_compressed(path, weights=X),
    "fortran.npz": lambda path: np.savez_compressed(path, weights=np.asfortranarray(X)),
    "stored_fortran.npz": lambda path: np.savez(path, weights=np.asfortranarray(X)),
    "x.csv": lambda path: write_text(path, ",", ",".join(f"c{k}" for k in range(24))),
    "x.tsv": lambda path: write_text(path, "\t"),
    "x.csv.gz": lambda path: write_text(path, ";"),
    "columns.parquet": lambda path: parquet(path, columns()),
    "list.parquet": lambda path: parquet(path, lists()),
    "fixed.parquet": lambda path: parquet(
        path, pa.table({"e": pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 24)})
    ),
    "columns.feather": lambda path: pyarrow.feather.write_feather(columns(), str(path), chunksize=90),
    "list.feather": lambda path: pyarrow.feather.write_feather(
        lists(), str(path), compression="uncompressed"
    ),
    "columns.arrow": lambda path: arrow(path, columns(), pa.ipc.new_stream),
    "list.arrow": lambda path: arrow(path, lists(), pa.ipc.new_stream),
    "file.arrow": lambda path: arrow(path, lists(), pa.ipc.new_file),
    "sparse.npz": lambda path: scipy.sparse.save_npz(path, scipy.sparse.csr_array(X)),
    "x.safetensors": lambda path: safetensors.numpy.save_file({"weights": X, "bias": X[0]}, path),
    "x.pt": lambda path: torch.save(torch.from_numpy(X), path),
    "old.pth": lambda path: torch.save(
        {"weights": torch.from_numpy(X), "bias": torch.ones(3)}, path, _use_new_zipfile_serialization=False
    ),
    "shards": write_shards,
}


class Trap:
    """Unpickling this leaves a mark."""

    sprung = False

    def __reduce__(self):
        return (_spring, ())


def _spring():
    Trap.sprung = True
