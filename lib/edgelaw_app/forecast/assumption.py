"""What a forecast assumes of the targets, and what is known where they have noise."""

ASSUMPTION = (
    "Targets are assumed to be a linear function of the rows, without noise. Real labels have noise: losses then end "
    "at a floor that rises with the step, so that a smaller step or fewer epochs can be better."
)
NOISY_SINGLE_SHUFFLE = (
    "With noisy targets and one row per update, random reshuffle was ahead of single shuffle in every grid that the "
    "book tried."
)


def assumption(order: str) -> str:
    """The assumption, and what noise would change about the recommended order.

    Examples
    --------
    >>> assumption("single_shuffle").endswith("in every grid that the book tried.")
    True
    """
    return f"{ASSUMPTION} {NOISY_SINGLE_SHUFFLE}" if order == "single_shuffle" else ASSUMPTION
