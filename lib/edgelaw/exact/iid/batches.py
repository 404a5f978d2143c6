r"""IID with averaged batches on any spectrum: a recursion over updates (*derived*).

An update draws b of m rows with replacement and moves the error by the mean of their single updates at step η, so by
τ = η/b per row. For the second moment M of the error and :math:`\hat H = \frac1m\sum_iu_iu_i^\top` it is exactly

.. math:: M \leftarrow (I - \tau b\hat H)M(I - \tau b\hat H) - \tau^2b\,\hat HM\hat H
   + \frac{\tau^2b}{m}\sum_i u_iu_i^\top(u_i^\top Mu_i),

where the second term is what the b(b − 1) pairs of different draws lack of b². In the eigenbasis of
:math:`H = d\hat H`, eigenvalues λ of mean 1, a left basis that is Haar makes :math:`u_i^\top Mu_i` of every row
:math:`\langle\lambda s\rangle`, the mean over the spectrum, and with κ = b/d

.. math:: s \leftarrow (1-\tau\kappa\lambda)^2s + \tau^2\kappa\lambda\,\langle\lambda s\rangle .

**What is left out** is a relative O(1/d): :math:`-\tau^2\kappa\lambda^2s/d` from the pairs, and
:math:`+2\tau^2\kappa\lambda^2s/d` from the fluctuations of :math:`u_i^\top Mu_i`. Drawn without replacement within a
batch the noise would have a factor :math:`1-b/m`.

Both losses start at 1; test is :math:`\langle s\rangle`, training :math:`\langle\lambda s\rangle`. All terms are
positive, so that the recursion loses no digits. With equal batches it is stable if :math:`\tau\kappa\lambda < 2` and
:math:`\tau\langle\lambda/(2-\tau\kappa\lambda)\rangle < 1`.

For a covariance the mean is over the limit spectrum of the sample. It enters through a rational approximation to its
transform :math:`\int\lambda\,dF/(\zeta-\lambda)` on a contour around the support, whose poles are nodes of a rule for
functions analytic inside, as in :mod:`edgelaw.exact.levy`; s is a polynomial in λ.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from edgelaw._common.types import Array, Integers
from edgelaw.exact import levy, silverstein
from edgelaw.exact.agreement import Attempt
from edgelaw.exact.batches.partition import Partition

_LOWER = 0.7  # half-heights of two contours that are tried one after the other; where s grows, none agrees
_RULE_TOLERANCES = 1e-12, 1e-10  # of the rules at two resolutions


@dataclass(frozen=True, eq=False)
class Rule:
    """A spectrum as nodes, the weights of λ dF and of dF at them, and what never changes: the share of zeros."""

    nodes: npt.NDArray
    heavy: npt.NDArray
    weights: npt.NDArray
    null: float
    error: float = 0.0


def of_sample(values: Array, shares: Array) -> Rule:
    """The rule of a sample: its positive eigenvalues, mean 1."""
    moving = values > 0
    nodes, weights = values[moving], shares[moving]
    return Rule(nodes, nodes * weights, weights, float(shares[~moving].sum()))


def losses(rule: Rule, cut: Partition, n: Integers) -> Array:
    """Test and training loss after n epochs, ascending, an array (2, len(n))."""
    factors = (1 - cut.kappas[0] * cut.taus[0] * rule.nodes) ** 2  # κτ = η/d for every batch
    noise = cut.kappas * cut.taus**2
    s, total = np.ones_like(rule.nodes), rule.heavy.sum()
    recorded_at, made = set(n.tolist()), []
    for epoch in range(int(n[-1]) + 1):
        if epoch in recorded_at:
            made.append((rule.null + (rule.weights @ s).real, total.real))
        for strength in noise:
            s *= factors
            s += (strength * total) * rule.nodes
            total = rule.heavy @ s
    return np.array(made).T


# ---------------------------------------------------------------------------------------------------- the covariance


def sample_law(values: Array, shares: Array, rho: float) -> silverstein.Sample:
    """The limit spectrum of a sample; a few dozen nodes stand for a covariance of many eigenvalues, to 1e-13."""
    average = levy.from_covariance(values, shares, 0.01, 1e-13)
    return silverstein.Sample(average.nodes, average.weights, rho)


def attempts(law: silverstein.Sample, cut: Partition, last: int) -> Iterator[Callable[[Integers], Attempt]]:
    """The losses of a covariance's sample up to epoch `last`, on one contour after another, the widest first."""
    for turn in range(7):
        yield partial(_attempt, law, cut, last, levy.HALF_HEIGHT * _LOWER**turn)


def _attempt(law: silverstein.Sample, cut: Partition, last: int, angle: float, n: Integers) -> Attempt:
    """Both losses by two rules on contours of about the same height."""
    pole, ends, null = _contour(law, 2 * last * float(cut.kappas @ cut.taus))
    rules = [
        _around(law, ends, pole, width * angle, tolerance, null)
        for width, tolerance in zip((1.0, 0.9), _RULE_TOLERANCES, strict=True)
    ]
    with np.errstate(all="ignore"):
        fine, coarse = (losses(rule, cut, n) for rule in rules)
    return Attempt(fine, coarse, max(0.0, 1 - law.rho), max(rule.error for rule in rules))


def _contour(law: silverstein.Sample, decays: float) -> tuple[float, Array, float | None]:
    """The pole of contours for so many decay times, the ends of the spectrum, and the share of zeros left outside.

    With a few decay times of its left edge the losses decay exponentially, and the contour keeps out of zero; else the
    pole is where the losses begin to be resolved, and the zeros are what the nodes leave.
    """
    edge = law.leftmost(lambda x, v: 1.0)
    ends = np.array([edge, law.rightmost()])
    if decays * edge > 3:
        return 0.5 * edge, ends, max(0.0, 1 - law.rho)
    return -1 / decays, ends, None


def _around(
    law: silverstein.Sample, ends: Array, pole: float, angle: float, tolerance: float, null: float | None
) -> Rule:
    """The rule for functions analytic inside one contour."""

    def sampled(points: int) -> tuple[npt.NDArray, npt.NDArray]:
        zeta = levy.ellipse(ends, pole, points, angle)
        return zeta, 1 - law.rho * (1 + zeta * law.companion(zeta))

    nodes, residues, error = levy.rational(sampled, tolerance)
    weights = residues / nodes
    return Rule(nodes, residues, weights, 1 - float(weights.sum().real) if null is None else null, error)


def narrow(law: silverstein.Sample) -> tuple[Rule, float]:
    """The rule of a covariance's sample spectrum for functions that are singular a little off its right edge."""
    ends = np.array([law.leftmost(lambda x, v: 1.0), law.rightmost()])
    return _around(law, ends, -0.02, levy.HALF_HEIGHT / 8, _RULE_TOLERANCES[1], None), float(ends[1])


# ------------------------------------------------------------------------------------------------------- the limit


def echo(rule: Rule, cut: Partition) -> float:
    r""":math:`\tau\langle\lambda/(2-\tau\kappa\lambda)\rangle` of whole batches: the noise that noise makes."""
    tau, shrink = float(cut.taus[0]), float(cut.kappas[0] * cut.taus[0])
    return tau * float((rule.heavy / (2 - shrink * rule.nodes)).sum().real)


def stable(rule: Rule, largest: float, cut: Partition) -> bool:
    r"""Whether the mean square of the error decays, for a spectrum that ends at `largest`.

    The visits of an epoch drive each other through a circulant matrix with the eigenvalues
    :math:`c_r = \omega^r\langle\lambda^2/(1-\omega^rg)\rangle`, ω the L-th root of unity and
    :math:`g = (1-\tau\kappa\lambda)^2`. With the noise :math:`\nu = \tau^2\kappa` of all batches it is stable if
    :math:`\nu c_0 < 1`, and with :math:`\nu_s` of the last one if also
    :math:`(\nu_s-\nu)\frac1L\sum_rc_r/(1-\nu c_r) < 1`.
    """
    shrink = cut.kappas[0] * cut.taus[0]
    if shrink * largest >= 2 or echo(rule, cut) >= 1:
        return False
    if cut.equal:
        return True
    noise, last = (cut.kappas * cut.taus**2)[[0, -1]]
    turns = np.exp(2j * np.pi * np.arange(1, cut.batches) / cut.batches)
    source, g = rule.heavy * rule.nodes, (1 - shrink * rule.nodes) ** 2
    visits = np.append(echo(rule, cut) / noise, [turn * (source / (1 - turn * g)).sum() for turn in turns])
    return bool((last - noise) * (visits / (1 - noise * visits)).mean().real < 1)


def limit(rule: Rule, largest: float, cut: Partition) -> float:
    """By which factor the step can grow or must shrink to be the largest stable one."""
    low, high = 0.0, 2 / (largest * float(cut.kappas[0] * cut.taus[0]))
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if stable(rule, largest, cut.scaled(middle)) else (low, middle)
    return low
