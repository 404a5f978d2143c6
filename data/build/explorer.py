"""Tables of exact curves for the book's explorer page: isotropic Gaussian rows, and five spectra at m = d.

    python data/build/explorer.py data/explorer.npz

The sliders of the page stop at the tables' own steps and aspects, and only epochs between those listed are
interpolated. `held_out` measures the error at epochs off the tables. About twelve minutes on one core; an interrupted
run continues.
"""

import functools

import losses
import numpy as np
from scipy.special import gamma, roots_jacobi
from sweep import Sweep

from edgelaw import data, exact, spectrum
from edgelaw.theory import BY_ORDER

SEED = 0
RHO = (0.25, 0.5, 2 / 3, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0)
BETA = (0.25, 0.5, 1.0)
SPECTRA = (*(f"beta {beta:g}" for beta in BETA), "cifar10", "wikipedia")
STEPS = {
    "isotropic": np.append(np.arange(1, 31) / 20, [1.6, 1.7, 1.8, 1.9]),
    "spectra": np.arange(1, 19) / 10,
}
FEW = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 19, 22, 26, 30, 35, 41)
EPOCHS = {"isotropic": (*FEW, 48, 57, 66, 78, 91, 106, 125, 146, 171, 200), "spectra": (*FEW, 50)}
SCALE = 2000  # a loss is stored as round(-SCALE log loss), at most 65535
FLOOR = 1e-9  # losses below it are not shown: the stencil of a loss above it holds no stored value cut off at 65535
HELD_OUT = 20  # curves of each kind with every epoch

SWEEP = Sweep(
    "explorer",
    title="Exact curves of all four orders, tabulated for the explorer page",
    source="computed from formulas and the two shipped embedding sets; nothing was downloaded",
    seed=SEED,
    keys=(
        "rho, spectra, scale, floor; epochs VIEW, steps VIEW: the axes of the tables, VIEW isotropic or spectra",
        "table VIEW: -scale log loss in 16 bits (rho or spectra, steps, orders, test or training, epochs), as "
        "differences modulo 2^16 along epochs, then along steps",
        "constants VIEW: of the power law c n^(-p) at the steps; isotropic (steps, orders, 2) at rho = 1, spectra "
        "(spectra, steps, orders, 2), NaN where none is known",
        "powers VIEW: p for test and training loss (2,) or (spectra, 2)",
        "error VIEW: the largest relative error of what the page shows, over held-out curves with every epoch",
        "held out VIEW: number of the rho or spectrum, and step, of those curves",
        "eigenvalues DATA SET: what its curves are made from",
    ),
    prose="""
# What the explorer draws

Isotropic Gaussian rows as d → ∞ (`test_loss`, `train_loss` of every order), and `curve` of every order at m = d: for
the continuous laws F ∝ λ^β (200 nodes of Gauss and Jacobi with their weights), and for 512 rows of each shipped
embedding set in 512 dimensions, preprocessed with seed 0. Nothing was simulated. Orders as in `edgelaw.orders.ORDERS`.
""",
)


def law(beta, nodes=200):
    """Nodes and weights of the continuous law F = (λ/λmax)^β with mean 1: what a designed exponent is at d = ∞."""
    x, weights = roots_jacobi(nodes, 0, beta - 1)
    weights = weights / weights.sum()
    return (1 + x) / (1 + x @ weights), weights


@functools.cache
def sample(name, nodes=200):
    """Eigenvalues and weights of one spectrum of the table."""
    if name.startswith("beta"):
        return law(float(name.split()[1]), nodes)
    X = data.preprocess(data.load(name).features, rows=512, dims=512, rng=SEED).X
    return spectrum.gram_eigenvalues(X, method="gram"), None


def isotropic(place, epochs):
    """Losses (orders, 2, epochs) at ``place``: the number of a rho, and a step."""
    rho, step = RHO[place[0]], place[1]
    return np.array(
        [[f(np.array(epochs), step, rho) for f in (t.test_loss, t.train_loss)] for t in BY_ORDER.values()]
    )


def spectra(place, epochs):
    """Losses (orders, 2, epochs) at ``place``: the number of a spectrum, and a step."""
    curves = [_curve(order, SPECTRA[place[0]], epochs, place[1]) for order in BY_ORDER]
    return np.array([losses.of_curve(curve) for curve in curves])


def _curve(order, name, epochs, step):
    """The curve on a spectrum; where it is refused, that of a quadrature with fewer nodes of the same law."""
    for nodes in (200, 120, 150, 80):
        values, weights = sample(name, nodes)
        try:
            return exact.curve(order, values, np.array(epochs), step, weights=weights)
        except ArithmeticError as refusal:
            if not name.startswith("beta"):
                raise
            last = refusal
    raise last


COMPUTE = {"isotropic": isotropic, "spectra": spectra}


def cases(view):
    """Every place of a table, (rho or spectrum, step), by step: the quick ones first."""
    return [(k, step) for step in STEPS[view] for k in range(len(RHO if view == "isotropic" else SPECTRA))]


def held_out(view):
    """Random places at which curves with every epoch are compared with the tables."""
    rng = np.random.default_rng([SEED, len(STEPS[view])])
    first = rng.integers(len(RHO if view == "isotropic" else SPECTRA), size=HELD_OUT)
    return [(int(k), float(step)) for k, step in zip(first, rng.choice(STEPS[view], HELD_OUT), strict=True)]


def encoded(values):
    """Losses as 16-bit numbers."""
    with np.errstate(divide="ignore"):
        return np.minimum(np.round(-SCALE * np.log(values)), 65535).astype(np.uint16)


def packed(table):
    """Differences of a table's 16-bit numbers along epochs, then along steps: what is smooth takes little room."""
    for axis in (4, 1):
        table = np.diff(table, axis=axis, prepend=np.uint16(0))
    return table


def unpacked(differences):
    """The table of such differences; sums in 16 bits wrap around as the differences did."""
    for axis in (1, 4):
        differences = np.cumsum(differences, axis=axis, dtype=np.uint16)
    return differences


def tables(arrays=None):
    """What ships, or what a file holds, with its tables unpacked."""
    arrays = data.sweep("explorer") if arrays is None else dict(arrays)
    return arrays | {f"table {view}": unpacked(arrays[f"table {view}"]) for view in COMPUTE}


def interpolated(codes, epochs, n):
    """Losses at whole epochs n from codes (..., epochs), mixed over steps or not: what assets/explorer.js does.

    A cubic through four neighbours in log n, of log loss; at a listed epoch, its own value.
    """
    t, x = np.log(np.asarray(epochs, dtype=float)), np.log(np.asarray(n, dtype=float))
    first = np.clip(np.searchsorted(epochs, n) - 2, 0, len(epochs) - 4)
    logs = 0.0
    for a in range(4):
        weight = 1.0
        for b in range(4):
            if b != a:
                weight = weight * (x - t[first + b]) / (t[first + a] - t[first + b])
        logs = logs - weight * codes[..., first + a].astype(float) / SCALE
    return np.exp(logs)


def read(view, table, k, step, n):
    """Losses (orders, 2, n) of a case k at a stop of the slider, from the table."""
    return interpolated(table[k, int(np.abs(STEPS[view] - step).argmin())], EPOCHS[view], n)


def largest_error(view, table, places, full):
    """The largest relative error above the floor, at every epoch of the held-out curves (places, orders, 2, n)."""
    n = np.arange(1, EPOCHS[view][-1] + 1)
    worst = 0.0
    for (k, step), truth in zip(places, full, strict=True):
        shown = read(view, table, k, step, n)
        visible = (truth > FLOOR) | (shown > FLOOR)
        worst = max(worst, float(np.abs(shown / np.maximum(truth, 1e-300) - 1)[visible].max()))
    return worst


def edge(name, values):
    """β and Q of F ≈ Q λ^β at zero: of the law itself, or fitted to a data set's left tenth."""
    if name.startswith("beta"):
        beta = float(name.split()[1])
        return beta, (beta / (1 + beta)) ** beta
    fit = spectrum.fit_edge(values)
    return fit.beta, fit.Q


def power_laws():
    """The constants and powers of both views, as the card describes them."""
    plain = [
        [[t.test_constant(step), t.train_constant(step)] for t in BY_ORDER.values()]
        for step in STEPS["isotropic"]
    ]
    constants = np.full((len(SPECTRA), len(STEPS["spectra"]), len(BY_ORDER), 2), np.nan)
    powers = np.empty((len(SPECTRA), 2))
    for k, name in enumerate(SPECTRA):
        beta, Q = edge(name, sample(name)[0])
        # Effective steps take equally weighted eigenvalues; the midpoints of 1024 quantiles stand for a law.
        values = data.power_law_eigenvalues(1024, beta) if name.startswith("beta") else sample(name)[0]
        powers[k] = beta, beta + 1
        for j, step in enumerate(STEPS["spectra"]):
            for i, order in enumerate(BY_ORDER):
                effective = exact.effective_step(order, step, values)
                constants[k, j, i, 0] = Q * gamma(beta + 1) * (2 * effective) ** -beta
            constants[k, j, 0, 1] = beta / (step * (2 - step)) * constants[k, j, 0, 0]
    return {
        "constants isotropic": np.array(plain),
        "powers isotropic": np.array([0.5, 1.5]),
        "constants spectra": constants,
        "powers spectra": powers,
    }


def cell(view, place, epochs):
    """Logarithms of the losses at one place of a table, in single precision: (orders, 2, epochs)."""
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(COMPUTE[view](place, epochs)), -700)
    return {"logs": logs.astype(np.float32)}


def all_cells():
    """Every place of both tables, and the held-out curves with every epoch."""
    cells = {}
    for view in COMPUTE:
        every = range(1, EPOCHS[view][-1] + 1)
        for kind, places, epochs in (
            ("table", cases(view), EPOCHS[view]),
            ("held out", held_out(view), every),
        ):
            for number, place in enumerate(places):
                cells[f"{view} {kind} {number}"] = functools.partial(cell, view, place, epochs)
    return cells


def gathered(parts):
    """The arrays that ship."""

    def curves(view, kind, count):
        logs = [parts[f"{view} {kind} {number}"]["logs"] for number in range(count)]
        return np.exp(np.array(logs, dtype=float))

    arrays = {"rho": RHO, "spectra": SPECTRA, "scale": SCALE, "floor": FLOOR}
    for view in COMPUTE:
        places, steps = held_out(view), STEPS[view]
        table = curves(view, "table", len(cases(view)))
        table = encoded(table.reshape(len(steps), -1, *table.shape[1:]).swapaxes(0, 1))
        error = largest_error(view, table, places, curves(view, "held out", len(places)))
        arrays |= {f"steps {view}": steps, f"epochs {view}": EPOCHS[view], f"table {view}": packed(table)}
        arrays |= {f"error {view}": error, f"held out {view}": places}
    arrays |= power_laws()
    return arrays | {f"eigenvalues {name}": sample(name)[0] for name in SPECTRA[-2:]}


def main(argv=None):
    """Run it from the command line."""
    SWEEP.run(SWEEP.parser(__doc__).parse_args(argv), all_cells(), gathered)


if __name__ == "__main__":
    main()
