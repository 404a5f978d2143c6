"""The engine of flip_flop on any spectrum."""
