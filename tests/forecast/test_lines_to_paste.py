"""The lines of PyTorch that a forecast prints are run as they are printed, and train to the promised loss.

Each is run sixteen times. The mean must be within three standard errors, its own and the forecast's together, and no
test passes by scatter: what is compared is known to 5 % or better.
"""

import numpy as np
import pytest

from edgelaw import data
from edgelaw.orders import ORDERS
from edgelaw_app.forecast import predict, probe
from edgelaw_app.forecast.recipe import Plan, without_labels

torch = pytest.importorskip("torch")
RUNS = 16


def trained(code, X, y, seed):
    """The names that the lines leave behind, and the weights after them."""
    torch.manual_seed(seed)
    names = {"torch": torch, "X": torch.tensor(X, dtype=torch.float32)}
    labels = torch.tensor(y)
    names["y" if "Y = " in code else "Y"] = labels.float() if labels.is_floating_point() else labels
    exec(code, names)
    return names


def losses_of(code, X, y):
    """Training losses after the lines: squared errors summed over outputs, means over rows."""
    found = []
    for seed in range(RUNS):
        names = trained(code, X, y, seed)
        with torch.no_grad():
            found.append(float(((names["net"](names["X"]) - names["Y"]) ** 2).sum(dim=1).mean()))
    return np.array(found)


def agree(losses, promised, error):
    mean, own = losses.mean(), losses.std(ddof=1) / np.sqrt(RUNS)
    assert own < 0.04 * mean
    assert abs(mean - promised) < 3 * np.hypot(own, error * promised)


def told(made):
    """The training loss after as many epochs as the advice says, and its error."""
    return made.best.at(made.advice.epochs, "training loss")


@pytest.fixture(scope="module")
def rows():
    """Columns that differ in spread and mean, three classes and two noisy numbers."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 24)) * np.geomspace(0.7, 1.4, 24)
    W = rng.standard_normal((24, 3))
    kinds = (X @ W + rng.standard_normal((120, 3))).argmax(axis=1)
    return X + 0.3, kinds, X @ W[:, :2] + 6 * rng.standard_normal((120, 2))


@pytest.mark.parametrize("kind", ["classes", "numbers"])
@pytest.mark.parametrize("order", ORDERS)
def test_the_printed_lines_train_to_the_promised_loss(rows, order, kind):
    X, kinds, values = rows
    y = kinds if kind == "classes" else values
    made = probe(X, y, epochs=2, orders=[order], held_out=None)
    agree(losses_of(made.code, X, y), *told(made))


@pytest.mark.parametrize(
    "options",
    [
        {"batch": 7},
        {"center": False},
        {"center": False, "intercept": False},
        {"center": False, "normalize": True},
        {"standardize": True},
        {"normalize": True, "standardize": True},
        {"weight_decay": 0.5},
        {"weight_decay": 0.5, "center": False, "batch": 5},
    ],
    ids=str,
)
def test_the_printed_lines_prepare_rows_and_decay_weights_as_the_forecast_does(rows, options):
    """One output and three: weight decay and learning rates depend on their number."""
    X, kinds, values = rows
    for y in (kinds, values[:, 0]):
        made = probe(X, y, epochs=1, orders=["random_reshuffle"], held_out=None, **options)
        agree(losses_of(made.code, X, y), *told(made))


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_the_printed_lines_follow_the_schedule(rows, schedule):
    X, _, values = rows
    made = probe(X, values, epochs=4, orders=["random_reshuffle"], held_out=None, schedule=schedule)
    assert made.advice.epochs == 4
    assert made.best.rates.min() < 0.9 * made.best.rates.max()
    agree(losses_of(made.code, X, values), *told(made))
    tail, lines = [], made.code.replace("    for x, y in", "    tail.append(rate)\n    for x, y in")
    torch.manual_seed(0)
    exec(
        lines, {"torch": torch, "X": torch.tensor(X).float(), "y": torch.tensor(values).float(), "tail": tail}
    )
    assert np.allclose(tail, made.best.rates, rtol=0.02)


def test_a_constant_column_is_left_out_by_the_lines_and_by_the_forecast(rows):
    """In float32 the mean of equal numbers is not quite that number, and its spread is no divisor."""
    X, _, values = rows
    X = X.copy()
    X[:, 3] = 0.1
    made = probe(X, values, epochs=2, orders=["random_reshuffle"], held_out=None, standardize=True)
    agree(losses_of(made.code, X, values), *told(made))


def test_held_out_rows_prepared_as_the_lines_prepare_theirs_have_the_promised_loss(rows):
    X, _, values = rows
    made = probe(X[:80], values[:80], epochs=3, orders=["iid"], held_out=(X[80:], values[80:]))
    found = []
    for seed in range(RUNS):
        names = trained(made.code, X[:80], values[:80], seed)
        with torch.no_grad():
            out = names["net"](torch.tensor(X[80:]).float() - names["mean"]) + names["bias"]
        found.append(float(((out.numpy() - values[80:]) ** 2).sum(axis=1).mean()))
    agree(np.array(found), *made.best.at(made.advice.epochs, "held-out loss"))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("options", [{"batch": 6}, {"standardize": True, "center": False}], ids=str)
def test_the_lines_without_labels_leave_the_promised_part_of_both_losses(mistrusted, order, options):
    """Targets are an exact linear function of the rows as SGD sees them, by weights in all directions."""
    X = data.gaussian(80, 32, rng=0) * np.geomspace(0.5, 2, 32) + 0.2
    made = predict(X, epochs=2, orders=[order], **options)
    shown = trained(made.code.split("\nnet =")[0], X, np.zeros((80, 1)), 0)["X"].double().numpy()
    left, W, outputs = np.zeros((RUNS, 2)), np.eye(32), 32
    code = made.code.replace("Linear(32, 1", f"Linear(32, {outputs}")
    rate = f"lr={made.advice.lr:.3g}"
    assert rate in code
    code = code.replace(rate, f"lr={outputs * made.advice.lr!r}")  # MSELoss() averages over outputs
    for seed in range(RUNS):
        names = trained(code, X, shown @ W, seed)
        gap = names["net"].weight.detach().double().numpy().T - W
        left[seed] = (gap**2).sum(), ((shown @ gap) ** 2).sum()
    first = (W**2).sum(), ((shown @ W) ** 2).sum()
    for k, loss in enumerate(("parameter error", "training loss")):
        promised, error = made.best.at(made.advice.epochs, loss)
        mean, own = (left[:, k] / first[k]).mean(), (left[:, k] / first[k]).std(ddof=1) / np.sqrt(RUNS)
        assert own < 0.05 * mean
        assert abs(mean - promised) < 3 * np.hypot(own, error * promised)


def test_rows_that_are_prepared_already_are_left_alone_by_the_lines():
    code = without_labels((50, 20), Plan("iid", 3 * [0.01], 4), [])
    names = trained(code, np.eye(50, 20), np.ones((50, 1)), 0)
    assert np.array_equal(names["X"].numpy(), np.eye(50, 20))
    assert all(len(line) <= 90 for line in code.splitlines())
