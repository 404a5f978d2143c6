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
    """How SGD trains: but for the first two options of `predict` and `probe`.

    Attributes
    ----------
    epochs : int
        The budget.
    orders : iterable of str
        Among `edgelaw.orders.ORDERS`, each at its own best learning rate.
    lr : float, optional
        A learning rate to judge beside the best ones: for ``torch.optim.SGD`` and ``nn.MSELoss()``.
    batch : int
        Rows per update, averaged as PyTorch's mean losses do; an epoch is all rows whatever the batch.
    target : float, optional
        Of `predict`: a loss in (0, 1) to be reached as soon as possible.
    schedule : {"constant", "cosine", "linear"}
        Of `probe`: how lr changes from epoch to epoch.
    weight_decay : float
        Of `probe`, as of ``torch.optim.SGD``. IID's theory has it exactly; the other orders are run.
    operations : float
        Multiply-adds that running SGD may take. Nothing depends on how fast the machine is, or on its cores.
    """

    epochs: int
    orders: tuple[str, ...]
    lr: float | None = None
    batch: int = 1
    target: float | None = None
    schedule: str = "constant"
    weight_decay: float = 0.0
    operations: float = OPERATIONS

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
        for name, limit in (("lr", LARGEST_LR), ("target", 1), ("weight_decay", np.inf)):
            if getattr(self, name):
                checked[name] = arguments.number(getattr(self, name), name, 0, limit)
        for name, value in checked.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class Preparation:
    """How rows are prepared: options of `probe`, and `center` and `standardize` of `predict`, too.

    Attributes
    ----------
    held_out : float, pair (X, y), or None
        Rows to test on: a fraction drawn at random from X (of classes as much from each), others, or none; then the
        training loss decides. The learning rate is chosen on them, as by a sweep.
    center : bool
        Whether to subtract the (training) rows' mean, which in embeddings is most of every row and no feature.
    standardize : bool
        Whether to divide columns by their standard deviation.
    normalize : bool
        Whether to scale every row to norm √d; `predict` always does.
    intercept : bool
        For centred features the mean target is subtracted: it is the least-squares intercept whatever the weights.
        For others a constant column of ones is trained with the rest.
    classes : bool, optional
        Whether labels are classes, where their type does not say it.
    """

    held_out: HeldOut = 0.2
    center: bool = True
    standardize: bool = False
    normalize: bool = False
    intercept: bool = True
    classes: bool | None = None


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
