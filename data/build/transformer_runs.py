"""Build data/transformer_body.npz and data/transformer_runs.npz: a small trained body, and spectra over training.

Three parts, each kept in the cache once it is done, so that an interrupted run continues: ``body`` trains the model
whose body the chapter freezes; ``sweep`` trains models of several widths and depths from several seeds; ``unfreeze``
goes on from the body with next-character mean squared error, head alone and everything. Each takes a few minutes.
"""

import argparse
import functools
from pathlib import Path

import card
import numpy as np
import sweep as sweeps
import torch
from fetch import default_cache
from resumable import save

from edgelaw_app.training import transformer

LENGTH, HEADS, RATE = 64, 4, 3e-3
BODY = {"width": 128, "depth": 2, "steps": 800, "batch": 16}
SWEEP = ((32, 2), (64, 1), (64, 2), (64, 4), (128, 2), (256, 2))  # width, depth
SEEDS, SWEEP_STEPS, SWEEP_BATCH = 4, 400, 8
CHECKPOINTS = (0, 25, 50, 100, 200, 400)
BODY_CHECKPOINTS = (0, 25, 50, 100, 200, 400, 800)
SAMPLE, SAMPLE_SEED = 256, 99  # the contexts whose features make the covariance
STREAMS, UNFREEZE_STEPS = 4, 2048
UNFREEZE_CHECKPOINTS = (0, *(2**k for k in range(4, 12)))


def material():
    """The text's consecutive contexts, and the sample of contexts that covariances are taken over."""
    tokens, alphabet = transformer.encode(transformer.shipped_text())
    return (
        len(alphabet),
        transformer.contexts(tokens, LENGTH),
        transformer.contexts(tokens, LENGTH, SAMPLE, SAMPLE_SEED),
    )


def problem(model, sample):
    """The head's least-squares problem on the sample."""
    return transformer.HeadProblem(
        transformer.features(model, sample[0]), sample[1].ravel(), model.characters
    )


def watched(sample, checkpoints, rows):
    """A function for `train` that keeps spectrum, smallest possible error and the head's error at checkpoints."""

    def watch(step, model):
        if step in checkpoints:
            now = problem(model, sample)
            rows.append((now.eigenvalues, now.floor, now.mse(model.head.weight.detach().double().numpy())))

    return watch


def pack(weight):
    """A matrix in eight bits: integers from -127 to 127, and one scale per row."""
    scale = (np.abs(weight).max(axis=1, keepdims=True) / 127).astype(np.float32)
    whole = np.rint(np.divide(weight, scale, out=np.zeros_like(weight), where=scale > 0))
    return whole.astype(np.int8), scale


def body():
    """Train the model, round its weights to eight bits; spectra at checkpoints."""
    characters, text, sample = material()
    rows, width, depth = [], BODY["width"], BODY["depth"]
    model = transformer.Transformer(characters, width, depth, LENGTH, HEADS, rng=0)
    watch = watched(sample, BODY_CHECKPOINTS, rows)
    losses = transformer.train(model, text, BODY["steps"], RATE, batch=BODY["batch"], rng=1, watch=watch)
    out = {"heads": np.int64(HEADS), "losses": losses.astype(np.float32)}
    out["spectra"] = np.array([row[0] for row in rows], dtype=np.float32)
    for name, weight in model.state_dict().items():
        if name != "head.weight":
            out[name], out[name + ".scale"] = pack(weight.numpy())
    return out


def sweep(width, depth, seed):
    """Train one model; spectra, floors and final losses at checkpoints."""
    characters, text, sample = material()
    rows = []
    model = transformer.Transformer(characters, width, depth, LENGTH, HEADS, rng=seed)
    watch = watched(sample, CHECKPOINTS, rows)
    losses = transformer.train(
        model, text, SWEEP_STEPS, RATE, batch=SWEEP_BATCH, rng=1000 + seed, watch=watch
    )
    return {
        "spectra": np.array([row[0] for row in rows]),
        "floor": np.array([row[1] for row in rows]),
        "loss": losses[-50:].mean(),
    }


def unfreeze(stream):
    """Head alone and head with body, on the sample's contexts, by SGD at the step 1/λmax of the frozen covariance."""
    _, _, sample = material()
    out = {}
    for name, freeze in (("frozen", True), ("unfrozen", False)):
        rows, model = [], transformer.shipped_model()
        if freeze:
            model.freeze_body()
        step = 1 / problem(model, sample).eigenvalues[-1]
        watch = watched(sample, UNFREEZE_CHECKPOINTS, rows)
        transformer.train(
            model, sample, UNFREEZE_STEPS, step, "mse", batch=16, rng=2000 + stream, watch=watch
        )
        out[name + "_spectra"] = np.array([row[0] for row in rows])
        out[name + "_floor"] = np.array([row[1] for row in rows])
        out[name + "_mse"] = np.array([row[2] for row in rows])
    return out


def write(path, arrays, facts, seconds):
    """The arrays, compressed, and their card."""
    save(path, arrays)
    facts = {
        "title": facts["title"],
        "keys": facts["keys"],
        "built_by": "data/build/transformer_runs.py",
        "source": "data/moby_dick.txt and the library's edgelaw_app.training.transformer",
        "licence": "MIT (this repository); the text is in the public domain",
        "preprocessing": facts["preprocessing"],
        "run_time_seconds": round(sum(seconds.values()), 1),
        "machine": f"{card.machine('cpu')}, torch {torch.__version__}, 1 thread, processor time",
    }
    card.write(path, facts, "\n# Written by hand\n")
    print(f"Wrote {path.name}, {path.stat().st_size} bytes.")


BODY_FACTS = {
    "title": "A Transformer of two blocks trained on ten chapters of Moby-Dick, in eight bits",
    "keys": [
        "NAME.weight, NAME.weight.scale: int8 matrix and one float32 factor per row",
        "heads: attention heads",
        "losses: cross-entropy of every training step's batch",
        f"spectra: covariance eigenvalues of the unrounded model after {BODY_CHECKPOINTS} steps",
    ],
    "preprocessing": [
        f"width {BODY['width']}, depth {BODY['depth']}, {HEADS} heads, contexts of {LENGTH} characters, "
        "weights from seed 0",
        f"Adam, rate {RATE}, {BODY['steps']} steps of {BODY['batch']} contexts drawn from seed 1, cross-entropy",
        "head left out; every row of a weight matrix rounded to 127 levels either side of zero",
    ],
}
RUNS_FACTS = {
    "title": "Spectra of feature covariances over training: widths, depths, seeds; frozen and unfrozen",
    "keys": [
        f"width_W_depth_D: eigenvalues, (seed, checkpoint, eigenvalue), after {CHECKPOINTS} steps",
        "width_W_depth_D_floor: mean squared error of the best head at the checkpoints",
        "width_W_depth_D_loss: cross-entropy over the last 50 steps",
        f"frozen_*, unfrozen_*: (stream, checkpoint, ...) after {UNFREEZE_CHECKPOINTS} steps: spectra, floor, mse",
        "checkpoints, unfreeze_checkpoints: the steps",
    ],
    "preprocessing": [
        f"sweep: Adam, rate {RATE}, batches of {SWEEP_BATCH} contexts, {SWEEP_STEPS} steps, "
        "weights from seed s, batches from 1000 + s",
        f"covariances over the {SAMPLE} contexts drawn from seed {SAMPLE_SEED}, forward pass in float64",
        "unfreezing: from the shipped body and a zero head, SGD at 1/λmax on the mean squared error of the same "
        "contexts, batches of 16 from seed 2000 + stream",
        "eigenvalues rounded to float32",
    ],
}


def main(arguments=None):
    """Parse the command line; compute what is missing; write what is complete."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", default="all", choices=["all", "body", "sweep", "unfreeze"])
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--out", type=Path, default=sweeps.DATA)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    folder = options.cache / "transformer"
    if options.part in ("all", "body"):
        parts, seconds = sweeps.computed({"body": body}, folder / "body", "body")
        write(options.out / "transformer_body.npz", parts["body"], BODY_FACTS, seconds)
    trained, unfrozen = {}, {}
    if options.part in ("all", "sweep"):
        trained = {
            f"sweep_{w}_{d}_{s}": functools.partial(sweep, w, d, s) for s in range(SEEDS) for w, d in SWEEP
        }
    if options.part in ("all", "unfreeze"):
        unfrozen = {f"unfreeze_{stream}": functools.partial(unfreeze, stream) for stream in range(STREAMS)}
    parts, seconds = sweeps.computed(trained, folder / "sweep", "sweep")
    more, more_seconds = sweeps.computed(unfrozen, folder / "unfreeze", "unfreeze")
    if options.part == "all":
        path = options.out / "transformer_runs.npz"
        write(path, gathered(parts | more), RUNS_FACTS, seconds | more_seconds)


def gathered(runs):
    """All runs as the arrays that ship."""
    out = {"checkpoints": np.array(CHECKPOINTS), "unfreeze_checkpoints": np.array(UNFREEZE_CHECKPOINTS)}
    for width, depth in SWEEP:
        here, name = (
            [runs[f"sweep_{width}_{depth}_{s}"] for s in range(SEEDS)],
            f"width_{width}_depth_{depth}",
        )
        out[name] = np.array([run["spectra"] for run in here], dtype=np.float32)
        out[name + "_floor"] = np.array([run["floor"] for run in here], dtype=np.float32)
        out[name + "_loss"] = np.array([run["loss"] for run in here], dtype=np.float32)
    for kind in ("frozen", "unfrozen"):
        for what in ("spectra", "floor", "mse"):
            here = [runs[f"unfreeze_{stream}"][f"{kind}_{what}"] for stream in range(STREAMS)]
            out[f"{kind}_{what}"] = np.array(here, dtype=np.float32)
    return out


if __name__ == "__main__":
    main()
