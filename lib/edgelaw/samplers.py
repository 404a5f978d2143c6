"""The public name of ``edgelaw.training.samplers``: PyTorch samplers in every order."""

from edgelaw.training.samplers import (
    IID,
    LOSSES,
    BlockShuffle,
    FlipFlop,
    OrderSampler,
    RandomReshuffle,
    ShuffleBuffer,
    SingleShuffle,
    check_loader,
    learning_rate,
)

__all__ = [
    "IID",
    "LOSSES",
    "BlockShuffle",
    "FlipFlop",
    "OrderSampler",
    "RandomReshuffle",
    "ShuffleBuffer",
    "SingleShuffle",
    "check_loader",
    "learning_rate",
]
