"""PyTorch: samplers in every order, linear probes, a small Transformer. Imported only when needed."""
