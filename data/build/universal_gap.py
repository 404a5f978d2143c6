"""The sweep behind the chapter on the universal gap: four orders, seven edges, seven steps, and what breaks the laws.

    OMP_NUM_THREADS=1 python data/build/universal_gap.py

writes data/universal_gap.npz and its card. Single shuffle and flip-flop have no Monte Carlo noise besides the draw of
the design: their losses are traces of matrix powers. IID is the exact curve of the drawn design's eigenvalues, or,
where rows are not rotationally invariant, its exact expectation. Random reshuffle starts from the identity matrix, so
that only its permutations are drawn.
"""

import functools

import losses
import numpy as np
import scipy.linalg
from sweep import Sweep

from edgelaw import data, exact, kaczmarz
from edgelaw.orders import ORDERS
from edgelaw.theory import gap

SEED = 8
BETAS = (1 / 14, 1 / 7, 0.3, 0.5, 0.75, 1.0, 1.5)
STEPS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75)


def unit_rows(X):
    """Rows of norm 1."""
    return data.normalize_rows(X) / np.sqrt(X.shape[1])


def eigenvalues(U):
    """Eigenvalues of S, the small ones from singular values, which keep twice the digits."""
    return np.linalg.svd(U, compute_uv=False) ** 2


def fixed_order(U, step, doublings):
    """Exact test losses of single shuffle and flip-flop at n = 1, 2, 4, ..."""
    A = kaczmarz.epoch_matrix(U, step)
    mu = np.linalg.svd(A, compute_uv=False) ** 2
    n = 2 ** np.arange(doublings + 1)
    with np.errstate(under="ignore"):
        flipped = np.exp(np.multiply.outer(n, np.log(np.clip(mu, 1e-300, 1)))).mean(axis=1)
    return gap.doubled_losses(A, doublings), flipped


def from_identity(U, order, epochs, step, rng, batch=1):
    """Test losses of one order stream over all starts, at n = 1, 2, 4, ... up to `epochs`."""
    record = 2 ** np.arange(int(np.log2(epochs)) + 1)
    return losses.fresh_orders(U, order, record, step, rng, batch)[0]


def effective_steps(step, values):
    """The effective step that the library states for each order, from the drawn eigenvalues."""
    return {
        "iid": step,
        "random_reshuffle": exact.effective_step("random_reshuffle", step, values),
        "single_shuffle": 1 / (1 / step - 0.5),
        "flip_flop": exact.effective_step("flip_flop", step, values),
    }


def limit(steps, share, n, beta, dims):
    """Extrapolated equivalent step and its distance to a linear fit: a quadratic in n^(-min(beta, 1)).

    Points: up to the last eight doublings from n = 4 on, while the law leaves more than a fiftieth of one direction;
    NaN with fewer than three, where a design of this size is solved before the law could set in.
    """
    x = n ** -min(beta, 1.0)
    good = np.flatnonzero((share * dims >= 0.02) & np.isfinite(steps) & (n >= 4))[-8:]
    if len(good) < 3:
        return np.nan, np.nan
    quadratic = np.polyfit(x[good], np.log(steps[good]), 2)[-1]
    linear = np.polyfit(x[good[-4:]], np.log(steps[good[-4:]]), 1)[-1]
    return np.exp(quadratic), abs(np.exp(quadratic) - np.exp(linear))


def mean_and_error(values):
    """Over the first axis."""
    values = np.array(values)
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))


def edges(rng, dims=400, draws=4, doublings=40, reshuffles=2, epochs=64):
    """Designs with Haar bases: equivalent steps, losses, limits and laws, (beta, step, ...)."""
    n = 2 ** np.arange(doublings + 1)
    table = {"epochs": n, "betas": BETAS, "steps": STEPS, "reshuffle_epochs": 2 ** np.arange(7)}
    cells = [
        [edge_cell(beta, step, rng, dims, draws, n, reshuffles, epochs) for step in STEPS] for beta in BETAS
    ]
    for key in cells[0][0]:
        table[key] = np.array([[cell[key] for cell in row] for row in cells])
    return table


def edge_cell(beta, step, rng, dims, draws, n, reshuffles, epochs):
    """One beta and one step."""
    values = [
        edge_draw(beta, step, rng, dims, n, epochs if draw < reshuffles else 0) for draw in range(draws)
    ]
    cell = {}
    for key in values[0]:
        cell[key], cell[key + "_se"] = mean_and_error([draw[key] for draw in values if key in draw])
    return cell


def edge_draw(beta, step, rng, dims, n, epochs):
    """One design: losses, equivalent steps, limits and laws of all orders; random reshuffle if it has epochs to run."""
    U = unit_rows(data.power_law(dims, dims, beta, rng))
    values = eigenvalues(U)
    curves = dict(zip(("single_shuffle", "flip_flop"), fixed_order(U, step, len(n) - 1), strict=True))
    curves["iid"] = exact.curve("iid", values, n, step).test[1:]
    laws = effective_steps(step, values)
    if epochs:
        curves["random_reshuffle"] = from_identity(U, "random_reshuffle", epochs, step, rng)
    draw = {f"{order}_law": law for order, law in laws.items()}
    for order, loss in curves.items():
        m = n[: len(loss)]
        steps = gap.equivalent_step(loss, values, m)
        draw[f"{order}_loss"], draw[f"{order}_step"] = loss, steps
        edge = 1.0 if order in ("iid", "random_reshuffle") else beta
        draw[f"{order}_limit"] = limit(steps, gap.laplace(values, laws[order] * m), m, edge, dims)
    draw["kappa_2"] = values.var() / values.mean() ** 2
    return draw


def large(rng, dims=2000, doublings=16):
    """The largest designs: one draw each, single shuffle and flip-flop at step 1."""
    betas, rows = (1 / 14, 0.5), []
    n = 2 ** np.arange(doublings + 1)
    for beta in betas:
        U = unit_rows(data.power_law(dims, dims, beta, rng))
        values = eigenvalues(U)
        once, flipped = fixed_order(U, 1.0, doublings)
        rows.append([gap.equivalent_step(loss, values, n) for loss in (once, flipped)])
    return {"large_betas": betas, "large_epochs": n, "large_step": np.array(rows)}


# ------------------------------------------------------------------------------------- rows that are not invariant

DESIGNS = (
    "gaussian",
    "anisotropic",
    "heavy_tailed",
    "correlated",
    "correlated_in_order",
    "clustered",
    "clustered_sorted",
    "cifar10",
    "cifar10_sorted",
    "cifar10_centred",
    "wikipedia",
    "wikipedia_sorted",
    "wikipedia_centred",
)


def design(name, dims, rng):
    """Unit rows in visiting order: shuffled, unless the name says how they are arranged."""
    kind, labels = name.split("_")[0], np.zeros(dims)
    if kind == "gaussian":
        X = data.gaussian(dims, dims, rng)
    elif kind == "anisotropic":
        X = data.gaussian(dims, dims, rng) / np.sqrt(np.arange(1, dims + 1))
    elif kind == "heavy":
        X = rng.standard_t(2.5, (dims, dims))
    elif kind == "correlated":
        noise, X = data.gaussian(dims, dims, rng), np.zeros((dims, dims))
        for i in range(dims):
            X[i] = 0.9 * X[i - 1] + np.sqrt(1 - 0.81) * noise[i]
    elif kind == "clustered":
        labels = np.repeat(np.arange(dims // 10), 10)
        X = data.gaussian(dims // 10, dims, rng)[labels] + 0.3 * data.gaussian(dims, dims, rng)
    else:
        shipped = data.load(kind)
        made = data.preprocess(shipped.features, dims, dims, rng, center=name.endswith("centred"))
        X, labels = made.X, shipped.labels[made.rows]
    if name.endswith("sorted"):
        return unit_rows(X[np.argsort(labels, kind="stable")])
    return unit_rows(X if name.endswith("in_order") else X[rng.permutation(dims)])


def structured(rng, dims=300, draws=3, doublings=7):
    """Every design, three steps, four orders: losses over what the law with the design's own eigenvalues says."""
    n, steps = 2 ** np.arange(doublings + 1), (0.5, 1.0, 1.5)
    ratios = np.full((draws, len(DESIGNS), len(steps), len(ORDERS), len(n)), np.nan)
    values, kappa = ratios.copy(), np.zeros((draws, len(DESIGNS)))
    for draw in range(draws):
        for i, name in enumerate(DESIGNS):
            U = design(name, dims, rng)
            spectrum = eigenvalues(U)
            kappa[draw, i] = spectrum.var()
            for j, step in enumerate(steps):
                laws = effective_steps(step, spectrum)
                for order, loss in design_losses(name, U, step, rng, n, first=draw == 0).items():
                    place = draw, i, j, ORDERS.index(order), slice(len(loss))
                    values[place] = loss
                    ratios[place] = loss / gap.laplace(spectrum, laws[order] * n[: len(loss)])
    table = {
        "designs": np.array(DESIGNS),
        "design_steps": steps,
        "design_epochs": n,
        "design_kappa_2": kappa.mean(axis=0),
    }
    for name, array in (("design_loss", values), ("design_over_law", ratios)):
        table[name], table[name + "_se"] = mean_and_error_of_present(array)
    return table


def design_losses(name, U, step, rng, n, first):
    """Test losses by order; rows in a chosen order have no fresh ones, and IID's expectation is taken once."""
    single, flipped = fixed_order(U, step, len(n) - 1)
    curves = {"single_shuffle": single, "flip_flop": flipped}
    if not name.endswith(("sorted", "in_order")):
        curves["random_reshuffle"] = from_identity(U, "random_reshuffle", 64, step, rng)
        if first:
            curves["iid"] = exact.expected_curve(U, n, step, tolerance=1e-6).test[1:]
    return curves


def mean_and_error_of_present(array):
    """Mean and standard error over the first axis of what is not NaN; NaN where nothing is, or no error is known."""
    absent = np.isnan(array).all(axis=0)
    mean = np.where(absent, np.nan, np.nanmean(np.where(absent, 0, array), axis=0))
    count = (~np.isnan(array)).sum(axis=0)
    with np.errstate(invalid="ignore"):
        spread = np.sqrt(np.nansum((array - mean) ** 2, axis=0) / np.maximum(count - 1, 1))
    return mean, np.where(count > 1, spread / np.sqrt(np.maximum(count, 1)), np.nan)


# ------------------------------------------------------------------------------------------- batches and other orders


def batches(rng, dims=256, draws=4, doublings=10, epochs=32):
    """Projections of b rows, step 1: equivalent steps of single shuffle, IID and random reshuffle."""
    sizes, betas = (1, 4, 16, 32, 64, 128), (0.3, 0.5, 1.0)
    once = np.zeros((draws, len(betas), len(sizes), doublings + 1))
    fresh = np.zeros((draws, 2, len(betas), len(sizes), int(np.log2(epochs)) + 1))
    once_loss, fresh_loss = np.zeros_like(once), np.zeros_like(fresh)
    for draw in range(draws):
        for i, beta in enumerate(betas):
            U = unit_rows(data.power_law(dims, dims, beta, rng))
            values = eigenvalues(U)
            for j, size in enumerate(sizes):
                (_, A), *_ = [
                    pair
                    for pair in kaczmarz.iterates(
                        kaczmarz.Problem(U, batch=size, mode="projection"),
                        "single_shuffle",
                        1,
                        np.eye(dims),
                        1.0,
                        rng=rng,
                    )
                    if pair[0]
                ]
                n = 2 ** np.arange(doublings + 1)
                once_loss[draw, i, j] = gap.doubled_losses(A, doublings)
                once[draw, i, j] = gap.equivalent_step(once_loss[draw, i, j], values, n)
                for k, order in enumerate(("iid", "random_reshuffle")):
                    loss = from_identity(U, order, epochs, 1.0, rng, size)
                    fresh_loss[draw, k, i, j] = loss
                    fresh[draw, k, i, j] = gap.equivalent_step(loss, values, n[: len(loss)])
    table = {"batch_sizes": sizes, "batch_betas": betas, "batch_dims": dims}
    named = (("once_step", once), ("once_loss", once_loss), ("fresh_step", fresh), ("fresh_loss", fresh_loss))
    for name, array in named:
        table[f"batch_{name}"], table[f"batch_{name}_se"] = mean_and_error(array)
    return table


def arrangement(name, U, rng):
    """Rows of U (already shuffled) in a cleverer order, to be repeated every epoch."""
    d, K = len(U), U @ U.T
    leverage = np.diag(np.linalg.solve(K + np.eye(d), K))
    if name in ("far", "near"):
        left, path = np.ones(d, dtype=bool), [0]
        for _ in range(d - 1):
            left[path[-1]] = False
            closeness = np.abs(K[path[-1]])
            score = np.where(left, closeness if name == "near" else -closeness, -np.inf)
            path.append(int(score.argmax()))
        return np.array(path)
    if name == "leverage":
        return np.argsort(-leverage)
    if name == "alternating":
        ranked = np.argsort(-leverage)
        return np.stack([ranked[: d // 2], ranked[::-1][: d // 2]], axis=1).ravel()
    if name == "low_discrepancy":  # along the first principal component, in steps of the golden ratio
        ranked = np.argsort(np.linalg.svd(U)[0][:, 0])
        return ranked[np.argsort((np.arange(d) * (np.sqrt(5) - 1) / 2) % 1)]
    if name == "pivoted":  # the row farthest from the span of those before
        return scipy.linalg.qr(U.T, mode="r", pivoting=True)[1]
    if name == "herding":  # every prefix's sum of u uᵀ as close as it can be to its share of S
        square, path, left = K**2, [], np.ones(d, dtype=bool)
        mean, total = square.mean(axis=1), np.zeros(d)
        for k in range(d):
            score = np.where(left, total - (k + 1) * mean, np.inf)
            path.append(int(score.argmin()))
            left[path[-1]] = False
            total += square[path[-1]]
        return np.array(path)
    return np.arange(d)  # single shuffle


def largest_residual(U, epochs, rng, probes=32):
    """Test losses of the adaptive order that always projects onto the worst equation; d updates per epoch."""
    d, K = len(U), U @ U.T
    W = rng.standard_normal((d, probes))
    W /= np.linalg.norm(W, axis=0)
    residual, norm, columns = U @ W, np.ones(probes), np.arange(probes)
    losses = [1.0]
    for _ in range(epochs):
        for _ in range(d):
            row = np.abs(residual).argmax(axis=0)
            r = residual[row, columns]
            norm -= r**2
            residual -= K[:, row] * r
        losses.append(norm.mean())
    return np.array(losses)


ARRANGEMENTS = ("single", "far", "near", "leverage", "alternating", "low_discrepancy", "pivoted", "herding")


def arrangements(rng, dims=250, draws=6, epochs=64):
    """Losses over single shuffle's, step 1, at n = 8 and 64: fixed orders, fresh orders, and an adaptive one."""
    names, orders = (
        ("gaussian", "power", "cifar10", "clustered"),
        (*ARRANGEMENTS, "largest_residual", "reshuffle"),
    )
    ratios = np.zeros((draws, len(names), len(orders), 2))
    for draw in range(draws):
        for i, name in enumerate(names):
            U = (
                unit_rows(data.power_law(dims, dims, 0.3, rng))
                if name == "power"
                else design(name, dims, rng)
            )
            others = [U[rng.permutation(dims)] for _ in range(4)]
            base = np.mean([fixed_order(V, 1.0, 6)[0][[3, 6]] for V in others], axis=0)
            for j, order in enumerate(ARRANGEMENTS):
                rows = U[arrangement(order, U, rng)]
                ratios[draw, i, j] = fixed_order(rows, 1.0, 6)[0][[3, 6]] / base
            ratios[draw, i, -2] = largest_residual(U, epochs, rng)[[8, 64]] / base
            ratios[draw, i, -1] = from_identity(U, "random_reshuffle", epochs, 1.0, rng)[[3, 6]] / base
    mean, error = mean_and_error(ratios)
    return {
        "order_designs": np.array(names),
        "orders": np.array(orders),
        "order_epochs": (8, 64),
        "order_ratio": mean,
        "order_ratio_se": error,
    }


# ---------------------------------------------------------------------- rows that are not Haar, in random order

GIVEN = (  # flat diagonals and small entries elsewhere; then rows that miss one half
    "Gaussian",
    "Haar basis",
    "signs",
    "sparse signs",
    "Walsh basis, mixed",
    "Fourier basis, mixed",
    "part of a Walsh basis",
    "random ReLU features",
    "half orthonormal",
    "half in a quarter",
    "near-parallel pairs",
    "groups of four",
    "Fourier basis, in order",
    "time series",
)


def given(kind, d, rng):
    """d unit rows of a kind in d dimensions, in no particular order; d is a power of two."""
    X, edge = (
        rng.standard_normal((d, d)),
        (2 * np.arange(d) + 1.0) ** 2,
    )  # eigenvalues with an edge of exponent 1/2
    if kind == "Haar basis":
        X = data.power_law(d, d, 0.5, rng)
    elif kind == "signs":
        X = np.sign(X)
    elif kind == "sparse signs":
        X = np.sign(X) * (rng.random((d, d)) < 0.1)
    elif kind == "Walsh basis, mixed":
        X = scipy.linalg.hadamard(d) * np.sqrt(rng.permutation(edge))
    elif kind.startswith("Fourier"):
        values, k = np.linspace(0, 1, d // 2 + 2)[1:] ** 2, np.arange(d)
        values = rng.permutation(values) if "mixed" in kind else values[::-1]
        spectrum = values[np.minimum(k, d - k)]  # at the frequency of a real vector
        X = scipy.linalg.circulant(np.fft.ifft(np.sqrt(spectrum)).real)
    elif kind == "part of a Walsh basis":
        whole = scipy.linalg.hadamard(2 * d)
        X = whole[rng.choice(2 * d, d, replace=False)][:, rng.choice(2 * d, d, replace=False)] * 1.0
    elif kind == "random ReLU features":
        X = np.maximum(data.normalize_rows(X) @ rng.standard_normal((d, d)) / np.sqrt(d), 0)
        X -= X.mean(axis=0)
    elif kind == "half orthonormal":
        X[: d // 2, d // 2 :] = 0
        X[d // 2 :] = np.eye(d)[d // 2 :]
    elif kind == "half in a quarter":
        X[: d // 2, d // 4 :] = 0
    elif kind in ("near-parallel pairs", "groups of four"):
        size = 2 if kind == "near-parallel pairs" else 4
        X = np.repeat(X[::size], size, axis=0) + 0.3 * X
    elif kind == "time series":
        for i in range(1, d):
            X[i] = 0.9 * X[i - 1] + np.sqrt(1 - 0.81) * X[i]
    return unit_rows(X)


def condition(U):
    """How uneven the diagonals of K^2 and K^3 are, and the largest entry of K and K^2 elsewhere, relatively."""
    powers = [U @ U.T]
    powers += [powers[0] @ powers[0]]
    powers += [powers[0] @ powers[1]]
    heights = [np.diag(power) for power in powers]
    flat = max(height.std() / height.mean() for height in heights[1:])
    large = (np.abs(powers[k] - np.diag(heights[k])).max() / heights[k].mean() for k in (0, 1))
    return flat, max(large)


def again(U, epochs, rng):
    """Random reshuffle from all starts at step 1, epoch matrix by epoch matrix: (2, epochs)."""
    product, seen = np.eye(len(U)), []
    for n in range(1, max(epochs) + 1):
        product = kaczmarz.epoch_matrix(U[rng.permutation(len(U))], 1.0) @ product
        if n in epochs:
            seen.append(losses.of_map(U, product))
    return np.transpose(seen)


def given_rows(rng, sizes=(128, 512), draws=16, epochs=(1, 4, 16, 64), fresh=(1, 4, 16)):
    """Every kind in random orders: the condition at each size; at the last one losses over curves of eigenvalues."""
    seen = {"given_condition": [], "given_over_curve": []}
    for kind in GIVEN * draws:
        rows = [given(kind, d, rng) for d in sizes]
        U = rows[-1][rng.permutation(sizes[-1])]
        predicted = losses.predicted(eigenvalues(U), epochs, 1.0)
        measured = np.full_like(predicted, np.nan)
        measured[0] = losses.of_curve(exact.expected_curve(U, np.array(epochs), 1.0, tolerance=1e-5))
        measured[1, :, : len(fresh)] = again(U, fresh, rng)
        measured[2:] = losses.fixed_order(U, epochs, 1.0)
        seen["given_condition"].append([condition(V) for V in rows])
        seen["given_over_curve"].append(measured / predicted)
    table = {"given": np.array(GIVEN), "given_sizes": sizes, "given_epochs": epochs}
    for name, values in seen.items():
        by_draw = np.reshape(values, (draws, len(GIVEN), *np.shape(values[0])))
        table[name], table[name + "_se"] = mean_and_error(by_draw)
    return table


SWEEP = Sweep(
    "universal_gap",
    title="Test losses of four orders across left edges, steps and kinds of rows",
    source="computed from random designs and the two shipped embedding sets; nothing was downloaded",
    seed=SEED,
    list_cells=True,
    prose="""
# The sweep of the chapter on the universal gap

Test losses of four orders on designs with chosen left edges, and on rows that break rotational invariance. Made by
`data/build/universal_gap.py` with one seed; the front part of this card is rewritten by it, this part is written by
hand.

**What is exact.** Single shuffle and flip-flop: traces of powers of the epoch matrix of the drawn design, by repeated
squaring and by singular values; the only noise is the draw. IID: on Haar designs the large-d curve of the drawn
eigenvalues (`edgelaw.exact.curve`), elsewhere the exact expectation (`expected_curve`). Random reshuffle: all
starts at once, drawn permutations.

**How to read it.** `*_step` is the equivalent step (`edgelaw.theory.gap.equivalent_step`), `*_limit` its extrapolation
(value, distance to a linear fit), `*_law` the effective step the library states for the drawn eigenvalues; `*_se` are
standard errors over draws. The first two axes are the exponents `betas` and the steps `steps`.

**Given rows** (`given*`): kinds of rows, most of them not Haar, in random orders, 16 draws of each. `given_over_curve`:
(kinds, orders, test or training, epochs), losses of 512 rows at step 1 over the curves of the draw's own eigenvalues,
random reshuffle up to epoch 16. `given_condition`: (kinds, sizes, two numbers), how uneven the diagonals of K^2 and K^3
are, and the largest other entry of K and K^2 over the mean of the diagonal.
""",
)
PARTS = (edges, large, structured, batches, arrangements, given_rows)


def gathered(parts):
    """The arrays that ship: real numbers in single precision, but for the axes."""
    arrays = {}
    for part in parts.values():
        for key, array in part.items():
            keep = array.dtype.kind in "iUS" or key in ("betas", "steps")
            arrays[key] = array if keep else array.astype(np.float32)
    return arrays


def main(argv=None):
    """Run it from the command line."""
    children = np.random.default_rng(SEED).spawn(len(PARTS))
    cells = {
        part.__name__: functools.partial(part, child) for part, child in zip(PARTS, children, strict=True)
    }
    SWEEP.run(SWEEP.parser(__doc__).parse_args(argv), cells, gathered)


if __name__ == "__main__":
    main()
