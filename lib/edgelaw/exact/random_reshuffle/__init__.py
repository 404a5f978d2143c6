"""The engine of random_reshuffle on any spectrum."""

from importlib import import_module


def __getattr__(name):
    at = {
        "probe_curve": ("exact.random_reshuffle.labels", "curve"),
        "floor": ("exact.random_reshuffle.labels", "floor"),
    }.get(name, ("theory.random_reshuffle", {"constants": "population_constants"}.get(name, name)))
    return getattr(import_module(f"edgelaw.{at[0]}"), at[1])
