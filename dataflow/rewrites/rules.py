"""Loads every file of rules, so that the table is complete."""

from dataflow.rewrites import algebra, layout, neural  # noqa: F401
