"""Private names of the modules of `tf.contrib.learn.DynamicRnnEstimator`."""

from __future__ import annotations

from dataflow.contrib.learn.dynamic_rnn import (
    dynamic_rnn_model_fn as _get_dynamic_rnn_model_fn,
    output_alternatives as _get_output_alternatives,
)
from dataflow.contrib.learn.rnn_parts import eval_metric_ops, state_name as _get_state_name

__all__ = [
    "_get_dynamic_rnn_model_fn",
    "_get_output_alternatives",
    "_get_state_name",
    "get_eval_metric_ops",
]

get_eval_metric_ops = eval_metric_ops
