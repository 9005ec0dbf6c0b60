"""`tf.keras.preprocessing`: sequences of one length."""

from __future__ import annotations

from dataflow.keras.preprocessing import sequence

__all__ = ["sequence"]
