"""Who iterates a sampler, and what they do to its order; the other libraries' classes are small fakes here."""

import itertools
import sys
import warnings

import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, SequentialSampler, TensorDataset

from edgelaw.orders import stream
from edgelaw_app.training import sharing
from edgelaw_app.training.samplers import FlipFlop, OrderSampler, check_loader

DATA = TensorDataset(torch.arange(12))


class Positions:
    """As in Lightning: the indices of a sampler, taken when the wrapper starts."""

    def __init__(self, sampler):
        self._sampler = sampler

    def __len__(self):
        return len(self._sampler)

    def reset(self):
        self.indices = list(self._sampler)


class DistributedSamplerWrapper(DistributedSampler):
    """As in Lightning, which gives shuffle=True for training."""

    def __init__(self, sampler, **options):
        super().__init__(Positions(sampler), **{"num_replicas": 2, "rank": 0, "shuffle": True, **options})

    def __iter__(self):
        self.dataset.reset()
        return (self.dataset.indices[place] for place in super().__iter__())


class BatchSamplerShard(BatchSampler):
    """As in accelerate: every second batch."""

    def __init__(self, batch_sampler, num_processes=2, split_batches=False, even_batches=True):
        self.batch_sampler, self.num_processes = batch_sampler, num_processes
        self.split_batches, self.even_batches = split_batches, even_batches
        self.batch_size, self.drop_last = batch_sampler.batch_size, batch_sampler.drop_last

    def __len__(self):
        return len(range(0, len(self.batch_sampler), self.num_processes))

    def __iter__(self):
        yield from itertools.islice(self.batch_sampler, 0, None, self.num_processes)


class DataLoaderDispatcher:
    """As in accelerate: one process reads for all."""

    def __init__(self, loader):
        self.base_dataloader = loader

    def __iter__(self):
        yield from self.base_dataloader


def lightning(sampler, **options):
    return DataLoader(DATA, batch_size=2, sampler=DistributedSamplerWrapper(sampler, **options))


def accelerate(sampler, batch=2, **options):
    batches = BatchSampler(sampler, batch, drop_last=False)
    return DataLoader(DATA, batch_sampler=BatchSamplerShard(batches, **options))


def dispatched(sampler):
    return DataLoaderDispatcher(DataLoader(DATA, batch_size=2, sampler=sampler))


def plain(sampler):
    return DataLoader(DATA, batch_size=2, sampler=sampler)


SHARE = {"num_replicas": 2, "rank": 0}
WRONG = {  # a loader, what its sampler was made for, the processes that train, and what has to be said
    "shuffled": (lightning, {}, 2, r"DistributedSamplerWrapper shuffles the flip_flop order once more"),
    "shuffled alone": (lambda one: lightning(one, num_replicas=1), {}, 1, "shuffles the flip_flop order"),
    "shared twice": (lambda one: lightning(one, shuffle=False), SHARE, 2, "many rows are never seen"),
    "padded": (lambda one: lightning(one, shuffle=False, num_replicas=5), {}, 5, "repeats some rows"),
    "cut": (
        lambda one: lightning(one, shuffle=False, num_replicas=5, drop_last=True),
        {},
        5,
        "leaves some rows out",
    ),
    "sharded twice": (accelerate, SHARE, 2, "make the sampler without num_replicas and rank"),
    "uneven": (lambda one: accelerate(one, batch=5), {}, 2, r"DataLoaderConfiguration\(even_batches=False\)"),
    "uneven parts": (lambda one: accelerate(one, batch=8, split_batches=True), {}, 2, "repeats some rows"),
    "dispatched twice": (dispatched, SHARE, 2, "many rows are never seen"),
    "not shared": (plain, {}, 2, "each of the 2 processes goes through the whole flip_flop order"),
    "rank forgotten": (plain, SHARE, 2, "made with rank=0, but this process has rank 1"),
}
RIGHT = {
    "one process": (plain, {}, 1),
    "own share": (plain, {"num_replicas": 2, "rank": 1}, 2),
    "a smaller group": (plain, SHARE, 4),
    "positions alone": (lambda one: lightning(one, shuffle=False), {}, 2),
    "whole batches": (accelerate, {}, 2),
    "parts of batches": (lambda one: accelerate(one, batch=4, split_batches=True), {}, 2),
    "uneven on purpose": (lambda one: accelerate(one, batch=5, even_batches=False), {}, 2),
    "a shard of one": (lambda one: accelerate(one, batch=5, num_processes=1), {}, 1),
    "read for all": (dispatched, {}, 2),
}


@pytest.fixture
def processes(monkeypatch):
    """Say that so many processes train together, and that this is the last of them."""
    return lambda number: monkeypatch.setattr(sharing, "world", lambda: (number, number - 1))


@pytest.mark.parametrize("name", WRONG)
def test_a_sampler_that_is_changed_on_its_way_warns_once_with_the_remedy(name, processes):
    make, share, number, message = WRONG[name]
    processes(number)
    loader = make(FlipFlop(DATA, **share))
    with pytest.warns(UserWarning, match=message) as caught:
        list(itertools.chain(loader, loader))
    assert len(caught) == 1
    assert str(caught[0].message).startswith("FlipFlop: ")


@pytest.mark.parametrize("name", WRONG)
def test_the_same_is_seen_in_a_loader_that_has_not_started(name, processes):
    make, share, number, message = WRONG[name]
    processes(number)
    sampler = FlipFlop(DATA, **share)
    with pytest.warns(UserWarning, match=message):
        assert not check_loader(make(sampler), sampler)


@pytest.mark.parametrize("name", RIGHT)
def test_a_sampler_whose_order_is_kept_is_silent(name, processes):
    make, share, number = RIGHT[name]
    processes(number)
    sampler = FlipFlop(DATA, **share)
    loader = make(sampler)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check_loader(loader, sampler)
        seen = [int(row) for (rows,) in loader for row in rows]
    assert set(seen) <= set(range(12))
    assert len(seen) >= 6


@pytest.mark.parametrize(
    ("library", "remedy"), [("lightning", "Trainer"), ("other", "leave the wrapper out")]
)
def test_the_remedy_is_that_of_the_library(library, remedy, monkeypatch):
    monkeypatch.setattr(DistributedSamplerWrapper, "__module__", f"{library}.overrides")
    with pytest.warns(UserWarning, match=remedy):
        list(lightning(FlipFlop(DATA)))


def test_a_sampler_that_was_replaced_is_noticed_and_what_replaced_it_is_named():
    loader = DataLoader(DATA, batch_size=2, sampler=SequentialSampler(DATA))
    with pytest.warns(UserWarning, match="a SequentialSampler instead of the FlipFlop sampler"):
        assert not check_loader(loader, FlipFlop(DATA))


def test_the_wrapper_of_the_warning_really_loses_the_order():
    sampler = FlipFlop(DATA, seed=3)
    wrapper = DistributedSamplerWrapper(sampler, num_replicas=1)
    with pytest.warns(UserWarning, match="shuffles"):
        first, second = list(wrapper), list(wrapper)
    assert sorted(first) == sorted(second) == list(range(12))
    assert second != first[::-1]
    assert first != stream("flip_flop", 12, 3).epoch(0).tolist()


def test_the_world_is_what_torch_distributed_says(monkeypatch):
    assert sharing.world() == (1, 0)
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 3)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 2)
    assert sharing.world() == (3, 2)
    with pytest.warns(UserWarning, match="each of the 3 processes"):
        list(OrderSampler("iid", 4))


def test_only_the_nearest_callers_are_looked_at():
    class Caller:
        def call(self, depth):
            return Caller().call(depth - 1) if depth else sharing.wrappers(sys._getframe())

    assert sharing.wrappers(None) == []
    assert [type(one) for one in Caller().call(2)][:3] == [Caller] * 3
    assert len(Caller().call(50)) == sharing.DEEPEST
