"""Flip-flop on any spectrum: a two-point boundary problem at each point of a circle."""

from edgelaw.exact.flip_flop.curves import constants, curve, effective_step, population_curve

__all__ = ["constants", "curve", "effective_step", "population_curve"]
