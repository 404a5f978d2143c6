"""Features with labels that the tests of the probe share."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def classes():
    """Features of three classes whose means differ, and their labels; 1.5 times as many rows as needed to train on."""
    rng = np.random.default_rng(1)
    labels = np.arange(360) % 3
    means = rng.normal(size=(3, 40)) * 0.4
    return means[labels] + rng.normal(size=(360, 40)) * np.geomspace(0.3, 2, 40), labels


@pytest.fixture(scope="session")
def numbers():
    """Features and two noisy linear functions of them."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 30)) + 5
    return X, X @ rng.normal(size=(30, 2)) + rng.normal(size=(300, 2))
