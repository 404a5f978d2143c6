"""The engine of single_shuffle on any spectrum."""
