"""A reader's own files as designs: opened without reading, prepared when rows are asked for, in blocks.

:func:`open_matrix` opens a file (or many, as one), :func:`design` says what is done to its rows. What cannot be used is
refused as one :class:`InputError`, a sentence that says what is wrong and where.
"""

from edgelaw_app.files.designs import Design, design
from edgelaw_app.files.errors import InputError, named_errors
from edgelaw_app.files.label_files import Pair, label_place, read_pair
from edgelaw_app.files.opening import FORMATS, open_matrix
from edgelaw_app.files.source import Source
from edgelaw_app.files.survey import Scales

__all__ = [
    "FORMATS",
    "Design",
    "InputError",
    "Pair",
    "Scales",
    "Source",
    "design",
    "label_place",
    "named_errors",
    "open_matrix",
    "read_pair",
]
