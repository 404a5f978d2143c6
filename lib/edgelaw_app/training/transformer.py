r"""A tiny Transformer language model, and the least-squares problem that its head solves once the body is frozen.

The model reads characters and predicts the next one. Its last layer is linear, :math:`W\phi`, with the features
:math:`\phi \in \mathbb R^d` of a context. Frozen features make the mean squared error of the prediction,
:math:`\frac1N\sum_i \lvert W\phi_i - e_{y_i}\rvert^2`, a quadratic function of W that knows the body through two
matrices alone: the covariance :math:`H = \frac1N\sum_i\phi_i\phi_i^\top` and the moment
:math:`C = \frac1N\sum_i e_{y_i}\phi_i^\top`. Gradient descent on it is what the rest of the book is about.

Features are scaled to norm :math:`\sqrt d` (a root-mean-square norm without parameters ends the body), so that H has
mean eigenvalue 1, as everywhere in the book. H is the second moment, not centred: that is the curvature of the loss.
Weights and batches come from a numpy ``rng``, not from torch's global state.
"""

import copy
import io
from collections.abc import Callable

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from edgelaw import shipped
from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, Integers, Rng
from edgelaw.theory import gradient_descent

LOSSES = ("cross_entropy", "mse")

# the text ---------------------------------------------------------------------------------------------------


def shipped_text() -> str:
    """The first ten chapters of Moby-Dick, in lower case: the text that the shipped model was trained on."""
    return shipped.read("moby_dick.txt").decode("utf-8").lower()


def encode(text: str) -> tuple[Integers, str]:
    """The text as integers, each a character's place in the alphabet, and the alphabet: its characters, sorted."""
    if not isinstance(text, str) or not text:
        raise ValueError("text must be a non-empty string.")
    characters, tokens = np.unique(list(text), return_inverse=True)
    return tokens.astype(np.int64), "".join(characters)


def contexts(
    tokens: ArrayLike, length: int, count: int | None = None, rng: Rng | None = None
) -> tuple[Integers, Integers]:
    """Stretches of `length` characters, a row each, and what follows each of their characters.

    They are `count` stretches at places drawn from `rng`, or the text cut into consecutive ones, a rest left out.
    """
    text = arguments.counts(tokens, "tokens")
    length = arguments.whole(length, "length", 1)
    if text.ndim != 1 or len(text) <= length:
        raise ValueError(f"tokens must be a list of more than length = {length} integers.")
    if count is None:
        starts = np.arange(0, len(text) - length, length)
    else:
        count = arguments.whole(count, "count", 1)
        starts = arguments.generator(rng).integers(0, len(text) - length, size=count)
    window = starts[:, None] + np.arange(length)
    return text[window], text[window + 1]


# the model --------------------------------------------------------------------------------------------------


def _norm(x: torch.Tensor) -> torch.Tensor:
    """Every vector scaled to norm √d; the small number keeps a zero vector where it is."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-12)


class _Block(nn.Module):
    """Causal self-attention, then a two-layer perceptron, each on normalised input and added to it."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.attend = nn.Linear(width, 3 * width, bias=False)
        self.mix = nn.Linear(width, width, bias=False)
        self.widen = nn.Linear(width, 2 * width, bias=False)
        self.narrow = nn.Linear(2 * width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        B, T, d = x.shape
        parts = self.attend(_norm(x)).view(B, T, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = parts.unbind(0)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.mix(seen.transpose(1, 2).reshape(B, T, d))
        return x + self.narrow(F.gelu(self.widen(_norm(x))))


class Transformer(nn.Module):
    r"""A causal Transformer over characters: embeddings, blocks, a norm, and a linear head without bias.

    Weights are drawn from `rng`, normal: embeddings of variance 1, matrices of variance 1/(inputs), those that write
    into the residual stream divided by :math:`\sqrt{2\,\mathrm{depth}}`; the head starts at zero.

    Parameters
    ----------
    characters : int
        Size of the alphabet.
    width : int
        d, the length of a feature vector; a multiple of ``heads``.
    depth : int
        Blocks; 0 leaves embeddings of the last character and its place.
    length : int
        Longest context.
    heads : int
    rng : Generator or int

    Examples
    --------
    >>> model = Transformer(characters=5, width=8, depth=1, length=4, heads=2, rng=0)
    >>> phi = model.body(torch.tensor([[0, 1, 2, 3]]))
    >>> tuple(phi.shape), round(float(phi.detach().square().sum(-1).mean()), 4)
    ((1, 4, 8), 8.0)
    """

    def __init__(self, characters: int, width: int, depth: int, length: int, heads: int = 4, rng: Rng = 0):
        super().__init__()
        self.characters, self.width = arguments.whole(characters, "characters", 2), width
        self.depth, self.length = arguments.whole(depth, "depth", 0), arguments.whole(length, "length", 1)
        if arguments.whole(width, "width", 1) % arguments.whole(heads, "heads", 1):
            raise ValueError(f"width must be a multiple of heads = {heads}, not {width}.")
        generator = arguments.generator(rng)
        self.character = nn.Embedding(characters, width)
        self.place = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(_Block(width, heads) for _ in range(depth))
        self.head = nn.Linear(width, characters, bias=False)
        with torch.no_grad():
            for name, weight in self.named_parameters():
                scale = 1.0 if name in ("character.weight", "place.weight") else weight.shape[1] ** -0.5
                if name.endswith(("mix.weight", "narrow.weight")):
                    scale /= np.sqrt(2 * depth)
                weight.copy_(torch.as_tensor(scale * generator.standard_normal(tuple(weight.shape))))
            self.head.weight.zero_()

    def freeze_body(self) -> "Transformer":
        """From now on the head only is trained; returns the model."""
        self.requires_grad_(False)
        self.head.requires_grad_(True)
        return self

    def body(self, inputs: torch.Tensor) -> torch.Tensor:
        """Features of every character in its context, shape (batch, length, width), each of norm √width."""
        x = self.character(inputs) + self.place(torch.arange(inputs.shape[1]))
        for block in self.blocks:
            x = block(x)
        return _norm(x)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """The head's outputs, shape (batch, length, characters)."""
        return self.head(self.body(inputs))


def shipped_model() -> Transformer:
    """The model whose body chapter 11 freezes; its weights are stored in eight bits, its head is zero."""
    arrays = _arrays("transformer_body.npz")
    state = {
        name: torch.as_tensor(arrays[name] * arrays[f"{name}.scale"])
        for name in arrays
        if f"{name}.scale" in arrays
    }
    characters, width = state["character.weight"].shape
    depth = sum(name.endswith("mix.weight") for name in state)
    model = Transformer(characters, width, depth, len(state["place.weight"]), int(arrays["heads"]))
    model.load_state_dict({**state, "head.weight": torch.zeros(characters, width)})
    return model


def shipped_runs() -> dict[str, np.ndarray]:
    """Spectra over training, at several widths, depths and seeds: the arrays that the data card describes."""
    return _arrays("transformer_runs.npz")


def _arrays(name: str) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(shipped.read(name)), allow_pickle=False) as arrays:
        return dict(arrays)


def train(
    model: Transformer,
    text: tuple[ArrayLike, ArrayLike],
    steps: int,
    rate: float,
    loss: str = "cross_entropy",
    batch: int = 16,
    rng: Rng = 0,
    watch: Callable[[int, Transformer], object] = lambda step, model: None,
) -> Array:
    r"""Train a model in place for a number of steps at a constant rate; returns each batch's loss before its step.

    Parameters
    ----------
    text : pair of arrays of int of shape (count, length)
        Contexts and what follows each of their characters, as `contexts` gives them.
    loss : {"cross_entropy", "mse"}
        Of the next character. Cross-entropy is minimised by Adam; ``"mse"`` compares the outputs with its one-hot
        vector, summed over the alphabet, and is minimised by SGD: the rate multiplies the gradient of *half* the mean
        squared error, so that on the head a step is :math:`W \leftarrow W - \eta(WH - C)` with the batch's H and C.
    batch : int
        Contexts per step, drawn from ``rng`` with replacement; 0 takes all of them in every step.
    watch : callable, optional
        Called as ``watch(step, model)`` before every step and once after the last.
    """
    steps, rate = arguments.whole(steps, "steps", 0), arguments.number(rate, "rate", 0)
    arguments.choice(loss, "loss", LOSSES)
    batch, generator = arguments.whole(batch, "batch", 0), arguments.generator(rng)
    X, Y = (_contexts(model, part, name) for part, name in zip(text, ("inputs", "targets"), strict=True))
    if X.shape != Y.shape:
        raise ValueError(f"inputs and targets must have one shape, not {X.shape} and {Y.shape}.")
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    stepper: torch.optim.Optimizer = torch.optim.SGD(weights, lr=rate / 2)
    if loss == "cross_entropy":
        stepper = torch.optim.Adam(weights, lr=rate, betas=(0.9, 0.98))
    losses = np.empty(steps)
    for step in range(steps):
        watch(step, model)
        rows = slice(None) if batch == 0 else generator.integers(0, len(X), size=batch)
        stepper.zero_grad()
        value = _loss(model, X[rows], Y[rows], loss)
        value.backward()
        stepper.step()
        losses[step] = value.item()
    watch(steps, model)
    return losses


def _loss(model: Transformer, inputs: torch.Tensor, targets: torch.Tensor, loss: str) -> torch.Tensor:
    """The mean loss over all characters of the contexts."""
    out = model(inputs).flatten(0, 1)
    if loss == "cross_entropy":
        return F.cross_entropy(out, targets.flatten())
    return (out - F.one_hot(targets.flatten(), model.characters)).square().sum(1).mean()


def _contexts(model: Transformer, values: ArrayLike, name: str) -> torch.Tensor:
    """Rows of characters that the model can read."""
    rows = arguments.counts(values, name)
    if rows.ndim != 2 or rows.size == 0 or rows.shape[1] > model.length or rows.max() >= model.characters:
        raise ValueError(
            f"{name} must be rows of at most {model.length} integers below {model.characters}, "
            "the model's context length and alphabet."
        )
    return torch.as_tensor(rows)


def features(model: Transformer, inputs: ArrayLike) -> Array:
    """Features of all characters of all contexts in double precision, one per row, (count · length, width).

    The forward pass is done in float64 whatever the model's precision, so that the result depends on the
    processor by rounding only (measured: 2e-14 in the eigenvalues of the shipped model's covariance).
    """
    twin = copy.deepcopy(model).double()
    with torch.no_grad():
        parts = [twin.body(part) for part in _contexts(model, inputs, "inputs").split(64)]
    return torch.cat(parts).flatten(0, 1).numpy()


# the problem of its head -------------------------------------------------------------------------------------


class HeadProblem:
    r"""The least-squares problem of a linear head on features X with one-hot targets.

    H must be invertible, so X needs at least as many rows as columns, and no column a combination of others.

    Attributes
    ----------
    covariance, moment : ndarray
        :math:`H = \frac1N\sum_i\phi_i\phi_i^\top`, not centred, and :math:`C = \frac1N\sum_i e_{y_i}\phi_i^\top`.
    eigenvalues, eigenvectors : ndarray
        Of H, ascending; in columns.
    solution : ndarray of shape (classes, d)
        :math:`W_* = C H^{-1}`.
    floor : float
        The mean squared error at the solution, :math:`1 - \mathrm{tr}(W_* C^\top)`.

    Examples
    --------
    >>> problem = HeadProblem([[1.0, 1.0], [1.0, -1.0]], [0, 1], classes=2)
    >>> problem.eigenvalues.tolist(), problem.solution.tolist(), round(problem.floor, 12)
    ([1.0, 1.0], [[0.5, 0.5], [0.5, -0.5]], 0.0)
    """

    def __init__(self, X: ArrayLike, labels: ArrayLike, classes: int):
        rows = np.asarray(arguments.matrix(X, minimum=1), dtype=float)
        targets, classes = arguments.counts(labels, "labels"), arguments.whole(classes, "classes", 1)
        if targets.shape != (len(rows),) or targets.max() >= classes:
            raise ValueError(
                f"labels must be {len(rows)} integers below classes = {classes}, one for each row of X."
            )
        self.covariance = rows.T @ rows / len(rows)
        sums = [rows[targets == label].sum(axis=0) for label in range(classes)]
        self.moment = np.stack(sums) / len(rows)
        self.eigenvalues, self.eigenvectors = np.linalg.eigh(self.covariance)
        if self.eigenvalues[0] <= 1e-12 * self.eigenvalues[-1]:
            raise ValueError("The covariance of the features is singular, so the best head is not unique.")
        self.solution = (self.moment @ self.eigenvectors / self.eigenvalues) @ self.eigenvectors.T
        self.floor = float(1 - np.vdot(self.solution, self.moment))

    def mse(self, W: Array) -> float:
        r"""Mean squared error of a head: :math:`1 - 2\,\mathrm{tr}(WC^\top) + \mathrm{tr}(WHW^\top)`."""
        return float(1 - 2 * np.vdot(W, self.moment) + np.vdot(W @ self.covariance, W))

    def weights(self, start: Array) -> Array:
        r"""How a start's error is spread over the eigenvectors: :math:`\lvert(W_0-W_*)v_j\rvert^2` over its sum."""
        along = (((start - self.solution) @ self.eigenvectors) ** 2).sum(axis=0)
        return along / along.sum()

    def descend(self, start: Array, steps: ArrayLike, step: float) -> tuple[Array, Array]:
        r"""Gradient descent on the head, :math:`W \leftarrow W - \eta(WH - C)`, iterated, not diagonalised.

        After each of the ascending numbers of steps it gives :math:`\lvert E\rvert^2/\lvert E_0\rvert^2` and
        :math:`\mathrm{tr}(EHE^\top)/\lvert E_0\rvert^2` with :math:`E = W - W_*`: the parameter error, and the mean
        squared error above its minimum in the same units. The step is below :math:`2/\lambda_{\max}`.
        """
        recorded = arguments.counts(steps, "steps")
        if recorded.ndim != 1 or len(recorded) == 0 or (np.diff(recorded) < 0).any():
            raise ValueError("steps must be an ascending list of non-negative integers.")
        step = gradient_descent.stable_step(step, self.eigenvalues[-1])
        W, done, losses = np.array(start, dtype=float), 0, []
        for n in recorded.tolist():
            for _ in range(n - done):
                W -= step * (W @ self.covariance - self.moment)
            done, E = n, W - self.solution
            losses.append(((E * E).sum(), np.vdot(E @ self.covariance, E)))
        error, residual = np.array(losses).T / ((start - self.solution) ** 2).sum()
        return error, residual

    def curve(self, weights: Array, steps: ArrayLike, step: float) -> tuple[Array, Array]:
        r"""Parameter error and residual as exact sums over the spectrum, *proved* (thm-tf-head).

        They are :math:`\sum_j a_j(1-\eta\lambda_j)^{2n}` and the same with :math:`a_j\lambda_j`. With equal weights
        :math:`a_j = 1/d`, the mean over random starts, these are the book's test and training loss,
        :func:`edgelaw.theory.gradient_descent.curve`; with :meth:`weights` of a start they are that start's own.
        """
        return gradient_descent.weighted_losses(steps, self.eigenvalues, weights, step)
