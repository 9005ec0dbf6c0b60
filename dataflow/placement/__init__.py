"""Placement: which device each node of a plan runs on."""
