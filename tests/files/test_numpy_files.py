"""The files of numpy: what they hold, what is refused, and the zip of a .npz that lies."""

import io
import zipfile

import numpy as np
import pytest
import scipy.sparse
from input_files import Trap, X, everything, refusal

from edgelaw_app.files import InputError, errors, numpy_files, open_matrix
from edgelaw_app.files.label_files import read_labels


@pytest.mark.parametrize(
    ("stored", "read"), [("f2", "f4"), ("f4", "f4"), ("f8", "f8"), (">f4", "f8"), ("i4", "f8"), ("u1", "f8")]
)
def test_numbers_are_kept_or_widened_never_narrowed(tmp_path, stored, read):
    np.save(tmp_path / "x.npy", np.arange(12).reshape(4, 3).astype(stored))
    assert everything(tmp_path / "x.npy").dtype == np.dtype(read)
    np.testing.assert_array_equal(everything(tmp_path / "x.npy"), np.arange(12).reshape(4, 3))


BAD = {
    "not an array of shape (3,)": np.ones(3),
    "not an array of shape (2, 2, 2)": np.ones((2, 2, 2)),
    "not an array of shape (3, 1)": np.ones((3, 1)),
    "not an array of shape (1, 3)": np.ones((1, 3)),
    "not an array of shape (0, 3)": np.ones((0, 3)),
    "not dtype complex128": np.ones((3, 3), complex),
    "not dtype bool": np.ones((3, 3), bool),
    "not dtype <U1": np.array([["x", "y"]] * 2),
    "real numbers": np.zeros((3, 3), [("a", "f4")]),
}


@pytest.mark.parametrize("words", BAD)
def test_arrays_that_are_no_real_matrix_are_refused(tmp_path, words):
    np.save(tmp_path / "x.npy", BAD[words])
    np.savez(tmp_path / "x.npz", BAD[words])
    assert words in refusal(open_matrix, tmp_path / "x.npy")
    assert words in refusal(open_matrix, tmp_path / "x.npz")


def test_a_file_without_arrays_and_one_without_a_matrix_are_refused(tmp_path):
    np.savez(tmp_path / "none.npz")
    assert "its arrays are: none" in refusal(open_matrix, tmp_path / "none.npz")
    np.savez(tmp_path / "vectors.npz", a=np.ones(3), b=np.ones(3))
    assert "needs a key that says which array" in refusal(open_matrix, tmp_path / "vectors.npz")


def test_pickled_objects_are_never_loaded(tmp_path):
    objects = np.array([[Trap(), 1], [2, 3]], dtype=object)
    np.save(tmp_path / "x.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "x.npz", embeddings=objects)
    for name in ("x.npy", "x.npz"):
        assert "never loaded" in refusal(everything, tmp_path / name)
    assert not Trap.sprung


def test_a_flipped_bit_inside_a_zip_is_noticed(tmp_path):
    np.savez(tmp_path / "x.npz", X)
    data = bytearray((tmp_path / "x.npz").read_bytes())
    data[5000] ^= 1
    (tmp_path / "x.npz").write_bytes(data)
    assert "damaged" in refusal(everything, tmp_path / "x.npz")


def test_a_zip_with_a_member_that_lies_about_its_size_is_refused(tmp_path):
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f4", "fortran_order": False, "shape": (10**9, 10**6)}
    )
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("x.npy", head.getvalue() + b"0" * 100)
    (tmp_path / "x.npy").write_bytes(head.getvalue() + b"0" * 100)
    assert "its header promises 4000000000000" in refusal(open_matrix, tmp_path / "x.npz")
    assert "mmap length is greater than file size" in refusal(open_matrix, tmp_path / "x.npy")


def test_what_can_only_be_read_whole_is_refused_where_it_is_large_with_a_way_out(files, monkeypatch):
    monkeypatch.setattr(errors, "WHOLE", 1000)
    assert "numpy.ascontiguousarray" in refusal(open_matrix, files / "fortran.npz")
    assert "can only be read whole" in refusal(open_matrix, files / "sparse.npz")
    with pytest.raises(InputError, match="can only be read whole"):
        read_labels(str(files / "x.npy"), None, 300)


def npy(shape, version=1, data=b"\0" * 96):
    """The bytes of a .npy file that may lie."""
    head = io.BytesIO()
    write = np.lib.format.write_array_header_1_0 if version == 1 else np.lib.format.write_array_header_2_0
    write(head, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return head.getvalue() + data


def test_the_two_versions_of_numpys_header_are_read_and_others_refused(tmp_path):
    (tmp_path / "two.npy").write_bytes(npy((4, 3), version=2))
    np.testing.assert_array_equal(everything(tmp_path / "two.npy"), np.zeros((4, 3)))
    (tmp_path / "nine.npy").write_bytes(npy((4, 3)).replace(b"NUMPY\x01", b"NUMPY\x09"))
    assert "we only support format version" in refusal(open_matrix, tmp_path / "nine.npy")
    (tmp_path / "negative.npy").write_bytes(npy((-4, -3)))
    refusal(open_matrix, tmp_path / "negative.npy")
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("x.npy", npy((-4, -3)))
    assert "not an array of shape (-4, -3)" in refusal(open_matrix, tmp_path / "x.npz")


def test_members_that_are_no_arrays_are_not_taken_for_the_matrix(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("notes.npy", b"not an array")
        archive.writestr("matrix.npy", npy((4, 3)))
    assert everything(tmp_path / "x.npz").shape == (4, 3)
    assert "the magic string is not correct" in refusal(open_matrix, tmp_path / "x.npz", key="notes")


def test_a_compressed_array_that_has_lost_rows_is_refused(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", np.ones((4, 3)))
    source = open_matrix(tmp_path / "x.npz")
    source._readers[0].shape = (5, 3)
    source = type(source)(source._readers, source.name)
    assert "is damaged, protected or of another format" in refusal(list, source.blocks())


def test_too_little_memory_is_said_in_one_sentence(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", X)
    source = open_matrix(tmp_path / "x.npy")

    def exhausted(*arguments):
        raise MemoryError

    monkeypatch.setattr(numpy_files.np, "memmap", exhausted)
    assert "not enough memory: " in refusal(list, source.blocks())


# sparse matrices of SciPy


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr"])
def test_a_sparse_matrix_is_read_as_the_full_one(tmp_path, kind):
    full = X * (X > 2)
    scipy.sparse.save_npz(tmp_path / "x.npz", scipy.sparse.csr_matrix(full).asformat(kind))
    np.testing.assert_array_equal(everything(tmp_path / "x.npz"), full)
    assert "without a key" in refusal(open_matrix, tmp_path / "x.npz", "data")


def test_sparse_matrices_that_lie_are_refused(tmp_path):
    sound = {
        "format": b"csr",
        "shape": [3, 3],
        "data": np.ones(3),
        "indices": [0, 1, 2],
        "indptr": [0, 1, 2, 3],
    }
    changes = [
        ({"indices": [0, 1, 99]}, "must be a rectangular array of real numbers: indices must be"),
        ({"indices": [0, 1, -1]}, "must be a rectangular array of real numbers: indices must be"),
        ({"indptr": [0, 3, 2, 3]}, "must be a rectangular array of real numbers: "),
        ({"indptr": [0, 1, 2, 9]}, "is damaged"),
        ({"shape": [3, -3]}, "is damaged"),
        ({"format": b"dia", "offsets": [0]}, "format dia"),
        ({"format": b"xyz"}, "is damaged"),
        ({"data": np.array([1j] * 3)}, "complex"),
    ]
    for change, words in changes:
        np.savez(tmp_path / "x.npz", **(sound | change))
        assert words in refusal(everything, tmp_path / "x.npz"), change
    np.savez(tmp_path / "x.npz", **sound)
    np.testing.assert_array_equal(everything(tmp_path / "x.npz"), np.eye(3))
