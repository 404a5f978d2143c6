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

from dataclasses import dataclass

import numpy as np

from edgelaw._common.compiled import compiled
from edgelaw.exact import levy, silverstein

_ANGLES = 1.2, 0.85, 0.6, 0.4, 0.25, 0.15  # half-heights of contours, the first that the recursion bears
_LARGEST = 8.0  # the logarithm of what s may grow to on the contour
_GAP = 3.0  # with so many decay times of the left edge the losses' decay is exponential
_REACH = 0.01  # of the rule that stands for a covariance
_TOLERANCES = 1e-12, 1e-10  # of the two rules
_WIDTHS = 1.0, 0.9  # of their contours


@dataclass(frozen=True, eq=False)
class Rule:
    """A spectrum as nodes, the weights of λ dF and of dF at them, and what never changes: the share of zeros."""

    nodes: np.ndarray
    heavy: np.ndarray
    weights: np.ndarray
    null: float
    error: float = 0.0


def of_sample(values, shares):
    """The rule of a sample: its positive eigenvalues, mean 1."""
    moving = values > 0
    nodes, weights = values[moving], shares[moving]
    return Rule(nodes, nodes * weights, weights, float(shares[~moving].sum()))


def losses(rule, partition, n):
    """Test and training loss after n epochs, ascending, an array (2, len(n))."""
    factors = (1 - partition.kappas[0] * partition.taus[0] * rule.nodes) ** 2  # κτ = η/d for every batch
    short = -1 if partition.equal else partition.batches - 1
    test, train = _recursion(
        factors, rule.nodes, rule.heavy, rule.weights, _noise(partition), partition.batches, short, n
    )
    return np.stack([rule.null + test.real, train.real])


def _noise(partition):
    """τ²κ of a whole batch and of the last one."""
    return partition.kappas[[0, -1]] * partition.taus[[0, -1]] ** 2


@compiled
def _recursion(factors, nodes, heavy, weights, noise, batches, short, n):
    """⟨s⟩ and ⟨λs⟩ after n epochs of so many batches; the one numbered `short` has another noise."""
    s = np.ones_like(nodes)
    total = np.sum(heavy)
    test, train = np.empty(n.size, heavy.dtype), np.empty(n.size, heavy.dtype)
    place, epoch = 0, 0
    while place < n.size:
        if n[place] == epoch:
            test[place], train[place] = np.sum(weights * s), total
            place += 1
            continue
        for batch in range(batches):
            source = total * (noise[1] if batch == short else noise[0])
            total = total * 0
            for k in range(nodes.size):
                s[k] = factors[k] * s[k] + source * nodes[k]
                total += heavy[k] * s[k]
        epoch += 1
        if not abs(total) > 1e-305:
            total = total * 0
    return test, train


# ---------------------------------------------------------------------------------------------------- the covariance


def sample_law(values, shares, rho):
    """The limit spectrum of a sample; a few dozen nodes stand for a covariance of many eigenvalues, to 1e-13."""
    average = levy.from_covariance(values, shares, _REACH, 1e-13)
    return silverstein.Sample(average.nodes, average.weights, rho)


def of_covariance(law, partition, last):
    """Two rules of a covariance's sample spectrum for `last` epochs; none if no contour lies where updates contract."""
    decays = 2 * last * float((partition.kappas * partition.taus).sum())
    edge = law.leftmost(lambda x, v: 1.0)
    gapped = decays * edge > _GAP
    pole = 0.5 * edge if gapped else -1 / decays
    low, high = edge, law.rightmost()
    shrink = float(partition.kappas[0] * partition.taus[0])
    for angle in _ANGLES:
        contour = levy.ellipse(np.array([low, high]), pole, angle=angle)
        if 2 * last * partition.batches * np.log(np.abs(1 - shrink * contour)).max() < _LARGEST:
            break
    else:
        return []
    return [
        _around(law, np.array([low, high]), pole, width * angle, tolerance, gapped)
        for width, tolerance in zip(_WIDTHS, _TOLERANCES, strict=True)
    ]


def _around(law, ends, pole, angle, tolerance, gapped):
    """The rule for functions analytic inside one contour."""

    def sampled(points):
        zeta = levy.ellipse(ends, pole, points, angle)
        return zeta, 1 - law.rho * (1 + zeta * law.companion(zeta))

    nodes, residues, error = levy.rational(sampled, tolerance)
    weights = residues / nodes
    null = max(0.0, 1 - law.rho) if gapped else 1 - float(weights.sum().real)
    return Rule(nodes, residues, weights, null, error)


def narrow(law):
    """The rule of a covariance's sample spectrum for functions that are singular a little off its right edge."""
    ends = np.array([law.leftmost(lambda x, v: 1.0), law.rightmost()])
    return _around(law, ends, -0.02, _ANGLES[-1], 1e-9, gapped=False), ends[1]


# ------------------------------------------------------------------------------------------------------- the limit


def stable(rule, largest, partition):
    r"""Whether the mean square of the error decays, for a spectrum that ends at `largest`.

    The visits of an epoch drive each other through a circulant matrix with the eigenvalues
    :math:`c_r = \omega^r\langle\lambda^2/(1-\omega^rg)\rangle`, ω the L-th root of unity and
    :math:`g = (1-\tau\kappa\lambda)^2`. With the noise :math:`\nu = \tau^2\kappa` of all batches it is stable if
    :math:`\nu c_0 < 1`, and with :math:`\nu_s` of the last one if also
    :math:`(\nu_s-\nu)\frac1L\sum_rc_r/(1-\nu c_r) < 1`.
    """
    shrink = partition.kappas[0] * partition.taus[0]
    if shrink * largest >= 2:
        return False
    noise, last = _noise(partition)
    first = (rule.heavy / (2 - shrink * rule.nodes)).sum().real / shrink
    if noise * first >= 1:
        return False
    if partition.equal:
        return True
    turns = np.exp(2j * np.pi * np.arange(1, partition.batches) / partition.batches)
    source, g = rule.heavy * rule.nodes, (1 - shrink * rule.nodes) ** 2
    visits = np.append(first, [turn * (source / (1 - turn * g)).sum() for turn in turns])
    return bool((last - noise) * (visits / (1 - noise * visits)).mean().real < 1)


def limit(rule, largest, partition):
    """By which factor the step can grow or must shrink to be the largest stable one, to a relative 1e-10."""
    low, high = 0.0, 2 / (largest * float(partition.kappas[0] * partition.taus[0]))
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if stable(rule, largest, partition.scaled(middle)) else (low, middle)
    return low
