"""Certificates of the leading constants of all four orders, and who states them."""

from collections.abc import Iterator
from fractions import Fraction

from flint import arb

from edgelaw.theory import BY_ORDER
from edgelaw_ledger.certificates import edges, reshuffle
from edgelaw_ledger.certificates.balls import DOUBLE, exact, root
from edgelaw_ledger.certificates.entries import Certificate, Paper
from edgelaw_ledger.certificates.naming import LOSS_NAMES, LOSSES, NAMES, SOLVED, STEPS

# The constants of tables and theorems at step 1: the claim, and the name of the number in its check.
AT_ONE = {
    ("single_shuffle", "test"): {"A10": "single", "D19": "leading", "E23": "shuffle_test"},
    ("single_shuffle", "train"): {
        "A16": "front",
        "D20": "leading",
        "D30": "constant",
        "E23": "shuffle_train",
    },
    ("iid", "test"): {"A10": "independent", "E23": "iid_test"},
    ("iid", "train"): {"E23": "iid_train"},
    ("flip_flop", "test"): {"A10": "flip", "E3": "leading", "E23": "flip_test"},
    ("flip_flop", "train"): {"A17": "front", "E11": "leading", "E23": "flip_train"},
}


def _root_over_pi(step, scale, offset):
    """√((1/η − offset)/(scale·π)), a form that several claims have."""
    return lambda p: root((1 / exact(step) - p[offset]) / (p[scale] * arb.pi()))


def _iid_train(step, front):
    """front/(η^power (drop − η))."""
    eta = exact(step)
    return lambda p: p[front] / ((arb(eta).log() * p["power"]).exp() * (p["drop"] - eta))


def _at_any_step(order, loss, step):
    """Who states this constant at every step."""
    tau, eta = step * (2 - step), exact(step)
    if (order, loss) == ("single_shuffle", "test"):
        named = {"A7": ("scale", "offset"), "F15": ("scale", "offset"), "F28": ("single", "half")}
        return [Paper(claim, _root_over_pi(step, *names)) for claim, names in named.items()]
    if (order, loss) == ("flip_flop", "test"):
        named = {"A9": ("scale", "offset"), "F23": ("scale", "offset"), "F28": ("flip", "half")}
        return [Paper(claim, _root_over_pi(tau, *names)) for claim, names in named.items()]
    if (order, loss) == ("iid", "test"):
        printed = Paper("A8", lambda p: 1 / root(p["scale"] * arb.pi() * eta))
        return [printed, Paper("B5", lambda p: p["test"] / root(eta))]
    if (order, loss) == ("iid", "train"):
        return [Paper("A15", _iid_train(step, "front")), Paper("B5", _iid_train(step, "train"))]
    return []


def _at_step_one(order, loss):
    papers = [Paper(claim, lambda p, n=name: p[n]) for claim, name in AT_ONE.get((order, loss), {}).items()]
    if (order, loss) == ("flip_flop", "test"):
        papers.append(Paper("F23", lambda p: 1 / root(p["at_one"] * arb.pi())))
    return papers


def _balls(order: str, step: Fraction):
    """Enclosures of an order's two constants."""
    if order == "random_reshuffle":
        return edges.random_reshuffle(step), reshuffle.train_constant(step)
    return getattr(edges, order)(step)


def constants() -> Iterator[Certificate]:
    """Four orders, two losses, four steps."""
    for order, name in NAMES.items():
        for step in STEPS:
            for loss, ball in zip(LOSSES, _balls(order, step), strict=True):
                stated = _at_any_step(order, loss, step) + (_at_step_one(order, loss) if step == 1 else [])
                yield Certificate(
                    "constants",
                    f"{name}, {LOSS_NAMES[loss]}, $\\eta={step}$",
                    ball,
                    getattr(BY_ORDER[order], f"{loss}_constant")(float(step)),
                    SOLVED if (order, loss) == ("random_reshuffle", "train") else DOUBLE,
                    tuple(stated),
                )
