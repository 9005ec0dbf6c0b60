"""What an exported model gives: `PredictOutput`, `ClassificationOutput`, `RegressionOutput`."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.type_aliases import TensorLike


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


class PredictOutput(ExportOutput):
    """Any tensors, by name (a single one is called "output")."""

    def __init__(self, outputs: Any) -> None:
        self.outputs = dict(outputs) if isinstance(outputs, dict) else {"output": outputs}

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
    """Loss, predictions (``predictions/<key>``) and metrics (``metrics/<key>/value``, ``update_op``)."""

    method_name = ""
    LOSS_NAME = "loss"
    PREDICTIONS_NAME = "predictions"
    METRICS_NAME = "metrics"
    METRIC_VALUE_SUFFIX = "value"
    METRIC_UPDATE_SUFFIX = "update_op"

    def __init__(
        self, loss: TensorLike | None = None, predictions: Any = None, metrics: Any = None
    ) -> None:
        self.loss = loss
        self.predictions = predictions
        self.metrics = metrics

    def outputs(self) -> dict[str, Any]:
        """All tensors by name."""
        result = {} if self.loss is None else {"loss": self.loss}
        predictions = self.predictions
        if predictions is not None and not isinstance(predictions, dict):
            result["predictions"] = predictions
        else:
            for key, tensor in (predictions or {}).items():
                result[f"predictions/{_joined(key)}"] = tensor
        for key, (value, update) in (self.metrics or {}).items():
            result[f"metrics/{_joined(key)}/value"] = value
            result[f"metrics/{_joined(key)}/update_op"] = update
        return result

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        """A signature of training or evaluation."""
        from dataflow.saved_model.signature_def_utils import build_signature_def
        from dataflow.saved_model.tensor_infos import build_tensor_info

        return build_signature_def(
            {key: build_tensor_info(t) for key, t in receiver_tensors.items()},
            {key: build_tensor_info(_tensor(t)) for key, t in self.outputs().items()},
            self.method_name,
        )


def _joined(key: Any) -> str:
    return "/".join(key) if isinstance(key, tuple) else str(key)


def _tensor(value: Any) -> Any:
    """The update of a metric may be an operation, which a signature cannot hold."""
    from dataflow.graph.operation import Operation
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
