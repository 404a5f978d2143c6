"""Lines of PyTorch that do what a forecast says: rows, model, optimiser, order, loop."""

import textwrap
from collections.abc import Sequence

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


def _loop(order: str, epochs: int, rates: Sequence[float] = (), schedule: str = "constant") -> list[str]:
    """The training loop; where the learning rate changes, with a line that says how."""
    each = "batches" if order != "flip_flop" else "batches[n % 2]"
    if schedule == "constant":
        return [
            f"for x, y in (pair for n in range({epochs}) for pair in {each}):",
            "    opt.zero_grad(); loss(net(x), y).backward(); opt.step()",
        ]
    first = f"{rates[0]:.3g}"
    lines: list[str] = []
    if schedule == "cosine":
        lines = ["import math"]
        rate = f"{first} * (1 + math.cos(math.pi * n / {epochs})) / 2"
    elif schedule == "linear":
        rate = f"{first} * (1 - n / {epochs})"
    elif schedule == "1/t":
        slower = rates[0] / rates[1] - 1 if len(rates) > 1 else 0.0
        rate = f"{first} / (1 + {slower:.3g} * n)"
    else:
        listed = ", ".join(f"{one:.3g}" for one in rates)
        lines, rate = textwrap.wrap(f"rates = [{listed}]", 76, subsequent_indent="    "), "rates[n]"
    return [
        *(["import math"] if "math" in rate else []),
        *lines,
        f"for n in range({epochs}):",
        f"    rate = {rate}",
        '    opt.param_groups[0]["lr"] = rate',
        f"    for x, y in {each}:",
        "        opt.zero_grad(); loss(net(x), y).backward(); opt.step()",
    ]


def _ordered(order: str, rows: int, batch: int, targets: str) -> list[str]:
    text = ORDER[order].format(
        pairs=f"list(zip(X, {targets}))", shuffled=f"list(zip(X[i], {targets}[i]))", batch=batch, rows=rows
    )
    return text.split("\n")


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


def without_labels(
    shape: tuple[int, int],
    order: str,
    lr: float,
    batch: int,
    epochs: int,
    center: bool,
    scale: bool,
    standardize: bool = False,
) -> str:
    """For rows X (m, d) and targets Y (m, 1), tensors: what `predict` forecasts.

    >>> print(without_labels((512, 64), "random_reshuffle", 0.0123456, 1, 50, center=True, scale=True))
    # X (512 x 64) and Y (512 x 1): rows and targets, tensors of float
    X = X - X.mean(0); X = X * 64**0.5 / X.norm(dim=1, keepdim=True)
    net = torch.nn.Linear(64, 1, bias=False); torch.nn.init.zeros_(net.weight)
    opt, loss = torch.optim.SGD(net.parameters(), lr=0.0123), torch.nn.MSELoss()
    batches = torch.utils.data.DataLoader(list(zip(X, Y)), 1, shuffle=True)
    for x, y in (pair for n in range(50) for pair in batches):
        opt.zero_grad(); loss(net(x), y).backward(); opt.step()
    """
    m, d = shape
    done = ["X = X - X.mean(0)"] * center + ["X = X / std"] * standardize
    done += [f"X = X * {d}**0.5 / X.norm(dim=1, keepdim=True)"] * scale
    lines = [
        f"# X ({m} x {d}) and Y ({m} x 1): rows and targets, tensors of float",
        *[STANDARDIZE] * standardize,
        *(["; ".join(done)] if done else []),
        f"net = torch.nn.Linear({d}, 1, bias=False); torch.nn.init.zeros_(net.weight)",
        f"opt, loss = torch.optim.SGD(net.parameters(), lr={lr:.3g}), torch.nn.MSELoss()",
        *_ordered(order, m, batch, "Y"),
        *_loop(order, epochs),
    ]
    return _joined(lines)


def with_labels(
    shape: tuple[int, int],
    outputs: int,
    classes: bool,
    order: str,
    rates: Sequence[float],
    batch: int,
    weight_decay: float = 0.0,
    schedule: str = "constant",
    prepared: Sequence[str] = (),
) -> str:
    """For rows X (m, d) and labels y, tensors: what `probe` forecasts.

    `prepared` are the names of what was done to the rows: "center", "standardize", "normalize", "intercept".
    """
    (m, d), lines = shape, []
    constant = "intercept" in prepared and "center" not in prepared
    d -= constant
    lines.append(
        f"# X ({m} x {d}), y: rows to train on and labels, tensors"
        + (" (classes from 0)" if classes else " of float")
    )
    lines.append("Y = torch.nn.functional.one_hot(y).float()" if classes else f"Y = y.reshape(-1, {outputs})")
    if "center" in prepared and "intercept" in prepared:
        lines[-1] += "; bias = Y.mean(0); Y = Y - bias"
    lines += [STANDARDIZE] * ("standardize" in prepared)
    done = ["mean = X.mean(0); X = X - mean"] * ("center" in prepared)
    done += ["X = X / std"] * ("standardize" in prepared)
    done += [f"X = X * {d}**0.5 / X.norm(dim=1, keepdim=True)"] * ("normalize" in prepared)
    lines += done
    bias = "torch.nn.init.zeros_(net.bias)" if constant else ""
    lines.append(
        f"net = torch.nn.Linear({d}, {outputs}, bias={constant}); torch.nn.init.zeros_(net.weight)"
        + (f"; {bias}" if bias else "")
    )
    opt = f"torch.optim.SGD(net.parameters(), lr={rates[0]:.3g}"
    if weight_decay:
        lines.append(f"opt = {opt}, weight_decay={weight_decay:.4g}); loss = torch.nn.MSELoss()")
    else:
        lines.append(f"opt, loss = {opt}), torch.nn.MSELoss()")
    lines += _ordered(order, m, batch, "Y")
    lines += _loop(order, len(rates), rates, schedule)
    return _joined(lines)
