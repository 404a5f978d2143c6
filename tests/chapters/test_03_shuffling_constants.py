"""Chapter 3: what it prints and says, against the library called afresh and against its own formulas."""

import itertools

import numpy as np
import pytest
from outputs import numbers, prose, table, text

from edgelaw import data, kaczmarz
from edgelaw.theory import BY_ORDER, iid, single_shuffle

CHAPTER = "03_shuffling_constants"
NAMES = {
    "iid": "IID",
    "random_reshuffle": "random reshuffle",
    "single_shuffle": "single shuffle",
    "flip_flop": "flip-flop",
}
PI = np.sqrt(np.pi)


def sequences(order, n):
    """All sequences of rows that an order may take through n epochs over two rows."""
    one = [(0, 1), (1, 0)]
    if order == "iid":
        return list(itertools.product((0, 1), repeat=2 * n))
    if order == "random_reshuffle":
        return [sum(epochs, ()) for epochs in itertools.product(one, repeat=n)]
    back = order == "flip_flop"
    return [sum((way[::-1] if back and k % 2 else way for k in range(n)), ()) for way in one]


def mean_loss(order, n, angle):
    """Test loss after n epochs at step 1 over two rows, from a random start, averaged over all sequences."""
    rows = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])
    projections = np.eye(2) - rows[:, :, None] * rows[:, None, :]
    maps = [np.linalg.multi_dot(projections[list(rows_used)][::-1]) for rows_used in sequences(order, n)]
    return np.mean([(A**2).sum() / 2 for A in maps])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_table_of_two_rows_is_the_mean_over_all_sequences(n):
    angle = np.radians(40)
    c = np.cos(angle)
    h = (1 + c * c) / 2
    formulas = {
        "iid": h ** (2 * n - 1) / 2,
        "random_reshuffle": c ** (2 * n) * h ** (n - 1) / 2,
        "single_shuffle": c ** (4 * n - 2) / 2,
        "flip_flop": c ** (2 * n) / 2,
    }
    for order, formula in formulas.items():
        assert mean_loss(order, n, angle) == pytest.approx(formula, rel=1e-12), order


def test_the_exercise_on_two_rows_has_its_four_fractions():
    printed = {order: numbers(CHAPTER, rf"{name} +(\S+) / 1024\n")[0] for order, name in NAMES.items()}
    assert printed == {"iid": 125, "random_reshuffle": 20, "single_shuffle": 8, "flip_flop": 32}
    for order, share in printed.items():
        assert 1024 * mean_loss(order, 2, np.pi / 3) == pytest.approx(share, rel=1e-12)


def test_long_streams_over_two_rows_are_worth_the_effective_steps():
    """Correlations of 400 000 signs have a standard error of 0.0016, and the worth at most 1.5² times a few of it."""
    for order, name in NAMES.items():
        worths = numbers(CHAPTER, rf"\n{name} +(\d\.\d\d) +(\d\.\d\d) +(\d\.\d\d)\n")
        stated = [BY_ORDER[order].effective_step(step) for step in (0.5, 1.0, 1.5)]
        assert worths == pytest.approx(stated, abs=0.005 + 4 * 0.0016 * 1.5**2)


def stated_constants(order, s):
    """Both constants as the chapter's table states them; that of reshuffle's training loss is a quadrature."""
    t = s * (2 - s)
    slope = (1 - s) ** 2 * (1 + s**2 / 2) + s**2 / 2 + s**4 / 6
    return {
        "iid": (1 / (np.sqrt(2 * s) * PI), 1 / (np.sqrt(8) * PI * s**1.5 * (2 - s))),
        "random_reshuffle": (1 / (np.sqrt(2 * s * (1 + s / 2)) * PI), None),
        "single_shuffle": (
            np.sqrt((2 - s) / (4 * s)) / PI,
            (2 - 2 * s + s**2) / (8 * PI * s**1.5 * np.sqrt(2 - s)),
        ),
        "flip_flop": (np.sqrt((2 - t) / (2 * t)) / PI, slope / (t * np.sqrt(2 * t * (2 - t)) * PI)),
    }[order]


@pytest.mark.parametrize("order", NAMES)
def test_the_table_of_constants_is_the_librarys_at_forty_steps(order):
    module = BY_ORDER[order]
    for step in (*np.arange(0.05, 1.96, 0.05), 1.98):
        test, train = stated_constants(order, step)
        assert module.test_constant(step) == pytest.approx(test, rel=1e-12)
        assert test * np.sqrt(2 * np.pi * module.effective_step(step)) == pytest.approx(1, rel=1e-12)
        if train:
            assert module.train_constant(step) == pytest.approx(train, rel=1e-12)


def test_the_constants_that_are_printed_are_the_librarys_at_step_one():
    assert "step 1             test constant   training constant" in text(CHAPTER)
    for order, name in NAMES.items():
        printed = numbers(CHAPTER, rf"\n{name} +(0\.\d{{5}}) +(0\.\d{{5}})\n")
        module = BY_ORDER[order]
        assert printed == pytest.approx([module.test_constant(1.0), module.train_constant(1.0)], abs=6e-6)
    assert "g(0)$ by quadrature | $0.09773$ |" in prose(CHAPTER)


def test_fresh_designs_have_the_exact_losses_within_four_standard_errors_and_the_correction_of_one_over_d():
    errors = numbers(CHAPTER, r"largest standard errors: test (\S+) %, training (\S+) %\n")
    said = numbers(CHAPTER, r"errors are below ([\d.]+) % \(test\) and ([\d.]+) % \(training\)", prose)
    assert all(error < most for error, most in zip(errors, said, strict=True))
    found = []
    for name in NAMES.values():
        found.append(numbers(CHAPTER, rf"\n{name}" + r" +([01]\.\d{3})" * 6 + r"\n", on_fresh_designs))
    deviations = np.array(found).reshape(4, 2, 3) - 1
    for k, error in enumerate(errors):
        assert np.abs(deviations[:, k]).max() < 4 * error / 100 + 2 / 320 + 5e-4
    means = numbers(CHAPTER, r"mean over the twelve: test (\S+) %, training (\S+) %\n")
    assert 100 * deviations.mean(axis=(0, 2)) == pytest.approx(means, abs=0.03)
    assert "test losses are on average 0.3 % high and the training losses 0.4 % low" in prose(CHAPTER)
    assert means == pytest.approx([0.3, -0.4], abs=0.051)


def on_fresh_designs(chapter):
    """What is printed about fresh designs."""
    return (
        text(chapter)
        .split("simulated over exact, at steps 0.5, 1 and 1.5")[1]
        .split("mean over the twelve")[0]
    )


def test_what_the_text_says_about_the_moving_step_is_true_of_the_exact_losses():
    said = prose(CHAPTER)

    def over_once(order, step):
        return BY_ORDER[order].test_loss(50, step) / single_shuffle.test_loss(50, step) - 1

    assert "IID is 6 % above them after 50 epochs" in said
    assert 100 * over_once("iid", 0.2) == pytest.approx(6, abs=0.5)
    assert max(over_once(order, 0.2) for order in ("random_reshuffle", "flip_flop")) < 0.006
    assert "random reshuffle is 3 %, then 13 %, then 33 % above it" in said
    above = [100 * over_once("random_reshuffle", step) for step in (0.5, 1.0, 1.5)]
    assert above == pytest.approx([3, 13, 33], abs=0.5)
    assert "Flip-flop's best step is 1" in said
    flip = {step: BY_ORDER["flip_flop"].test_loss(50, step) for step in (0.95, 1.0, 1.05)}
    assert min(flip, key=flip.get) == 1.0
    assert "at step 1.5 its loss is 2.7 times single shuffle's" in said
    assert over_once("flip_flop", 1.5) + 1 == pytest.approx(2.7, abs=0.05)
    assert "random reshuffle leads, and single shuffle's loss is 10 % above it" in said
    last = {order: over_once(order, 1.9) for order in NAMES}
    assert min(last, key=last.get) == "random_reshuffle"
    assert 1 / (1 + last["random_reshuffle"]) == pytest.approx(1.10, abs=0.005)
    assert np.sqrt(50) * single_shuffle.test_loss(50, 1.9) > 2 * single_shuffle.test_constant(1.9)


@pytest.mark.parametrize("step", [0.5, 1.0, 1.5])
def test_one_line_holds_about_every_eigenvalue_of_an_epoch(step):
    U = data.normalize_rows(data.gaussian(40, 40, rng=3)) / np.sqrt(40)
    K = U @ U.T
    M = np.eye(40) / step + np.tril(K, -1)
    epoch = kaczmarz.epoch_matrix(U, step)
    assert epoch == pytest.approx(np.eye(40) - U.T @ np.linalg.solve(M, U), abs=1e-12)
    mu, W = np.linalg.eig(epoch)
    Z = np.linalg.solve(M, U @ W)
    kappa = np.einsum("ij,ij->j", Z.conj(), K @ Z).real / (np.abs(Z) ** 2).sum(axis=0)
    assert (1 / (1 - mu)).real == pytest.approx((1 / step - 0.5) / kappa + 0.5, rel=1e-7)


def test_for_two_rows_the_eigenvalues_promise_too_little_by_the_same_factor_at_every_epoch():
    pair = np.array([[1.0, 0.0], [np.cos(0.7), np.sin(0.7)]])
    A = kaczmarz.epoch_matrix(pair, 1.0)
    for n in (1, 5, 40):
        loss = (np.linalg.matrix_power(A, n) ** 2).sum()
        promised = (np.abs(np.linalg.eigvals(A)) ** (2 * n)).sum()
        assert promised / loss == pytest.approx(np.cos(0.7) ** 2, rel=1e-9)


def test_the_eigenvalues_of_an_epoch_miss_a_quarter_of_the_loss_at_first_and_little_after_forty():
    shares = [numbers(CHAPTER, rf"n = +{n}: the eigenvalues give (\S+) of the loss\n")[0] for n in (1, 5, 40)]
    assert shares == sorted(shares)
    assert shares[0] == pytest.approx(0.75, abs=0.05)
    assert shares[-1] > 0.95


def test_slow_modes_of_six_designs_move_with_the_effective_step():
    for step in (0.5, 1.0, 1.5):
        found, limit = numbers(CHAPTER, rf"step {step}: slow modes move with step (\S+) \(limit (\S+)\)\n")
        assert limit == pytest.approx(single_shuffle.effective_step(step), abs=6e-3)
        assert found == pytest.approx(limit, rel=0.03)


def test_the_epochs_that_an_order_saves_are_those_of_the_exact_losses():
    needed = {}
    for order, name in NAMES.items():
        needed[order] = numbers(CHAPTER, rf"\n{name} +(\d+) +(\d+) +(\d+)\n")
        for epochs, goal in zip(needed[order], (0.10, 0.05, 0.02), strict=True):
            before, after = BY_ORDER[order].test_loss([int(epochs) - 1, int(epochs)])
            assert after <= goal < before
    once = needed["single_shuffle"][2]
    assert needed["iid"][2] / once == pytest.approx(2, abs=0.1)
    assert needed["flip_flop"][2] / once == pytest.approx(2, abs=0.1)
    assert needed["random_reshuffle"][2] / once == pytest.approx(1.3, abs=0.01)


def test_the_second_order_of_a_mean_epoch_leaves_out_a_rows_pair_with_itself():
    U = data.normalize_rows(data.gaussian(4, 3, rng=0)) / np.sqrt(3)
    P, S = np.einsum("ij,ik->ijk", U, U), U.T @ U
    pairs = [
        P[b] @ P[a] for order in itertools.permutations(range(4)) for a, b in itertools.combinations(order, 2)
    ]
    assert np.sum(pairs, axis=0) / 24 == pytest.approx((S @ S - S) / 2, abs=1e-13)


def test_coverage_is_the_first_gain_and_the_spread_of_the_wait_ranks_the_covering_orders():
    waits, worths = {}, {}
    for order, name in NAMES.items():
        used, wait, gain, *worth = numbers(CHAPTER, rf"\n{name} +(\d+)% +(\S+) +(\S+) +(\S+), (\S+), (\S+)\n")
        effective = BY_ORDER[order].effective_step
        assert gain == pytest.approx((effective(0.01) - 0.01) / 0.01**2, abs=6e-3)
        assert gain == pytest.approx(0 if order == "iid" else 0.5, abs=0.01)
        assert used == pytest.approx(100 * (1 - np.exp(-1)) if order == "iid" else 100, abs=0.6)
        assert worth == pytest.approx([effective(step) for step in (0.5, 1.0, 1.5)], abs=6e-3)
        waits[order], worths[order] = wait, worth
    # IID waits a geometric time; a reshuffled row's two places are uniform; flip-flop's add to two epochs
    assert list(waits.values()) == pytest.approx([1, 1 / np.sqrt(6), 0, 1 / np.sqrt(3)], abs=0.03)
    covering = sorted(("random_reshuffle", "single_shuffle", "flip_flop"), key=waits.get)
    for k in range(3):
        assert worths[covering[0]][k] > worths[covering[1]][k] > worths[covering[2]][k]


def behind():
    """(loss, order, step): first and last epoch at which single shuffle is behind, and by how many per cent."""
    cases = {}
    lines = text(CHAPTER).split("loss      behind             step   first  last epoch   by at most\n")[1]
    for line in lines.split("\n\n")[0].strip().splitlines():
        loss, *name, step, first, last, most, _ = line.split()
        cases[loss, " ".join(name), float(step)] = int(first), int(last), float(most)
    return cases


def test_single_shuffle_is_behind_where_the_text_says_and_nowhere_else():
    """The exact numbers at step 1.95 are the ledger's."""
    cases = behind()
    steps = {}
    for loss, name, step in cases:
        steps.setdefault((loss, name), []).append(step)
    assert steps == {
        ("test", "IID"): [1.95, 1.98],
        ("test", "random reshuffle"): [1.9, 1.95, 1.98],
        ("training", "IID"): [1.7, 1.9, 1.95, 1.98],
        ("training", "random reshuffle"): [0.1, 0.3, 0.5, 1.9, 1.95, 1.98],
        ("training", "flip-flop"): [0.1, 0.3, 1.98],
    }
    small = [most for (loss, name, step), (_, _, most) in cases.items() if step <= 0.5]
    assert max(small) < 1
    assert all(
        first == 1 for (loss, name, _), (first, _, _) in cases.items() if (loss, name) == ("training", "IID")
    )


def test_the_table_of_delays_is_that_of_the_exact_losses():
    for (loss, name, step), (first, last, most) in behind().items():
        order = next(order for order in NAMES if NAMES[order] == name)
        epochs = np.unique([1, first - 1, first, last, min(last + 1, 100)])
        epochs = epochs[epochs > 0]
        what = f"{loss}_loss" if loss == "test" else "train_loss"
        over = getattr(single_shuffle, what)(epochs, step) / getattr(BY_ORDER[order], what)(epochs, step) - 1
        late = (epochs >= first) & (epochs <= last)
        assert (over[late] > 1e-9).all(), (loss, name, step)
        assert (over[~late] < 1e-9).all(), (loss, name, step)
        assert 100 * over.max() < most + 0.006


@pytest.mark.parametrize("step", [0.3, 1.0, 1.95])
def test_after_one_epoch_the_covering_orders_have_the_same_test_loss(step):
    once = single_shuffle.test_loss(1, step)
    for order in ("random_reshuffle", "flip_flop"):
        assert BY_ORDER[order].test_loss(1, step) == pytest.approx(once, rel=1e-9)


def test_the_training_factor_of_the_exercise_is_its_formula():
    for step, factor in table(CHAPTER, "step   IID's training constant over single shuffle's"):
        formula = 2 * np.sqrt(2) / ((2 - 2 * step + step**2) * np.sqrt(2 - step))
        assert iid.train_constant(step) / single_shuffle.train_constant(step) == pytest.approx(
            formula, rel=1e-12
        )
        assert factor == pytest.approx(formula, abs=6e-3)


def test_three_rows_keep_two_effective_steps_and_change_flip_flops_by_the_formula_of_the_exercise():
    rng = np.random.default_rng(0)
    for _, sampled, reshuffled, once, flipped in table(
        CHAPTER, "step 1       IID reshuffle      once flip-flop"
    ):
        U = data.normalize_rows(rng.standard_normal((3, 3)) * [1, 1, 1e-3]) / np.sqrt(3)
        slow = np.linalg.eigh(U @ U.T)[1][:, 0]
        formula = []
        for turn in map(list, itertools.permutations(range(3))):
            M = np.eye(3) + np.tril(U[turn] @ U[turn].T, -1)
            formula.append(1 / (2 * ((M @ slow[turn]) ** 2).sum()))
        assert (sampled, once) == (1, 2)
        assert flipped == pytest.approx(np.mean(formula), abs=6e-3)
        assert reshuffled != 1.5


def test_the_papers_ratios_at_step_one_are_roots_of_two():
    printed = {
        order: numbers(CHAPTER, rf"\n{name}" + r" +(\d+\.\d{3})" * 6 + r"\n", of_constants)
        for order, name in NAMES.items()
    }
    assert [printed["iid"][1], printed["iid"][4]] == pytest.approx([np.sqrt(2), np.sqrt(8)], abs=6e-4)
    flip = [printed["flip_flop"][1], printed["flip_flop"][4]]
    assert flip == pytest.approx([np.sqrt(2), 8 * np.sqrt(2) / 3], abs=6e-4)
    for order, found in printed.items():
        ratio = [
            getattr(BY_ORDER[order], what)(step) / getattr(single_shuffle, what)(step)
            for what in ("test_constant", "train_constant")
            for step in (0.5, 1.0, 1.5)
        ]
        assert found == pytest.approx(ratio, abs=6e-4)


def of_constants(chapter):
    """What is printed about constants over single shuffle's."""
    return text(chapter).split("constants over single shuffle's as n grows")[1]
