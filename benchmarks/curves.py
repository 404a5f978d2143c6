"""Processor seconds of an exact curve and of simulating it: every aspect m/d, five steps, both losses, one core.

    OMP_NUM_THREADS=1 python benchmarks/curves.py     some minutes; writes CURVES.md

Seconds of processor time, the best of three turns, the error estimate included, compiled code warm; and of the command
``edgelaw predict``, from its start to its end. The exit status is not zero if a bar is missed.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded

import itertools
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

from edgelaw import data, exact, kaczmarz
from edgelaw.exact import graded_circle
from edgelaw.exact.flip_flop import collocation as flip_flop_collocation
from edgelaw.exact.random_reshuffle import contours as reshuffle_contours
from edgelaw.exact.random_reshuffle import rows as reshuffle_rows
from edgelaw.exact.single_shuffle import pairs as shuffle_pairs
from edgelaw.spectrum import gram_eigenvalues
from edgelaw.theory import BY_ORDER

HERE = pathlib.Path(__file__).resolve().parent
STEPS = (0.1, 0.5, 1.0, 1.5, 1.9)
ASPECTS = {"1/8": 1 / 8, "1/2": 1 / 2, "1": 1.0, "600/512": 600 / 512, "4": 4.0, "16": 16.0, "64": 64.0}
EPOCHS = (50, 200)
BARS = {"iid": 0.03, "random_reshuffle": 0.15, "single_shuffle": 0.25, "flip_flop": 0.25}
DIMS, TURNS = 512, 3
PLAIN = 10.0  # bar of all four orders together without numba
WHOLE = {"512 × 512": 3.0, "640 × 1280": 4.0, "50,000 × 768": 10.0}  # bars of edgelaw predict
# The engines before these, at m = d = 512 on the shipped embeddings, 50 epochs, steps 0.5 to 1.8, on a busy core; for
# other m/d single shuffle refused more than about 30 epochs, and flip-flop failed at m = d/2.
BEFORE = {
    "iid": "0.01–0.02",
    "random_reshuffle": "1.8–2.3",
    "single_shuffle": "1.5–5.8",
    "flip_flop": "0.8–1.7",
}


def spectra():
    """Names and eigenvalues: Gaussian rows of covariance j^(−1/2) at every aspect, 2048 of them, and embeddings."""
    rng = np.random.default_rng(0)
    for name, rho in ASPECTS.items():
        X = data.gaussian(round(rho * DIMS), DIMS, rng=rng) * np.arange(1, DIMS + 1) ** -0.25
        yield f"m/d = {name}", rho, gram_eigenvalues(data.normalize_rows(X))
    X = data.gaussian(2048, 2048, rng=rng) * np.arange(1, 2049) ** -0.25
    yield "m = d = 2048", 1.0, gram_eigenvalues(data.normalize_rows(X))
    for name in ("cifar10", "wikipedia"):
        X = data.preprocess(data.load(name).features, rows=600, dims=512, rng=0).X
        yield f"{name}, 600 × 512", 600 / 512, gram_eigenvalues(data.normalize_rows(X))


def forget():
    """Drop what the engines keep from one curve for the next, so that no turn is cheaper than the first."""
    for module in (graded_circle, shuffle_pairs, flip_flop_collocation, reshuffle_contours, reshuffle_rows):
        for kept in vars(module).values():
            if hasattr(kept, "cache_clear"):
                kept.cache_clear()


def seconds(order, values, epochs, step, rho):
    """Processor seconds of one curve, the best of three turns; infinite if it is refused."""
    turns = []
    for _ in range(TURNS):
        forget()
        start = time.process_time()
        try:
            exact.curve(order, np.maximum(values, 0), epochs, step, rho)
        except ArithmeticError:
            return np.inf
        turns.append(time.process_time() - start)
    return min(turns)


def forecasts():
    """Processor seconds of ``edgelaw predict FILE``, all orders and best steps, the best of three turns: by shape."""
    pool = data.load("cifar10").features
    designs = {
        "512 × 512": data.preprocess(pool, rows=512, dims=512, rng=0).X,
        "640 × 1280": data.preprocess(pool, rows=640, dims=1280, rng=0).X,
        "50,000 × 768": data.gaussian(50_000, 768, rng=0) * np.arange(1, 769) ** -0.25,
    }
    costs = {}
    for name, X in designs.items():
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rows.npy"
            np.save(path, X.astype(np.float32))
            costs[name] = min(_processor_time(path) for _ in range(TURNS))
    return costs


def _processor_time(path):
    """User and system seconds of one run of the command, with its bytecode kept as for an installed package."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    child = subprocess.Popen(
        [sys.executable, "-m", "edgelaw_app", "predict", path], env=environment, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"edgelaw predict {path} failed.")
    return usage.ru_utime + usage.ru_stime


def simulated(dims):
    """Processor seconds of one run of each order: m = d, 50 epochs, 32 probes."""
    X = data.normalize_rows(data.gaussian(dims, dims, rng=0))
    costs = {}
    for order in BY_ORDER:
        start = time.process_time()
        kaczmarz.simulate(X, order, 50, 1.0, probes=32, runs=1, rng=0)
        costs[order] = time.process_time() - start
    return costs


def side_by_side(simulation, computed):
    """Old engine, this one and simulation at 50 epochs, m = d: a table."""
    lines = [
        "| m = d, 50 epochs | before (512) | exact, 512 | simulated, 512 | exact, 2048 | simulated, 2048 |"
    ]
    lines.append("|---|---:|---:|---:|---:|---:|")
    totals = np.zeros(4)
    for order in BY_ORDER:
        costs = [computed["m/d = 1", order], simulation[512][order]]
        costs += [computed["m = d = 2048", order], simulation[2048][order]]
        totals += [max(x) if isinstance(x, list) else x for x in costs]
        cells = [f"{min(x):.2f}–{max(x):.2f}" if isinstance(x, list) else f"{x:.2f}" for x in costs]
        lines.append(f"| {order} | {BEFORE[order]} | " + " | ".join(cells) + " |")
    lines.append("| all four, slowest step | | " + " | ".join(f"{x:.2f}" for x in totals) + " |")
    return lines


def without_numba():
    """Processor seconds of all four orders together without numba: m = d = 512, 50 epochs, the slowest step."""
    script = (
        "import sys; sys.path.insert(0, 'benchmarks'); import curves\n"
        "name, rho, values = list(curves.spectra())[2]\n"
        "costs = [[curves.seconds(order, values, 50, step, rho) for step in curves.STEPS] for order in curves.BARS]\n"
        "print(max(map(sum, zip(*costs))))"
    )
    environment = {**os.environ, "EDGELAW_NUMBA": "0"}
    child = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        cwd=HERE.parent,
        text=True,
        capture_output=True,
        check=True,
    )
    return float(child.stdout)


def cell(costs):
    """The slowest step up to 1.5, and step 1.9."""
    *usual, last = ("refused" if np.isinf(x) else f"{x:.2f}" for x in (max(costs[:-1]), costs[-1]))
    return f"{usual[0]} / {last}"


def main():
    """Measure, print, write, and say which bars were missed."""
    for order in BY_ORDER:
        seconds(order, np.linspace(0.01, 2, 60), 20, 1.0, 1.0)  # compiles
    rows, missed, computed = [], [], {}
    for name, rho, values in spectra():
        for order in BARS:
            costs = {n: [seconds(order, values, n, step, rho) for step in STEPS] for n in EPOCHS}
            computed[name, order] = costs[50]
            rows.append(
                f"| {name} | {order} | " + " | ".join(cell(costs[n]) for n in EPOCHS) + f" | {BARS[order]} |"
            )
            for n, place in itertools.product(EPOCHS, range(len(STEPS))):
                if (cost := costs[n][place]) > BARS[order]:
                    took = "refused" if np.isinf(cost) else f"{cost:.2f} s"
                    missed.append(f"{order}, {name}, {n} epochs, step {STEPS[place]}: {took}")
            print(rows[-1], flush=True)
    simulation, plain = {dims: simulated(dims) for dims in (512, 2048)}, without_numba()
    missed += [f"without numba: {plain:.1f} s"] if plain > PLAIN else []
    whole = forecasts()
    missed += [f"edgelaw predict, {name}: {cost:.1f} s" for name, cost in whole.items() if cost > WHOLE[name]]
    text = "\n".join(
        [
            "# What an exact curve costs",
            "",
            __doc__.split("\n\n")[0],
            "",
            "Processor seconds: the slowest of the steps 0.1, 0.5, 1 and 1.5 / step 1.9.",
            "",
            "| spectrum | order | 50 epochs | 200 epochs | bar |",
            "|---|---|---:|---:|---:|",
            *rows,
            "",
            "Beside simulation from 32 starts, in the same run (exact: fastest to slowest of the five steps):",
            "",
            *side_by_side(simulation, computed),
            "",
            f"Without numba all four orders together, m = d = 512, 50 epochs, at the slowest step: {plain:.1f} s (bar "
            f"{PLAIN:.0f} s).",
            "",
            "`edgelaw predict FILE`, all orders with their best steps, from start to end:",
            "",
            "| rows × columns | processor seconds | bar |",
            "|---|---:|---:|",
            *(f"| {name} | {cost:.1f} | {WHOLE[name]:.0f} |" for name, cost in whole.items()),
            "",
            "Bars missed: " + ("none." if not missed else ""),
            *([""] if missed else []),
            *(f"- {line}" for line in missed),
            "",
        ]
    )
    (HERE / "CURVES.md").write_text(text, encoding="utf-8")
    if missed:
        sys.exit(f"Missed {len(missed)} bars; CURVES.md lists them.")


if __name__ == "__main__":
    main()
