"""What the recipes are set beside: the samplers that each library brings, and ours where a library is left to itself.

Every loop has the arguments of its recipe. The first five train with stock samplers, in the way that their own
documentation shows, and return the loader that was used; the last three are mistakes that are easily made, which the
samplers have to warn of, and return the sampler too.
"""

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration, set_seed
from lightning import Trainer
from recipes import restore, save
from sizes import BATCH, EPOCHS
from torch import distributed
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torchdata.stateful_dataloader import StatefulDataLoader
from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler

from edgelaw_app.training.samplers import OrderSampler


def plain(rows, model, train, order, path, workers):
    """torch: shuffle=True in one process, DistributedSampler in several; neither knows its place in an epoch."""
    torch.manual_seed(0)
    several = distributed.get_world_size() > 1
    sampler = DistributedSampler(rows) if several else None
    loader = DataLoader(rows, BATCH, shuffle=not several, sampler=sampler, num_workers=workers)
    replica = DistributedDataParallel(model)
    first, _ = restore(path, model=model)
    for epoch in range(first, EPOCHS):
        if several:
            sampler.set_epoch(epoch)
        for batch in loader:
            if train(replica, batch):
                save(path, epoch, model=model.state_dict())
    return loader


def stateful(rows, model, train, order, path, workers):
    """torchdata: its RandomSampler in one process, its StatefulDistributedSampler in several."""
    torch.manual_seed(0)
    several = distributed.get_world_size() > 1
    sampler = StatefulDistributedSampler(rows) if several else None
    loader = StatefulDataLoader(rows, BATCH, shuffle=not several, sampler=sampler, num_workers=workers)
    replica = DistributedDataParallel(model)
    first, _ = restore(path, model=model, loader=loader)
    for epoch in range(first, EPOCHS):
        if several:
            sampler.set_epoch(epoch)
        for batch in loader:
            if train(replica, batch):
                save(path, epoch, model=model.state_dict(), loader=loader.state_dict())
    return loader


def accelerate(rows, model, train, order, path, workers):
    """accelerate: shuffle=True, its own seeded sampler, and the batches skipped that were used."""
    set_seed(0)
    seeded = DataLoaderConfiguration(use_seedable_sampler=True)
    accelerator = Accelerator(cpu=True, dataloader_config=seeded)
    loader = DataLoader(rows, BATCH, shuffle=True, num_workers=workers)
    loader, replica = accelerator.prepare(loader, model)
    first, used = restore(path, model=model)  # batches, here
    for epoch in range(first, EPOCHS):
        loader.set_epoch(epoch)
        current = accelerator.skip_first_batches(loader, used) if used else loader
        for batch in current:
            used += 1
            if train(replica, batch):
                save(path, epoch, used, model=model.state_dict())
        used = 0
    return loader


def lightning(rows, model, order, path, workers, **options):
    """Lightning: shuffle=True, for which it puts DistributedSampler under DDP."""
    torch.manual_seed(0)
    trainer = Trainer(max_epochs=EPOCHS, **options)
    loader = DataLoader(rows, BATCH, shuffle=True, num_workers=workers)
    trainer.fit(model, loader, ckpt_path=path if path.exists() else None)
    return trainer.train_dataloader


def lightning_stateful(rows, model, order, path, workers, **options):
    """Lightning: torchdata's loader and sampler, which it leaves alone."""
    trainer = Trainer(max_epochs=EPOCHS, **options)
    sampler = StatefulDistributedSampler(rows, trainer.world_size, trainer.global_rank)
    loader = StatefulDataLoader(rows, BATCH, sampler=sampler, num_workers=workers)
    trainer.fit(model, loader, ckpt_path=path if path.exists() else None)
    return trainer.train_dataloader


def plain_unshared(rows, model, train, order, path, workers):
    """torch: the sampler does not know that there are several processes."""
    sampler = OrderSampler(order, rows, seed=0)
    loader = DataLoader(rows, BATCH, sampler=sampler, num_workers=workers)
    replica = DistributedDataParallel(model)
    for _ in range(EPOCHS):
        for batch in loader:
            train(replica, batch)
    return loader, sampler


def accelerate_twice(rows, model, train, order, path, workers):
    """accelerate: a sampler that has its share already is given to `prepare`, which shares it out again."""
    accelerator = Accelerator(cpu=True)
    share = {"num_replicas": accelerator.num_processes, "rank": accelerator.process_index}
    sampler = OrderSampler(order, rows, seed=0, **share)
    loader = DataLoader(rows, BATCH, sampler=sampler, num_workers=workers)
    loader, replica = accelerator.prepare(loader, model)
    for _ in range(EPOCHS):
        for batch in loader:
            train(replica, batch)
    return loader, sampler


def lightning_default(rows, model, order, path, workers, **options):
    """Lightning: its defaults, which put DistributedSamplerWrapper around the sampler under DDP."""
    trainer = Trainer(max_epochs=EPOCHS, **options)
    sampler = OrderSampler(order, rows, seed=0)
    loader = DataLoader(rows, BATCH, sampler=sampler, num_workers=workers)
    trainer.fit(model, loader)
    return trainer.train_dataloader, sampler
