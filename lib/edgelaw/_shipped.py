"""Where the files are that travel with the package."""

from importlib import resources
from pathlib import Path


def folder():
    """Where the data is: in a checkout the repository's ``data``, in an installed package its ``_data``."""
    checkout = Path(__file__).resolve().parents[2]
    if (checkout / "pyproject.toml").is_file() and (checkout / "data").is_dir():
        return checkout / "data"
    return Path(str(resources.files("edgelaw") / "_data"))
