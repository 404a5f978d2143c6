"""Shared by the tests of the forecast: rows of the shipped embeddings, rows with labels, and one forecast of each."""

import numpy as np
import pytest

from edgelaw import data
from edgelaw_app.forecast import checking, predict, probe
from edgelaw_app.forecast.results import Check


@pytest.fixture(scope="session")
def embeddings():
    """Makes rows of norm √d from an embedding that ships."""

    def rows(name, m, d, seed=0):
        return data.normalize_rows(data.preprocess(data.load(name).features, rows=m, dims=d, rng=seed).X)

    return rows


@pytest.fixture(scope="session")
def square():
    """A forecast of all orders on Gaussian rows, and the calls of its progress."""
    calls = []
    X = data.gaussian(60, 60, rng=1)
    made = predict(X, epochs=12, target=0.2, progress=lambda *call: calls.append(call), rng=4)
    return made, calls


@pytest.fixture(scope="session")
def classes():
    """Features of three classes whose means differ, and their labels."""
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


@pytest.fixture(scope="session")
def probed(classes):
    """A forecast of the default orders for the classes."""
    return probe(*classes, epochs=4)


@pytest.fixture
def mistrusted(monkeypatch):
    """Every check says that theory is wrong, so that SGD is run in every order."""
    wrong = Check("differs", "Theory is mistrusted.")
    monkeypatch.setattr(checking, "checked", lambda question, theory, rng: (wrong, theory))
