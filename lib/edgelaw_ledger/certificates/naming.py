"""What the parts of the catalogue share: steps, names, and the rounding that the library is allowed."""

from fractions import Fraction

STEPS = (Fraction(1), Fraction(1, 4), Fraction(1, 2), Fraction(3, 2))
EPOCHS = (1, 10, 1000)
NAMES = {
    "single_shuffle": "single shuffle",
    "iid": "IID",
    "flip_flop": "flip-flop",
    "random_reshuffle": "random reshuffle",
}
LOSSES = ("test", "train")
LOSS_NAMES = {"test": "test", "train": "training"}
CLOSED = 1e-14  # relative rounding of a few operations on a closed form
ITERATED = 5e-14  # of a loss that the library sums or integrates
SOLVED = 1e-13  # of what it gets from an integral equation
