"""The four training loops that the book shows, as they are run: each trains, saves its place, and continues from it.

A loop gets rows, a model, a function `train(model, batch)` that takes one step and says whether it is time to save
(on the first process only), the name of an order, the file of the last saved place, and a number of workers.
"""

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration
from lightning import Trainer
from sizes import BATCH, EPOCHS
from torch import distributed
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

from edgelaw_app.training.samplers import OrderSampler


def save(path, epoch, used=0, **states):
    """Keep an epoch, how much of it was used, and the states of objects."""
    torch.save({"epoch": epoch, "used": used, "states": states}, path)


def restore(path, **objects):
    """Put states back; the epoch and how much of it was used, at first 0 and 0."""
    if not path.exists():
        return 0, 0
    saved = torch.load(path)
    for name, one in objects.items():
        one.load_state_dict(saved["states"][name])
    return saved["epoch"], saved["used"]


def plain(rows, model, train, order, path, workers):
    """torch alone: a DataLoader in every process, and DistributedDataParallel."""
    ranks, rank = distributed.get_world_size(), distributed.get_rank()
    sampler = OrderSampler(order, rows, num_replicas=ranks, rank=rank)
    loader = DataLoader(rows, BATCH, sampler=sampler, num_workers=workers)
    replica = DistributedDataParallel(model)
    first, used = restore(path, model=model, sampler=sampler)
    for epoch in range(first, EPOCHS):
        sampler.set_epoch(epoch)
        for batch in loader:
            used += len(batch[0])
            if train(replica, batch):
                place = sampler.state_dict(position=used)
                save(path, epoch, used, model=model.state_dict(), sampler=place)
        used = 0


def stateful(rows, model, train, order, path, workers):
    """torchdata: a StatefulDataLoader counts what was used, and asks the sampler for its place."""
    ranks, rank = distributed.get_world_size(), distributed.get_rank()
    sampler = OrderSampler(order, rows, num_replicas=ranks, rank=rank)
    loader = StatefulDataLoader(rows, BATCH, sampler=sampler, num_workers=workers)
    replica = DistributedDataParallel(model)
    first, _ = restore(path, model=model, loader=loader)
    for epoch in range(first, EPOCHS):
        sampler.set_epoch(epoch)
        for batch in loader:
            if train(replica, batch):
                place = loader.state_dict()
                save(path, epoch, model=model.state_dict(), loader=place)


def accelerate(rows, model, train, order, path, workers):
    """accelerate: the sampler has the whole order, and `prepare` gives every process its batches."""
    no_padding = DataLoaderConfiguration(even_batches=False)
    accelerator = Accelerator(cpu=True, dataloader_config=no_padding)
    sampler = OrderSampler(order, rows)
    loader = DataLoader(rows, BATCH, sampler=sampler, num_workers=workers)
    loader, replica = accelerator.prepare(loader, model)
    first, used = restore(path, model=model, sampler=sampler)
    for epoch in range(first, EPOCHS):
        loader.set_epoch(epoch)
        for batch in loader:
            used = min(used + BATCH * accelerator.num_processes, len(rows))
            if train(replica, batch):
                place = sampler.state_dict(position=used)
                save(path, epoch, used, model=model.state_dict(), sampler=place)
        used = 0


def lightning(rows, model, order, path, workers, **options):
    """Lightning: its own sampler switched off, and a StatefulDataLoader, whose place goes into its checkpoints."""
    trainer = Trainer(max_epochs=EPOCHS, use_distributed_sampler=False, **options)
    ranks, rank = trainer.world_size, trainer.global_rank
    sampler = OrderSampler(order, rows, num_replicas=ranks, rank=rank)
    loader = StatefulDataLoader(rows, BATCH, sampler=sampler, num_workers=workers)
    trainer.fit(model, loader, ckpt_path=path if path.exists() else None)
