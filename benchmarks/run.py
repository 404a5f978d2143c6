"""Measure the simulator side by side with a NumPy loop, with its own floor, and with its peers.

Every ratio is taken within one run on one thread, the contestants taking turns, the best of several turns each. The
table is printed and written to RESULTS.md with the machine's description, the ratios drawn as ratios.png and the
growth of the cost as scaling.png. The exit status is not zero if a bar is missed.

    python benchmarks/run.py            the whole, a few minutes
    python benchmarks/run.py --quick    smaller and shorter, for a look; writes nothing
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded

import argparse
import importlib.metadata
import itertools
import pathlib
import platform
import subprocess
import sys
import time
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

from edgelaw import plots
from edgelaw.kaczmarz import iterates, simulate
from edgelaw.orders import ORDERS

plt.switch_backend("Agg")
HERE = pathlib.Path(__file__).resolve().parent


@dataclass
class Bar:
    """A ratio that was measured and, where one is asked for, the bar it has to clear."""

    what: str
    ratio: float
    least: float = -np.inf
    most: float = np.inf

    @property
    def cleared(self):
        """Whether the bar is cleared."""
        return self.least <= self.ratio <= self.most

    @property
    def asked(self):
        """The bar in words."""
        return (
            f"≥ {self.least:g}" if self.least > -np.inf else f"≤ {self.most:g}" if self.most < np.inf else ""
        )


def best(turns, **contestants):
    """Seconds of the best of `turns` of each contestant; they take turns, so that all meet the same machine."""
    seconds = dict.fromkeys(contestants, np.inf)
    for _ in range(turns):
        for name, run in contestants.items():
            start = time.perf_counter()
            run()
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    return seconds


def gaussian(m, d, dtype=np.float64):
    """A Gaussian design; the speed does not depend on the values."""
    return np.random.default_rng(0).standard_normal((m, d), dtype=dtype)


def unit(X):
    """The rows of X scaled to norm 1."""
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def epochs(X, order, probes, every=1):
    """A function that runs `every` more epochs of a simulation that is under way, its blocks made."""
    start = np.random.default_rng(1).standard_normal((X.shape[1], probes)).astype(X.dtype)
    walk = iterates(X, order, range(0, 10**6, every), start)
    next(walk), next(walk)
    return lambda: next(walk)


def numpy_loop(X, probes, tuned=False, step=1.0):
    """One epoch row by row, all probes at once: the definition as it is written, or tuned by hand."""
    U, W = unit(X), np.random.default_rng(1).standard_normal((X.shape[1], probes))
    visits = np.random.default_rng(2).permutation(len(U))

    def written():
        nonlocal W
        for u in U[visits]:
            W -= step * np.outer(u, u @ W)

    def by_hand():
        nonlocal W
        for u in U[visits]:
            W -= u[:, None] * (step * (u @ W))

    return by_hand if tuned else written


def floor(X, probes):
    """The two dense products of one epoch, U W and Uᵀ Z, and nothing else."""
    U, W = unit(X), np.random.default_rng(1).standard_normal((X.shape[1], probes)).astype(X.dtype)
    Z, V = np.empty((len(U), probes), X.dtype), np.empty_like(W)

    def run():
        np.matmul(U, W, out=Z)
        np.matmul(U.T, Z, out=V)

    return run


def many_probes(turns, d=1024, probes=64):
    """All four orders against the loop and the floor."""
    X = gaussian(d, d)
    single = X.astype(np.float32)
    contestants = {order: epochs(X, order, probes) for order in ORDERS}
    contestants |= {"loop": numpy_loop(X, probes), "tuned": numpy_loop(X, probes, tuned=True)}
    contestants |= {"floor": floor(X, probes)}
    contestants |= {"float32": epochs(single, "single_shuffle", probes)}
    t = best(turns, **contestants)
    bars = []
    for order, least, most in zip(ORDERS, (7, 7, 10, 10), (1.8, 1.8, 1.25, 1.25), strict=True):
        name = order.replace("_", " ")
        bars.append(
            Bar(f"{name}: times faster than a NumPy loop over rows", t["loop"] / t[order], least=least)
        )
        bars.append(Bar(f"{name}: time over the floor of two products", t[order] / t["floor"], most=most))
    for order in ("iid", "single_shuffle"):
        name = order.replace("_", " ")
        bars.append(Bar(f"{name}: times faster than that loop tuned by hand", t["tuned"] / t[order]))
    bars.append(Bar("float32: times faster than float64", t["single_shuffle"] / t["float32"], least=1.7))
    return bars, t


def one_probe(turns, d=512):
    """One weight vector against scikit-learn and kaczmarz-algorithms, per epoch."""
    import kaczmarz
    from sklearn.linear_model import SGDRegressor

    U = unit(gaussian(d, d))
    y = U @ np.random.default_rng(1).standard_normal(d)
    regressor = SGDRegressor(
        penalty=None,
        fit_intercept=False,
        learning_rate="constant",
        eta0=1.0,
        max_iter=50,
        tol=None,
        shuffle=False,
    )
    t = best(
        turns,
        single_shuffle=epochs(U, "single_shuffle", 1, every=50),
        iid=epochs(U, "iid", 1, every=50),
        sklearn=lambda: regressor.fit(U, y),
        uniform=lambda: kaczmarz.UniformRandom.solve(U, y, tol=None, maxiter=4 * d),
        cyclic=lambda: kaczmarz.Cyclic.solve(U, y, tol=None, maxiter=4 * d),
        default=lambda: kaczmarz.Cyclic.solve(U, y, maxiter=d),
    )
    counts = {"single_shuffle": 50, "iid": 50, "sklearn": 50, "uniform": 4, "cyclic": 4, "default": 1}
    t = {name: seconds / counts[name] for name, seconds in t.items()}
    package = "kaczmarz-algorithms"
    return [
        Bar("times faster than scikit-learn's SGDRegressor", t["sklearn"] / t["single_shuffle"], least=3),
        Bar(
            f"times faster than {package} (Cyclic, as it comes)",
            t["default"] / t["single_shuffle"],
            least=150,
        ),
        Bar(f"times faster than {package} (UniformRandom, no tolerance)", t["uniform"] / t["iid"]),
        Bar(f"times faster than {package} (Cyclic, no tolerance)", t["cyclic"] / t["single_shuffle"]),
    ], t


def long_horizon(count, d=256):
    """Many epochs of one probe in one go, beside what reading the rows once per epoch would take."""
    X = gaussian(d, d)
    record = np.unique(np.geomspace(1, count, 60).astype(int))
    simulate(X, "single_shuffle", 1, probes=1)
    start = time.perf_counter()
    curve = simulate(X, "single_shuffle", record, probes=1)
    seconds = time.perf_counter() - start
    assert 0 < curve.test[-1] < curve.test[1] < 1
    flat = X.ravel()
    read = best(2000, read=lambda: flat @ flat)["read"]  # one pass over the rows, from the cache they live in
    rate, allowed = count * d / seconds, d / read
    return Bar("share of the row updates that bandwidth allows", rate / allowed), rate, allowed, seconds


def scaling(sizes, turns, probes=32):
    """Seconds of an epoch against d = m, and the exponent between them."""
    seconds = []
    for d in sizes:
        run = epochs(gaussian(d, d), "single_shuffle", probes)
        seconds.append(best(turns if d < 4096 else 3, run=run)["run"])
    slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    return seconds, slope


QUIET = 0.1  # cores that other work may keep busy while two cores are compared with one


def two_cores(turns, d=1024, probes=64):
    """How much faster two runs are on two cores than on one."""
    X = gaussian(d, d)
    options = {"order": "single_shuffle", "epochs": [40], "probes": probes}
    t = best(
        turns,
        one=lambda: [simulate(X, rng=seed, **options) for seed in (0, 1)],
        two=lambda: simulate(X, runs=2, **options),
    )
    return Bar("times faster: two runs on two cores against one", t["one"] / t["two"])


def busy_seconds():
    """Processor seconds of all processes of this machine since it started, and of this one; None where not known."""
    stat = pathlib.Path("/proc/stat")
    if not stat.exists():
        return None
    user, nice, system = (int(x) for x in stat.read_text().split()[1:4])
    own = os.times()
    return (user + nice + system) / os.sysconf("SC_CLK_TCK"), sum(own[:4])


def other_work(before, after, seconds):
    """How many cores other processes kept busy between two readings of `busy_seconds`."""
    if before is None:
        return 0.0
    (all_before, own_before), (all_after, own_after) = before, after
    return max(0.0, (all_after - all_before) - (own_after - own_before)) / seconds


PEAK = """
import pathlib, resource, sys
import numpy as np
from edgelaw.kaczmarz import simulate
d = int(sys.argv[1])
X = np.random.default_rng(0).standard_normal((d, d))
simulate(X, sys.argv[2], 2, probes=32)
status = pathlib.Path("/proc/self/status")
if status.exists():
    kilobytes = next(int(s.split()[1]) for s in status.read_text().splitlines() if s.startswith("VmHWM"))
else:
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "darwin" else 1)
print(kilobytes * 1024 / 1e6)
"""


def peak_memory(d):
    """Peak megabytes of a process that makes the data and runs each order, against 1.25 times the data + 500 MB."""
    allowed = 1.25 * d * d * 8 / 1e6 + 500
    bars, megabytes = [], {}
    for order in ORDERS:
        command = [sys.executable, "-c", PEAK, str(d), order]
        megabytes[order] = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    worst = max(megabytes, key=megabytes.get)
    bars.append(Bar("peak memory over 1.25 × data + 500 MB", megabytes[worst] / allowed, most=1))
    return bars, megabytes, allowed


def machine():
    """The machine and the versions, without names or paths."""
    model = platform.processor() or platform.machine()
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [
            s.split(":")[1].strip() for s in cpuinfo.read_text().splitlines() if s.startswith("model name")
        ]
        model = names[0] if names else model
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    packages = ("numpy", "scipy", "numba", "scikit-learn", "kaczmarz-algorithms")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    return (
        f"{model}, {os.cpu_count()} cores, {platform.system()}; Python {platform.python_version()}, {versions}; "
        f"BLAS {blas['name']} {blas['version']}, one thread."
    )


def draw_ratios(bars, path):
    """What should be large above, what should be small below; a black tick is the bar to clear."""
    small = [bar for bar in bars if bar.most < np.inf]
    large = [bar for bar in bars if bar not in small]
    size = {"figsize": (9, 0.33 * len(bars) + 1.6), "height_ratios": (len(large), len(small) + 0.5)}
    figure, axes = plt.subplots(2, 1, **size)
    for ax, group, label in zip(axes, (large, small), ("more is better", "less is better"), strict=True):
        for k, bar in enumerate(reversed(group)):
            ax.barh(k, bar.ratio, color=plots.DATA["color"] if bar.cleared else plots.THEORY["color"])
            asked = [x for x in (bar.least, bar.most) if np.isfinite(x)]
            ax.vlines(asked, k - 0.45, k + 0.45, color="black", linewidth=2)
            ax.annotate(
                f"{bar.ratio:.3g}",
                (max([bar.ratio, *asked]), k),
                (6, 0),
                textcoords="offset points",
                va="center",
            )
        ax.set_yticks(range(len(group)), [bar.what for bar in reversed(group)], fontsize="small")
        ax.set_xlabel(f"ratio: {label}; black: the bar")
        ax.grid(axis="y", visible=False)
        ax.margins(x=0.12)
    axes[0].set_xscale("log")
    figure.savefig(path)


def draw_scaling(sizes, seconds, slope, path):
    """The cost of an epoch against d, log-log."""
    figure, ax = plt.subplots(figsize=(5.5, 3.6))
    ax.loglog(sizes, seconds, **plots.order_style("single_shuffle", label=f"measured, slope {slope:.2f}"))
    reference = seconds[-1] * (np.array(sizes) / sizes[-1]) ** 2.0
    ax.loglog(sizes, reference, **plots.ASYMPTOTE, label="slope 2")
    ax.set(xlabel="$d = m$", ylabel="seconds an epoch, 32 probes", title="single shuffle, one core")
    ax.set_xticks(sizes, sizes)
    ax.minorticks_off()
    ax.legend()
    figure.savefig(path)


def table(bars):
    """The ratios as a Markdown table."""
    lines = ["| measured | ratio | bar | cleared |", "|---|---:|---:|---|"]
    for bar in bars:
        verdict = ("yes" if bar.cleared else "**no**") if bar.asked else ""
        lines.append(f"| {bar.what} | {bar.ratio:.3g} | {bar.asked} | {verdict} |")
    return "\n".join(lines)


def report(bars, facts):
    """The text of RESULTS.md."""
    return "\n".join(
        [
            "# How fast the simulator is",
            "",
            "Ratios of the simulator's time to that of what the row names. Written by `make bench`. Every ratio was",
            "measured side by side in one run, on one thread, the best of several turns each; the ratios carry over to",
            "other machines better than any time does.",
            "",
            machine(),
            "",
            table(bars),
            "",
            "The NumPy loop is `W -= step * np.outer(u, u @ W)` over the unit rows, all probes at once; tuned by",
            "hand it is `W -= u[:, None] * (step * (u @ W))`, one pass over W less. The floor is the time of the",
            "products `U @ W` and `U.T @ Z` alone. Orders and float32: m = d = 1024, 64 probes, an epoch of a run",
            "under way. The peers: m = d = 512, one probe, per epoch, the same unit rows. kaczmarz-algorithms checks a",
            "tolerance after every row as it comes, which costs a product with the whole matrix; it is therefore also",
            "measured without.",
            "",
            *facts,
            "",
            "![The ratios as bars](ratios.png)",
            "",
            "![Seconds of an epoch against the dimension](scaling.png)",
            "",
        ]
    )


def main():
    """Measure, print, write, and say which bars were missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="smaller and shorter, for a look; writes nothing"
    )
    quick = parser.parse_args().quick
    turns, count = (15, 10**4) if quick else (60, 10**6)
    sizes = [256 * 2**k for k in range(4 if quick else 6)]
    plots.use()

    bars, _ = many_probes(turns)
    peers, _ = one_probe(max(5, turns // 5))
    share, rate, allowed, seconds = long_horizon(count)
    before, start = busy_seconds(), time.perf_counter()
    cores = two_cores(max(3, turns // 10))
    others = other_work(before, busy_seconds(), time.perf_counter() - start)
    quiet = others < QUIET
    costs, slope = scaling(sizes, max(5, turns // 4))
    memory, megabytes, limit = peak_memory(sizes[-1])
    bars = list(itertools.chain(bars, peers, [share, *[cores] * quiet], memory))
    facts = [
        f"- d = 256, one probe: {count:.0e} epochs ({count * 256:.2g} row updates) in one go took {seconds:.1f} s:",
        f"  {rate / 1e6:.1f} million row updates per second, where reading each row once from its cache would allow",
        f"  {allowed / 1e6:.1f} million.",
        f"- The cost of an epoch grows like d^{slope:.2f} from d = {sizes[0]} to {sizes[-1]} (32 probes, m = d): "
        + ", ".join(f"{1e3 * s:.3g}" for s in costs)
        + " ms.",
        f"- Peak memory at m = d = {sizes[-1]}, 32 probes, data included ({sizes[-1] ** 2 * 8 / 1e6:.0f} MB): "
        + ", ".join(f"{order.replace('_', ' ')} {megabytes[order]:.0f} MB" for order in ORDERS)
        + f"; allowed {limit:.0f} MB.",
    ]
    if not quiet:
        facts.append(
            f"- Two cores against one: not measured, other work kept {others:.1f} cores busy meanwhile."
        )
    text = report(bars, facts)
    print(text)
    if not quick:
        (HERE / "RESULTS.md").write_text(text, encoding="utf-8")
        draw_ratios(bars, HERE / "ratios.png")
        draw_scaling(sizes, costs, slope, HERE / "scaling.png")
    missed = [bar.what for bar in bars if not bar.cleared]
    if missed:
        sys.exit("Missed: " + "; ".join(missed) + ".")


if __name__ == "__main__":
    main()
