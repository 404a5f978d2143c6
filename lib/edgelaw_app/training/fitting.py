"""A probe trained in PyTorch as its forecast says, with the forecast beside the run."""

from dataclasses import dataclass, field

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset

from edgelaw._common import arguments
from edgelaw._common.types import Array
from edgelaw_app.labels import ProbeForecast
from edgelaw_app.training.samplers import OrderSampler

__all__ = ["FittedProbe", "fit"]


@dataclass(frozen=True, eq=False)
class FittedProbe:
    """A trained probe and what was expected of it.

    Attributes
    ----------
    forecast : edgelaw_app.labels.ProbeForecast
    train, held_out : array
        Losses of the run by epoch from 0, in the units of the forecast; held_out is None without held-out rows.
    model : torch.nn.Linear
        The probe with its intercept, for features as they were given (of norm √d after centring, if the forecast
        normalised them).
    """

    forecast: ProbeForecast
    train: Array = field(repr=False)
    held_out: Array | None = field(repr=False)
    model: torch.nn.Linear

    @property
    def loss(self) -> Array:
        """The loss that decides: held-out, or training loss without held-out rows."""
        return self.train if self.held_out is None else self.held_out

    @property
    def gap(self) -> float:
        """The run's loss at the end over the forecast's, minus one."""
        return float(self.loss[-1] / self.forecast.loss[-1] - 1)

    def _repr_html_(self) -> str:
        """Forecast and run in a small plot, with both losses in a small table."""
        from edgelaw._common import notebook

        times = np.arange(len(self.train))
        pairs = [("training", self.forecast.train, self.train)]
        if self.held_out is not None and self.forecast.held_out is not None:
            pairs.append(("held-out", self.forecast.held_out, self.held_out))
        lines = []
        for (name, expected, run), color in zip(pairs, ("#0072B2", "#D55E00"), strict=False):
            places = notebook.moments(times, 7)
            lines.append(notebook.Line(times, expected, f"{name}, forecast", color))
            lines.append(notebook.Line(times[places], run[places], f"{name}, run", color, "none", "o"))
        sentence = (
            f"After {times[-1]} epochs the run's loss is {notebook.number(self.loss[-1])}, forecast "
            f"{notebook.number(self.forecast.loss[-1])} ({100 * self.gap:+.1f} %)."
        )
        places = notebook.moments(times, 4)
        rows = [
            [f"{name}, {kind}", *(notebook.number(values[place]) for place in places)]
            for name, expected, run in pairs
            for kind, values in (("forecast", expected), ("run", run))
        ]
        header = ["loss", *(f"epoch {times[place]}" for place in places)]
        picture = notebook.plot(lines, "epoch", "loss", f"Losses by epoch, forecast and run. {sentence}")
        return notebook.card(sentence, picture, header, rows)


def fit(forecast: ProbeForecast, seed: int = 0) -> FittedProbe:
    """Train the probe of a forecast in PyTorch: its learning rates, batch, order and epochs, on its own rows.

    An ordinary loop: a `DataLoader` with the sampler of the order, `torch.optim.SGD`, half the squared error summed
    over outputs and averaged over the batch, in double precision, from zero weights.

    Parameters
    ----------
    forecast : edgelaw_app.labels.ProbeForecast
    seed : int
        Of the order.

    Returns
    -------
    FittedProbe

    Examples
    --------
    >>> from edgelaw_app import labels
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 30))
    >>> y = X @ rng.normal(size=30) + rng.normal(size=200)
    >>> fitted = fit(labels.forecast(X, y, epochs=3, orders=["random_reshuffle"]))
    >>> fitted.model.weight.shape, abs(fitted.gap) < 0.2
    (torch.Size([1, 30]), True)
    """
    seed = arguments.whole(seed, "seed", 0)
    data = forecast.data
    rows, targets = torch.tensor(data.X), torch.tensor(data.T)
    held = None if data.held is None else tuple(torch.tensor(part) for part in data.held)
    model = torch.nn.Linear(rows.shape[1], targets.shape[1], bias=False, dtype=torch.float64)
    torch.nn.init.zeros_(model.weight)
    sampler = OrderSampler(forecast.order, len(rows), seed)
    loader = DataLoader(TensorDataset(rows, targets), batch_size=forecast.batch, sampler=sampler)
    rule = torch.optim.SGD(model.parameters(), lr=forecast.lr, weight_decay=forecast.ridge)
    train, held_out = [_loss(model, rows, targets)], [_loss(model, *held)] if held else []
    for rate in forecast.rates.tolist():
        rule.param_groups[0]["lr"] = rate
        for x, t in loader:
            rule.zero_grad()
            cost = (model(x) - t).square().sum(dim=1).mean() / 2
            cost.backward()
            rule.step()
        train.append(_loss(model, rows, targets))
        held_out += [_loss(model, *held)] if held else []
    losses = np.array(train), np.array(held_out) if held else None
    return FittedProbe(forecast, *losses, _with_intercept(model.weight.detach(), forecast))


def _loss(model: torch.nn.Linear, rows: torch.Tensor, targets: torch.Tensor) -> float:
    with torch.no_grad():
        return float((model(rows) - targets).square().sum() / len(rows))


def _with_intercept(weight: torch.Tensor, forecast: ProbeForecast) -> torch.nn.Linear:
    """The probe on features as they were given: the intercept takes up what was subtracted."""
    data = forecast.data
    bias = torch.tensor(data.target_mean)
    if data.constant:
        weight, bias = weight[:, :-1], weight[:, -1].clone()
    if not data.normalized:
        bias = bias - weight @ torch.tensor(data.feature_mean)
    model = torch.nn.Linear(weight.shape[1], weight.shape[0], dtype=torch.float64)
    with torch.no_grad():
        model.weight.copy_(weight)
        model.bias.copy_(bias)
    return model
