"""Engines of random reshuffle with labels: starts of any kind, and what residuals add in an epoch."""
