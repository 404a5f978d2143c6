"""What must come out: the losses of each sample order in closed form, one module an order."""
