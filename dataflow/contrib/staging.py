"""``tf.contrib.staging``."""

from __future__ import annotations

from dataflow.namespaces import explain_absent
from dataflow.ops.staging_area import StagingArea

__all__ = ["StagingArea"]

__getattr__ = explain_absent(__name__)
