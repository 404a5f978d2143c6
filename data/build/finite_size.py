"""How far one run of every order is from its curve, over covariances, shapes m/d, sizes and steps.

    python data/build/finite_size.py data/finite_size.npz

Every draw is a matrix and one order of its rows (IID, random reshuffle: one stream), from all starts, against the curve
of its own eigenvalues. Fewer rows than dimensions are taken in their span, where the test loss has no plateau.
The law is fitted to five covariances and tried on six other kinds of rows. About half an hour on one core.
"""

import functools
import itertools

import losses
import numpy as np
from sweep import Sweep

from edgelaw import data, exact
from edgelaw.orders import ORDERS
from edgelaw.spectrum import effective_rank, gram_eigenvalues

SEED, DRAWS = 41, 16
EPOCHS = (1, 2, 4, 8, 16, 32, 64)
LEAST = 1e-6  # a smaller loss, above the plateau, is not recorded
FITTED = ("isotropic", "two-point", "uniform", "j^(-1/2)", "1/j")
TRIED = ("geometric", "spiked", "far atoms", "cifar10", "wikipedia", "cifar10, Haar")
ASPECTS, BROAD = (0.3, 0.5, 1.0, 2.0, 4.0), ("j^(-1/2)", "1/j")
CASES = (  # kind, d, m/d, step
    *itertools.product(FITTED, (100,), ASPECTS, (0.5, 1.0, 1.5)),
    *itertools.product(("isotropic", *BROAD), (100,), (0.5, 1.0), (0.25,)),
    *itertools.product(TRIED, (160,), (0.5, 1.0), (0.7, 1.3)),
    *itertools.product(TRIED, (160,), (2.0,), (1.0,)),
    *itertools.product(TRIED, (320,), (0.5,), (1.0,)),
    *itertools.product(FITTED, (400,), ASPECTS, (1.0,)),
    *itertools.product(BROAD, (800,), (0.3, 0.5, 1.0), (1.0,)),
    *itertools.product(BROAD, (1600,), (0.3,), (1.0,)),
)
SWEEP = Sweep(
    "finite_size",
    title="How far one run of each order is from the curve of its eigenvalues, for eleven kinds of rows",
    source="random rows, and cifar10_resnet50.npz and wikipedia_mpnet.npz beside this file",
    seed=SEED,
    keys=(
        "kinds, sizes, aspects, steps: of each case; epochs",
        "fitted: whether the law was fitted to the case",
        "effective_rank, slowest: of the sample, and its smallest positive eigenvalue times rows; means over draws",
        "predicted: (cases, orders, test or training, epochs), mean over draws of the curve without its plateau",
        "off: (cases, draws, orders, test or training, epochs), measured over predicted, less 1",
        "population_off: the curve of the sample over that of its covariance, less 1: root mean square over draws",
    ),
    prose="""
# One run against its curve, at finite size

A draw is a matrix with rows of equal norm and one order of its rows, from all starts; sixteen draws of each case, so
that a mean over draws has a standard error. Losses are without the plateau of directions that no row has; what is below
1e-6 or was refused is NaN. Orders as in `edgelaw.orders.ORDERS`.
""",
)


def covariance(kind, d):
    """Eigenvalues of a covariance."""
    j = np.arange(1, d + 1)
    return {
        "isotropic": np.ones(d),
        "two-point": np.where(j <= d // 2, 0.2, 1.8),
        "uniform": (j - 0.5) / d,
        "j^(-1/2)": j**-0.5,
        "1/j": 1.0 / j,
        "geometric": np.exp(-6.0 * j / d),
        "spiked": np.where(j <= 10, 30.0, 1.0),
        "far atoms": np.where(j <= d // 5, 1.0, 0.02),
    }[kind]


@functools.cache
def features(kind):
    """A shipped data set."""
    return data.load(kind).features


def rows(kind, m, d, rng):
    """Rows of a kind of norm √d."""
    if kind in ("cifar10", "wikipedia"):
        return data.preprocess(features(kind), rows=m, dims=d, rng=rng).X
    if kind == "cifar10, Haar":
        return data.with_spectrum(gram_eigenvalues(rows("cifar10", m, d, rng)), m, rng)
    return rng.standard_normal((m, d)) * np.sqrt(covariance(kind, d))


def in_span(X):
    """Unit rows in an orthonormal basis of their span."""
    U = X / np.linalg.norm(X, axis=1)[:, None]
    if len(U) >= U.shape[1]:
        return U
    values, vectors = np.linalg.eigh(U @ U.T)
    return (vectors * np.sqrt(np.maximum(values, 0)))[:, values > 1e-12 * values[-1]]


def measured(U, n, step, rng):
    """Losses of one run of every order: (orders, 2, epochs)."""
    rows = U.astype(np.float32) if len(U) > 300 else U
    drawn = [losses.fresh_orders(rows, order, n, step, rng) for order in ORDERS[:2]]
    return np.array([*drawn, *losses.fixed_order(rows[rng.permutation(len(U))], n, step)])


def predicted(values, n, step, rho, of=exact.curve):
    """The curves of all orders, NaN where one is refused: (orders, 2, epochs)."""
    made = np.full((len(ORDERS), 2, len(n)), np.nan)
    for j, order in enumerate(ORDERS):
        try:
            made[j] = losses.of_curve(of(order, values, np.array(n), step, rho))
        except ArithmeticError:
            continue
    return made


def of_covariance(kind, d, n, step, rho):
    """The curves of a covariance, without the plateau; NaN for rows that have none."""
    if kind not in FITTED:
        return np.nan
    made, null = predicted(covariance(kind, d), n, step, rho, exact.population_curve), max(0.0, 1 - rho)
    made[:, 0] = (made[:, 0] - null) / (1 - null)
    return made


def recorded_epochs(values, rho):
    """As long as IID leaves enough for the other orders to leave `LEAST`; fewer where a run is long."""
    left = exact.curve("iid", values, np.array(EPOCHS), rho=rho).train[1:]
    last = 16 if len(values) > 300 else 64
    return [n for n, loss in zip(EPOCHS, left, strict=True) if loss > 300 * LEAST and n <= last]


def cell(number):
    """All draws of a case."""
    kind, d, rho, step = CASES[number]
    m = round(rho * d)
    shape = DRAWS, len(ORDERS), 2, len(EPOCHS)
    curves, off, seen, n = np.full(shape, np.nan), np.full(shape, np.nan), [], []
    for k in range(DRAWS):
        rng = np.random.default_rng([SEED, number, k])
        U = in_span(rows(kind, m, d, rng))
        values = gram_eigenvalues(U)
        seen.append([effective_rank(values), len(U) * values[0]])
        n = recorded_epochs(values, len(U) / len(values)) if k == 0 else n
        curve = predicted(values, n, step, len(U) / U.shape[1])
        curves[k, ..., : len(n)] = np.where(curve > LEAST, curve, np.nan)
        off[k, ..., : len(n)] = measured(U, n, step, rng) / curves[k, ..., : len(n)] - 1
    limit = np.full(shape[1:], np.nan)
    limit[..., : len(n)] = of_covariance(kind, d, n, step, rho)
    return {
        **dict(zip(("effective_rank", "slowest"), np.mean(seen, axis=0), strict=True)),
        "predicted": curves.mean(axis=0),
        "off": off,
        "population_off": np.sqrt(np.mean((curves / limit - 1) ** 2, axis=0)),
    }


def gathered(parts):
    """The arrays that ship."""
    kinds, sizes, aspects, steps = zip(*CASES, strict=True)
    arrays = {"kinds": kinds, "sizes": sizes, "aspects": aspects, "steps": steps, "epochs": EPOCHS}
    arrays |= {"fitted": np.isin(kinds, FITTED), "draws": DRAWS}
    for key in ("effective_rank", "slowest", "predicted"):
        arrays[key] = np.array([part[key] for part in parts.values()], dtype=np.float32)
    for key in ("off", "population_off"):
        arrays[key] = np.clip([part[key] for part in parts.values()], -1, 6e4).astype(np.float16)
    return arrays


def main(argv=None):
    """Run it from the command line."""
    cells = {" ".join(map(str, case)): functools.partial(cell, i) for i, case in enumerate(CASES)}
    SWEEP.run(SWEEP.parser(__doc__).parse_args(argv), cells, gathered)


if __name__ == "__main__":
    main()
