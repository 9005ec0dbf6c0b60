"""``tf.contrib.nccl``."""

from __future__ import annotations

from dataflow.namespaces import explain_absent
from dataflow.ops.nccl import all_max, all_min, all_prod, all_sum, broadcast, reduce_sum

__all__ = ["all_max", "all_min", "all_prod", "all_sum", "broadcast", "reduce_sum"]

__getattr__ = explain_absent(__name__)
