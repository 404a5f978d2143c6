"""One file of every format, written once for all tests of this room."""

import pytest
from input_files import WRITERS


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """One file of every format, all holding X."""
    folder = tmp_path_factory.mktemp("formats")
    for name, write in WRITERS.items():
        write(folder / name)
    return folder
