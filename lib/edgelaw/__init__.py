"""Learning curves of SGD at the left edge of the data's spectrum.

>>> import edgelaw
>>> rows = edgelaw.data.gaussian(64, 64, rng=0)  # or your own matrix, one sample per row
>>> edgelaw.predict(rows, epochs=10).advice.order
'single_shuffle'

One idea per room: ``data`` makes or loads a design, ``spectrum`` measures its eigenvalues, ``orders`` and
``kaczmarz`` run SGD on it, ``theory`` and ``exact`` say what must come out, and the functions ``predict`` and ``probe``
put them together for a reader's own rows, with labels or without. Rooms are loaded when they are first used.
Nothing prints, nothing keeps global state, and every random number comes from an ``rng``.
"""

from typing import TYPE_CHECKING

#: Rooms that are loaded when they are asked for as ``edgelaw.<name>``.
_ROOMS = (
    "curves",
    "data",
    "exact",
    "kaczmarz",
    "laws",
    "orders",
    "plots",
    "spectrum",
    "theory",
)

if TYPE_CHECKING:
    from edgelaw import curves as curves
    from edgelaw import data as data
    from edgelaw import exact as exact
    from edgelaw import kaczmarz as kaczmarz
    from edgelaw import laws as laws
    from edgelaw import orders as orders
    from edgelaw import plots as plots
    from edgelaw import spectrum as spectrum
    from edgelaw import theory as theory
    from edgelaw_app.forecast import predict as predict
    from edgelaw_app.forecast import probe as probe

    __version__: str
else:

    def __getattr__(name):
        """The version, the rooms and the two forecasts, looked up when asked for: the package itself loads at once."""
        if name == "__version__":
            from edgelaw._common.project import version

            return version()
        if name in ("predict", "probe"):
            from edgelaw_app import forecast

            return getattr(forecast, name)
        if name in _ROOMS:
            from importlib import import_module

            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *_ROOMS, "__version__", "predict", "probe"})
