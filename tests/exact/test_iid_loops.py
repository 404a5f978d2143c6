"""The compiled loop of the secular equation and its NumPy twin."""

import numpy as np
import pytest

from edgelaw.exact.iid import modes


@pytest.fixture
def both(monkeypatch):
    """The nearest poles, offsets and squares of all roots, by the loop and by its twin."""

    def roots(poles, g):
        one = modes.secular(poles, g)
        monkeypatch.setattr(modes, "_other_terms", modes._other_terms.twin)
        return one[1:], modes.secular(poles, g)[1:]

    return roots


@pytest.mark.parametrize("count", [1, 2, 7, 300, 1500])
def test_the_loop_and_its_twin_find_the_same_roots(count, both):
    rng = np.random.default_rng(count)
    poles, g = -np.sort(rng.gamma(0.5, size=count))[::-1], np.sqrt(rng.random(count) / count)
    one, other = both(poles, g)
    assert poles[one[0]] + one[1] == pytest.approx(poles[other[0]] + other[1], rel=1e-13)
    assert one[2] == pytest.approx(other[2], rel=1e-10)


def test_the_loop_and_its_twin_tell_roots_between_poles_that_nearly_agree(both):
    poles, g = -0.2 * (1 + 1e-12 * np.arange(12))[::-1], np.linspace(0.05, 0.2, 12)
    one, other = both(poles, g)
    assert one[0].tolist() == other[0].tolist()
    assert one[1] == pytest.approx(other[1], rel=1e-10)
