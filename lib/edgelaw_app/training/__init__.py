"""PyTorch: samplers in every order, linear probes, a small Transformer; importing the package itself loads nothing."""
