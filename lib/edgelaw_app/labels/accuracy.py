"""Which classes the probe to expect would name: its accuracy on held-out rows, and by what margin."""

from __future__ import annotations

import numpy as np

from edgelaw._common.types import Array
from edgelaw.exact.iid import labels as iid
from edgelaw.exact.random_reshuffle import labels as random_reshuffle
from edgelaw_app.labels.curves import Problem, too_few_dimensions
from edgelaw_app.labels.results import Accuracy


def expected(problem: Problem, order: str, steps: Array) -> Accuracy | None:
    """The accuracy of the mean weights after these steps; None without classes or held-out rows, or with ridge.

    Orders that shuffle once have the mean weights of random reshuffle in their first epoch, and nearly so in others.
    """
    prepared, rows = problem.prepared, problem.rows
    if prepared.classes is None or prepared.held is None or rows.held_out is None or problem.ridge > 0:
        return None
    scores = rows.held_out.scores(1 - _mean_error(problem, order, steps)) + prepared.target_mean
    places = (prepared.held[1] + prepared.target_mean).argmax(axis=1)
    everyone = np.arange(len(places))
    own = scores[everyone, places]
    others = scores.copy()
    others[everyone, places] = -np.inf
    margins = own - others.max(axis=1)
    shares = np.bincount(places) / len(places)
    return Accuracy(float((margins > 0).mean()), float(np.median(margins)), float(shares.max()))


def _mean_error(problem: Problem, order: str, steps: Array) -> Array:
    """The mean error over its start: of IID exactly, of the others by random reshuffle's theory where it has one."""
    if order != "iid" and not too_few_dimensions(problem.rows):
        try:
            return random_reshuffle.mean_error(problem.rows, steps, problem.batch)
        except (ArithmeticError, StopIteration):
            pass
    return iid.mean_error(problem.rows, steps, problem.batch)
