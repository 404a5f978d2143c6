"""The large-dimension theory: one module an order, and the tools they share."""
