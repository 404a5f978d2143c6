"""What the package says of itself: version and address, as installed or from the source tree it lies in."""

import functools
import importlib.metadata
from pathlib import Path
from typing import Any

NAME = "edgelaw"
UNKNOWN = "0+unknown"  # of a copy that is neither installed nor in its source tree


@functools.cache
def _source_tree() -> dict[str, Any]:
    """The table ``project`` of the pyproject.toml that this file's source tree has; empty without."""
    import tomllib

    try:
        text = (Path(__file__).resolve().parents[3] / "pyproject.toml").read_text(encoding="utf-8")
        project = tomllib.loads(text).get("project", {})
    except (OSError, ValueError, IndexError):
        return {}
    return project if project.get("name") == NAME else {}


def _installed() -> importlib.metadata.PackageMetadata | None:
    try:
        return importlib.metadata.metadata(NAME)
    except importlib.metadata.PackageNotFoundError:
        return None


def version() -> str:
    """The version of the package: the installed one's, else the source tree's."""
    installed = _installed()
    return installed["Version"] if installed else str(_source_tree().get("version", UNKNOWN))


def address() -> str:
    """Where the repository is, or words for it."""
    installed = _installed()
    pairs = _source_tree().get("urls", {}).items()
    links = installed.get_all("Project-URL") or [] if installed else [", ".join(pair) for pair in pairs]
    return next((link.split(", ")[1] for link in links if link.startswith("Repository, ")), "its repository")
