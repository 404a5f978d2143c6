r"""IID with averaged batches on any spectrum: a recursion over updates (*derived* here).

An update moves the error by the mean of b single updates, so by τ = η/b per row. With κ = b/d and ⟨·⟩ the mean over the
spectrum the mean square of the error along an eigenvector becomes

.. math:: s \leftarrow (1-\tau\kappa\lambda)^2s + \tau^2\kappa\lambda\,\langle\lambda s\rangle ,

up to a relative O(1/d) of each update's change (over epochs: :mod:`edgelaw.exact.finite_size`). For a covariance the
mean is over the limit spectrum of the sample, on a contour around it.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgelaw._common.types import Array, Integers
from edgelaw.exact import levy, silverstein, sources
from edgelaw.exact.agreement import Attempt
from edgelaw.exact.batches.blocks import Rows, SampleRows
from edgelaw.exact.batches.partition import Partition
from edgelaw.exact.labels.curves import ROUNDING
from edgelaw.exact.random_reshuffle import contours


@dataclass(frozen=True, eq=False)
class Rule:
    """A spectrum as nodes, the weights of dF at them, and what never changes: the share of zeros."""

    nodes: npt.NDArray
    weights: npt.NDArray
    null: float


def losses(rule: Rule, cut: Partition, n: Integers) -> Array:
    """Test and training loss after n epochs, ascending, an array (2, len(n))."""
    factors = (1 - cut.kappas[0] * cut.taus[0] * rule.nodes) ** 2  # κτ = η/d for every batch
    heavy, noise = rule.nodes * rule.weights, cut.kappas * cut.taus**2
    s, total = np.ones_like(rule.nodes), heavy.sum()
    recorded_at, made = set(n.tolist()), []
    for epoch in range(int(n[-1]) + 1):
        if epoch in recorded_at:
            made.append((rule.null + (rule.weights @ s).real, total.real))
        for strength in noise:
            s *= factors
            s += (strength * total) * rule.nodes
            total = heavy @ s
    return np.array(made).T


def attempt(rows: silverstein.PopulationRows, cut: Partition, n: Integers) -> Attempt:
    """Both losses of a covariance's sample, by two rules that come near its left edge."""
    law = _law(rows, reach=0.1 / (float(cut.kappas @ cut.taus) * n[-1]))
    fine, coarse = (losses(_rule(law, height), cut, n) for height in (0.8, 0.7))
    return Attempt(fine, coarse, law.null, ROUNDING)


def _law(rows: Rows, reach: float) -> contours.Law:
    """The law of a covariance's sample; a few dozen nodes stand for many eigenvalues, to 1e-13."""
    average = levy.from_covariance(rows.values, rows.shares, 0.01, 1e-13)
    return contours.population(silverstein.PopulationRows(average.nodes, average.weights, rows.rho), reach)


def _rule(law: contours.Law, height: float) -> Rule:
    """The rule for functions analytic up to this height, over the length, in the logarithm."""
    nodes, weights = law.measure(contours.SCALE, height)
    return Rule(nodes / law.rho, weights, law.null)


def of_rows(rows: Rows) -> tuple[Rule, float]:
    """The rule of rows for functions singular a little off the right edge of their spectrum, and that edge."""
    if isinstance(rows, SampleRows):
        return Rule(*sources.positive(rows.values, rows.shares)), float(rows.values[-1])
    law = _law(rows, reach=0.01)
    return _rule(law, 0.2), law.highest / law.rho


def echo(rule: Rule, cut: Partition) -> float:
    r""":math:`\tau\langle\lambda/(2-\tau\kappa\lambda)\rangle` of whole batches: the noise that noise makes."""
    tau, shrink = float(cut.taus[0]), float(cut.kappas[0] * cut.taus[0])
    return tau * float((rule.weights * rule.nodes / (2 - shrink * rule.nodes)).sum().real)


def stable(rule: Rule, largest: float, cut: Partition) -> bool:
    r"""Whether the mean square of the error decays, for a spectrum that ends at `largest`.

    The visits of an epoch drive each other through a circulant matrix with the eigenvalues :math:`c_r =
    \omega^r\langle\lambda^2/(1-\omega^r(1-\tau\kappa\lambda)^2)\rangle`, ω the L-th root of unity. With noise
    :math:`\nu = \tau^2\kappa` it is stable if :math:`\nu c_0 < 1`, the echo, and with :math:`\nu_s` of a short last
    batch if also :math:`(\nu_s-\nu)\frac1L\sum_rc_r/(1-\nu c_r) < 1`.
    """
    shrink = cut.kappas[0] * cut.taus[0]
    if shrink * largest >= 2 or echo(rule, cut) >= 1:
        return False
    if cut.equal:
        return True
    noise, last = (cut.kappas * cut.taus**2)[[0, -1]]
    turns = np.exp(2j * np.pi * np.arange(1, cut.batches) / cut.batches)
    source, g = rule.weights * rule.nodes**2, (1 - shrink * rule.nodes) ** 2
    visits = np.append(echo(rule, cut) / noise, [turn * (source / (1 - turn * g)).sum() for turn in turns])
    return bool((last - noise) * (visits / (1 - noise * visits)).mean().real < 1)


def limit(rule: Rule, largest: float, cut: Partition) -> float:
    """By which factor the step can grow or must shrink to be the largest stable one."""
    low, high = 0.0, 2 / (largest * float(cut.kappas[0] * cut.taus[0]))
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if stable(rule, largest, cut.scaled(middle)) else (low, middle)
    return low
