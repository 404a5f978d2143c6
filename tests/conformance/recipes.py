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

from edgelaw.samplers import OrderSampler


def plain(rows, model, train, order, path, workers):
    """torch alone: a DataLoader in every process, and DistributedDataParallel."""
    share = {"num_replicas": distributed.get_world_size(), "rank": distributed.get_rank()}
    sampler = OrderSampler(order, rows, seed=0, **share)
    loader = DataLoader(rows, BATCH, sampler=sampler, num_workers=workers)
    replica = DistributedDataParallel(model)
    if path.exists():
        saved = torch.load(path)
        model.load_state_dict(saved["model"])
        sampler.load_state_dict(saved["sampler"])
    place = sampler.state_dict()
    used = place["position"]
    for epoch in range(place["epoch"], EPOCHS):
        sampler.set_epoch(epoch)
        for batch in loader:
            used += len(batch[0])
            if train(replica, batch):
                state = sampler.state_dict(position=used)  # what was used, not what was read ahead
                torch.save({"model": model.state_dict(), "sampler": state}, path)
        used = 0


def stateful(rows, model, train, order, path, workers):
    """torchdata: a StatefulDataLoader counts what was used, and asks the sampler for its place."""
    share = {"num_replicas": distributed.get_world_size(), "rank": distributed.get_rank()}
    sampler = OrderSampler(order, rows, seed=0, **share)
    loader = StatefulDataLoader(rows, BATCH, sampler=sampler, num_workers=workers)
    replica = DistributedDataParallel(model)
    first = 0
    if path.exists():
        saved = torch.load(path)
        model.load_state_dict(saved["model"])
        loader.load_state_dict(saved["loader"])
        first = saved["epoch"]
    for epoch in range(first, EPOCHS):
        sampler.set_epoch(epoch)
        for batch in loader:
            if train(replica, batch):
                state = {"model": model.state_dict(), "loader": loader.state_dict(), "epoch": epoch}
                torch.save(state, path)


def accelerate(rows, model, train, order, path, workers):
    """accelerate: the sampler has the whole order, and `prepare` gives every process its batches."""
    whole_epochs = DataLoaderConfiguration(even_batches=False)
    accelerator = Accelerator(cpu=True, dataloader_config=whole_epochs)
    sampler = OrderSampler(order, rows, seed=0)
    if path.exists():
        saved = torch.load(path)
        model.load_state_dict(saved["model"])
        sampler.load_state_dict(saved["sampler"])
    loader = DataLoader(rows, BATCH, sampler=sampler, num_workers=workers)
    loader, replica = accelerator.prepare(loader, model)
    place = sampler.state_dict()
    used = place["position"]
    for epoch in range(place["epoch"], EPOCHS):
        loader.set_epoch(epoch)
        for batch in loader:
            used = min(used + BATCH * accelerator.num_processes, len(rows))
            if train(replica, batch):
                state = sampler.state_dict(position=used)
                torch.save({"model": model.state_dict(), "sampler": state}, path)
        used = 0


def lightning(rows, model, order, path, workers, **options):
    """Lightning: its own sampler switched off, and a StatefulDataLoader, whose place it saves with every checkpoint."""
    trainer = Trainer(max_epochs=EPOCHS, use_distributed_sampler=False, **options)
    share = {"num_replicas": trainer.world_size, "rank": trainer.global_rank}
    sampler = OrderSampler(order, rows, seed=0, **share)
    loader = StatefulDataLoader(rows, BATCH, sampler=sampler, num_workers=workers)
    trainer.fit(model, loader, ckpt_path=path if path.exists() else None)
