"""Noisy targets and labels: learning curves of rows with targets, floors, schedules, and early stopping as a filter."""

from edgelaw.theory.noise.curves import LabelCurve
from edgelaw.theory.noise.floors import (
    Floor,
    cycle_floor,
    filter_factors,
    iid_floor,
    matching_ridge,
    ridge_factors,
)
from edgelaw.theory.noise.rows import HeldOut, LabelledRows

__all__ = [
    "Floor",
    "HeldOut",
    "LabelCurve",
    "LabelledRows",
    "cycle_floor",
    "filter_factors",
    "iid_floor",
    "matching_ridge",
    "ridge_factors",
]
