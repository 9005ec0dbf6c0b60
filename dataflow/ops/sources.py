"""Nodes without inputs: constants and placeholders."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.dtypes import DType, as_dtype
from dataflow.errors import ConversionError
from dataflow.formats.object_arrays import object_array
from dataflow.graph.conversion import set_builders
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.op_signature import Array, short_repr
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, get_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.tensor_proto import proto_to_array
from dataflow.graph.type_aliases import DTypeLike, DynamicShapeLike, TensorLike
from dataflow.ops.indexed_slices import takes_slices
from dataflow.shapes import Dims, Shape
from dataflow.tensorflow_numbers import draws_as_tensorflow


@define_op("Const", "-> output: dtype", inline_safe=True)
def const_op(*, value: Array, dtype: DType) -> Dims:
    """A value that is part of the graph.

    Shape and dtype: those of the value. Gradient: none flows into a constant.
    """
    return value.shape  # type: ignore[no-any-return]


@define_op("Placeholder", "-> output: dtype")
def placeholder_op(*, dtype: DType, shape: Shape = None) -> Dims:
    """A promise to give a value with every run, through ``feed_dict``.

    Shape: ``shape``, parts of which may be unknown. Running it unfed is an `InvalidArgumentError`.
    """
    return shape


@define_op("PlaceholderWithDefault", "input: dtype -> output: dtype", is_alias=True)
def placeholder_with_default(input: Tensor, *, shape: Shape) -> Dims:
    """A value that may be fed, and else is ``input``.

    Shape: ``shape``, which the input's must fit. Gradient: passes to the input unchanged.
    """
    if not shapes.compatible(shape, input.dims):
        raise ValueError(
            f"the default has shape {shapes.list_dims(input.dims)}, which does not fit "
            f"{shapes.list_dims(shape)}"
        )
    return shape


@placeholder_with_default.gradient
@takes_slices
def placeholder_with_default_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad]


not_differentiable(const_op, placeholder_op)


def make_array(
    value: TensorLike, dtype: DType | None = None, shape: DynamicShapeLike | None = None
) -> tuple[Any, DType]:
    """``value`` as the array of a constant, and its dtype.

    Without ``dtype``: Python's ints give int32 (int64 where they do not fit), floats float32,
    complex numbers complex128, text strings; NumPy arrays keep their own. A ``shape`` reshapes, or
    repeats the last element to fill. Raises `TypeError` for values that do not fit the dtype,
    `ValueError` for a shape that is too small.
    """
    if (type(value) is float or type(value) is int) and shape is None:
        found = _scalar(value, dtype)
        if found is not None:
            return found
    if isinstance(value, Tensor):
        raise TypeError(f"a constant needs a value, got the tensor {value.name!r}")
    from_numpy = isinstance(value, (np.ndarray, np.generic))
    try:
        try:
            array = np.asarray(value)
        except UnicodeDecodeError:  # a list of str and bytes: NumPy reads the bytes as text
            array = np.array(value, dtype=object)
        if array.dtype.kind in "SU" and not from_numpy:
            array = np.array(value, dtype=object)  # NumPy's texts lose zeros at their end
            _require_texts(value, array)
    except ConversionError:
        raise
    except ValueError as e:  # ragged lists
        raise ValueError(
            f"cannot make a rectangular tensor of {short_repr(value)}: its rows have different lengths"
        ) from e
    except NotImplementedError as e:
        raise TypeError(str(e)) from e
    if array.dtype == object:
        if hasattr(
            value, "tensor_shape"
        ):  # a ``TensorProto``, say of a node's attribute: it says all itself
            proto: Any = value
            return proto_to_array(proto), as_dtype(proto.dtype)
        array = _object_array(value, array)
    if dtype is not None:
        dtype = dtype.base_dtype
        array = _fit(value, array, dtype, from_numpy)
    elif array.dtype.kind in "SU":
        dtype = dtypes.string
        array = _to_bytes(array)
    elif not from_numpy and array.dtype == np.float64 and not _holds_numpy(value):
        dtype = dtypes.float32
        array = array.astype(np.float32)
    elif not from_numpy and array.dtype == np.int64 and not _holds_numpy(value):
        small = array.astype(np.int32)
        if np.array_equal(small, array):
            array = small
        dtype = as_dtype(array.dtype)
    elif array.dtype == object:
        dtype = dtypes.string
        array = _to_bytes(array)
    else:
        if array.dtype == np.float64 and not array.size and not from_numpy:
            array = array.astype(np.float32)
        dtype = as_dtype(array.dtype)
    if array is value or array.base is not None:
        array = array.copy()  # the caller may change his array; the graph's stays
    if shape is not None:
        array = _fill(array, shapes.as_dims(shape))
    array.setflags(write=False)
    return array, dtype


def _scalar(value: int | float, dtype: DType | None) -> tuple[Any, DType] | None:
    """`make_array` of one number in the ordinary cases; ``None`` where more has to be looked at."""
    if dtype is None:
        dtype = dtypes.float32 if type(value) is float else dtypes.int32
    elif dtype.kind not in ("f" if type(value) is float else "fi") or dtype.numpy_dtype is None:
        return None
    if type(value) is int and not -128 <= value < 128:
        if not -(2**31) <= value < 2**31 or dtype.base_dtype.size < 4:
            return None
    array = np.array(value, dtype.numpy_dtype)
    array.setflags(write=False)
    return array, dtype.base_dtype


def _holds_numpy(value: TensorLike) -> bool:
    """True for a list of arrays: their dtype counts. A list of single numbers is as Python's, as in TensorFlow."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(map(_holds_numpy, value))
    return isinstance(value, np.ndarray)


def _require_texts(value: TensorLike, array: Any) -> None:
    """Raises `TypeError` for a list of texts and something else: NumPy would write that as text."""
    for item in array.reshape(-1).tolist():
        if not isinstance(item, (str, bytes)):
            raise ConversionError(
                f"Failed to convert elements of {short_repr(value)} to Tensor: {item!r} is not a string. "
                "Consider casting elements to a supported type."
            )


def _object_array(value: TensorLike, array: Any) -> Any:
    if any(isinstance(item, shapes.Dimension) for item in array.reshape(-1)):
        sizes = [int(item) for item in array.reshape(-1)]
        return np.array(sizes, np.int32).reshape(array.shape)
    for item in array.reshape(-1):
        if isinstance(item, (str, bytes)):
            continue
        if isinstance(item, (list, tuple, np.ndarray)):
            raise ValueError(
                f"cannot make a rectangular tensor of {short_repr(value)}: "
                "its rows have different lengths"
            )
        if item is None:
            raise ValueError("None values not supported.")
        if isinstance(item, int):
            return array  # larger than int64; `_fit` says so
        raise ConversionError(
            f"Failed to convert object of type {type(value)} to Tensor. Contents: {short_repr(value)}. "
            "Consider casting elements to a supported type."
        )
    return array


def _to_bytes(array: Any) -> Any:
    flat = [v.encode() if isinstance(v, str) else bytes(v) for v in array.reshape(-1).tolist()]
    return object_array(flat, array.shape)


def _fit(value: TensorLike, array: Any, dtype: DType, from_numpy: bool) -> Any:
    kind = array.dtype.kind
    if dtype.kind == "S":
        if kind not in "SUO" and array.size:
            raise TypeError(
                f"Expected string, got {short_repr(value)} of type {type(value).__name__!r}."
            )
        return _to_bytes(array)
    target = dtype.numpy
    if array.dtype == target:
        return array
    if kind == "O" and from_numpy and all(isinstance(v, Number) for v in array.flat):
        return array.astype(target)  # what pandas gives for columns of mixed types
    if kind in "SUO":
        raise TypeError(
            f"Expected {dtype.name}, got {short_repr(value)} of type {_kind_name(value)!r}."
        )
    if not array.size:
        return array.astype(target)
    if dtype.kind == "b" and kind != "b" and not from_numpy:
        raise TypeError(f"Expected bool, got {short_repr(value)} of type {_kind_name(value)!r}.")
    if not from_numpy:
        if dtype.kind in "iu" and kind in "fc":
            raise TypeError(
                f"Expected {dtype.name}, got {short_repr(value)} of type {_kind_name(value)!r} instead."
            )
        if dtype.kind == "f" and kind == "c":
            raise TypeError(
                f"Expected {dtype.name}, got {short_repr(value)} of type 'complex' instead."
            )
    if dtype.kind in "iu" and kind in "iu" and not (from_numpy or draws_as_tensorflow()):
        # TensorFlow wraps them, and programs count on that for those of arrays, or for a mask such as ~(1 << 31).
        info = np.iinfo(target)
        if int(array.min()) < info.min or int(array.max()) > info.max:
            raise TypeError(
                f"{short_repr(value)} does not fit into {dtype.name} ({info.min} to {info.max})"
            )
    return array.astype(target)


def _kind_name(value: TensorLike) -> str:
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return type(value).__name__


def _fill(array: Any, dims: Dims) -> Any:
    if dims is None or None in dims:
        raise ValueError(f"a constant's shape must be fully known, got {shapes.list_dims(dims)}")
    wanted = shapes.num_elements(dims)
    assert wanted is not None
    if array.size == wanted:
        return array.reshape(dims).copy()
    if not wanted:  # whatever the value is
        return np.empty(dims, array.dtype)
    if array.size == 0 or array.size > wanted:
        raise ConversionError(
            f"Too {'few' if array.size < wanted else 'many'} elements provided. "
            f"Needed {'at least' if array.size < wanted else 'at most'} {wanted}, but received {array.size}"
        )
    flat = array.reshape(-1)
    filler = np.full(wanted - array.size, flat[-1], dtype=array.dtype)
    return np.concatenate([flat, filler]).reshape(dims)


def make_constant(value: Any, dtype: DType | None, shape: Any, name: str | None) -> Tensor:
    """Adds a Const node."""
    array, dtype = make_array(value, dtype, shape)
    graph = default_graph()
    op = graph.make_op(
        get_op("Const"), graph.unique_name(name or "Const"), [], {"value": array, "dtype": dtype}
    )
    (made,) = op.outputs
    op.release()
    return made


def constant(
    value: Any,
    dtype: DTypeLike | None = None,
    shape: Any = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """A constant tensor.

    ``value``: a number, string, (nested) list or NumPy array. ``dtype``: inferred when not given
    (int32, float32, string, bool; NumPy arrays keep theirs). ``shape``: reshapes, or repeats the
    last element to fill; with ``verify_shape`` the value must have it already.

    Raises `TypeError` for a value that does not fit ``dtype``, `ValueError` for one that does not
    fit ``shape``.
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if verify_shape and shape is not None:
        array, _ = make_array(value, wanted)
        if array.shape != shapes.as_dims(shape):
            raise TypeError(
                f"Expected Tensor's shape: {shapes.format_dims(shapes.as_dims(shape))}, "
                f"got {array.shape}."
            )
    return make_constant(value, wanted, shape, name)


def placeholder(dtype: Any = dtypes.float32, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor whose value is given with each run: ``sess.run(y, feed_dict={x: value})``.

    ``shape`` may be partial (``[None, 784]``) or ``None`` for any shape. ``dtype`` defaults to
    float32, which the course's slides leave out.
    """
    return placeholder_op(dtype=as_dtype(dtype), shape=shape, name=name)  # type: ignore[no-any-return]


def _pack_tensors(values: list[Tensor], name: str | None = None) -> Tensor:
    return get_op("Pack")(values, axis=0, name=name)  # type: ignore[no-any-return]


set_builders(make_constant, _pack_tensors, make_array)
