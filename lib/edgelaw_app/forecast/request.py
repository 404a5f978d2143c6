"""What is asked of a forecast, and of every order in it: options, validated; and the progress that is reported."""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, Progress
from edgelaw.exact.labels import schedules
from edgelaw.orders import ORDERS
from edgelaw_app.forecast.runs import Budget

if TYPE_CHECKING:
    from edgelaw_app.forecast.runs import Problem

OPERATIONS = 2.5e10  # multiply-adds for running SGD: at most some ten seconds on one core
LARGEST_LR = 1e150
SCHEDULES = ("constant", "cosine", "linear")
HeldOut = float | tuple[ArrayLike, ArrayLike] | None


@dataclass(frozen=True)
class Training:
    """How SGD trains: but for the first two options of `predict` and `probe`."""

    epochs: int  #: the budget
    orders: tuple[str, ...]  #: among `edgelaw.orders.ORDERS`, each at its own best learning rate
    lr: float | None = None  #: to judge beside the best ones: for ``torch.optim.SGD`` and ``nn.MSELoss()``
    batch: int = 1  #: rows per update, averaged as PyTorch does; an epoch is all rows whatever the batch
    target: float | None = None  #: of `predict`: a loss in (0, 1) to be reached as soon as possible
    schedule: str = "constant"  #: of `probe`: how lr changes from epoch to epoch, or "cosine" or "linear"
    weight_decay: float = 0.0  #: of `probe`, as of ``torch.optim.SGD``; orders but IID are run with it
    operations: float = OPERATIONS  #: multiply-adds that running SGD may take, on any machine

    def __post_init__(self) -> None:
        names = [self.orders] if isinstance(self.orders, str) else self.orders
        checked: dict[str, Any] = {
            "orders": tuple(arguments.choice(name, "orders", ORDERS) for name in dict.fromkeys(names)),
            "epochs": arguments.whole(self.epochs, "epochs", 1),
            "batch": arguments.whole(self.batch, "batch", 1),
            "operations": arguments.number(self.operations, "operations", 0),
        }
        if not checked["orders"]:
            raise ValueError("orders must name at least one order.")
        arguments.choice(self.schedule, "schedule", SCHEDULES)
        for name, limit, unset in (
            ("lr", LARGEST_LR, None),
            ("target", 1, None),
            ("weight_decay", np.inf, 0),
        ):
            if getattr(self, name) != unset:
                checked[name] = arguments.number(getattr(self, name), name, 0, limit)
        for name, value in checked.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class Preparation:
    """How rows are prepared: options of `probe`, and `center` and `standardize` of `predict`, too."""

    #: rows to test on, and to choose lr by, as a sweep does: a fraction drawn at random from X (of classes as much
    #: from each), a pair (X, y), or None; then the training loss decides
    held_out: HeldOut = 0.2
    center: bool = True  #: subtract the (training) rows' mean, in embeddings most of every row and no feature
    standardize: bool = False  #: divide columns by their standard deviation
    normalize: bool = False  #: scale every row to norm √d; `predict` always does
    #: subtract the mean target, the least-squares intercept of centred features whatever the weights; for others a
    #: constant column of ones is trained with the rest
    intercept: bool = True
    classes: bool | None = None  #: whether labels are classes, where their type does not say it


def asked(
    epochs: int, orders: Iterable[str], options: Mapping[str, Any], without: tuple[str, ...]
) -> tuple[Training, Preparation]:
    """Options of a forecast that has all of them but some; one that is not known is refused with those that are."""
    of_rows = [one.name for one in fields(Preparation)]
    known = [one.name for one in fields(Training)[2:]] + of_rows
    known = [name for name in known if name not in without]
    for name in options:
        if name not in known:
            raise TypeError(f"There is no option {name!r}: the options are {', '.join(known)}.")
    training = {name: value for name, value in options.items() if name not in of_rows}
    rows = {name: value for name, value in options.items() if name in of_rows}
    return Training(epochs, orders, **training), Preparation(**rows)  # type: ignore[arg-type]


class ProgressCounter:
    """Counts stages, which are not all of one length, from several threads, and reports them to a caller, if any."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self.total, self.done = progress, total, 0
        self._lock = threading.Lock()

    def __call__(self, what: str, stages: int = 1) -> None:
        """So many stages are done, and this is being done now."""
        with self._lock:
            self.done = min(self.done + stages, self.total)
            if self._progress is not None:
                self._progress(self.done, self.total, what)


@dataclass
class Question:
    """What is asked of every order, and what running SGD for it has taken."""

    problem: "Problem"
    request: Training
    loss: int  # the place of the deciding one among the problem's
    horizon: float  # when it is to be the smallest: earlier once it is known that a target is reached before
    times: Array  # recorded
    seed: int  # of the runs of a search, the same at every step
    tell: Callable[[str], None]
    budget: Budget = field(init=False)
    runs_on: "tuple[Problem, float] | None" = None  # all rows or a part, and what may be spent on each order

    def __post_init__(self) -> None:
        self.budget = Budget(self.request.operations)

    @property
    def decides(self) -> str:
        """The name of the deciding loss."""
        return self.problem.losses[self.loss]

    def steps(self, step: float) -> Array:
        """A step for every epoch."""
        return step * schedules.profile(self.request.schedule, self.request.epochs)
