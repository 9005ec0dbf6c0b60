"""Signatures of SavedModels: tensors by the names under which they are served."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dataflow.graph.default_stacks import default_graph
from dataflow.graph.eager import executing_eagerly
from dataflow.graph.graph import Graph
from dataflow.graph.operation import Operation
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.shapes import TensorShape


def build_tensor_info(tensor: Any) -> Any:
    """The ``TensorInfo`` of a tensor: its name, dtype and shape; of a `SparseTensor` its parts' names.

    Raises `RuntimeError` with eager execution: such a tensor has no name.
    """
    if executing_eagerly():
        raise RuntimeError("build_tensor_info is not supported in Eager mode.")
    from tensorboard.compat.proto.meta_graph_pb2 import TensorInfo

    if isinstance(tensor, SparseTensor):
        return TensorInfo(
            coo_sparse=TensorInfo.CooSparse(
                values_tensor_name=tensor.values.name,
                indices_tensor_name=tensor.indices.name,
                dense_shape_tensor_name=tensor.dense_shape.name,
            ),
            dtype=tensor.dtype.base_dtype.as_datatype_enum,
            tensor_shape=tensor.get_shape().as_proto(),
        )
    return TensorInfo(
        name=tensor.name,
        dtype=tensor.dtype.base_dtype.as_datatype_enum,
        tensor_shape=tensor.get_shape().as_proto(),
    )


def get_tensor_from_tensor_info(
    tensor_info: Any, graph: Graph | None = None, import_scope: str | None = None
) -> Any:
    """The tensor that a ``TensorInfo`` names; a `SparseTensor` where it names its parts.

    Raises `KeyError` for a name that the graph has not, `ValueError` for a ``TensorInfo`` of another kind.
    """
    graph = graph or default_graph()
    prefix = f"{import_scope}/" if import_scope else ""
    kind = tensor_info.WhichOneof("encoding")
    if kind == "name":
        return graph.get_tensor_by_name(prefix + tensor_info.name)
    if kind == "coo_sparse":
        parts = tensor_info.coo_sparse
        names = (parts.indices_tensor_name, parts.values_tensor_name, parts.dense_shape_tensor_name)
        return SparseTensor(*(graph.get_tensor_by_name(prefix + name) for name in names))
    raise ValueError(f"Invalid TensorInfo.encoding: {kind}")


def build_tensor_info_from_op(op: Operation) -> Any:
    """The ``TensorInfo`` that names an operation, as `tf.saved_model`'s main op."""
    from tensorboard.compat.proto.meta_graph_pb2 import TensorInfo

    return TensorInfo(name=op.name, tensor_shape=TensorShape([]).as_proto())


def build_signature_def(
    inputs: Mapping[str, Any] | None = None,
    outputs: Mapping[str, Any] | None = None,
    method_name: str | None = None,
) -> Any:
    """A ``SignatureDef`` from dicts of ``TensorInfo``."""
    from tensorboard.compat.proto.meta_graph_pb2 import SignatureDef

    signature = SignatureDef(method_name=method_name or "")
    for key, info in (inputs or {}).items():
        signature.inputs[key].CopyFrom(info)
    for key, info in (outputs or {}).items():
        signature.outputs[key].CopyFrom(info)
    return signature


def _infos(tensors: Mapping[str, Any]) -> dict[str, Any]:
    return {key: build_tensor_info(tensor) for key, tensor in tensors.items() if tensor is not None}


def is_valid_signature(signature_def: Any) -> bool:
    """Whether a `SignatureDef` is one that servers know: to classify, to regress, or to predict."""
    from dataflow import dtypes

    if signature_def is None:
        return False
    kinds = [
        {key: info.dtype for key, info in part.items()}
        for part in (signature_def.inputs, signature_def.outputs)
    ]
    inputs, outputs = kinds
    text, number = dtypes.string.as_datatype_enum, dtypes.float32.as_datatype_enum
    method = signature_def.method_name
    if method == "tensorflow/serving/predict":
        return bool(inputs and outputs)
    if method == "tensorflow/serving/regress":
        return inputs == {"inputs": text} and outputs == {"outputs": number}
    allowed = {"classes": text, "scores": number}
    return (
        method == "tensorflow/serving/classify"
        and inputs == {"inputs": text}
        and bool(outputs)
        and all(allowed.get(key) == dtype for key, dtype in outputs.items())
    )


def predict_signature_def(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Any:
    """The signature of a prediction. Raises `ValueError` without inputs or outputs."""
    if not inputs or not outputs:
        raise ValueError("Prediction inputs and outputs cannot be None or empty.")
    return build_signature_def(_infos(inputs), _infos(outputs), "tensorflow/serving/predict")


def regression_signature_def(examples: Any, predictions: TensorLike | None) -> Any:
    """The signature of a regression."""
    if examples is None or predictions is None:
        raise ValueError("Regression examples and predictions cannot be None.")
    inputs, outputs = _infos({"inputs": examples}), _infos({"outputs": predictions})
    return build_signature_def(inputs, outputs, "tensorflow/serving/regress")


def classification_signature_def(examples: Any, classes: Any, scores: Any) -> Any:
    """The signature of a classification; one of ``classes`` and ``scores`` may be ``None``."""
    if examples is None or (classes is None and scores is None):
        raise ValueError("Classification examples, and classes or scores, cannot be None.")
    outputs = _infos({"classes": classes, "scores": scores})
    return build_signature_def(_infos({"inputs": examples}), outputs, "tensorflow/serving/classify")
