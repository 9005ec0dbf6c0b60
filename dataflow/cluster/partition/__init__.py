"""Cutting a graph: which task runs which node, and what they send each other."""
