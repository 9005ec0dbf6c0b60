"""Paths that course code imports from TensorFlow's insides (``tensorflow.python...``)."""
