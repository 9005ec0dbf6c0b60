"""``tf.contrib.staging``."""

from __future__ import annotations

from dataflow.ops.synchronization import StagingArea

__all__ = ["StagingArea"]
