"""A bracketed root: to its tolerance, in few evaluations, or a sentence."""

import numpy as np
import pytest

from edgelaw._common.numerics import bracketed_root


@pytest.mark.parametrize(
    ("function", "low", "high", "root"),
    [
        (lambda x: np.exp(x) - 3, -60.0, 5.0, np.log(3)),
        (lambda x: np.arctan(x - 7), -1000.0, 2000.0, 7.0),
        (lambda x: (x - 0.25) ** 9, -1.0, 3.0, 0.25),
        (lambda x: 2.0 - x, 5.0, -1.0, 2.0),
        (lambda x: x, 0.0, 1.0, 0.0),
    ],
)
def test_a_root_is_found_between_its_ends_in_few_evaluations(function, low, high, root):
    calls = []

    def counted(x):
        calls.append(x)
        return function(x)

    assert bracketed_root(counted, low, high) == pytest.approx(root, abs=1e-10)
    assert len(calls) < 160
    assert min(low, high) <= min(calls) <= max(calls) <= max(low, high)


@pytest.mark.parametrize("function", [lambda x: 1.0, lambda x: np.nan])
def test_ends_of_one_sign_and_no_numbers_are_refused(function):
    with pytest.raises(ValueError, match="different signs"):
        bracketed_root(function, 0.0, 1.0)
