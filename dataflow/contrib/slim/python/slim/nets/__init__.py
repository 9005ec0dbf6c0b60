"""``tf.contrib.slim.python.slim.nets``: ``from ... import inception_v3`` as course code has it."""

from dataflow.contrib.slim.nets import inception, inception_v3

__all__ = ["inception", "inception_v3"]
