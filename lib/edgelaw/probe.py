"""The public name of :mod:`edgelaw.training.probe`: linear probes on frozen features, trained by PyTorch."""

from edgelaw.training.probe import (
    Probe,
    measure,
    optimum,
    split,
    train,
    train_one,
)

__all__ = [
    "Probe",
    "measure",
    "optimum",
    "split",
    "train",
    "train_one",
]
