"""``tf.train.experimental``: scaled losses, and Python's state in checkpoints of objects."""

from dataflow.namespaces import explain_absent
from dataflow.ops.trackable import PythonState
from dataflow.train.loss_scale import DynamicLossScale, FixedLossScale, LossScale
from dataflow.train.loss_scale_optimizer import MixedPrecisionLossScaleOptimizer
from dataflow.train.mixed_precision import (
    disable_mixed_precision_graph_rewrite,
    enable_mixed_precision_graph_rewrite,
)

__all__ = [
    "DynamicLossScale",
    "FixedLossScale",
    "LossScale",
    "MixedPrecisionLossScaleOptimizer",
    "PythonState",
    "disable_mixed_precision_graph_rewrite",
    "enable_mixed_precision_graph_rewrite",
]

__getattr__ = explain_absent(__name__)
