"""Learning curves of SGD at the left edge of the data's spectrum.

One idea per room: ``data`` makes or loads a design, ``spectrum`` measures its eigenvalues, ``orders`` and
``kaczmarz`` run SGD on it, ``theory`` says what must come out, ``predict`` puts them together for a reader's
own matrix. Nothing prints, nothing keeps global state, and every random number comes from an ``rng``.
"""

import os
from typing import TYPE_CHECKING

# Earlier public names of modules that have moved to a room; they keep working (``import edgelaw.embeddings``).
__path__.append(os.path.join(os.path.dirname(__file__), "_aliases"))

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name):
        """The version, looked up when it is asked for: reading a package's metadata takes longer than the rest."""
        if name == "__version__":
            from importlib.metadata import version

            return version("edgelaw")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
