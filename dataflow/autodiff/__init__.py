"""Automatic differentiation: gradients of graphs, tapes of eager code, and subgraphs that run compiled."""
