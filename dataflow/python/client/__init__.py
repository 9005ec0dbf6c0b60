"""Modules of ``tensorflow.python.client`` that course code imports."""
