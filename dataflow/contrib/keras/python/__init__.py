"""``tf.contrib.keras.python``: the longer paths of `tf.contrib.keras`."""

from dataflow.contrib.keras.python import keras

__all__ = ["keras"]
