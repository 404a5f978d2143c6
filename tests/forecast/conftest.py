"""Shared by the tests of the forecast: rows of the shipped embeddings, and one prediction of all orders."""

import pytest

from edgelaw import data
from edgelaw_app.forecast import predict


@pytest.fixture(scope="session")
def embeddings():
    """Makes rows of norm √d from an embedding that ships."""

    def rows(name, m, d, seed=0):
        return data.normalize_rows(data.preprocess(data.load(name).features, rows=m, dims=d, rng=seed).X)

    return rows


@pytest.fixture(scope="session")
def square():
    """A prediction of all orders on Gaussian rows, and the calls of its progress."""
    calls = []
    X = data.gaussian(60, 60, rng=1)
    prediction = predict(
        X, epochs=12, target=0.2, progress=lambda *call: calls.append(call), rng=4, search=False
    )
    return prediction, calls
