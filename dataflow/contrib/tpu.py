"""``tf.contrib.tpu``: estimators and optimizers of programs that also run without a TPU."""

from __future__ import annotations

from dataflow.estimator.tpu import (
    InputPipelineConfig,
    RunConfig,
    TPUConfig,
    TPUEstimator,
    TPUEstimatorSpec,
)
from dataflow.namespaces import explain_absent
from dataflow.tpu import CrossShardOptimizer, bfloat16_scope, cross_replica_sum

__all__ = [
    "CrossShardOptimizer",
    "InputPipelineConfig",
    "RunConfig",
    "TPUConfig",
    "TPUEstimator",
    "TPUEstimatorSpec",
    "bfloat16_scope",
    "cross_replica_sum",
]

__getattr__ = explain_absent(__name__)
