"""Older names of layers in ``tensorflow.python.layers``."""

from __future__ import annotations

from dataflow.layers import (
    BatchNormalization as BatchNorm,
    batch_normalization as batch_norm,
    dense as fully_connected,
)

__all__ = ["BatchNorm", "batch_norm", "fully_connected"]
