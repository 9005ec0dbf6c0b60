"""Generated kernels: chains of element-wise ops computed in one pass over memory."""
