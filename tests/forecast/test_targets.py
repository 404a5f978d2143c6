"""Labels as targets: classes, numbers, several columns, and what is refused."""

import numpy as np
import pytest

from edgelaw_app.forecast.labels import Targets


def test_classes_are_one_hot_in_sorted_order():
    targets = Targets.of(np.array(["b", "a", "b", "c", "a", "a"]), 6)
    assert targets.classes == ("a", "b", "c")
    assert targets.values.tolist() == [[0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [1, 0, 0]]


@pytest.mark.parametrize("y", [[0, 1, 1], [False, True, True], ["n", "y", "y"], [b"n", b"y", b"y"]])
def test_integers_booleans_and_texts_are_classes(y):
    assert Targets.of(y, 3).values[:, 1].tolist() == [0, 1, 1]


@pytest.mark.parametrize("count", [2, 10, 20])
def test_floats_that_are_few_and_whole_are_classes_and_a_note_says_how_to_have_numbers(count):
    y = np.arange(5.0 * count) % count
    targets = Targets.of(y, len(y))
    assert targets.classes == tuple(sorted(str(k) for k in range(count))) or count > 10
    assert targets.values.shape == (len(y), count)
    assert f"Took the {count} different whole numbers of y as classes" in targets.notes[0]
    assert Targets.of(y, len(y), classes=False).values[:, 0].tolist() == y.tolist()
    assert targets.like(y[:3], 3).tolist() == targets.values[:3].tolist()
    assert Targets.of(y + 0.5, len(y)).classes is None
    assert Targets.of(y[: 5 * count - 1], 5 * count - 1).classes is None


def test_masked_labels_are_refused():
    with pytest.raises(ValueError, match="y has masked entries; drop those rows first"):
        Targets.of(np.ma.masked_equal([0, 1, 1, 0], 0), 4)


def test_columns_cannot_be_classes():
    with pytest.raises(ValueError, match="y must have one column to hold classes, not 2"):
        Targets.of(np.arange(12).reshape(6, 2) % 3, 6, classes=True)


def test_texts_cannot_be_numbers():
    with pytest.raises(ValueError, match="can only be classes"):
        Targets.of(["a", "b", "a"], 3, classes=False)


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
