"""The recorded signal and noise of five designs, every order and a grid of steps: a map of orders is drawn from it."""

import numpy as np

from edgelaw import orders, shipped
from edgelaw._common import arguments
from edgelaw._common.types import Array
from edgelaw.exact.labels.parts import Parts

_SCALE = 250  # of the recorded logarithms
LOSSES = ("distance", "train")


def recorded_parts(design: str, loss: str = "distance", epochs: int = 4) -> tuple[Array, Parts]:
    """Both parts of one loss on one design of the sweep "noise_map", from :func:`signal_and_noise`.

    Parameters
    ----------
    design : str
        One of "gaussian 2", "gaussian 4", "power law 4", "cifar10 4" and "wikipedia 4": rows, and rows per dimension.
    loss : str
        "distance" or "train".
    epochs : int
        4 or 20.

    Returns
    -------
    steps : ndarray (25,)
    parts : Parts
        Arrays (orders, steps), known to 0.2 %; NaN where the order has no theory.

    Examples
    --------
    >>> steps, parts = recorded_parts("gaussian 4")
    >>> parts.noise.shape == (4, len(steps))
    True
    """
    sweep = shipped.sweep("noise_map")
    designs, budgets = sweep["designs"].tolist(), sweep["epochs"].tolist()
    where = LOSSES.index(arguments.choice(loss, "loss", LOSSES))
    if epochs not in budgets:
        raise ValueError(f"epochs must be one of {budgets}, not {epochs!r}.")
    at = designs.index(arguments.choice(design, "design", designs)), slice(None), where, budgets.index(epochs)
    values = 2.0 ** (np.cumsum(sweep["log2"][(slice(None), *at)], axis=-1, dtype=np.int64) / _SCALE)
    errors = 10.0 ** sweep["error10"][(slice(None), *at)]
    if loss == "train":
        values[:, orders.ORDERS.index("flip_flop")] = np.nan
    return sweep["steps"].astype(np.float64), Parts(*values, *errors)
