"""``tensorflow.python.data.util.sparse``: elements of datasets in which some parts are sparse tensors."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.tensor import Tensor
from dataflow.ops.sparse import serialize_many_sparse, serialize_sparse
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.python import data_nest
from dataflow.python.sparse_names import deserialize_sparse
from dataflow.shapes import unknown_shape

__all__ = [
    "any_sparse",
    "as_dense_shapes",
    "as_dense_types",
    "deserialize_sparse_tensors",
    "get_classes",
    "serialize_many_sparse_tensors",
    "serialize_sparse_tensors",
]


def any_sparse(classes: Any) -> bool:
    """Whether one of the classes is `SparseTensor`."""
    return any(c is SparseTensor for c in data_nest.flatten(classes))


def _paired(values: Any, classes: Any, sparse: Any) -> Any:
    """``values`` with ``sparse(value)`` where the class is `SparseTensor`."""
    pairs = zip(data_nest.flatten(values), data_nest.flatten(classes), strict=True)
    flat = [sparse(v) if c is SparseTensor else v for v, c in pairs]
    return data_nest.pack_sequence_as(values, flat)


def as_dense_shapes(shapes: Any, classes: Any) -> Any:
    """The shapes; unknown where a sparse tensor is one serialized tensor."""
    return _paired(shapes, classes, lambda _: unknown_shape())


def as_dense_types(types: Any, classes: Any) -> Any:
    """The dtypes; `tf.variant` where a sparse tensor is one serialized tensor."""
    return _paired(types, classes, lambda _: dtypes.variant)


def get_classes(tensors: Any) -> Any:
    """`SparseTensor` or `tf.Tensor` for each part."""
    return data_nest.map_structure(
        lambda t: SparseTensor if isinstance(t, SparseTensor) else Tensor, tensors
    )


def _serialized(tensors: Any, serialize: Any) -> Any:
    return data_nest.map_structure(
        lambda t: serialize(t, out_type=dtypes.variant) if isinstance(t, SparseTensor) else t,
        tensors,
    )


def serialize_sparse_tensors(tensors: Any) -> Any:
    """Each sparse tensor as one tensor of three variants."""
    return _serialized(tensors, serialize_sparse)


def serialize_many_sparse_tensors(tensors: Any) -> Any:
    """Each batch of sparse tensors as rows of three variants."""
    return _serialized(tensors, serialize_many_sparse)


def deserialize_sparse_tensors(tensors: Any, types: Any, shapes: Any, classes: Any) -> Any:
    """What `serialize_sparse_tensors` was given: sparse where the class is `SparseTensor`."""
    flat = []
    parts = (data_nest.flatten(x) for x in (tensors, types, shapes, classes))
    for tensor, dtype, shape, cls in zip(*parts, strict=True):
        if cls is SparseTensor:
            flat.append(deserialize_sparse(tensor, dtype=dtype, rank=shape.rank))
        else:
            flat.append(tensor)
    return data_nest.pack_sequence_as(tensors, flat)
