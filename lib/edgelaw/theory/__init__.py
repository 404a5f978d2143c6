"""Exact and asymptotic learning curves: one file an order, and what they share."""
