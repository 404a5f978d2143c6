"""What the learning curves of all orders share: which epochs they return, and in what."""

import numpy as np

from edgelaw import _checks
from edgelaw.curves import LearningCurve


def recorded(epochs):
    """The epochs to return: all up to a given one, or the given ones; 0 included."""
    numbers = _checks.counts(epochs, "epochs")
    return np.arange(numbers + 1) if numbers.ndim == 0 else np.union1d(numbers, 0)


def learning_curve(n, test, train, error=np.nan):
    """A computed curve: it starts at 1, what is below 1e-300 is 0, and there are no standard errors."""
    test[0] = train[0] = 1.0
    test[test < 1e-300] = train[train < 1e-300] = 0.0
    return LearningCurve(n, test, train, *np.full((2, len(n)), np.nan), error=error)
