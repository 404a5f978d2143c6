"""What ships is found in a checkout and in an installed package, and compared with its card."""

import numpy as np
import pytest

from edgelaw import shipped


def copy_of_the_data(tmp_path, monkeypatch):
    """A package folder elsewhere, as pip installs it, with its own copy of the data; the copy's folder."""
    folder = tmp_path / "site" / "edgelaw" / "_data"
    folder.mkdir(parents=True)
    for stem in shipped.FILES.values():
        for name in (f"{stem}.npz", f"{stem}.md"):
            (folder / name).write_bytes((shipped.folder() / name).read_bytes())
    monkeypatch.setattr(shipped, "__file__", str(tmp_path / "site" / "edgelaw" / "_shipped.py"))
    monkeypatch.setattr(shipped.resources, "files", lambda package: folder.parent)
    return folder


def test_an_installed_package_reads_its_own_copy(tmp_path, monkeypatch):
    here = shipped.load("wikipedia").features
    folder = copy_of_the_data(tmp_path, monkeypatch)
    assert shipped.folder() == folder
    np.testing.assert_array_equal(shipped.load("wikipedia").features, here)


def test_a_damaged_shipped_file_is_refused(tmp_path, monkeypatch):
    folder = copy_of_the_data(tmp_path, monkeypatch)
    path = folder / "wikipedia_mpnet.npz"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match="SHA-256") as excinfo:
        shipped.load("wikipedia")
    assert "\n" not in str(excinfo.value)


def test_a_missing_shipped_file_or_card_is_told_in_one_sentence(tmp_path, monkeypatch):
    folder = copy_of_the_data(tmp_path, monkeypatch)
    (folder / "wikipedia_mpnet.npz").unlink()
    with pytest.raises(FileNotFoundError, match="reinstall") as excinfo:
        shipped.load("wikipedia")
    assert "\n" not in str(excinfo.value)
    (folder / "wikipedia_mpnet.md").unlink()
    with pytest.raises(FileNotFoundError, match="card") as excinfo:
        shipped.load("wikipedia")
    assert "\n" not in str(excinfo.value)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="'cifar10', 'wikipedia', not 'imagenet'"):
        shipped.load("imagenet")


def test_any_shipped_file_is_read_by_its_name_and_compared_with_its_card(tmp_path, monkeypatch):
    text = shipped.read("moby_dick.txt")
    assert text.startswith(b"CHAPTER 1. Loomings.")
    for name in ("moby_dick.txt", "moby_dick.md"):
        (tmp_path / name).write_bytes((shipped.folder() / name).read_bytes())
    monkeypatch.setattr(shipped, "folder", lambda: tmp_path)
    assert shipped.read("moby_dick.txt") == text
    (tmp_path / "moby_dick.txt").write_bytes(text + b".")
    with pytest.raises(ValueError, match="damaged or was changed"):
        shipped.read("moby_dick.txt")


def test_a_sweep_is_a_dictionary_of_arrays_and_an_unknown_one_is_refused():
    assert shipped.sweep("universal_gap")["steps"].shape == (7,)
    with pytest.raises(ValueError, match=r"'universal_gap'.*not 'moby_dick'"):
        shipped.sweep("moby_dick")


@pytest.mark.parametrize(("load", "columns"), [(shipped.cifar10, 2048), (shipped.wikipedia, 768)])
def test_the_two_arrays_have_a_label_per_row(load, columns):
    array = load()
    assert array.features.shape == (len(array.labels), columns)
    assert set(array.labels.tolist()) == set(range(len(array.classes)))
    assert (array.titles is None) == (array.name == "cifar10")
