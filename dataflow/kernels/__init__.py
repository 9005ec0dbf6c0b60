"""Kernels: one body per op, written against ``xp`` (NumPy or CuPy). They never see the graph."""
