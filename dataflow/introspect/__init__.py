"""Graphs, runs and devices as plain dictionaries, for widgets and reports."""
