r"""A design and its targets in the coordinates in which every order's curve is computed.

The update is :math:`w \leftarrow w - \text{lr}\,(x_i\cdot w - t_i)\,x_i`, from w = 0, for rows of any scale. With
:math:`\text{scale} = \frac1m\sum_i\lVert x_i\rVert^2` the **step** of the theory is lr · scale. Let
:math:`\frac{X^\top X}{m} = \frac{\text{scale}}{d}\sum_j\lambda_jv_jv_j^\top`, so that the λ have mean 1, :math:`w_*`
the least-squares solution of least norm, :math:`c_j = v_j\cdot w_*`, and r the residuals. Several outputs are several
problems with the same rows: squares are summed over them.
"""

from dataclasses import dataclass, field

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike
from edgelaw.exact import sources


@dataclass(frozen=True, eq=False)
class HeldOut:
    r"""What the loss on held-out rows needs, for mean weights :math:`\sum_jf_jc_jv_j` and a variance along each v_j.

    `squares` are the means of (x·v_j)², `quadratic` those of (x·v_j)(x·v_k) times :math:`c_jc_k` and `linear` those of
    (x·v_j) t times :math:`c_j`, summed over outputs; `start` is the loss of zero weights.
    """

    squares: Array = field(repr=False)
    quadratic: Array = field(repr=False)
    linear: Array = field(repr=False)
    start: float

    @classmethod
    def of(cls, X: Array, T: Array, vectors: Array, solution: Array) -> "HeldOut":
        """The rows X with targets T, in the eigenbasis."""
        projected = X @ vectors
        second = projected.T @ projected / len(X)
        quadratic = second * (solution @ solution.T)
        linear = ((projected.T @ T / len(X)) * solution).sum(axis=1)
        start = float((T**2).sum() / len(X))
        return cls(np.diag(second).copy(), quadratic, linear, start)

    def of_mean(self, f: Array) -> Array:
        """The loss of the mean weights; f (..., r)."""
        return self.start - 2 * f @ self.linear + ((f @ self.quadratic) * f).sum(axis=-1)


@dataclass(frozen=True, eq=False)
class LabelledRows:
    r"""Rows with targets, as the curves of all orders need them; made by :meth:`of`.

    Losses are means over rows of the squared error, summed over outputs, without a factor ½. Rows of `shape` (m, d)
    have `scale` as their mean squared norm: a step is a learning rate times this. The `eigenvalues` are the positive λ,
    ascending, and the `energies` :math:`c_j^2`, summed over the `outputs`; `residual`, :math:`\lVert r\rVert^2/m`, is
    the least training loss and `start` that of zero weights.

    What a row drawn at random adds to :math:`(v_j\cdot e)^2` at step 1 through its residual are the `kicks`, the mean
    of :math:`r_i^2(x_i\cdot v_j)^2` over scale². The `coupling` is :math:`\lambda'_j/(d\sqrt{q})` with λ' the λ of rows
    weighted by their squared norms and q the mean of :math:`\lVert x\rVert^4` over scale²: λ/d for equal norms, which
    the theory assumes; `norm_spread` is the variance of the squared norms over their squared mean.

    >>> rows = LabelledRows.of(np.eye(2), [1.0, 2.0])
    >>> rows.eigenvalues.tolist(), rows.energies.tolist(), rows.residual, rows.start, rows.scale
    ([1.0, 1.0], [1.0, 4.0], 0.0, 2.5, 1.0)
    """

    shape: tuple[int, int]
    outputs: int
    scale: float
    eigenvalues: Array = field(repr=False)
    energies: Array = field(repr=False)
    residual: float
    start: float
    kicks: Array = field(repr=False)
    coupling: Array = field(repr=False)
    norm_spread: float = 0.0
    held_out: HeldOut | None = field(default=None, repr=False)

    @property
    def aspect(self) -> float:
        """ρ = m/d."""
        return self.shape[0] / self.shape[1]

    @property
    def spectrum(self) -> Array:
        """All d eigenvalues, the zeros included, ascending."""
        return np.concatenate([np.zeros(self.shape[1] - len(self.eigenvalues)), self.eigenvalues])

    @classmethod
    def of(
        cls, X: ArrayLike, targets: ArrayLike, held_out: tuple[ArrayLike, ArrayLike] | None = None
    ) -> "LabelledRows":
        """The rows X (m, d) with targets (m,) or (m, k), and held-out rows and targets of the same kind.

        Rows of zeros are allowed, a matrix of nothing else is not. The cost is that of XᵀX and its eigenvectors.
        """
        U, T = _checked(X, targets, "X", "targets")
        held = None if held_out is None else _checked(*held_out, "held-out X", "held-out targets")
        if held and (held[0].shape[1], held[1].shape[1]) != (U.shape[1], T.shape[1]):
            raise ValueError(
                f"held-out rows must have {U.shape[1]} columns and {T.shape[1]} output(s), as the others do, not "
                f"{held[0].shape[1]} and {held[1].shape[1]}."
            )
        m, d = U.shape
        norms = np.einsum("ij,ij->i", U, U)
        scale = float(norms.mean())
        if not scale > 0:
            raise ValueError("X must have a row that is not zero.")
        values, vectors = _eigenvectors(U, scale)
        Y = U @ vectors  # the rows in the eigenbasis
        c = (Y.T @ T) / (m * scale / d * values)[:, None]
        r = T - Y @ c
        # independent rows meet any targets; elsewhere rounding is told from residuals by its size
        if len(values) == m or np.linalg.norm(r) <= max(m, d) * np.finfo(float).eps * np.linalg.norm(T):
            r = np.zeros_like(r)
        squares, fourth = Y**2 / scale, float((norms**2).mean()) / scale**2
        return cls(
            shape=(m, d),
            outputs=T.shape[1],
            scale=scale,
            eigenvalues=values,
            energies=(c**2).sum(axis=1),
            residual=float((r**2).sum() / m),
            start=float(np.einsum("ik,ik->", T, T) / m),
            kicks=squares.T @ (r**2).sum(axis=1) / (m * scale),
            coupling=squares.T @ (norms / scale) / (m * np.sqrt(fourth)),
            norm_spread=max(fourth - 1, 0.0),
            held_out=None if held is None else HeldOut.of(*held, vectors, c),
        )

    @classmethod
    def isotropic(cls, eigenvalues: ArrayLike, rows: int, noise: float = 0.0) -> "LabelledRows":
        """So many unit rows with these eigenvalues of XᵀX, in the mean over isotropic solutions and residuals.

        The training loss of zero weights is 1 above the least one, which is `noise`. The eigenvalues are positive,
        fewer than the rows, and of any scale, which unit rows set.
        """
        values = np.sort(arguments.real_array(eigenvalues, "eigenvalues", 1).astype(np.float64))
        d, m = len(values), arguments.whole(rows, "rows", 1)
        if not (d and values[0] > 0):
            raise ValueError("eigenvalues must be one or more positive numbers.")
        if m < d or (m == d and noise > 0):
            raise ValueError(
                f"rows must be more than the {d} eigenvalues, or no residual is left for noise, not {m}."
            )
        values *= d / values.sum()
        level = arguments.number(noise, "noise", 0) if noise else 0.0
        return cls((m, d), 1, 1.0, values, np.ones(d), level, 1 + level, level * values / d, values / d)


def _checked(X: ArrayLike, targets: ArrayLike, rows_name: str, targets_name: str) -> tuple[Array, Array]:
    """Float64 matrices of rows and of targets, as many of one as of the other."""
    X = arguments.matrix(X, rows_name, 1).astype(np.float64, copy=False)
    T = np.asarray(targets)
    T = arguments.real_array(T[:, None] if T.ndim == 1 else T, targets_name, 2).astype(np.float64, copy=False)
    if len(T) != len(X) or T.shape[1] == 0:
        raise ValueError(
            f"{targets_name} must have one row for each of the {len(X)} rows of {rows_name} and at least one column, "
            f"not shape {T.shape}."
        )
    return X, T


def _eigenvectors(X: Array, scale: float) -> tuple[Array, Array]:
    """The positive eigenvalues of XᵀX/(m scale/d), ascending, and their eigenvectors (d, r), from the smaller Gram."""
    m, d = X.shape
    values, vectors = np.linalg.eigh((X.T @ X if d <= m else X @ X.T) * (d / (m * scale)))
    kept = values > sources.ROUNDED_AWAY * values[-1]
    values, vectors = values[kept], vectors[:, kept]
    if d > m:
        vectors = X.T @ vectors
        vectors /= np.linalg.norm(vectors, axis=0)
    return values * (d / values.sum()), vectors
