"""The learning rate of a linear probe without a sweep: predicted, beside the best of 13 that were tried.

    OMP_NUM_THREADS=1 python benchmarks/probes.py     writes PROBES.md; --only NAME (again and again) prints these sets
    ... --instead                                     a minute: prints what the forecast and its rivals cost

**Wherever the squared-loss forecast exists, ridge exists, is cheaper and about as good: prefer it.** A ratio is the
held-out loss at the predicted learning rate over that of the best of 13; a cost is processor seconds over those of 13
trainings by a DataLoader with batches of one row in PyTorch, the slowest way to sweep: the first table has faster ones,
both cheaper than the forecast. What a forecast gives and no sweep does are the whole curve, the limit of
stability, and what another learning rate, order or batch costs.

For each set of features `edgelaw.probe` says a learning rate, and the best schedule of learning rates by epoch, from
the features and labels alone; here they are for half the squared error, summed over outputs, at which an update is a
step over the mean squared norm. Probes are trained with them (batch 1, shuffled every epoch, squared loss),
and a sweep trains one at each of 13 learning rates on a logarithmic grid over four decades below the largest stable
one; the best held-out loss of the 13 counts. The same is done for cosine decay: the predicted peak beside the best of
13 peaks. Both sides choose on the same held-out rows, and all trainings of a set visit its rows in the same orders. A
single run may be lucky: beside each ratio of single runs stands the ratio of the means over 8 runs in fresh orders, the
same for all learning rates, with its standard error; there the best of the 13 means counts, which favours the sweep.
They are made by the compiled loop of `edgelaw.kaczmarz`, which tests hold to PyTorch's updates. What a sweep costs in
PyTorch is 13 times the epochs times the processor seconds of an epoch of an ordinary loop (DataLoader, nn.Linear,
autograd, torch.optim.SGD), the least of several that are timed on each set in the same run, plus the time to import
torch; on one set the whole sweep is trained in PyTorch, and what it took stands beside that product. What a forecast
costs is its own processor seconds plus the time to import edgelaw and to load machine code. Ridge regression in
closed form and L-BFGS with as many passes, without ridge and not stopped early, stand beside them, and cross-entropy,
trained at multiples of the learning rate that was predicted for the squared loss. The nineteen sets have eight
sources; those that differ in scale only are copies that must come out alike. What is known as "simulated" is a sweep
that the tool ran itself.

The exit status is not zero if a bar is missed.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded

import argparse
import json
import pathlib
import sys
import time
from unittest import mock

import numpy as np

from edgelaw.exact.labels import LabelledRows, schedules
from edgelaw_app.forecast import probe as forecast_of
from edgelaw_app.forecast import ridge
from edgelaw_app.forecast.answering import SAFE
from edgelaw_app.forecast.labelled import Labelled, mean_square
from edgelaw_app.forecast.preparation import prepare

HERE = pathlib.Path(__file__).resolve().parent
EPOCHS = 20  # five times as many for sets of fewer than a thousand rows
GRID, DECADES = 13, 4
LOSS_BAR, COST_BAR = 1.05, 0.1
ROWS, HELD, SEED = 1500, 0.25, 0
CHANGED = 0.05  # relative: a learning rate that differs by more is another
INSTEAD = (  # sets that ship with the book, one of each kind
    "CIFAR-10, ResNet-50",
    "Wikipedia, mpnet",
    "Transformer's hidden states",
    "random ReLU features of CIFAR-10",
)
FRESH = 8  # runs in fresh orders at every learning rate, for ratios of means
AGAIN = 16  # such runs at both learning rates, where a constant one is beyond the bar
TIMED = 3  # epochs of PyTorch's loop per set; the least counts
IN_FULL = "iris"  # the set whose whole sweep is trained in PyTorch
CROSS = ("CIFAR-10, ResNet-50", "Wikipedia, mpnet", "digits", "breast cancer")
CROSS_FACTORS = (0.1, 1.0, 10.0, 100.0)


def embeddings(name, dims=None, normalize=False, scale=1.0):
    """A shipped set, its first rows in a random order, projected, of norm √d or as they are, at a scale."""
    from edgelaw import shipped

    loaded = shipped.load(name)
    rng = np.random.default_rng(0)
    chosen = rng.permutation(len(loaded.features))[:ROWS]
    X, y = loaded.features[chosen].astype(np.float64), loaded.labels[chosen]
    if dims:
        X = X @ rng.standard_normal((X.shape[1], dims)) / np.sqrt(dims)
    if normalize:
        X -= X.mean(axis=0)
        X *= np.sqrt(X.shape[1]) / np.linalg.norm(X, axis=1, keepdims=True)
    return scale * X, y


def sklearn_set(name, standardised=True):
    """A small set of scikit-learn, its columns of variance 1 or as they are."""
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    if standardised:
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    return X, (y - y.mean()) / y.std() if name == "diabetes" else y


def hidden_states():
    """The hidden states of a trained small Transformer, and the next character."""
    from edgelaw_app.training import transformer

    model = transformer.shipped_model()
    tokens, _ = transformer.encode(transformer.shipped_text())
    inputs, following = transformer.contexts(tokens, 64, ROWS // 16, rng=0)
    features = transformer.features(model, inputs)
    chosen = np.random.default_rng(0).permutation(len(features))[:ROWS]
    y = following.ravel()[chosen]
    return features[chosen], y


def relu_features(X, count):
    """Random ReLU features."""
    rng = np.random.default_rng(0)
    return np.maximum(X @ rng.standard_normal((X.shape[1], count)) / np.sqrt(X.shape[1]), 0)


def fourier_features(X, count):
    """Random Fourier features of a Gaussian kernel whose width is the typical distance of two rows."""
    rng = np.random.default_rng(0)
    width = np.sqrt(2 * X.var(axis=0).sum())
    phases = rng.uniform(0, 2 * np.pi, count)
    return np.sqrt(2) * np.cos(X @ rng.standard_normal((X.shape[1], count)) / width + phases)


def products(X):
    """The columns and all products of two of them."""
    first, second = np.triu_indices(X.shape[1])
    return np.column_stack([X, X[:, first] * X[:, second]])


def made_of(loaded, make, *more):
    """Features made of a set's, with its labels."""
    X, y = loaded
    return make(X, *more), y


SETS = {
    "CIFAR-10, ResNet-50": lambda: embeddings("cifar10", 256),
    "CIFAR-10 × 0.01": lambda: embeddings("cifar10", 256, scale=1e-2),
    "CIFAR-10 × 100": lambda: embeddings("cifar10", 256, scale=1e2),
    "CIFAR-10, rows normalised": lambda: embeddings("cifar10", 256, normalize=True),
    "Wikipedia, mpnet": lambda: embeddings("wikipedia", 256),
    "Wikipedia × 0.01": lambda: embeddings("wikipedia", 256, scale=1e-2),
    "Wikipedia × 100": lambda: embeddings("wikipedia", 256, scale=1e2),
    "Wikipedia, rows normalised": lambda: embeddings("wikipedia", 256, normalize=True),
    "digits": lambda: sklearn_set("digits"),
    "breast cancer": lambda: sklearn_set("breast_cancer"),
    "diabetes (numbers)": lambda: sklearn_set("diabetes"),
    "wine, columns as they are": lambda: sklearn_set("wine", standardised=False),
    "Transformer's hidden states": hidden_states,
    "random ReLU features of digits": lambda: made_of(sklearn_set("digits"), relu_features, 300),
    "iris": lambda: sklearn_set("iris"),
    "random Fourier features of digits": lambda: made_of(sklearn_set("digits"), fourier_features, 300),
    "random ReLU features of breast cancer": lambda: made_of(
        sklearn_set("breast_cancer"), relu_features, 200
    ),
    "random ReLU features of CIFAR-10": lambda: made_of(embeddings("cifar10", 256, True), relu_features, 300),
    "products of wine's columns": lambda: made_of(sklearn_set("wine"), products),
}
FIRST = "random ReLU features of digits"  # what suggested that the longest row limits the learning rate
LATER = tuple(SETS)[tuple(SETS).index(FIRST) + 1 :]  # what was measured only afterwards


# ---------------------------------------------------------------------------------------------------------------


def start_up():
    """Processor seconds to import edgelaw and load its machine code, by a forecast of a few small rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 24))
    forecast_of(X, X[:, 0] + rng.standard_normal(60), epochs=2, orders=["random_reshuffle"])
    return time.process_time()


def torch_import():
    """Processor seconds to import torch."""
    before = time.process_time()
    import torch  # noqa: F401

    return time.process_time() - before


def torch_training(data, rates):
    """Processor seconds of each epoch of an ordinary loop at these learning rates, and the held-out loss at its end."""
    import torch

    torch.set_num_threads(1)
    rows = torch.utils.data.TensorDataset(torch.tensor(data.X), torch.tensor(data.T))
    model = torch.nn.Linear(data.X.shape[1], data.T.shape[1], bias=False, dtype=torch.float64)
    torch.nn.init.zeros_(model.weight)
    loader = torch.utils.data.DataLoader(rows, batch_size=1, shuffle=True)
    rule, seconds = torch.optim.SGD(model.parameters(), lr=float(rates[0])), []
    for rate in rates:
        before = time.process_time()
        rule.param_groups[0]["lr"] = float(rate)
        for x, t in loader:
            cost = (model(x) - t).square().sum(dim=1).mean() / 2
            rule.zero_grad()
            cost.backward()
            rule.step()
        seconds.append(time.process_time() - before)
    return seconds, finite(held_out_loss(data, model.weight.detach().numpy().T))


def torch_sweep(data, grid, epochs):
    """The whole sweep in PyTorch: processor seconds, and the best held-out loss."""
    before = time.process_time()
    losses = [torch_training(data, np.full(epochs, rate))[1] for rate in grid]
    return time.process_time() - before, min(losses)


def torch_vectorised(data, grid, epochs):
    """Processor seconds to train all learning rates at once on the same rows in PyTorch, without autograd."""
    import torch

    torch.set_num_threads(1)
    X, T, rates = (torch.tensor(part) for part in (data.X, data.T, np.asarray(grid)))
    before = time.process_time()
    W = torch.zeros(len(grid), X.shape[1], T.shape[1], dtype=torch.float64)
    rates = rates[:, None, None]
    for _ in range(epochs):
        for i in torch.randperm(len(X)).tolist():
            x = X[i]
            W -= rates * x[:, None] * (x @ W - T[i])[:, None]
    return time.process_time() - before


def ridge_seconds(data):
    """Processor seconds of ridge at the best of all penalties, from the rows on, and its held-out loss."""
    before = time.process_time()
    found = ridge.solve(LabelledRows.of(data.X, data.T, data.held)).ridge_held_out
    return time.process_time() - before, found


def instead():
    """The table of what else one may run: processor seconds without imports, measured side by side."""
    start_up(), torch_import()
    rows = []
    for name in INSTEAD:
        X, y = SETS[name]()
        probe, seconds = forecast(X, y, EPOCHS)
        data, largest = prepared(X, y), probe.largest_lr["random_reshuffle"] * 2 / probe.labels.outputs
        grid = np.geomspace(largest * 10.0**-DECADES, 0.9 * largest, GRID)
        before = time.process_time()
        best = min(trained(data, np.full(EPOCHS, rate)) for rate in grid)
        compiled = time.process_time() - before
        closed, loss = ridge_seconds(data)
        looped = GRID * EPOCHS * min(torch_training(data, np.full(TIMED, float(rates_of(probe)[0])))[0])
        others = compiled, torch_vectorised(data, grid, EPOCHS), looped, closed
        own = trained(data, rates_of(probe))
        rows.append(
            f"| {name} | {seconds:.2f} | "
            + " | ".join(f"{one:.2g} ({seconds / one:.2g})" for one in others)
            + f" | {own:.4g} | {best:.4g} | {loss:.4g} |"
        )
    head = ["set", "forecast, s", "compiled sweep", "vectorised PyTorch", "DataLoader", "ridge"]
    head += ["loss: forecast's lr", "best of 13", "ridge"]
    return [
        "## What else one may run",
        "",
        "Processor seconds without imports; in brackets the forecast's over them. All sweeps train 13 learning rates, "
        f"{EPOCHS} epochs, one row per update; ridge tries all penalties by one eigendecomposition.",
        *table(head, rows),
    ]


def held_out_loss(data, W):
    """Mean over the held-out rows of the squared error, summed over outputs."""
    return mean_square(data.held[0] @ W - data.held[1])


def in_order(data, rates, count, seed):
    """Held-out losses after the last epoch of several runs of random reshuffle, one learning rate per epoch."""
    steps, last = np.asarray(rates, dtype=float) * data.scale, float(len(rates))
    runs = Labelled(data).run(
        "random_reshuffle", steps, np.array([0.0, last]), count, np.random.default_rng(seed)
    )
    return np.array([finite(loss) for loss in runs.losses[:, 1, -1]])


def finite(loss):
    """A loss, infinite where training diverged."""
    return float(loss) if np.isfinite(loss) else np.inf


def trained(data, rates):
    """Held-out loss of a probe after its epochs, one learning rate each, batch 1, reshuffled."""
    return float(in_order(data, rates, 1, 1)[0])


def fresh_runs(data, rates, count=FRESH):
    """Held-out losses of runs in other orders, the same for all learning rates."""
    return in_order(data, rates, count, 2)


def mean_and_error(losses):
    """The mean of losses and its standard error."""
    return float(losses.mean()), float(losses.std(ddof=1) / np.sqrt(len(losses)))


def ratio_of_means(losses, others):
    """The mean of losses over the least mean of others, and its standard error; runs of one number had one order."""
    best = min(others, key=np.mean)
    ratio = losses.mean() / best.mean()
    if not np.isfinite(ratio):
        return float(ratio), np.inf
    return float(ratio), float((losses - ratio * best).std(ddof=1) / best.mean() / np.sqrt(len(best)))


def ratios_of_means(data, probe, scheduled, cosine, grid, epochs):
    """`ratio_of_means` of the predicted learning rate, the best schedule and cosine decay, by the names in `RATIOS`."""
    constant = [fresh_runs(data, np.full(epochs, rate)) for rate in grid]
    decayed = [fresh_runs(data, rate * rates_of(cosine) / rates_of(cosine)[0]) for rate in grid]
    return {
        "ratio": ratio_of_means(fresh_runs(data, rates_of(probe)), constant),
        "scheduled_ratio": ratio_of_means(fresh_runs(data, rates_of(scheduled)), constant),
        "cosine_ratio": ratio_of_means(fresh_runs(data, rates_of(cosine)), decayed),
    }


def lbfgs(data, epochs):
    """Held-out loss of least squares by L-BFGS with as many passes over the rows as epochs."""
    from scipy.optimize import minimize

    shape = data.X.shape[1], data.T.shape[1]

    def objective(flat):
        gap = data.X @ flat.reshape(shape) - data.T
        return (gap**2).sum() / 2 / len(gap), (data.X.T @ gap / len(gap)).ravel()

    options = {"maxiter": epochs}
    best = minimize(objective, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options=options)
    return held_out_loss(data, best.x.reshape(shape))


def cross_entropy(data, lr, epochs):
    """Held-out cross-entropy and accuracy of a probe trained on cross-entropy, batch 1, reshuffled."""
    places, aims = (part + data.target_mean for part in (data.T, data.held[1]))
    places, aims = places.argmax(axis=1), aims.argmax(axis=1)
    rng, W = np.random.default_rng(1), np.zeros((data.T.shape[1], data.X.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(epochs):
            for i in rng.permutation(len(data.X)):
                scores = W @ data.X[i]
                part = np.exp(scores - scores.max())
                part /= part.sum()
                part[places[i]] -= 1
                W -= (lr * part)[:, None] * data.X[i]
        scores = data.held[0] @ W.T
        scores -= scores.max(axis=1, keepdims=True)
        logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    value = -logs[np.arange(len(aims)), aims].mean()
    return (float(value) if np.isfinite(value) else np.inf), float((scores.argmax(axis=1) == aims).mean())


def forecast(X, y, epochs, schedule="constant"):
    """The forecast and its processor seconds."""
    before = time.process_time()
    options = {"orders": ["random_reshuffle"], "held_out": HELD, "schedule": schedule, "rng": SEED}
    made = forecast_of(X, y, epochs, **options)
    return made, time.process_time() - before


def prepared(X, y):
    """The rows of a forecast, split and centred as it does."""
    split = np.random.default_rng(int(np.random.default_rng(SEED).integers(2**31)))
    return prepare(X, y, HELD, ("center", "intercept"), split)


def rates_of(made):
    """The learning rates by epoch for half the squared error, summed over outputs, from those for ``nn.MSELoss()``."""
    return made.best.rates * 2 / made.labels.outputs


def best_schedule(X, y, epochs):
    """The best learning rate of every epoch by theory, the loss that they leave, and the processor seconds."""
    before, data = time.process_time(), prepared(X, y)
    problem = Labelled(data)
    highest = SAFE * problem.highest("random_reshuffle")
    tuned = schedules.best_schedule("random_reshuffle", problem.rows, epochs, upper=highest)
    return tuned.steps / data.scale, tuned.loss, time.process_time() - before


def without_row_limit(X, y, epochs):
    """The learning rate that would be predicted if the longest row were no limit, and the loss trained at it."""
    with mock.patch.object(Labelled, "row_limit", property(lambda self: np.inf)):
        made, _ = forecast(X, y, epochs)
    return float(rates_of(made)[0]), trained(prepared(X, y), rates_of(made))


def compare(name, started, imported):
    """One line of the tables."""
    X, y = SETS[name]()
    epochs = EPOCHS if len(X) >= 1000 else 5 * EPOCHS
    probe, cost = forecast(X, y, epochs)
    scheduled, scheduled_loss, scheduled_cost = best_schedule(X, y, epochs)
    cosine, _ = forecast(X, y, epochs, "cosine")
    data, rates, peaks = prepared(X, y), rates_of(probe), rates_of(cosine)
    lr, form = float(rates[0]), peaks / peaks[0]
    largest = probe.largest_lr["random_reshuffle"] * 2 / probe.labels.outputs
    grid = np.geomspace(largest * 10.0**-DECADES, 0.9 * largest, GRID)
    losses = [trained(data, np.full(epochs, rate)) for rate in grid]
    decayed = [trained(data, rate * form) for rate in grid]
    own, by_schedule = trained(data, rates), trained(data, scheduled)
    epoch = min(torch_training(data, np.full(TIMED, lr))[0])
    line = {
        "shape": data.X.shape,
        "how": probe.best.how,
        "lr": lr,
        "loss": float(probe.best.losses["held-out loss"][-1]),
        "trained": own,
        "best": min(losses),
        "best_lr": float(grid[int(np.argmin(losses))]),
        "ratio": own / min(losses),
        "scheduled_loss": scheduled_loss,
        "scheduled": by_schedule,
        "scheduled_ratio": by_schedule / min(losses),
        "cosine_lr": float(peaks[0]),
        "cosine": trained(data, peaks),
        "cosine_best": min(decayed),
        "cosine_ratio": trained(data, peaks) / min(decayed),
        "cost": started + cost,
        "scheduled_cost": started + scheduled_cost,
        "sweep": imported + GRID * epochs * epoch,
        "ridge": probe.labels.ridge.ridge_held_out,
        "lbfgs": lbfgs(data, epochs),
        "cautions": [caution.code for caution in probe.cautions],
        "means": ratios_of_means(data, probe, scheduled, cosine, grid, epochs),
    }
    if line["ratio"] > LOSS_BAR:
        line["again"] = [
            mean_and_error(fresh_runs(data, np.full(epochs, rate), AGAIN)) for rate in (lr, line["best_lr"])
        ]
    if name == IN_FULL:
        line["in_full"] = torch_sweep(data, grid, epochs)
    if name == FIRST or name in LATER:
        line["unlimited"] = without_row_limit(X, y, epochs)
    if name in CROSS:
        line["cross"] = [cross_entropy(data, factor * lr, epochs) for factor in CROSS_FACTORS]
    return line


RATIOS = {"ratio": "constant", "scheduled_ratio": "best schedule", "cosine_ratio": "cosine"}
COSTS = {"cost": "constant", "scheduled_cost": "best schedule"}


def of_means(line, key):
    """A ratio of means with its standard error, in digits."""
    ratio, error = line["means"][key]
    return f"{ratio:.3f} ± {error:.1g}"


def missed_bars(lines):
    """What is beyond a bar, in words."""
    missed = [
        f"{name}, {words}: {line[key]:.3f} times the best of {GRID}"
        for name, line in lines.items()
        for key, words in RATIOS.items()
        if not line[key] <= LOSS_BAR
    ]
    missed += [
        f"{name}, {words}, means of {FRESH} runs: {of_means(line, key)} times the best of {GRID}"
        for name, line in lines.items()
        for key, words in RATIOS.items()
        if not line["means"][key][0] <= LOSS_BAR
    ]
    missed += [
        f"{name}, {words}: {line[key] / line['sweep']:.3f} of the sweep's cost"
        for name, line in lines.items()
        for key, words in COSTS.items()
        if not line[key] <= COST_BAR * line["sweep"]
    ]
    return missed


def table(head, rows):
    """Lines of a Markdown table."""
    return ["", "| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1), *rows, ""]


def main_tables(lines):
    """Constant learning rates, and schedules."""
    head = ["set", "training rows × columns", "known by", "predicted lr", "loss forecast", "loss trained"]
    head += ["best of 13", "ratio", "ratio of means", "ridge", "L-BFGS", "forecast, s", "sweep, s", "cost"]
    rows = [
        f"| {name} | {line['shape'][0]:,} × {line['shape'][1]:,} | {line['how']} | {line['lr']:.3g} "
        f"| {line['loss']:.4g} | {line['trained']:.4g} | {line['best']:.4g} | {line['ratio']:.3f} "
        f"| {of_means(line, 'ratio')} | {line['ridge']:.4g} | {line['lbfgs']:.4g} "
        f"| {line['cost']:.1f} | {line['sweep']:.0f} | {line['cost'] / line['sweep']:.3f} |"
        for name, line in lines.items()
    ]
    text = ["## A constant learning rate", *table(head, rows), "## Schedules", ""]
    text += [
        f"The best schedule beside the best of {GRID} constant learning rates, with what its forecast costs over "
        f"what the sweep of constant ones costs; and cosine decay beside the best of {GRID} cosine decays."
    ]
    head = ["set", "best schedule: forecast", "trained", "ratio to constant", "ratio of means"]
    head += ["forecast, s", "cost", "cosine: predicted peak", "trained", "best of 13", "ratio"]
    head += ["ratio of means"]
    rows = [
        f"| {name} | {line['scheduled_loss']:.4g} | {line['scheduled']:.4g} | {line['scheduled_ratio']:.3f} "
        f"| {of_means(line, 'scheduled_ratio')} | {line['scheduled_cost']:.1f} "
        f"| {line['scheduled_cost'] / line['sweep']:.3f} | {line['cosine_lr']:.3g} | {line['cosine']:.4g} "
        f"| {line['cosine_best']:.4g} | {line['cosine_ratio']:.3f} | {of_means(line, 'cosine_ratio')} |"
        for name, line in lines.items()
    ]
    return text + table(head, rows)


def said_of_costs(lines):
    """The sweep that was trained in full."""
    for name, line in lines.items():
        if "in_full" in line:
            seconds, best = line["in_full"]
            product = line["sweep"]
            yield (
                f"On {name} the whole sweep was trained in PyTorch, whose shuffles are its own: {seconds:.0f} "
                f"processor seconds, where the product says {product:.0f} with the import of torch, and a best "
                f"held-out loss of {best:.4g}, where the compiled loop has {line['best']:.4g}."
            )


def said_of_rows(lines):
    """What the limit by the longest row does, on the set that suggested it and on those that came later."""
    shown = {name: line for name, line in lines.items() if "unlimited" in line}
    text = ["## The longest row as a limit", ""]
    text += [
        f"The forecast keeps the learning rate below 1.44 over the largest squared norm of a row. “{FIRST}” suggested "
        "this rule, so that it is no test of it; the sets below it were chosen and measured afterwards. The last "
        "columns are what would be predicted and trained without the rule."
    ]
    rows = [
        f"| {name} | {line['lr']:.3g} | {line['ratio']:.3f} | {line['unlimited'][0]:.3g} "
        f"| {line['unlimited'][1] / line['best']:.3g} |"
        for name, line in shown.items()
    ]
    text += table(["set", "predicted lr", "ratio", "lr without the rule", "ratio without the rule"], rows)
    later = {name: line for name, line in shown.items() if name != FIRST}
    if later:
        changed = sum(abs(line["unlimited"][0] / line["lr"] - 1) > CHANGED for line in later.values())
        worst = max(later, key=lambda name: later[name]["ratio"])
        text += [
            f"The largest ratio among the {len(later)} later sets is {later[worst]['ratio']:.3f} ({worst}). The rule "
            f"changed the learning rate of {changed} of them by more than {100 * CHANGED:.0f} %."
        ]
    return [*text, ""]


def said_of_cross_entropy(lines):
    """Cross-entropy at multiples of the predicted learning rate."""
    shown = {name: line["cross"] for name, line in lines.items() if "cross" in line}
    if not shown:
        return []
    text = ["## Cross-entropy at multiples of the learning rate predicted for the squared loss", ""]
    text += ["Held-out cross-entropy (accuracy)."]
    rows = []
    for name, measured in shown.items():
        cells = [f"{value:.3g} ({100 * accuracy:.1f} %)" for value, accuracy in measured]
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    text += table(["set", *(f"× {factor:g}" for factor in CROSS_FACTORS)], rows)
    winners = [CROSS_FACTORS[int(np.argmin([value for value, _ in measured]))] for measured in shown.values()]
    counts = ", ".join(
        f"× {factor:g} on {winners.count(factor)}" for factor in CROSS_FACTORS if factor in winners
    )
    return [
        *text,
        f"Of the {len(CROSS_FACTORS)} factors the smallest cross-entropy has {counts} of the {len(shown)} sets. They "
        "have 10, 11, 10 and 2 classes, so the number of classes is no rule for the factor.",
    ]


def largest(lines, ratio):
    """The largest ratio of each kind and its set, in words; `ratio` gives that of a line and a kind."""
    worst = {key: max(lines, key=lambda name, key=key: ratio(lines[name], key)) for key in RATIOS}
    return "; ".join(
        f"{words} {ratio(lines[worst[key]], key):.3f} ({worst[key]})" for key, words in RATIOS.items()
    )


def page(lines):
    """PROBES.md."""
    text = [
        "# The learning rate of a probe without a sweep",
        "",
        *"\n\n".join(__doc__.split("\n\n")[2:4]).splitlines(),
        "",
    ]
    text += [
        f"{EPOCHS} epochs, {5 * EPOCHS} for fewer than a thousand rows; a quarter of the rows held out. Bars: "
        f"ratios at most {LOSS_BAR}, costs at most {COST_BAR}. Losses are held-out squared errors, summed over outputs."
    ]
    text += ["", f"Largest ratios: {largest(lines, lambda line, key: line[key])}. "]
    text[-1] += f"Of means of {FRESH} runs: {largest(lines, lambda line, key: line['means'][key][0])}"
    dearest = max(max(line[key] for key in COSTS) / line["sweep"] for line in lines.values())
    behind = max(line["ridge"] / line["trained"] for line in lines.values())
    better = sum(line["ridge"] < 0.99 * min(line["trained"], line["scheduled"]) for line in lines.values())
    text[-1] += f". Largest cost: {dearest:.3f} of the DataLoader's."
    missed = missed_bars(lines)
    text += ["", "All bars are met." if not missed else "Beyond a bar:"]
    text += ["", *(f"- {words}" for words in missed)] * bool(missed)
    for name, line in lines.items():
        if "again" in line:
            (own, own_error), (other, other_error) = line["again"]
            text += [
                "",
                f"On {name}, {AGAIN} runs in fresh orders have a mean held-out loss of {own:.4g} ± {own_error:.2g} at "
                f"the predicted learning rate, and {other:.4g} ± {other_error:.2g} at the one that won the sweep.",
            ]
    text += ["", *said_of_costs(lines), ""]
    text += [*instead(), ""]
    text += [
        f"Ridge in closed form is more than 1 % better than both probes on {better} of the {len(lines)} sets, and "
        f"nowhere more than {100 * (behind - 1):.1f} % worse than the constant learning rate.",
        "",
    ]
    text += [*main_tables(lines), *said_of_rows(lines), *said_of_cross_entropy(lines)]
    return "\n".join(text).rstrip() + "\n"


def main():
    """Measure all sets (or those named), write the page, and compare with the bars."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", action="append", default=[], help="part of a set's name; no page is written"
    )
    parser.add_argument("--instead", action="store_true", help="only what else one may run")
    chosen = parser.parse_args()
    if chosen.instead:
        return print("\n".join(instead()))
    only = chosen.only
    names = [name for name in SETS if not only or any(word in name for word in only)]
    if not names:
        sys.exit(f"--only must be part of one of: {'; '.join(SETS)}.")
    started, imported = start_up(), torch_import()
    lines = {}
    for name in names:
        lines[name] = compare(name, started, imported)
        print(name, json.dumps(lines[name]), flush=True)
    made = page(lines)
    if only:
        print(made)
    else:
        (HERE / "PROBES.md").write_text(made)
    print(f"{time.process_time():.0f} processor seconds in all")
    missed = missed_bars(lines)
    if missed:
        sys.exit("Beyond a bar: " + "; ".join(missed))


if __name__ == "__main__":
    main()
