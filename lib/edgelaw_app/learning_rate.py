"""Which ``lr`` of PyTorch is the step of this book; without torch, so that a forecast can say it too."""

from edgelaw._common import arguments

LOSSES = ("mse", "half", "half_sum")


def learning_rate(step: float, dims: float, loss: str = "mse", outputs: int = 1) -> float:
    r"""The ``lr`` of `torch.optim.SGD` that makes the update of this book with step η.

    For rows of norm :math:`\sqrt d` and half the squared error of one row it is :math:`\eta/d`; a loss that is c times
    as large needs 1/c times as much, and ``MSELoss()`` has c = 2/K. A batch of b rows, averaged, has the same ``lr`` at
    the same step; to move as far in an epoch as single rows do at step η it needs b times the step, which is stable as
    long as the largest eigenvalue of the batches' own :math:`U_B^\top U_B/b` stays below 2/step. *Proved*
    (thm-yd-step).

    Parameters
    ----------
    step : float
        η, positive; below 2 for single rows.
    dims : int
        d, where the rows have norm :math:`\sqrt d`; for other rows, their common squared norm.
    loss : {"mse", "half", "half_sum"}
        ``nn.MSELoss()``; half of it; or half the squared error summed over the outputs and averaged over the batch.
    outputs : int
        K, the outputs of the model.

    >>> learning_rate(1.0, dims=512), learning_rate(1.0, dims=512, outputs=10)
    (0.0009765625, 0.009765625)
    """
    step, dims = arguments.number(step, "step", 0), arguments.number(dims, "dims", 0)
    outputs = arguments.whole(outputs, "outputs", 1)
    scale = {"mse": 2 / outputs, "half": 1 / outputs, "half_sum": 1}[arguments.choice(loss, "loss", LOSSES)]
    return step / (scale * dims)
