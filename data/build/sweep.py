"""One harness for every sweep: its command line, its finished cells on disk, its arrays and its card."""

import argparse
import hashlib
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import card
import numpy as np
import resumable

BUILD = Path(__file__).resolve().parent
DATA = BUILD.parent


@dataclass(frozen=True)
class Sweep:
    """What a sweep's card says of it, and how the sweep is run.

    Attributes
    ----------
    name : str
        Of the script ``data/build/<name>.py``, which makes ``data/<name>.npz`` and its card ``data/<name>.md``.
    title, source, prose, licence : str
    seed : int
    keys : list of str
        What the arrays mean; by default their sorted names.
    list_cells : bool
        Whether the card lists the processor seconds of every cell.
    """

    name: str
    title: str
    source: str
    seed: int
    prose: str
    keys: tuple = ()
    licence: str = "CC BY 4.0"
    list_cells: bool = False

    def parser(self, description):
        """The command line that all sweeps share; a script may add to it."""
        layout = argparse.RawDescriptionHelpFormatter
        parser = argparse.ArgumentParser(description=description, formatter_class=layout)
        file = f"{self.name}.npz"
        parser.add_argument("output", type=Path, nargs="?", default=DATA / file, help=f"default: data/{file}")
        parser.add_argument(
            "--seconds",
            type=float,
            default=np.inf,
            metavar="S",
            help="stop after so many of processor time; the same command continues (default: go to the end)",
        )
        return parser

    def run(self, options, cells, gather):
        """Compute every cell that is not there yet, then write arrays and card, each whole or not at all.

        Finished cells stay in a folder beside the output, ``<output>.parts``, until the output is written, so that an
        interrupted run continues. An edited script starts anew.

        Parameters
        ----------
        options : argparse.Namespace
            From `parser`.
        cells : dict
            From a cell's name to a function without arguments that gives a dictionary of arrays.
        gather : callable
            From ``{cell name: arrays}`` to the arrays that are written.
        """
        folder = options.output.with_suffix(".parts")
        version = hashlib.sha256((BUILD / f"{self.name}.py").read_bytes()).hexdigest()[:16]
        parts, seconds = computed(cells, folder / version, self.name, options.seconds)
        arrays = gather(parts)
        resumable.save(options.output, arrays)
        card.write(options.output, self._facts(arrays, seconds), self.prose)
        shutil.rmtree(folder)
        size = options.output.stat().st_size
        print(f"Wrote {options.output.name} ({size} bytes) and its card: {sum(seconds.values()):.0f} s.")

    def _facts(self, arrays, seconds):
        facts = {
            "title": self.title,
            "source": self.source,
            "licence": self.licence,
            "built_by": f"data/build/{self.name}.py",
            "command": f"OMP_NUM_THREADS=1 python data/build/{self.name}.py data/{self.name}.npz",
            "seed": self.seed,
            "run_time_seconds": round(sum(seconds.values()), 1),
            "machine": f"{card.machine('cpu')}, numpy {np.__version__}, processor time on one core",
            "keys": list(self.keys) or sorted(arrays),
        }
        if self.list_cells:
            facts["parts"] = [f"{name}: {value:.1f} s" for name, value in seconds.items()]
        return facts


def computed(cells, folder, what, limit=np.inf):
    """The arrays of all cells and the processor seconds of each, both by name; finished ones are read from `folder`.

    SystemExit between two cells once this run has spent `limit` seconds of processor time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    until = time.process_time() + limit
    paths = {
        name: folder / f"{number:04d}_{re.sub(r'[^0-9A-Za-z.-]+', '_', name)}.npz"
        for number, name in enumerate(cells, start=1)
    }
    there = {name for name, path in paths.items() if path.exists()}
    parts, seconds, done = {}, {}, len(there)
    with resumable.Progress(len(cells), what) as progress:
        progress.show(done)
        for name, compute in cells.items():
            if time.process_time() >= until and name not in there:
                raise SystemExit("Time is up: start it again to continue.")
            parts[name], seconds[name] = resumable.kept(paths[name], compute)
            done += name not in there
            progress.show(done)
    resumable.tidy(folder)
    return parts, seconds
