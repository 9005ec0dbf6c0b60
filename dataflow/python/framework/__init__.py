"""Modules of ``tensorflow.python.framework`` that course code imports."""
