"""Loads every kernel file, so that the registry is complete."""
