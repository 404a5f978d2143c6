"""Which ``lr`` of PyTorch is the step of this book; without torch, so that a forecast can say it too."""

from edgelaw._common import arguments

LOSSES = ("mse", "half", "half_sum")


def learning_rate(step: float, dims: float, loss: str = "mse", outputs: int = 1) -> float:
    r"""The ``lr`` of `torch.optim.SGD` that makes the update of this book with step η.

    For rows of norm :math:`\sqrt d` and half the squared error of one row the gradient is :math:`(x\cdot w - y)\,x`, so
    that the normalised update :math:`\eta\,(x\cdot w - y)\,x/\lVert x\rVert^2` is ``lr`` :math:`= \eta/d`. A loss that
    is c times as large needs an ``lr`` 1/c times as large: ``MSELoss()`` leaves out the half and averages over the K
    outputs of the model as well, c = 2/K. A batch of b rows, averaged, takes the mean of its rows' single updates
    (``batch`` of `edgelaw.kaczmarz.Problem`), at the same ``lr``; to move as far in an epoch as single rows do
    at step η, the step has to be b times as large, which is stable as long as the largest eigenvalue of the
    batches' own :math:`U_B^\top U_B/b` stays below 2/step. *Proved*, and equal to rounding in float64.

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

    Returns
    -------
    float

    Examples
    --------
    >>> learning_rate(1.0, dims=512), learning_rate(1.0, dims=512, loss="half")
    (0.0009765625, 0.001953125)
    >>> learning_rate(1.0, dims=512, outputs=10)
    0.009765625
    """
    step, dims = arguments.number(step, "step", 0), arguments.number(dims, "dims", 0)
    outputs = arguments.whole(outputs, "outputs", 1)
    scale = {"mse": 2 / outputs, "half": 1 / outputs, "half_sum": 1}[arguments.choice(loss, "loss", LOSSES)]
    return step / (scale * dims)
