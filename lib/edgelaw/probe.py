"""The public name of ``edgelaw.training.probe``: linear probes on frozen features, trained by PyTorch."""

from edgelaw.training.probe import (
    DECAY,
    LOSSES,
    MOMENTUM,
    OPTIMISERS,
    FittedProbe,
    Probe,
    fit,
    measure,
    optimum,
    split,
    train,
    train_one,
)

__all__ = [
    "DECAY",
    "LOSSES",
    "MOMENTUM",
    "OPTIMISERS",
    "FittedProbe",
    "Probe",
    "fit",
    "measure",
    "optimum",
    "split",
    "train",
    "train_one",
]
