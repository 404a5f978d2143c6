"""Data cards: Markdown whose front part, between two lines of ``+++``, is TOML that a program can read."""

import platform
import tomllib
from pathlib import Path

import tomli_w
from resumable import sha256

from edgelaw_app import atomic

FENCE = "+++\n"


def split(text):
    """A card's facts (a dictionary) and its prose."""
    _, front, prose = text.split(FENCE, 2)
    return tomllib.loads(front), prose


def joined(facts, prose):
    """The text of a card: the reverse of `split`."""
    return f"{FENCE}{tomli_w.dumps(facts, indent=2)}{FENCE}{prose}"


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
    atomic.write(path, joined(facts, prose))
    return path
