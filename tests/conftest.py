"""Shared by all tests: figures are drawn off screen, and what is random is drawn the same way every time."""

import hypothesis
import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
# Deterministic examples, so that a red test is red again; no deadline, since a busy machine is not a bug.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=60)
hypothesis.settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def two():
    """Two small linear probes, which differ in their split."""
    from edgelaw_app.training import probe

    rng = np.random.default_rng(3)
    features = rng.standard_normal((80, 30)) * np.arange(1, 31) ** -0.5 + 1
    return [probe.split(features, np.arange(80) % 3, rows=20, dims=16, held=40, rng=seed) for seed in (0, 1)]
