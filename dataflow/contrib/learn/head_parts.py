"""What all heads of `tf.contrib.learn` do: labels, weights and logits in, `ModelFnOps` out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import dtypes, logging
from dataflow.contrib.layers import linear
from dataflow.contrib.learn.keys import MetricKey
from dataflow.contrib.learn.model_fn import ModelFnOps
from dataflow.contrib.learn.modes import ModeKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.metrics.means import mean
from dataflow.ops.bias import bias_add
from dataflow.ops.casts import cast
from dataflow.ops.control_flow import group, no_op
from dataflow.ops.fills import zeros
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.identity import identity
from dataflow.ops.reduce import reduce_mean
from dataflow.ops.reshape import reshape
from dataflow.ops.shape import shape
from dataflow.ops.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from dataflow.ops.summary import scalar
from dataflow.ops.tile import tile
from dataflow.ops.variable_scope import variable_scope
from dataflow.ops.variables import Variable
from dataflow.train.adagrad import AdagradOptimizer


def no_op_train_fn(loss: Any) -> Any:
    """A training op that does nothing: another one trains."""
    return no_op()


class Head:
    """Turns logits into predictions, and with labels into a loss, metrics and a training op."""

    @property
    def logits_dimension(self) -> int:
        """How many logits it takes for each example."""
        raise NotImplementedError

    def create_model_fn_ops(
        self,
        features: Any,
        mode: str,
        labels: Any = None,
        train_op_fn: Callable[..., Any] | None = None,
        logits: Any = None,
        logits_input: Any = None,
        scope: Any = None,
    ) -> ModelFnOps:
        """`ModelFnOps` for ``logits``, or for a linear layer of ``logits_input``.

        ``train_op_fn``: from the loss to the op that minimizes it; needed in TRAIN mode.
        """
        raise NotImplementedError


class SingleHead(Head):
    """A head with one kind of labels."""

    default_name: str
    problem_type: int
    loss: Callable[..., Any]

    def __init__(
        self,
        logits_dimension: int,
        label_name: str | None = None,
        weight_column_name: str | None = None,
        enable_centered_bias: bool = False,
        head_name: str | None = None,
    ) -> None:
        if logits_dimension is None or logits_dimension < 1:
            raise ValueError(f"Invalid logits_dimension {logits_dimension}.")
        self._logits_dimension = logits_dimension
        self.label_name = label_name
        self.weight_column_name = weight_column_name
        self.enable_centered_bias = enable_centered_bias
        self.head_name = head_name

    @property
    def logits_dimension(self) -> int:
        return self._logits_dimension

    def predictions_of(self, logits: Tensor) -> dict[str, Any]:
        """Predictions by `PredictionKey`."""
        raise NotImplementedError

    def metrics_of(self, predictions: dict[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        """Pairs (value, update) by `MetricKey`, without the loss."""
        return {}

    def transformed(self, labels: Any) -> Any:
        """Labels as loss and metrics take them; raises `ValueError` for sparse ones."""
        if isinstance(labels, SparseTensor):
            raise ValueError("SparseTensor is not supported: give dense labels.")
        return labels

    def exported(self, predictions: dict[str, Any]) -> dict[str, Any]:
        """What a model is exported with."""
        return predictions

    def public(self, predictions: dict[str, Any]) -> dict[str, Any]:
        """What ``predict`` gives."""
        return predictions

    def key(self, name: str) -> str:
        """The name of a metric: with that of the head, where it has one."""
        return f"{name}/{self.head_name}" if self.head_name else name

    def create_model_fn_ops(
        self,
        features: Any,
        mode: str,
        labels: Any = None,
        train_op_fn: Callable[..., Any] | None = None,
        logits: Any = None,
        logits_input: Any = None,
        scope: Any = None,
    ) -> ModelFnOps:
        with variable_scope(scope, default_name=self.head_name or self.default_name):
            if labels is not None:
                if mode == ModeKeys.INFER:
                    labels = None
                else:
                    labels = self.transformed(_labels(labels, self.label_name))
            logits = _logits(logits_input, logits, self._logits_dimension)
            bias = None
            if self.enable_centered_bias:
                bias = _centered_bias(self._logits_dimension, self.head_name)
                logits = bias_add(logits, bias)
            predictions = self.predictions_of(logits)
            loss = train_op = metrics = None
            if labels is not None:
                weights = _weights(features, self.weight_column_name)
                loss, reported = self.loss(labels, logits, weights)
                with name_scope(""):  # the summary's tag is that of the graph
                    scalar(MetricKey.LOSS, identity(reported))
                if mode == ModeKeys.TRAIN:
                    train_op = self._train_op(loss, labels, logits, weights, train_op_fn, bias)
                metrics = {MetricKey.LOSS: mean(reported)}
                metrics.update(self.metrics_of(predictions, labels, weights))
                metrics = {self.key(name): pair for name, pair in metrics.items()}
            alternatives = {self.head_name: (self.problem_type, self.exported(predictions))}
        return ModelFnOps(
            mode,
            self.public(predictions),
            loss,
            train_op,
            metrics,
            output_alternatives=alternatives,
        )

    def _train_op(
        self, loss: Any, labels: Any, logits: Tensor, weights: Any, train_op_fn: Any, bias: Any
    ) -> Any:
        if train_op_fn is None:
            raise ValueError("train_op_fn can not be None in TRAIN mode")
        if bias is None:
            return train_op_fn(loss)
        count = shape(logits)[0]
        centered = reshape(tile(bias, [count]), [count, self._logits_dimension])
        bias_loss = reduce_mean(self.loss(labels, centered, weights)[0])
        step = AdagradOptimizer(0.1).minimize(bias_loss, var_list=[bias])
        return group(train_op_fn(loss), step)


def _labels(labels: Any, name: str | None) -> Any:
    if isinstance(labels, dict):
        if name is None and len(labels) != 1:
            raise ValueError(f"label_name is needed: labels are a dict of {sorted(labels)}.")
        labels = labels[next(iter(labels)) if name is None else name]
    return convert_to_tensor_or_sparse_tensor(labels)


def _logits(logits_input: Any, logits: Any, dimension: int) -> Any:
    if logits_input is None and logits is None:
        raise ValueError("Neither logits nor logits_input supplied.")
    if logits_input is not None and logits is not None:
        raise ValueError("Both logits and logits_input supplied.")
    if logits_input is not None:
        return linear(convert_to_tensor(logits_input), dimension, scope="logits")
    logits = convert_to_tensor(logits, name="logits")
    if logits.shape.ndims:
        logits.shape.dims[-1].assert_is_compatible_with(dimension)
    return logits


def _weights(features: Any, name: str | None) -> Any:
    """The column of weights, float32; [batch] becomes [batch, 1]."""
    if not name:
        return None
    if not isinstance(features, dict):
        raise ValueError(f"Features is not a dict, and has no column of weights {name!r}.")
    if name not in features:
        raise ValueError(f"Weights {name} missing from features: {sorted(features)}.")
    weights = cast(convert_to_tensor(features[name]), dtypes.float32)
    if weights.shape.ndims == 1:
        logging.debug("Weights %s have shape %s, and become a column.", name, weights.shape)
        return reshape(weights, [-1, 1])
    return weights


def _centered_bias(dimension: int, head_name: str | None) -> Any:
    """One number for each logit, which is trained by itself towards the mean of the labels."""
    bias: Any = Variable(zeros([dimension]), trainable=True, name="centered_bias_weight")
    for i in range(dimension):
        tag = f"centered_bias/bias_{i}"
        scalar(f"{tag}/{head_name}" if head_name else tag, bias[i])
    return bias
