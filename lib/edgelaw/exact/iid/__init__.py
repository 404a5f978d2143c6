"""The engine of iid on any spectrum."""
