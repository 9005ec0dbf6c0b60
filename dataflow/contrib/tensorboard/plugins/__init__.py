"""``tf.contrib.tensorboard.plugins``."""

from dataflow.contrib.tensorboard.plugins import projector

__all__ = ["projector"]
