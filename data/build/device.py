"""Which processor torch runs on."""

import torch

CHOICES = ("auto", "cpu", "cuda", "mps")


def available():
    """The devices of this machine, the fastest first."""
    have = ["cuda"] if torch.cuda.is_available() else []
    return [*have, *(["mps"] if torch.backends.mps.is_available() else []), "cpu"]


def pick(name):
    """The device called `name`; "auto" is the fastest there is, and one that is not there is refused."""
    have = available()
    if name == "auto":
        return have[0]
    if name not in have:
        raise SystemExit(f"This machine has no {name}; it has {', '.join(have)}.")
    return name
