"""Earlier public names of modules that have moved to a room: each file here is importable as ``edgelaw.<its name>``."""
