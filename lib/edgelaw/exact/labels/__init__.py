"""Rows with targets: what their losses need, floors of a constant step, schedules, and early stopping as a filter.

:func:`edgelaw.exact.probe_curve` computes the curves of an order from the `LabelledRows` made here.
"""

from edgelaw.exact.labels.curves import LabelCurve, LabelFloor
from edgelaw.exact.labels.floors import (
    Floor,
    cycle_floor,
    filter_factors,
    iid_floor,
    matching_ridge,
    ridge_factors,
)
from edgelaw.exact.labels.parts import Parts, best_steps, leader, recorded_parts, signal_and_noise
from edgelaw.exact.labels.rows import HeldOut, LabelledRows
from edgelaw.exact.labels.schedules import Tuned, best_schedule, best_step

__all__ = [
    "Floor",
    "HeldOut",
    "LabelCurve",
    "LabelFloor",
    "LabelledRows",
    "Parts",
    "Tuned",
    "best_schedule",
    "best_step",
    "best_steps",
    "cycle_floor",
    "filter_factors",
    "iid_floor",
    "leader",
    "matching_ridge",
    "recorded_parts",
    "ridge_factors",
    "signal_and_noise",
]
