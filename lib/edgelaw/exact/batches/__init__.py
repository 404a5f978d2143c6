"""Engines for averaged batches of rows, one module per order, and how an epoch is cut into batches."""
