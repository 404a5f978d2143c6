"""Rows of a source by number and by range, and the numbers that are refused in it."""

import tracemalloc

import numpy as np
import pytest
from input_files import everything, refusal

from edgelaw_app.files import Source, open_matrix
from edgelaw_app.files.reader import Reader, spans


def test_numbers_too_large_to_square_are_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[1, 2], [0, -1e200]]))
    assert "at most 1e+100 in size, but there is -1e+200 in row 1, column '1'" in refusal(
        everything, tmp_path / "x.npy"
    )
    np.save(
        tmp_path / "x.npy", np.full((2000, 9), 3e38, np.float32)
    )  # their sum overflows, their squares do not
    assert everything(tmp_path / "x.npy").max() == np.float32(3e38)


def test_bits_of_no_number_are_refused_without_a_warning(tmp_path):
    bits = np.ones((30, 24), np.float32)
    bits.view(np.uint32)[3, 4] = 0x7F800001  # which a processor reports where it is cast
    np.save(tmp_path / "x.npy", bits)
    assert "nan in row 3, column '4'" in refusal(everything, tmp_path / "x.npy")


@pytest.mark.parametrize("indices", [[300], [-1], [[1]], [0.5]])
def test_numbers_of_rows_that_are_not_there_are_refused(files, indices):
    with pytest.raises(ValueError, match="indices"):
        open_matrix(files / "x.npy").take(indices)


def test_a_source_says_what_it_is(files):
    source = open_matrix(files / "x.npy")
    assert repr(source) == f"Source({str(files / 'x.npy')!r}, shape=(300, 24), dtype=float32)"


def test_ranges_of_small_shards_are_joined(files):
    assert open_matrix(files / "shards").parts(2) == [(0, 150), (150, 300)]
    assert open_matrix(files / "shards").parts(4) == [(0, 75), (75, 150), (150, 225), (225, 300)]


def test_nan_is_found_without_holding_the_rest_of_the_file():
    class Endless(Reader):
        path, shape, dtype = "x.npy", (400_000, 100), np.dtype("f8")

        def _blocks(self, start, stop, rows):
            return (np.full((b - a, 100), np.nan) for a, b in spans(start, stop, rows))

    tracemalloc.start()
    assert "there is nan in row 0, column '0'" in refusal(
        list, Source([Endless()], "x.npy").blocks()
    )  # 320 MB
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6


def test_integers_beside_nan_are_finite(tmp_path):
    np.save(tmp_path / "a.npy", np.full((3, 2), np.nan))
    np.save(tmp_path / "b.npy", np.ones((3, 2), int))
    assert "there is nan in row 0, column '0'" in refusal(everything, tmp_path)
