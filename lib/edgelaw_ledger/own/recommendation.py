"""Checks of the recommendation: each number in the printed sentences against the forecast's losses, and drawn ones."""

import functools
import re

import numpy as np

from edgelaw import data, exact
from edgelaw_app import forecast as app
from edgelaw_app.forecast.ranking import in_words, ranked
from edgelaw_ledger.evidence import Evidence, compared, true

NAMES = {
    "sampling with replacement": "iid",
    "random reshuffle": "random_reshuffle",
    "single shuffle": "single_shuffle",
    "flip-flop": "flip_flop",
}
ORDER = "|".join(NAMES)
NUMBER = r"(\d[\d.]*(?:e[-+]\d+)?)"
USE = re.compile(rf"^Use ({ORDER}) \(.*?\) with lr = {NUMBER}.*?, batch (\d+), (\d+) epochs?\.")
LEAVES = re.compile(rf"(?:It leaves|Expect a \S+ loss of) {NUMBER}")
BEHIND = re.compile(
    rf"({ORDER}) leaves (?:{NUMBER} ± {NUMBER} % more|{NUMBER} times as much \(± {NUMBER} %\))"
)
TIED = re.compile(rf"((?:{ORDER})(?:(?:, | and )(?:{ORDER}))*) (?:is|are) tied with it")
UNDECIDED = re.compile(
    rf"against ((?:{ORDER})(?:(?:, | and )(?:{ORDER}))*) it is undecided \(.*?± (\d+) % only\)"
)
TARGET, OPERATIONS = 0.3, 4e9


@functools.cache
def _forecasts():
    """Forecasts of small designs, without labels and with them: Gaussian rows and embeddings, m/d = 1/2, 1 and 4."""
    images, text = data.cifar10(), data.wikipedia()
    rows = (
        (data.gaussian(40, 40, rng=0), {"epochs": 10}),
        (data.gaussian(24, 48, rng=1), {"epochs": 10}),
        (data.gaussian(120, 30, rng=2), {"epochs": 10}),
        (data.gaussian(40, 40, rng=1), {"epochs": 5, "target": TARGET / 100}),
        (data.gaussian(40, 40, rng=2), {"epochs": 3, "batch": 4}),
        (images.features[:64, :64], {"epochs": 10, "target": TARGET}),
        (text.features[:120, :30], {"epochs": 4, "target": TARGET}),
        (data.gaussian(40, 40, rng=2), {"epochs": 3, "orders": ["flip_flop"]}),
    )
    labelled = (
        (images.features[:400, :40], images.labels[:400], {"epochs": 8}),
        (text.features[:400, :60], text.labels[:400], {"epochs": 3, "batch": 8}),
    )
    made = [app.predict(X, operations=OPERATIONS, **settings) for X, settings in rows]
    return made + [app.probe(X, y, operations=OPERATIONS, **settings) for X, y, settings in labelled]


def _answers():
    """Pairs of a forecast and its printed sentences."""
    return [(one, " ".join(one.advice.sentences)) for one in _forecasts()]


def _rankings():
    """Losses with their relative errors, the order to take and the words, of the forecasts and of drawn losses."""
    for forecast, text in _answers():
        at = forecast.advice.time, forecast.advice.loss
        yield {order: one.at(*at) for order, one in forecast.orders.items()}, _used(text)[0], text.lower()
    rng = np.random.default_rng(0)
    for _ in range(200):
        pairs = zip(np.exp(rng.normal(0, 0.5, 4)), 10 ** rng.uniform(-3, -0.3, 4), strict=True)
        losses = dict(zip(NAMES.values(), pairs, strict=True))
        ranking = ranked(losses)
        yield losses, ranking.order, in_words(ranking, losses).lower()


def _used(text):
    """The order, the learning rate and the epochs of the first sentence, and the loss of the second."""
    match = USE.match(text)
    return NAMES[match[1]], match[2], int(match[4]), LEAVES.search(text)[1]


def _over(losses, one, other):
    """An order's loss over another's, its error, and whether it is above: by two standard errors and by 0.5 %."""
    (value, error), (lowest, own) = losses[one], losses[other]
    ratio, error = value / lowest, np.hypot(error, own)
    return ratio, ratio * error, bool(ratio >= 1.005 and np.log(ratio) > 2 * error)


def _named(pattern, text):
    """The orders in a list of names."""
    match = pattern.search(text)
    return {NAMES[name] for name in re.findall(ORDER, match[1])} if match else set()


def _same(printed, value):
    """Whether a number is what was printed of it, to three digits."""
    return abs(float(printed) / value - 1) < 5.1e-3


def _verdict(answers, what):
    """Evidence that all answers, at least one, are yes."""
    return compared(true(f"{len(answers)} answers: {what}", bool(answers) and all(answers)))


def order_is_lowest_or_tied() -> Evidence:
    """The order that is printed, and those that are tied or undecided with it and how well that is known."""
    answers, unsure = [], 0
    for losses, chosen, text in _rankings():
        ties, undecided = set(), {}
        for order in losses.keys() - {chosen}:
            _, error, above = _over(losses, order, chosen)
            if not above and error > 0.2:
                undecided[order] = 100 * error
            elif not above:
                ties.add(order)
        right = _named(TIED, text) == ties and _named(UNDECIDED, text) == undecided.keys()
        if undecided and (match := UNDECIDED.search(text)):
            right &= abs(float(match[2]) - max(undecided.values())) <= 0.51
        answers.append(right and not any(_over(losses, chosen, order)[2] for order in losses))
        unsure += bool(undecided)
    return _verdict(
        answers, f"the lowest order or one level with it, and all that are level; {unsure} times undecided"
    )


def margins_are_those_of_the_losses() -> Evidence:
    """Every order that is printed as behind, and by how much, against the losses."""
    answers = []
    for losses, chosen, text in _rankings():
        behind = {NAMES[match[1]]: match for match in BEHIND.finditer(text)}
        right = behind.keys() == {order for order in losses if _over(losses, order, chosen)[2]}
        for order, match in behind.items():
            ratio, error, _ = _over(losses, order, chosen)
            if match[2]:
                right &= abs(float(match[2]) - 100 * (ratio - 1)) <= 0.51
                right &= abs(float(match[3]) - max(100 * error, 1)) <= 0.51
            else:
                right &= _same(match[4], ratio) and abs(float(match[5]) - max(100 * error / ratio, 1)) <= 0.51
        answers.append(bool(right))
    return _verdict(answers, "each order that is behind, by what its loss is above that of the order to take")


def lr_and_loss_are_those_of_the_order() -> Evidence:
    """The learning rate, the epochs and the loss that are printed against the order's, and the rate's step."""
    answers = []
    for forecast, text in _answers():
        (order, lr, epochs, loss), advice = _used(text), forecast.advice
        one, time = forecast.orders[order], float(epochs) if forecast.labels else forecast.advice.time
        right = _same(lr, one.lr) and epochs == advice.epochs == np.ceil(time)
        right &= _same(loss, one.at(time, advice.loss)[0])
        if forecast.labels is None:  # rows of norm √d: lr is step/(2d) for one output
            right &= abs(one.lr * 2 * forecast.shape[1] / one.step - 1) < 1e-9
        answers.append(bool(right))
    return _verdict(answers, "the learning rate, the epochs and the loss of the order to take")


def each_at_its_best() -> Evidence:
    """The loss of each order without labels, compared at the end, against exact curves on a grid of learning rates."""
    answers = []
    for forecast in _forecasts():
        if forecast.labels is not None or any(one.how != "theory" for one in forecast.orders.values()):
            continue
        advice, values = forecast.advice, forecast.eigenvalues
        kind = {"parameter error": "test", "training loss": "train"}[advice.loss]
        rho = forecast.shape[0] / forecast.shape[1]
        for order, one in forecast.orders.items():
            limit = exact.stability(order, values, rho, batch=advice.batch)
            grid = [
                getattr(exact.curve(order, values, [int(advice.time)], step, rho, batch=advice.batch), kind)[
                    -1
                ]
                for step in 0.9 * limit * np.array([0.05, 0.15, 0.3, 0.5, 0.65, 0.8, 0.9, 1.0])
            ]
            answers.append(bool(one.at(advice.time, advice.loss)[0] < 1.005 * min(grid)))
    return _verdict(answers, "no other learning rate leaves half a per cent less")


def target_is_reached_by_then() -> Evidence:
    """Whether a target is said to be reached after the printed epochs, against the loss of the order to take then."""
    answers = []
    for forecast, text in _answers():
        if forecast.target is None:
            continue
        order, _, epochs, _ = _used(text)
        value, _ = forecast.orders[order].at(epochs, forecast.advice.loss)
        printed = re.search(rf"The target {forecast.target:g} is (reached|not reached) by then", text)
        answers.append(printed is not None and (printed[1] == "reached") == (value <= forecast.target))
    return _verdict(answers, "reached where, and only where, the loss is at the target or below")
