"""``tf.contrib.slim.python.slim``."""

from dataflow.contrib.slim.python.slim import nets

__all__ = ["nets"]
