"""The engine of flip_flop on any spectrum."""

from importlib import import_module


def __getattr__(name):
    at = {
        "probe_curve": ("exact.flip_flop.labels", "curve"),
        "floor": ("exact.flip_flop.labels", "floor"),
    }.get(name, ("theory.flip_flop", {"constants": "population_constants"}.get(name, name)))
    return getattr(import_module(f"edgelaw.{at[0]}"), at[1])
