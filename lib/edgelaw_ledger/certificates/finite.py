"""Certificates of losses after finitely many epochs, among them the paper's first coefficients in closed form."""

from collections.abc import Iterator
from fractions import Fraction

from flint import arb

from edgelaw.theory import BY_ORDER, flip_flop, free
from edgelaw_ledger.certificates import sums
from edgelaw_ledger.certificates.balls import exact
from edgelaw_ledger.certificates.entries import Certificate, Paper
from edgelaw_ledger.certificates.naming import EPOCHS, ITERATED, LOSS_NAMES, LOSSES, NAMES, STEPS

ONE = Fraction(1)


def _loss(order, loss, n, step, ball, *papers):
    """The certificate of one loss."""
    ours = getattr(BY_ORDER[order], f"{loss}_loss")(n, float(step))
    quantity = f"{NAMES[order]}, {LOSS_NAMES[loss]}, $n={n}$, $\\eta={step}$"
    return Certificate("sums", quantity, ball, ours, ITERATED, papers)


def single_shuffle() -> Iterator[Certificate]:
    """Sums over a queue's weights at step 1; coefficients of the generating function at other steps, n ≤ 10."""
    for n in EPOCHS:
        stated = [Paper("F16", _first_loss(ONE))] if n == 1 else []
        yield _loss("single_shuffle", "test", n, ONE, sums.shuffle_test(n), *stated)
        yield _loss("single_shuffle", "train", n, ONE, sums.shuffle_train(n))
    for step in STEPS:
        second = Paper("F17", _second_loss(step))
        yield _loss("single_shuffle", "test", 2, step, sums.shuffle_test_at(2, step), second)
    for step in STEPS[1:]:
        first = Paper("F16", _first_loss(step))
        yield _loss("single_shuffle", "test", 1, step, sums.shuffle_test_at(1, step), first)
        yield _loss("single_shuffle", "test", 10, step, sums.shuffle_test_at(10, step))


def _first_loss(step):
    eta = exact(step)
    return lambda p: (-(p["rate"] - eta) * eta).exp()


def _second_loss(step):
    eta = exact(step)
    square = arb(eta**2)

    def stated(p):
        front = (-(p["four"] - eta) * eta).exp()
        return front * ((p["growth"] * square).exp() + (p["two"] - eta) ** 2 * square * (1 + square))

    return stated


def independent() -> Iterator[Certificate]:
    """IID sampling: an integral over the angle, four steps."""
    for n in EPOCHS:
        for step in STEPS:
            for loss, ball in zip(LOSSES, sums.iid(n, step), strict=True):
                yield _loss("iid", loss, n, step, ball)


def flip_flop_counts() -> Iterator[Certificate]:
    """Flip-flop: a binomial and a Poisson count, four steps."""
    for n in (1, 2, 3, *EPOCHS[1:]):
        for step in STEPS:
            yield _loss("flip_flop", "test", n, step, sums.flip_flop_test(n, step), *_moment_papers(n, step))
            if n in EPOCHS:
                yield _loss("flip_flop", "train", n, step, sums.flip_flop_train(n, step))


def _moment_papers(n, step):
    """The paper's m_n and b_n, n = 2 and 3, as polynomials of τ."""
    if n not in (2, 3):
        return []
    t = exact(step * (2 - step))

    def polynomial(p):
        if n == 2:
            return arb(-2 * t).exp() * (1 + p["second"] * t**2)
        return arb(-3 * t).exp() * (1 + p["third"] * t**2 - p["cubic"] * t**3 + p["square"] * t**4)

    papers = [Paper("F7", polynomial), Paper("F26", polynomial)]
    if step == 1:
        papers.append(Paper("F26", lambda p: p["two" if n == 2 else "nine"] * arb(-n).exp()))
    return papers


def first_coefficients() -> Iterator[Certificate]:
    """The paper's a_1, a_2, a_3 as functions of ρ, against its own Poisson expectations."""
    stated = {1: ("E15", _coefficient_1), 2: ("E16", _coefficient_2), 3: ("E17", _coefficient_3)}
    for n, (claim, formula) in stated.items():
        for rho in (Fraction(1, 2), ONE, Fraction(2)):
            yield Certificate(
                "sums",
                f"flip-flop, $a_{n}(\\rho)$, $\\rho={rho}$, $\\eta=1$",
                sums.flip_flop_poisson(n, rho) * exact(rho),
                float(rho) * flip_flop.train_loss(n, rho=float(rho)),
                ITERATED,
                (Paper(claim, formula(exact(rho))),),
            )


def _coefficient_1(r):
    return lambda p: (p["linear"] * r - p["constant"]) * arb(-r).exp() + p["second"] * arb(-2 * r).exp()


def _coefficient_2(r):
    def stated(p):
        return (p["linear"] * r + (r**2 - p["inner"]) * arb(r).exp() + p["constant"]) * arb(-3 * r).exp()

    return stated


def _coefficient_3(r):
    def stated(p):
        inner = (p["cubic"] * r**3 + r**2 - p["inner_linear"] * r - p["inner"]) * arb(r).exp()
        return p["half"] * (p["square"] * r**2 + p["linear"] * r + inner + p["constant"]) * arb(-4 * r).exp()

    return stated


def reshuffled() -> Iterator[Certificate]:
    """Random reshuffle after one epoch; after more there is no closed form."""
    for step in STEPS:
        for loss, ball in zip(LOSSES, sums.first_reshuffled(step), strict=True):
            yield _loss("random_reshuffle", loss, 1, step, ball)


def trace_moments() -> Iterator[Certificate]:
    """Trace moments at step 1 away from m = d."""
    for rho in (Fraction(1, 2), Fraction(3, 2), Fraction(2)):
        for n in EPOCHS:
            ours = float(free.trace_moment(n, rho=float(rho)))
            quantity = f"trace moment, $n={n}$, $\\eta=1$, $\\rho={rho}$"
            yield Certificate("sums", quantity, sums.trace_moment(n, rho), ours, ITERATED)


def one_epoch() -> Iterator[Certificate]:
    """Two ratios after one epoch, which a factor "at any number of epochs" would have to be."""
    tops = {"iid": sums.iid(1, ONE)[0], "flip_flop": sums.flip_flop_test(1, ONE)}
    for order, ball in tops.items():
        ours = BY_ORDER[order].test_loss(1) / BY_ORDER["single_shuffle"].test_loss(1)
        quantity = f"{NAMES[order]} over single shuffle, test, $n=1$, $\\eta=1$"
        stated = (Paper("G4", lambda p: p["ratio"]),)
        yield Certificate("sums", quantity, ball / sums.shuffle_test(1), ours, ITERATED, stated)
