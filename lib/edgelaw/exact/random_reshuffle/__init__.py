"""Random reshuffle on any spectrum: an operator on functions of the eigenvalues, applied once per epoch."""

from edgelaw.exact.random_reshuffle.curves import constants, curve, effective_step, population_curve
from edgelaw.exact.random_reshuffle.labels import curve as probe_curve
from edgelaw.exact.random_reshuffle.labels import floor

__all__ = ["constants", "curve", "effective_step", "floor", "population_curve", "probe_curve"]
