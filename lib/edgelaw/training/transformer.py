r"""A tiny Transformer language model, and the least-squares problem that its head solves once the body is frozen.

The model reads characters and predicts the next one. Its last layer is linear, :math:`W\phi`, with the features
:math:`\phi \in \mathbb R^d` of a context. Frozen features make the mean squared error of the prediction,
:math:`\frac1N\sum_i \lvert W\phi_i - e_{y_i}\rvert^2`, a quadratic function of W that knows the body through two
matrices alone: the covariance :math:`H = \frac1N\sum_i\phi_i\phi_i^\top` and the moment
:math:`C = \frac1N\sum_i e_{y_i}\phi_i^\top`. Gradient descent on it is what the rest of the book is about.

Features are scaled to norm :math:`\sqrt d` (a root-mean-square norm without parameters ends the body), so that H has
mean eigenvalue 1, as everywhere in the book. H is the second moment, not centred: that is the curvature of the loss.
Weights and batches come from a numpy ``rng``, not from torch's global state. Beside `edgelaw.samplers`, this module
alone imports torch.
"""

import hashlib
import io
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from edgelaw._common import arguments
from edgelaw.shipped import card, folder

__all__ = [
    "HeadProblem",
    "Transformer",
    "contexts",
    "encode",
    "features",
    "head_problem",
    "pack",
    "shipped_model",
    "shipped_runs",
    "shipped_text",
    "train",
    "unpack",
]

LOSSES = ("cross_entropy", "mse")


# Text ------------------------------------------------------------------------------------------------------


def encode(text, alphabet=None):
    """Characters as integers: a character's number is its place in the alphabet.

    Parameters
    ----------
    text : str
    alphabet : str, optional
        By default the characters of the text, sorted.

    Returns
    -------
    tokens : ndarray of int64
    alphabet : str

    Examples
    --------
    >>> tokens, alphabet = encode("abba")
    >>> tokens.tolist(), alphabet
    ([0, 1, 1, 0], 'ab')
    """
    if not isinstance(text, str) or not text:
        raise ValueError("text must be a non-empty string.")
    alphabet = "".join(sorted(set(text))) if alphabet is None else alphabet
    places = {character: place for place, character in enumerate(alphabet)}
    missing = sorted(set(text) - set(places))
    if missing:
        raise ValueError(f"text has the character {missing[0]!r}, which is not in the alphabet.")
    return np.array([places[character] for character in text], dtype=np.int64), alphabet


def contexts(tokens, length, count=None, rng=None):
    """Stretches of a text with what follows each of their characters.

    Parameters
    ----------
    tokens : array of int
    length : int
        Characters a stretch.
    count : int, optional
        How many, at places drawn from ``rng``; by default the text cut into consecutive stretches, a rest left out.
    rng : Generator or int
        Needed with ``count`` only.

    Returns
    -------
    inputs, targets : ndarray of shape (count, length)
        ``targets`` is ``inputs`` one character later.

    Examples
    --------
    >>> inputs, targets = contexts(np.arange(6), 2)
    >>> inputs.tolist(), targets.tolist()
    ([[0, 1], [2, 3]], [[1, 2], [3, 4]])
    """
    tokens = arguments.counts(tokens, "tokens")
    length = arguments.whole(length, "length", 1)
    if tokens.ndim != 1 or len(tokens) <= length:
        raise ValueError(f"tokens must be a list of more than length = {length} integers.")
    if count is None:
        starts = np.arange(0, len(tokens) - length, length)
    else:
        count = arguments.whole(count, "count", 1)
        starts = arguments.generator(rng).integers(0, len(tokens) - length, size=count)
    window = starts[:, None] + np.arange(length)
    return tokens[window], tokens[window + 1]


# Model -----------------------------------------------------------------------------------------------------


def _norm(x):
    """Every vector scaled to norm √d; the small number keeps a zero vector where it is."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-12)


class _Block(nn.Module):
    """Causal self-attention, then a two-layer perceptron, each on normalised input and added to it."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.attend = nn.Linear(width, 3 * width, bias=False)
        self.mix = nn.Linear(width, width, bias=False)
        self.widen = nn.Linear(width, 2 * width, bias=False)
        self.narrow = nn.Linear(2 * width, width, bias=False)

    def forward(self, x):
        B, T, d = x.shape
        parts = self.attend(_norm(x)).view(B, T, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = parts.unbind(0)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.mix(seen.transpose(1, 2).reshape(B, T, d))
        return x + self.narrow(F.gelu(self.widen(_norm(x))))


class Transformer(nn.Module):
    r"""A causal Transformer over characters: embeddings, blocks, a norm, and a linear head without bias.

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
        Draws the weights: normal, embeddings of variance 1, matrices of variance 1/(inputs); those that write into
        the residual stream are divided by
        :math:`\sqrt{2\,\mathrm{depth}}`; the head starts at zero.

    Examples
    --------
    >>> model = Transformer(characters=5, width=8, depth=1, length=4, heads=2, rng=0)
    >>> phi = model.body(torch.tensor([[0, 1, 2, 3]]))
    >>> tuple(phi.shape), round(float(phi.detach().square().sum(-1).mean()), 4)
    ((1, 4, 8), 8.0)
    """

    def __init__(self, characters, width, depth, length, heads=4, rng=0):
        super().__init__()
        characters, width = arguments.whole(characters, "characters", 2), arguments.whole(width, "width", 1)
        depth, self.length = arguments.whole(depth, "depth", 0), arguments.whole(length, "length", 1)
        if width % arguments.whole(heads, "heads", 1):
            raise ValueError(f"width must be a multiple of heads = {heads}, not {width}.")
        rng = arguments.generator(rng)
        self.characters, self.width, self.depth, self.heads = characters, width, depth, heads
        self.character = nn.Embedding(characters, width)
        self.place = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(_Block(width, heads) for _ in range(depth))
        self.head = nn.Linear(width, characters, bias=False)
        with torch.no_grad():
            for name, weight in self.named_parameters():
                scale = 1.0 if name in ("character.weight", "place.weight") else weight.shape[1] ** -0.5
                if name.endswith(("mix.weight", "narrow.weight")):
                    scale /= np.sqrt(2 * depth)
                drawn = rng.standard_normal(tuple(weight.shape)) * (0.0 if name == "head.weight" else scale)
                weight.copy_(torch.as_tensor(drawn))

    def body(self, inputs):
        """Features of every character in its context, shape (batch, length, width), each of norm √width."""
        x = self.character(inputs) + self.place(torch.arange(inputs.shape[1]))
        for block in self.blocks:
            x = block(x)
        return _norm(x)

    def forward(self, inputs):
        """The head's outputs, shape (batch, length, characters)."""
        return self.head(self.body(inputs))


def _loss(model, inputs, targets, loss):
    out = model(inputs).flatten(0, 1)
    if loss == "cross_entropy":
        return F.cross_entropy(out, targets.flatten())
    return (out - F.one_hot(targets.flatten(), model.characters)).square().sum(1).mean()


def train(
    model,
    inputs,
    targets,
    steps,
    rate,
    loss="cross_entropy",
    optimiser="adam",
    batch=16,
    freeze=False,
    rng=0,
    watch=None,
):
    r"""Train a model in place for a number of steps at a constant rate.

    Parameters
    ----------
    model : Transformer
    inputs, targets : array of int of shape (count, length)
        Contexts and what follows each of their characters, as :func:`contexts` gives them.
    steps : int
    rate : float
        Learning rate. With ``optimiser="sgd"`` and ``loss="mse"`` it multiplies the gradient of *half* the mean squared
        error, so that on the head a step is :math:`W \leftarrow W - \eta(WH - C)` with the batch's H and C.
    loss : {"cross_entropy", "mse"}
        Of the next character; ``"mse"`` compares the outputs with its one-hot vector, summed over the alphabet.
    optimiser : {"adam", "sgd"}
    batch : int
        Contexts a step, drawn from ``rng`` with replacement; 0 takes all of them in every step.
    freeze : bool
        Train the head only.
    rng : Generator or int
    watch : callable, optional
        Called as ``watch(step, model)`` before every step and once after the last.

    Returns
    -------
    ndarray of float
        The loss of every step's batch, before the step.

    Examples
    --------
    >>> tokens, alphabet = encode("to be or not to be, " * 20)
    >>> model = Transformer(len(alphabet), width=8, depth=1, length=8, heads=2)
    >>> losses = train(model, *contexts(tokens, 8), steps=30, rate=0.01)
    >>> bool(losses[-1] < 0.8 * losses[0])
    True
    """
    steps, rate = arguments.whole(steps, "steps", 0), arguments.number(rate, "rate", 0)
    arguments.choice(loss, "loss", LOSSES)
    arguments.choice(optimiser, "optimiser", ("adam", "sgd"))
    batch, rng = arguments.whole(batch, "batch", 0), arguments.generator(rng)
    inputs, targets = _contexts(model, inputs, "inputs"), _contexts(model, targets, "targets")
    if inputs.shape != targets.shape:
        raise ValueError(f"inputs and targets must have one shape, not {inputs.shape} and {targets.shape}.")
    trained = list(model.head.parameters() if freeze else model.parameters())
    if optimiser == "adam":
        stepper = torch.optim.Adam(trained, lr=rate, betas=(0.9, 0.98))
    else:
        stepper = torch.optim.SGD(trained, lr=rate / 2 if loss == "mse" else rate)
    losses = np.empty(steps)
    for step in range(steps):
        if watch is not None:
            watch(step, model)
        rows = slice(None) if batch == 0 else rng.integers(0, len(inputs), size=batch)
        model.zero_grad()
        value = _loss(model, torch.as_tensor(inputs[rows]), torch.as_tensor(targets[rows]), loss)
        value.backward()
        stepper.step()
        losses[step] = float(value.detach())
    if watch is not None:
        watch(steps, model)
    return losses


def _contexts(model, rows, name):
    """Rows of characters that the model can read."""
    rows = arguments.counts(rows, name)
    if rows.ndim != 2 or rows.size == 0 or rows.shape[1] > model.length or rows.max() >= model.characters:
        raise ValueError(
            f"{name} must be rows of at most {model.length} integers below {model.characters}, "
            "the model's context length and alphabet."
        )
    return rows


def features(model, inputs, batch=64):
    """Features of all characters of all contexts in double precision, one a row.

    The forward pass is done in float64 whatever the model's precision, so that the result depends on the
    processor by rounding only (measured: 2e-14 in the eigenvalues of the shipped model's covariance).

    Parameters
    ----------
    model : Transformer
        It is left as it was.
    inputs : array of int of shape (count, length)
    batch : int
        Contexts at once; the result does not depend on it beyond rounding.

    Returns
    -------
    ndarray of shape (count · length, width)

    Examples
    --------
    >>> model = Transformer(characters=3, width=4, depth=1, length=2, heads=1)
    >>> features(model, [[0, 1], [2, 2]]).shape
    (4, 4)
    """
    inputs = torch.as_tensor(_contexts(model, inputs, "inputs"))
    twin = Transformer(model.characters, model.width, model.depth, model.length, model.heads)
    twin.load_state_dict(model.state_dict())
    twin.double()
    with torch.no_grad():
        parts = [twin.body(part) for part in inputs.split(arguments.whole(batch, "batch", 1))]
    return torch.cat(parts).flatten(0, 1).numpy()


# The head's problem ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class HeadProblem:
    r"""Everything that training a linear head by least squares needs to know of the features and targets.

    Attributes
    ----------
    covariance : ndarray of shape (d, d)
        :math:`H = \frac1N\sum_i\phi_i\phi_i^\top`, not centred.
    moment : ndarray of shape (classes, d)
        :math:`C = \frac1N\sum_i e_{y_i}\phi_i^\top`.
    eigenvalues, eigenvectors : ndarray
        Of H, ascending; eigenvectors in columns.
    solution : ndarray of shape (classes, d)
        :math:`W_* = C H^{-1}`.
    floor : float
        The mean squared error at the solution, :math:`1 - \mathrm{tr}(W_* C^\top)`.
    """

    covariance: np.ndarray
    moment: np.ndarray
    eigenvalues: np.ndarray
    eigenvectors: np.ndarray
    solution: np.ndarray
    floor: float

    def mse(self, W):
        r"""Mean squared error of a head: :math:`1 - 2\,\mathrm{tr}(WC^\top) + \mathrm{tr}(WHW^\top)`."""
        return float(1 - 2 * np.vdot(W, self.moment) + np.vdot(W @ self.covariance, W))

    def weights(self, start):
        r"""How a start's error is spread over the eigenvectors: :math:`\lvert(W_0-W_*)v_j\rvert^2` over its sum."""
        along = (((start - self.solution) @ self.eigenvectors) ** 2).sum(axis=0)
        return along / along.sum()

    def descend(self, start, steps, step):
        r"""Gradient descent on the head, :math:`W \leftarrow W - \eta(WH - C)`, iterated, not diagonalised.

        Parameters
        ----------
        start : ndarray of shape (classes, d)
        steps : array of int
            When to record, ascending.
        step : float
            :math:`\eta`, below :math:`2/\lambda_{\max}`.

        Returns
        -------
        error, residual : ndarray
            :math:`\lvert E\rvert^2/\lvert E_0\rvert^2` and :math:`\mathrm{tr}(EHE^\top)/\lvert E_0\rvert^2` with
            :math:`E = W - W_*`: the parameter error, and the mean squared error above its minimum in the same units.
        """
        steps = arguments.counts(steps, "steps")
        if steps.ndim != 1 or len(steps) == 0 or (np.diff(steps) < 0).any():
            raise ValueError("steps must be an ascending list of non-negative integers.")
        step = arguments.number(
            step, "step (gradient descent diverges from 2/λmax on)", 0, 2 / self.eigenvalues[-1]
        )
        W, done, unit = np.array(start, dtype=float), 0, ((start - self.solution) ** 2).sum()
        error, residual = np.empty(len(steps)), np.empty(len(steps))
        for k, n in enumerate(steps.tolist()):
            for _ in range(n - done):
                W -= step * (W @ self.covariance - self.moment)
            done, E = n, W - self.solution
            error[k], residual[k] = (E * E).sum() / unit, np.vdot(E @ self.covariance, E) / unit
        return error, residual

    def curve(self, weights, steps, step):
        r"""Parameter error and residual as exact sums over the spectrum (**proved**).

        They are :math:`\sum_j a_j(1-\eta\lambda_j)^{2n}` and the same with :math:`a_j\lambda_j`. With equal weights
        :math:`a_j = 1/d`, the mean over random starts, these are the book's test and training loss,
        :func:`edgelaw.theory.gradient_descent.curve`; with :meth:`weights` of a start they are that start's own.
        """
        steps = arguments.counts(steps, "steps")
        step = arguments.number(
            step, "step (gradient descent diverges from 2/λmax on)", 0, 2 / self.eigenvalues[-1]
        )
        left = np.abs(1 - step * self.eigenvalues) ** (2.0 * steps[..., None])
        return left @ weights, left @ (weights * self.eigenvalues)


def head_problem(X, labels, classes):
    """The least-squares problem of a linear head on features X with one-hot targets.

    Parameters
    ----------
    X : array of shape (N, d)
        Features; H must be invertible, so N ≥ d and no feature a combination of others.
    labels : array of N int
    classes : int
        Number of classes; labels lie below it.

    Returns
    -------
    HeadProblem

    Examples
    --------
    >>> problem = head_problem([[1.0, 1.0], [1.0, -1.0]], [0, 1], classes=2)
    >>> problem.eigenvalues.tolist(), problem.solution.tolist(), round(problem.floor, 12)
    ([1.0, 1.0], [[0.5, 0.5], [0.5, -0.5]], 0.0)
    """
    X = np.asarray(arguments.matrix(X, minimum=1), dtype=float)
    labels, classes = arguments.counts(labels, "labels"), arguments.whole(classes, "classes", 1)
    if labels.shape != (len(X),) or labels.max() >= classes:
        raise ValueError(
            f"labels must be {len(X)} integers below classes = {classes}, one for each row of X."
        )
    H = X.T @ X / len(X)
    C = np.stack([X[labels == label].sum(axis=0) for label in range(classes)]) / len(X)
    values, vectors = np.linalg.eigh(H)
    if values[0] <= 1e-12 * values[-1]:
        raise ValueError("The covariance of the features is singular, so the best head is not unique.")
    solution = (C @ vectors / values) @ vectors.T
    return HeadProblem(H, C, values, vectors, solution, float(1 - np.vdot(solution, C)))


# What ships ------------------------------------------------------------------------------------------------


def _shipped(name):
    """The content of a shipped file, after comparing its checksum with its card's."""
    path = folder() / name
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"The shipped file {path} is missing; reinstall edgelaw.") from None
    if hashlib.sha256(content).hexdigest() != card(path.with_suffix(".md"))["sha256"]:
        raise ValueError(f"{path} does not have the SHA-256 of its card: it is damaged or was changed.")
    return content


def shipped_text():
    """The first ten chapters of Moby-Dick, in lower case: the text that the shipped model was trained on.

    Examples
    --------
    >>> "call me ishmael." in shipped_text()
    True
    """
    return _shipped("moby_dick.txt").decode("utf-8").lower()


def shipped_model():
    """The model whose body the chapter freezes; its weights are stored in eight bits, its head is zero.

    Returns
    -------
    Transformer

    Examples
    --------
    >>> model = shipped_model()
    >>> model.width, model.depth, model.length, float(model.head.weight.detach().abs().max())
    (128, 2, 64, 0.0)
    """
    arrays = _arrays("transformer_body.npz")
    names = [name for name in arrays if name + ".scale" in arrays]
    state = {name: torch.as_tensor(unpack(arrays[name], arrays[name + ".scale"])) for name in names}
    characters, width = state["character.weight"].shape
    depth = sum(name.endswith("mix.weight") for name in names)
    model = Transformer(
        characters, width, depth, len(state["place.weight"]), heads=int(arrays["heads"]), rng=0
    )
    model.load_state_dict({**state, "head.weight": torch.zeros(characters, width)})
    return model


def shipped_runs():
    """Spectra over training, at several widths, depths and seeds: the arrays that the data card describes.

    Examples
    --------
    >>> shipped_runs()["width_64_depth_2"].shape  # seed, checkpoint, eigenvalue
    (4, 6, 64)
    """
    return _arrays("transformer_runs.npz")


def _arrays(name):
    with np.load(io.BytesIO(_shipped(name)), allow_pickle=False) as arrays:
        return dict(arrays)


def pack(weight):
    """A matrix in eight bits: integers from -127 to 127, and one scale a row.

    Examples
    --------
    >>> whole, scale = pack(np.array([[0.5, -1.0], [0.0, 0.0]]))
    >>> whole.tolist(), unpack(whole, scale).round(2).tolist()
    ([[64, -127], [0, 0]], [[0.5, -1.0], [0.0, 0.0]])
    """
    weight = arguments.real_array(weight, "weight", 2)
    scale = (np.abs(weight).max(axis=1, keepdims=True) / 127).astype(np.float32)
    whole = np.rint(np.divide(weight, scale, out=np.zeros_like(weight), where=scale > 0))
    return whole.astype(np.int8), scale


def unpack(whole, scale):
    """The matrix that :func:`pack` stored, rounded to 1/254 of its rows' largest entries."""
    return whole.astype(np.float32) * scale
