"""The engine of single_shuffle on any spectrum."""

from importlib import import_module


def __getattr__(name):
    at = {
        "probe_curve": ("exact.single_shuffle.labels", "curve"),
        "floor": ("exact.single_shuffle.labels", "floor"),
    }.get(name, ("theory.single_shuffle", {"constants": "population_constants"}.get(name, name)))
    return getattr(import_module(f"edgelaw.{at[0]}"), at[1])
