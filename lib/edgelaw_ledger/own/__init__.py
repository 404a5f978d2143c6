"""What the book's own sentences compare, by subject: checks, and what the expressions of tables call."""
