"""What the canned estimators are made of: a deep part, a linear part, their optimizers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from dataflow import dtypes
from dataflow.estimator.heads import Head
from dataflow.estimator.model_fn import EstimatorSpec, ModeKeys
from dataflow.feature_column.layers import (
    input_layer_of_estimators,
    linear_model_of_estimators,
)
from dataflow.graph import nest
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.layers.core import dense, dropout as dropout_layer
from dataflow.layers.normalization import batch_normalization
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.control_flow import group
from dataflow.ops.graph_functions import control_dependencies, name_scope
from dataflow.ops.initializers import glorot_uniform_initializer, zeros_initializer
from dataflow.ops.moments import zero_fraction
from dataflow.ops.partitioners import min_max_variable_partitioner
from dataflow.ops.seeds import count_left_out
from dataflow.ops.state import assign_add
from dataflow.ops.summary import histogram, scalar
from dataflow.ops.sums import add_n
from dataflow.ops.variable_scope import get_variable, variable_scope
from dataflow.train.adagrad import AdagradOptimizer
from dataflow.train.adam import AdamOptimizer
from dataflow.train.ftrl import FtrlOptimizer
from dataflow.train.global_step import get_global_step
from dataflow.train.gradient_descent import GradientDescentOptimizer
from dataflow.train.optimizer import Optimizer
from dataflow.train.rmsprop import RMSPropOptimizer

_OPTIMIZERS = {
    "Adagrad": AdagradOptimizer,
    "Adam": AdamOptimizer,
    "Ftrl": FtrlOptimizer,
    "RMSProp": RMSPropOptimizer,
    "SGD": GradientDescentOptimizer,
}


def optimizer_instance(optimizer: Any, learning_rate: float) -> Optimizer:
    """An optimizer from a name (with that learning rate), a function without arguments, or itself.

    Raises `ValueError` for an unknown name or another thing.
    """
    if isinstance(optimizer, str):
        if optimizer not in _OPTIMIZERS:
            raise ValueError(
                f"Unsupported optimizer name: {optimizer}. Supported names are: "
                f"{tuple(sorted(_OPTIMIZERS))}"
            )
        return _OPTIMIZERS[optimizer](learning_rate=learning_rate)  # type: ignore[no-any-return]
    if callable(optimizer):
        optimizer = optimizer()
    if not isinstance(optimizer, Optimizer):
        raise ValueError(f"The given object is not an Optimizer instance. Given: {optimizer}")
    return optimizer


def activation_summaries(value: Tensor, tag: str) -> None:
    scalar(f"{tag}/fraction_of_zero_values", zero_fraction(value))
    histogram(f"{tag}/activation", value)


def _dense(net: Tensor, width: int, activation: Any, name: str) -> Tensor:
    made: Tensor = dense(
        net, width, activation, kernel_initializer=glorot_uniform_initializer(), name=name
    )
    count_left_out(4)  # weights and biases are resource variables: two nodes more for each
    return made


def dnn_logits(
    features: Any,
    mode: str,
    units: int,
    hidden_units: Any,
    feature_columns: Sequence[Any],
    activation_fn: Callable[..., Any],
    dropout: Any,
    batch_norm: bool,
    partitioner: Callable[..., Any],
) -> Tensor:
    """Fully connected layers; to be called in the scope "dnn"."""
    training = mode == ModeKeys.TRAIN
    with variable_scope("input_from_feature_columns", partitioner=partitioner):
        net = input_layer_of_estimators(features, feature_columns)
    for i, width in enumerate(hidden_units):
        name = f"hiddenlayer_{i}"
        net = _dense(net, width, activation_fn, name)
        if dropout is not None and training:
            net = dropout_layer(net, rate=dropout, training=True)
        if batch_norm:
            with variable_scope(name, auxiliary_name_scope=False) as scope:
                scope.set_partitioner(None)  # moving averages are assigned as a whole
                count_left_out(
                    12 if training else 0
                )  # its four variables, and how they are assigned
                net = batch_normalization(
                    net, momentum=0.999, training=training, name=f"batchnorm_{i}"
                )
        activation_summaries(net, f"dnn/{name}")
    logits = _dense(net, units, None, "logits")
    activation_summaries(logits, "dnn/logits")
    return logits


def check_features(features: Any) -> None:
    if not isinstance(features, dict):
        raise ValueError(
            f"features should be a dictionary of `Tensor`s. Given type: {type(features)}"
        )


def ps_partitioner(config: Any, min_slice_bytes: int) -> Any:
    """Cuts large variables among the parameter servers."""
    num_ps = config.num_ps_replicas if config is not None else 0
    return min_max_variable_partitioner(
        max_partitions=max(num_ps, 1), min_slice_size=min_slice_bytes
    )


def _with_updates(make: Callable[[], Any]) -> Any:
    """``make()``, whose ops wait for the moving averages of batch normalization."""
    with control_dependencies(default_graph().get_collection(GraphKeys.UPDATE_OPS)):
        return make()


def dnn_model_fn(
    features: Any,
    labels: Any,
    mode: str,
    head: Head,
    hidden_units: Any,
    feature_columns: Sequence[Any],
    optimizer: Any,
    activation_fn: Callable[..., Any],
    dropout: Any,
    batch_norm: bool,
    partitioner: Any,
    config: Any,
) -> EstimatorSpec:
    """A deep network; Adagrad with 0.05 by default."""
    check_features(features)
    optimizer = optimizer_instance(optimizer, 0.05)
    partitioner = partitioner or ps_partitioner(config, 64 << 20)
    with variable_scope("dnn", values=list(features.values()), partitioner=partitioner):
        logits = dnn_logits(
            features, mode, head.logits_dimension, hidden_units, feature_columns,
            activation_fn, dropout, batch_norm, partitioner,
        )  # fmt: skip
        return head.create_estimator_spec(
            features,
            mode,
            logits,
            labels,
            train_op_fn=lambda loss: _with_updates(
                lambda: optimizer.minimize(loss, global_step=get_global_step())
            ),
        )


def _linear_rate(feature_columns: Sequence[Any], most: float) -> float:
    return min(most, 1.0 / math.sqrt(len(list(feature_columns))))


def linear_logits(
    features: Any,
    units: int,
    feature_columns: Sequence[Any],
    combiner: str,
) -> Tensor:
    """A linear model of the columns, [batch, units], with summaries of its weights."""
    made: dict[Any, Any] = {}
    logits = linear_model_of_estimators(features, feature_columns, units, combiner, made)
    bias = array.concat(made.pop("bias"), 0)
    if units > 1:
        histogram("bias", bias)
    else:
        scalar("bias", bias[0])
    weights = [v for own in made.values() for v in own]
    scalar("fraction_of_zero_weights", fraction_of_zeros(weights))
    return logits


def fraction_of_zeros(variables: Any) -> Tensor:
    """The fraction of zeros in all ``variables`` together, float32 []; ``variables``: a nesting of them."""
    with name_scope("zero_fraction"):
        leaves = nest.flatten(variables)
        sizes = [cast(array.size(v), dtypes.float32) for v in leaves]
        zeros = [zero_fraction(v) * n for v, n in zip(leaves, sizes, strict=True)]
        fraction: Tensor = add_n(zeros) / add_n(sizes)
        return fraction


def linear_model_fn(
    features: Any,
    labels: Any,
    mode: str,
    head: Head,
    feature_columns: Sequence[Any],
    optimizer: Any,
    partitioner: Any,
    sparse_combiner: str,
    config: Any,
) -> EstimatorSpec:
    """A linear model; Ftrl with min(0.2, 1/sqrt(number of columns)) by default."""
    check_features(features)
    optimizer = optimizer_instance(optimizer, _linear_rate(feature_columns, 0.2))
    partitioner = partitioner or ps_partitioner(config, 64 << 20)
    with variable_scope("linear", values=list(features.values()), partitioner=partitioner):
        logits = linear_logits(features, head.logits_dimension, feature_columns, sparse_combiner)
        return head.create_estimator_spec(
            features,
            mode,
            logits,
            labels,
            train_op_fn=lambda loss: optimizer.minimize(loss, global_step=get_global_step()),
        )


def combined_model_fn(
    features: Any,
    labels: Any,
    mode: str,
    head: Head,
    linear_feature_columns: Any,
    linear_optimizer: Any,
    linear_sparse_combiner: str,
    dnn_feature_columns: Any,
    dnn_optimizer: Any,
    dnn_hidden_units: Any,
    dnn_activation_fn: Any,
    dnn_dropout: Any,
    batch_norm: bool,
    partitioner: Callable[..., Any] | None,
    config: Any,
) -> EstimatorSpec:
    """Wide and deep: the sum of both models' logits, each part with its own optimizer.

    By default Adagrad with 0.001, and Ftrl with min(0.005, 1/sqrt(number of columns)).

    Cheng et al., "Wide & Deep Learning for Recommender Systems", 2016.
    """
    check_features(features)
    partitioner = partitioner or ps_partitioner(config, 64 << 20)
    if not linear_feature_columns and not dnn_feature_columns:
        raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")
    parts: list[tuple[str, Optimizer]] = []
    logits: list[Tensor] = []
    values = list(features.values())
    if dnn_feature_columns:
        parts.append(("dnn", optimizer_instance(dnn_optimizer, 0.001)))
        with variable_scope("dnn", values=values, partitioner=partitioner):
            logits.append(
                dnn_logits(
                    features, mode, head.logits_dimension, dnn_hidden_units, dnn_feature_columns,
                    dnn_activation_fn, dnn_dropout, batch_norm, partitioner,
                )
            )  # fmt: skip
    if linear_feature_columns:
        rate = _linear_rate(linear_feature_columns, 0.005)
        parts.append(("linear", optimizer_instance(linear_optimizer, rate)))
        with variable_scope("linear", values=values, partitioner=partitioner):
            logits.append(
                linear_logits(
                    features,
                    head.logits_dimension,
                    linear_feature_columns,
                    linear_sparse_combiner,
                )
            )
            activation_summaries(logits[-1], "linear")

    def train_op(loss: Tensor) -> Any:
        def make() -> Any:
            updates = []
            for scope, optimizer in parts:
                variables = default_graph().get_collection(
                    GraphKeys.TRAINABLE_VARIABLES, f"{scope}/"
                )
                updates.append(optimizer.minimize(loss, var_list=variables))
            with control_dependencies(updates):
                return group(assign_add(get_global_step(), 1))

        return _with_updates(make)

    total = logits[0] + logits[1] if len(logits) == 2 else logits[0]
    return head.create_estimator_spec(features, mode, total, labels, train_op_fn=train_op)


def baseline_model_fn(
    features: Any, labels: Any, mode: str, head: Head, optimizer: Any, config: Any
) -> EstimatorSpec:
    """A bias that ignores the features: it learns the mean label."""
    check_features(features)
    optimizer = optimizer_instance(optimizer, 0.3)
    with variable_scope("baseline", values=list(features.values())):
        bias = get_variable("bias", [head.logits_dimension], initializer=zeros_initializer())
        first = next(iter(features.values()))
        batch = array.shape(first)[0]
        logits = array.ones([batch, 1]) * bias
    # Outside the scope: the slots are named after the variable alone.
    return head.create_estimator_spec(
        features,
        mode,
        logits,
        labels,
        train_op_fn=lambda loss: optimizer.minimize(loss, global_step=get_global_step()),
    )
