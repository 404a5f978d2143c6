"""How large a cell is: rows that divide neither by the batch size nor by two processes, and where it is broken off."""

ROWS, BATCH, EPOCHS = 23, 2, 3
RANKS, WORKERS = (1, 2), (0, 2)


def saved(ranks):
    """The step after which a place is saved, from 1: the fourth of the second epoch.

    For two processes two steps of that epoch are left, so that a loader with workers has read it to its end by then.
    """
    return -(-ROWS // (BATCH * ranks)) + 4


def broken_off(ranks):
    """The step that is not taken any more."""
    return saved(ranks) + 2
