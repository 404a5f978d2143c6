"""The step η of the normalised update as the ``lr`` of an optimiser: the one formula for it."""

from edgelaw._common import arguments

LOSSES = ("mse", "half", "half_sum")


def learning_rate(step: float, dims: float, loss: str = "mse", outputs: int = 1) -> float:
    r"""The ``lr`` of `torch.optim.SGD` that makes the update of this book with step η.

    For rows of norm :math:`\sqrt d` and half the squared error of one row the gradient is :math:`(x\cdot w - y)\,x`, so
    that the normalised update :math:`\eta\,(x\cdot w - y)\,x/\lVert x\rVert^2` is ``lr`` :math:`= \eta/d`. A loss that
    is c times as large needs an ``lr`` 1/c times as large: ``MSELoss()`` leaves out the half and averages over the K
    outputs of the model as well, c = 2/K. With ``DataLoader(batch_size=b)`` these losses average over the batch, and
    so does the step of ``batch_mode="average"`` in `edgelaw.kaczmarz` and of ``batch=b`` in `edgelaw.theory`: the
    formula is the same for every batch size, which is why b is no argument. To move as far in an epoch as single rows
    do at step η, the step has to be b times as large (linear scaling); how large it may be is
    `edgelaw.theory.batches.stability`. A shorter last batch is averaged over its own rows, by torch and by the
    simulator alike: at steps far above 2 leave it out (``drop_last=True``). *Proved*, and equal to rounding in float64.

    Parameters
    ----------
    step : float
        η, positive; below 2 for single rows, below 2b for batches of b rows.
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
