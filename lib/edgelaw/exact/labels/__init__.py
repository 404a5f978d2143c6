"""Noisy targets and labels: learning curves of rows with targets, floors, schedules, and early stopping as a filter."""

from edgelaw.exact.flip_flop import labels as flip_flop
from edgelaw.exact.iid import labels as iid
from edgelaw.exact.labels import schedules
from edgelaw.exact.labels.curves import LabelCurve, LabelFloor
from edgelaw.exact.labels.floors import (
    Floor,
    cycle_floor,
    filter_factors,
    iid_floor,
    matching_ridge,
    ridge_factors,
)
from edgelaw.exact.labels.parts import Parts, best_steps, leader, signal_and_noise
from edgelaw.exact.labels.recorded import recorded_parts
from edgelaw.exact.labels.rows import HeldOut, LabelledRows
from edgelaw.exact.labels.schedules import Tuned, best_schedule, best_step
from edgelaw.exact.random_reshuffle import labels as random_reshuffle
from edgelaw.exact.single_shuffle import labels as single_shuffle

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
    "flip_flop",
    "iid",
    "iid_floor",
    "leader",
    "matching_ridge",
    "random_reshuffle",
    "recorded_parts",
    "ridge_factors",
    "schedules",
    "signal_and_noise",
    "single_shuffle",
]
