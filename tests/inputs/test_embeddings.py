"""Loaders refuse what they must, and preprocessing does what the paper says in the paper's order."""

import pickle
import re

import numpy as np
import pytest
import torch
from edgelaw.embeddings import load_embeddings, preprocess
from hypothesis import given, settings
from hypothesis import strategies as st

from edgelaw import embeddings, shipped


def sentence(excinfo):
    """The message of an exception, checked to be one sentence."""
    message = str(excinfo.value)
    assert message
    assert "\n" not in message
    return message


@pytest.fixture(scope="module")
def features():
    """200 anisotropic rows of 60 columns with a large mean, as embeddings have."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(200, 60)) * np.arange(1, 61) ** -0.7 + 3.0


# preprocess


def test_the_steps_are_subsample_project_centre_normalise_in_that_order(features):
    made = preprocess(features, 32, 24, rng=5)
    rng = np.random.default_rng(5)
    rows = rng.choice(200, 32, replace=False)
    by_hand = features[rows] @ rng.standard_normal((60, 24)) / np.sqrt(24)
    by_hand = by_hand - by_hand.mean(axis=0)
    by_hand = by_hand / np.linalg.norm(by_hand, axis=1, keepdims=True) * np.sqrt(24)
    np.testing.assert_allclose(made.X, by_hand, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(made.rows, rows)
    assert [step.split()[0] for step in made.steps] == ["Chose", "Projected", "Subtracted", "Scaled"]


def test_a_case_done_by_hand():
    made = preprocess([[1, 0], [3, 0], [2, 3]], None, None, rng=0)
    root = np.sqrt(2)
    expected = [[-1 / root, -1 / root], [1 / root, -1 / root], [0, 1]] * np.full((3, 1), root)
    np.testing.assert_allclose(made.X, expected, atol=1e-15)  # mean row (2, 1); the rest is two unit vectors
    assert made.null == 0
    assert made.rows.tolist() == [0, 1, 2]
    assert made.steps[0] == "Kept all 3 rows in their order."


def test_rows_have_norm_root_d_and_the_mean_eigenvalue_is_one(features):
    X = preprocess(features, 40, 30, rng=1).X
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), np.sqrt(30), rtol=1e-13)
    assert np.trace(X.T @ X / 40) == pytest.approx(30, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_centring_with_m_equal_d_leaves_exactly_one_null_eigenvalue_after_row_scaling(features, seed):
    made = preprocess(features, 50, 50, rng=seed)
    eigenvalues = np.linalg.eigvalsh(made.X.T @ made.X / 50)
    assert made.null == 1
    assert abs(eigenvalues[0]) < 1e-13
    assert eigenvalues[1] > 1e-8
    assert np.linalg.matrix_rank(made.X) == 49


def test_row_scaling_destroys_the_zero_mean_but_not_the_dependence_of_the_rows(features):
    centred = preprocess(features, 50, 50, rng=0, normalize=False).X
    scaled = preprocess(features, 50, 50, rng=0).X
    scale = np.linalg.norm(scaled, axis=1) / np.linalg.norm(centred, axis=1)
    assert np.abs(centred.sum(axis=0)).max() < 1e-12
    assert np.abs(scaled.sum(axis=0)).max() > 0.1
    assert np.abs((1 / scale) @ scaled).max() < 1e-11


def test_without_centring_there_is_no_null_direction(features):
    made = preprocess(features, 50, 50, rng=0, center=False)
    assert made.null == 0
    assert np.linalg.eigvalsh(made.X.T @ made.X / 50)[0] > 1e-8
    assert not any("mean" in step for step in made.steps)


@settings(max_examples=40, deadline=None)
@given(m=st.integers(2, 30), d=st.integers(2, 30), center=st.booleans(), seed=st.integers(0, 10**6))
def test_null_counts_the_zero_eigenvalues_for_any_shape(m, d, center, seed):
    X = np.random.default_rng(seed).normal(size=(40, 35)) + 1.0
    made = preprocess(X, m, d, rng=seed, center=center, normalize=False)
    assert made.null == d - np.linalg.matrix_rank(made.X)


def test_without_normalisation_the_rows_keep_their_own_lengths(features):
    made = preprocess(features, 50, None, rng=0, normalize=False)
    np.testing.assert_allclose(made.X, features[made.rows] - features[made.rows].mean(axis=0))
    assert made.steps[1] == "Kept all 60 columns, without a projection."


def test_the_projection_preserves_squared_norms_on_average():
    X = np.random.default_rng(0).normal(size=(2, 50))
    ratios = [
        (preprocess(X, None, 40, rng=seed, center=False, normalize=False).X ** 2).sum() / (X**2).sum()
        for seed in range(400)
    ]
    error = np.std(ratios) / np.sqrt(len(ratios))
    assert error < 0.01
    assert abs(np.mean(ratios) - 1) < 3 * error


def test_rows_are_distinct_and_every_row_can_be_chosen(features):
    made = preprocess(features, 200, 10, rng=0)
    assert sorted(made.rows) == list(range(200))
    assert list(made.rows) != list(range(200))


def test_the_same_seed_gives_the_same_matrix_and_another_seed_another(features):
    first, again, other = (preprocess(features, 20, 20, rng=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)
    assert first.steps[0].endswith("(seed 3).")


def test_a_generator_is_used_and_advanced_and_no_seed_is_claimed(features):
    rng = np.random.default_rng(3)
    first, second = preprocess(features, 20, 20, rng), preprocess(features, 20, 20, rng)
    np.testing.assert_array_equal(first.X, preprocess(features, 20, 20, rng=3).X)
    assert not np.array_equal(first.X, second.X)
    assert "seed" not in "".join(first.steps)


def test_the_input_is_not_changed_and_float16_is_computed_in_float64(features):
    X = features.astype(np.float16)
    before = X.copy()
    made = preprocess(X, 30, 20, rng=0)
    np.testing.assert_array_equal(X, before)
    assert made.X.dtype == np.float64
    np.testing.assert_array_equal(made.X, preprocess(before.astype(np.float64), 30, 20, rng=0).X)
    whole = np.array(before, dtype=np.float64)
    preprocess(whole, None, None, rng=0)
    np.testing.assert_array_equal(whole, before.astype(np.float64))


GOOD = np.random.default_rng(0).normal(size=(10, 6))


@pytest.mark.parametrize(
    ("X", "rows", "dims", "rng", "words"),
    [
        (np.where(np.eye(10, 6) > 0, np.nan, GOOD), 4, 4, 0, "NaN"),
        (np.where(np.eye(10, 6) > 0, np.inf, GOOD), 4, 4, 0, "infinity"),
        (GOOD * 1e120, 4, 4, 0, "below 1e+100"),
        (GOOD.astype(complex), 4, 4, 0, "real numbers"),
        (GOOD[0], 4, 4, 0, r"(shape (6,))"),
        (GOOD[:1], 4, 4, 0, "not shape (1, 6)"),
        (GOOD, 11, 4, 0, "at most the 10"),
        (GOOD, 1, 4, 0, "rows must be an integer of at least 2"),
        (GOOD, 4.0, 4, 0, "rows must be an integer"),
        (GOOD, True, 4, 0, "rows must be an integer"),
        (GOOD, 4, 7, 0, "at most the 6 columns"),
        (GOOD, 4, 1, 0, "dims must be an integer of at least 2"),
        (GOOD, 4, 4, None, "rng must be"),
        (GOOD, 4, 4, -1, "rng must be"),
        (np.ones((10, 6)), 4, 4, 0, "equals the mean row"),
        ([[0, 0], [2, 2], [1, 1]], None, None, 0, "Row 2 of X equals the mean row"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(X, rows, dims, rng, words):
    with pytest.raises(ValueError, match=re.escape(words)) as excinfo:
        preprocess(X, rows, dims, rng)
    sentence(excinfo)


def test_what_rounding_leaves_of_equal_rows_is_not_blown_up_to_norm_root_d():
    X = np.tile([0.1, 0.7, 0.3], (10, 1))
    left = preprocess(X, None, None, rng=0, normalize=False).X
    assert 0 < np.abs(left).max() < 1e-15  # not exactly zero
    with pytest.raises(ValueError, match="equals the mean row"):
        preprocess(X, None, None, rng=0)


def test_a_zero_row_is_refused_only_where_rows_are_normalised():
    X = np.vstack([np.zeros(6), GOOD])
    with pytest.raises(ValueError, match="Row 0 of X is zero") as excinfo:
        preprocess(X, None, None, rng=0, center=False)
    sentence(excinfo)
    assert preprocess(X, None, None, rng=0, center=False, normalize=False).X.shape == (11, 6)


# load_embeddings


def test_the_papers_cifar_file_is_read_without_a_key(tmp_path):
    path = tmp_path / "cifar10_resnet50_embeddings.npz"
    x_train = np.random.default_rng(0).random((60, 2048), dtype=np.float32)
    np.savez(path, x_train=x_train, y_train=np.arange(60) % 10, x_test=x_train[:5])
    read = load_embeddings(path)
    assert read.dtype == np.float32
    np.testing.assert_array_equal(read, x_train)


def test_the_papers_wikipedia_file_is_read_without_a_key(tmp_path):
    path = tmp_path / "wiki_embeddings.npz"
    array = np.random.default_rng(0).normal(size=(43, 1536))
    np.savez_compressed(path, embeddings=array, titles=np.array(["a"] * 43))
    np.testing.assert_array_equal(load_embeddings(path), array)
    made = preprocess(load_embeddings(path), 32, 32, rng=0)
    assert made.X.shape == (32, 32)


def test_a_single_array_needs_no_key_and_a_key_chooses_among_several(tmp_path):
    one, several = tmp_path / "one.npz", tmp_path / "several.npz"
    np.savez(one, anything=np.eye(3))
    np.savez(several, a=np.eye(3), b=2 * np.eye(4))
    np.testing.assert_array_equal(load_embeddings(one), np.eye(3))
    np.testing.assert_array_equal(load_embeddings(several, key="b"), 2 * np.eye(4))


@pytest.mark.parametrize(
    ("stored", "read"), [("f2", "f4"), ("f4", "f4"), ("f8", "f8"), (">f4", "f8"), ("i4", "f8"), ("u1", "f8")]
)
def test_dtypes_are_kept_or_widened_never_narrowed(tmp_path, stored, read):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(12).reshape(4, 3).astype(stored))
    array = load_embeddings(path)
    assert array.dtype == np.dtype(read)
    np.testing.assert_array_equal(array, np.arange(12).reshape(4, 3))


def test_torch_files_are_read_as_tensors(tmp_path):
    tensor = torch.arange(12.0).reshape(4, 3)
    torch.save(tensor, tmp_path / "x.pt")
    torch.save({"embeddings": tensor.to(torch.bfloat16), "step": 3, "bias": tensor[0]}, tmp_path / "x.pth")
    np.testing.assert_array_equal(load_embeddings(tmp_path / "x.pt"), tensor.numpy())
    np.testing.assert_array_equal(load_embeddings(tmp_path / "x.pth"), tensor.numpy())


class Trap:
    """Unpickling this leaves a mark."""

    sprung = False

    def __reduce__(self):
        return (_spring, ())


def _spring():
    Trap.sprung = True


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".pt", ".pth"])
def test_a_pickle_is_refused_and_never_run_whatever_it_is_called(tmp_path, suffix):
    path = tmp_path / f"trap{suffix}"
    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ValueError, match=r"pickle|refused") as excinfo:
        load_embeddings(path)
    sentence(excinfo)
    assert not Trap.sprung
    pickle.loads(path.read_bytes())
    assert Trap.sprung  # the trap works, so the line above means something
    Trap.sprung = False


def test_object_arrays_are_refused_in_npy_and_npz(tmp_path):
    objects = np.array([[Trap(), 1], [2, 3]], dtype=object)
    np.save(tmp_path / "x.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "x.npz", embeddings=objects)
    for name in ("x.npy", "x.npz"):
        with pytest.raises(ValueError, match="never loaded") as excinfo:
            load_embeddings(tmp_path / name)
        sentence(excinfo)
    assert not Trap.sprung


def test_a_torch_file_with_other_objects_is_refused(tmp_path):
    torch.save({"embeddings": torch.eye(3), "trap": Trap()}, tmp_path / "x.pt")
    torch.save([1, 2, 3], tmp_path / "list.pt")
    with pytest.raises(ValueError, match="refused") as excinfo:
        load_embeddings(tmp_path / "x.pt")
    sentence(excinfo)
    assert not Trap.sprung
    with pytest.raises(ValueError, match="a tensor or a dictionary of tensors, not a list"):
        load_embeddings(tmp_path / "list.pt")


@pytest.mark.parametrize("name", ["x.npz", "x.npy", "x.pt"])
@pytest.mark.parametrize("kept", [0, 5, 0.5, 0.99])
def test_a_truncated_file_is_refused(tmp_path, name, kept):
    path = tmp_path / name
    array = np.random.default_rng(0).normal(size=(50, 40))
    if name == "x.npz":
        np.savez(path, embeddings=array)
    elif name == "x.npy":
        np.save(path, array)
    else:
        torch.save(torch.from_numpy(array), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: kept if isinstance(kept, int) else int(kept * len(whole))])
    with pytest.raises(ValueError, match="x") as excinfo:
        load_embeddings(path)
    sentence(excinfo)


def test_a_flipped_byte_inside_an_npz_is_noticed(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, embeddings=np.ones((50, 40)))
    whole = bytearray(path.read_bytes())
    whole[5000] ^= 1
    path.write_bytes(whole)
    with pytest.raises(ValueError, match="damaged"):
        load_embeddings(path)


def test_a_missing_file_a_folder_and_another_format_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file") as excinfo:
        load_embeddings(tmp_path / "none.npz")
    sentence(excinfo)
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(FileNotFoundError, match="There is no file"):
        load_embeddings(tmp_path / "folder.npz")
    with pytest.raises(ValueError, match=r"must be a \.npy, \.npz"):
        load_embeddings(tmp_path / "x.pkl")


@pytest.mark.parametrize(
    ("arrays", "key", "words"),
    [
        ({"a": np.eye(3), "b": np.eye(3)}, "c", "has no array 'c'; its arrays are: 'a', 'b'"),
        (
            {"a": np.eye(3), "b": np.eye(3)},
            None,
            "needs a key that says which array",
        ),
        ({}, None, "its arrays are: none"),
        ({"a": np.ones(3)}, None, "not shape (3,)"),
        ({"a": np.ones((3, 1))}, None, "not shape (3, 1)"),
        ({"a": np.ones((2, 2, 2))}, None, "not shape (2, 2, 2)"),
        ({"a": np.array([["x", "y"]] * 2)}, None, "real numbers"),
        ({"a": np.full((3, 3), np.nan)}, None, "NaN"),
    ],
)
def test_a_file_without_a_usable_matrix_is_refused_in_one_sentence(tmp_path, arrays, key, words):
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(ValueError, match=re.escape(words)) as excinfo:
        load_embeddings(tmp_path / "x.npz", key=key)
    sentence(excinfo)


def test_a_key_for_a_file_without_keys_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(3))
    torch.save(torch.eye(3), tmp_path / "x.pt")
    for name in ("x.npy", "x.pt"):
        with pytest.raises(ValueError, match="key must be left out"):
            load_embeddings(tmp_path / name, key="a")


# where the data is


def copy_of_the_data(tmp_path, monkeypatch):
    """A package folder elsewhere, as pip installs it, with its own copy of the data; the copy's folder."""
    folder = tmp_path / "site" / "edgelaw" / "_data"
    folder.mkdir(parents=True)
    for entry in embeddings.shipped():
        (folder / entry.path.name).write_bytes(entry.path.read_bytes())
        (folder / entry.card_path.name).write_bytes(entry.card_path.read_bytes())
    monkeypatch.setattr(shipped, "__file__", str(tmp_path / "site" / "edgelaw" / "_shipped.py"))
    monkeypatch.setattr(shipped.resources, "files", lambda package: folder.parent)
    return folder


def test_an_installed_package_reads_its_own_copy(tmp_path, monkeypatch):
    here = embeddings.load("wikipedia").features
    folder = copy_of_the_data(tmp_path, monkeypatch)
    assert {entry.path.parent for entry in embeddings.shipped()} == {folder}
    np.testing.assert_array_equal(embeddings.load("wikipedia").features, here)


def test_a_damaged_shipped_file_is_refused(tmp_path, monkeypatch):
    folder = copy_of_the_data(tmp_path, monkeypatch)
    path = folder / "wikipedia_mpnet.npz"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match="SHA-256") as excinfo:
        embeddings.load("wikipedia")
    sentence(excinfo)


def test_a_missing_shipped_file_or_card_is_told_in_one_sentence(tmp_path, monkeypatch):
    folder = copy_of_the_data(tmp_path, monkeypatch)
    (folder / "wikipedia_mpnet.npz").unlink()
    with pytest.raises(FileNotFoundError, match="reinstall") as excinfo:
        embeddings.load("wikipedia")
    sentence(excinfo)
    (folder / "wikipedia_mpnet.md").unlink()
    with pytest.raises(FileNotFoundError, match="card") as excinfo:
        embeddings.load("wikipedia")
    sentence(excinfo)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="'cifar10', 'wikipedia', not 'imagenet'"):
        embeddings.load("imagenet")


def test_the_listing_names_every_array_with_its_size_licence_and_card(capsys):
    embeddings.main()
    printed = capsys.readouterr().out
    for entry in embeddings.shipped():
        assert f"{entry.path.stat().st_size / 1e6:.1f} MB" in printed
        facts = [entry.path.name, str(entry.card_path), entry.card["licence"], entry.card["sha256"]]
        for fact in facts + entry.card["differs_from_paper"]:
            assert fact in printed
    assert "CC BY-SA 4.0" in printed
