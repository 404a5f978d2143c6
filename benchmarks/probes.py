"""The learning rate of a linear probe without a sweep: predicted, beside the best of 13 that were tried.

    OMP_NUM_THREADS=1 python benchmarks/probes.py     about a quarter of an hour on a quiet core; writes PROBES.md

For each set of features: `edgelaw.labels.forecast` says a learning rate from the features and labels, and a probe is
trained with it, once, in PyTorch (a DataLoader with batch 1, shuffled every epoch). The sweep trains a probe at each of
13 learning rates on a logarithmic grid over four decades below the largest stable one, and keeps the best held-out
loss; learning rates of both are thus chosen on the same held-out rows. Costs are processor seconds in one run, each side in a process of
its own, start-up included. Ridge regression in closed form and L-BFGS stand beside them, and cross-entropy, trained at
the learning rate that was predicted for the squared loss.

The exit status is not zero if a bar is missed.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded

import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
EPOCHS = int(os.environ.get("EPOCHS", 20))  # five times as many for sets of fewer than a thousand rows
GRID = 13
DECADES = 4
LOSS_BAR, COST_BAR = 1.05, 0.1
ROWS = int(os.environ.get("ROWS", 1500))
HELD = 0.25
CROSS = ("CIFAR-10, ResNet-50, 256 directions", "Wikipedia, mpnet, 256 directions", "digits", "breast cancer")


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
    "CIFAR-10, ResNet-50, 256 directions": lambda: embeddings("cifar10", 256),
    "the same × 0.01": lambda: embeddings("cifar10", 256, scale=1e-2),
    "the same × 100": lambda: embeddings("cifar10", 256, scale=1e2),
    "the same, rows normalised": lambda: embeddings("cifar10", 256, normalize=True),
    "Wikipedia, mpnet, 256 directions": lambda: embeddings("wikipedia", 256),
    "the same × 0.01 ": lambda: embeddings("wikipedia", 256, scale=1e-2),
    "the same × 100 ": lambda: embeddings("wikipedia", 256, scale=1e2),
    "the same, rows normalised ": lambda: embeddings("wikipedia", 256, normalize=True),
    "digits": lambda: sklearn_set("digits"),
    "breast cancer": lambda: sklearn_set("breast_cancer"),
    "diabetes (numbers)": lambda: sklearn_set("diabetes"),
    "wine, columns as they are": lambda: sklearn_set("wine", standardised=False),
    "Transformer's hidden states": hidden_states,
    "random ReLU features of digits": random_features,
}


# each of these runs in a process of its own ----------------------------------------------------------------


def predicted(path, epochs):
    """The forecast, from the file."""
    from edgelaw import labels

    with np.load(path) as file:
        X, y = file["X"], file["y"]
    orders = ["random_reshuffle"]
    probe = labels.forecast(X, y, epochs=epochs, orders=orders, held_out=HELD, schedule="constant")
    return {
        "lr": probe.lr,
        "largest": probe.largest_lr,
        "loss": float(probe.held_out[-1]),
        "ridge": probe.closed_form.ridge_held_out,
        "chance": probe.chance,
        "cautions": [caution.code for caution in probe.cautions],
    }


def trained(path, rates, epochs, loss="squares"):
    """Held-out loss and accuracy of a probe trained in PyTorch at each learning rate, batch 1, reshuffled."""
    import torch

    from edgelaw.labels.preparation import prepare

    with np.load(path) as file:
        X, y = file["X"], file["y"]
    made = prepare(X, y, HELD, True, True, False, np.random.default_rng(0))
    targets = torch.tensor(made.T)
    held, aims = (torch.tensor(part) for part in made.held)
    one_hot = targets + torch.tensor(made.target_mean)
    places, held_places = one_hot.argmax(1), (aims + torch.tensor(made.target_mean)).argmax(1)
    aimed = targets if loss == "squares" else places
    data = torch.utils.data.TensorDataset(torch.tensor(made.X), aimed)
    results = []
    for lr in rates:
        torch.manual_seed(0)
        model = torch.nn.Linear(made.X.shape[1], targets.shape[1], bias=False, dtype=torch.float64)
        torch.nn.init.zeros_(model.weight)
        loader = torch.utils.data.DataLoader(data, batch_size=1, shuffle=True)
        rule = torch.optim.SGD(model.parameters(), lr=lr)
        for _ in range(epochs):
            for x, t in loader:
                scores = model(x)
                if loss == "squares":
                    cost = ((scores - t) ** 2).sum(dim=1).mean() / 2
                else:
                    cost = torch.nn.functional.cross_entropy(scores, t)
                rule.zero_grad()
                cost.backward()
                rule.step()
        W = model.weight.detach()
        with torch.no_grad():
            scores = held @ W.T
            if loss == "squares":
                value = ((scores - aims) ** 2).sum().item() / len(held)
                scores = scores + torch.tensor(made.target_mean)
            else:
                value = torch.nn.functional.cross_entropy(scores, held_places).item()
        accuracy = (scores.argmax(1) == held_places).double().mean().item()
        results.append((value if np.isfinite(value) else None, accuracy))
    return results


def lbfgs(path, epochs):
    """Held-out loss of least squares by L-BFGS with as many passes over the rows as the epochs."""
    from scipy.optimize import minimize

    from edgelaw.labels.preparation import prepare

    with np.load(path) as file:
        X, y = file["X"], file["y"]
    made = prepare(X, y, HELD, True, True, False, np.random.default_rng(0))
    shape = made.X.shape[1], made.T.shape[1]

    def objective(flat):
        gap = made.X @ flat.reshape(shape) - made.T
        return (gap**2).sum() / 2 / len(gap), (made.X.T @ gap / len(gap)).ravel()

    best = minimize(
        objective, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": epochs}
    )
    return float(((made.held[0] @ best.x.reshape(shape) - made.held[1]) ** 2).sum() / len(made.held[0]))


# -------------------------------------------------------------------------------------------------------------


def in_own_process(what, *arguments):
    """The result of a function of this file in a new process, and that process' seconds, start-up included."""
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [sys.executable, __file__, "--run", json.dumps([what, *arguments])]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{what} failed: {done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout.splitlines()[-1]), seconds


def compare(name, folder):
    """One line of the table."""
    X, y = SETS[name]()
    path = str(folder / "set.npz")
    np.savez(path, X=X, y=y)
    epochs = EPOCHS if len(X) >= 1000 else 5 * EPOCHS
    forecast, cost = in_own_process("predicted", path, epochs)
    rates = np.geomspace(forecast["largest"] * 10.0**-DECADES, 0.9 * forecast["largest"], GRID).tolist()
    ((own, accuracy),), once = in_own_process("trained", path, [forecast["lr"]], epochs)
    grid, grid_cost = in_own_process("trained", path, rates, epochs)
    finite = [value for value, _ in grid if value is not None]
    line = {
        "shape": X.shape,
        "epochs": epochs,
        "lr": forecast["lr"],
        "loss": forecast["loss"],
        "trained": own,
        "accuracy": accuracy,
        "best": min(finite),
        "best_lr": rates[[value for value, _ in grid].index(min(finite))],
        "ratio": own / min(finite),
        "cost": cost,
        "once": once,
        "grid_cost": grid_cost,
        "ridge": forecast["ridge"],
        "lbfgs": in_own_process("lbfgs", path, epochs)[0],
        "cautions": forecast["cautions"],
    }
    if name in CROSS:
        every = np.geomspace(forecast["lr"] / 100, 100 * forecast["lr"], 5).tolist()
        results, _ = in_own_process("trained", path, every, epochs, "cross_entropy")
        losses = [np.inf if value is None else value for value, _ in results]
        line |= {
            "cross": losses[2],
            "cross_best": min(losses),
            "cross_factor": 10 ** (int(np.argmin(losses)) - 2.0),
            "cross_accuracy": results[2][1],
            "cross_accuracies": max(share for _, share in results),
        }
    return line


def page(lines):
    """PROBES.md."""
    head = ["set", "rows × columns", "predicted lr", "held-out loss: forecast", "trained at it", "best of 13"]
    head += ["ratio", "ridge", "L-BFGS", "forecast, s", "sweep, s", "cost"]
    rows = [
        f"| {name.strip()} | {line['shape'][0]:,} × {line['shape'][1]:,} | {line['lr']:.3g} | {line['loss']:.4g} "
        f"| {line['trained']:.4g} | {line['best']:.4g} | {line['ratio']:.3f} | {line['ridge']:.4g} "
        f"| {line['lbfgs']:.4g} "
        f"| {line['cost']:.1f} | {line['grid_cost']:.1f} | {line['cost'] / line['grid_cost']:.3f} |"
        for name, line in lines.items()
    ]
    text = [
        "# The learning rate of a probe without a sweep",
        "",
        __doc__.split("\n\n")[2].replace("\n", " "),
        "",
    ]
    text += [
        f"{EPOCHS} epochs ({5 * EPOCHS} below a thousand rows), a quarter of the rows held out. "
        f"Bars: ratio at most {LOSS_BAR}, cost at most {COST_BAR}."
    ]
    text += ["", "| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1), *rows, ""]
    crossed = {name: line for name, line in lines.items() if "cross" in line}
    if crossed:
        text += ["## Cross-entropy at the learning rate predicted for the squared loss", ""]
        text += [
            "Five learning rates, a hundredth to a hundred times the predicted one, tell how well it carries over.",
            "",
        ]
        text += [
            "| set | held-out cross-entropy at it | best of five | at this factor | accuracy | best of five |"
        ]
        text += ["|---|---:|---:|---:|---:|---:|"]
        text += [
            f"| {name.strip()} | {line['cross']:.3g} | {line['cross_best']:.3g} | {line['cross_factor']:g} "
            f"| {line['cross_accuracy']:.3f} | {line['cross_accuracies']:.3f} |"
            for name, line in crossed.items()
        ]
    return "\n".join(text).rstrip() + "\n"


def main():
    """Measure all sets (or those named), write the page, and compare with the bars."""
    names = [name for name in SETS if not sys.argv[1:] or any(word in name for word in sys.argv[1:])]
    lines = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            start = time.perf_counter()
            lines[name] = compare(name, pathlib.Path(folder))
            print(name, json.dumps(lines[name]), f"{time.perf_counter() - start:.0f} s", flush=True)
    if len(names) == len(SETS):
        (HERE / "PROBES.md").write_text(page(lines))
    else:
        print(page(lines))
    missed = [
        name
        for name, line in lines.items()
        if line["ratio"] > LOSS_BAR or line["cost"] > COST_BAR * line["grid_cost"]
    ]
    if missed:
        sys.exit(f"Missed: {', '.join(missed)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        what, *arguments = json.loads(sys.argv[2])
        print(json.dumps({"predicted": predicted, "trained": trained, "lbfgs": lbfgs}[what](*arguments)))
    else:
        main()
