"""The Transformer itself: its layers, its training, its features."""

from collections.abc import Callable

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, Integers, Rng

LOSSES = ("cross_entropy", "mse")


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

    def __init__(self, characters: int, width: int, depth: int, length: int, heads: int = 4, rng: Rng = 0):
        super().__init__()
        characters, width = arguments.whole(characters, "characters", 2), arguments.whole(width, "width", 1)
        depth, self.length = arguments.whole(depth, "depth", 0), arguments.whole(length, "length", 1)
        if width % arguments.whole(heads, "heads", 1):
            raise ValueError(f"width must be a multiple of heads = {heads}, not {width}.")
        generator = arguments.generator(rng)
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
                drawn = generator.standard_normal(tuple(weight.shape)) * (
                    0.0 if name == "head.weight" else scale
                )
                weight.copy_(torch.as_tensor(drawn))

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


def _loss(model: Transformer, inputs: torch.Tensor, targets: torch.Tensor, loss: str) -> torch.Tensor:
    """The mean loss over all characters of the contexts."""
    out = model(inputs).flatten(0, 1)
    if loss == "cross_entropy":
        return F.cross_entropy(out, targets.flatten())
    return (out - F.one_hot(targets.flatten(), model.characters)).square().sum(1).mean()


def train(
    model: Transformer,
    text: tuple[ArrayLike, ArrayLike],
    steps: int,
    rate: float,
    loss: str = "cross_entropy",
    batch: int = 16,
    rng: Rng = 0,
    watch: Callable[[int, Transformer], object] | None = None,
) -> Array:
    r"""Train a model in place for a number of steps at a constant rate.

    Parameters
    ----------
    model : Transformer
    text : pair of arrays of int of shape (count, length)
        Contexts and what follows each of their characters, as `edgelaw_app.training.transformer.contexts` gives them.
    steps : int
    rate : float
        Learning rate.
    loss : {"cross_entropy", "mse"}
        Of the next character. Cross-entropy is minimised by Adam; ``"mse"`` compares the outputs with its one-hot
        vector, summed over the alphabet, and is minimised by SGD: the rate multiplies the gradient of *half* the mean
        squared error, so that on the head a step is :math:`W \leftarrow W - \eta(WH - C)` with the batch's H and C.
    batch : int
        Contexts per step, drawn from ``rng`` with replacement; 0 takes all of them in every step.
    rng : Generator or int
    watch : callable, optional
        Called as ``watch(step, model)`` before every step and once after the last.

    Returns
    -------
    ndarray of float
        The loss of every step's batch, before the step.

    Examples
    --------
    >>> from edgelaw_app.training.transformer import contexts, encode
    >>> tokens, alphabet = encode("to be or not to be, " * 20)
    >>> model = Transformer(len(alphabet), width=8, depth=1, length=8, heads=2)
    >>> losses = train(model, contexts(tokens, 8), steps=30, rate=0.01)
    >>> bool(losses[-1] < 0.8 * losses[0])
    True
    """
    steps, rate = arguments.whole(steps, "steps", 0), arguments.number(rate, "rate", 0)
    arguments.choice(loss, "loss", LOSSES)
    batch, generator = arguments.whole(batch, "batch", 0), arguments.generator(rng)
    X, Y = (_contexts(model, part, name) for part, name in zip(text, ("inputs", "targets"), strict=True))
    if X.shape != Y.shape:
        raise ValueError(f"inputs and targets must have one shape, not {X.shape} and {Y.shape}.")
    stepper = _optimiser(model, rate, loss)
    losses = np.empty(steps)
    for step in range(steps):
        if watch is not None:
            watch(step, model)
        rows = slice(None) if batch == 0 else generator.integers(0, len(X), size=batch)
        model.zero_grad()
        value = _loss(model, torch.as_tensor(X[rows]), torch.as_tensor(Y[rows]), loss)
        value.backward()
        stepper.step()
        losses[step] = float(value.detach())
    if watch is not None:
        watch(steps, model)
    return losses


def _optimiser(model: Transformer, rate: float, loss: str) -> torch.optim.Optimizer:
    """The optimiser of the weights that are not frozen."""
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    if loss == "cross_entropy":
        return torch.optim.Adam(trained, lr=rate, betas=(0.9, 0.98))
    return torch.optim.SGD(trained, lr=rate / 2)


def _contexts(model: Transformer, values: ArrayLike, name: str) -> Integers:
    """Rows of characters that the model can read."""
    rows = arguments.counts(values, name)
    if rows.ndim != 2 or rows.size == 0 or rows.shape[1] > model.length or rows.max() >= model.characters:
        raise ValueError(
            f"{name} must be rows of at most {model.length} integers below {model.characters}, "
            "the model's context length and alphabet."
        )
    return rows


def features(model: Transformer, inputs: ArrayLike, batch: int = 64) -> Array:
    """Features of all characters of all contexts in double precision, one per row.

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
    rows = torch.as_tensor(_contexts(model, inputs, "inputs"))
    twin = Transformer(model.characters, model.width, model.depth, model.length, model.heads)
    twin.load_state_dict(model.state_dict())
    twin.double()
    with torch.no_grad():
        parts = [twin.body(part) for part in rows.split(arguments.whole(batch, "batch", 1))]
    return torch.cat(parts).flatten(0, 1).numpy()
