"""Model functions of the canned estimators of `tf.contrib.learn`: deep, linear, and both together.

Each takes ``(features, labels, mode, params, config)``; ``params`` has the head and what the
constructors of `tf.contrib.learn.canned` were given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from dataflow.autodiff.gradients import gradients
from dataflow.contrib.column_inputs import input_from_feature_columns
from dataflow.contrib.feature_column_sums import (
    joint_weighted_sum_from_feature_columns,
    weighted_sum_from_feature_columns,
)
from dataflow.contrib.feature_columns import UNNAMED
from dataflow.contrib.layers import dropout as dropout_layer, fully_connected
from dataflow.contrib.learn.model_fn import ModelFnOps
from dataflow.contrib.learn.modes import ModeKeys
from dataflow.contrib.learn.sdca_models import sdca_model_fn
from dataflow.contrib.linear_optimizer import SDCAOptimizer
from dataflow.contrib.optimize_loss import optimize_loss
from dataflow.estimator.canned import activation_summaries, optimizer_instance
from dataflow.feature_column.embedding import EmbeddingColumn
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.ops.activation import relu
from dataflow.ops.clip import clip_by_global_norm
from dataflow.ops.control_flow import group
from dataflow.ops.partitioners import min_max_variable_partitioner
from dataflow.ops.variable_scope import variable_scope
from dataflow.train.global_step import get_global_step

_DEEP_RATE = 0.05
_LINEAR_RATE = 0.2
_SLICE_BYTES = 64 << 20


def _named(features: Any) -> dict[str, Any]:
    return features if isinstance(features, dict) else {UNNAMED: features}


def _partitioner(config: Any, min_slice_bytes: int | None) -> Any:
    """Cuts large variables among the parameter servers."""
    num_ps = max(config.num_ps_replicas if config is not None else 0, 1)
    return min_max_variable_partitioner(num_ps, min_slice_size=min_slice_bytes or _SLICE_BYTES)


def _deep_logits(features: Any, mode: str, dimension: int, params: Any, config: Any) -> Tensor:
    """Fully connected layers on the columns, in the scope "dnn", and its collection."""
    cut = _partitioner(config, params.get("input_layer_min_slice_size"))
    values = list(features.values())
    with variable_scope("input_from_feature_columns", values=values, partitioner=cut) as scope:
        net = input_from_feature_columns(
            features, params["feature_columns"], weight_collections=["dnn"], scope=scope
        )
    cut = _partitioner(config, None)
    dropout = params.get("dropout")
    for i, width in enumerate(params["hidden_units"]):
        with variable_scope(f"hiddenlayer_{i}", values=[net], partitioner=cut) as scope:
            net = fully_connected(
                net,
                width,
                activation_fn=params.get("activation_fn", relu),
                variables_collections=["dnn"],
                scope=scope,
            )
            if dropout is not None and mode == ModeKeys.TRAIN:
                net = dropout_layer(net, keep_prob=1.0 - dropout)
        activation_summaries(net, scope.name)
    with variable_scope("logits", values=[net], partitioner=cut) as scope:
        logits: Tensor = fully_connected(
            net, dimension, activation_fn=None, variables_collections=["dnn"], scope=scope
        )
    activation_summaries(logits, scope.name)
    return logits


def _linear_logits(
    features: Any, dimension: int, columns: Sequence[Any], joint: bool, scope: Any
) -> Tensor:
    """Weighted sums of the columns, in ``scope``; all variables are in the collection "linear"."""
    weigh = joint_weighted_sum_from_feature_columns if joint else weighted_sum_from_feature_columns
    return weigh(features, columns, dimension, weight_collections=["linear"], scope=scope)[0]


def _linear_rate(columns: Sequence[Any]) -> float:
    return min(_LINEAR_RATE, 1.0 / math.sqrt(max(len(columns), 1)))


def _optimizer(given: Any, name: str) -> Any:
    """What `optimize_loss` takes: an optimizer, its name, or a function of the rate that makes it."""
    if given is None or isinstance(given, str):
        return given or name
    return (lambda rate: given()) if callable(given) else given


def embedding_multipliers(multipliers: Any, scope: str) -> dict[Any, Any] | None:
    """Variable -> factor of its gradients, for embedding columns that have one.

    Raises `ValueError` for another kind of column.
    """
    found: dict[Any, Any] = {}
    for column, factor in (multipliers or {}).items():
        if not isinstance(column, EmbeddingColumn):
            raise ValueError(
                "learning rate multipler can only be defined for embedding columns. "
                f"It is defined for {column}"
            )
        found.update((v, factor) for v in embedding_variable(column, "dnn", scope))
    return found or None


def embedding_variable(column: Any, collection_key: str, scope: str) -> list[Any]:
    """The variables of an embedding column in the input layer ``scope``."""
    return default_graph().get_collection(collection_key, f"{scope}/{column.name}")


def _train(
    loss: Tensor,
    optimizer: Any,
    rate: float,
    name: str,
    clip: float | None,
    counts: bool = True,
    variables: Any = None,
    multipliers: Any = None,
) -> Any:
    """The op that minimizes the loss by one part's variables; it ``counts`` the global step."""
    return optimize_loss(
        loss,
        get_global_step(),
        learning_rate=rate,
        optimizer=optimizer,
        gradient_multipliers=multipliers,
        clip_gradients=clip,
        variables=variables,
        increment_global_step=counts,
        name=name,
        summaries=[],
    )


def dnn_model_fn(
    features: Any, labels: Any, mode: str, params: Any, config: Any = None
) -> ModelFnOps:
    """A deep network; Adagrad with 0.05 by default."""
    head = params["head"]
    features = _named(features)
    optimizer = _optimizer(params.get("optimizer"), "Adagrad")
    clip = params.get("gradient_clip_norm")

    def train_op_fn(loss: Tensor) -> Any:
        factors = embedding_multipliers(
            params.get("embedding_lr_multipliers"), "dnn/input_from_feature_columns"
        )
        return _train(loss, optimizer, _DEEP_RATE, "dnn", clip, multipliers=factors)

    with variable_scope("dnn", values=list(features.values())):
        logits = _deep_logits(features, mode, head.logits_dimension, params, config)
        return head.create_model_fn_ops(  # type: ignore[no-any-return]
            features=features, mode=mode, labels=labels, train_op_fn=train_op_fn, logits=logits
        )


def linear_model_fn(
    features: Any, labels: Any, mode: str, params: Any, config: Any = None
) -> ModelFnOps:
    """A linear model; Ftrl with min(0.2, 1/sqrt(number of columns)) by default, or dual coordinate ascent."""
    if isinstance(params.get("optimizer"), SDCAOptimizer):
        return sdca_model_fn(features, labels, mode, params, config)
    head, columns = params["head"], list(params["feature_columns"])
    features = _named(features)
    cut = _partitioner(config, None)
    with variable_scope("linear", values=list(features.values()), partitioner=cut) as scope:
        joint = bool(params.get("joint_weights"))
        logits = _linear_logits(features, head.logits_dimension, columns, joint, scope)

        def train_op_fn(loss: Tensor) -> Any:
            variables = default_graph().get_collection("linear")
            grads = gradients(loss, variables)
            if params.get("gradient_clip_norm"):
                grads, _ = clip_by_global_norm(grads, params["gradient_clip_norm"])
            pairs = list(zip(grads, variables, strict=True))
            made = optimizer_instance(params.get("optimizer") or "Ftrl", _linear_rate(columns))
            return made.apply_gradients(pairs, global_step=get_global_step())

        return head.create_model_fn_ops(  # type: ignore[no-any-return]
            features=features, mode=mode, labels=labels, train_op_fn=train_op_fn, logits=logits
        )


def combined_model_fn(
    features: Any, labels: Any, mode: str, params: Any, config: Any = None
) -> ModelFnOps:
    """Wide and deep: the sum of both models' logits, each part with its own optimizer.

    Raises `ValueError` where neither part has columns, and for a deep part without layers.
    """
    head = params["head"]
    features = _named(features)
    linear = list(params.get("linear_feature_columns") or ())
    deep = list(params.get("dnn_feature_columns") or ())
    if not linear and not deep:
        raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")
    parts = []
    if deep:
        if not params.get("dnn_hidden_units"):
            raise ValueError(
                "dnn_hidden_units must be defined when dnn_feature_columns is specified"
            )
        own = {
            "feature_columns": deep,
            "hidden_units": params["dnn_hidden_units"],
            "activation_fn": params.get("dnn_activation_fn") or relu,
            "dropout": params.get("dnn_dropout"),
            "input_layer_min_slice_size": params.get("input_layer_min_slice_size"),
        }
        with variable_scope("dnn", values=list(features.values())):
            parts.append(_deep_logits(features, mode, head.logits_dimension, own, config))
    if linear:
        cut = _partitioner(config, None)
        with variable_scope("linear", values=list(features.values()), partitioner=cut) as scope:
            joint = bool(params.get("joint_linear_weights"))
            parts.append(_linear_logits(features, head.logits_dimension, linear, joint, scope))
            activation_summaries(parts[-1], "linear")
    logits = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    train = _train_of_both(params, bool(deep), linear)
    return head.create_model_fn_ops(  # type: ignore[no-any-return]
        features=features, mode=mode, labels=labels, train_op_fn=train, logits=logits
    )


def _train_of_both(params: Any, deep: bool, linear: Sequence[Any]) -> Callable[..., Any]:
    clip = params.get("gradient_clip_norm")

    def train_op_fn(loss: Tensor) -> Any:
        steps = []
        if deep:
            optimizer = _optimizer(params.get("dnn_optimizer"), "Adagrad")
            factors = embedding_multipliers(
                params.get("embedding_lr_multipliers"), "dnn/input_from_feature_columns"
            )
            own = default_graph().get_collection("dnn")
            counts = not (linear and params.get("fix_global_step_increment_bug"))
            step = _train(loss, optimizer, _DEEP_RATE, "dnn", clip, counts, own, factors)
            steps.append(step)
        if linear:
            optimizer = _optimizer(params.get("linear_optimizer"), "Ftrl")
            own = default_graph().get_collection("linear")
            steps.append(_train(loss, optimizer, _linear_rate(linear), "linear", clip, True, own))
        return group(*steps)

    return train_op_fn
