r"""A linear probe on embeddings, trained by PyTorch in many orders and seeds at once.

A probe is a linear classifier :math:`x \mapsto Wx` on fixed features, one output for each class. `train` runs a plain
loop of `torch.optim` on a parameter of shape (runs, K, d), every run with rows and an order of its own. SGD, momentum
and Adam act on each number separately, so this is what as many separate loops would do, in the time of a few;
`train_one` is such a loop, through a `DataLoader`, and a test holds the two together to rounding.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from scipy.optimize import minimize
from torch.utils.data import DataLoader, Sampler, TensorDataset

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, Integers
from edgelaw_app.training.samplers import learning_rate
from edgelaw_app.training.splits import Probe, split

__all__ = ["Probe", "measure", "optimum", "split", "train", "train_one"]

LOSSES = ("squares", "cross_entropy")
OPTIMISERS = ("sgd", "momentum", "adam", "decay")
MOMENTUM, DECAY = 0.9, 5.0  # of "momentum"; epochs after which the step of "decay" has halved


def optimum(probe: Probe, loss: str, ridge: float = 0.0) -> Array:
    r"""The weights (K, d) that minimise the training loss :math:`+ \frac{\text{ridge}}2\lVert W\rVert^2`.

    Least squares (half the squared error, summed over outputs, averaged over rows) is solved directly, without a
    ridge by the solution of smallest norm. Cross-entropy needs a ridge, and is minimised by L-BFGS; its gradient's norm
    over the ridge bounds the distance to the minimum and is required to be below 1e-5 of its norm.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> probe = split(rng.normal(size=(50, 30)), np.arange(50) % 3, rows=20, dims=20, held=10, rng=1)
    >>> bool(np.allclose(probe.X @ optimum(probe, "squares").T, probe.targets))
    True
    """
    arguments.choice(loss, "loss", LOSSES)
    X, (m, d) = probe.X, probe.X.shape
    if loss == "squares" and ridge == 0:
        solution: Array = np.linalg.lstsq(X, probe.targets, rcond=1e-10)[0]  # type: ignore[assignment]
        return solution.T
    ridge = arguments.number(ridge, "ridge", 0)
    if loss == "squares":
        return np.linalg.solve(X.T @ X / m + ridge * np.eye(d), X.T @ probe.targets / m).T
    K = probe.targets.shape[1]

    def objective(flat: Array) -> tuple[float, Array]:
        W = flat.reshape(K, d)
        value, gradient = _cross_entropy(X @ W.T, probe.labels)
        value += ridge / 2 * (W**2).sum()
        return value, (gradient.T @ X / m + ridge * W).ravel()

    options = {"maxiter": 20000, "maxfun": 40000, "maxcor": 40, "ftol": 0, "gtol": 1e-9}
    minimum = minimize(objective, np.zeros(K * d), jac=True, method="L-BFGS-B", options=options).x
    distance = np.linalg.norm(objective(minimum)[1]) / ridge
    if distance > 1e-5 * np.linalg.norm(minimum):
        raise ValueError(f"cross-entropy with ridge={ridge:g} was not minimised: it may be too small.")
    return minimum.reshape(K, d)


def _cross_entropy(scores: Array, labels: Integers) -> tuple[float, Array]:
    """Mean cross-entropy, and m times its gradient by the scores."""
    scores = scores - scores.max(axis=1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    places = np.arange(len(labels)), labels
    gradient = np.exp(logs)
    gradient[places] -= 1
    return -logs[places].mean(), gradient


def _optimiser(
    kind: str, parameter: torch.Tensor, step: float, dims: int, ridge: float
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler | None]:
    """The optimiser and its schedule; `step` is η, for Adam its lr."""
    rate = learning_rate(step, dims, loss="half_sum")
    if kind == "adam":
        return torch.optim.Adam([parameter], lr=step, weight_decay=ridge, fused=True), None
    if kind == "momentum":
        rate *= 1 - MOMENTUM
    momentum = MOMENTUM if kind == "momentum" else 0.0
    optimiser = torch.optim.SGD([parameter], lr=rate, momentum=momentum, weight_decay=ridge, fused=True)
    if kind != "decay":
        return optimiser, None
    return optimiser, torch.optim.lr_scheduler.LambdaLR(optimiser, lambda n: 1 / (1 + n / DECAY))


def train(
    probes: Sequence[Probe],
    indices: ArrayLike,
    loss: str,
    optimiser: str = "sgd",
    step: float = 1.0,
    batch: int = 1,
    ridge: float = 0.0,
) -> Iterator[Array]:
    r"""Train many probes at once; yields the weights (runs, K, d) after every epoch, 0 included.

    Parameters
    ----------
    probes : sequence of Probe
        One for each run (the same one several times costs no memory); all of one shape.
    indices : array of integers (runs, epochs, m)
        The order of each run, as `edgelaw.orders.stream(...).epochs(0, epochs)` gives it.
    loss : {"squares", "cross_entropy"}
        Half the squared error summed over outputs, or cross-entropy; averaged over the batch.
    optimiser : {"sgd", "momentum", "adam", "decay"}
        `torch.optim.SGD` at ``lr`` = step/d; with momentum 0.9 and ``lr`` = 0.1 step/d; `torch.optim.Adam` at
        ``lr`` = step; SGD whose step in epoch n = 0, 1, ... is step/(1 + n/5).
    step, batch : float, int
    ridge : float
        ``weight_decay`` of the optimiser.

    Yields
    ------
    Array of float64, from zero weights. The same numbers as `train_one` run by run, to rounding.
    """
    arguments.choice(loss, "loss", LOSSES), arguments.choice(optimiser, "optimiser", OPTIMISERS)
    batch, visits = arguments.whole(batch, "batch", 1), torch.tensor(arguments.counts(indices, "indices"))
    different = list({id(probe): probe for probe in probes}.values())
    place = {id(probe): k for k, probe in enumerate(different)}
    which = torch.tensor([place[id(probe)] for probe in probes])[:, None]
    X = torch.tensor(np.stack([probe.X for probe in different]))
    aims = "targets" if loss == "squares" else "labels"
    Y = torch.tensor(np.stack([getattr(probe, aims) for probe in different]))
    K, d = different[0].targets.shape[1], X.shape[2]
    W = torch.zeros(len(probes), K, d, dtype=torch.float64)
    W.grad = torch.zeros_like(W)
    rule, schedule = _optimiser(optimiser, W, step, d, ridge)
    yield W.numpy().copy()
    for n in range(visits.shape[1]):
        for places in visits[:, n].split(batch, dim=1):
            x, y = X[which, places], Y[which, places]
            scores = torch.bmm(x, W.transpose(1, 2))
            if loss == "squares":
                slope = scores - y
            else:
                slope = scores.softmax(2)
                slope.scatter_add_(2, y[:, :, None], torch.full_like(slope[:, :, :1], -1))
            torch.bmm(slope.transpose(1, 2), x, out=W.grad)
            W.grad /= places.shape[1]
            rule.step()
        if schedule is not None:
            schedule.step()
        yield W.numpy().copy()


def train_one(
    probe: Probe,
    sampler: Sampler[int] | None,
    loss: str,
    optimiser: str = "sgd",
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
    loss, optimiser, step, batch, ridge
        As in `train`.
    epochs : int
    """
    arguments.choice(loss, "loss", LOSSES), arguments.choice(optimiser, "optimiser", OPTIMISERS)
    K, d = probe.targets.shape[1], probe.X.shape[1]
    model = torch.nn.Linear(d, K, bias=False, dtype=torch.float64)
    torch.nn.init.zeros_(model.weight)
    aims = torch.tensor(probe.targets if loss == "squares" else probe.labels)
    loader = DataLoader(
        TensorDataset(torch.tensor(probe.X), aims), batch_size=batch, sampler=sampler, shuffle=sampler is None
    )
    rule, schedule = _optimiser(optimiser, model.weight, step, d, ridge)
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
        if schedule is not None:
            schedule.step()
        yield model.weight.detach().numpy().copy()


def measure(probe: Probe, W: Array, loss: str, best: Array, ridge: float = 0.0) -> Array:
    """Parameter error, excess training loss (both over their values at zero weights) and held-out accuracy.

    Parameters
    ----------
    probe : Probe
    W, best : array (K, d)
        Weights, and the optimum of `optimum` for this loss and ridge.
    loss, ridge
        As in `train`.

    Returns
    -------
    array of three numbers

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> probe = split(rng.normal(size=(50, 30)), np.arange(50) % 3, rows=20, dims=20, held=10, rng=1)
    >>> best = optimum(probe, "squares")
    >>> measure(probe, 0 * best, "squares", best)[:2].tolist()
    [1.0, 1.0]
    """

    def cost(V: Array) -> float:
        scores = probe.X @ V.T
        if loss == "squares":
            value = ((scores - probe.targets) ** 2).sum(axis=1).mean() / 2
        else:
            value = _cross_entropy(scores, probe.labels)[0]
        return value + ridge / 2 * (V**2).sum()

    least = cost(best)
    accuracy = ((probe.held @ W.T).argmax(axis=1) == probe.held_labels).mean()
    return np.array(
        [
            ((W - best) ** 2).sum() / (best**2).sum(),
            (cost(W) - least) / (cost(0 * best) - least),
            accuracy,
        ]
    )
