"""Draw the pictures of the first page: the cover (also the card shown when a link is shared), and edge and order."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from edgelaw import data, exact, kaczmarz, orders, plots, spectrum

ROOT = Path(__file__).resolve().parent.parent
EPOCHS = np.unique(np.geomspace(1, 300, 24).astype(int))


def _axes(ax, **settings):
    """Logarithmic axes for a learning curve."""
    ax.set(xlabel="epochs $n$", xscale="log", yscale="log", **settings)


def _simulated(X, order, epochs, **settings):
    """SGD in single precision: half the time, and a difference of a millionth is no pixel."""
    return kaczmarz.simulate(X.astype(np.float32), order, epochs, rng=1, **settings)


def edge_and_order(size=512, epochs=EPOCHS, runs=4):
    """One Gaussian design: its left edge, and SGD on it in four orders."""
    X = data.gaussian(size, size, rng=7)
    eigenvalues = spectrum.gram_eigenvalues(X)
    edge = spectrum.MarchenkoPastur(1.0).edge
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2))

    plots.spectrum_cdf(left, eigenvalues, markersize=5)
    reach = np.geomspace(1e-6, 1, 50)
    left.plot(reach, edge.cdf(reach), **plots.ASYMPTOTE)
    # result cover-8
    left.annotate(r"edge: $F \approx \frac{2}{\pi}\,\lambda^{1/2}$", (2e-3, 0.02), (2e-2, 0.02), fontsize=13)
    left.set(title="The eigenvalues of the data", ylim=(1e-3, 1.5), xlim=(eigenvalues[0] / 3, 10))

    for order in orders.ORDERS:
        curve = _simulated(X, order, epochs, probes=32, runs=runs)
        right.plot(curve.epochs[1:], curve.test[1:], markevery=2, **plots.order_style(order))
    right.plot(epochs, edge.laplace(2 * epochs), **plots.ASYMPTOTE)
    # result cover-9
    right.annotate(r"slope $-\frac{1}{2}$, from the edge", (20, 0.1), (14, 0.13), fontsize=12)
    bound = np.exp(-epochs * eigenvalues[0])
    right.plot(epochs, bound, color="#444444", linestyle=":", label="textbook bound (SGD)")
    _axes(right, title="SGD, run on them at step 1", ylabel="error left", ylim=(0.012, 1.5))
    right.legend(loc="lower left")
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
PICTURES = {"edge_and_order.png": (edge_and_order, 130), "cover.png": (cover, 120)}


def draw(folder=ROOT / "assets"):
    """Draw all pictures into a folder."""
    with plt.rc_context({**plots.STYLE, "font.size": 13}):  # both are looked at on phones
        for name, (picture, dpi) in PICTURES.items():
            figure = picture()
            figure.savefig(Path(folder) / name, dpi=dpi, metadata={"Software": None})
            plt.close(figure)


if __name__ == "__main__":
    draw()
