"""``tf.contrib.slim.python``: the longer paths of `tf.contrib.slim`."""

from dataflow.contrib.slim.python import slim

__all__ = ["slim"]
