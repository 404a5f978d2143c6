"""Checks of the book's own sentences, by subject."""
