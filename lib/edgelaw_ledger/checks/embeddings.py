"""Checks of the claims on real embeddings: G7 to G13, G15 to G17, G20, G21, over several seeds each."""

import functools
import math

import numpy as np

from edgelaw import data, exact, kaczmarz, shipped, spectrum
from edgelaw.spectrum import effective_rank, fit_edge, gram_eigenvalues, quantile_ratio
from edgelaw.theory import gradient_descent, iid, regimes
from edgelaw_ledger.evidence import Evidence, Row, below, compared, near, number, off, printed, true
from edgelaw_ledger.routes import averaged, require, within

SIZE = 512


@functools.cache
def _features(source):
    """Shipped embeddings, noise, or independent Gaussian columns with variances that fall as a power of j."""
    if source in ("cifar10", "wikipedia"):
        return shipped.load(source).features
    noise = np.random.default_rng(21).standard_normal((1100, 1024), dtype=np.float32)
    decay = {"noise": 0.0, "1/j": 0.5, "1/j²": 1.0}[source]
    return noise * np.arange(1, 1025, dtype=np.float32) ** -decay


@functools.cache
def _spectrum(source, rows, seed):
    """The spectrum after the paper's preprocessing; for "gaussian", of a square Gaussian design."""
    if source == "gaussian":
        return gram_eigenvalues(data.gaussian(rows, rows, rng=seed))
    return gram_eigenvalues(data.preprocess(_features(source), rows, SIZE, rng=seed).X)


def _spectra(source, rows=SIZE, seeds=16):
    """Such spectra, one per seed."""
    return [_spectrum(source, rows, seed) for seed in range(seeds)]


def _exponents(source, rows=SIZE, seeds=16, zeros="count"):
    """Fitted exponents of such spectra, one per seed."""
    return [fit_edge(values, zeros=zeros).beta for values in _spectra(source, rows, seeds)]


def _rank_by_trace(X):
    """The effective rank without eigenvalues: squares of a trace over a sum of squares."""
    H = X.T @ X
    return np.trace(H) ** 2 / np.vdot(H, H)


def _ranks(size, seeds, prepare=np.asarray):
    """Effective ranks of square Gaussian designs, one per seed, by traces: a squared trace over a sum of squares."""
    return [_rank_by_trace(prepare(data.gaussian(size, size, rng=seed))) for seed in range(seeds)]


def _against_draws(values, stated, digits):
    """A printed measurement holds within 1 % of the mean, and is imprecise within two standard deviations of a draw."""
    (mean, error), spread = averaged(values), np.std(values, ddof=1)
    require(error < 0.01 * mean, "a standard error of the mean below 1 %")
    told = (
        f"{mean:.{digits}f} on average over {len(values)} draws (standard error {error:.{digits}f}), "
        f"{spread:.{digits}f} the spread of a draw",
        f"{stated:g}",
    )
    return compared(
        Row(*told, "1 % of the mean", bool(abs(mean - stated) < 0.01 * mean)),
        repaired=[Row(*told, "imprecise within 2 spreads of a draw", bool(abs(mean - stated) < 2 * spread))],
    )


def g7(*, beta: float = 0.50) -> Evidence:
    """The paper's fit on Gaussian designs of 512 rows, mean and spread over 24 draws, beside the exact quantiles."""
    exponents = _exponents("gaussian", seeds=24)
    ranks, law = np.arange(1, SIZE + 1), spectrum.MarchenkoPastur()
    smooth, shifted = (fit_edge(law.quantile((ranks - c) / SIZE)).beta for c in (0.5, 0.75))  # no randomness
    require(abs(np.mean(exponents) - shifted) < 0.01, "the mean is the biased value")
    require(abs(smooth - 0.488) < 5e-4, "the bias of the ranks")
    require(abs(shifted - 0.482) < 5e-4, "the bias with a quarter of an eigenvalue at zero")
    return _against_draws(exponents, beta, 3)


def g8(*, rank: float = 257.0) -> Evidence:
    """Effective rank of 40 row-normalised Gaussian designs, by traces, beside $d^2/(2d-1)$ worked out by hand."""
    ranks, by_hand = _ranks(SIZE, 40, data.normalize_rows), SIZE**2 / (2 * SIZE - 1)
    require(within(*averaged(ranks), by_hand), f"{by_hand:.2f} by hand")
    return _against_draws(ranks, rank, 2)


def g9(*, ratio: float = 450.0) -> Evidence:
    """The quantile ratio of 32 Gaussian designs of 512 rows, beside the quantiles of Marchenko and Pastur's law."""
    law = spectrum.MarchenkoPastur()
    require(abs(law.quantile(0.95) / law.quantile(0.05) - 500) < 0.5, "the limit 500")
    return _against_draws([quantile_ratio(values) for values in _spectra("gaussian", seeds=32)], ratio, 0)


def g10(*, rank: float = 512.0, size: int = 1024) -> Evidence:
    """Effective rank of Gaussian designs of 1024 rows, by traces, and $d^2/(2d+1)$ by hand, against half of d."""
    mean, error = averaged(_ranks(size, 16))
    require(error < 0.5 and abs(mean - size**2 / (2 * size + 1)) < 4 * error + 0.1, "the mean by hand")
    return number(mean, rank, 0.005, what="effective rank")


def g11(*, text: float = 0.45, table: float = 0.46) -> Evidence:
    """The fit on 16 preprocessings of the shipped CIFAR-10 features, against the two printed exponents."""
    exponents = _exponents("cifar10")
    mean, spread = np.mean(exponents), np.std(exponents, ddof=1)
    possible = [
        off(
            f"{mean:.3f} ± {spread:.3f} over 16 seeds (Keras's weights) from {stated}",
            mean - stated,
            2 * spread,
        )
        for stated in (text, table)
    ]
    return compared(true("text and table agree", abs(text - table) < 1e-9), *possible, repaired=possible)


def g12(*, beta: float = 0.45) -> Evidence:
    """Exponent and effective rank of images, noise and features of rank four, through one preprocessing, 16 seeds."""
    rows, ranks = [], {}
    for source in ("cifar10", "noise", "1/j²"):
        mean = np.mean(_exponents(source))
        ranks[source] = np.mean([effective_rank(v) for v in _spectra(source)])
        require(abs(mean - beta) < 0.04, "one exponent for all three")
        what = f"{source}: β {mean:.2f}, effective rank {ranks[source]:.0f}, isotropic: above 0.4 d"
        rows.append(true(what, ranks[source] > 0.4 * SIZE))
    require(bool(ranks["noise"] > 200 > 60 > ranks["cifar10"] and ranks["1/j²"] < 8), "ranks far apart")
    return compared(*rows)


def g13() -> Evidence:
    """Rank and null vector of the centred square matrix, its effect on fit and test loss, and 513 rows as the cure."""
    square, taller = (data.preprocess(_features("cifar10"), SIZE + k, SIZE, rng=0).X for k in (0, 1))
    ranks = [float((gram_eigenvalues(X) > 0).sum()) for X in (square, taller)]
    floor, late = exact.curve("iid", _spectra("cifar10")[0], [100, 10**9], 1.0).test[:0:-1]
    counted = np.mean(_exponents("noise"))
    dropped, longer = (
        np.mean(_exponents("noise", **other)) - counted for other in ({"zeros": "drop"}, {"rows": SIZE + 1})
    )
    require(abs(floor * SIZE - 1) < 1e-3, "a floor of 1/d")
    return compared(
        near("rank of 512 centred rows", ranks[0], SIZE, 0.0),
        repaired=[
            near("of 513 rows", ranks[1], SIZE, 0.0),
            near("trace of H", (square**2).sum() / SIZE, SIZE, 1e-12),
            printed("share of the floor in the test loss after 100 epochs", floor / late, 0.02),
            printed("exponent of noise without the zero, more", dropped, 0.02),
            printed("from 513 rows", longer, 0.01),
        ],
    )


def g15(*, orders: float = 4.0) -> Evidence:
    """How many decades epochs and both losses of Gaussian rows cover in a hundred epochs, on the exact curves."""
    test, train = (loss([1, 100]) for loss in (iid.test_loss, iid.train_loss))
    require(test[0] / iid.test_constant() > 1.2, "the law is off by a quarter after one epoch")
    decades = {
        "epochs": 2.0,
        "test loss": math.log10(test[0] / test[1]),
        "training": math.log10(train[0] / train[1]),
    }
    told = ", ".join(f"{x:.1f} of {name}" for name, x in decades.items())
    return compared(
        true(f"{orders:g} decades, or half a one less, among {told}", max(decades.values()) >= orders - 0.5)
    )


def _roughness(X, order, epochs=40):
    """Spread of the change of log loss in one epoch, and of log loss over runs: each (test, training)."""
    starts = np.random.default_rng(0).standard_normal((X.shape[1], 16)).astype(X.dtype)
    logs = []
    for stream in range(16):
        walk = kaczmarz.iterates(X, order, [epochs - 1, epochs], starts, rng=stream)
        W = np.array([w for _, w in walk])[1:]
        logs.append(np.log([(W**2).sum(axis=1) / (starts**2).sum(axis=0), ((X @ W) ** 2).sum(axis=1)]))
    logs = np.array(logs)
    return np.diff(logs, axis=2)[:, :, 0].std(axis=(0, 2)), logs[:, :, 1].std(axis=(0, 2))


def g16() -> Evidence:
    """Roughness along a run and spread between runs, for fresh draws and for a fixed order with the same weights."""
    gaussian = data.gaussian(SIZE, SIZE, rng=0).astype(np.float32)
    images = data.preprocess(_features("cifar10"), SIZE, SIZE, rng=0).X.astype(np.float32)
    drawn, between = _roughness(gaussian, "iid")
    on_images, fixed = (_roughness(images, order)[0] for order in ("iid", "single_shuffle"))
    rougher = below(
        "change in an epoch, test loss over training",
        max(drawn[0] / drawn[1], on_images[0] / on_images[1]),
        0.1,
    )
    inherent = fixed[1] / on_images[1]
    return compared(
        rougher,
        true(f"inherent in the weights: above 0.3 of it in a fixed order, {inherent:.2f}", inherent > 0.3),
        below("spread of the test loss between runs over that in training", between[0] / between[1], 1 / 1.1),
        repaired=[rougher],
    )


def g17(*, at_6: float = 0.14, at_13: float = 0.07) -> Evidence:
    """The two decimals of 1/7 and 1/14."""
    return compared(printed("1/7", 1 / 7, at_6, 2), printed("1/14", 1 / 14, at_13, 2))


def _fitted_law(values):
    """The fitted power laws over the exact curve: farthest from 1 at n = 10 to 100, and inside the fitted window."""
    fit = fit_edge(values)
    start = math.ceil(1 / (2 * fit.window[1]))  # the first epoch that works on fitted eigenvalues
    n = np.array([10, 30, 100, start, 2 * start])
    errors = []
    for part in (n[:3], n[3:]):
        curve = exact.curve("iid", values, part, 1.0)
        ratio = np.array(iid.edge_law(curve.epochs[1:], fit)) / [curve.test[1:], curve.train[1:]]
        errors.append(np.abs(ratio - 1).max())
    return errors


def _head():
    """The Transformer head on the shipped spectrum: start of the window, worst ratio of the law, range of the slope."""
    with np.load(shipped.folder() / "transformer_runs.npz", allow_pickle=False) as runs:
        values = runs["frozen_spectra"][0, 0].astype(float)
    step, fit = 1 / values[-1], spectrum.fit_shifted_edge(values, 0.25)
    start = regimes.window_start(fit, step)
    n = np.unique(np.geomspace(start, 8000, 40).astype(int))
    curve = gradient_descent.curve(values, n, step)
    law = np.array(regimes.gap_and_atom(n, fit, values[0], 1 / len(values), step))
    slope = -np.gradient(np.log(curve.test[1:]), np.log(n))
    return start, np.abs(law / [curve.test[1:], curve.train[1:]] - 1).max(), slope.min(), slope.max()


def _slope(source):
    """The decades that IID sampling's test loss falls from 10 to 100 epochs, on 16 exact curves."""
    curves = [exact.curve("iid", values, [10, 100], 1.0).test for values in _spectra(source)]
    return np.mean([math.log10(test[1] / test[2]) for test in curves])


def g20(*, steps: float = 1e3) -> Evidence:
    """Fitted laws over exact curves on both embeddings and on a Transformer head, inside their windows and outside."""
    sources = ("cifar10", "wikipedia")
    early, late = np.max([_fitted_law(v) for source in sources for v in _spectra(source)], axis=0)
    slopes = {source: (_slope(source), np.mean(_exponents(source))) for source in sources}
    start, head, lowest, highest = _head()
    return compared(
        off("fitted law at n = 10 to 100, both losses, two stand-ins", early, 0.1),
        *(
            off(f"slope of {name} from its fitted exponent", abs(a - b), 0.05)
            for name, (a, b) in slopes.items()
        ),
        off("slope of the head in its window, from one power", highest - lowest, 0.5),
        repaired=[
            off("fitted law once 1/(2n) is inside the fitted window", late, 0.2),
            off(f"the head's law from step {start:.0f} on", head, 0.2),
            true(f"which is after about {steps:g} steps", steps / 3 < start < 3 * steps),
        ],
    )


def g21(*, beta: float = 0.5) -> Evidence:
    """Exponents of images, text, noise and 1/j features at m = d and m = 2d, and effective ranks, over 16 seeds."""
    rows, noise = [], np.mean([effective_rank(v) for v in _spectra("noise")])
    for source in ("cifar10", "wikipedia", "noise", "1/j"):
        square, tall = (np.mean(_exponents(source, size, zeros="drop")) for size in (SIZE, 2 * SIZE))
        rank = np.mean([effective_rank(v) for v in _spectra(source)])
        require(
            abs(square - beta) < 0.04 and tall > 1.2, "β = 1/2 for all at m = d, another exponent at m = 2d"
        )
        rows.append(true(f"{source}, rank {rank:.0f}: above 80 % of noise's", rank > 0.8 * noise))
        rows.append(off(f"{square:.2f} at m = d, {tall:.1f} at m = 2d, from β ≈ {beta}", tall - beta, 0.1))
    return compared(*rows)
