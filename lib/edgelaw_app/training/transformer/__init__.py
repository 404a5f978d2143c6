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

from edgelaw_app.training.transformer.head import HeadProblem, head_problem
from edgelaw_app.training.transformer.model import LOSSES, Transformer, features, train
from edgelaw_app.training.transformer.text import contexts, encode
from edgelaw_app.training.transformer.trained import pack, shipped_model, shipped_runs, shipped_text, unpack

__all__ = [
    "LOSSES",
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
