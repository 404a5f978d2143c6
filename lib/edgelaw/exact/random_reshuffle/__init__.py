"""Random reshuffle on any spectrum: an operator on functions of the eigenvalues, applied once per epoch."""
