"""Lines of PyTorch that do what a forecast says: rows, model, optimiser, order, loop."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

STANDARDIZE = (  # before rows are centred: a constant column has a spread of rounding
    "std = X.std(0, unbiased=False); std[std <= 1e-6 * X.abs().amax(0)] = 1e30"
)
WIDTH = 78  # a terminal's 80 columns without the margin of an answer
ORDER = {  # how an epoch's rows come; a batch is a pair of rows and targets
    "random_reshuffle": "batches = torch.utils.data.DataLoader({pairs}, {batch}, shuffle=True)",
    "iid": "pairs = {pairs}; draw = torch.utils.data.RandomSampler(pairs, replacement=True)\n"
    "batches = torch.utils.data.DataLoader(pairs, {batch}, sampler=draw)",
    "single_shuffle": "i = torch.randperm({rows})  # once\nbatches = torch.utils.data.DataLoader({shuffled}, {batch})",
    "flip_flop": "i, load = torch.randperm({rows}), torch.utils.data.DataLoader  # once\n"
    "pairs = {shuffled}\n"
    "batches = load(pairs, {batch}), load(pairs[::-1], {batch})  # forwards, backwards",
}


class Plan(NamedTuple):
    """How to train: an order, the learning rate of each epoch and its schedule's name, batch and weight decay."""

    order: str
    rates: Sequence[float]
    batch: int = 1
    schedule: str = "constant"
    weight_decay: float = 0.0


def without_labels(shape: tuple[int, int], plan: Plan, prepared: Collection[str]) -> str:
    """For rows X (m, d) and targets Y (m, 1), tensors: what `predict` forecasts.

    `prepared` are the names of what was done to the rows: "center", "standardize", "normalize".
    """
    m, d = shape
    first = f"# X ({m} x {d}) and Y ({m} x 1): rows and targets, tensors of float"
    return _joined([first, *_done(d, prepared, "X = X - X.mean(0)"), *_trained(shape, 1, plan)])


def with_labels(
    shape: tuple[int, int], outputs: int, classes: bool, plan: Plan, prepared: Collection[str]
) -> str:
    """For rows X (m, d) and labels y, tensors: what `probe` forecasts; "intercept" may be among the `prepared`."""
    constant = "intercept" in prepared and "center" not in prepared
    m, d = shape[0], shape[1] - constant
    kind = " (classes from 0)" if classes else " of float"
    Y = "Y = torch.nn.functional.one_hot(y).float()" if classes else f"Y = y.reshape(-1, {outputs})"
    if "center" in prepared and "intercept" in prepared:
        Y += "; bias = Y.mean(0); Y = Y - bias"
    first = f"# X ({m} x {d}), y: rows to train on and labels, tensors{kind}"
    done = _done(d, prepared, "mean = X.mean(0); X = X - mean")
    return _joined([first, Y, *done, *_trained((m, d), outputs, plan, bias=constant)])


def _done(d: int, prepared: Collection[str], centred: str) -> list[str]:
    """What is done to the rows, on one line if it fits."""
    done = [centred] if "center" in prepared else []
    done += ["X = X / std"] if "standardize" in prepared else []
    done += [f"X = X * {d}**0.5 / X.norm(dim=1, keepdim=True)"] if "normalize" in prepared else []
    return [*([STANDARDIZE] if "standardize" in prepared else []), *(["; ".join(done)] if done else [])]


def _trained(shape: tuple[int, int], outputs: int, plan: Plan, bias: bool = False) -> list[str]:
    """The model, the optimiser, the order and the loop."""
    (m, d), zero = shape, "; torch.nn.init.zeros_(net.bias)" if bias else ""
    net = f"net = torch.nn.Linear({d}, {outputs}, bias={bias}); torch.nn.init.zeros_(net.weight){zero}"
    decay = f", weight_decay={plan.weight_decay:.4g}" if plan.weight_decay else ""
    sgd = f"torch.optim.SGD(net.parameters(), lr={plan.rates[0]:.3g}{decay})"
    opt = f"opt = {sgd}; loss = torch.nn.MSELoss()" if decay else f"opt, loss = {sgd}, torch.nn.MSELoss()"
    pairs, shuffled = "list(zip(X, Y))", "list(zip(X[i], Y[i]))"
    order = ORDER[plan.order].format(pairs=pairs, shuffled=shuffled, batch=plan.batch, rows=m)
    return [net, opt, *order.split("\n"), *_loop(plan)]


def _loop(plan: Plan) -> list[str]:
    """The training loop; where the learning rate changes, with a line that says how."""
    rates, schedule, epochs = plan.rates, plan.schedule, len(plan.rates)
    each = "batches" if plan.order != "flip_flop" else "batches[n % 2]"
    if schedule == "constant":
        return [
            f"for x, y in (pair for n in range({epochs}) for pair in {each}):",
            "    opt.zero_grad(); loss(net(x), y).backward(); opt.step()",
        ]
    falling = {
        "cosine": f"(1 + math.cos(math.pi * n / {epochs})) / 2",
        "linear": f"(1 - n / {epochs})",
    }
    return [
        *(["import math"] * (schedule == "cosine")),
        f"for n in range({epochs}):",
        f"    rate = {rates[0]:.3g} * {falling[schedule]}",
        '    opt.param_groups[0]["lr"] = rate',
        f"    for x, y in {each}:",
        "        opt.zero_grad(); loss(net(x), y).backward(); opt.step()",
    ]


def _joined(lines: Sequence[str]) -> str:
    """The lines as one text; a line too long for a terminal is broken between two statements."""
    made: list[str] = []
    for line in lines:
        begun = ""
        for statement in line.split("; "):
            if begun and len(begun) + len(statement) + 2 > WIDTH:
                made.append(begun)
                begun = ""
            begun += f"{'; ' if begun else ''}{statement}"
        made.append(begun)
    return "\n".join(made)
