"""Noisy targets and labels: learning curves of rows with targets, floors, schedules, and early stopping as a filter."""

from edgelaw.theory.noise import flip_flop, iid, random_reshuffle, schedules, single_shuffle
from edgelaw.theory.noise._curves import LabelCurve, LabelFloor
from edgelaw.theory.noise._floors import (
    Floor,
    cycle_floor,
    filter_factors,
    iid_floor,
    matching_ridge,
    ridge_factors,
)
from edgelaw.theory.noise._parts import Parts, best_steps, leader, signal_and_noise
from edgelaw.theory.noise._recorded import recorded_parts
from edgelaw.theory.noise._rows import HeldOut, LabelledRows
from edgelaw.theory.noise.schedules import Tuned, best_schedule, best_step

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
