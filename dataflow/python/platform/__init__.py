"""Modules of ``tensorflow.python.platform`` that course code imports."""
