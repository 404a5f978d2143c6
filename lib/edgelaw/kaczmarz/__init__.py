"""The simulator: SGD on least squares row by row, at the speed of matrix products."""

from edgelaw.curves import LearningCurve
from edgelaw.kaczmarz.moments import SignalAndNoise, signal_and_noise
from edgelaw.kaczmarz.problem import Problem
from edgelaw.kaczmarz.simulation import by_run, epoch_matrix, iterates, simulate

__all__ = [
    "LearningCurve",
    "Problem",
    "SignalAndNoise",
    "by_run",
    "epoch_matrix",
    "iterates",
    "signal_and_noise",
    "simulate",
]
