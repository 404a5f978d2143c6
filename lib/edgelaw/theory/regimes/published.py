r"""Published bounds and rates in the book's notation, to be set beside exact curves.

Components are :math:`\frac12(u_i\cdot w - t_i)^2` with unit rows, so each has smoothness 1 and the step η of the update
is the step of the literature. μ is the smallest eigenvalue of the Hessian :math:`\frac1m\sum u_iu_i^\top`, κ the ratio
of its largest to its smallest, :math:`\sigma^2` the mean square of the residuals at the optimum, which is the mean
square of the components' gradients there; m rows, n epochs. A *bound* has all its constants, a *rate* none: only its
shape is published, with constants and logarithms left out.
"""

from collections.abc import Callable

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, FloatOrArray


def strohmer_vershynin(n: ArrayLike, smallest: float) -> Array:
    r"""IID, step 1, no noise: :math:`\mathbb E|w_n|^2 \le (1-\mu)^{mn} \le e^{-\lambda n}`.

    λ = mμ is the smallest eigenvalue of :math:`\sum_iu_iu_i^\top`.

    >>> strohmer_vershynin([0, 1], smallest=0.5).round(4).tolist()
    [1.0, 0.6065]
    """
    return np.exp(-arguments.number(smallest, "smallest", 0) * arguments.counts(n, "n"))


def needell_srebro_ward(
    updates: ArrayLike, mu: float, step: float, start: float = 1.0, noise: float = 1.0
) -> Array:
    r"""IID with noise: :math:`(1-2\eta\mu(1-\eta))^k|w_0|^2 + \frac{\eta\sigma^2}{\mu(1-\eta)}` for η < 1.

    By hand: :math:`\mathbb E|w^+|^2 = |w|^2 - 2\eta\,w\cdot\nabla F + \eta^2\mathbb E|\nabla f_i|^2`, the last term is
    at most :math:`2\eta^2(w\cdot\nabla F + \sigma^2)`, and :math:`w\cdot\nabla F \ge \mu|w|^2`.
    """
    k, mu = arguments.counts(updates, "updates"), arguments.number(mu, "mu", 0)
    if mu > 1:
        raise ValueError(f"mu is at most 1 for unit rows, not {mu:g}.")
    if not (eta := arguments.step(step)) < 1:
        raise ValueError(f"step must be below 1 for this bound, not {eta:g}.")
    decay = 1 - 2 * eta * mu * (1 - eta)
    return np.asarray(start * decay**k + noise * eta / (mu * (1 - eta)), dtype=np.float64)


def shuffled_floor(count: int, step: float) -> float:
    r"""Single shuffle and random reshuffle on one axis: a floor of at most :math:`\frac12\eta^2m` over σ².

    Half of what Mishchenko, Khaled and Richtárik's bound gives, :math:`2\eta/\mu` times a shuffling variance of at
    most :math:`\frac14\eta m\sigma^2`: summation by parts writes :math:`b/(1-q)` as an average of η times partial sums
    of residuals, whose mean squares are at most :math:`\frac{m^2}{4(m-1)}\sigma^2`.
    """
    return 0.5 * arguments.step(step) ** 2 * arguments.whole(count, "count", 2)


#: Shapes of published rates, as functions of n, m and κ; the smallest loss over constant steps unless stated otherwise.
RATES: dict[str, Callable[[Array, float, float], Array]] = {
    "with replacement": lambda n, m, kappa: 1 / (m * n),
    "Safran–Shamir 2020, single shuffle": lambda n, m, kappa: 1 / (m * n**2),
    "Safran–Shamir 2020, random reshuffle": lambda n, m, kappa: 1 / (m * n) ** 2 + 1 / (m * n**3),
    "Safran–Shamir 2020, fixed order": lambda n, m, kappa: 1 / n**2,
    "Safran–Shamir 2021, single shuffle": lambda n, m, kappa: np.minimum(1, kappa / n) / (m * n),
    "Safran–Shamir 2021, random reshuffle": lambda n, m, kappa: (
        np.minimum(1, kappa / (m * n) + (kappa / n) ** 2) / (m * n)
    ),
    "HaoChen–Sra 2019, random reshuffle": lambda n, m, kappa: 1 / (m * n) ** 2 + 1 / n**3,
    "Cha–Lee–Yun 2023, random reshuffle": lambda n, m, kappa: kappa / (m * n**2),
    "Rajput–Lee–Papailiopoulos 2022, flip-flop": lambda n, m, kappa: 1 / (m * n) ** 2 + 1 / (m * n**4),
}


def rate(result: str, n: ArrayLike, rows: int, condition: float = 1.0) -> FloatOrArray:
    """The shape of a published rate: one of :data:`RATES` at n epochs, m rows and condition number κ.

    >>> float(rate("Safran–Shamir 2020, single shuffle", 10, rows=100))
    0.0001
    """
    shape = RATES[arguments.choice(result, "result", RATES)]
    n = arguments.counts(n, "n").astype(float)
    return shape(n, arguments.whole(rows, "rows", 2), arguments.number(condition, "condition", 0))
