"""The engine of random_reshuffle on any spectrum."""
