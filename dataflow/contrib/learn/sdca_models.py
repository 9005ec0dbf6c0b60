"""The model function of linear models that stochastic dual coordinate ascent trains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow.contrib.column_classes import RealValuedColumn
from dataflow.contrib.feature_column_sums import (
    transform_features,
    weighted_sum_from_feature_columns,
)
from dataflow.contrib.feature_columns import real_valued_column
from dataflow.contrib.learn.model_fn import ModelFnOps
from dataflow.contrib.learn.modes import ModeKeys
from dataflow.contrib.linear_optimizer import SDCAOptimizer
from dataflow.ops import array
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.variable_scope import variable_scope
from dataflow.train.global_step import get_global_step
from dataflow.train.session_run_hook import SessionRunArgs, SessionRunHook

_BIAS = "tf_virtual_bias_column"
#: Default name of a head -> the loss that it stands for.
_LOSSES = {
    "binary_svm_head": "hinge_loss",
    "binary_logistic_head": "logistic_loss",
    "regression_head": "squared_loss",
}


class UpdateWeightsHook(SessionRunHook):
    """Takes the trained weights over after each step."""

    def set_parameters(self, model: Any, train_op: Any) -> None:
        """The model and the operation that trains it."""
        self._model, self._train_op = model, train_op

    def begin(self) -> None:
        self._update = self._model.update_weights(self._train_op)

    def before_run(self, run_context: Any) -> SessionRunArgs:
        return SessionRunArgs(self._update)


def sdca_model_fn(
    features: dict[Any, Any], labels: Any, mode: str, params: Any, config: Any = None
) -> ModelFnOps:
    """A linear model whose ``params`` have a head of one logit, columns, and an `SDCAOptimizer`.

    Raises `ValueError` for another optimizer, and for a head of another loss.
    """
    head, columns, optimizer = params["head"], params["feature_columns"], params["optimizer"]
    if not isinstance(optimizer, SDCAOptimizer):
        raise ValueError(f"Optimizer must be of type SDCAOptimizer, got {optimizer!r}.")
    loss = _LOSSES.get(getattr(head, "default_name", ""))
    if loss is None or head.logits_dimension != 1:
        raise ValueError(
            f"Unsupported head type: {type(head).__name__}. SDCA trains one logit: two classes, an SVM, or numbers."
        )
    values = list(features.values())
    with variable_scope("linear", values=values, partitioner=optimizer.partitioner) as scope:
        features = {**features, **transform_features(features, columns)}
        logits, variables, bias = weighted_sum_from_feature_columns(
            features, columns, num_outputs=1, scope=scope
        )
    column = _bias_column(columns)
    features[column] = array.ones([_batch_size(features), 1])
    variables = {**variables, column: [bias]}
    hook = UpdateWeightsHook()

    def train_op_fn(loss_tensor: Any) -> Any:
        model, train_op = optimizer.get_train_step(
            variables, params.get("weight_column_name"), loss, features, labels, get_global_step()
        )
        hook.set_parameters(model, train_op)
        return train_op

    ops: ModelFnOps = head.create_model_fn_ops(
        features=features, labels=labels, mode=mode, train_op_fn=train_op_fn, logits=logits
    )
    if mode != ModeKeys.TRAIN:
        return ops
    return ops._replace(training_chief_hooks=[*(ops.training_chief_hooks or ()), hook])


def _bias_column(columns: Sequence[Any]) -> RealValuedColumn:
    if any(column.name == _BIAS for column in columns):
        raise ValueError(f"{_BIAS} is a reserved column name.")
    return real_valued_column(_BIAS)  # type: ignore[no-any-return]


def _batch_size(features: dict[Any, Any]) -> Any:
    for made in features.values():
        tensor = made[0] if isinstance(made, tuple) else made
        if not isinstance(tensor, SparseTensor):
            return array.shape(tensor)[0]
        return tensor.dense_shape[0]
    raise ValueError("feature_columns can't be empty.")
