"""Draw the pictures of the first page: the cover (also the card shown when a link is shared), and step and order."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from edgelaw import data, exact, kaczmarz, orders, plots, spectrum
from edgelaw.theory import BY_ORDER

ROOT = Path(__file__).resolve().parent.parent


def _axes(ax, **settings):
    """Logarithmic axes for a learning curve."""
    ax.set(xlabel="epochs $n$", xscale="log", yscale="log", **settings)


def _simulated(X, order, epochs, **settings):
    """SGD in single precision: half the time, and a difference of a millionth is no pixel."""
    return kaczmarz.simulate(X.astype(np.float32), order, epochs, rng=1, **settings)


def step_and_order(epoch=50):
    """What the explorer shows before it is moved: exact losses of isotropic rows, by epoch and by step."""
    n, steps = np.unique(np.geomspace(1, 200, 60).astype(int)), np.arange(1, 39) / 20
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2))
    for order in orders.ORDERS:
        theory, style = BY_ORDER[order], plots.order_style(order)
        left.plot(n, theory.test_loss(n), **style, markevery=8)
        after = np.array([float(theory.test_loss(epoch, step)) for step in steps])
        right.plot(steps, after, **style, markevery=4)
        ring = {"markersize": 13, "markerfacecolor": "none", "color": style["color"]}
        right.plot(steps[after.argmin()], after.min(), "o", **ring)
    _axes(left, title="step 1", ylabel="test loss")
    right.set(title=f"{epoch} epochs", xlabel=r"step $\eta$", yscale="log")
    left.legend(loc="lower left")
    for ax, ticks in ((left, (0.02, 0.05, 0.1, 0.2, 0.5)), (right, (0.02, 0.05, 0.1, 0.2))):
        ax.set_yticks(ticks, ticks)
        ax.minorticks_off()
    return figure


def cover(size=512, epochs=100, runs=2):
    """What was predicted from eigenvalues alone, and what SGD did: Gaussian rows, and real image embeddings."""
    embeddings = data.preprocess(data.cifar10().features, size, size, rng=0).X
    designs = {
        "Gaussian rows: shuffling once wins": data.gaussian(size, size, rng=7),  # result cover-5
        "CIFAR-10 embeddings: reshuffling wins": data.normalize_rows(embeddings),  # result cover-6
    }
    shown = np.unique(np.geomspace(1, epochs, 14).astype(int))
    figure, axes = plt.subplots(1, 2, figsize=(10, 5.25), sharey=True)
    # result cover-7
    figure.suptitle("The eigenvalues say how SGD will learn, and in which order it should", fontsize=17)
    for ax, (title, X) in zip(axes, designs.items(), strict=True):
        eigenvalues = spectrum.gram_eigenvalues(data.normalize_rows(X))
        for order in orders.ORDERS:
            truth = exact.curve(order, eigenvalues, epochs)
            ran = _simulated(X, order, shown, probes=64, runs=runs)
            style = plots.order_style(order)
            ax.plot(truth.epochs[1:], truth.train[1:], **{**style, "marker": "", "label": None})
            ax.plot(ran.epochs[1:], ran.train[1:], **{**style, "linestyle": "none"}, markersize=6)
        _axes(ax, title=title)
    axes[0].set(ylabel="training loss")
    axes[0].plot([], [], color="#444444", label="line: exact theory")
    axes[0].plot([], [], color="#444444", marker="o", linestyle="none", label="dot: SGD, run")
    axes[0].legend(loc="lower left", fontsize="small")
    return figure


# 10 x 5.25 inches at 120 dots an inch are the 1200 x 630 pixels that a shared link shows
PICTURES = {"step_and_order.png": (step_and_order, 130), "cover.png": (cover, 120)}


def draw(folder=ROOT / "assets"):
    """Draw all pictures into a folder."""
    with plt.rc_context({**plots.STYLE, "font.size": 13}):  # both are looked at on phones
        for name, (picture, dpi) in PICTURES.items():
            figure = picture()
            figure.savefig(Path(folder) / name, dpi=dpi, metadata={"Software": None})
            plt.close(figure)


if __name__ == "__main__":
    draw()
