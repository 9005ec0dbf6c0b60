"""Private names of the modules of `tf.contrib.learn`'s canned estimators."""

from __future__ import annotations

from dataflow.contrib.learn.canned_models import (
    combined_model_fn as _dnn_linear_combined_model_fn,
    dnn_model_fn as _dnn_model_fn,
    embedding_variable as _get_embedding_variable,
    linear_model_fn as _linear_model_fn,
)

__all__ = [
    "_dnn_linear_combined_model_fn",
    "_dnn_model_fn",
    "_get_embedding_variable",
    "_linear_model_fn",
]
