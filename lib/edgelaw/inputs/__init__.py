"""A reader's own files as designs: opened without reading, prepared when rows are asked for, in blocks."""

from edgelaw.inputs.designs import Design, InputError, Source, design, load_embeddings, open_matrix

__all__ = ["Design", "InputError", "Source", "design", "load_embeddings", "open_matrix"]
