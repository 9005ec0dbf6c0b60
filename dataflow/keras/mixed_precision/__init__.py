"""`tf.keras.mixed_precision`."""

from dataflow.keras.mixed_precision import experimental

__all__ = ["experimental"]
