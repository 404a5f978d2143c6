"""Checks of the Summary of chapter 14: losses of linear probes by theory and by SGD, floors, schedules, steps."""

import functools
import itertools

import numpy as np
from scipy import optimize

from edgelaw import data, exact
from edgelaw.exact.labels import LabelledRows, schedules
from edgelaw.exact.random_reshuffle import labels as random_reshuffle
from edgelaw.exact.single_shuffle import labels as single_shuffle
from edgelaw_app.forecast.labelled import Labelled
from edgelaw_app.forecast.preparation import Prepared, prepare
from edgelaw_ledger.evidence import Evidence, at_most, decide

THEORY = "iid", "random_reshuffle", "single_shuffle"
SWEEP = (1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1)
STEPS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0, 1.1, 1.3, 1.6, 1.9)


@functools.cache
def _prepared(pool: str, rows: int, dims: int | None, normalize: bool) -> Prepared:
    """Training rows of a shipped data set, projected and centred as in the chapter; all others are held out."""
    chosen, rng = getattr(data, pool)(), np.random.default_rng(0)
    features = chosen.features.astype(float)
    if dims is not None:
        features = features @ rng.standard_normal((features.shape[1], dims)) / 16
    here, there = np.split(rng.permutation(len(features)), [rows])
    held = features[there], chosen.labels[there]
    done = ["center", "intercept", *["normalize"] * normalize]
    return prepare(features[here], chosen.labels[here], held, done, rng)


@functools.cache
def _rows(pool: str, rows: int, dims: int | None, normalize: bool) -> LabelledRows:
    problem = _prepared(pool, rows, dims, normalize)
    return LabelledRows.of(problem.X, problem.T, problem.held)


def _run(problem, order, step, epochs, runs, batch=1):
    """Losses (runs, epochs + 1) of SGD itself by name."""
    steps, times = np.full(epochs, step), np.arange(epochs + 1.0)
    losses = Labelled(problem, batch).run(order, steps, times, runs, np.random.default_rng(1)).losses
    return {"train": losses[:, 0], "held_out": losses[:, 1]}


@functools.cache
def _largest_gaps(epochs, runs):
    """Of runs from theory, root mean squares over the epochs in per cent, over three orders and three steps."""
    problem, rows = (f("cifar10", 1024, 256, True) for f in (_prepared, _rows))
    worst = dict.fromkeys(("train", "held_out"), 0.0)
    for order, step in itertools.product(THEORY, (0.02, 0.1, 0.3)):
        curve, observed = (
            exact.probe_curve(order, rows, epochs, step),
            _run(problem, order, step, epochs, runs),
        )
        for loss in worst:
            gap = observed[loss][:, 1:].mean(axis=0) / getattr(curve, loss)[1:] - 1
            worst[loss] = max(worst[loss], 100 * float(np.sqrt(np.mean(gap**2))))
    return worst


def predicted_losses(
    *, training: float = 0.475, held_out: float = 0.445, epochs: int = 20, runs: int = 8
) -> Evidence:
    """Runs of SGD over theory at epochs 1 to 20, three orders, three steps: the largest root mean square gap."""
    worst = _largest_gaps(epochs, runs)
    return decide(
        at_most(worst["train"], training) and at_most(worst["held_out"], held_out),
        measured=f"{worst['train']:.3f} % (training), {worst['held_out']:.3f} % (held-out)",
        claimed=f"at most {training:g} % and {held_out:g} %",
        tolerance="one-sided, and tight to 2 %",
    )


@functools.cache
def _crossings():
    """Where the floors of three designs cross IID's, whether each is on its side of it, and the small-step laws."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((512, 256))
    X /= np.linalg.norm(X, axis=1)[:, None]
    designs = (
        _rows("cifar10", 1024, 256, True),
        _rows("wikipedia", 1536, 256, True),
        LabelledRows.of(X, rng.standard_normal(512)),
    )
    crossings, sides = [], True
    for rows in designs:

        def above(step, rows=rows):
            excess = exact.probe_floor("random_reshuffle", rows, step).train / rows.residual - 1
            return excess * (2 - step) / step - 1

        crossing = optimize.brentq(above, 0.8, 1.2, xtol=1e-3)
        crossings.append(crossing)
        sides = sides and all((above(step) > 0) == (step > crossing) for step in STEPS)
    return crossings, sides, _small_step_laws(designs[-1])


def floors_cross(*, pictures: float = 0.91, texts: float = 0.93, gaussian: float = 1.05) -> Evidence:
    """Where random reshuffle's training floor equals IID's, and its side of it at twelve steps from 0.05 to 1.9."""
    crossings, sides, small = _crossings()
    stated = (pictures, texts, gaussian)
    near = all(abs(observed - one) < 0.006 for observed, one in zip(crossings, stated, strict=True))
    return decide(
        sides and near and max(abs(one - 1) for one in small) < 0.03,
        measured="crossings at steps "
        + ", ".join(f"{one:.3f}" for one in crossings)
        + "; floors over their small-step laws at step 0.01: "
        + ", ".join(f"{one:.3f}" for one in small),
        claimed=f"at {pictures:g}, {texts:g}, {gaussian:g}; below IID's before, above it after",
        tolerance="0.006; small-step laws 3 %",
    )


def _small_step_laws(rows: LabelledRows, step: float = 0.01) -> tuple[float, float]:
    """Excess floors of random reshuffle and single shuffle over the laws of small steps, from the Gram matrix."""
    gram = rows.aspect * rows.eigenvalues
    k2, k3 = (float((gram**k).sum()) / rows.shape[0] for k in (2, 3))
    laws = step**3 * (k3 + k2 - 1) / 24, step**2 * (k2 + (k2 - 1) / rows.aspect) / 12
    ends = (
        module.floor(rows, step).train / rows.residual - 1 for module in (random_reshuffle, single_shuffle)
    )
    return tuple(end / law for end, law in zip(ends, laws, strict=True))


def reversal(*, seed: int = 5) -> Evidence:
    """All orders of two epochs on three rows in the plane: schedules and their reverses, without and with noise."""
    rng = np.random.default_rng(seed)
    angles = rng.uniform(0, np.pi, 3)
    U = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    r = np.linalg.svd(U)[0][:, 2]
    shuffles = list(itertools.permutations(range(3)))
    draws = list(itertools.product(range(3), repeat=3))

    def distance(steps, noise, epochs):
        total = 0.0
        for start, pair in itertools.product(np.eye(2), itertools.product(epochs, repeat=2)):
            e = start.copy()
            for step, visits in zip(steps, pair, strict=True):
                for i in visits:
                    e -= step * (U[i] @ e - noise * r[i]) * U[i]
            total += e @ e / len(epochs) ** 2
        return total

    gaps = {}
    for noise in (0.0, 1.0):
        gaps[noise] = [
            abs(distance(steps, noise, epochs) / distance(steps[::-1], noise, epochs) - 1)
            for steps in ((1.0, 0.2), (1.7, 0.4), (0.6, 0.5))
            for epochs in (shuffles, draws)
        ]
    return decide(
        max(gaps[0.0]) < 1e-12 and min(gaps[1.0]) > 1e-3,
        measured=f"largest difference {max(gaps[0.0]):.1e} without noise; smallest {min(gaps[1.0]):.1e} with it",
        claimed="equal without noise",
        tolerance="1e-12",
    )


@functools.cache
def _gains_of_decay():
    """By how much the best schedule divides the excess training loss, and its gains in held-out loss in per cent."""
    rows = _rows("cifar10", 1024, 256, True)
    tuned = schedules.best_schedule("random_reshuffle", rows, 20, "train")
    ratio = (tuned.constant_loss - rows.residual) / (tuned.loss - rows.residual)
    gains = [
        100 * schedules.best_schedule(order, rows, n, "held_out").gain
        for order, n in itertools.product(("iid", "random_reshuffle"), (5, 20))
    ]
    return ratio, gains


def decay_pays(*, training: float = 17.1, held_out: float = 0.69) -> Evidence:
    """The best schedule of all against the best constant step, 5 and 20 epochs, by theory."""
    ratio, gains = _gains_of_decay()
    return decide(
        abs(ratio / training - 1) < 0.01 and at_most(max(gains), held_out),
        measured=f"excess training loss divided by {ratio:.2f}; held-out loss at most {max(gains):.3f} % less",
        claimed=f"{training:g}; at most {held_out:g} %",
        tolerance="1 %; one-sided, and tight to 2 %",
    )


@functools.cache
def _over_the_best_of_thirteen(batch, epochs):
    """Held-out losses at the learning rate of theory over the least of thirteen others, three problems."""
    ratios = []
    for name in (
        ("cifar10", 1024, 256, False),
        ("cifar10", 256, 256, False),
        ("wikipedia", 1500, None, False),
    ):
        problem, rows = _prepared(*name), _rows(*name)
        step = schedules.best_step("random_reshuffle", rows, epochs, batch=batch).constant_step
        losses = [
            _run(problem, "random_reshuffle", rate * problem.scale, epochs, 2, batch)["held_out"][
                :, -1
            ].mean()
            for rate in (*SWEEP, step / problem.scale)
        ]
        ratios.append(losses[-1] / np.nanmin(losses[:-1]))
    return ratios


def without_a_sweep(
    *, tall: float = 0.999, square: float = 1.000, texts: float = 0.672, batch: int = 32, epochs: int = 10
) -> Evidence:
    """SGD at the learning rate of theory and at thirteen others, three problems, two runs each."""
    ratios = _over_the_best_of_thirteen(batch, epochs)
    stated = (tall, square, texts)
    return decide(
        all(abs(observed - one) < 0.005 for observed, one in zip(ratios, stated, strict=True)),
        measured="loss over the best of thirteen: " + ", ".join(f"{one:.4f}" for one in ratios),
        claimed=", ".join(f"{one:g}" for one in stated),
        tolerance="0.005",
    )
