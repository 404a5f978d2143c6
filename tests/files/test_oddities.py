"""Columns that look like row numbers, classes or constants are noticed, and no others."""

import pickle

import numpy as np
import pytest

from edgelaw_app.files import design
from edgelaw_app.files.oddities import CLASSES, Watch

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 30))


def sentences(array, block=90):
    watch = Watch(array.shape[1])
    for k in range(0, len(array), block):
        watch.add(array[k : k + block])
    parts = [Watch(array.shape[1]) for _ in range(0, len(array), block)]
    for k, part in enumerate(parts):
        part.add(array[k * block : (k + 1) * block])
    merged = Watch(array.shape[1])
    for part in parts:
        merged = merged.merge(pickle.loads(pickle.dumps(part)))
    names = [f"c{k}" for k in range(array.shape[1])]
    assert merged.sentences(names) == watch.sentences(names)
    return watch.sentences(names)


def with_column(values, place=7, array=X):
    return np.insert(array, place, values, axis=1)


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (np.arange(400), "(0 to 399)"),
        (np.arange(17, 417), "(17 to 416)"),
        (np.arange(400) * 3 + 10**6, "(1000000 to 1001197)"),
        (np.arange(399, -1, -1), "(0 to 399)"),
        (rng.permutation(400) + 5, "(5 to 404)"),
    ],
)
def test_a_column_that_numbers_the_rows_is_noticed(values, numbers):
    assert sentences(with_column(values)) == (
        f"Column 'c7' numbers the rows {numbers} and is no feature: leave it out by drop.",
    )


@pytest.mark.parametrize(
    ("values", "count"), [(np.arange(400) % 10, 10), (np.sign(X[:, 0]), 2), ([*range(100)] * 4, 100)]
)
def test_a_column_of_classes_is_noticed(values, count):
    (sentence,) = sentences(with_column(values))
    assert sentence.startswith(
        f"Column 'c7' holds {count} different integers only, as classes do: leave it out"
    )


def test_constants_are_noticed_in_one_sentence():
    one = with_column(0.5)
    assert sentences(one) == (
        "Column 'c7' holds one number only, which is no feature: leave it out by drop.",
    )
    (both,) = sentences(with_column(3, 0, one))
    assert both == "Columns 'c0', 'c8' hold one number only, which is no feature: leave them out by drop."


@pytest.mark.parametrize(
    "array",
    [
        X,
        X.astype(np.float32),
        rng.integers(0, 255, (400, 30)),
        (X > 1).astype(np.uint8),
        with_column(rng.integers(0, 10**6, 400)),
        with_column(np.append(np.arange(399), 0.5)),
        np.round(X, 1),
    ],
    ids=["real", "float32", "pixels", "bits", "large integers", "nearly an index", "rounded"],
)
def test_features_are_not_taken_for_anything_else(array):
    assert sentences(array) == ()


def test_row_numbers_are_noticed_among_integers_too():
    (sentence,) = sentences(with_column(np.arange(400), array=rng.integers(0, 255, (400, 30))))
    assert "'c7' numbers the rows" in sentence


def test_more_classes_than_are_remembered_are_none():
    tall = rng.normal(size=(6 * CLASSES, 20))
    assert sentences(with_column(np.arange(len(tall)) // 4, 3, tall), 2048) == ()
    assert len(sentences(with_column(np.arange(len(tall)) // 6, 3, tall), 2048)) == 1


def test_rows_chosen_at_random_keep_the_signs_of_an_index():
    made = design(with_column(np.arange(400)), rows=100, dims=25, rng=0)
    (sentence,) = made.warnings
    assert sentence.startswith("Column '7' numbers the rows (")
    assert design(X).warnings == ()


def test_a_survey_in_parts_notices_what_one_survey_does():
    array = with_column(np.arange(400) % 4)
    whole, parts = Watch(), [Watch(), Watch()]
    whole.add(array)
    for part, rows in zip(parts, (array[:150], array[150:]), strict=True):
        part.add(rows)
    names = [str(k) for k in range(31)]
    assert parts[1].merge(parts[0]).sentences(names) == whole.sentences(names)
    assert whole.sentences(names)
    assert Watch().sentences(["a", "b", "c"]) == ()
