"""`tf.keras.preprocessing`: images, sequences and texts as arrays."""

from __future__ import annotations

from dataflow.keras.preprocessing import image, sequence, text

__all__ = ["image", "sequence", "text"]
