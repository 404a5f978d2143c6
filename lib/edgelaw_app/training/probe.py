r"""Linear probes: linear classifiers :math:`x \mapsto Wx` on fixed features, one output for each class."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, Integers, Rng
from edgelaw_app.learning_rate import learning_rate

if TYPE_CHECKING:
    from torch.utils.data import Sampler

LOSSES = ("squares", "cross_entropy")


@dataclass(frozen=True, eq=False)
class Probe:
    """Rows to train on and rows to hold out, prepared alike."""

    X: Array = field(repr=False)  #: training rows (m, d) of norm √d
    labels: Integers = field(repr=False)  #: their classes
    targets: Array = field(repr=False)  #: what least squares aims at (m, K)
    held: Array = field(repr=False)  #: rows that no training sees
    held_labels: Integers = field(repr=False)

    def taught(self, rng: Rng) -> "Probe":
        """The same rows with targets X Wᵀ of a random W: least squares without noise, from an isotropic start."""
        K, d = self.targets.shape[1], self.X.shape[1]
        W = arguments.generator(rng).standard_normal((K, d)) / np.sqrt(d)
        return replace(self, targets=self.X @ W.T)


def split(features: ArrayLike, labels: ArrayLike, rows: int, dims: int, held: int, rng: Rng) -> Probe:
    r"""Choose m training rows and others to hold out, project them on d dimensions, centre and scale them.

    The preprocessing is the paper's (`edgelaw.data.preprocess`); held-out rows go through it too, with the
    training rows' mean. The targets are one-hot vectors, minus their mean with weights :math:`1/s_i`, where :math:`s_i`
    scaled row i to norm :math:`\sqrt d`: the rows obey :math:`\sum_i x_i/s_i = 0`, and with targets that do so too
    the equations of m ≤ d rows have a solution.

    >>> rng = np.random.default_rng(0)
    >>> probe = split(rng.normal(size=(50, 30)), np.arange(50) % 3, rows=20, dims=20, held=10, rng=1)
    >>> probe.X.shape, probe.held.shape, probe.targets.shape
    ((20, 20), (10, 20), (20, 3))
    """
    pool, generator = arguments.matrix(features, "features").astype(np.float64), arguments.generator(rng)
    classes = arguments.counts(labels, "labels")
    rows, held = arguments.whole(rows, "rows", 2), arguments.whole(held, "held", 1)
    dims = arguments.whole(dims, "dims", 2)
    N, columns = pool.shape
    if classes.shape != (N,):
        raise ValueError(f"labels must have one entry for each of the {N} rows of features.")
    if rows + held > N or dims > columns:
        raise ValueError(
            f"rows + held must be at most {N} and dims at most {columns}, not {rows} + {held} and {dims}."
        )
    chosen = generator.permutation(N)[: rows + held]
    Z = pool[chosen] @ (generator.standard_normal((columns, dims)) / np.sqrt(dims))
    Z -= Z[:rows].mean(axis=0)
    scale = np.sqrt(dims) / np.linalg.norm(Z, axis=1)
    Z *= scale[:, None]
    hot = np.eye(classes.max() + 1)[classes[chosen[:rows]]]
    hot -= np.average(hot, axis=0, weights=1 / scale[:rows])
    return Probe(Z[:rows], classes[chosen[:rows]], hot, Z[rows:], classes[chosen[rows:]])


def _cost(probe: Probe, W: Array, loss: str, ridge: float) -> tuple[float, Array]:
    """The training loss with its ridge, and its gradient."""
    scores, m = probe.X @ W.T, len(probe.X)
    if loss == "squares":
        slope = scores - probe.targets
        value = (slope**2).sum(axis=1).mean() / 2
    else:
        scores -= scores.max(axis=1, keepdims=True)
        logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        places = np.arange(m), probe.labels
        slope, value = np.exp(logs), -logs[places].mean()
        slope[places] -= 1
    return value + ridge / 2 * (W**2).sum(), slope.T @ probe.X / m + ridge * W


def optimum(probe: Probe, loss: str, ridge: float = 0.0) -> Array:
    r"""The weights (K, d) that minimise the training loss :math:`+ \frac{\text{ridge}}2\lVert W\rVert^2`.

    Least squares (half the squared error, summed over outputs, averaged over rows) is solved directly, without a
    ridge by the solution of smallest norm. Cross-entropy needs a ridge. With one the loss is minimised by L-BFGS; its
    gradient's norm over the ridge bounds the distance to the minimum and is required to be below 1e-5 of its norm.
    """
    arguments.choice(loss, "loss", LOSSES)
    if loss == "squares" and ridge == 0:
        solution: Array = np.linalg.lstsq(probe.X, probe.targets, rcond=1e-10)[0]  # type: ignore[assignment]
        return solution.T
    ridge, shape = arguments.number(ridge, "ridge", 0), (probe.targets.shape[1], probe.X.shape[1])

    def objective(flat: Array) -> tuple[float, Array]:
        value, gradient = _cost(probe, flat.reshape(shape), loss, ridge)
        return value, gradient.ravel()

    options = {"maxiter": 20000, "maxfun": 40000, "maxcor": 40, "ftol": 0, "gtol": 1e-9}
    start = np.zeros(shape).ravel()
    minimum = minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x
    if np.linalg.norm(objective(minimum)[1]) / ridge > 1e-5 * np.linalg.norm(minimum):
        raise ValueError(f"The loss with ridge={ridge:g} was not minimised: it may be too small.")
    return minimum.reshape(shape)


def train_one(
    probe: Probe,
    sampler: "Sampler[int] | None",
    loss: str,
    step: float = 1.0,
    batch: int = 1,
    epochs: int = 1,
    ridge: float = 0.0,
) -> Iterator[Array]:
    """One probe in the usual loop: a `DataLoader`, a module, a loss, autograd; yields the weights (K, d) by epoch.

    Parameters
    ----------
    probe : Probe
    sampler : torch.utils.data.Sampler, or None
        None for ``shuffle=True``.
    loss : {"squares", "cross_entropy"}
        Half the squared error summed over outputs, or cross-entropy; averaged over the batch.
    step, batch, epochs : float, int, int
        Of `torch.optim.SGD`, whose ``lr`` is step/d.
    ridge : float
        Its ``weight_decay``.
    """
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    arguments.choice(loss, "loss", LOSSES)
    K, d = probe.targets.shape[1], probe.X.shape[1]
    model = torch.nn.Linear(d, K, bias=False, dtype=torch.float64)
    torch.nn.init.zeros_(model.weight)
    aims = torch.tensor(probe.targets if loss == "squares" else probe.labels)
    rows = TensorDataset(torch.tensor(probe.X), aims)
    loader = DataLoader(rows, batch_size=batch, sampler=sampler, shuffle=sampler is None)
    lr = learning_rate(step, d, loss="half_sum")
    rule = torch.optim.SGD(model.parameters(), lr=lr, weight_decay=ridge, fused=True)
    yield model.weight.detach().numpy().copy()
    for _ in range(epochs):
        for x, y in loader:
            rule.zero_grad()
            scores = model(x)
            if loss == "squares":
                cost = (scores - y).square().sum(dim=1).mean() / 2
            else:
                cost = torch.nn.functional.cross_entropy(scores, y)
            cost.backward()
            rule.step()
        yield model.weight.detach().numpy().copy()


def measure(probe: Probe, W: Array, loss: str, best: Array, ridge: float = 0.0) -> Array:
    """Parameter error and excess training loss over those of zero weights, and accuracy; `best` is `optimum`'s."""
    now, start, least = (_cost(probe, V, loss, ridge)[0] for V in (W, 0 * W, best))
    accuracy = ((probe.held @ W.T).argmax(axis=1) == probe.held_labels).mean()
    return np.array([((W - best) ** 2).sum() / (best**2).sum(), (now - least) / (start - least), accuracy])
