"""Functions that give the logits of the canned models, for models that combine them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from dataflow.estimator.canned import dnn_logits, linear_logits
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike


def call_logit_fn(
    logit_fn: Callable[..., Any], features: Any, mode: Any, params: TensorLike, config: Any
) -> Any:
    """Calls ``logit_fn(features=...)`` with those of mode, params and config that it takes; returns the logits.

    Raises `ValueError` where it takes no features, or gives neither a tensor nor a dict of tensors.
    """
    names = inspect.signature(logit_fn).parameters
    given = {"mode": mode, "params": params, "config": config}
    if "features" not in names:
        raise ValueError(f"logit_fn must take features, it takes {list(names)}")
    wanted = {name: value for name, value in given.items() if name in names}
    logits = logit_fn(features=features, **wanted)
    parts = logits.values() if isinstance(logits, dict) else [logits]
    if not all(isinstance(part, Tensor) for part in parts):
        raise ValueError(
            f"logit_fn should return a Tensor or a dictionary of Tensors, got {logits}"
        )
    return logits


def dnn_logit_fn_builder(
    units: int,
    hidden_units: Any,
    feature_columns: Sequence[Any],
    activation_fn: Callable[..., Any],
    dropout: Any,
    input_layer_partitioner: Any,
    batch_norm: bool,
) -> Callable[..., Tensor]:
    """A function of features and mode: the logits [batch, units] of fully connected layers.

    Arguments are those of `tf.estimator.DNNClassifier`. Raises `ValueError` for units that are no whole number.
    """
    if not isinstance(units, int):
        raise ValueError(f"units must be an int. Given type: {type(units)}")

    def dnn_logit_fn(features: Any, mode: str) -> Tensor:
        return dnn_logits(
            features, mode, units, hidden_units, feature_columns,
            activation_fn, dropout, batch_norm, input_layer_partitioner,
        )  # fmt: skip

    return dnn_logit_fn


def linear_logit_fn_builder(
    units: int, feature_columns: Sequence[Any], sparse_combiner: str = "sum"
) -> Callable[..., Tensor]:
    """A function of features: the logits [batch, units] of a linear model of the columns."""

    def linear_logit_fn(features: Any) -> Tensor:
        return linear_logits(features, units, feature_columns, sparse_combiner)

    return linear_logit_fn
