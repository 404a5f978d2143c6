r"""Designs to run SGD on: synthetic ones with a known spectrum, and real embeddings.

A design is an m × d matrix whose rows are examples. Synthetic designs are scaled so that the mean eigenvalue of
:math:`X^\top X / m` is 1 (for Gaussian rows, in expectation): a typical row then has norm :math:`\sqrt d`.
Real embeddings, their loaders and the paper's preprocessing live in :mod:`edgelaw.embeddings` and are offered here too.
"""

import hashlib
import io

import numpy as np

from edgelaw import _checks, embeddings
from edgelaw.embeddings import cifar10, load, load_embeddings, preprocess, shipped, wikipedia

__all__ = [
    "cifar10",
    "gaussian",
    "haar",
    "load",
    "load_embeddings",
    "normalize_rows",
    "power_law",
    "power_law_eigenvalues",
    "preprocess",
    "shipped",
    "sweep",
    "wikipedia",
    "with_spectrum",
]

SWEEPS = (
    "any_spectrum",
    "embedding_traces",
    "order_map",
    "pilots",
    "predict_accuracy",
    "real_embeddings",
    "torch_probe",
    "universal_gap",
    "what_breaks",
)  # each with card and script


def gaussian(rows, dims, rng):
    """An m × d design of independent standard normal entries: the paper's isotropic Gaussian rows.

    Examples
    --------
    >>> gaussian(3, 2, rng=0).shape
    (3, 2)
    """
    rows, dims = _checks.whole(rows, "rows", 2), _checks.whole(dims, "dims", 2)
    return _checks.generator(rng).standard_normal((rows, dims))


def haar(rows, columns, rng):
    """A rows × columns matrix with orthonormal columns, uniform (Haar) on the Stiefel manifold.

    QR of a Gaussian matrix is Haar only once the signs of R's diagonal are moved into Q.

    Examples
    --------
    >>> Q = haar(5, 3, rng=0)
    >>> bool(np.allclose(Q.T @ Q, np.eye(3)))
    True
    """
    rows, columns = _checks.whole(rows, "rows", 1), _checks.whole(columns, "columns", 1)
    if columns > rows:
        raise ValueError(f"columns must not exceed rows, but {columns} > {rows}.")
    Q, R = np.linalg.qr(_checks.generator(rng).standard_normal((rows, columns)))
    return Q * np.sign(np.diag(R))


def power_law_eigenvalues(count, beta):
    r"""Eigenvalues whose CDF is :math:`(\lambda/\lambda_{\max})^\beta`, at its midpoint quantiles, with mean 1.

    :math:`\lambda_i \propto ((i - 1/2)/d)^{1/\beta}`; as d grows, :math:`\lambda_{\max} \to (1+\beta)/\beta` and
    :math:`Q \to (\beta/(1+\beta))^\beta`.

    Examples
    --------
    >>> power_law_eigenvalues(2, beta=1.0)
    array([0.5, 1.5])
    """
    count, beta = _checks.whole(count, "count", 2), _checks.number(beta, "beta", 0)
    logs = np.log((np.arange(1, count + 1) - 0.5) / count) / beta
    values = np.exp(logs - logs[-1])
    return values / values.mean()


def with_spectrum(eigenvalues, rows, rng):
    r"""A design :math:`\sqrt m\, U \mathrm{diag}(\sqrt\lambda) V^\top` with Haar U and V and exactly these eigenvalues.

    Parameters
    ----------
    eigenvalues : array_like, shape (d,)
        Eigenvalues of :math:`X^\top X / m`; at most ``rows`` of them may be positive.
    rows : int
        m, the number of rows.
    rng : numpy.random.Generator or int

    Examples
    --------
    >>> X = with_spectrum([0.5, 1.5], rows=4, rng=0)
    >>> bool(np.allclose(np.linalg.eigvalsh(X.T @ X / 4), [0.5, 1.5]))
    True
    """
    values = _checks.real_array(eigenvalues, "eigenvalues", 1)
    rows, rng = _checks.whole(rows, "rows", 2), _checks.generator(rng)
    if len(values) < 2 or (values < 0).any():
        raise ValueError("eigenvalues must hold at least 2 values, none of them negative.")
    values, d = np.sort(values)[::-1], len(values)
    rank = min(rows, d)
    if (values[rank:] > 0).any():
        raise ValueError(
            f"{rows} rows carry at most {rows} positive eigenvalues, not {int((values > 0).sum())}."
        )
    U, V = haar(rows, rank, rng), haar(d, rank, rng)
    return np.sqrt(rows) * (U * np.sqrt(values[:rank])) @ V.T


def power_law(rows, dims, beta, rng):
    r"""A design with Haar bases whose min(m, d) positive eigenvalues follow :math:`F(\lambda) = Q \lambda^\beta`.

    The mean over all d eigenvalues is 1, so rows have norm about :math:`\sqrt d`.

    Examples
    --------
    >>> X = power_law(6, 4, beta=0.5, rng=0)
    >>> X.shape, round(float((X**2).sum() / 6), 12)
    ((6, 4), 4.0)
    """
    rows, dims = _checks.whole(rows, "rows", 2), _checks.whole(dims, "dims", 2)
    rank = min(rows, dims)
    values = np.concatenate([np.zeros(dims - rank), power_law_eigenvalues(rank, beta) * dims / rank])
    return with_spectrum(values, rows, rng)


def normalize_rows(X):
    r"""Scale every row to norm :math:`\sqrt d`, so that the mean eigenvalue of :math:`X^\top X/m` is exactly 1.

    Examples
    --------
    >>> normalize_rows([[3.0, 4.0], [0.0, 2.0]]).round(3)
    array([[0.849, 1.131],
           [0.   , 1.414]])
    """
    X = _checks.matrix(X)
    peak = np.abs(X).max(axis=1)
    if (peak == 0).any():
        raise ValueError(
            f"Row {int(np.argmin(peak))} of X is zero and has no direction; remove it before normalising."
        )
    X = X / peak[:, None]  # first to a scale at which squares neither overflow nor vanish
    return X * (np.sqrt(X.shape[1]) / np.linalg.norm(X, axis=1))[:, None]


def sweep(name):
    """Results of a heavy sweep that ships with the package, as a dictionary of arrays, checked against its card.

    Parameters
    ----------
    name : str
        One of ``edgelaw.data.SWEEPS``, "universal_gap" say.
        Made by ``data/build/<name>.py``; the card ``data/<name>.md`` says with which seed, and what the arrays mean.

    Examples
    --------
    >>> sweep("universal_gap")["steps"].tolist()
    [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75]
    """
    path = embeddings._folder() / f"{_checks.choice(name, 'name', SWEEPS)}.npz"
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != embeddings._card(path.with_suffix(".md"))["sha256"]:
        raise ValueError(f"{path} does not have the SHA-256 of its card: it is damaged or was changed.")
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return dict(arrays)


if __name__ == "__main__":  # python -m edgelaw.data: what ships, with sizes and cards
    embeddings.main()
