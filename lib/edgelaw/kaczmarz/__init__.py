"""The simulator: SGD on least squares row by row, at the speed of matrix products."""

from edgelaw.kaczmarz.simulation import epoch_matrix, iterates, simulate

__all__ = ["epoch_matrix", "iterates", "simulate"]
