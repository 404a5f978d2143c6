"""PyTorch: samplers in every order, linear probes, a small Transformer.

Importing this package loads nothing: its modules import torch, and are loaded when they are asked for.

>>> from edgelaw_app.training.samplers import SingleShuffle
>>> list(SingleShuffle(range(4), seed=0)) == list(SingleShuffle(range(4), seed=0))
True
"""

from typing import TYPE_CHECKING

#: What is loaded when it is asked for as ``edgelaw_app.training.<name>``.
_ROOMS = ("probe", "samplers", "study", "transformer")

if TYPE_CHECKING:
    from edgelaw_app.training import probe as probe
    from edgelaw_app.training import samplers as samplers
    from edgelaw_app.training import study as study
    from edgelaw_app.training import transformer as transformer
else:

    def __getattr__(name):
        if name in _ROOMS:
            from importlib import import_module

            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *_ROOMS})
