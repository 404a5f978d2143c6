"""Labels as targets: classes, numbers, several columns, and what is refused."""

import numpy as np
import pytest
from edgelaw_app.labels.targets import Targets


def test_classes_are_one_hot_in_sorted_order():
    targets = Targets.of(np.array(["b", "a", "b", "c", "a", "a"]), 6)
    assert targets.classes == ("a", "b", "c")
    assert targets.values.tolist() == [[0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [1, 0, 0]]


@pytest.mark.parametrize("y", [[0, 1, 1], [False, True, True], ["n", "y", "y"], [b"n", b"y", b"y"]])
def test_integers_booleans_and_texts_are_classes(y):
    assert Targets.of(y, 3).values[:, 1].tolist() == [0, 1, 1]


def test_floats_are_numbers_in_as_many_columns_as_given():
    assert Targets.of([0.0, 1.0, 2.5], 3).values.tolist() == [[0.0], [1.0], [2.5]]
    assert Targets.of(np.arange(6.0).reshape(3, 2), 3).values.shape == (3, 2)
    assert Targets.of(np.arange(6).reshape(3, 2), 3).classes is None


def test_held_out_labels_use_the_columns_of_the_training_labels():
    targets = Targets.of([5, 7, 9, 7, 9, 5], 6)
    assert targets.like([9, 5], 2).tolist() == [[0, 0, 1], [1, 0, 0]]
    with pytest.raises(ValueError, match="not '8'"):
        targets.like([8, 5], 2)
    with pytest.raises(ValueError, match="must be numbers"):
        Targets.of([0.5, 1.0], 2).like(["a", "b"], 2)
    with pytest.raises(ValueError, match="1 column"):
        Targets.of([0.5, 1.0], 2).like(np.ones((2, 2)), 2)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 1, 1, 1], "at least two classes"),
        ([1.0, 1.0, 1.0, 1.0], "same number in every row"),
        ([1.0, np.nan, 2.0, 3.0], "1 of 4 rows have NaN"),
        ([1, 2, 3], "each of the 4 rows, not 3"),
        ([1, 2, 3, 4], "too many for classes"),
        ([None, 1, 2, 3], "numbers or texts"),
        ([[1], [2, 3], [4], [5]], "one label per row"),
        (np.zeros((4, 2, 2)), "one label per row"),
        (np.array([1j, 2, 3, 4]), "numbers or texts"),
    ],
)
def test_bad_labels_are_refused_in_one_sentence(y, message):
    with pytest.raises(ValueError, match=message) as refusal:
        Targets.of(y, 4)
    assert str(refusal.value).endswith(".")
    assert "\n" not in str(refusal.value)
