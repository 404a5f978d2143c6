"""Checks of the command line's recommendation: what it prints is what the curves of the forecast say.

Small designs of several kinds and aspect ratios are forecast once; each check reads the printed sentences, by regular
expressions of its own, and compares every order, loss, step and percentage in them with the curves.
"""

import functools
import re

import numpy as np

from edgelaw import data, exact
from edgelaw_app.forecast import advice, best_steps, predict
from edgelaw_ledger.evidence import Evidence, decide

NAMES = {words: order for order, words in advice.WORDS.items()}
NUMBER = r"(\d[\d.]*(?:e[-+]\d+)?)"
LOSS = rf"(.*?),? the (test|training) loss is {NUMBER}"
WINNER = re.compile(rf"^(.+?) at step {NUMBER}: {LOSS}, and that of (.+)$")
TIED = re.compile(rf"^(.+?) are tied\. {LOSS}, the others (.+?)(?:; that of (.+))?$")
ONLY = re.compile(rf"^Only (.+?) was asked for; {LOSS}$")
FREE = re.compile(rf"(.+?) at {NUMBER} leaves {NUMBER}(?: \((.*)\))?$")
BEHIND = re.compile(
    rf"(?:of )?([a-z-]+(?: [a-z]+)*?)(?: is)? {NUMBER} (?:± (\d+) % higher|times as high \(± (\d+) %\))"
)
ACCURACY = {"test": 0.01, "train": 0.03}  # of exact curves, as the documentation of the forecast states it


@functools.cache
def _forecasts():
    """Forecasts of small designs: Gaussian rows and embeddings, m/d = 1/2, 1 and 4."""
    images, text = data.cifar10().features, data.wikipedia().features
    cases = (
        (data.gaussian(40, 40, rng=0), {"epochs": 10}),
        (data.gaussian(24, 48, rng=1), {"epochs": 10}),
        (data.gaussian(120, 30, rng=2), {"epochs": 10}),
        (data.gaussian(40, 40, rng=2), {"epochs": 3, "step": 0.05}),
        (images[:64, :64], {"epochs": 10, "search": True}),
        (images[:32, :64], {"epochs": 10, "step": 1.5}),
        (text[:120, :30], {"epochs": 4}),
        (data.gaussian(40, 40, rng=2), {"epochs": 3, "orders": ["flip_flop"]}),
    )
    return [predict(X, **{"search": False, "simulate": False, **settings}) for X, settings in cases]


def _reasons():
    """Pairs of a forecast and its printed sentences, without the one on a free step."""
    return [
        (one, one.advice.reason.split("; free to choose the step, ")[0].removesuffix("."))
        for one in _forecasts()
    ]


def _losses(forecast, words):
    """The losses of all orders at the moment of the recommendation, and their relative errors."""
    kind = {"test": "test", "training": "train"}[words]
    values, errors = {}, {}
    for order, one in forecast.forecasts.items():
        place = int(np.flatnonzero(one.curve.epochs == forecast.advice.time)[0])
        values[order] = float(getattr(one.curve, kind)[place])
        errors[order] = ACCURACY[kind] * max(1.0, np.log(values[order]) / np.log(1e-3))
    return values, errors


def _tied(values, errors):
    """The orders that are within two standard errors of the lowest, at most five times as high, or within 0.5 %."""
    lowest = min(values, key=values.__getitem__)
    tied = {lowest}
    for order, value in values.items():
        ratio = value / values[lowest]
        error = np.hypot(errors[order], errors[lowest])
        if ratio < 1.005 or (ratio - 1 <= 2 * ratio * error and ratio <= 5):
            tied.add(order)
    return tied


def _same(printed, value):
    """Whether a number is what was printed of it, to three digits."""
    return abs(float(printed) / value - 1) < 5.1e-3


def _gap_is_right(match, ratio, error):
    """Whether "10 ± 2 % higher" or "3 times as high (± 5 %)" is what a ratio and its relative error round to."""
    if match[3]:
        size, spread = abs(float(match[2]) - 100 * (ratio - 1)) <= 0.51, 100 * ratio * error
    else:
        size, spread = _same(match[2], ratio), 100 * error
    return size and abs(int(match[3] or match[4]) - max(spread, 1)) <= 0.51


def _gaps_are_right(text, values, errors, tied):
    """Whether the nearest and the last of the other orders are named, each with its distance from the lowest."""
    lowest, behind = min(values, key=values.__getitem__), {o: v for o, v in values.items() if o not in tied}
    if not behind or text is None:
        return text is None and not behind
    ends = [min(behind, key=behind.__getitem__), max(behind, key=behind.__getitem__)]
    named = {NAMES[match[1]]: match for match in BEHIND.finditer(text)}
    return list(named) == list(dict.fromkeys(ends)) and all(
        _gap_is_right(match, values[name] / values[lowest], np.hypot(errors[name], errors[lowest]))
        for name, match in named.items()
    )


def _verdict(answers, what):
    """Evidence that all answers, at least one, are yes."""
    return decide(
        bool(answers) and all(answers),
        measured=f"{sum(answers)} of {len(answers)} recommendations of this form on {len(_forecasts())} designs are "
        "what the curves say",
        claimed=what,
        tolerance="printed digits; orders within two standard errors, or half a per cent, are tied",
    )


def winner_is_lowest() -> Evidence:
    """The order, step, loss and distances that are printed for a clear winner against the curves of the forecast."""
    answers = []
    for forecast, text in _reasons():
        match = WINNER.match(text)
        if match:
            values, errors = _losses(forecast, match[4])
            order, tied = NAMES[match[1].lower()], _tied(values, errors)
            right = tied == {order} == {min(values, key=values.__getitem__)}
            right &= _same(match[2], forecast.forecasts[order].step) and _same(match[5], values[order])
            answers.append(bool(right and _gaps_are_right(match[6], values, errors, tied)))
    return _verdict(answers, "one order ahead of all others by more than two standard errors")


def tie_is_a_tie() -> Evidence:
    """The orders that are printed as tied, the lowest loss and the distances against the curves of the forecast."""
    answers = []
    for forecast, text in _reasons():
        match = TIED.match(text)
        if match:
            values, errors = _losses(forecast, match[3])
            tied, lowest = _tied(values, errors), min(values.values())
            right = {NAMES[name] for name in re.split(", | and ", match[1].lower())} == tied and len(tied) > 1
            widest = 100 * (max(values[order] for order in tied) / lowest - 1)
            printed = re.match(rf"within {NUMBER} ±", match[5])
            right &= abs(float(printed[1]) - widest) <= 0.051 if printed else widest < 0.05
            answers.append(
                bool(right and _same(match[4], lowest) and _gaps_are_right(match[6], values, errors, tied))
            )
    return _verdict(
        answers, "the orders within two standard errors, or half a per cent, of the lowest, and no others"
    )


def equal_is_equal() -> Evidence:
    """Ties printed as "equal to it": those whose widest gap would round to 0.0 per cent, and no others."""
    moment, steps = advice.Moment(5.0, 100, False), {"iid": 1.0, "flip_flop": 1.0}
    errors = dict.fromkeys(steps, 0.01)
    texts = [
        "the others equal to it"
        in advice.advise({"iid": 0.2, "flip_flop": 0.2 * (1 + gap)}, errors, steps, moment).reason
        for gap in (0.0, 4e-4, 6e-4, 5e-3)
    ]
    return decide(
        texts == [True, True, False, False],
        measured=f"gaps of 0, 0.04, 0.06 and 0.5 %: said to be equal {texts}",
        claimed="equal below 0.05 %",
        tolerance="none",
    )


def one_order_is_not_compared() -> Evidence:
    """What is printed for a single order against its curve."""
    answers = []
    for forecast, text in _reasons():
        match = ONLY.match(text)
        if match:
            values, _ = _losses(forecast, match[3])
            answers.append(list(values) == [NAMES[match[1]]] and _same(match[4], values[NAMES[match[1]]]))
    return _verdict(answers, "its loss, and no comparison")


def last_moment_is_the_last() -> Evidence:
    """Recommendations before the end of the budget: the last epoch at which every loss is above 1e-12."""
    answers = []
    for forecast, text in _reasons():
        early = "the last moment with all losses above 1e-12" in text
        kind = "train" if "training loss" in text else "test"
        curves = np.array([getattr(one.curve, kind) for one in forecast.forecasts.values()])
        epochs = next(iter(forecast.forecasts.values())).curve.epochs
        last = float(epochs[(curves >= 1e-12).all(axis=0)][-1])
        if early or last < epochs[-1]:
            answers.append(early and last == forecast.advice.time < epochs[-1])
    return _verdict(answers, "early where, and only where, a loss has fallen below 1e-12")


def rows_are_epochs_times_rows() -> Evidence:
    """Moments before the first epoch: the printed number of rows against the share of an epoch times its rows."""
    pairs = [(0.25, 4000), (0.5, 37), (0.125, 80)]
    texts = [
        re.fullmatch(r"after ([\d.]+) epochs \(([\d,]+) rows\)", str(advice.Moment(t, m, False)))
        for t, m in pairs
    ]
    right = [
        match is not None
        and abs(float(match[1]) / t - 1) < 0.05
        and abs(int(match[2].replace(",", "")) - t * m) <= 0.5
        for match, (t, m) in zip(texts, pairs, strict=True)
    ]
    return decide(
        all(right),
        measured=f"{sum(right)} of {len(pairs)} moments say their rows",
        claimed="rows = epochs times rows per epoch",
        tolerance="half a row",
    )


def free_step_leaves_what_it_says() -> Evidence:
    """The order, step and loss that a free choice of the step is said to leave, against exact curves of all orders on a
    grid of steps."""
    answers = []
    for forecast in _forecasts():
        _, mark, text = forecast.advice.reason.partition("; free to choose the step, ")
        match = FREE.match(text.removesuffix("."))
        if not mark or not match:
            continue
        kind = "train" if "training loss" in forecast.advice.reason else "test"
        time, values = int(forecast.advice.time), forecast.eigenvalues

        def loss(order, step, kind=kind, time=time, values=values):
            return float(getattr(exact.curve(order, values, [time], step), kind)[-1])

        least = loss(NAMES[match[1]], float(match[2]))
        grid = [loss(order, step) for order in forecast.forecasts for step in (0.5, 1.0, 1.3, 1.6, 1.9)]
        answers.append(bool(abs(float(match[3]) / least - 1) < 0.01 and least < 1.005 * min(grid)))
    return _verdict(answers, "the smallest loss of any order at any step")


def as_low_within_the_error() -> Evidence:
    """Orders named beside the best free choice: exactly those whose best loss is within two errors of the least."""
    best = {
        order: {"test": best_steps.BestStep(1.5, value)}
        for order, value in (
            ("iid", 0.1),
            ("random_reshuffle", 0.102),
            ("single_shuffle", 0.105),
            ("flip_flop", 0.2),
        )
    }
    text = advice.with_free_step("So.", best, "test", {"iid": 0.3}, 0.01)
    named = re.search(r"\((.*) as low within the error, at the best step of that order\)", text)
    names = [NAMES[name] for name in named[1].split(" and ")] if named else []
    tie = 2 * np.sqrt(2) * 0.01
    return decide(
        names
        == [order for order in best if order != "iid" and best[order]["test"].loss <= 0.1 * (1 + tie)]
        != [],
        measured=f"named: {', '.join(names)}",
        claimed=f"those within {100 * tie:.1f} % of the least",
        tolerance="none",
    )
