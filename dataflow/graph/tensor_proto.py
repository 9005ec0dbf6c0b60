"""Arrays as TensorFlow's ``TensorProto`` and back, and shapes as ``TensorShapeProto``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.dtypes import DType, as_dtype
from dataflow.errors import DataLossError
from dataflow.formats.object_arrays import object_array
from dataflow.shapes import Dims, TensorShape, as_dims, num_elements

if TYPE_CHECKING:
    from dataflow.graph.type_aliases import DTypeLike

#: Field of TensorProto that lists values of a dtype one by one.
_FIELDS = {
    "float32": "float_val",
    "float64": "double_val",
    "int32": "int_val",
    "int16": "int_val",
    "int8": "int_val",
    "uint8": "int_val",
    "uint16": "int_val",
    "qint8": "int_val",
    "quint8": "int_val",
    "qint32": "int_val",
    "qint16": "int_val",
    "quint16": "int_val",
    "int64": "int64_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
    "bool": "bool_val",
    "string": "string_val",
    "complex64": "scomplex_val",
    "complex128": "dcomplex_val",
    "float16": "half_val",
    "bfloat16": "half_val",
}

#: Tensors of more elements that repeat one value are kept as that value.
_MOST_FILLED = 1 << 23


def _is_listed(dtype: DType) -> bool:
    """Whether several values, too, are listed one by one, as TensorFlow 1.15 does; others are bytes."""
    return dtype.is_complex or dtype.name in ("bool", "float16", "bfloat16")


def array_to_proto(array: Any, dtype: DType | None = None) -> Any:
    """The ``TensorProto`` of an array (strings: an object array of bytes)."""
    from tensorboard.compat.proto import tensor_pb2

    array = np.asarray(array)
    dtype = dtype or as_dtype(array.dtype)
    proto = tensor_pb2.TensorProto(dtype=dtype.as_datatype_enum)
    proto.tensor_shape.MergeFrom(TensorShape(array.shape).as_proto())
    if array.size > _MOST_FILLED and not any(array.strides):  # one value, as it was read
        array = array[(slice(0, 1),) * array.ndim].reshape(1)
    if dtype.kind == "S":
        proto.string_val.extend(
            v.encode() if isinstance(v, str) else bytes(v) for v in array.reshape(-1).tolist()
        )
    elif array.size > 1 and not _is_listed(dtype):
        proto.tensor_content = np.ascontiguousarray(array).tobytes()
    else:
        values = np.ascontiguousarray(array).reshape(-1)
        if dtype.name in ("float16", "bfloat16"):
            values = values.view(np.uint16)
        elif dtype.is_complex:
            values = values.view(values.real.dtype)
        getattr(proto, _FIELDS[dtype.name]).extend(values.tolist())
    return proto


def proto_to_array(proto: Any) -> Any:
    """The array of a ``TensorProto``; raises `DataLossError` for one that is damaged."""
    dtype = as_dtype(proto.dtype)
    dims = as_dims(proto.tensor_shape)
    size = num_elements(dims)
    if dims is None or size is None:
        raise DataLossError(None, None, f"a TensorProto needs a full shape, got {dims}")
    if proto.tensor_content:
        wanted = size * dtype.numpy.itemsize
        if len(proto.tensor_content) != wanted:
            raise DataLossError(
                None,
                None,
                f"a {dtype.name} tensor of shape {list(dims)} needs {wanted} bytes, "
                f"its proto holds {len(proto.tensor_content)}",
            )
        return np.frombuffer(proto.tensor_content, dtype=dtype.numpy).reshape(list(dims)).copy()  # type: ignore[arg-type]
    field = _FIELDS.get(dtype.name)
    if field is None:
        raise DataLossError(None, None, f"a TensorProto cannot hold {dtype.name}")
    values = list(getattr(proto, field))
    if field == "half_val":
        array = np.array(values, dtype=np.uint16).view(dtype.numpy)
    elif dtype.is_complex:
        parts = np.array(values, dtype=dtype.real_dtype.numpy).reshape(-1, 2)
        array = (parts[:, 0] + 1j * parts[:, 1]).astype(dtype.numpy)
    elif dtype.kind == "S":
        array = object_array(values)
    else:
        array = np.array(values, dtype=dtype.numpy)
    if array.size == size:
        return array.reshape(dims)
    if array.size > size:
        raise DataLossError(
            None, None, f"a tensor of shape {list(dims)} holds {size} values, got {array.size}"
        )
    filler = array[-1] if array.size else (b"" if dtype.kind == "S" else dtype.numpy.type(0))
    if size > _MOST_FILLED:
        # A few bytes may claim to be a tensor of any size: it takes memory when it is used.
        if array.size > 1:
            raise DataLossError(
                None,
                None,
                f"a tensor of shape {list(dims)} holds {size} values, its proto {array.size}",
            )
        one = np.empty((), array.dtype if array.size else dtype.numpy)
        one[()] = filler
        return np.broadcast_to(one, dims)  # type: ignore[arg-type]
    full = np.full(size, filler, dtype=array.dtype if array.size else dtype.numpy)
    full[: array.size] = array  # as in TensorFlow, the last value fills the rest
    return full.reshape(dims)


def shape_to_proto(dims: Dims) -> Any:
    """Dims as a ``TensorShapeProto``."""
    return TensorShape(dims).as_proto()


def make_tensor_proto(
    values: Any, dtype: DTypeLike | None = None, shape: Any = None, verify_shape: bool = False
) -> Any:
    """`tf.make_tensor_proto`: a Python value as a ``TensorProto``.

    Raises `TypeError` or `ValueError` for a value that does not fit ``dtype`` or ``shape``.
    """
    from dataflow.graph.conversion import array_of

    wanted = None if dtype is None else as_dtype(dtype)
    if verify_shape and shape is not None:
        array, found = array_of(values, wanted)
        if list(array.shape) != TensorShape(shape).as_list():
            raise TypeError(f"Expected Tensor's shape: {tuple(shape)}, got {array.shape}.")
    array, found = array_of(values, wanted, shape)
    return array_to_proto(array, found)


def make_ndarray(tensor: Any) -> Any:
    """`tf.make_ndarray`: the array of a ``TensorProto``."""
    return proto_to_array(tensor)
