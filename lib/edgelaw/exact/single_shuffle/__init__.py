"""Single shuffle on any spectrum: diagonal coefficients of a generating function of two variables."""

from edgelaw.exact.single_shuffle.curves import constants, curve, effective_step, population_curve
from edgelaw.exact.single_shuffle.labels import curve as probe_curve
from edgelaw.exact.single_shuffle.labels import floor

__all__ = ["constants", "curve", "effective_step", "floor", "population_curve", "probe_curve"]
