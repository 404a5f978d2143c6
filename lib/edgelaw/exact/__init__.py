"""Learning curves on any spectrum, with batches and labels: one door, and one room per order behind it."""
