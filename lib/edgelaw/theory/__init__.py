"""Learning curves in theory: one module a sample order, the same functions in each."""
