"""Flip-flop on any spectrum: a two-point boundary problem at each point of a circle."""
