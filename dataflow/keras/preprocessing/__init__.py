"""`tf.keras.preprocessing`: sequences and texts as arrays."""

from __future__ import annotations

from dataflow.keras.preprocessing import sequence, text

__all__ = ["sequence", "text"]
