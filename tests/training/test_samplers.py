"""The samplers: the orders of the simulator in a DataLoader, resumed, shared between replicas, at the right rate."""

import itertools
import json

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from edgelaw import orders
from edgelaw.kaczmarz import Problem, iterates
from edgelaw.orders import ORDERS, stream
from edgelaw_app.training.samplers import (
    IID,
    FlipFlop,
    OrderSampler,
    RandomReshuffle,
    SingleShuffle,
    learning_rate,
)

# On a machine of one core torch advises against two workers; two is what is tested.
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create 2 worker processes")


def train(sampler, X, y, epochs, step, workers):
    """Plain PyTorch: a linear model, squared error, SGD at batch size 1; the weights after every epoch."""
    model = torch.nn.Linear(X.shape[1], 1, bias=False, dtype=torch.float64)
    torch.nn.init.zeros_(model.weight)
    optimiser = torch.optim.SGD(model.parameters(), lr=step)
    loader = DataLoader(TensorDataset(torch.tensor(X), torch.tensor(y)), sampler=sampler, num_workers=workers)
    weights = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for x, target in loader:
            optimiser.zero_grad()
            loss = (model(x).squeeze(1) - target).square().sum() / 2
            loss.backward()
            optimiser.step()
        weights.append(model.weight.detach().numpy().ravel().copy())
    return weights


@pytest.mark.parametrize(("order", "workers"), [*((order, 0) for order in ORDERS), ("random_reshuffle", 2)])
def test_a_model_trained_through_a_dataloader_has_the_iterates_of_the_simulator(order, workers):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 12))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = rng.standard_normal(30)
    weights = train(OrderSampler(order, 30, seed=5), X, y, epochs=3, step=0.8, workers=workers)
    for n, w in iterates(Problem(X, y), order, 3, np.zeros(12), step=0.8, rng=5):
        if n > 0:
            assert np.abs(weights[n - 1] - w).max() < 1e-6
            assert np.abs(w).max() > 0.1  # it went somewhere


@pytest.mark.parametrize("order", ORDERS)
def test_the_epochs_are_those_of_the_stream_with_or_without_set_epoch(order):
    expected = stream(order, 17, 3).epochs(0, 4).tolist()
    sampler = OrderSampler(order, 17, seed=3)
    assert [list(sampler) for _ in range(4)] == expected
    for n in (2, 0, 3):
        sampler.set_epoch(n)
        assert list(sampler) == expected[n]


def test_one_row_is_always_the_same_row():
    assert list(OrderSampler("iid", 1)) == [0]


def test_the_dataset_itself_says_how_many_rows_there_are():
    assert len(OrderSampler("iid", TensorDataset(torch.zeros(9, 2)))) == 9


def test_an_epoch_that_was_broken_off_starts_again():
    sampler = OrderSampler("random_reshuffle", 10, seed=1)
    list(itertools.islice(sampler, 4))
    assert list(sampler) == stream("random_reshuffle", 10, 1).epoch(0).tolist()


def test_row_probabilities_reach_the_stream():
    assert list(OrderSampler("iid", 4, probabilities=[0, 0, 1, 0])) == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("order", "used"),
    [
        *itertools.product(ORDERS, (6, 10)),
        ("iid", 0),
        ("random_reshuffle", 1),
        ("single_shuffle", 11),
        ("flip_flop", 13),
        ("flip_flop", 20),
    ],
)
def test_a_state_saved_in_the_middle_of_an_epoch_continues_there(order, used):
    expected = stream(order, 10, 7).epochs(0, 4).ravel().tolist()
    sampler = OrderSampler(order, 10, seed=7)
    endless = itertools.chain.from_iterable(sampler for _ in itertools.count())
    assert list(itertools.islice(endless, used)) == expected[:used]
    saved = json.loads(json.dumps(sampler.state_dict()))  # plain numbers and strings only

    restored = OrderSampler(order, 10, seed=7)
    restored.load_state_dict(saved)
    assert restored.state_dict() == saved
    rest = [index for _ in range(3) for index in restored]
    assert rest == expected[used:][: len(rest)]
    assert len(rest) >= 20


def test_saving_does_not_disturb_the_epoch_that_is_under_way():
    sampler = OrderSampler("iid", 10, seed=7)
    indices = []
    for index in sampler:
        sampler.state_dict()
        indices.append(index)
    assert indices == stream("iid", 10, 7).epoch(0).tolist()


@pytest.mark.parametrize("workers", [0, 2])
def test_what_was_used_counts_when_a_dataloader_reads_ahead(workers):
    data = TensorDataset(torch.arange(40))
    sampler = OrderSampler("random_reshuffle", data, seed=2)
    sampler.set_epoch(1)
    seen = []
    for used, (rows,) in enumerate(
        DataLoader(data, batch_size=4, sampler=sampler, num_workers=workers), start=1
    ):
        seen += rows.tolist()
        if used == 3:
            state = sampler.state_dict(position=used * 4)
            break
    restored = OrderSampler("random_reshuffle", data, seed=2)
    restored.load_state_dict(state)
    assert seen + list(restored) == stream("random_reshuffle", 40, 2).epoch(1).tolist()


@pytest.mark.parametrize("workers", [0, 2])
def test_what_was_used_counts_even_if_the_epoch_was_read_to_its_end(workers):
    data = TensorDataset(torch.arange(12))
    sampler = OrderSampler("random_reshuffle", data, seed=2)
    sampler.set_epoch(1)
    batches = iter(DataLoader(data, batch_size=4, sampler=sampler, num_workers=workers))
    seen = next(batches)[0].tolist()
    state = sampler.state_dict(position=4)  # two workers have asked for all three batches by now
    restored = OrderSampler("random_reshuffle", data, seed=2)
    restored.load_state_dict(state)
    expected = stream("random_reshuffle", 12, 2)
    assert seen + list(restored) == expected.epoch(1).tolist()
    assert list(restored) == expected.epoch(2).tolist()
    list(batches)
    assert sampler.state_dict(position=12)["epoch"] == 1


def test_a_loaded_place_survives_set_epoch_of_its_own_epoch_and_of_no_other():
    sampler = OrderSampler("flip_flop", 10, seed=7)
    expected = stream("flip_flop", 10, 7).epochs(0, 3).tolist()
    state = {**sampler.state_dict(), "epoch": 1, "position": 6}
    sampler.load_state_dict(state)
    sampler.set_epoch(1)
    assert list(sampler) == expected[1][6:]
    sampler.load_state_dict(state)
    sampler.set_epoch(2)
    assert list(sampler) == expected[2]
    sampler.load_state_dict(state)
    list(itertools.islice(sampler, 2))
    sampler.set_epoch(1)  # the place was used: this is a new start of the epoch
    assert list(sampler) == expected[1]


def test_the_state_of_the_first_replica_serves_all_even_at_the_end_of_an_epoch():
    first, second = (OrderSampler("iid", 11, seed=4, num_replicas=2, rank=r) for r in (0, 1))
    state = first.state_dict(position=6)
    second.load_state_dict(state)
    assert list(second) == []
    assert list(second) == stream("iid", 11, 4).epoch(1)[1::2].tolist()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("rows", "replicas"), [(12, 3), (13, 3), (2, 4)])
def test_the_replicas_together_see_exactly_the_global_order(order, rows, replicas):
    parts = [OrderSampler(order, rows, seed=9, num_replicas=replicas, rank=r) for r in range(replicas)]
    for epoch in stream(order, rows, 9).epochs(0, 3).tolist():
        lengths = [len(part) for part in parts]
        seen = [list(part) for part in parts]
        assert [len(part) for part in seen] == lengths
        lock_step = itertools.chain.from_iterable(itertools.zip_longest(*seen))
        assert [index for index in lock_step if index is not None] == epoch


def test_the_batches_of_replicas_make_up_consecutive_global_batches():
    parts = [OrderSampler("random_reshuffle", 24, seed=9, num_replicas=2, rank=r) for r in (0, 1)]
    batches = zip(*(torch.utils.data.BatchSampler(part, 3, drop_last=False) for part in parts), strict=True)
    for k, together in enumerate(batches):
        expected = stream("random_reshuffle", 24, 9).epoch(0)[6 * k : 6 * k + 6]
        assert sorted(itertools.chain(*together)) == sorted(expected.tolist())


def test_a_replica_continues_its_own_share():
    sampler = OrderSampler("iid", 11, seed=4, num_replicas=2, rank=1)
    list(itertools.islice(sampler, 3))
    restored = OrderSampler("iid", 11, seed=4, num_replicas=2, rank=1)
    restored.load_state_dict(sampler.state_dict())
    assert list(restored) == stream("iid", 11, 4).epoch(0)[1::2][3:].tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": "shuffle"}, "'iid', 'random_reshuffle', 'single_shuffle', 'flip_flop'"),
        ({"rows": 0}, "rows must be"),
        ({"seed": -1}, "seed must be"),
        ({"seed": None}, "seed must be"),
        ({"num_replicas": 0}, "num_replicas must be"),
        ({"num_replicas": 2, "rank": 2}, "rank must be below num_replicas=2, not 2"),
        ({"rank": -1}, "rank must be"),
    ],
)
def test_bad_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        OrderSampler(**({"order": "iid", "rows": 5} | options))


@pytest.mark.parametrize("key", ["order", "rows", "seed", "num_replicas"])
def test_the_state_of_another_sampler_is_refused(key):
    other = {"order": "iid", "rows": 6, "seed": 1, "num_replicas": 2}
    sampler = OrderSampler("single_shuffle", 5)
    with pytest.raises(ValueError, match=f"the state has {key}="):
        sampler.load_state_dict(sampler.state_dict() | {key: other[key]})


@pytest.mark.parametrize(
    ("change", "message"), [({"position": 6}, "at most the 5"), ({"epoch": -1}, "epoch must be")]
)
def test_a_place_outside_the_epoch_is_refused(change, message):
    sampler = OrderSampler("iid", 5)
    with pytest.raises(ValueError, match=message):
        sampler.load_state_dict(sampler.state_dict() | change)


NAMED = {
    "iid": IID,
    "random_reshuffle": RandomReshuffle,
    "single_shuffle": SingleShuffle,
    "flip_flop": FlipFlop,
}


@pytest.mark.parametrize("order", ORDERS)
def test_a_sampler_named_after_its_order_is_that_order(order):
    dataset = TensorDataset(torch.zeros(11, 2))
    sampler = NAMED[order](dataset, seed=4)
    assert [list(sampler) for _ in range(3)] == stream(order, 11, 4).epochs(0, 3).tolist()
    half = NAMED[order](dataset, seed=4, num_replicas=2, rank=1)
    assert list(half) == stream(order, 11, 4).epoch(0)[1::2].tolist()
    assert half.state_dict()["order"] == order


def test_named_iid_takes_probabilities():
    assert list(IID(3, probabilities=[0, 1, 0])) == [1, 1, 1]


def test_shuffle_true_is_a_new_permutation_every_epoch():
    loader = DataLoader(TensorDataset(torch.arange(40)), batch_size=None, shuffle=True)
    first, second = ([int(x) for (x,) in loader] for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(40))
    assert first != second


LOSS_OF = {
    "mse": torch.nn.MSELoss(),
    "half": lambda scores, y: torch.nn.MSELoss()(scores, y) / 2,
    "half_sum": lambda scores, y: (scores - y).square().sum(dim=1).mean() / 2,
}


@pytest.mark.parametrize(
    ("loss", "batch", "step", "outputs"),
    [
        ("mse", 1, 0.7, 3),
        ("mse", 8, 1.9, 1),
        ("mse", 8, 5.2, 2),
        ("half", 8, 1.0, 3),
        ("half", 1, 1.3, 1),
        ("half_sum", 8, 1.0, 3),
        ("half_sum", 1, 1.3, 1),
    ],
)
def test_the_learning_rate_makes_torch_the_simulator(loss, batch, step, outputs):
    rng = np.random.default_rng(1)
    m, d = 36, 16  # the last batch of eight is short
    X = rng.standard_normal((m, d))
    X *= np.sqrt(d) / np.linalg.norm(X, axis=1, keepdims=True)
    Y = rng.standard_normal((m, outputs))
    model = torch.nn.Linear(d, outputs, bias=False, dtype=torch.float64)
    torch.nn.init.zeros_(model.weight)
    optimiser = torch.optim.SGD(model.parameters(), lr=learning_rate(step, d, loss, outputs))
    sampler = RandomReshuffle(m, seed=2)
    loader = DataLoader(TensorDataset(torch.tensor(X), torch.tensor(Y)), batch_size=batch, sampler=sampler)
    for _ in range(3):
        for x, y in loader:
            optimiser.zero_grad()
            LOSS_OF[loss](model(x), y).backward()
            optimiser.step()
    for k in range(outputs):
        walk = iterates(Problem(X, Y[:, k], batch=batch), "random_reshuffle", [3], np.zeros(d), step, rng=2)
        *_, (_, w) = walk
        assert np.abs(w).max() > 0.1
        assert np.abs(model.weight[k].detach().numpy() - w).max() < 1e-12 * max(1, np.abs(w).max())


@pytest.mark.parametrize(
    "arguments", [(0, 5), (1.0, 0), (1.0, 5, "huber"), (1.0, 5, "mse", 0), (float("nan"), 5)]
)
def test_a_learning_rate_of_nonsense_is_refused(arguments):
    with pytest.raises(ValueError, match="must be"):
        learning_rate(*arguments)


# the orders of loaders --------------------------------------------------------------------------------------


LOADERS = [
    orders.ShuffleBuffer(4),
    orders.ShuffleBuffer(4, shard=5),
    orders.ShuffleBuffer(4, reshuffle=False),
    orders.BlockShuffle(4),
    orders.BlockShuffle(1, 5, False),
]


@pytest.mark.parametrize("order", LOADERS, ids=repr)
def test_a_loaders_sampler_has_the_epochs_of_its_stream(order):
    sampler = OrderSampler(order, 17, seed=3)
    assert [list(sampler) for _ in range(3)] == stream(order, 17, 3).epochs(0, 3).tolist()


def test_replicas_share_a_shuffle_buffer_place_by_place():
    order = orders.ShuffleBuffer(3)
    whole = list(OrderSampler(order, 11, seed=1))
    parts = [list(OrderSampler(order, 11, 1, num_replicas=2, rank=rank)) for rank in (0, 1)]
    assert parts == [whole[0::2], whole[1::2]]


def test_a_state_of_another_buffer_is_refused_and_of_the_same_one_resumed():
    order = orders.ShuffleBuffer(4)
    sampler = OrderSampler(order, 10, seed=2)
    used = list(itertools.islice(sampler, 6))
    state = json.loads(json.dumps(sampler.state_dict()))
    with pytest.raises(ValueError, match=r"the state has order='ShuffleBuffer\(buffer=4, shard=None"):
        OrderSampler(orders.ShuffleBuffer(5), 10, seed=2).load_state_dict(state)
    restored = OrderSampler(order, 10, seed=2)
    restored.load_state_dict(state)
    assert used + list(restored) == stream(order, 10, 2).epoch(0).tolist()


def test_a_dataloader_goes_through_a_shuffle_buffer():
    data, order = TensorDataset(torch.arange(20)), orders.ShuffleBuffer(5)
    loader = DataLoader(data, batch_size=4, sampler=OrderSampler(order, data, seed=1))
    seen = torch.cat([rows for (rows,) in loader]).tolist()
    assert seen == stream(order, 20, 1).epoch(0).tolist()


def test_lightning_is_told_to_leave_the_order_as_it_is():
    assert OrderSampler("iid", 3).disable_auto_shuffle
    assert all(kind.disable_auto_shuffle for kind in OrderSampler.__subclasses__())
