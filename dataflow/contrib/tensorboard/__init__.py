"""``tf.contrib.tensorboard``."""

from dataflow.contrib.tensorboard import plugins

__all__ = ["plugins"]
