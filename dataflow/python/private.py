"""Private functions of TensorFlow's modules that published libraries call."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.ops.activation import softmax as softmax_v2
from dataflow.ops.arithmetic import floormod
from dataflow.ops.array import concat, ones_like, range_, rank, reshape, size, transpose
from dataflow.ops.casts import cast
from dataflow.ops.counting import bucketize_op
from dataflow.ops.dilated_convolutions import convolution
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.lookup_tables import StaticHashTable as StaticHashTableV1
from dataflow.ops.matmul import matmul as matmul_with_broadcast
from dataflow.ops.partition_stitch import dynamic_stitch
from dataflow.ops.replicas import state
from dataflow.ops.shape import rank_op, shape_of
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.string_split import split as string_split_v2
from dataflow.ops.tensor_values import constant_value
from dataflow.ops.variable_scope import get_variable_scope, variable_scope
from dataflow.ops.variables import Variable
from dataflow.ops.vocabulary_tables import StaticVocabularyTable as StaticVocabularyTableV1
from dataflow.runtime.feeds import register_feed_expander
from dataflow.runtime.fetches import register_fetch_expander
from dataflow.shapes import TensorShape, broadcast_static_shape as broadcast_shape
from dataflow.train.device_setter import RoundRobinStrategy
from dataflow.train.saveables import all_saveable_objects

__all__ = [
    "Convolution",
    "StaticHashTableV1",
    "StaticVocabularyTableV1",
    "broadcast_shape",
    "collect",
    "is_broadcast_compatible",
    "matmul_with_broadcast",
    "rank_internal",
    "read_variable_op",
    "reduced_shape",
    "register_session_run_conversion_functions",
    "shape_internal",
    "skip_summary",
    "softmax_v2",
    "string_split_v2",
    "variable",
]

#: What no name of a summary's scope may hold.
_INVALID_SCOPE_CHARACTERS = re.compile(r"[^-_/.A-Za-z0-9]")


def _as_indexed_slices(x: Any, optimize: bool = True) -> IndexedSlices:
    """A tensor as slices, all of its rows. Raises `TypeError` for what is neither a tensor nor slices."""
    if isinstance(x, IndexedSlices):
        return x
    if not isinstance(x, Tensor):
        raise TypeError(f"Not a Tensor or IndexedSlices: {type(x)}")
    sizes = shape_internal(x)
    return IndexedSlices(x, range_(0, sizes[0]), sizes)


def _as_indexed_slices_list(inputs: Any, optimize: bool = True) -> list[IndexedSlices]:
    """Tensors and slices as slices, whose row numbers are all int64 where some are.

    Raises `TypeError` for no list.
    """
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"Expected a list or tuple, not a {type(inputs)}")
    slices = [_as_indexed_slices(item) for item in inputs]
    if len({part.indices.dtype.base_dtype for part in slices}) < 2:
        return slices
    return [IndexedSlices(s.values, cast(s.indices, dtypes.int64), s.dense_shape) for s in slices]


def reduced_shape(input_shape: Any, axes: Any) -> Tensor:
    """The shape that a reduction along ``axes`` leaves with ``keepdims``: 1 in their places, int32."""
    sizes = cast(convert_to_tensor(input_shape), dtypes.int32)
    axes = cast(convert_to_tensor(axes), dtypes.int32)
    count = size(sizes)
    parts = [range_(count), floormod(axes + count, count)]
    return dynamic_stitch(parts, [sizes, ones_like(axes)])  # type: ignore[no-any-return]


_RoundRobinStrategy = RoundRobinStrategy
_all_saveable_objects = all_saveable_objects

_registered: set[type] = set()


def collect(val: Tensor, collections: Any, default_collections: Any) -> None:
    """Puts a summary into ``collections``, or the ``default_collections`` where they are None."""
    for key in default_collections if collections is None else collections:
        val.graph.add_to_collection(key, val)


def _pure_variable_scope(name_or_scope: Any, reuse: Any = None, **kwargs: Any) -> variable_scope:
    """A variable scope that leaves the names of nodes as they are."""
    kwargs.pop("old_name_scope", None)
    return variable_scope(name_or_scope, reuse=reuse, auxiliary_name_scope=False, **kwargs)


def variable(
    initial_value: Any = None, use_resource: bool | None = None, **kwargs: Any
) -> Variable:
    """A `tf.Variable`, a resource variable where ``use_resource`` or the scope says so."""
    if use_resource is None:
        use_resource = bool(get_variable_scope().use_resource)
    return Variable(initial_value, use_resource=use_resource, **kwargs)


def shape_internal(
    input: Any, name: str | None = None, optimize: bool = True, out_type: Any = None
) -> Tensor:
    """`tf.shape`; with ``optimize=False`` a node even where the shape is known."""
    return shape_of(input, name, out_type, optimize)


def rank_internal(input: Any, name: str | None = None, optimize: bool = True) -> Tensor:
    """`tf.rank`; with ``optimize=False`` a node even where the rank is known."""
    if optimize or isinstance(input, SparseTensor):
        return rank(input, name)
    return rank_op(convert_to_tensor(input), name=name)  # type: ignore[no-any-return]


def _tensor_shape_tensor_conversion_function(
    s: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    """A known shape as a vector; raises `ValueError` where a size is unknown."""
    return convert_to_tensor(TensorShape(s), dtype=dtype, name=name)


def read_variable_op(resource: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """The value of the variable whose ``handle`` this is; ``dtype`` is the variable's own."""
    from dataflow.ops.state import read_variable_op as read

    return read(resource, name=name)  # type: ignore[no-any-return]


def register_session_run_conversion_functions(
    tensor_type: type,
    fetch_function: Callable[[Any], Any],
    feed_function: Callable[[Any, Any], Any] | None = None,
    feed_function_for_partial_run: Callable[[Any], Any] | None = None,
) -> None:
    """Lets `Session.run` fetch and feed objects of one's own class.

    ``fetch_function(fetch)`` returns (list of tensors, function from the list of their values to what is
    returned); ``feed_function(key, value)`` a list of pairs of tensor and value. Raises `ValueError` for
    a class that has some already.
    """
    if tensor_type in _registered:
        raise ValueError(f"{tensor_type} has already been registered so ignore it.")
    _registered.add(tensor_type)
    register_fetch_expander(tensor_type, fetch_function)
    if feed_function is not None:
        register_feed_expander(tensor_type, feed_function)


def _concat(prefix: Any, suffix: Any, static: bool = False) -> Any:
    """The shape ``prefix + suffix``, each an int, a shape or a tensor: a vector, or a list if ``static``.

    Raises `ValueError` where one is a shape whose rank is not known.
    """
    parts = []
    for name, part in (("prefix", prefix), ("suffix", suffix)):
        if isinstance(part, Tensor):
            if static:
                known = constant_value(part)
                part = None if known is None else known.tolist()
            elif part.shape.rank not in (0, 1):
                raise ValueError(f"{name} tensor must be either a scalar or vector, got {part}.")
        if not isinstance(part, Tensor):
            shape = TensorShape([part] if isinstance(part, (int, np.integer)) else part)
            if shape.rank is None:
                raise ValueError(f"Provided a {name} of unknown rank: ({prefix} and {suffix})")
            part = shape.as_list()
        parts.append(part)
    if static:
        return [*parts[0], *parts[1]]
    vectors = [reshape(convert_to_tensor(p, dtype=dtypes.int32), [-1]) for p in parts]
    return concat(vectors, 0)


def _transpose_batch_time(x: Any) -> Any:
    """``x`` with its first two dimensions exchanged; unchanged where it is known to have fewer."""
    x = convert_to_tensor(x)
    if x.dims is not None and len(x.dims) < 2:
        return x
    if x.dims is not None:
        return transpose(x, [1, 0, *range(2, len(x.dims))])
    return transpose(x, concat([[1, 0], range_(2, rank(x))], 0))


def _like_rnncell(cell: Any) -> bool:
    """Whether ``cell`` has what a recurrent cell must have."""
    return callable(cell) and all(
        hasattr(cell, name) for name in ("output_size", "state_size", "zero_state")
    )


def _bucketize(input: Any, boundaries: Any, name: str | None = None) -> Tensor:
    """For each element the number of ``boundaries`` that are not above it: int32."""
    return bucketize_op(input, boundaries=list(boundaries), name=name)  # type: ignore[no-any-return]


def is_broadcast_compatible(shape_x: TensorShape, shape_y: TensorShape) -> bool:
    """Whether tensors of these shapes can be broadcast together, as far as the shapes tell."""
    if shape_x.ndims is None or shape_y.ndims is None:
        return False
    try:
        broadcast_shape(shape_x, shape_y)
    except ValueError:
        return False
    return True


def skip_summary() -> bool:
    """Whether this tower of a replicated model writes no summaries: only the first one does."""
    return state.replica is not None and state.replica.index > 0


class Convolution:
    """``Convolution(input_shape, filter_shape, "SAME")(input, filter)``: `tf.nn.convolution`, kept."""

    def __init__(
        self,
        input_shape: Any,
        filter_shape: Any,
        padding: Any,
        strides: Any = None,
        dilation_rate: Any = None,
        name: str | None = None,
        data_format: str | None = None,
    ) -> None:
        self.input_shape, self.filter_shape = TensorShape(input_shape), TensorShape(filter_shape)
        self.padding, self.strides, self.dilation_rate = padding, strides, dilation_rate
        self.name, self.data_format = name, data_format

    def __call__(self, inp: Any, filter: Any) -> Tensor:
        return convolution(
            inp,
            filter,
            padding=self.padding,
            strides=self.strides,
            dilation_rate=self.dilation_rate,
            name=self.name,
            data_format=self.data_format,
        )
