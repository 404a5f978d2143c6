"""Where machine code is kept: a file of its own for every function, signature and processor, written whole.

The compiler's own cache has one index per function and numbers its files. Two processes that compile at once may take
one number for different code, and the index then names the wrong one. Here the name of a file follows from what is in
it, so that there is nothing to agree on. A file that is damaged, or that another version or another source has left, is
as good as none; a folder that can no longer be written keeps nothing. Neither is an error.

This module imports the compiler: whoever compiles imports it.
"""

import contextlib
import hashlib
import pickle
from typing import Any

from numba.core import caching
from numba.core.runtime import rtsys


class CodeFiles(caching.IndexDataCacheFile):
    """The files of one function: no index, and names that follow from the key."""

    def save(self, key: Any, data: Any) -> None:
        """Keep what was compiled, if it can be written."""
        record = pickle.dumps((self._version, self._source_stamp, repr(key), self._dump(data)))
        with contextlib.suppress(OSError), self._open_for_write(self._path(key)) as file:
            file.write(record)

    def load(self, key: Any) -> Any:
        """What was kept for this key, by this version, from this source; None without."""
        try:
            with open(self._path(key), "rb") as file:
                *origin, data = pickle.load(file)
            return pickle.loads(data) if origin == [self._version, self._source_stamp, repr(key)] else None
        except Exception:  # a damaged pickle may raise anything
            return None

    def _path(self, key: Any) -> str:
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:20]
        return str(self._data_path(self._index_name.removesuffix("nbi") + f"{digest}.nbc"))


class CodeCache(caching.FunctionCache):
    """The cache of one function compiled with these options; RuntimeError if no folder for it can be written."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        super().__init__(function)
        source = self._impl.locator.get_source_stamp()
        self._cache_file = CodeFiles(
            self._cache_path, self._impl.filename_base, (source, sorted(options.items()))
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """A compiled signature, or None.

        The compiler would first load all that it knows of Python, NumPy and SciPy. Code that is ready needs only the
        allocator of its arrays; the compiler loads the rest by itself as soon as something is compiled. (Hash functions
        and parallel loops would need more; nothing here has them.)
        """
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled signature; a folder that has gone and cannot be made again keeps nothing."""
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)
