"""What an exported model gives: `PredictOutput`, `ClassificationOutput`, `RegressionOutput`."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.variables import Variable


class ExportOutput:
    """Base; `as_signature_def` makes the signature for a receiver's tensors."""

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        """The signature; raises `ValueError` where the tensors do not fit it."""
        raise NotImplementedError


def _examples(receiver_tensors: dict[str, Any]) -> Any:
    """The one string tensor that classification and regression signatures take."""
    if len(receiver_tensors) != 1:
        raise ValueError(
            f"needs a single input, a string tensor of examples; got {sorted(receiver_tensors)}."
        )
    (tensor,) = receiver_tensors.values()
    if tensor.dtype.base_dtype is not dtypes.string:
        raise ValueError(f"needs a string tensor of examples; got {tensor}.")
    return tensor


def _checked(what: str, key: Any, value: Any, may_be_operation: bool = False) -> None:
    """Raises `ValueError` unless this is a tensor under a name, which may be a tuple of strings."""
    parts = key if isinstance(key, tuple) and what != "Prediction" else (key,)
    if not all(isinstance(part, str) for part in parts):
        raise ValueError(f"{what} output key must be a string; got {key}.")
    kinds = (Tensor, Variable, Operation) if may_be_operation else (Tensor, Variable)
    if not isinstance(value, kinds):
        raise ValueError(f"{what} output value must be a Tensor; got {value}.")


class PredictOutput(ExportOutput):
    """Any tensors, by name (a single one is called "output"); raises `ValueError` for other things."""

    def __init__(self, outputs: Any) -> None:
        self.outputs = dict(outputs) if isinstance(outputs, dict) else {"output": outputs}
        for key, value in self.outputs.items():
            _checked("Prediction", key, value)

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        """A predict signature."""
        from dataflow.saved_model.signature_def_utils import predict_signature_def

        return predict_signature_def(receiver_tensors, self.outputs)


class ClassificationOutput(ExportOutput):
    """Scores [batch, classes], and names of classes; at least one of them."""

    def __init__(self, scores: Any = None, classes: Any = None) -> None:
        if scores is None and classes is None:
            raise ValueError("Cannot create a ClassificationOutput with empty scores and classes.")
        if scores is not None and not scores.dtype.is_floating:
            raise ValueError(f"Classification scores must be a float32 Tensor; got {scores}")
        if classes is not None and classes.dtype.base_dtype is not dtypes.string:
            raise ValueError(f"Classification classes must be a string Tensor; got {classes}")
        self.scores = scores
        self.classes = classes

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        """A classification signature."""
        from dataflow.saved_model.signature_def_utils import classification_signature_def

        return classification_signature_def(_examples(receiver_tensors), self.classes, self.scores)


class RegressionOutput(ExportOutput):
    """One number for each example."""

    def __init__(self, value: Any) -> None:
        if not value.dtype.is_floating:
            raise ValueError(f"Regression output value must be a float32 Tensor; got {value}")
        self.value = value

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        """A regression signature."""
        from dataflow.saved_model.signature_def_utils import regression_signature_def

        return regression_signature_def(_examples(receiver_tensors), self.value)


class _SupervisedOutput(ExportOutput):
    """Loss, predictions (``predictions/<key>``) and metrics (``metrics/<key>/value``, ``update_op``).

    Each a tensor or a dict of them, a metric a pair of them. Raises `ValueError` for other things.
    """

    method_name = ""
    LOSS_NAME = "loss"
    PREDICTIONS_NAME = "predictions"
    METRICS_NAME = "metrics"
    METRIC_VALUE_SUFFIX = "value"
    METRIC_UPDATE_SUFFIX = "update_op"

    def __init__(
        self, loss: TensorLike | None = None, predictions: Any = None, metrics: Any = None
    ) -> None:
        self.loss = None if loss is None else _named(loss, self.LOSS_NAME)
        self.predictions = (
            None if predictions is None else _named(predictions, self.PREDICTIONS_NAME)
        )
        self.metrics: dict[str, Any] | None = None
        if metrics is not None:
            self.metrics = {}
            given = metrics if isinstance(metrics, dict) else {self.METRICS_NAME: metrics}
            for key, (value, update) in given.items():
                _checked(self.METRICS_NAME, key, value)
                _checked(self.METRICS_NAME, key, update, may_be_operation=True)
                name = _prefixed(key, self.METRICS_NAME)
                self.metrics[f"{name}/{self.METRIC_VALUE_SUFFIX}"] = value
                self.metrics[f"{name}/{self.METRIC_UPDATE_SUFFIX}"] = _tensor(update)

    def outputs(self) -> dict[str, Any]:
        """All tensors by name."""
        return {**(self.loss or {}), **(self.predictions or {}), **(self.metrics or {})}

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        """A signature of training or evaluation."""
        from dataflow.saved_model.signature_def_utils import build_signature_def
        from dataflow.saved_model.tensor_infos import build_tensor_info

        return build_signature_def(
            {key: build_tensor_info(t) for key, t in receiver_tensors.items()},
            {key: build_tensor_info(t) for key, t in self.outputs().items()},
            self.method_name,
        )


def _named(given: Any, name: str) -> dict[str, Any]:
    """Tensors by names that begin with ``name``; raises `ValueError` for anything else."""
    tensors = given if isinstance(given, dict) else {name: given}
    for key, value in tensors.items():
        _checked(name, key, value)
    return {_prefixed(key, name): value for key, value in tensors.items()}


def _prefixed(key: Any, name: str) -> str:
    """``key`` with ``name`` before it, unless it begins so."""
    key = "/".join(key) if isinstance(key, tuple) else str(key)
    return key if key.startswith(name) else f"{name}/{key}"


def _tensor(value: Any) -> Any:
    """The update of a metric may be an operation, which a signature cannot hold."""
    from dataflow.ops.graph_functions import control_dependencies
    from dataflow.ops.sources import constant

    if not isinstance(value, Operation):
        return value
    with control_dependencies([value]):
        return constant([], name="metric_op_wrapper")


class TrainOutput(_SupervisedOutput):
    """What a graph that trains gives."""

    method_name = "tensorflow/supervised/training"


class EvalOutput(_SupervisedOutput):
    """What a graph that evaluates gives."""

    method_name = "tensorflow/supervised/eval"
