"""Chapter 3: what it prints and says, against the library called afresh and against its own formulas."""

import itertools

import numpy as np
import pytest
from outputs import cells, numbers, prose, table, text

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


LOOPS = {"iid": "iid", "random_reshuffle": "reshuffle", "single_shuffle": "once", "flip_flop": "flip_flop"}


def loop():
    """What the chapter's one cell with the loop and the four orders defines."""
    (source,) = ("".join(cell["source"]) for cell in cells(CHAPTER) if "def sgd(" in "".join(cell["source"]))
    names = {"np": np, "itertools": itertools}
    exec(source, names)
    return names


@pytest.mark.parametrize("order", ["once", "reshuffle", "iid", "flip_flop"])
def test_the_loop_multiplies_by_the_epochs_of_its_order(order):
    names, visits = loop(), []

    def seen(m, rng):
        visits.append(names[order](m, rng))
        return visits[-1]

    X = data.gaussian(7, 5, rng=2)
    left = names["sgd"](X, seen, 3, step=1.3, seed=4)
    w = np.random.default_rng(4).standard_normal(5) / np.sqrt(5)
    for n, rows in enumerate(visits, 1):
        w = kaczmarz.epoch_matrix(data.normalize_rows(X)[rows] / np.sqrt(5), 1.3) @ w
        assert left[n] == pytest.approx(w @ w, rel=1e-9)
    covered = [sorted(rows) == list(range(7)) for rows in visits]
    assert all(covered) == (order != "iid")
    assert (list(visits[0]) == list(visits[1])) == (order == "once")
    assert (list(visits[0]) == list(visits[1][::-1])) == (order == "flip_flop")


def printed_shares(name):
    """Test and training loss over IID's after 50 epochs, by order, as printed."""
    lines = (
        text(CHAPTER).split(f"{name}, 50 epochs: over IID's   test loss   training loss\n")[1].splitlines()
    )
    return {order: [float(x) for x in line.split()[1:]] for order, line in zip(NAMES, lines, strict=False)}


@pytest.mark.parametrize("name", ["photographs", "Gaussian rows"])
def test_after_fifty_epochs_the_orders_stand_as_printed(name):
    """16 other runs; both means have errors, and a ratio of two has √2 times that of one: four errors of four means."""
    if name == "photographs":
        X = data.preprocess(data.load("cifar10").features, 512, 512, rng=0).X
    else:
        X = data.gaussian(512, 512, rng=0)
    curves = {order: kaczmarz.simulate(X, order, [50], probes=16, runs=16, rng=7) for order in NAMES}
    spread = max(curve.test_se[-1] / curve.test[-1] for curve in curves.values())
    assert spread < 0.03
    stated = printed_shares(name)
    for order, curve in curves.items():
        share = curve.test[-1] / curves["iid"].test[-1]
        assert stated[order][0] == pytest.approx(share, rel=4 * 2 * spread)


def test_the_first_paragraph_and_the_text_say_what_is_printed():
    photographs, gaussian = printed_shares("photographs"), printed_shares("Gaussian rows")
    assert "leaves over a quarter less error" in prose(CHAPTER)
    assert gaussian["single_shuffle"][0] < 0.75
    assert "Its first epoch here uses row 1 three times, and rows 2 and 3 not at all." in prose(CHAPTER)
    assert sorted(numbers(CHAPTER, r"iid        (\d) (\d) (\d) (\d)   ")) == [1, 1, 1, 4]
    assert "is best and leaves about a tenth less" in prose(CHAPTER)
    assert min(photographs, key=lambda order: photographs[order][0]) == "random_reshuffle"
    assert photographs["random_reshuffle"][0] == pytest.approx(0.9, abs=0.02)
    assert "flip-flop is far behind, and single shuffle has a larger training loss than IID" in prose(CHAPTER)
    assert photographs["flip_flop"][0] > 1.2
    assert photographs["single_shuffle"][1] > 1
    for k in (0, 1):  # "On Gaussian rows single shuffle leads in both losses"
        assert min(gaussian, key=lambda order: gaussian[order][k]) == "single_shuffle"


def test_sixteen_starts_of_the_loop_stand_near_the_simulation():
    """A start's loss varies by 10 %, the mean of 16 by 2.5 % and a ratio of two such means by at most 3.5 %."""
    X = data.preprocess(data.load("cifar10").features, 512, 512, rng=0).X
    exact = {order: kaczmarz.simulate(X, order, [10], probes=16, runs=16, rng=8).test[-1] for order in LOOPS}
    for order, name in LOOPS.items():
        left, share = numbers(CHAPTER, rf"\n{name} +(0\.\d{{3}}) +(\d\.\d\d)\n")
        assert left == pytest.approx(exact[order], rel=0.1)
        assert share == pytest.approx(exact[order] / exact["iid"], rel=0.14)


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
    for order, share in {"iid": 125, "random_reshuffle": 20, "single_shuffle": 8, "flip_flop": 32}.items():
        assert rf"\frac{{{share}}}{{1024}}$ for {NAMES[order]}" in prose(CHAPTER)
        assert 1024 * mean_loss(order, 2, np.pi / 3) == pytest.approx(share, rel=1e-12)


def test_four_thousand_runs_of_the_loop_agree_with_the_table_by_hand():
    for order, name in LOOPS.items():
        by_hand, mean, error = numbers(CHAPTER, rf"\n{name} +(0\.\d+) +(0\.\d+) \+- (0\.\d+)\n")
        assert by_hand == pytest.approx(mean_loss(order, 3, np.radians(40)), abs=6e-5)
        assert abs(mean - by_hand) < 4 * error < 0.2 * by_hand


def test_the_correlations_of_the_proof_add_up_to_the_effective_steps():
    """Exact correlations of the four streams of signs, and the sum of the proof over 2,000 lags."""
    j = np.arange(1, 2001)
    correlations = {
        "iid": 0.0 * j,
        "random_reshuffle": np.where(j == 1, -0.5, 0.0),
        "single_shuffle": (-1.0) ** j,
        "flip_flop": np.where(j % 2, 0.0, (-1.0) ** (j // 2)),
    }
    for order, r in correlations.items():
        for step in (0.3, 1.0, 1.7):
            worth = step * (1 - step * np.sum((1 - step) ** (j - 1) * r))
            assert worth == pytest.approx(BY_ORDER[order].effective_step(step), rel=1e-9)


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
    for order in NAMES:
        printed = numbers(CHAPTER, rf"\n{order} +(0\.\d{{5}}) +(0\.\d{{5}})\n")
        module = BY_ORDER[order]
        assert printed == pytest.approx([module.test_constant(1.0), module.train_constant(1.0)], abs=6e-6)
    assert "| $0.09773$ |" in prose(CHAPTER)


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


@pytest.mark.parametrize("step", [0.5, 1.0, 1.5])
def test_one_line_holds_about_every_eigenvalue_of_an_epoch(step):
    U = data.normalize_rows(data.gaussian(40, 40, rng=3)) / np.sqrt(40)
    K = U @ U.T
    M = np.eye(40) / step + np.tril(K, -1)
    epoch = kaczmarz.epoch_matrix(U, step)
    assert epoch == pytest.approx(np.eye(40) - U.T @ np.linalg.solve(M, U), abs=1e-12)
    mu, W = np.linalg.eig(epoch)
    Y = np.linalg.solve(M, U @ W)
    k_y = np.einsum("ij,ij->j", Y.conj(), K @ Y).real / (np.abs(Y) ** 2).sum(axis=0)
    assert (1 / (1 - mu)).real == pytest.approx((1 / step - 0.5) / k_y + 0.5, rel=1e-7)


def test_for_two_rows_the_eigenvalues_promise_too_little_by_the_same_factor_at_every_epoch():
    pair = np.array([[1.0, 0.0], [np.cos(0.7), np.sin(0.7)]])
    A = kaczmarz.epoch_matrix(pair, 1.0)
    for n in (1, 5, 40):
        loss = (np.linalg.matrix_power(A, n) ** 2).sum()
        promised = (np.abs(np.linalg.eigvals(A)) ** (2 * n)).sum()
        assert promised / loss == pytest.approx(np.cos(0.7) ** 2, rel=1e-9)


def test_slow_modes_of_sixteen_designs_move_with_the_effective_step():
    for step in (0.5, 1.0, 1.5):
        pattern = rf"step {step}: slow modes move with (\S+) \+- (\S+), limit (\S+)\n"
        found, error, limit = numbers(CHAPTER, pattern)
        assert limit == pytest.approx(single_shuffle.effective_step(step), abs=6e-3)
        assert error < 0.01 * limit
        assert found == pytest.approx(limit, rel=0.03)  # at d = 300 slow modes are not yet the slowest


def test_the_second_order_of_a_mean_epoch_leaves_out_a_rows_pair_with_itself():
    U = data.normalize_rows(data.gaussian(4, 3, rng=0)) / np.sqrt(3)
    P, S = np.einsum("ij,ik->ijk", U, U), U.T @ U
    pairs = [
        P[b] @ P[a] for order in itertools.permutations(range(4)) for a, b in itertools.combinations(order, 2)
    ]
    assert np.sum(pairs, axis=0) / 24 == pytest.approx((S @ S - S) / 2, abs=1e-13)


def test_coverage_is_the_first_gain_and_half_of_it_at_step_one():
    for order in NAMES:
        effective = BY_ORDER[order].effective_step
        assert (effective(0.01) - 0.01) / 0.01**2 == pytest.approx(0 if order == "iid" else 0.5, abs=0.01)
    worths = {order: BY_ORDER[order].effective_step(1.0) for order in NAMES}
    expected = {"iid": 1, "random_reshuffle": 1.5, "single_shuffle": 2, "flip_flop": 1}
    assert worths == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("other", ["iid", "random_reshuffle"])
@pytest.mark.parametrize("step", [1.0, 1.9, 1.95])
def test_single_shuffle_is_behind_at_the_epochs_that_are_printed(step, other):
    n = np.arange(1, 121)
    over = single_shuffle.test_loss(n, step) / BY_ORDER[other].test_loss(n, step) - 1
    late = n[over > 1e-9]
    if not len(late):
        assert f"step {step}: single shuffle behind {other}: never\n" in text(CHAPTER)
        return
    pattern = rf"step {step}: single shuffle behind {other}: epochs (\d+) to (\d+), by up to (\d+) %\n"
    first, last, most = numbers(CHAPTER, pattern)
    assert (first, last) == (late[0], late[-1])
    assert (np.diff(late) == 1).all()
    assert most == pytest.approx(100 * over.max(), abs=0.51)


@pytest.mark.parametrize("step", [0.3, 1.0, 1.95])
def test_after_one_epoch_the_covering_orders_have_the_same_test_loss(step):
    once = single_shuffle.test_loss(1, step)
    for order in ("random_reshuffle", "flip_flop"):
        assert BY_ORDER[order].test_loss(1, step) == pytest.approx(once, rel=1e-9)


def test_the_training_factor_of_the_exercise_is_its_formula():
    for step in (0.1, 1.0, 1.3, 1.9):
        formula = 2 * np.sqrt(2) / ((2 - 2 * step + step**2) * np.sqrt(2 - step))
        ratio = iid.train_constant(step) / single_shuffle.train_constant(step)
        assert ratio == pytest.approx(formula, rel=1e-12)
    assert "4.9 at $\\eta = 1.9$" in prose(CHAPTER)
    assert formula == pytest.approx(4.9, abs=0.05)


def test_a_new_shuffle_in_every_second_epoch_is_between_the_two():
    pattern = r"{} over once after 40 epochs: (\S+) \+- (\S+)\n"
    half, half_error = numbers(CHAPTER, pattern.format("every_other"))
    full, full_error = numbers(CHAPTER, pattern.format("reshuffle"))
    assert 1 + 4 * half_error < half
    exact = BY_ORDER["random_reshuffle"].test_loss(40) / single_shuffle.test_loss(40)
    assert abs(full - exact) < 4 * full_error < 0.1
    assert abs(half - np.sqrt(8 / 7)) < 4 * half_error < 0.1


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
        order: numbers(CHAPTER, rf"\n{order}" + r" +(\d+\.\d{3})" * 6 + r"\n", of_constants)
        for order in NAMES
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
    return text(chapter).split("over single shuffle's as n grows")[1]
