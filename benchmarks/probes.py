"""The learning rate of a linear probe without a sweep: predicted, beside the best of 13 that were tried.

    OMP_NUM_THREADS=1 python benchmarks/probes.py     about two minutes on a quiet core; writes PROBES.md

For each set of features `edgelaw.labels.forecast` says a learning rate from the features and labels alone. A probe is
trained with it (batch 1, shuffled every epoch, squared loss), and a sweep trains one at each of 13 learning rates on a
logarithmic grid over four decades below the largest stable one; the best held-out loss of the 13 counts. Both sides
choose on the same held-out rows. These trainings are made by the compiled loop of `edgelaw.labels`, which tests hold to
PyTorch's updates. What the sweep costs in PyTorch is 13 times the epochs times the processor seconds of one epoch of an
ordinary loop (DataLoader, nn.Linear, autograd, torch.optim.SGD), timed on each set in the same run, plus the time to
import torch; what the forecast costs is its own seconds plus the time to import edgelaw and to load machine code.
Ridge regression in closed form and L-BFGS with as many passes stand beside them, and cross-entropy, trained at the
learning rate that was predicted for the squared loss.

The exit status is not zero if a bar is missed.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded

import json
import pathlib
import sys
import time

import numpy as np

from edgelaw import labels
from edgelaw.labels import simulation

HERE = pathlib.Path(__file__).resolve().parent
EPOCHS = 20  # five times as many for sets of fewer than a thousand rows
GRID, DECADES = 13, 4
LOSS_BAR, COST_BAR = 1.05, 0.1
ROWS, HELD = 1500, 0.25
CROSS = ("CIFAR-10, ResNet-50", "Wikipedia, mpnet", "digits", "breast cancer")
CROSS_FACTORS = (0.1, 1.0, 10.0)


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
    from edgelaw.training import transformer

    model = transformer.shipped_model()
    tokens, _ = transformer.encode(transformer.shipped_text())
    inputs, following = transformer.contexts(tokens, 64, ROWS // 16, rng=0)
    features = transformer.features(model, inputs)
    chosen = np.random.default_rng(0).permutation(len(features))[:ROWS]
    y = following.ravel()[chosen]
    return features[chosen], y


def random_features():
    """Random ReLU features of digits."""
    X, y = sklearn_set("digits")
    rng = np.random.default_rng(0)
    return np.maximum(X @ rng.standard_normal((X.shape[1], 300)) / 8, 0), y


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
    "random ReLU features of digits": random_features,
}


# ---------------------------------------------------------------------------------------------------------------


def start_up():
    """Processor seconds to import edgelaw and load its machine code, by a forecast of a few small rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 24))
    labels.forecast(X, X[:, 0] + rng.standard_normal(60), epochs=2, orders=["random_reshuffle"])
    return time.process_time()


def torch_import():
    """Processor seconds to import torch."""
    before = time.process_time()
    import torch  # noqa: F401

    return time.process_time() - before


def torch_epoch(data, lr):
    """Processor seconds of one epoch of an ordinary loop."""
    import torch

    rows = torch.utils.data.TensorDataset(torch.tensor(data.X), torch.tensor(data.T))
    model = torch.nn.Linear(data.X.shape[1], data.T.shape[1], bias=False, dtype=torch.float64)
    rule = torch.optim.SGD(model.parameters(), lr=lr)
    loader = torch.utils.data.DataLoader(rows, batch_size=1, shuffle=True)
    before = time.process_time()
    for x, t in loader:
        cost = (model(x) - t).square().sum(dim=1).mean() / 2
        rule.zero_grad()
        cost.backward()
        rule.step()
    return time.process_time() - before


def trained(data, lr, epochs):
    """Held-out loss of a probe after its epochs, batch 1, reshuffled; infinite where it diverges."""
    runs = simulation.simulate(
        data, "random_reshuffle", np.full(epochs, lr), 1, 0.0, 1, np.random.default_rng(1)
    )
    return float(runs.held_out[0, -1]) if np.isfinite(runs.held_out[0, -1]) else np.inf


def lbfgs(data, epochs):
    """Held-out loss of least squares by L-BFGS with as many passes over the rows as epochs."""
    from scipy.optimize import minimize

    shape = data.X.shape[1], data.T.shape[1]

    def objective(flat):
        gap = data.X @ flat.reshape(shape) - data.T
        return (gap**2).sum() / 2 / len(gap), (data.X.T @ gap / len(gap)).ravel()

    options = {"maxiter": epochs}
    best = minimize(objective, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options=options)
    return simulation.loss(*data.held, best.x.reshape(shape).T)


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


def compare(name, started, imported):
    """One line of the table."""
    X, y = SETS[name]()
    epochs = EPOCHS if len(X) >= 1000 else 5 * EPOCHS
    before = time.process_time()
    probe = labels.forecast(X, y, epochs=epochs, orders=["random_reshuffle"], held_out=HELD)
    cost = started + time.process_time() - before
    data = probe.data
    rates = np.geomspace(probe.largest_lr * 10.0**-DECADES, 0.9 * probe.largest_lr, GRID)
    losses = [trained(data, rate, epochs) for rate in rates]
    own = trained(data, probe.lr, epochs)
    line = {
        "shape": probe.data.X.shape,
        "how": probe.orders["random_reshuffle"].how,
        "lr": probe.lr,
        "loss": float(probe.held_out[-1]),
        "trained": own,
        "best": min(losses),
        "best_lr": float(rates[int(np.argmin(losses))]),
        "ratio": own / min(losses),
        "cost": cost,
        "sweep": imported + GRID * epochs * torch_epoch(data, probe.lr),
        "ridge": probe.closed_form.ridge_held_out,
        "lbfgs": lbfgs(data, epochs),
        "cautions": [caution.code for caution in probe.cautions],
    }
    if name in CROSS:
        line["cross"] = [cross_entropy(data, factor * probe.lr, epochs) for factor in CROSS_FACTORS]
    return line


def page(lines):
    """PROBES.md."""
    head = [
        "set",
        "training rows × columns",
        "known by",
        "predicted lr",
        "loss forecast",
        "loss trained",
        "best of 13",
    ]
    head += ["ratio", "ridge", "L-BFGS", "forecast, s", "sweep, s", "cost"]
    rows = [
        f"| {name} | {line['shape'][0]:,} × {line['shape'][1]:,} | {line['how']} | {line['lr']:.3g} "
        f"| {line['loss']:.4g} | {line['trained']:.4g} | {line['best']:.4g} | {line['ratio']:.3f} "
        f"| {line['ridge']:.4g} | {line['lbfgs']:.4g} | {line['cost']:.1f} | {line['sweep']:.0f} "
        f"| {line['cost'] / line['sweep']:.3f} |"
        for name, line in lines.items()
    ]
    text = ["# The learning rate of a probe without a sweep", "", *__doc__.split("\n\n")[2].splitlines(), ""]
    text += [
        f"{EPOCHS} epochs, {5 * EPOCHS} for fewer than a thousand rows; a quarter of the rows held out. Bars: "
        f"ratio at most {LOSS_BAR}, cost at most {COST_BAR}. Losses are held-out squared errors, summed over outputs."
    ]
    text += ["", "| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1), *rows, ""]
    text += ["## Cross-entropy at the learning rate predicted for the squared loss", ""]
    text += [
        "Held-out cross-entropy (accuracy) at a tenth of the predicted learning rate, at it, and at ten times it.",
        "",
    ]
    text += [
        "| set | " + " | ".join(f"× {factor:g}" for factor in CROSS_FACTORS) + " |",
        "|---|---:|---:|---:|",
    ]
    for name, line in lines.items():
        if "cross" in line:
            cells = [f"{value:.3g} ({100 * accuracy:.1f} %)" for value, accuracy in line["cross"]]
            text.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(text).rstrip() + "\n"


def main():
    """Measure all sets (or those named), write the page, and compare with the bars."""
    names = [name for name in SETS if not sys.argv[1:] or any(word in name for word in sys.argv[1:])]
    started, imported = start_up(), torch_import()
    lines = {}
    for name in names:
        lines[name] = compare(name, started, imported)
        print(name, json.dumps(lines[name]), flush=True)
    if len(names) == len(SETS):
        (HERE / "PROBES.md").write_text(page(lines))
    missed = [
        name
        for name, line in lines.items()
        if line["ratio"] > LOSS_BAR or line["cost"] > COST_BAR * line["sweep"]
    ]
    if missed:
        sys.exit(f"Missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
