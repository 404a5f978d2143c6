"""The appendix on shuffle buffers: tables of recorded sweeps against their sentences, and two parts drawn again."""

import numpy as np
import pytest
from outputs import numbers, prose, table

from edgelaw import data, kaczmarz
from edgelaw.orders import BlockShuffle, ShuffleBuffer, concordance
from edgelaw.theory import gap, random_reshuffle, single_shuffle

CHAPTER = "appendix_shuffle_buffers"
TEST, TRAIN, ROWS = 0, 1, 256


@pytest.fixture(scope="module")
def sweep():
    return data.sweep("loader_orders")


@pytest.fixture(scope="module")
def sorted_files():
    return data.sweep("sorted_files")


def buffer(sweep, size):
    return sweep["buffers"].tolist().index(size)


def test_the_concordance_of_many_rows_is_the_polynomial():
    for share, tau, polynomial in table(CHAPTER, "buffer / rows   tau     1 - 3b"):
        assert tau == round(concordance(ShuffleBuffer(round(share * 4096)), 4096), 3)
        assert polynomial == pytest.approx(1 - 3 * share + 2.5 * share**2, abs=6e-4)
        assert abs(tau - polynomial) < 1.5e-3 + np.exp(-1 / share)


def test_drawn_epochs_have_the_concordance_that_is_proved():
    mean, error, proved = numbers(CHAPTER, r"200 pairs of epochs: tau (\S+) \+- (\S+), exact (\S+)")
    assert proved == round(concordance(ShuffleBuffer(16), 64), 3)
    assert error < 0.005
    assert abs(mean - proved) < 3 * error


def test_on_gaussian_rows_the_squared_loss_is_linear_in_the_concordance():
    ends = [order.test_loss(30) for order in (single_shuffle, random_reshuffle)]
    for share, tau, measured, _, law in table(CHAPTER, "test loss / random reshuffle's   by tau"):
        exact = concordance(ShuffleBuffer(round(share * ROWS)), ROWS)
        assert tau == round(exact, 3)
        assert law == pytest.approx(gap.concordant_loss(*ends, exact) / ends[1], abs=6e-5)
        assert measured == pytest.approx(law, rel=4e-3)


def test_the_line_reaches_as_far_as_the_text_says():
    errors = {
        step: np.array(numbers(CHAPTER, rf"step {step}" + r" (\d+\.\d\d)" * 6))
        for step in ("0.5", "1", "1.5", "1.9")
    }
    half, one, large = numbers(
        CHAPTER,
        r"At step 0.5 the line is within (\S+) % of every buffer, at step 1 within (\S+) % from ten epochs on. "
        r"At step 1.5 it is up to (\S+) % off and at step 1.9 a third",
        prose,
    )
    assert errors["0.5"].max() < half
    assert errors["1"][3:].max() < one  # epochs 10, 20, 30
    assert round(errors["1.5"].max()) == large
    assert errors["1.9"].max() == pytest.approx(100 / 3, abs=1)


def test_a_quarter_of_the_rows_is_enough_on_all_eight_files(sweep):
    assert "With a quarter of the rows in the buffer both losses of all eight files are below" in prose(
        CHAPTER
    )
    last = sweep["ratios"][:, sweep["steps"].tolist().index(1.0), buffer(sweep, 64), :, -1]
    assert last.shape == (8, 2)
    assert (last < 0).all()  # logarithms of ratios


def test_a_files_own_order_costs_what_the_text_says_sorted_or_not(sweep):
    stated = numbers(
        CHAPTER,
        r"leaves (\S+) times the training loss of random reshuffle when the file is in random order, (\S+) times when "
        r"it is sorted by label and (\S+) times when it is sorted along",
        prose,
    )
    files, step = sweep["files"].tolist(), sweep["steps"].tolist().index(1.0)
    own = [
        sweep["ratios"][files.index(f"cifar10 {kind}"), step, 0, TRAIN, -1]
        for kind in ("random", "label", "top")
    ]
    assert np.exp(np.array(own, dtype=float)).round(2).tolist() == stated


def test_a_buffer_is_better_than_blocks_of_its_size_on_all_files_of_embeddings():
    for source in ("cifar10", "wikipedia"):
        for order in ("random", "label", "top"):
            ours, *blocks = numbers(CHAPTER, rf"\n{source} {order}" + r" (\d\.\d\d)" * 4 + r"\n")
            assert ours < min(blocks)


def test_part_of_the_first_sweep_comes_out_again(sweep):
    """Gaussian rows, an eighth of them in the buffer, ten epochs: all six draws."""
    logs = []
    for seed in range(6):
        rng = np.random.default_rng([15, seed])
        X = data.normalize_rows(data.gaussian(ROWS, ROWS, rng))[rng.permutation(ROWS)].astype(np.float32)
        small, full = (
            kaczmarz.simulate(X, ShuffleBuffer(size), [10], rng=seed, starts="all").test[-1]
            for size in (32, ROWS)
        )
        logs.append(np.log(small / full))
    place = sweep["files"].tolist().index("gaussian random"), sweep["steps"].tolist().index(1.0)
    kept = sweep["ratios"][(*place, buffer(sweep, 32), TEST, sweep["epochs"].tolist().index(10))]
    assert np.mean(logs) == pytest.approx(float(kept), abs=1e-3)


def test_part_of_the_second_sweep_comes_out_again(sweep, sorted_files):
    """Floors of plain SGD on photographs sorted by norm, a quarter of them in the buffer: all eight draws."""
    logs = []
    for seed in range(8):
        rng = np.random.default_rng([15, 2, seed])
        X = data.preprocess(data.cifar10().features, rows=ROWS, dims=128, rng=seed, normalize=False).X
        norms, y = np.linalg.norm(X, axis=1), rng.standard_normal(ROWS)
        place = np.argsort(norms, kind="stable")
        X, y = (X / np.sqrt(np.mean(norms**2)))[place], y[place]
        best = np.linalg.lstsq(X, y, rcond=None)[0]
        plain, floors = kaczmarz.Problem(X, y, normalised=False), []
        for size in (64, ROWS):
            walk = kaczmarz.iterates(plain, ShuffleBuffer(size), range(40, 240), best, 0.5, rng=seed)
            floors.append(np.mean([((w - best) ** 2).sum() for n, w in walk if n]))
        logs.append(np.log(floors[0] / floors[1]))
    file = sorted_files["floor_files"].tolist().index("cifar10 plain norm")
    kept = float(sorted_files["floors"][0, file, buffer(sweep, 64), TEST])
    assert np.mean(logs) == pytest.approx(kept, abs=2e-3)


def test_norms_vary_as_the_text_says(sorted_files):
    gaussian, texts, images = numbers(
        CHAPTER,
        r"vary by (\d+) % of their mean on Gaussian rows, by (\d+) % on Wikipedia and by (\d+) % on",
        prose,
    )
    names = [str(name).split()[0] for name in sorted_files["files"][::2]]
    spread = dict(zip(names, np.round(100 * sorted_files["norms"][::2, 2]).tolist(), strict=True))
    assert spread == {"gaussian": gaussian, "cifar10": images, "wikipedia": texts}


def test_the_largest_price_of_a_sort_by_norm_is_one_epoch_in_ten():
    assert "the largest price is one epoch in ten, for the training loss of CIFAR-10" in prose(CHAPTER)
    factors = {
        (loss, source, kind): max(numbers(CHAPTER, rf"{loss} {source} {kind}" + r" (\d\.\d\d)" * 6 + r"\n"))
        for loss in ("test", "training")
        for source in ("gaussian", "cifar10", "wikipedia")
        for kind in ("norm",)
    }
    assert max(factors, key=factors.get) == ("training", "cifar10", "norm")
    assert factors["training", "cifar10", "norm"] == pytest.approx(1.1, abs=0.015)


def test_under_noise_buffers_cost_what_the_advice_says(sweep, sorted_files):
    advice = numbers(
        CHAPTER,
        r"on embeddings (\d+) ± (\d+) % \(Wikipedia\) and (\d+) ± (\d+) % \(CIFAR-10\) more test loss; .*?, and "
        r"(\d+) ± (\d+) % and (\d+) ± (\d+) % more test loss on the embeddings",
        prose,
    )
    files, found = sorted_files["floor_files"].tolist(), []
    for size in (64, 128):
        for source in ("wikipedia", "cifar10"):
            logs, errors = sorted_files["floors"][
                :, files.index(f"{source} unit random"), buffer(sweep, size), TEST
            ]
            found += [round(100 * (np.exp(float(logs)) - 1)), round(100 * float(np.exp(logs) * errors))]
    assert found == advice


def test_sorted_labels_cost_what_the_text_says():
    rows = {}
    for share in ("file", "1/8", "1/4", "1/2", "all"):
        rows[share] = numbers(CHAPTER, rf"\n{share} (\d\.\d{{3}}) \+- \S+ (\d\.\d{{3}}) \+- \S+\n")
    assert (
        "leave 17 to 24 times what random reshuffle leaves, a quarter nine times, and half of the rows still twice"
        in (prose(CHAPTER))
    )
    (fresh,) = numbers(CHAPTER, r"in the buffer and (\S+) under random reshuffle, the last two", prose)
    assert round(fresh, 3) == rows["all"][1]
    times = {share: row[1] / fresh for share, row in rows.items()}
    assert [round(times[share]) for share in ("file", "1/8", "1/4", "1/2")] == [24, 17, 9, 2]


def test_a_block_of_three_buffers_is_as_good_as_a_buffer():
    for size in (32, 64, 128):
        block, small = numbers(CHAPTER, rf"blocks of {3 * size}: (\S+) buffer of {size}: (\S+)")
        proved = 1 - (3 * size - 1) / (3 * 4096 - 1)
        assert concordance(BlockShuffle(3 * size), 3 * 4096) == pytest.approx(proved, abs=1e-12)
        assert block == round(proved, 4)
        assert small == round(concordance(ShuffleBuffer(size), 3 * 4096), 4)
        assert abs(block - small) < 1e-3
