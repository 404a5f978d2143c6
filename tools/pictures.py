"""Draw the picture of the README and the first page: the edge sets the slope, the order sets the height."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from edgelaw import data, kaczmarz, orders, plots, spectrum

ROOT = Path(__file__).resolve().parent.parent
EPOCHS = np.unique(np.geomspace(1, 300, 24).astype(int))


def draw(folder=ROOT / "assets"):
    """One Gaussian design, m = d = 512: its left edge, and SGD on it in four orders."""
    with plt.rc_context(plots.STYLE):
        X = data.gaussian(512, 512, rng=7)
        eigenvalues = spectrum.gram_eigenvalues(X)
        edge = spectrum.MarchenkoPastur(1.0).edge
        figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2))

        plots.spectrum_cdf(left, eigenvalues, markersize=5)
        reach = np.geomspace(1e-6, 1, 50)
        left.plot(reach, edge.cdf(reach), **plots.ASYMPTOTE)
        left.annotate(
            r"edge: $F \approx \frac{2}{\pi}\,\lambda^{1/2}$", (2e-3, 0.02), (2e-2, 0.02), fontsize=13
        )
        left.set(title="The eigenvalues of the data", ylim=(1e-3, 1.5), xlim=(1e-6, 10))

        for order in orders.ORDERS:
            curve = kaczmarz.simulate(X, order, 300, probes=32, runs=4, rng=1, record=EPOCHS)
            right.plot(curve.epochs[1:], curve.test[1:], markevery=2, **plots.order_style(order))
        right.plot(EPOCHS, edge.laplace(2 * EPOCHS), **plots.ASYMPTOTE)
        right.annotate(r"slope $-\frac{1}{2}$, from the edge", (20, 0.1), (14, 0.13), fontsize=12)
        bound = np.exp(-2 * EPOCHS * eigenvalues[0])
        right.plot(EPOCHS, bound, color="#444444", linestyle=":", label="classical bound (GD)")
        right.set(
            title="SGD on them, in four orders",
            xlabel="epochs $n$",
            ylabel="error left",
            xscale="log",
            yscale="log",
        )
        right.set(ylim=(0.012, 1.5))
        right.legend(loc="lower left")
        figure.savefig(Path(folder) / "edge_and_order.png", dpi=130, metadata={"Software": None})
        plt.close(figure)


if __name__ == "__main__":
    draw()
