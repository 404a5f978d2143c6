"""Learning curves of SGD at the left edge of the data's spectrum.

>>> import edgelaw
>>> rows = edgelaw.data.gaussian(64, 64, rng=0)  # or your own matrix, one sample per row
>>> edgelaw.predict(rows, epochs=10, search=False).advice.order
'single_shuffle'

One idea per room: ``data`` makes or loads a design, ``spectrum`` measures its eigenvalues, ``orders`` and
``kaczmarz`` run SGD on it, ``theory`` says what must come out, ``predict`` puts them together for a reader's
own matrix; it is a module and can be called. Rooms are loaded when they are first used. Nothing prints, nothing
keeps global state, and every random number comes from an ``rng``.
"""

import os
from typing import TYPE_CHECKING

# Earlier public names of modules that have moved to a room; they keep working (``import edgelaw.embeddings``).
__path__.append(os.path.join(os.path.dirname(__file__), "_aliases"))

#: Rooms that are loaded when they are asked for as ``edgelaw.<name>``.
_ROOMS = (
    "curves",
    "data",
    "exact",
    "inputs",
    "kaczmarz",
    "labels",
    "laws",
    "orders",
    "plots",
    "predict",
    "probe",
    "samplers",
    "spectrum",
    "theory",
)

if TYPE_CHECKING:
    from edgelaw import curves as curves
    from edgelaw import data as data
    from edgelaw import exact as exact
    from edgelaw import inputs as inputs
    from edgelaw import kaczmarz as kaczmarz
    from edgelaw import labels as labels
    from edgelaw import laws as laws
    from edgelaw import orders as orders
    from edgelaw import plots as plots
    from edgelaw import probe as probe
    from edgelaw import samplers as samplers
    from edgelaw import spectrum as spectrum
    from edgelaw import theory as theory
    from edgelaw.predict import CallableModule

    predict: CallableModule
    __version__: str
else:

    def __getattr__(name):
        """The version and the rooms, looked up when they are asked for, so that the package itself loads at once."""
        if name == "__version__":
            from edgelaw._common.project import version

            return version()
        if name in _ROOMS:
            from importlib import import_module

            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *_ROOMS, "__version__"})
