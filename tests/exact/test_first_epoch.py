"""Within the first epoch: closed forms, the engines' first epoch, and products of real rows."""

import numpy as np
import pytest

from edgelaw import data, exact
from edgelaw.exact import first_epoch


def gaussian_spectrum(rho, count=400):
    """A quadrature of the spectrum of isotropic rows: eigenvalues and shares, zeros of m < d included."""
    angles, masses = np.polynomial.legendre.leggauss(count)
    angles, masses = np.pi / 2 * (1 + angles), np.pi / 2 * masses
    r = rho**-0.5
    values = np.abs(1 - r * np.exp(1j * angles)) ** 2
    shares = 2 * rho / np.pi * r**2 * np.sin(angles) ** 2 / values * masses
    return (values, shares) if rho >= 1 else (np.append(0, values), np.append(1 - rho, shares))


def rows(m, d, exponent, seed):
    scale = np.arange(1, d + 1) ** -exponent
    return data.normalize_rows(np.random.default_rng(seed).standard_normal((m, d)) * scale)


def eigenvalues(X):
    values = np.linalg.eigvalsh(X.T @ X / len(X))
    return np.where(values < 1e-10, 0, values)


@pytest.mark.parametrize("rho", [0.5, 1.0, 4.0, 16.0])
@pytest.mark.parametrize("step", [0.1, 1.0, 1.5])
def test_isotropic_rows(rho, step):
    values, shares = gaussian_spectrum(rho)
    assert shares.sum() == pytest.approx(1, abs=1e-12)
    curve = first_epoch.curve(values, np.linspace(0, 1, 6), step, rho, shares)
    s, b = rho * curve.epochs, 2 / step - 1
    test = np.exp(-step * (2 - step) * s)
    train = ((rho - b) * test + b * np.exp(-2 * step * s)) / rho
    seen = test > 1e-12
    assert np.abs(curve.test / test - 1)[seen].max() < 1e-7
    assert np.abs(curve.train / train - 1)[seen].max() < 1e-7


@pytest.mark.parametrize("shape", [(60, 120), (100, 100), (120, 100), (400, 100), (1600, 100)])
@pytest.mark.parametrize("exponent", [0.0, 0.5])
@pytest.mark.parametrize("step", [0.3, 1.0, 1.7])
def test_the_whole_first_epoch_is_that_of_the_engines(shape, exponent, step):
    values, rho = eigenvalues(rows(*shape, exponent, 3)), shape[0] / shape[1]
    whole = first_epoch.curve(values, 1.0, step, rho)
    assert whole.error < 1e-6
    engine = exact.curve("single_shuffle", values, 1, step, rho)
    allowed = max(whole.error + engine.error, 1e-9)
    for loss in ("test", "train"):
        ours, theirs = getattr(whole, loss)[-1], getattr(engine, loss)[-1]
        assert max(ours, theirs) < 1e-12 or abs(ours / theirs - 1) < allowed


@pytest.mark.parametrize("shape", [(90, 180), (180, 180), (720, 180)])
@pytest.mark.parametrize("step", [0.5, 1.4])
def test_products_of_real_rows(shape, step):
    """Means over 24 shuffles from all starts: within four standard errors and 1.5/d of theory."""
    X = rows(*shape, 0.3, 5)
    m, d = shape
    counts = np.array([m // 8, m // 3, 2 * m // 3, m])
    runs = []
    rng = np.random.default_rng(7)
    U = X / np.linalg.norm(X, axis=1)[:, None]
    for _ in range(24):
        W, losses = np.eye(d), []
        for t, i in enumerate(rng.permutation(m), start=1):
            W -= step * np.outer(U[i], U[i] @ W)
            if t in counts:
                losses.append([(W**2).sum() / d, ((X @ W) ** 2).sum() / (m * d)])
        runs.append(np.transpose(losses))
    mean, error = np.mean(runs, axis=0), np.std(runs, axis=0, ddof=1) / np.sqrt(24)
    truth = first_epoch.curve(eigenvalues(X), counts / m, step, m / d)
    for loss, measured, deviation in zip(("test", "train"), mean, error, strict=True):
        predicted = getattr(truth, loss)[1:]
        assert (np.abs(measured - predicted) < 4 * deviation + 1.5 / d * predicted + 1e-12).all()


def test_the_train_loss_is_that_of_the_reshuffle_engine():
    values = eigenvalues(rows(300, 200, 0.5, 1))
    ours, theirs = (
        first_epoch.curve(values, 1.0, 0.8, 1.5),
        exact.curve("random_reshuffle", values, 1, 0.8, 1.5),
    )
    assert abs(ours.train[-1] / theirs.train[-1] - 1) < ours.error + theirs.error + 1e-9


def test_zero_and_order_of_fractions():
    curve = first_epoch.curve(eigenvalues(rows(80, 40, 0.0, 1)), [0.5, 0.1], 1.0, 2.0)
    assert curve.epochs.tolist() == [0, 0.1, 0.5]
    assert curve.test[0] == curve.train[0] == 1
    assert first_epoch.curve(np.ones(30), 0).test.tolist() == [1]


@pytest.mark.parametrize("fractions", [[1.1], [-0.1], [np.nan], ["x"]])
def test_fractions_outside_are_refused(fractions):
    with pytest.raises(ValueError, match="fractions"):
        first_epoch.curve(np.ones(30), fractions)
