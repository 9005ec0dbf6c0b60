"""`tf.keras.experimental`: the part of it that course code uses."""

from dataflow.keras.layers.features import SequenceFeatures

__all__ = ["SequenceFeatures"]
