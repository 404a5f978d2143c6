"""Single shuffle on any spectrum: diagonal coefficients of a generating function of two variables."""
