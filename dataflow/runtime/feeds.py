"""Feeds: which tensors a ``feed_dict`` names, and its values as arrays of the right kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow import shapes
from dataflow.formats.object_arrays import object_array
from dataflow.graph.op_signature import short_repr
from dataflow.graph.operation import Operation
from dataflow.graph.printing import describe_tensor
from dataflow.graph.tensor import Tensor
from dataflow.kernels.xp import device_of, is_device_array, to_host

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph


#: (type of key, function(key, value) -> list of (tensor, value))
_expanders: list[tuple[Any, Callable[[Any, Any], list[tuple[Any, Any]]]]] = []


def register_feed_expander(base_type: type, function: Callable[[Any, Any], Any]) -> None:
    """A key of ``base_type`` stands for several tensors (as a SparseTensor does)."""
    _expanders.append((base_type, function))


def stands_for_several(key: Any) -> bool:
    """Whether a key of a ``feed_dict`` is a composite, which stands for several tensors."""
    return isinstance(key, tuple) or any(isinstance(key, base) for base, _ in _expanders)


def check_is_feed_dict(feed_dict: Any) -> None:
    """Raises `TypeError` for anything but a dictionary, a second fetch for one."""
    if isinstance(feed_dict, dict) or hasattr(feed_dict, "items"):
        return
    hint = ""
    if isinstance(feed_dict, (Tensor, Operation)):
        hint = " To fetch several tensors in one run put them into a list: sess.run([a, b])."
    raise TypeError(
        f"feed_dict must be a dictionary from placeholders to values, got {type(feed_dict).__name__}.{hint}"
    )


def flatten_feeds(graph: Graph, feed_dict: Mapping[Any, Any]) -> dict[Tensor, Any]:
    """The feeds by tensor; names and composite keys resolved.

    Raises `TypeError` for a key that is not a tensor, `ValueError` for one that may not be fed.
    """
    check_is_feed_dict(feed_dict)
    result: dict[Tensor, Any] = {}
    for key, value in feed_dict.items():
        pairs = [(key, value)]
        for base, expand in _expanders:
            if isinstance(key, base):
                pairs = expand(key, value)
                break
        else:
            if isinstance(key, tuple):
                pairs = _feeds_of_structure(key, value)
        for part, part_value in pairs:
            try:
                tensor = graph.as_graph_element(part, allow_operation=False)
            except Exception as e:
                raise TypeError(f"Cannot interpret feed_dict key as Tensor: {e.args[0]}") from e
            if not graph.is_feedable(tensor):
                raise ValueError(f"Tensor {tensor} may not be fed.")
            result[tensor] = part_value
    return result


def _nested_feeds(key: Any, value: Any) -> list[tuple[Any, Any]]:
    """The feeds of a tuple of tensors (the state of a recurrent cell, nested or not), leaf by leaf.

    Raises `ValueError` where ``value`` is nested otherwise.
    """
    if not isinstance(key, (list, tuple)):
        for base, expand in _expanders:
            if isinstance(key, base):
                return expand(key, value)
        return [(key, value)]
    # An array counts as its rows: np.zeros([2, batch, size]) feeds a state (c, h).
    if not isinstance(value, (list, tuple, np.ndarray)) or len(value) != len(key):
        got = f"{len(value)} values" if hasattr(value, "__len__") else type(value).__name__
        raise ValueError(f"feed_dict key {key} stands for {len(key)} tensors, got {got} for it.")
    return [pair for k, v in zip(key, value, strict=True) for pair in _nested_feeds(k, v)]


def _feeds_of_structure(key: Any, value: Any) -> list[tuple[Any, Any]]:
    """The feeds of a tuple of tensors: `_nested_feeds`, or arrays in order where ``value`` nests as
    many in another way, as what ``sess.run([state])`` gives for ``state``."""
    try:
        return _nested_feeds(key, value)
    except ValueError:
        keys, values = _leaves(key), _leaves(value)
        if len(keys) != len(values) or not all(
            isinstance(v, (np.ndarray, np.generic)) for v in values
        ):
            raise
        return list(zip(keys, values, strict=True))


def _leaves(nested: Any) -> list[Any]:
    """What ``nested`` lists and tuples hold; an array is one of them."""
    if not isinstance(nested, (list, tuple)):
        return [nested]
    return [leaf for part in nested for leaf in _leaves(part)]


def make_feed_converter(tensor: Tensor, device: str = "") -> Callable[[Any], Any]:
    """A function that turns a fed value into an array for ``tensor``, checked against its shape.

    The array is the host's; one that is in the memory of ``device`` (``"gpu:0"``) stays there.
    """
    dtype = tensor.dtype.base_dtype
    if not dtype.is_numpy_compatible:
        return lambda value: value  # resources and the like are passed on unchanged
    numpy_dtype = dtype.numpy
    dims = tensor.dims
    if dims is not None and None not in dims:
        exact = dims
        partial: Any = None
    else:
        exact, partial = None, dims
    is_string = dtype.kind == "S"

    def convert(value: Any) -> Any:
        if type(value) is np.ndarray and value.dtype is numpy_dtype and not is_string:
            array = value
        elif device and is_device_array(value) and value.ndim and device_of(value) == device:
            array = value.astype(numpy_dtype, copy=False)
        else:
            array = _to_array(tensor, value, numpy_dtype, is_string)
        shape = array.shape
        if exact is not None:
            if shape != exact:
                _wrong_shape(tensor, shape, value)
        elif partial is not None and not shapes.compatible(partial, shape):
            _wrong_shape(tensor, shape, value)
        return array if shape or is_string else array[()]

    return convert


def as_fed(tensor: Tensor, value: Any, converted: Any) -> Any:
    """What a fetch of a fed tensor gives: the value as an array, itself where it is one of that dtype.

    As in TensorFlow a number is an array without dimensions then, and text stays text.
    """
    if not tensor.dtype.is_numpy_compatible or is_device_array(converted):
        return converted
    if tensor.dtype.base_dtype.kind == "S":
        return np.asarray(value, dtype=object)
    if type(value) is np.ndarray and value.dtype == tensor.dtype.numpy:
        return value
    return np.asarray(converted)


def _to_array(tensor: Tensor, value: Any, numpy_dtype: np.dtype[Any], is_string: bool) -> Any:
    if isinstance(value, Tensor) or hasattr(value, "_dense_var_to_tensor"):
        raise TypeError(
            f"The value of a feed cannot be a tf.Tensor object: {tensor.name!r} was given "
            f"{getattr(value, 'name', value)!r}. Feed Python numbers, strings, lists or NumPy "
            "arrays; run the tensor first to get its value."
        )
    if is_string:
        if isinstance(value, (int, float, complex, np.number, np.bool_)):
            raise _no_text(tensor, value)
        if isinstance(value, bytes) and not isinstance(value, np.generic):
            one = np.empty((), object)
            one[()] = value
            return one
        return _as_bytes_array(
            tensor, np.asarray(value, dtype=object) if not isinstance(value, np.ndarray) else value
        )
    if isinstance(value, int) and not _holds(numpy_dtype, value):
        raise TypeError(
            f"Type of feed value {value} with type {type(value)} is not compatible with Tensor "
            f"type {numpy_dtype} of {tensor.name!r}: the number does not fit. "
            "Try explicitly setting the type of the feed tensor to a larger type (e.g. int64)."
        )
    try:
        if numpy_dtype.kind == "b" and isinstance(value, (np.ndarray, np.generic)):
            if value.dtype.kind in "SU":  # as numbers: NumPy 2 would ask which are empty
                value = value.astype(np.int64)
        # Other nodes than copies to its device want a CuPy array on the host.
        return np.asarray(to_host(value), dtype=numpy_dtype)
    except (ValueError, TypeError, OverflowError) as e:
        kind = ValueError if isinstance(e, ValueError) else TypeError
        if "inhomogeneous" in str(e):  # NumPy's word
            reason = (
                "the parts of the value have different shapes. Pad them to one shape, or feed "
                "them one after the other."
            )
        else:
            reason = str(e)
        raise kind(
            f"Cannot feed value for Tensor {tensor.name!r}, {describe_tensor(tensor)}: {reason}\n"
            f"  got: {type(value).__name__} {short_repr(value)}\n  built at {tensor.op.built_at}"
        ) from e


def _holds(dtype: np.dtype[Any], value: int) -> bool:
    """Whether this type has that number: exactly, but for float64, as in TensorFlow."""
    try:
        if dtype.kind in "iub":
            return bool(dtype.type(value) == value)
        # As Python numbers: NumPy would round what an array's number is compared with.
        with np.errstate(over="ignore"):
            return bool(dtype.type(value).item() == float(value))
    except OverflowError:
        return False


def _as_bytes_array(tensor: Tensor, value: Any) -> Any:
    """An object array whose elements are ``bytes``; text is encoded as UTF-8.

    Raises `TypeError` for elements that are neither.
    """
    array = np.asarray(value)
    if array.dtype.kind == "S":
        return array.astype(object)
    flat = array.reshape(-1).tolist()
    try:
        flat = list(map(str.encode, flat))
    except TypeError:  # not all are text
        if set(map(type, flat)) == {bytes}:
            return array
        flat = [v.encode() if isinstance(v, str) else v for v in flat]
        for other in flat:
            if not isinstance(other, bytes):
                raise _no_text(tensor, other) from None
    return object_array(flat, array.shape)


def _no_text(tensor: Tensor, value: object) -> TypeError:
    return TypeError(
        f"Type of feed value {value!r} with type {type(value)} is not compatible with Tensor "
        f"type string of {tensor.name!r}. Feed text or bytes: str({value!r})."
    )


def _advice_for_axes(shape: tuple[int, ...], dims: Sequence[int | None]) -> str:
    """What to do with a value that has another number of axes than are needed."""
    if _fits(shape, dims[1:]):
        return "Did you forget the batch dimension? Try value[np.newaxis]."
    *before, last = dims or [None]
    if _fits(shape, before):
        if last in (1, None):
            return "The value has no last axis: value[..., np.newaxis] has one of length 1."
        return f"If these are the numbers of classes, np.eye({last})[value] makes a row of each."
    plural = "axis" if len(shape) == 1 else "axes"
    told = f"The value has {len(shape)} {plural} where {len(dims)} are needed"
    per_row = math.prod(dim for dim in dims if dim is not None)
    num_open = sum(dim is None for dim in dims)
    size = math.prod(shape)
    if num_open > 1 or not per_row or size % per_row or (not num_open and size != per_row):
        return f"{told}, and no shape of that kind holds its {size} numbers: another value, or another placeholder?"
    made = [-1 if dim is None else dim for dim in dims]
    return f"{told}: np.reshape(value, {made}) has them."


def _fits(shape: Sequence[int], dims: Sequence[int | None]) -> bool:
    return len(shape) == len(dims) and all(
        dim in (got, None) for got, dim in zip(shape, dims, strict=True)
    )


def _advice_for(shape: tuple[int, ...], dims: Sequence[int | None]) -> str:
    """What is wrong with the shape of a value, and what to do about it."""
    if len(dims) != len(shape):
        return f"\n  {_advice_for_axes(shape, dims)}"
    wrong = [
        i for i, (got, dim) in enumerate(zip(shape, dims, strict=True)) if dim not in (got, None)
    ]
    told = " and ".join(f"axis {i} is {shape[i]} long and must be {dims[i]}" for i in wrong)
    if _fits(shape[::-1], dims):
        return f"\n  In the value {told}. Transposed it would fit: value.T."
    return (
        f"\n  In the value {told}. Feed another value, or make the placeholder with another shape."
    )


def _wrong_shape(tensor: Tensor, shape: tuple[int, ...], value: Any) -> None:
    text = shapes.format_dims(tensor.dims)
    advice = "" if tensor.dims is None else _advice_for(shape, tensor.dims)
    if value is None:
        advice = "\n  The value is None, as a function without `return` gives it."
    raise ValueError(
        f"Cannot feed value of shape {shape} for Tensor {tensor.name!r}, which has shape {text!r}"
        f"{advice}\n  built at {tensor.op.built_at}"
    )
