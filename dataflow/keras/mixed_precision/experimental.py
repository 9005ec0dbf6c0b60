"""`tf.keras.mixed_precision.experimental`: layers that compute in half precision, with float32 variables."""

from __future__ import annotations

from dataflow.keras.loss_scale_optimizer import LossScaleOptimizer
from dataflow.keras.precision_policies import Policy, global_policy, set_policy

__all__ = ["LossScaleOptimizer", "Policy", "global_policy", "set_policy"]
