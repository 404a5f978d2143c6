"""Packages that a small installation lacks, and the extras of ``pip install 'edgelaw[...]'`` that bring them."""

import contextlib
import importlib.util
from collections.abc import Iterator

#: The extra of pyproject.toml that brings a package.
EXTRAS = {
    "numba": "fast",
    "matplotlib": "plots",
    "mpmath": "precise",
    **dict.fromkeys(("rich", "jinja2"), "cli"),
    "torch": "torch",
    "pyarrow": "parquet",
    **dict.fromkeys(("dask", "distributed"), "dask"),
}


def sentence(package: str) -> str:
    """What to say where a package is missing.

    >>> sentence("matplotlib")
    "matplotlib is not installed: pip install 'edgelaw[plots]'."
    """
    return f"{package} is not installed: pip install 'edgelaw[{EXTRAS[package]}]'."


def missing(error: BaseException) -> str | None:
    """The optional package whose absence an error tells of, if it is that.

    >>> missing(ModuleNotFoundError("No module named 'rich.table'", name="rich.table"))
    'rich'
    """
    package = (getattr(error, "name", None) or "").split(".")[0]
    return package if isinstance(error, ImportError) and package in EXTRAS else None


@contextlib.contextmanager
def named() -> Iterator[None]:
    """Within this context, the import of a package that is missing says which extra brings it."""
    try:
        yield
    except ImportError as error:
        package = missing(error)
        if package is None:
            raise
        raise ModuleNotFoundError(sentence(package), name=package) from None


def installed(package: str) -> bool:
    """Whether a package can be imported."""
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):  # kept out, or put aside in sys.modules
        return False
