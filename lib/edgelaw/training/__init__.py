"""PyTorch: samplers in every order, linear probes, a small Transformer.

Importing this package loads nothing; each of its modules imports torch.
"""
