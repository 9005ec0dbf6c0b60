"""What an exported model gives: `PredictOutput`, `ClassificationOutput`, `RegressionOutput`."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes


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
