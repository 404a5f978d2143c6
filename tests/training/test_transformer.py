"""A tiny Transformer and the least-squares problem of its head, against torch's own training and by hand."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from edgelaw import shipped, spectrum
from edgelaw.theory import gradient_descent
from edgelaw_app.training import transformer

TEXT = "she sells sea shells by the sea shore; the shells she sells are sea shells, i am sure. " * 8


@pytest.fixture(scope="module")
def small():
    """A model after a short training, contexts with their targets, and its head's problem."""
    torch.set_num_threads(1)
    tokens, alphabet = transformer.encode(TEXT)
    inputs, targets = transformer.contexts(tokens, 12)
    model = transformer.Transformer(len(alphabet), width=8, depth=1, length=12, heads=2, rng=3)
    transformer.train(model, (inputs, targets), steps=40, rate=0.01, rng=4)
    problem = transformer.HeadProblem(transformer.features(model, inputs), targets.ravel(), model.characters)
    return model, inputs, targets, problem


# ------------------------------------------------------------------------------------------------- the text


def test_encoding_is_undone_by_the_alphabet():
    tokens, alphabet = transformer.encode(TEXT)
    assert "".join(alphabet[token] for token in tokens) == TEXT


def test_an_empty_text_is_refused():
    for text in ("", 3, None):
        with pytest.raises(ValueError, match="non-empty string"):
            transformer.encode(text)


def test_targets_are_what_follows_and_drawn_contexts_are_pieces_of_the_text():
    tokens = np.arange(100)
    inputs, targets = transformer.contexts(tokens, 7)
    assert inputs.shape == (14, 7)
    np.testing.assert_array_equal(inputs.ravel(), tokens[:98])
    np.testing.assert_array_equal(targets, inputs + 1)
    drawn, after = transformer.contexts(tokens, 7, count=500, rng=0)
    np.testing.assert_array_equal(after, drawn + 1)
    assert drawn[:, 0].min() == 0
    assert after.max() == 99  # the last place is reached, and no further
    np.testing.assert_array_equal(drawn, transformer.contexts(tokens, 7, count=500, rng=0)[0])


@pytest.mark.parametrize("tokens", [np.arange(7), np.zeros((3, 9), dtype=int)])
def test_a_text_too_short_for_one_context_is_refused(tokens):
    with pytest.raises(ValueError, match="more than length = 7"):
        transformer.contexts(tokens, 7)


# ------------------------------------------------------------------------------------------------ the model


def test_a_feature_does_not_see_what_comes_later(small):
    model, inputs, _, _ = small
    rows = inputs[:5].copy()
    before = transformer.features(model, rows).reshape(5, 12, 8)
    rows[:, 6] = (rows[:, 6] + 1) % model.characters
    after = transformer.features(model, rows).reshape(5, 12, 8)
    np.testing.assert_array_equal(before[:, :6], after[:, :6])
    assert (np.abs(before[:, 6:] - after[:, 6:]).max(axis=(0, 2)) > 1e-6).all()


def test_features_are_rows_of_norm_root_d_whatever_stands_beside_them_and_leave_the_model_as_it_was(small):
    model, inputs, _, _ = small
    X = transformer.features(model, inputs)
    assert X.dtype == np.float64
    np.testing.assert_allclose((X**2).sum(axis=1), 8, rtol=1e-9)
    np.testing.assert_allclose(
        X, np.concatenate([transformer.features(model, row[None]) for row in inputs]), rtol=1e-10, atol=1e-12
    )
    assert model.head.weight.dtype == torch.float32
    single = model.body(torch.as_tensor(inputs)).detach().numpy().reshape(X.shape)
    np.testing.assert_allclose(X, single, atol=1e-4)


def test_attention_is_softmax_of_scaled_products_over_the_past():
    # one block, one head, by hand
    model = transformer.Transformer(characters=4, width=6, depth=1, length=5, heads=1, rng=0)
    w = {name: p.detach().numpy().astype(float) for name, p in model.named_parameters()}
    rows = np.array([[0, 3, 1, 1, 2]])

    def unit(x):
        return x / np.sqrt((x**2).mean(axis=-1, keepdims=True))

    x = w["character.weight"][rows[0]] + w["place.weight"]
    q, k, v = np.split(unit(x) @ w["blocks.0.attend.weight"].T, 3, axis=1)
    scores = np.where(np.tri(5, dtype=bool), q @ k.T / np.sqrt(6), -np.inf)
    share = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    x = x + share @ v @ w["blocks.0.mix.weight"].T
    hidden = torch.nn.functional.gelu(torch.as_tensor(unit(x) @ w["blocks.0.widen.weight"].T)).numpy()
    x = x + hidden @ w["blocks.0.narrow.weight"].T
    np.testing.assert_allclose(transformer.features(model, rows), unit(x), rtol=1e-9)


def test_the_seed_decides_the_weights_and_torchs_own_state_does_not():
    def first(seed):
        torch.manual_seed(np.random.default_rng().integers(1000))
        model = transformer.Transformer(5, 8, 2, 6, heads=2, rng=seed)
        return model.blocks[1].attend.weight.detach().numpy()

    np.testing.assert_array_equal(first(7), first(7))
    assert not np.array_equal(first(7), first(8))


@pytest.mark.parametrize("width", [32, 64, 128])
def test_weights_have_the_stated_variances_also_where_width_and_length_coincide(width):
    model = transformer.Transformer(characters=50, width=width, depth=2, length=64, rng=0)
    for name, weight in model.named_parameters():
        square = float(weight.detach().square().mean())
        variance = 1.0 if name in ("character.weight", "place.weight") else 1 / weight.shape[1]
        if name.endswith(("mix.weight", "narrow.weight")):
            variance /= 4
        if name == "head.weight":
            variance = 0.0
        # the mean of k squares of normals has relative standard deviation √(2/k)
        assert abs(square - variance) <= 4 * variance * np.sqrt(2 / weight.numel())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 9}, "multiple of heads = 2, not 9"),
        ({"depth": -1}, "depth must be an integer of at least 0"),
        ({"characters": 1}, "characters must be"),
        ({"heads": 0}, "heads must be"),
        ({"rng": "x"}, "rng must be"),
    ],
)
def test_an_impossible_model_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        transformer.Transformer(
            **{"characters": 5, "width": 8, "depth": 1, "length": 6, "heads": 2} | changes
        )


@pytest.mark.parametrize("inputs", [[0, 1], [[0] * 13], [[99]], np.empty((0, 4), dtype=int), [[0.5]], [[-1]]])
def test_contexts_that_the_model_cannot_read_are_refused(small, inputs):
    with pytest.raises(ValueError, match="inputs must be"):
        transformer.features(small[0], inputs)


# ------------------------------------------------------------------------------------------------- training


def test_training_lowers_the_loss_and_the_same_seed_gives_the_same_run(small):
    _, inputs, targets, _ = small

    def run(seed):
        model = transformer.Transformer(small[0].characters, 8, 1, 12, heads=2, rng=0)
        return transformer.train(model, (inputs, targets), steps=40, rate=0.01, rng=seed)

    losses = run(5)
    assert losses[0] == pytest.approx(np.log(small[0].characters), rel=1e-5)  # a head of zeros knows nothing
    assert losses[-5:].mean() < 0.75 * losses[0]
    np.testing.assert_array_equal(losses, run(5))
    assert not np.array_equal(losses, run(6))


@pytest.mark.parametrize("loss", transformer.LOSSES)
def test_a_frozen_body_stays_and_the_watch_sees_every_step(small, loss):
    model, inputs, targets, _ = small
    twin = transformer.Transformer(model.characters, 8, 1, 12, heads=2)
    twin.load_state_dict(model.state_dict())
    seen = []
    transformer.train(
        twin.freeze_body(), (inputs, targets), 3, 0.1, loss, watch=lambda step, _: seen.append(step)
    )
    assert seen == [0, 1, 2, 3]
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, twin.state_dict()[name]) == (name != "head.weight")


def test_torchs_gradient_descent_on_the_head_is_the_iteration_with_the_covariance(small):
    model, inputs, targets, problem = small
    twin = transformer.Transformer(model.characters, 8, 1, 12, heads=2)
    twin.load_state_dict({**model.state_dict(), "head.weight": torch.zeros_like(model.head.weight)})
    step, steps = 1 / problem.eigenvalues[-1], 25
    losses = transformer.train(twin.freeze_body(), (inputs, targets), steps, step, "mse", batch=0)
    W = np.zeros_like(problem.solution)
    for loss in losses:
        assert loss == pytest.approx(problem.mse(W), rel=1e-5)
        W = W - step * (W @ problem.covariance - problem.moment)
    np.testing.assert_allclose(twin.head.weight.detach().numpy(), W, atol=1e-5)
    assert losses[-1] < losses[0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": -1}, "steps must be"),
        ({"rate": 0}, "rate must be"),
        ({"loss": "mean"}, "loss must be one of 'cross_entropy', 'mse'"),
        ({"batch": -2}, "batch must be"),
        ({"text": ([[0, 1, 2]], [[0, 1]])}, "must have one shape"),
    ],
)
def test_an_impossible_training_is_refused(small, changes, message):
    model, inputs, targets, _ = small
    arguments = {"text": (inputs, targets), "steps": 1, "rate": 0.1} | changes
    with pytest.raises(ValueError, match=message):
        transformer.train(model, **arguments)


# --------------------------------------------------------------------------------------- the head's problem


def test_the_solution_is_least_squares_and_the_floor_its_error(small):
    model, inputs, targets, problem = small
    X, Y = transformer.features(model, inputs), np.eye(model.characters)[targets.ravel()]
    best, *_ = np.linalg.lstsq(X, Y)
    np.testing.assert_allclose(problem.solution, best.T, atol=1e-9)
    assert problem.floor == pytest.approx(((X @ best - Y) ** 2).sum(axis=1).mean(), rel=1e-9)
    assert problem.mse(problem.solution) == pytest.approx(problem.floor, rel=1e-9)
    assert problem.mse(0 * problem.solution) == 1.0
    assert problem.eigenvalues.mean() == pytest.approx(1, rel=1e-9)


def test_one_feature_by_hand():
    problem = transformer.HeadProblem([[1.0], [2.0]], [0, 1], classes=2)
    assert problem.eigenvalues.tolist() == [2.5]
    np.testing.assert_allclose(problem.solution, [[0.2], [0.4]])
    assert problem.floor == pytest.approx(0.5)
    error, residual = problem.descend(np.zeros((2, 1)), [0, 1, 2], step=0.2)
    np.testing.assert_allclose(error, [1, 0.25, 0.0625])
    np.testing.assert_allclose(residual, 2.5 * error)


@pytest.mark.parametrize("share", [0.3, 1.0, 1.9])
def test_iterated_descent_is_the_exact_sum_over_the_spectrum(small, share):
    problem = small[3]
    step, steps = share / problem.eigenvalues[-1], [0, 1, 2, 7, 50, 400]
    start = np.random.default_rng(0).standard_normal(problem.solution.shape)
    error, residual = problem.descend(start, steps, step)
    exact = problem.curve(problem.weights(start), steps, step)
    np.testing.assert_allclose(error, exact[0], rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(residual, exact[1], rtol=1e-9, atol=1e-13)
    # the residual is the mean squared error above its floor, in units of the starting error
    assert residual[0] * ((start - problem.solution) ** 2).sum() == pytest.approx(
        problem.mse(start) - problem.floor, rel=1e-9
    )


def test_equal_weights_are_the_books_gradient_descent_and_the_mean_over_random_starts(small):
    problem, steps = small[3], np.array([0, 3, 30])
    step, d = 1 / problem.eigenvalues[-1], 8
    ours = problem.curve(np.full(d, 1 / d), steps, step)
    theirs = gradient_descent.curve(problem.eigenvalues, steps, step)
    np.testing.assert_allclose(ours, [theirs.test, theirs.train], rtol=1e-12)
    rng = np.random.default_rng(1)
    weights = [
        problem.weights(problem.solution + rng.standard_normal(problem.solution.shape)) for _ in range(400)
    ]
    mean, se = np.mean(weights, axis=0), np.std(weights, axis=0, ddof=1) / 20
    assert (se < 0.02 / d).all()
    assert (np.abs(mean - 1 / d) < 4 * se).all()


def test_features_that_do_not_determine_the_head_are_refused():
    with pytest.raises(ValueError, match="singular"):
        transformer.HeadProblem(np.ones((5, 2)), np.zeros(5, dtype=int), 1)
    for labels in ([0, 2], [0], [[0, 1]]):
        with pytest.raises(ValueError, match="labels must be 2 integers below classes = 2"):
            transformer.HeadProblem(np.eye(2), labels, 2)


@pytest.mark.parametrize("steps", [[3, 1], [], 5, [1.0]])
def test_steps_that_do_not_ascend_are_refused(small, steps):
    with pytest.raises(ValueError, match="steps must be"):
        small[3].descend(small[3].solution, steps, 0.1)


def test_a_step_at_which_descent_diverges_is_refused(small):
    problem = small[3]
    for call in (
        lambda step: problem.descend(problem.solution, [1], step),
        lambda step: problem.curve(np.full(8, 1 / 8), [1], step),
    ):
        with pytest.raises(ValueError, match="diverges"):
            call(2 / problem.eigenvalues[-1])


# ----------------------------------------------------------------------------------------------- what ships


def test_the_shipped_model_predicts_the_shipped_text_and_an_untrained_one_does_not():
    tokens, alphabet = transformer.encode(transformer.shipped_text())
    model = transformer.shipped_model()
    assert model.characters == len(alphabet)
    inputs, targets = transformer.contexts(tokens, model.length, 64, rng=5)

    def floor(body):
        X = transformer.features(body, inputs)
        return transformer.HeadProblem(X, targets.ravel(), len(alphabet)).floor

    fresh = transformer.Transformer(len(alphabet), 128, 2, 64, rng=0)
    assert floor(model) < floor(fresh) - 0.04


def test_the_shipped_text_is_the_file_in_lower_case():
    text = transformer.shipped_text()
    assert text.startswith("chapter 1. loomings.")
    assert text == shipped.read("moby_dick.txt").decode("utf-8").lower()


def test_shipped_spectra_are_spectra_of_normalised_features():
    runs = transformer.shipped_runs()
    assert runs["checkpoints"][0] == 0
    names = [name for name in runs if name.startswith("width") and name.split("_")[-1].isdigit()]
    assert len(names) == 6
    for name in [*names, "frozen_spectra", "unfrozen_spectra"]:
        values = runs[name]
        assert (np.diff(values, axis=-1) >= 0).all()
        assert values.min() > 0
        np.testing.assert_allclose(values.mean(axis=-1), 1, rtol=1e-5)
    frozen, unfrozen = runs["frozen_spectra"], runs["unfrozen_spectra"]
    np.testing.assert_array_equal(frozen, np.broadcast_to(frozen[:1, :1], frozen.shape))
    np.testing.assert_array_equal(unfrozen[:, 0], frozen[:, 0])
    assert not np.allclose(unfrozen[:, -1], frozen[:, -1], rtol=0.01)
    # the frozen spectrum is the one that the shipped weights have
    tokens, _ = transformer.encode(transformer.shipped_text())
    inputs, targets = transformer.contexts(tokens, 64, 256, rng=99)
    problem = transformer.HeadProblem(
        transformer.features(transformer.shipped_model(), inputs), targets.ravel(), 50
    )
    np.testing.assert_allclose(frozen[0, 0], problem.eigenvalues, rtol=1e-5)
    assert spectrum.fit_shifted_edge(problem.eigenvalues, 0.25).lambda_0 > 0


@pytest.mark.parametrize("name", ["study", "probe"])
def test_what_does_not_need_torch_does_not_load_it(name):
    program = f"import sys, edgelaw_app.training.{name}; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
