"""The ops, one file for each family: shape rule, docstring and gradient. Kernels live elsewhere."""
