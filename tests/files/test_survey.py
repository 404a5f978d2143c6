"""One survey of rows, whole or in parts: columns that hold constants or integers only are noticed, and no others."""

import pickle
from functools import reduce

import numpy as np
import pytest

from edgelaw_app.files import design, gram

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 30))


def sentences(array, block=90):
    parts = [gram.survey(array[k : k + block]) for k in range(0, len(array), block)]
    names = [f"c{k}" for k in range(array.shape[1])]
    found = gram.survey(array).sentences(names)
    assert reduce(gram.merge, parts).sentences(names) == found
    assert reduce(gram.merge, pickle.loads(pickle.dumps(parts[::-1]))).sentences(names) == found
    return found


def with_column(values, place=7, array=X):
    return np.insert(array, place, values, axis=1)


@pytest.mark.parametrize(
    "values",
    [
        np.arange(17, 417),
        np.arange(399, -1, -1),
        rng.permutation(400) + 5,
        np.arange(400) % 10,
        np.sign(X[:, 0]),
        rng.integers(0, 10**6, 400),
    ],
    ids=["row numbers", "descending", "shuffled", "classes", "signs", "customers"],
)
def test_a_column_of_integers_among_others_is_noticed(values):
    assert sentences(with_column(values)) == (
        "Columns of nothing but whole numbers, as labels and row numbers are: 'c7'; leave out by drop those that are "
        "no features.",
    )


def test_constants_are_noticed_in_one_sentence():
    both = with_column(3, 0, with_column(0.5))
    assert sentences(both) == (
        "Columns of nothing but one number: 'c0', 'c8'; leave out by drop those that are no features.",
    )
    assert len(sentences(with_column(np.arange(400), array=both))) == 2


@pytest.mark.parametrize(
    "array",
    [
        X,
        X.astype(np.float32),
        rng.integers(0, 255, (400, 30)),
        (X > 1).astype(np.uint8),
        with_column(np.append(np.arange(399), 0.5)),
        np.round(X, 1),
    ],
    ids=["real", "float32", "pixels", "bits", "nearly an index", "rounded"],
)
def test_features_are_not_taken_for_anything_else(array):
    assert sentences(array) == ()


def test_rows_chosen_at_random_keep_the_signs_of_an_index():
    made = design(with_column(np.arange(400)), rows=100, dims=25, rng=0)
    (sentence,) = made.warnings
    assert "row numbers are: '7'" in sentence
    assert design(X).warnings == ()
