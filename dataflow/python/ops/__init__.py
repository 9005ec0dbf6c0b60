"""Modules of ``tensorflow.python.ops`` that course code imports."""
