"""Progress of a prediction, in units that are not all of one length."""

from edgelaw._common.types import Progress


class ProgressCounter:
    """Counts units and reports them to a caller, if there is one."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self.total, self.done = progress, total, 0

    def report(self, what: str) -> None:
        """Say what is being done now."""
        if self._progress is not None:
            self._progress(self.done, self.total, what)

    def advance(self, what: str, most: int | None = None) -> None:
        """One unit is done, but never more than `most`."""
        self.done = min(self.done + 1, self.total if most is None else most)
        self.report(what)

    def jump(self, done: int) -> None:
        """So many units are done, whatever was counted."""
        self.done = max(self.done, min(done, self.total))

    def finish(self) -> None:
        """All is done."""
        self.done = self.total
        self.report("done")
