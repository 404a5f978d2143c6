"""Writing a file whole or not at all."""

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator


def write(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write bytes or text (UTF-8) to a path: whole or not at all, and what was there before stays until then."""
    path = os.path.realpath(path)
    with _temporary(path) as (name, descriptor):
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            shutil.copymode(path, name)
        os.replace(name, path)


def ensure_writable(path: str | os.PathLike[str]) -> None:
    """Raise the OSError that :func:`write` would meet in this folder; nothing is left behind."""
    with _temporary(os.path.realpath(path)) as (_, descriptor):
        os.close(descriptor)


@contextlib.contextmanager
def _temporary(path: str) -> Iterator[tuple[str, int]]:
    """A new file in the same folder, with the permissions of any new file; removed unless it was renamed."""
    name = os.path.join(os.path.dirname(path), f".edgelaw-{secrets.token_hex(8)}.tmp")
    descriptor = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)
    try:
        yield name, descriptor
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
