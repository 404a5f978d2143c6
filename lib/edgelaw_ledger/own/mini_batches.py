"""Checks of the chapter on averaged batches: the algebra of an epoch, effective and best steps, embeddings."""

import functools

import numpy as np
from scipy import optimize

from edgelaw import data, exact, kaczmarz
from edgelaw.exact import critical_batch, stability
from edgelaw.laws import MarchenkoPastur
from edgelaw.spectrum import gram_eigenvalues
from edgelaw_ledger.evidence import Evidence, compared, drawn, near, off, true
from edgelaw_ledger.routes import averaged, unit_rows


@functools.cache
def _epoch(rows, dims, batch, tau):
    """Random unit rows, the matrix of one epoch as a product, the triangular matrix M, and the blocks D."""
    U, A = unit_rows(rows, dims, np.random.default_rng(131)), np.eye(dims)
    for part in U.reshape(rows // batch, batch, dims):
        A = A - tau * part.T @ (part @ A)
    K, number = U @ U.T, np.arange(rows) // batch
    M = np.eye(rows) / tau + np.where(number[:, None] > number, K, 0)
    return U, A, M, np.where(number[:, None] == number, K, 0)


def algebra_of_batches(*, two: float = 2.0) -> Evidence:
    """The product of an epoch's factors against the block-triangular matrix, and both sides of the bound on A'A."""
    worst, least = 0.0, np.inf
    for rows, dims, batch, tau in ((40, 60, 8, 0.6), (60, 60, 15, 0.4), (90, 60, 30, 0.25)):
        U, A, M, D = _epoch(rows, dims, batch, tau)
        E, S = two / tau * np.eye(rows) - D, U.T @ U
        inner = np.linalg.solve(M, U)
        loss = np.eye(dims) - A.T @ A
        worst = max(worst, np.abs(A - np.eye(dims) + U.T @ inner).max())
        worst = max(worst, np.abs(M + M.T - E - U @ U.T).max(), np.abs(loss - inner.T @ E @ inner).max())
        delta = 2 / tau - np.linalg.norm(D, 2)
        low, high = delta / np.linalg.norm(M, 2) ** 2 * S, 8 / (tau * delta**2) * S
        least = min(least, delta, *(np.linalg.eigvalsh(gap)[0] for gap in (loss - low, high - loss)))
    return compared(
        off("three identities on three shapes", worst, 1e-12),
        true("every batch contracts, and both bounds on I - A'A hold", bool(least > -1e-12)),
    )


@functools.cache
def _slow_forms(rows, batch, tau, draws):
    """1/(o'Mo) and 1/(2o'ME⁻¹M'o) for null vectors o of Gaussian rows with one dimension fewer, and their errors."""
    rng, number, forms = np.random.default_rng(132), np.arange(rows) // batch, []
    for _ in range(draws):
        U = unit_rows(rows, rows - 1, rng)
        K, o = U @ U.T, np.linalg.qr(U, mode="complete")[0][:, -1]
        M = np.eye(rows) / tau + np.where(number[:, None] > number, K, 0)
        back = M.T @ o
        forms.append((o @ M @ o, 2 * back @ np.linalg.solve(M + M.T - K, back)))
    means, errors = averaged(forms)
    return 1 / means, errors / means**2


def effective_steps_of_batches(
    *,
    iid: float = 0.5,
    reshuffle: float = 0.5938,
    single: float = 0.6154,
    flip_flop: float = 0.5663,
    draws: int = 16,
) -> Evidence:
    """Effective steps at 1/2 per row and four batches per epoch: the library, and null vectors of random matrices."""
    law = MarchenkoPastur().quantile((np.arange(1000) + 0.5) / 1000)
    stated = {"iid": iid, "random_reshuffle": reshuffle, "single_shuffle": single, "flip_flop": flip_flop}
    ours = {order: float(exact.effective_step(order, 125.0, law, 250)) for order in stated}
    rows = [near(order, ours[order], value, 0.004) for order, value in stated.items()]
    for order, seen, error in zip(
        ("single_shuffle", "flip_flop"), *_slow_forms(400, 100, 0.5, draws), strict=True
    ):
        rows += [
            drawn("on matrices", seen, error + ours[order] / 1600, ours[order]),
            off("standard error", error, 0.003),
        ]
    return compared(*rows)


@functools.cache
def advantage(batch, tau, epochs=128, dims=512):
    """IID's test loss over single shuffle's on isotropic rows, by exact curves."""
    iid, single = (
        exact.population_curve(order, np.ones(dims), [epochs], tau * batch, batch=batch).test[-1]
        for order in ("iid", "single_shuffle")
    )
    return float(iid / single)


@functools.cache
def off_the_law(dims=512):
    """The largest distance in per cent of that ratio from its law, five batch sizes, two kinds of steps."""
    cells = [(b, tau) for b in (2, 8, 32, 128, 256) for tau in (1 / b, 0.5)]
    return 100 * max(abs(advantage(b, tau) * np.sqrt(1 - tau / 2 * (1 - b / dims)) - 1) for b, tau in cells)


def _loss_at(step, eigenvalues, order, batch, epochs):
    return float(exact.curve(order, eigenvalues, [epochs], step, batch=batch).test[-1])


def _best_step(eigenvalues, order, batch, epochs):
    """The step of the smallest test loss, from half of the largest stable one to 95 % of it."""
    asked, limit = (eigenvalues, order, batch, epochs), stability(order, eigenvalues, batch=batch)
    within, how = (0.5 * limit, 0.95 * limit), {"xatol": 0.02 * limit}
    found = optimize.minimize_scalar(_loss_at, within, within, asked, "bounded", options=how)
    if found.x < 0.52 * limit:
        raise ArithmeticError("The best step is below half of the stable ones.")
    return found.x if found.fun < _loss_at(within[1], *asked) else within[1]


@functools.cache
def gains_at_best_steps(batch, draws):
    """IID's loss over single shuffle's on Gaussian rows, each at its best step: mean over draws and standard error.

    The best step is that of the mean spectrum: near a minimum a little more or less is the same.
    """
    drawn_rows = (data.normalize_rows(data.gaussian(256, 256, rng=seed)) for seed in range(draws))
    spectra, losses = [gram_eigenvalues(X) for X in drawn_rows], []
    for order in ("iid", "single_shuffle"):
        step = _best_step(np.mean(spectra, axis=0), order, batch, 40)
        losses.append([_loss_at(step, values, order, batch, 40) for values in spectra])
    return averaged(np.divide(*losses))


@functools.cache
def embeddings(name):
    """The critical batch size, and random reshuffle's best loss in batches of 8 and 256 over that of single rows."""
    rows = data.preprocess(data.load(name).features, 512, 512, rng=0).X
    eigenvalues = gram_eigenvalues(rows)
    asked = [(eigenvalues, "random_reshuffle", b, 16) for b in (1, 8, 256)]
    single, *others = (_loss_at(_best_step(*one), *one) for one in asked)
    return critical_batch(eigenvalues), *(float(loss / single) for loss in others)


@functools.cache
def sgd_on_images(runs):
    """Random reshuffle on CIFAR-10 rows in batches of 16: the predicted loss, and the mean and error of SGD."""
    X = data.preprocess(data.load("cifar10").features, 256, 256, rng=0).X
    truth = exact.curve("random_reshuffle", gram_eigenvalues(X), 20, 8.0, batch=16)
    problem = kaczmarz.Problem(X, batch=16)
    run = kaczmarz.simulate(problem, "random_reshuffle", 20, 8.0, runs=runs, rng=0, starts="all")
    return truth.test[1:], run.test[1:], run.test_se[1:]
