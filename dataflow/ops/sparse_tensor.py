"""`SparseTensor`: the elements of a tensor that are there, and where."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.dtypes import DType, as_dtype
from dataflow.graph.conversion import (
    CompositeOperand,
    convert_to_tensor,
    internal_convert,
    register_tensor_conversion_function,
)
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.op_def import OpDef
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops.sources import constant, placeholder, placeholder_with_default
from dataflow.ops.static_value import static_dims
from dataflow.providers import provided
from dataflow.shapes import Dims, TensorShape, as_dims

SparseTensorValue = namedtuple("SparseTensorValue", ["indices", "values", "dense_shape"])
SparseTensorValue.__doc__ = """The value of a `SparseTensor`: arrays in place of tensors."""


class SparseTensor:
    """A tensor of shape ``dense_shape`` [rank] with ``values`` [n] at ``indices`` [n, rank].

    All else is zero (or empty). Indices and shape are int64. Ops expect the indices in row-major
    order without repetition; `sparse_reorder` sorts them.

    Raises `ValueError` when the three shapes do not fit together.
    """

    #: What Keras attaches, as to a `Tensor`.
    extras: dict[str, Any] | None = None

    def __init__(self, indices: TensorLike, values: TensorLike, dense_shape: Any) -> None:
        with op_scope(None, "SparseTensor", [indices, values, dense_shape]):
            self._indices = convert_to_tensor(indices, dtypes.int64, "indices")
            self._values = internal_convert(values, None, "values")
            self._dense_shape = convert_to_tensor(dense_shape, dtypes.int64, "dense_shape")
        self.static_dims: Any = None  # what a placeholder's declaration says of the shape
        at, many, rank = self._indices.dims, self._values.dims, self._dense_shape.dims
        for dims, wanted, name in (
            (at, 2, "indices"),
            (many, 1, "values"),
            (rank, 1, "dense_shape"),
        ):
            if dims is not None and len(dims) != wanted:
                raise ValueError(
                    f"{name} of a SparseTensor must have rank {wanted}, got shape "
                    f"{shapes.list_dims(dims)}"
                )
        if at is not None and many is not None and not shapes.compatible(at[:1], many):
            raise ValueError(
                f"a SparseTensor with {at[0]} indices and {many[0]} values: each value needs one"
            )
        if at is not None and rank is not None and not shapes.compatible(at[1:], rank):
            raise ValueError(
                f"indices of a SparseTensor have {at[1]} numbers, its dense_shape has {rank[0]}"
            )

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """A constant SparseTensor of a `SparseTensorValue`."""
        if not is_sparse(sparse_tensor_value):
            raise TypeError(
                f"Argument sparse_tensor_value={sparse_tensor_value!r} is neither a SparseTensor "
                "nor a SparseTensorValue."
            )
        return cls(*sparse_parts(sparse_tensor_value))

    @property
    def _type_spec(self) -> Any:
        return provided("type_spec_from_value")(self)

    @property
    def indices(self) -> Tensor:
        """Where the values stand, int64 [n, rank]."""
        return self._indices

    @property
    def values(self) -> Tensor:
        """The values, [n]."""
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        """The shape of the whole, int64 [rank]."""
        return self._dense_shape

    @property
    def op(self) -> Any:
        """The operation that makes ``values``."""
        return self._values.op

    @property
    def name(self) -> str:
        """The name of ``values``."""
        return self._values.name

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._values.dtype

    @property
    def graph(self) -> Any:
        """The graph of the three tensors."""
        return self._indices.graph

    @property
    def shape(self) -> TensorShape:
        """The static shape of the whole, as far as known."""
        return TensorShape(
            static_dims(self._dense_shape) if self.static_dims is None else self.static_dims
        )

    @property
    def dims(self) -> Dims:
        """The static sizes of the whole, None each where not known; None without a known rank."""
        return as_dims(self.shape)

    def get_shape(self) -> TensorShape:
        """The same as ``shape``."""
        return self.shape

    def consumers(self) -> list[Any]:
        """The operations that take ``values``."""
        return self._values.consumers()

    def with_values(self, new_values: Any) -> SparseTensor:
        """The same places with other values."""
        return SparseTensor(self._indices, new_values, self._dense_shape)

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Runs the graph; returns a `SparseTensorValue`."""
        from dataflow.graph.tensor import session_for

        return session_for(session, self.graph, "eval()").run(self, feed_dict)

    def __truediv__(self, other: Any) -> SparseTensor:
        from dataflow.ops.sparse import sparse_dense_cwise

        return sparse_dense_cwise("SparseDenseCwiseDiv", self, other)

    __div__ = __truediv__

    def __mul__(self, other: Any) -> SparseTensor:
        from dataflow.ops.sparse import sparse_dense_cwise

        return sparse_dense_cwise("SparseDenseCwiseMul", self, other)

    def elementwise(self, op: OpDef, values: Any, attrs: dict[str, Any], name: str | None) -> Any:
        """``op`` of the values, at the same indices; only for ops of one input that keep zeros zero."""
        if len(values) != 1 or op.type not in _KEEPS_ZEROS:
            raise TypeError(f"{op.type}: {_no_tensor_error(self)}")
        return SparseTensor(self._indices, op.build([self._values], attrs, name), self._dense_shape)

    def __str__(self) -> str:
        return (
            f"SparseTensor(indices={self._indices}, values={self._values}, "
            f"dense_shape={self._dense_shape})"
        )

    __repr__ = __str__


#: Ops of one input whose result is 0 for 0: all that TensorFlow takes sparse tensors in.
_KEEPS_ZEROS = frozenset({"Abs", "ComplexAbs", "Neg", "Square", "Sqrt", "Sign", "Tanh", "Erf"})


def _no_tensor_error(value: Any) -> CompositeOperand:
    return CompositeOperand(value, "use tf.sparse.to_dense(x), or apply the function to x.values.")


def _no_tensor(
    value: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, as_ref: bool = False
) -> Any:
    raise _no_tensor_error(value)


register_tensor_conversion_function(SparseTensor, _no_tensor)


def is_sparse(value: Any) -> bool:
    """True for a `SparseTensor` or a `SparseTensorValue`."""
    return isinstance(value, (SparseTensor, SparseTensorValue))


def sparse_parts(value: Any) -> tuple[Any, Any, Any]:
    """``(indices, values, dense_shape)`` of a SparseTensor, its value, or a triple."""
    if is_sparse(value):
        return value.indices, value.values, value.dense_shape
    indices, values, dense_shape = value
    return indices, values, dense_shape


def to_sparse(value: Any) -> SparseTensor:
    """``value`` as a `SparseTensor`; raises `TypeError` for anything dense."""
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        raise TypeError(
            f"Input must be a SparseTensor, got {value!r}. "
            "Make one of a dense tensor with tf.sparse.from_dense(t)."
        )
    return value


def convert_to_tensor_or_sparse_tensor(
    value: Any, dtype: DTypeLike | None = None, name: str | None = None
) -> Any:
    """A `SparseTensor` as it is, anything else as a `Tensor`."""
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if isinstance(value, SparseTensor):
        if dtype is not None and as_dtype(dtype).base_dtype is not value.dtype.base_dtype:
            raise RuntimeError(f"Sparse dtype: requested = {dtype}, actual = {value.dtype.name}")
        return value
    return convert_to_tensor(value, dtype, name)


def sparse_placeholder(
    dtype: DTypeLike, shape: Any = None, name: str | None = None
) -> SparseTensor:
    """A SparseTensor fed with a `SparseTensorValue` or a triple (indices, values, shape)."""
    full = ("", "", "") if name is None else (f"{name}/values", f"{name}/indices", f"{name}/shape")
    values_name, indices_name, shape_name = (n or None for n in full)
    static: Any = None
    if shape is None:
        rank: int | None = None
        dense_shape = placeholder(dtypes.int64, [None], shape_name)
    elif isinstance(shape, Tensor):
        rank = None if shape.dims is None else shape.dims[0]
        dense_shape = shape
    else:
        static = shapes.as_dims([None if d == -1 else d for d in shapes.as_dims(shape) or ()])
        rank = len(static)
        sizes = np.array([-1 if d is None else d for d in static], np.int64)
        default = constant(sizes, name=f"{shape_name or 'shape'}_default")
        dense_shape = placeholder_with_default(default, (rank,), shape_name)
    result = SparseTensor(
        values=placeholder(dtype, [None], values_name),
        indices=placeholder(dtypes.int64, [None, rank], indices_name),
        dense_shape=dense_shape,
    )
    result.static_dims = static
    return result
