"""Shared by all tests: figures are drawn off screen, and what is random is drawn the same way every time."""

import hypothesis
import matplotlib

matplotlib.use("Agg")
# Deterministic examples, so that a red test is red again; no deadline, since a busy machine is not a bug.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=60)
hypothesis.settings.load_profile("repeatable")
