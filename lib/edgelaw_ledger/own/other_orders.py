"""Checks of the appendix on the other orders on any spectrum: two rows, late training losses, nodes, samples."""

import functools
import itertools
import math

import numpy as np

from edgelaw import data, kaczmarz
from edgelaw.orders import ORDERS
from edgelaw.theory import BY_ORDER, iid, levy
from edgelaw_ledger.evidence import Evidence, at_most, decide
from edgelaw_ledger.routes import constant


@functools.cache
def _two_rows(angle, epochs):
    """Test losses of the four orders at step 1, by running through all their orders."""
    rows = np.array([[1.0, 0.0], [math.cos(angle), math.sin(angle)]])
    forward = kaczmarz.epoch_matrix(rows, 1.0)

    def loss(turns):
        w = np.eye(2)
        for turn in turns:
            w = (forward.T if turn else forward) @ w
        return (w**2).sum() / 2

    flips = tuple(bool(k % 2) for k in range(epochs))
    return (
        iid.expected_curve(rows, epochs, 1.0).test[-1],
        np.mean([loss(turns) for turns in itertools.product((False, True), repeat=epochs)]),
        loss(epochs * (False,)),
        loss(flips),
    )


def two_rows(*, half: float = 0.5) -> Evidence:
    """Losses of two rows at six angles after one to six epochs, all orders enumerated, against four closed forms."""
    worst = 0.0
    for angle, n in itertools.product((0.1, 0.3, 0.7, 1.0, 1.3, 1.5), range(1, 7)):
        low, high = np.linalg.eigvalsh([[1, math.cos(angle)], [math.cos(angle), 1]])
        c = 1 - low * high
        stated = (
            half * ((1 + c) / 2) ** (2 * n - 1),
            half * c * ((c + c**2) / 2) ** (n - 1),
            half * c ** (2 * n - 1),
            half * c**n,
        )
        worst = max(worst, *np.abs(np.array(_two_rows(angle, n)) / stated - 1))
    return decide(
        bool(worst < 1e-9),
        measured=f"four orders, six angles, one to six epochs: closed forms within a relative {worst:.0e}",
        claimed=f"{half:g} times powers of c = 1 - lambda_1 lambda_2",
        tolerance="relative 1e-9",
    )


@functools.cache
def _late_ratio(order):
    """The limit of 2n times the training loss over the test loss, isotropic rows, m = d, step 1."""
    theory, start = BY_ORDER[order], 100 if order == "random_reshuffle" else 1600
    levels = 4 if order == "random_reshuffle" else 5
    train, test = (
        constant(loss, power, 1.0, start, levels)
        for loss, power in ((theory.train_loss, 1.5), (theory.test_loss, 0.5))
    )
    return 2 * train / test


def late_training(
    *, drawn: float = 1.0, reshuffled: float = 0.6, once: float = 0.5, back: float = 4 / 3
) -> Evidence:
    """Limits of exact isotropic losses of the four orders at step 1, extrapolated from finite epochs."""
    stated = dict(zip(ORDERS, (drawn, reshuffled, once, back), strict=True))
    late = {order: _late_ratio(order) for order in ORDERS}
    return decide(
        all(abs(late[order] / value - 1) < 2e-3 for order, value in stated.items()),
        measured="; ".join(f"{order} {value:.5f}" for order, value in late.items()),
        claimed="; ".join(f"{order} {value:.5f}" for order, value in stated.items()),
        tolerance="relative 0.002 on each",
    )


@functools.cache
def _marchenko_pastur():
    """Nodes and weights above 1e-6 of the average over the Marchenko–Pastur law at m = d."""
    theta = (np.arange(2000) + 0.5) * np.pi / 2000
    average = levy.from_sample(2 - 2 * np.cos(theta), weights=1 + np.cos(theta), reach=0.05)
    heavy = np.abs(average.weights) > 1e-6
    return average.nodes[heavy], average.weights[heavy]


def one_node(*, node: float = 1.0, weight: float = 1.0) -> Evidence:
    """The nodes that a quadrature of the Marchenko–Pastur law gives, of weight above 1e-6."""
    nodes, weights = _marchenko_pastur()
    alone = len(nodes) == 1
    return decide(
        bool(alone and abs(nodes[0] - node) < 1e-6 and abs(weights[0] - weight) < 1e-6),
        measured=f"{len(nodes)} node, {nodes[0].real:.7f}, of weight {weights[0].real:.7f}",
        claimed=f"one node {node:g} of weight {weight:g}",
        tolerance="1e-6 on each",
    )


@functools.cache
def _sample_against_covariance(dims, samples):
    """Largest relative difference of the average of ξ/(ξ − λ), mean over samples, at three shapes."""
    tau = np.arange(1, dims + 1) ** -0.5
    tau /= tau.mean()
    worst = 0.0
    for rho in (0.5, 1.0, 2.0):
        rng, ratios = np.random.default_rng(2), []
        for _ in range(samples):
            X = data.normalize_rows(rng.standard_normal((int(rho * dims), dims)) * np.sqrt(tau))
            xi = 1 / np.mean(1 / (-1.0 - np.linalg.eigvalsh(X @ X.T / len(X))))
            ratios.append((1 + rho * (-1.0 / xi - 1)) / np.mean(xi / (xi - tau)))
        worst = max(worst, abs(float(np.mean(ratios)) - 1))
    return worst


def sample_of_any_shape(*, off: float = 0.002, dims: int = 300, samples: int = 8) -> Evidence:
    """The functional of a sample at three aspect ratios, mean of eight samples, against its covariance."""
    worst = _sample_against_covariance(dims, samples)
    return decide(
        at_most(worst, off),
        measured=f"at most {worst:.5f} at m = d/2, d and 2d",
        claimed=f"at most {off:.5f}",
        tolerance="a true bound that 2 % would loosen",
    )
