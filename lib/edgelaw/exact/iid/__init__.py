"""The engine of iid on any spectrum."""

from importlib import import_module


def __getattr__(name):
    at = {"probe_curve": ("exact.iid.labels", "curve"), "floor": ("exact.iid.labels", "floor")}.get(
        name, ("theory.iid", {"constants": "population_constants"}.get(name, name))
    )
    return getattr(import_module(f"edgelaw.{at[0]}"), at[1])
