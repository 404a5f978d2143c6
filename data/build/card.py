"""Data cards: Markdown whose front part, between two lines of ``+++``, is TOML that a program can read."""

import json
import platform
import tomllib
from pathlib import Path

from resumable import atomic, sha256

FENCE = "+++\n"


def split(text):
    """A card's facts (a dictionary) and its prose."""
    _, front, prose = text.split(FENCE, 2)
    return tomllib.loads(front), prose


def _toml(facts):
    """TOML for a flat dictionary of strings, numbers and lists of them, then its lists of tables."""
    lines, tables = [], []
    for key, value in facts.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            for entry in value:
                tables += ["", f"[[{key}]]", *(f"{k} = {_value(v)}" for k, v in entry.items())]
        elif isinstance(value, list):
            lines += [f"{key} = [", *(f"  {_value(item)}," for item in value), "]"]
        else:
            lines.append(f"{key} = {_value(value)}")
    return "\n".join([*lines, *tables]) + "\n"


def _value(value):
    """A TOML value; JSON's strings and numbers are TOML's."""
    return json.dumps(value, ensure_ascii=False)


def inputs(packages):
    """The card's account of the packages that went in."""
    return [
        {
            "package": package.name,
            "registry": package.registry,
            "version": package.version,
            "file": package.file,
            "sha256": package.sha256,
            "licence": package.licence,
        }
        for package in packages
    ]


def machine(device):
    """What the model ran on, in a few words."""
    return f"{device}, {platform.machine()}, Python {platform.python_version()}"


def write(array_path, facts, prose):
    """Write the card beside an array: checksum and size are measured here, prose already there is kept."""
    array_path = Path(array_path)
    path = array_path.with_suffix(".md")
    if path.exists():
        prose = split(path.read_text(encoding="utf-8"))[1]
    facts = {
        "file": array_path.name,
        "bytes": array_path.stat().st_size,
        "sha256": sha256(array_path),
        **facts,
    }
    with atomic(path) as handle:
        handle.write(f"{FENCE}{_toml(facts)}{FENCE}{prose}".encode())
    return path


def write_sweep(array_path, title, source, seed, seconds, keys, prose):
    """Write the card of a sweep that a script of the same name computed from a seed."""
    name = Path(array_path).stem
    facts = {
        "title": title,
        "source": source,
        "licence": "CC BY 4.0",
        "built_by": f"data/build/{name}.py",
        "command": f"OMP_NUM_THREADS=1 python data/build/{name}.py data/{name}.npz",
        "seed": seed,
        "run_time_seconds": round(seconds, 1),
        "machine": machine("cpu") + ", processor time on one core",
        "keys": keys,
    }
    return write(array_path, facts, prose)
