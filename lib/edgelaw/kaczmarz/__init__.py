"""The simulator: SGD on least squares row by row, at the speed of matrix products."""

from edgelaw.curves import LearningCurve
from edgelaw.kaczmarz.simulation import epoch_matrix, iterates, simulate

__all__ = ["LearningCurve", "epoch_matrix", "iterates", "simulate"]
