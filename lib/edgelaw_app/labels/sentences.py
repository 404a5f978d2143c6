"""The answer in plain sentences."""

from __future__ import annotations

import dataclasses

import numpy as np

from edgelaw_app.labels.cautions import DISAGREE
from edgelaw_app.labels.results import Caution, ProbeForecast

ORDER_WORDS = {
    "iid": "rows drawn with replacement",
    "random_reshuffle": "shuffled anew every epoch",
    "single_shuffle": "shuffled once",
    "flip_flop": "shuffled once, forwards and backwards in turn",
}
LISTED = 30  # learning rates that are listed one by one
BETTER = 0.01  # relative: what counts as a difference


def with_sentences(made: ProbeForecast, cautions: tuple[Caution, ...], best_constant: float) -> ProbeForecast:
    """The same forecast with its cautions and sentences."""
    words = {
        "advice": _advice(made, best_constant),
        "loss": _loss(made),
        "accuracy": _accuracy(made),
        "closed_form": _closed_form(made),
        "schedule": _schedule(made),
        "rates": _rates(made),
        "judged": _judged(made, best_constant),
        "check": _check(made, cautions),
    }
    return dataclasses.replace(made, cautions=cautions, sentences=words)


def rounded(value: float) -> str:
    """Three digits as a reader would type them.

    >>> rounded(0.00021234), rounded(0.123456), rounded(1234.5)
    ('0.000212', '0.123', '1230')
    """
    text = f"{float(f'{value:.3g}'):.10f}".rstrip("0").rstrip(".") if 1e-4 <= value < 1e7 else f"{value:.3g}"
    return text or "0"


def _advice(made: ProbeForecast, best_constant: float) -> str:
    """What to train with; settings that the best constant learning rate beats are described, not recommended."""
    if made.enough == 0 and made.loss.min() < made.loss[0]:
        return (
            f"At lr = {rounded(made.lr)} this probe hardly learns: no epoch of {made.epochs} has a loss more than "
            f"{100 * BETTER:.0f} % below that of zero weights."
        )
    if made.enough == 0:
        return (
            f"At lr = {rounded(made.lr)} this probe learns nothing that helps on the rows that judge it: zero weights "
            "have the smallest loss."
        )
    epochs = f"about {made.enough} epoch{'s' * (made.enough != 1)}"
    if made.enough == made.epochs:
        epochs = f"all {made.epochs} epochs" if made.epochs > 1 else "one epoch"
    rate = f"lr = {rounded(made.lr)}" + ("" if made.schedule == "constant" else f", {_shape(made)}")
    head = f"At {rate}, use" if _worse(made, best_constant) else f"For your probe use {rate},"
    return f"{head} batch {made.batch}, {ORDER_WORDS[made.order]}, {epochs}."


def _worse(made: ProbeForecast, best_constant: float) -> bool:
    """Whether the learning rates are not the best constant one, and end above it."""
    other = made.schedule != "constant" or abs(made.lr / made.best_lr - 1) >= 1e-9
    return other and float(made.loss[-1]) > (1 + BETTER) * best_constant


def _shape(made: ProbeForecast) -> str:
    return {
        "best": "then by epoch as listed",
        "given": "then by epoch as given",
        "1/t": "divided by the epoch",
    }.get(made.schedule, f"{made.schedule} decay to zero")


def _loss(made: ProbeForecast) -> str:
    name = "training" if made.held_out is None else "held-out"
    part = f"{rounded(100 * made.relative_to_chance)} % of that of zero weights"
    return f"Expect a {name} loss of {rounded(float(made.loss[-1]))} after {made.epochs} epochs, {part}."


def _accuracy(made: ProbeForecast) -> str:
    one = made.accuracy
    if one is None:
        return ""
    return (
        f"The mean weights classify {100 * one.held_out:.1f} % of the held-out rows correctly (the largest class is "
        f"{100 * one.largest_class:.1f} %); half of the rows have a margin above {one.margin:.2g} between their own "
        "class and the next."
    )


def _closed_form(made: ProbeForecast) -> str:
    direct, end = made.closed_form, float(made.loss.min())
    if direct.ridge_held_out is None or direct.ridge is None:
        least = direct.least_squares_train
        return f"The least-squares solution, in closed form, has training loss {rounded(least)}."
    loss = direct.ridge_held_out
    ridge = (
        f"Ridge regression (penalty {rounded(direct.ridge)}) in closed form has held-out loss {rounded(loss)}"
    )
    if loss < (1 - BETTER) * end:
        return f"{ridge}, {100 * (1 - loss / end):.0f} % less: solve it directly unless you need SGD."
    if loss <= (1 + BETTER) * end:
        return f"{ridge}, as good and without a learning rate: solve it directly unless you need SGD."
    return f"{ridge}: here SGD, stopped early, is {100 * (1 - end / loss):.0f} % better than every ridge."


def _schedule(made: ProbeForecast) -> str:
    if made.gain is None:
        return ""
    if abs(made.gain) < 0.001:
        return f"The {made.schedule} schedule ends at the same loss as the best constant learning rate."
    word = "less" if made.gain > 0 else "more"
    return (
        f"The {made.schedule} schedule ends at {100 * abs(made.gain):.2g} % {word} loss than the best constant "
        "learning rate."
    )


def _rates(made: ProbeForecast) -> str:
    """The learning rate of every epoch, or of as many as fit, where it is not the same in all."""
    if made.schedule == "constant":
        return ""
    listed = ", ".join(rounded(float(rate)) if rate > 0 else "0" for rate in made.rates[:LISTED])
    rest = f", ... (`rates` has all {made.epochs:,})" if made.epochs > LISTED else ""
    return f"lr by epoch: {listed}{rest}."


def _check(made: ProbeForecast, cautions: tuple[Caution, ...]) -> str:
    """What is known about how far to believe the forecast, where no run contradicts it."""
    if any(caution.code == "disagreement" for caution in cautions):
        return ""
    if made.orders[made.order].how == "simulated":
        error = made.orders[made.order].error
        return (
            f"These losses are means over runs of SGD (standard error up to {100 * error:.2g} %), not theory."
        )
    if made.simulated is None:
        return "No run was made to compare with; --simulate or simulate=True makes some."
    gap, error = float(np.abs(made.simulated.loss / made.loss - 1).max()), made.simulated.error
    if gap > DISAGREE:
        return (
            f"Runs of SGD at these settings differ from the forecast by up to {100 * gap:.2g} %; their own standard "
            f"error is up to {100 * error:.2g} %, so that they neither confirm nor contradict it."
        )
    return (
        f"Runs of SGD at these settings, with a standard error of up to {100 * error:.2g} %, agree with the forecast "
        f"within {100 * gap:.2g} % at every epoch."
    )


def _judged(made: ProbeForecast, best_constant: float) -> str:
    """How a given learning rate compares with the best constant one."""
    if made.schedule != "constant" or abs(made.lr / made.best_lr - 1) < 1e-9:
        return ""
    more = float(made.loss[-1]) / best_constant - 1
    if more < BETTER:
        return f"That is as good as the best constant one, lr = {rounded(made.best_lr)}."
    return (
        f"That ends {100 * more:.0f} % above the best constant one, lr = {rounded(made.best_lr)}: use that."
    )
