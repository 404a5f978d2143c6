"""One library in one process of a group started by torchrun: all its cells, and what every step of them saw.

    torchrun --standalone --nproc-per-node 2 job.py lightning run FOLDER

"run" trains without an interruption, then again until it is broken off some steps after a place was saved; "resume",
in processes of its own, continues from there. Each process writes FOLDER/<phase>-<rank>.json.
"""

import datetime
import json
import logging
import multiprocessing
import sys
import warnings
from pathlib import Path

import others
import recipes
import sizes
import torch
from lightning import LightningModule
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import distributed
from torch.utils.data import Dataset

from edgelaw.orders import ORDERS
from edgelaw_app.training.samplers import check_loader

COLUMNS = 4
MISTAKES = {"plain": "plain_unshared", "accelerate": "accelerate_twice", "lightning": "lightning_default"}


class BrokenOffError(Exception):
    """The machine goes down."""


class Rows(Dataset):
    """Rows that know their number."""

    def __init__(self):
        self.x = torch.randn(
            sizes.ROWS, COLUMNS, dtype=torch.float64, generator=torch.Generator().manual_seed(1)
        )

    def __len__(self):
        return sizes.ROWS

    def __getitem__(self, index):
        return index, self.x[index], self.x[index].sum().sin()


class Linear(LightningModule):
    """A linear model that notes what it was trained on; Lightning calls it by itself, other loops call `step`."""

    def __init__(self, break_off):
        super().__init__()
        self.layer = torch.nn.Linear(COLUMNS, 1, bias=False, dtype=torch.float64)
        torch.nn.init.zeros_(self.layer.weight)
        self.seen, self.break_off = [], break_off

    def forward(self, x):
        return self.layer(x).squeeze(1)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

    def watch(self, index):
        """Note the rows of a step, or go down before it."""
        if self.break_off and len(self.seen) + 1 == sizes.broken_off(distributed.get_world_size()):
            raise BrokenOffError
        self.seen.append(index.tolist())

    def training_step(self, batch, _number=0):
        index, x, y = batch
        self.watch(index)
        return (self(x) - y).square().mean()

    def step(self, replica, batch):
        """One step of a loop that is written out; true when it is time to save, on the first process."""
        index, x, y = batch
        self.watch(index)
        optimiser = self.configure_optimizers()
        optimiser.zero_grad()
        (replica(x) - y).square().mean().backward()
        optimiser.step()
        return (
            self.break_off
            and len(self.seen) == sizes.saved(distributed.get_world_size())
            and distributed.get_rank() == 0
        )


def lightning_options(saves, path):
    """What a Trainer is given besides what the recipe says."""
    ranks = distributed.get_world_size()
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    keep = ModelCheckpoint(path.parent, path.stem, every_n_train_steps=sizes.saved(ranks), save_top_k=-1)
    saving = {"callbacks": [keep]} if saves else {"enable_checkpointing": False}
    return {"accelerator": "cpu", "strategy": "ddp", "devices": ranks, **quiet, **saving}


def sampler_of(loader):
    """The library and the name of the sampler that a loader really went through, and what it was wrapped in."""
    if loader is None:
        return None
    batches, wraps = loader.batch_sampler, ""
    while hasattr(batches, "batch_sampler"):
        wraps, batches = f" in {type(batches).__name__}", batches.batch_sampler
    kind = type(batches.sampler)
    return f"{kind.__module__.split('.')[0]} {kind.__name__}{wraps}"


def trained(loop, order, path, workers, break_off=False):
    """What a loop saw, step by step, its last weights, and what the samplers warned of."""
    model = Linear(break_off)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if "lightning" in loop.__name__:
                loader = loop(Rows(), model, order, path, workers, **lightning_options(break_off, path))
            else:
                loader = loop(Rows(), model, model.step, order, path, workers)
        except BrokenOffError:
            loader = None
            distributed.barrier()  # the first process has written its file
    if isinstance(loader, tuple):
        return outcome(model, caught) | {"approved": check_loader(*loader)}
    return outcome(model, caught) | {"sampler": sampler_of(loader)}


def outcome(model, caught):
    """What a model was trained on, its weights to the last bit, and what a sampler warned of."""
    warned = [str(one.message) for one in caught if "OrderSampler: " in str(one.message)]
    weights = [value.hex() for value in model.layer.weight.detach().ravel().tolist()]
    return {"seen": model.seen, "weights": weights, "warned": warned}


def cells(library):
    """Name, loop, order and number of workers of everything that is tried in a library."""
    for workers in sizes.WORKERS:
        for order in ORDERS:
            yield f"ours {order} {workers}", getattr(recipes, library), order, workers
        yield f"stock - {workers}", getattr(others, library), None, workers
        if library == "lightning":
            yield f"stock stateful {workers}", others.lightning_stateful, None, workers
        for order in ORDERS if library in MISTAKES else ():
            yield f"mistake {order} {workers}", getattr(others, MISTAKES[library]), order, workers


def main():
    """Run all cells of a library and write down what they saw."""
    library, phase, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    # Workers that are forked from a process with threads, such as gloo's, can hang; from a server without, they do not.
    multiprocessing.set_forkserver_preload(["recipes", "others"])
    multiprocessing.set_start_method("forkserver")
    distributed.init_process_group("gloo", timeout=datetime.timedelta(seconds=180))
    record = {}
    for name, loop, order, workers in cells(library):
        path = folder / f"{name.replace(' ', '_')}.ckpt"
        if phase == "resume":
            if "mistake" not in name:
                record[name] = trained(loop, order, path, workers)
            continue
        record[name] = trained(loop, order, folder / "nothing_saved", workers)
        if "mistake" not in name:
            record[f"{name} broken off"] = trained(loop, order, path, workers, break_off=True)
    (folder / f"{phase}-{distributed.get_rank()}.json").write_text(json.dumps(record))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
