r"""Traces of words in a Gram matrix and its triangles, as exact polynomials in free cumulants.

Let :math:`K = UU^\top` be the Gram matrix of m unit rows whose eigenvectors are Haar, L its strictly lower triangle.
As :math:`m \to \infty` the trace :math:`\frac1m\operatorname{tr}` of a word in K, L and :math:`L^\top` tends to
:math:`\sum_{\nu\in NC(p)} \kappa_\nu \cdot \operatorname{vol}_\nu` over the non-crossing partitions of its letters,
with a free cumulant :math:`\kappa_j` for every block of size j; :math:`\operatorname{vol}_\nu` is the share of the
unit cube, with one coordinate per block of the Kreweras complement, in which the coordinates are ordered as the
letters L and :math:`L^\top` demand. *Proved* (lem-proof-words), given
that K and the places of the rows are free in the limit.

Words are strings of the letters ``K``, ``L`` and ``T`` (for :math:`L^\top`). A polynomial is a dictionary from the
sizes of the blocks larger than 1, ascending, to fractions: ``{(2,): 1/2}`` is :math:`\frac12\kappa_2` and ``{(): 1}``
is 1.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache

from edgelaw.theory.free import _step_series as step_series

Partition = tuple[tuple[int, ...], ...]
Polynomial = dict[tuple[int, ...], Fraction]

_LONGEST = 12  # NC(12) has 208012 elements


@cache
def noncrossing(size: int) -> tuple[Partition, ...]:
    """The non-crossing partitions of 0, …, size − 1, at most 12 elements.

    A partition is a tuple of blocks, each an ascending tuple; the block of 0 is the first.

    >>> [len(noncrossing(n)) for n in range(6)]
    [1, 1, 2, 5, 14, 42]
    """
    if not 0 <= size <= _LONGEST:
        raise ValueError(f"size must be between 0 and {_LONGEST}.")
    if size == 0:
        return ((),)
    partitions = []
    for chosen in range(size):
        for rest in itertools.combinations(range(1, size), chosen):
            block = (0, *rest)
            gaps = zip(block, (*rest, size), strict=True)  # which have partitions of their own
            inside = [_shifted(start + 1, stop - start - 1) for start, stop in gaps]
            for parts in itertools.product(*inside):
                partitions.append((block, *itertools.chain(*parts)))
    return tuple(partitions)


def _shifted(start, size):
    """The non-crossing partitions of start, …, start + size − 1."""
    return [tuple(tuple(x + start for x in block) for block in partition) for partition in noncrossing(size)]


def kreweras(partition: Partition) -> Partition:
    """The Kreweras complement: the coarsest partition of the gaps (gap i lies behind element i) that crosses nothing.

    >>> kreweras(((0, 1), (2,)))
    ((0,), (1, 2))
    """
    size = sum(map(len, partition))
    before = {x: block[i - 1] for block in partition for i, x in enumerate(block)}
    blocks, seen = [], set()
    for start in range(size):
        block, gap = [], start
        while gap not in seen:
            seen.add(gap)
            block.append(gap)
            gap = before[(gap + 1) % size]
        if block:
            blocks.append(tuple(sorted(block)))
    return tuple(blocks)


def free_cumulants(moments: Iterable[Fraction]) -> list[Fraction]:
    r"""Free cumulants from the first, second, … moment, by :math:`m_n = \sum_{\nu\in NC(n)}\kappa_\nu`.

    >>> free_cumulants([Fraction(1), Fraction(2), Fraction(5), Fraction(14)])  # Marchenko–Pastur at m = d
    [Fraction(1, 1), Fraction(1, 1), Fraction(1, 1), Fraction(1, 1)]
    """
    cumulants: list[Fraction] = []
    for size, moment in enumerate(moments, start=1):
        smaller = [nu for nu in noncrossing(size) if len(nu) > 1]
        products = (math.prod(cumulants[len(block) - 1] for block in nu) for nu in smaller)
        cumulants.append(moment - sum(products))
    return cumulants


def _share(below, above, count):
    """The share of the unit cube's points with x[below[i]] < x[above[i]] for all i: linear extensions over count!."""
    smaller = [0] * count
    for low, high in zip(below, above, strict=True):
        smaller[high] |= 1 << low
    ways = Counter({0: 1})
    for _ in range(count):
        longer: Counter[int] = Counter()
        for done, number in ways.items():
            for place in range(count):
                if not done >> place & 1 and smaller[place] & ~done == 0:
                    longer[done | 1 << place] += number
        ways = longer
    return Fraction(ways[(1 << count) - 1], math.factorial(count))


def _volume(word, partition, closed):
    """The volume that a partition of the word's letters leaves; `closed` if gap and letters go round a circle."""
    blocks = kreweras(partition)
    place = {gap: k for k, block in enumerate(blocks) for gap in block}
    shift = 0 if closed else 1  # with a letter in front, which is no letter of the word
    below, above = [], []
    for i, letter in enumerate(word, start=shift):
        left, right = place[(i - 1) % (len(word) + shift)], place[i]
        if letter != "K":
            below.append(right if letter == "L" else left)
            above.append(left if letter == "L" else right)
    return _share(below, above, len(blocks))


def _checked(word):
    """The word, if it is one."""
    if not isinstance(word, str) or set(word) - set("KLT") or not 1 <= len(word) < _LONGEST:
        raise ValueError(f"word must consist of 1 to {_LONGEST - 1} letters K, L and T.")
    return word


@cache
def _trace(word):
    diagonal = {place for place, letter in enumerate(word) if letter == "K"}  # a triangle has none
    return _sum(
        (_sizes(partition), _volume(word, partition, closed=True))
        for partition in noncrossing(len(word))
        if all(len(block) > 1 or block[0] in diagonal for block in partition)
    )


def _sizes(blocks):
    """The key of a polynomial: the sizes of the blocks larger than 1."""
    return tuple(sorted(len(block) for block in blocks if len(block) > 1))


def trace(word: str) -> Polynomial:
    r"""The limit of :math:`\frac1m\operatorname{tr}` of a word of at most 11 letters.

    >>> trace("LK"), trace("LLK")
    ({(2,): Fraction(1, 2)}, {(3,): Fraction(1, 6)})
    """
    return dict(_trace(_checked(word)))


def at_zero(word: str) -> Polynomial:
    r"""The mean of :math:`o^\top W o` for a word W in L and Lᵀ and a unit vector o with K o = 0.

    A block with the vector and j letters counts :math:`q_j`, :math:`\sum_jq_jy^j = 1/(1 + \kappa_1y + \kappa_2y^2 +
    \dots)`.

    >>> at_zero("TL")  # |L o|² is 1/3 + κ₂/6
    {(): Fraction(1, 3), (2,): Fraction(1, 6)}
    """
    if "K" in _checked(word):
        raise ValueError("word must consist of the letters L and T: K times the vector is zero.")
    terms = []
    for first, *others in noncrossing(len(word) + 1):
        volume = _volume(word, (first, *others), closed=False)
        terms += [
            (tuple(sorted(_sizes(others) + more)), factor * volume)
            for more, factor in _edge_weight(len(first) - 1).items()
        ]
    return _sum(terms)


@cache
def _edge_weight(letters):
    """The weight q of the vector's block: minus the sum of q_i κ_(letters − i)."""
    if letters == 0:
        return {(): Fraction(1)}
    return _sum(
        (tuple(sorted([*key, letters - i])) if letters - i > 1 else key, -factor)
        for i in range(letters)
        for key, factor in _edge_weight(i).items()
    )


def _sum(terms: Iterable[tuple[tuple[int, ...], Fraction]]) -> Polynomial:
    """A polynomial from monomials and their coefficients, equal ones collected."""
    total: Polynomial = {}
    for key, value in terms:
        total[key] = total.get(key, Fraction(0)) + value
    return {key: value for key, value in sorted(total.items()) if value}


def losses(factors: str, order: int) -> Polynomial:
    r"""The coefficient of :math:`\eta^{order}` in :math:`\frac1m\operatorname{tr}` of a product of epochs.

    Factors are ``A`` an epoch :math:`I - U^\top(\eta - \eta^2L + \eta^3L^2 - \dots)U`, ``B`` its transpose, ``S`` for
    :math:`U^\top U`; without the part :math:`\frac1m\operatorname{tr}I_d`. ``"A" * n + "B" * n`` is single shuffle's
    test loss over :math:`\rho`, ``"BA" * n`` flip-flop's; with ``S`` in front they are the training losses.

    >>> losses("AB", 2)  # η² (1 + κ₂ + κ₂): from KK and twice LK
    {(): Fraction(1, 1), (2,): Fraction(2, 1)}
    """
    if set(factors) - set("ABS") or not factors:
        raise ValueError("factors must consist of the letters A, B and S.")
    if not 0 <= order < _LONGEST:
        raise ValueError(f"order must be between 0 and {_LONGEST - 1}.")
    words = Counter({("", 0): 1})  # word and power of the step so far
    for factor in factors:
        longer: Counter[tuple[str, int]] = Counter()
        for (word, power), number in words.items():
            for more, letters, sign in _choices(factor, order - power):
                longer[word + letters, power + more] += sign * number
        words = longer
    return _sum(
        (key, number * value)
        for (word, power), number in words.items()
        if word and power == order and number
        for key, value in trace(word).items()
    )


def _choices(factor, most):
    """The terms of a factor up to a power of the step: power, letters, sign."""
    if factor == "S":
        yield 0, "K", 1
        return
    yield 0, "", 1
    for power in range(1, most + 1):
        yield power, ("L" if factor == "A" else "T") * (power - 1) + "K", (-1) ** power


def evaluate(polynomial: Mapping[tuple[int, ...], Fraction], cumulants: Iterable[Fraction]) -> Fraction:
    r"""The value of a polynomial at free cumulants :math:`\kappa_1 = 1, \kappa_2, \dots`: a fraction if they are.

    >>> evaluate({(2, 2): Fraction(1, 2), (): Fraction(1)}, [1, 3])
    Fraction(11, 2)
    """
    values = list(cumulants)
    total = Fraction(0)
    for key, factor in polynomial.items():
        if key and key[-1] > len(values):
            raise ValueError(f"cumulants must have at least {key[-1]} entries.")
        for size in key:
            factor = factor * values[size - 1]
        total = total + factor
    return total


def formulas(
    order: str, epochs: int, most: int, cumulants: Iterable[Fraction], rho: Fraction
) -> tuple[list[Fraction], list[Fraction]]:
    r"""The coefficients of both losses by the closed formulas of ``"single_shuffle"`` or ``"flip_flop"``, exactly.

    Powers 0, …, ``most`` of the step after some epochs, with averages :math:`\langle\lambda^i\rangle =
    \rho^{1-i}\kappa_i` from ``most + 1`` cumulants.
    """
    engines = {"single_shuffle": step_series.single_shuffle, "flip_flop": step_series.flip_flop}
    if order not in engines:
        raise ValueError("order must be 'single_shuffle' or 'flip_flop'.")
    values = list(cumulants)
    if epochs < 1 or most < 1 or len(values) < most + 1:
        raise ValueError("epochs and most must be at least 1, and cumulants at least most + 1 in number.")
    both = epochs if order == "single_shuffle" else 0
    symbols = step_series.variables((epochs, both, most), _averages(values, rho))
    test, train = (_in_step(losses, epochs, both, most) for losses in engines[order](symbols, Fraction(rho)))
    return test, train


def _in_step(series, i, j, most):
    """The coefficients of z^i w^j times the powers of the step from 0 on."""
    return [series.terms.get((i, j, k, 0, 0), Fraction(0)) for k in range(most + 1)]


def reshuffled(
    most: int, size: int, cumulants: Iterable[Fraction], rho: Fraction
) -> list[list[list[Fraction]]]:
    r"""Coefficients of :math:`\frac1d\operatorname{tr}S^iAS^jA^\top` in powers of the step, by reshuffle's equations.

    Entry ``[i][j][k]``, i and j up to ``size``, k up to ``most``, is the coefficient of :math:`\eta^k`, `losses` of
    ``"S" * i + "A" + "S" * j + "B"`` times rho. There must be ``2 * (most + size + 2)`` cumulants.

    >>> reshuffled(1, 0, [Fraction(1)] * 6, Fraction(1))  # tr A Aᵀ / d = 1 − 2 η + …
    [[[Fraction(1, 1), Fraction(-2, 1)]]]
    """
    values = list(cumulants)
    if most < 1 or size < 0 or len(values) < 2 * (most + size + 2):
        raise ValueError(
            "cumulants must have at least 2 (most + size + 2) entries, most at least 1, size at least 0."
        )
    symbols = step_series.variables((size + 1, size + 1, most), _averages(values, rho))
    series = step_series.reshuffle(symbols, Fraction(rho))
    powers = range(1, size + 2)
    return [[_in_step(series, i, j, most) for j in powers] for i in powers]


def _averages(cumulants, rho):
    """The numbers ⟨λ^i⟩ = ρ^(1−i) κ_i, from i = 0 on."""
    rho = Fraction(rho)
    return [Fraction(1), *(rho ** (1 - i) * value for i, value in enumerate(cumulants, start=1))]
