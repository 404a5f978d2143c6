"""One contract for all orders: names, signatures, types, the start at 1, refusals in the same sentence."""

import functools
import inspect
import re

import numpy as np
import pytest

from edgelaw import exact, orders
from edgelaw.curves import LearningCurve
from edgelaw.exact import stability
from edgelaw.theory import BY_ORDER, gradient_descent

SIGNATURES = {
    "test_loss": "(n, step=1.0, rho=1.0)",
    "train_loss": "(n, step=1.0, rho=1.0)",
    "test_constant": "(step=1.0)",
    "train_constant": "(step=1.0)",
    "effective_step": "(step)",
}
STABLE = 0.3  # a step that gradient descent takes too, on Marchenko and Pastur's law at any rho from 1/2 on
LOSSES = ("test_loss", "train_loss")
EVERYONE = [*BY_ORDER.values(), gradient_descent]
SPECTRUM = np.linspace(0.05, 1.95, 40)


class Order:
    """An order's closed forms, and the functions of the door for it."""

    def __init__(self, order):
        self.order, self.closed = order, BY_ORDER[order]
        for name in (*LOSSES, "test_constant", "train_constant"):
            setattr(self, name, getattr(self.closed, name))
        for name in ("curve", "population_curve", "constants", "effective_step"):
            setattr(self, name, functools.partial(getattr(exact, name), order))


VIEWS = {order: Order(order) for order in BY_ORDER}
every_order = pytest.mark.parametrize("module", VIEWS.values(), ids=VIEWS)
every_module = pytest.mark.parametrize("module", BY_ORDER.values(), ids=BY_ORDER)
everyone = pytest.mark.parametrize("module", EVERYONE, ids=[*BY_ORDER, "gradient_descent"])


def plain(function):
    """A signature without its annotations."""
    signature = inspect.signature(function)
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


@functools.cache
def sampled(module, rho=1.0):
    """Six epochs on a sample spectrum, computed once per order and aspect."""
    return module.curve(SPECTRUM, 6, 0.8, rho)


def refusal(call, *arguments, **keywords):
    """The sentence with which a call refuses its arguments."""
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the sentence itself is what is compared
        call(*arguments, **keywords)
    sentence = str(error.value)
    assert sentence.endswith(".")
    assert ". " not in sentence
    return sentence


def one_refusal(call):
    """The sentence that all orders share."""
    sentences = {refusal(call, module) for module in VIEWS.values()}
    assert len(sentences) == 1, sentences
    return sentences.pop()


# --------------------------------------------------------------------------------------------- names and signatures


def test_every_order_has_its_module():
    assert tuple(BY_ORDER) == orders.ORDERS
    assert all(module.__name__.endswith(f".{name}") for name, module in BY_ORDER.items())


@every_module
@pytest.mark.parametrize(("name", "signature"), SIGNATURES.items())
def test_an_order_has_every_function_with_the_same_arguments(module, name, signature):
    assert name in module.__all__
    assert plain(getattr(module, name)) == signature


@pytest.mark.parametrize("name", SIGNATURES)
def test_gradient_descent_has_the_same_arguments_in_the_same_sequence_as_far_as_it_has_them(name):
    ours = list(inspect.signature(getattr(gradient_descent, name)).parameters)
    assert ours == list(inspect.signature(getattr(BY_ORDER["iid"], name)).parameters)[: len(ours)]


@everyone
def test_every_public_function_is_annotated_and_has_an_example(module):
    for name in module.__all__:
        function = getattr(module, name)
        signature = inspect.signature(function)
        assert signature.return_annotation is not inspect.Signature.empty, name
        assert all(p.annotation is not inspect.Parameter.empty for p in signature.parameters.values()), name
        assert ">>>" in inspect.getdoc(function), name


# --------------------------------------------------------------------------------------------------- types and shapes


@everyone
@pytest.mark.parametrize("name", LOSSES)
def test_a_scalar_gives_a_float_and_an_array_its_own_shape(module, name):
    loss = functools.partial(getattr(module, name), step=STABLE)
    for scalar in (3, np.int64(3), np.array(3)):
        assert type(loss(scalar)) is float
    table = loss(np.array([[0, 3], [3, 1]]))
    assert table.shape == (2, 2)
    assert table.dtype == np.float64
    assert table[0, 1] == pytest.approx(loss(3), rel=1e-13)
    assert loss([0, 1]).shape == (2,)
    assert loss(np.zeros(0, dtype=int)).shape == (0,)


@everyone
def test_constants_and_the_effective_step_are_floats(module):
    for name in ("test_constant", "train_constant", "effective_step"):
        assert type(getattr(module, name)(STABLE)) is float


@everyone
def test_both_losses_start_at_one_at_any_aspect(module):
    for name in LOSSES:
        loss = getattr(module, name)
        assert [loss(0, STABLE, rho) for rho in (0.5, 1.0, 2.0)] == pytest.approx([1.0] * 3, rel=1e-14)


@every_order
def test_what_is_below_1e_300_is_zero(module):
    assert module.test_loss(10**5, 1.0, 4.0) == 0.0
    assert module.train_loss(10**5, 1.0, 4.0) == 0.0


@every_order
@pytest.mark.parametrize("rho", [1.0, 1.5])
def test_a_curve_starts_at_one_falls_and_has_no_standard_errors(module, rho):
    curve = sampled(module, rho)
    assert isinstance(curve, LearningCurve)
    assert curve.epochs.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert curve.test[0] == curve.train[0] == 1.0
    assert (np.diff(curve.test) < 0).all()
    assert type(curve.error) is float
    assert 0 <= curve.error < 1e-3
    assert np.isnan([curve.test_se, curve.train_se]).all()


@every_order
def test_epochs_may_be_a_number_or_an_array_in_any_order_and_zero_is_included(module):
    few = module.curve(SPECTRUM, [5, 2], 0.8)
    assert few.epochs.tolist() == [0, 2, 5]
    assert few.test == pytest.approx(sampled(module).test[[0, 2, 5]], rel=1e-4)
    alone = module.curve(SPECTRUM, 0)
    assert (alone.epochs.tolist(), alone.test.tolist(), alone.train.tolist()) == ([0], [1.0], [1.0])


@every_order
def test_scale_sequence_rounding_below_zero_and_weights_do_not_matter(module):
    rounded = np.append(7.0 * SPECTRUM[::-1], -1e-15)
    weights = np.append(np.ones(40), 1e-12)
    curve = module.curve(rounded, [1, 6], 0.8, weights=weights)
    assert curve.test == pytest.approx(sampled(module).test[[0, 1, 6]], rel=1e-4)


@every_order
def test_a_quadrature_of_marchenko_and_pasturs_law_gives_the_closed_losses(module):
    x, width = np.polynomial.legendre.leggauss(300)
    angle = np.pi * (x + 1) / 2
    weights = width * np.cos(angle / 2) ** 2
    curve = module.curve(4 * np.sin(angle / 2) ** 2, [1, 10], 0.8, weights=weights)
    assert curve.test == pytest.approx(module.test_loss(curve.epochs, 0.8), rel=1e-3)
    assert curve.train == pytest.approx(module.train_loss(curve.epochs, 0.8), rel=1e-3)


# ---------------------------------------------------------------------------------------------------- population


@every_order
@pytest.mark.parametrize("step", [0.4, 1.6])
def test_the_constants_of_an_isotropic_covariance_are_those_of_the_order(module, step):
    constants = module.constants([3.0, 3.0, 3.0], step)
    assert type(constants) is tuple
    assert [type(constant) for constant in constants] == [float, float]
    assert constants[0] == pytest.approx(module.test_constant(step), rel=1e-12)
    assert constants[1] == pytest.approx(module.train_constant(step), rel=1e-6)


@every_order
@pytest.mark.parametrize(
    ("covariance", "step"),
    [([0.5, 0.5, 2.5], 1.0), (np.arange(1, 21) ** -0.5, 0.5), ([1.0, 1.2, 3.0], 1.4)],
)
def test_the_constants_of_a_covariance_are_the_limits_of_its_curve(module, covariance, step):
    n = np.array([1000, 2000, 4000])
    curve = module.population_curve(covariance, n, step)
    test, train = module.constants(covariance, step)
    ratios = np.array([curve.test[1:] * n**0.5 / test, curve.train[1:] * n**1.5 / train])
    powers = (0.5, 1) if module.order == "single_shuffle" else (1, 2)  # in which the corrections come
    for power in powers:
        ratios = (2**power * ratios[:, 1:] - ratios[:, :-1]) / (2**power - 1)
    assert ratios == pytest.approx(np.ones((2, 1)), abs=2e-4)


@every_order
def test_a_covariance_gives_a_curve_of_the_same_type(module):
    curve = module.population_curve([0.5, 1.5], 3, 0.8, 0.7)
    assert isinstance(curve, LearningCurve)
    assert curve.epochs.tolist() == [0, 1, 2, 3]
    assert curve.test[0] == curve.train[0] == 1.0
    assert curve.test[-1] > 0.3  # the directions that no row has


# ---------------------------------------------------------------------------------------------------------- batches

COVARIANCE = np.repeat([0.5, 1.5], 20)


@every_order
def test_a_batch_of_one_row_is_the_single_row_to_the_last_digit(module):
    for one in (1, np.int64(1)):
        curve, single = module.curve(SPECTRUM, 6, 0.8, batch=one), sampled(module)
        assert (curve.test == single.test).all()
        assert (curve.train == single.train).all()
        assert curve.error == single.error
        assert module.effective_step(0.8, SPECTRUM, batch=one) == module.effective_step(0.8, SPECTRUM)
        assert module.effective_step(0.8, batch=one) == module.effective_step(0.8)
    same = module.population_curve(COVARIANCE, 3, 0.8, batch=1)
    assert (same.train == module.population_curve(COVARIANCE, 3, 0.8).train).all()
    assert module.constants(COVARIANCE, 0.8, batch=1) == module.constants(COVARIANCE, 0.8)


@every_order
def test_a_curve_of_batches_has_the_same_type_and_starts_at_one(module):
    for curve in (
        module.curve(SPECTRUM, [4, 2], 4.0, batch=8),
        module.population_curve(COVARIANCE, [2, 4], 4.0, batch=8),
    ):
        assert isinstance(curve, LearningCurve)
        assert curve.epochs.tolist() == [0, 2, 4]
        assert curve.test[0] == curve.train[0] == 1.0
        assert (np.diff(curve.test) < 0).all()
        assert 0 <= curve.error < 1e-3
        assert np.isnan([curve.test_se, curve.train_se]).all()
    assert type(module.effective_step(4.0, SPECTRUM, batch=8)) is float
    assert [type(constant) for constant in module.constants(COVARIANCE, 4.0, batch=8)] == [float] * 2


@pytest.mark.parametrize("order", ["random_reshuffle", "single_shuffle", "flip_flop"])
def test_one_batch_per_epoch_is_gradient_descent_to_the_edge(order):
    module, step = VIEWS[order], 0.6
    assert module.effective_step(40 * step, SPECTRUM, batch=40) == pytest.approx(step, rel=1e-9)
    curve = module.curve(SPECTRUM, 8, 40 * step, batch=40)
    assert curve.test == pytest.approx(gradient_descent.curve(SPECTRUM, 8, step).test, rel=1e-6)
    test, train = module.constants(COVARIANCE, 40 * 0.3, batch=40)
    inverse = (1 / COVARIANCE).mean()
    assert test == pytest.approx((inverse / (2 * np.pi * 0.3)) ** 0.5, rel=1e-9)
    assert train == pytest.approx(test / (4 * 0.3), rel=1e-9)


@every_order
@pytest.mark.parametrize(("batch", "step"), [(10, 5.0), (20, 8.0), (2, 1.8)])
def test_the_constants_with_batches_are_the_limits_of_the_curve(module, batch, step):
    n = np.array([500, 1000, 2000, 4000])
    curve = module.population_curve(COVARIANCE, n, step, batch=batch)
    test, train = module.constants(COVARIANCE, step, batch)
    assert np.isnan(train) == (module.order == "flip_flop")  # it is not known
    ratios = np.array([curve.test[1:] * n**0.5 / test, curve.train[1:] * n**1.5 / train])
    ratios = ratios[: 1 if np.isnan(train) else 2]
    powers = (0.5, 1, 1.5) if module.order == "single_shuffle" else (1, 2, 3)
    for power in powers:
        ratios = (2**power * ratios[:, 1:] - ratios[:, :-1]) / (2**power - 1)
    assert ratios == pytest.approx(np.ones((len(ratios), 1)), abs=1e-4)


@every_order
@pytest.mark.parametrize("batch", [8, 20])
def test_a_step_beyond_stability_is_refused_with_the_limit_and_one_below_is_not(module, batch):
    limit = stability(module.order, SPECTRUM, batch=batch)
    assert 1.0 < limit < 2 * batch
    assert module.curve(SPECTRUM, 3, 0.97 * limit, batch=batch).test[-1] < 1
    assert module.effective_step(0.97 * limit, SPECTRUM, batch) > 0
    calls = [
        lambda: module.curve(SPECTRUM, 3, 1.05 * limit, batch=batch),
        lambda: module.effective_step(1.05 * limit, SPECTRUM, batch),
    ]
    if batch == 20:  # the rest is refused alike at every size
        calls = calls[:1]
    for call in calls:
        sentence = refusal(call)
        stated = re.fullmatch(r"step must be below ([0-9.]+), where [A-Za-z -]+, not [0-9.]+\.", sentence)
        assert stated, sentence
        assert float(stated[1]) == pytest.approx(limit, rel=0.02)
    if batch == 20:
        return
    assert "step must be below" in refusal(module.population_curve, COVARIANCE, 3, 2.0 * batch, batch=batch)
    assert "step must be below" in refusal(module.constants, COVARIANCE, 2.0 * batch, batch)


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "8", None, np.nan], ids=repr)
def test_a_bad_batch_is_refused_in_the_same_sentence_by_every_function(bad):
    sentence = f"batch must be an integer of at least 1, not {bad!r}."
    for call in (
        lambda module: module.curve(SPECTRUM, 1, batch=bad),
        lambda module: module.population_curve(COVARIANCE, 1, batch=bad),
        lambda module: module.constants(COVARIANCE, batch=bad),
        lambda module: module.effective_step(1.0, SPECTRUM, batch=bad),
    ):
        assert one_refusal(call) == sentence


def test_a_step_of_batches_that_is_not_positive_is_refused_in_the_same_sentence():
    for bad in (0, -1.0):
        sentence = one_refusal(lambda module: module.curve(SPECTRUM, 1, bad, batch=4))  # noqa: B023
        assert sentence == f"step must be a finite number greater than 0, not {bad!r}."


def test_too_large_a_batch_is_refused_in_the_same_sentence_by_every_function():
    sentence = "batch must be at most 40, the number of rows, not 41."
    for call in (
        lambda module: module.curve(SPECTRUM, 1, batch=41),
        lambda module: module.population_curve(COVARIANCE, 1, batch=41),
        lambda module: module.constants(COVARIANCE, batch=41),
        lambda module: module.effective_step(1.0, SPECTRUM, batch=41),
    ):
        assert one_refusal(call) == sentence
    assert one_refusal(lambda module: module.curve(SPECTRUM, 1, 1.0, 0.5, batch=21)).startswith(
        "batch must be at most 20"
    )


def test_batches_of_a_spectrum_without_a_dimension_are_refused_in_the_same_sentence():
    weighted = one_refusal(lambda module: module.curve(SPECTRUM, 1, weights=np.ones(40), batch=4))
    assert (
        weighted == "weights are for single rows: with batches the number of eigenvalues is the dimension d."
    )
    assert one_refusal(lambda module: module.effective_step(1.0, batch=4)) == (
        "eigenvalues must be given for a batch of more than one row: their number is the dimension d."
    )


# --------------------------------------------------------------------------------------------------------- refusals

BAD_STEPS = [0, 2, -1, np.nan, np.inf, "1", None]


@pytest.mark.parametrize("bad", [-1, 1.5, True, np.nan, "1", [1, -2], [[1], [1, 2]]], ids=repr)
def test_bad_epochs_are_refused_in_the_same_sentence_by_every_loss_and_curve(bad):
    for name in LOSSES:
        message = one_refusal(lambda module: getattr(module, name)(bad))  # noqa: B023
        assert message == f"n must be a non-negative integer or an array of them, not {bad!r}."
        assert message == refusal(getattr(gradient_descent, name), bad, STABLE)
    message = one_refusal(lambda module: module.curve(SPECTRUM, bad))
    assert message.startswith("epochs must be a non-negative integer")
    assert message == one_refusal(lambda module: module.population_curve([1.0, 2.0], bad))
    assert message == refusal(gradient_descent.curve, SPECTRUM, bad, STABLE)


@pytest.mark.parametrize("bad", BAD_STEPS, ids=repr)
def test_a_bad_step_is_refused_in_the_same_sentence_by_every_function(bad):
    sentence = f"step must be a finite number strictly between 0 and 2, not {bad!r}."
    for call in (
        lambda module: module.test_loss(1, bad),
        lambda module: module.train_loss(1, bad),
        lambda module: module.test_constant(bad),
        lambda module: module.train_constant(bad),
        lambda module: module.effective_step(bad),
        lambda module: module.curve(SPECTRUM, 1, bad),
        lambda module: module.population_curve([1.0, 2.0], 1, bad),
        lambda module: module.constants([1.0, 2.0], bad),
    ):
        assert one_refusal(call) == sentence
    assert "diverges" in refusal(gradient_descent.test_loss, 1, bad)


@pytest.mark.parametrize("bad", [0, -1, np.nan, np.inf, "1"], ids=repr)
def test_a_bad_aspect_is_refused_in_the_same_sentence_by_every_function(bad):
    sentence = f"rho must be a finite number greater than 0, not {bad!r}."
    for call in (
        lambda module: module.test_loss(1, 1.0, bad),
        lambda module: module.train_loss(1, 1.0, bad),
        lambda module: module.curve(SPECTRUM, 1, 1.0, bad),
        lambda module: module.population_curve([1.0, 2.0], 1, 1.0, bad),
    ):
        assert one_refusal(call) == sentence
    assert refusal(gradient_descent.test_loss, 1, STABLE, bad) == sentence


BAD_EIGENVALUES = {
    "empty": ([], "must hold at least 1 values, not 0."),
    "negative": (np.append(SPECTRUM, -1.0), "must be non-negative, but the smallest is -1."),
    "zeros": (np.zeros(30), "must be non-negative, and at least one of them positive."),
    "NaN": (np.append(SPECTRUM, np.nan), "must be finite, but it contains NaN or infinity."),
    "table": (SPECTRUM.reshape(2, 20), "must have 1 dimension(s), not 2 (shape (2, 20))."),
    "complex": (SPECTRUM + 0j, "must hold real numbers, not dtype complex128."),
}


@pytest.mark.parametrize(("bad", "words"), BAD_EIGENVALUES.values(), ids=BAD_EIGENVALUES)
def test_bad_eigenvalues_are_refused_in_the_same_sentence_by_every_function(bad, words):
    sentence = f"eigenvalues {words}"
    assert one_refusal(lambda module: module.curve(bad, 1)) == sentence
    assert one_refusal(lambda module: module.effective_step(1.0, bad)) == sentence
    assert one_refusal(lambda module: module.population_curve(bad, 1)) == f"covariance_{sentence}"
    assert one_refusal(lambda module: module.constants(bad)) == f"covariance_{sentence}"
    assert refusal(gradient_descent.curve, bad, 1, STABLE) == sentence


def test_too_few_eigenvalues_or_weights_that_do_not_fit_are_refused_in_the_same_sentence():
    assert one_refusal(lambda module: module.curve(np.ones(19), 1)) == (
        "eigenvalues must be at least 20 to stand for a spectrum, not 19; a quadrature of a continuous law comes "
        "with weights."
    )
    sentence = "weights must be positive, one for each of the 2 eigenvalues."
    for weights in ([1.0], [1.0, 0.0], [1.0, -1.0], [1.0, 1.0, 1.0]):
        assert one_refusal(lambda module, w=weights: module.curve([1.0, 2.0], 1, weights=w)) == sentence
    assert one_refusal(lambda module: module.curve([1.0, 2.0], 1, weights=[1.0, np.nan])).startswith(
        "weights"
    )


def test_a_covariance_with_a_null_direction_has_no_edge_constants():
    sentence = one_refusal(lambda module: module.constants([0.0, 1.0]))
    assert sentence.startswith("covariance_eigenvalues must be positive")


def test_gradient_descent_takes_eigenvalues_that_are_negative_by_rounding_too():
    curve = gradient_descent.curve(np.append(SPECTRUM, -1e-15), 2, STABLE)
    assert curve.test == pytest.approx(gradient_descent.curve(np.append(SPECTRUM, 0.0), 2, STABLE).test)
    assert all(module.effective_step(STABLE, [-1e-15, 2.0]) > 0 for module in VIEWS.values())
