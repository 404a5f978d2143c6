"""What a batch size means on a design: the learning rate to set, the critical batch size, what batches cost."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgelaw._common.types import Array
from edgelaw.exact.batches.limits import critical_batch
from edgelaw_app.forecast.advice import WORDS
from edgelaw_app.forecast.best_steps import BestStep, best_steps
from edgelaw_app.forecast.exact_curves import exact_curve
from edgelaw_app.learning_rate import learning_rate

if TYPE_CHECKING:
    from edgelaw_app.forecast.one_order import Search, Setting
    from edgelaw_app.forecast.results import Advice, Forecast


@dataclass(frozen=True)
class Batching:
    """What is known about a batch size beside the curves.

    Attributes
    ----------
    size : int
        Rows per update.
    critical : float
        The critical batch size: d over the largest eigenvalue of XᵀX/m in units of the mean one. Up to about that
        many rows a batch takes the place of as many single updates; beyond, the largest direction limits the step.
    limits : dict
        The largest stable step of each order.
    learning_rate : float
        ``lr`` of `torch.optim.SGD` for the recommended step, with ``MSELoss()``, one output and rows of norm √d.
    single_rows : float or None
        What the recommended order leaves of the loss at its best step where every update takes one row; None where
        best steps were not searched for.
    cost : float or None
        What it leaves with these batches at their best step, over `single_rows`.
    shuffle : float or None
        What sampling with replacement leaves at its own best step, over the recommended order; None without both.
    text : str
        A few sentences.
    """

    size: int
    critical: float
    limits: dict[str, float]
    learning_rate: float
    single_rows: float | None
    cost: float | None
    shuffle: float | None
    text: str


def batching(
    setting: "Setting",
    advice: "Advice",
    forecasts: "dict[str, Forecast]",
    searches: "dict[str, Search | None]",
) -> Batching:
    """The facts on the batch size of a forecast whose advice is known."""
    order, size = advice.order, setting.request.batch
    critical = critical_batch(setting.eigenvalues)
    rate = learning_rate(advice.step, setting.shape[1])
    search = searches[order]
    loss = "train" if (setting.eigenvalues == 0).mean() > 0.5 * forecasts[order].curve.test[-1] else "test"
    alone = cost = shuffle = None
    if search is not None:
        own = search.best[loss].loss
        single = _single_rows(setting, order, search.time)[loss]
        alone, cost = single.loss, own / single.loss
        iid = searches.get("iid")
        if iid is not None and order != "iid" and iid.time == search.time:
            shuffle = iid.best[loss].loss / own
    facts = Batching(size, critical, dict(setting.limits), rate, alone, cost, shuffle, "")
    return Batching(**{**vars(facts), "text": _in_words(facts, setting, advice, search)})


def _single_rows(setting: "Setting", order: str, time: float) -> dict[str, BestStep]:
    """The best steps of an order for each loss where every update takes one row."""

    def losses_at(step: float) -> Array:
        curve = exact_curve(order, setting.eigenvalues, [time], step, setting.rho, checked=False)
        return np.array([curve.test[-1], curve.train[-1]])

    return best_steps(losses_at, {})


def _in_words(facts: Batching, setting: "Setting", advice: "Advice", search: "Search | None") -> str:
    d, name = setting.shape[1], WORDS[advice.order]
    sentences = [
        f"Batches of {facts.size:,} rows, averaged: step {advice.step:.4g} of {name} is lr = {facts.learning_rate:.3g} "
        f"in torch.optim.SGD, for MSELoss() with one output and rows of norm √{d}; stable steps end at "
        f"{facts.limits[advice.order]:.3g}.",
        "The critical batch size of these rows, dimensions over the largest eigenvalue, is about "
        f"{facts.critical:.2g}.",
    ]
    if search is not None and facts.cost is not None:
        if facts.cost < 1.02:
            cost = "no more than single rows do"
        else:
            cost = f"{facts.cost:.3g} times what single rows leave at theirs"
        epochs = f"{search.time:g} epoch{'s' if search.time != 1 else ''}"
        sentences.append(f"At its best step {name} leaves {cost}, after {epochs}.")
    if facts.shuffle is not None:
        gain = 100 * (facts.shuffle - 1)
        worth = f"{gain:.0f} %" if gain < 100 else f"a factor of {facts.shuffle:.3g}"
        sentences.append(
            f"The shuffle is worth {worth}: sampling with replacement, at its own best step, leaves that much more."
            if gain >= 1
            else "The shuffle is worth less than 1 % at this batch size."
        )
    return " ".join(sentences)
