"""Whether a loader goes through a sampler's order as it is, and what to do where another library has changed it.

A sampler cannot see who holds it, but it can see who iterates it: the objects whose methods are running at that moment.
Nothing of other libraries is imported: a wrapper is known by its base class in torch or by its name.
"""

from collections.abc import Iterable
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch.utils.data import DistributedSampler

DEEPEST = 16  # calls between a loader and its sampler; today's libraries make at most nine
INNER = ("base_dataloader", "_loader", "batch_sampler", "_batch_sampler", "sampler", "_sampler")
LIGHTNING = "Trainer(use_distributed_sampler=False), or Fabric's setup_dataloaders with the same argument,"
OWN_SHARE = "make the sampler with num_replicas=<processes> and rank=<this process>"
TWICE = (
    "accelerate shares out what the sampler has already shared, so that many rows are never seen; make the sampler "
    "without num_replicas and rank, or do not give its loader to prepare."
)


class Share(NamedTuple):
    """What a sampler was made for."""

    order: str
    rows: int
    replicas: int
    rank: int

    @property
    def places(self) -> slice:
        """Which places of the global order are its own."""
        return slice(self.rank, None, self.replicas)


def world() -> tuple[int, int]:
    """How many processes `torch.distributed` has joined, and which of them this is; (1, 0) where it was not started."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_world_size(), torch.distributed.get_rank()
    return 1, 0


def wrappers(frame: FrameType | None) -> list[Any]:
    """The objects whose methods are running, the innermost first."""
    owners: list[Any] = []
    while frame is not None and len(owners) < DEEPEST:
        owners.append(frame.f_locals.get("self"))
        frame = frame.f_back
    return [one for one in owners if one is not None]


def holders(loader: Any, sampler: Any) -> list[Any] | None:
    """The objects through which a loader holds a sampler, the innermost first; None if it does not hold it."""
    paths: list[list[Any]] = [[loader]]
    while paths:
        path = paths.pop(0)
        if path[0] is sampler:
            return path[1:]
        names = (*INNER, "dataset") if isinstance(path[0], DistributedSampler) else INNER
        inner = [getattr(path[0], name, None) for name in names]
        paths += [[one, *path] for one in inner if not any(one is other for other in (None, *path))]
    return None


def complaint(share: Share, objects: Iterable[Any], processes: int, process: int) -> str:
    """What those who iterate a sampler make of its order, and the remedy, in one sentence; empty if they keep it."""
    for one in objects:
        name = type(one).__name__
        if isinstance(one, DistributedSampler):
            return _shuffled(share, one)
        if name == "BatchSamplerShard" and one.num_processes > 1:
            return _sharded(share, one)
        if name == "DataLoaderDispatcher":  # one process reads for all
            return TWICE if share.replicas > 1 else ""
    if processes > 1 and share.replicas == 1:
        return (
            f"each of the {processes} processes goes through the whole {share.order} order; if they are to share it, "
            f"{OWN_SHARE}."
        )
    if share.replicas == processes and share.rank != process:
        return (
            f"the sampler was made with rank={share.rank}, but this process has rank {process}; {OWN_SHARE}."
        )
    return ""


def _shuffled(share: Share, wrapper: Any) -> str:
    """What a `DistributedSampler` around the sampler does to its order."""
    name, library = type(wrapper).__name__, type(wrapper).__module__.split(".")[0]
    # Where the library has a switch it comes first; the sampler's own share is needed in every case.
    switch = f"give {LIGHTNING}" if "lightning" in library else "leave the wrapper out"
    remedy = f"{switch} and {OWN_SHARE}"
    if wrapper.shuffle:
        return f"{name} shuffles the {share.order} order once more, so that it is lost; {remedy}."
    if wrapper.num_replicas > 1 and share.replicas > 1:
        return f"{name} shares out what the sampler has already shared, so that many rows are never seen; {remedy}."
    if share.rows % wrapper.num_replicas:
        fate = "leaves some rows out" if wrapper.drop_last else "repeats some rows"
        return f"{name} {fate} in every epoch, to make the shares equal; {remedy}."
    return ""


def _sharded(share: Share, shard: Any) -> str:
    """What accelerate's division of batches does to the order."""
    if share.replicas > 1:
        return TWICE
    batch = shard.batch_size or 1
    together = batch if shard.split_batches else batch * shard.num_processes
    if share.rows % together and shard.even_batches and not shard.drop_last:
        return (
            "accelerate repeats some rows in every epoch, to make the last batches equal; give "
            "Accelerator(dataloader_config=DataLoaderConfiguration(even_batches=False))."
        )
    return ""
