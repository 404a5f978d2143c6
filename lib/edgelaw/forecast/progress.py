"""Progress of a prediction, in units that are not all of one length, counted from several threads."""

import threading

from edgelaw._common.types import Progress


class ProgressCounter:
    """Counts units and reports them to a caller, if there is one."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self.total, self.done = progress, total, 0
        self._lock = threading.Lock()

    def report(self, what: str) -> None:
        """Say what is being done now."""
        self.advance(what, 0)

    def advance(self, what: str, units: int = 1) -> None:
        """So many units are done."""
        with self._lock:
            self.done = min(self.done + units, self.total)
            if self._progress is not None:
                self._progress(self.done, self.total, what)

    def finish(self) -> None:
        """All is done."""
        self.advance("done", self.total)


class Share:
    """A number of units of a counter, for a part whose length is not known before."""

    def __init__(self, counter: ProgressCounter, units: int, what: str) -> None:
        self._counter, self._left, self._what = counter, units, what

    def tick(self) -> None:
        """A step of the part is done; the last unit is kept for its end."""
        if self._left > 1:
            self._left -= 1
            self._counter.advance(self._what)

    def close(self) -> None:
        """The part is done."""
        self._counter.advance(self._what, self._left)
        self._left = 0
