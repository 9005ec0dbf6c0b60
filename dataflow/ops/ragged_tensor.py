"""`RaggedTensor`: rows of different lengths, as their values one after the other and where rows begin."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.dtypes import DType, as_dtype
from dataflow.graph.conversion import (
    CompositeOperand,
    convert_to_tensor,
    register_tensor_conversion_function,
)
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.nest import flatten
from dataflow.graph.op_def import OpDef
from dataflow.graph.tensor import Tensor, session_for
from dataflow.graph.type_aliases import AxisLike, DTypeLike, DynamicShapeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.cumulative import cumsum
from dataflow.ops.ragged_padding import check_default, fitted, lengths_without_padding, minimum_of
from dataflow.ops.ragged_value import RaggedTensorValue, is_value
from dataflow.ops.reduce import reduce_max
from dataflow.ops.segment import unsorted_segment_sum
from dataflow.ops.sequences import searchsorted
from dataflow.ops.sparse_tensor import SparseTensor, to_sparse
from dataflow.providers import provided
from dataflow.shapes import TensorShape, dimension_value


def _index(value: Any, name: str) -> Any:
    """A tensor of int32 or int64."""
    tensor = value
    if not isinstance(tensor, Tensor):
        if not any(isinstance(v, Tensor) for v in flatten(value)) and np.size(value) == 0:
            value = np.zeros(np.shape(value), np.int64)
        tensor = convert_to_tensor(value, preferred_dtype=dtypes.int64, name=name)
    if tensor.dtype.base_dtype not in (dtypes.int32, dtypes.int64):
        raise ValueError(f"{name} must have dtype int32 or int64, got {tensor.dtype.name}")
    return tensor


def _splits_of(lengths: Any) -> Any:
    return array.concat([array.zeros([1], lengths.dtype.base_dtype), cumsum(lengths)], 0)


class RaggedTensor:
    """Rows of ``values`` [n, ...]: row i is ``values[row_splits[i]:row_splits[i + 1]]``.

    Values may be ragged themselves. Made by the methods ``from_...`` and by `tf.ragged.constant`. Operations that
    act element by element (``+``, ``tf.exp``, ...) and `tf.concat`, `tf.stack`, `tf.gather`, `tf.reduce_sum` and
    their like take it; others take its ``flat_values``, or ``to_tensor()``.
    """

    is_ragged = True
    __array_priority__ = 200

    @property
    def _type_spec(self) -> Any:
        return provided("type_spec_from_value")(self)

    def __init__(self, values: Any, row_splits: Any) -> None:
        self._values = values
        self._row_splits = row_splits

    # ---- making ---------------------------------------------------------------------------------

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Row i holds the values from ``row_splits[i]`` up to ``row_splits[i + 1]``."""
        with op_scope(name, "RaggedFromRowSplits", []):
            splits = _index(row_splits, "row_splits")
            if splits.get_shape().ndims not in (None, 1):
                raise ValueError(f"row_splits must be a vector, got shape {splits.get_shape()}")
            if splits.get_shape().ndims == 1 and dimension_value(splits.get_shape()[0]) == 0:
                raise ValueError("row_splits may not be empty: it begins with 0")
            return cls(_values(values), splits)

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Row i holds the next ``row_lengths[i]`` values."""
        with op_scope(name, "RaggedFromRowLengths", []):
            return cls(_values(values), _splits_of(_index(row_lengths, "row_lengths")))

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Row i holds the values from ``row_starts[i]`` up to the next row."""
        with op_scope(name, "RaggedFromRowStarts", []):
            values, starts = _values(values), _index(row_starts, "row_starts")
            return cls(values, array.concat([starts, [num_rows(values, starts.dtype)]], 0))

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Row i holds the values up to ``row_limits[i]``."""
        with op_scope(name, "RaggedFromRowLimits", []):
            limits = _index(row_limits, "row_limits")
            zero = array.zeros([1], limits.dtype.base_dtype)
            return cls(_values(values), array.concat([zero, limits], 0))

    @classmethod
    def from_value_rowids(
        cls,
        values: Any,
        value_rowids: Any,
        nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Value i is in row ``value_rowids[i]``; these are sorted, ``nrows`` is the last one plus 1."""
        with op_scope(name, "RaggedFromValueRowIds", []):
            ids = _index(value_rowids, "value_rowids")
            if nrows is None:
                nrows = reduce_max(array.concat([ids + 1, array.zeros([1], ids.dtype)], 0))
            lengths = unsorted_segment_sum(array.ones_like(ids), ids, cast(nrows, ids.dtype))
            return cls(_values(values), _splits_of(lengths))

    @classmethod
    def from_uniform_row_length(
        cls,
        values: Any,
        uniform_row_length: Any,
        nrows: Any = None,
        validate: bool = True,
        name: str | None = None,
    ) -> RaggedTensor:
        """All rows have ``uniform_row_length`` values."""
        with op_scope(name, "RaggedFromUniformRowLength", []):
            values = _values(values)
            length = cast(uniform_row_length, dtypes.int64)
            if nrows is None:
                nrows = num_rows(values) // length
            return cls(values, array.range_(cast(nrows, dtypes.int64) + 1) * length)

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: Any,
        nested_row_splits: Any,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Rows of rows; the splits come outermost first."""
        return cls._nested(cls.from_row_splits, flat_values, nested_row_splits, name)

    @classmethod
    def from_nested_row_lengths(
        cls,
        flat_values: Any,
        nested_row_lengths: Any,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Rows of rows; the lengths come outermost first."""
        return cls._nested(cls.from_row_lengths, flat_values, nested_row_lengths, name)

    @classmethod
    def from_nested_value_rowids(
        cls,
        flat_values: Any,
        nested_value_rowids: Any,
        nested_nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Rows of rows; the ids come outermost first. Raises `ValueError` for another number of ``nested_nrows``."""
        if isinstance(nested_value_rowids, Tensor):
            raise TypeError("nested_value_rowids must be a list of vectors, one for each level")
        nrows = [None] * len(nested_value_rowids) if nested_nrows is None else list(nested_nrows)
        if len(nrows) != len(nested_value_rowids):
            raise ValueError(
                "nested_nrows must have the same length as nested_value_rowids, got "
                f"{len(nrows)} and {len(nested_value_rowids)}"
            )
        result = flat_values
        for ids, count in reversed(list(zip(nested_value_rowids, nrows, strict=True))):
            result = cls.from_value_rowids(result, ids, count, name)
        return result

    @staticmethod
    def _nested(make: Any, flat_values: Any, partitions: Any, name: str | None) -> Any:
        if isinstance(partitions, Tensor):
            raise TypeError("expected a list of vectors, one for each level, got a tensor")
        result = flat_values
        for partition in reversed(list(partitions)):
            result = make(result, partition, name=name)
        return result

    @classmethod
    def from_tensor(
        cls,
        tensor: TensorLike,
        lengths: TensorLike | None = None,
        padding: str | None = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: Any = dtypes.int64,
    ) -> RaggedTensor:
        """The rows of a tensor [rows, columns, ...]: whole, of ``lengths``, or without ``padding`` behind.

        Raises `ValueError` for a tensor of fewer than ``ragged_rank + 1`` axes, and for both ``lengths`` and
        ``padding``.
        """
        if lengths is not None and padding is not None:
            raise ValueError("Specify lengths or padding, but not both")
        with op_scope(name, "RaggedFromTensor", [tensor]):
            tensor = convert_to_tensor(tensor)
            rank = tensor.get_shape().ndims
            if ragged_rank < 1 or (rank is not None and rank <= ragged_rank):
                raise ValueError(
                    f"ragged_rank={ragged_rank} must be from 1 to the rank of the tensor - 1"
                )
            kind = as_dtype(row_splits_dtype)
            shape = array.shape(tensor, out_type=kind)
            joined = array.reshape(tensor, array.concat([[shape[0] * shape[1]], shape[2:]], 0))
            if rank is not None:
                known = tensor.get_shape().as_list()
                joined.set_shape([None, *known[2:]])
            if ragged_rank > 1:
                inner = cls.from_tensor(joined, lengths, padding, ragged_rank - 1, None, kind)
                return cls(inner, array.range_(shape[0] + 1) * shape[1])
            if padding is not None:
                lengths = lengths_without_padding(tensor, padding, kind)
            if lengths is None:
                return cls(joined, array.range_(shape[0] + 1) * shape[1])
            lengths = cast(lengths, kind)
            kept = array.sequence_mask(lengths, maxlen=shape[1])
            values = array.boolean_mask(joined, array.reshape(kept, [-1]))
            return cls(values, _splits_of(cast(minimum_of(lengths, shape[1]), kind)))

    @classmethod
    def from_sparse(
        cls, st_input: Any, name: str | None = None, row_splits_dtype: Any = dtypes.int64
    ) -> RaggedTensor:
        """The rows of a sparse matrix whose values stand at the left of their rows."""
        with op_scope(name, "RaggedFromSparse", []):
            sparse = to_sparse(st_input)
            if sparse.get_shape().ndims not in (None, 2):
                raise ValueError(f"a sparse tensor of rank 2 is needed, got {sparse.get_shape()}")
            kind = as_dtype(row_splits_dtype)
            rows = cast(sparse.indices[:, 0], kind)
            return cls.from_value_rowids(sparse.values, rows, cast(sparse.dense_shape[0], kind))

    # ---- parts ----------------------------------------------------------------------------------

    @property
    def values(self) -> Any:
        """The rows one after the other: a tensor, or a ragged one."""
        return self._values

    @property
    def row_splits(self) -> Any:
        """Where the rows begin and the last one ends, [rows + 1]."""
        return self._row_splits

    @property
    def flat_values(self) -> Tensor:
        """The innermost values."""
        inner = self._values
        while isinstance(inner, RaggedTensor):
            inner = inner._values
        return inner  # type: ignore[no-any-return]

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The row splits of all levels, outermost first."""
        inner = self._values
        return (
            self._row_splits,
            *(inner.nested_row_splits if isinstance(inner, RaggedTensor) else ()),
        )

    @property
    def ragged_rank(self) -> int:
        """How many levels of rows there are."""
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._values.dtype  # type: ignore[no-any-return]

    @property
    def graph(self) -> Any:
        """The graph of the parts."""
        return self._row_splits.graph

    @property
    def op(self) -> Any:
        """The operation that makes the innermost values."""
        return self.flat_values.op

    @property
    def name(self) -> str:
        """The name of the innermost values."""
        return self.flat_values.name

    @property
    def shape(self) -> TensorShape:
        """The static shape; None for each ragged axis."""
        splits = self._row_splits.get_shape()
        rows = None if splits.ndims is None else dimension_value(splits[0])
        inner = self._values.shape
        if inner.ndims is None:
            return TensorShape(None)
        return TensorShape([None if rows is None else rows - 1, None, *inner.as_list()[1:]])

    def get_shape(self) -> TensorShape:
        """The same as ``shape``."""
        return self.shape

    def consumers(self) -> list[Any]:
        """The operations that take a part."""
        parts = (self.flat_values, *self.nested_row_splits)
        return list(dict.fromkeys(op for part in parts for op in part.consumers()))

    def nrows(self, out_type: DTypeLike | None = None, name: str | None = None) -> Any:
        """The number of rows."""
        kind = self._row_splits.dtype if out_type is None else as_dtype(out_type)
        return array.shape(self._row_splits, out_type=kind)[0] - 1

    def row_starts(self, name: str | None = None) -> Any:
        """Where each row begins in ``values``."""
        return self._row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Any:
        """Where each row ends in ``values``."""
        return self._row_splits[1:]

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """The lengths of the rows of an axis; ragged for an axis behind the second."""
        if axis == 0:
            return self.nrows()
        if axis == 1:
            return self._row_splits[1:] - self._row_splits[:-1]
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.row_lengths(axis - 1))
        size = array.shape(self._values, out_type=self._row_splits.dtype)
        rows = array.fill([size[0]], size[axis - 1])
        return self.with_values(rows)

    def nested_row_lengths(self, name: str | None = None) -> tuple[Any, ...]:
        """The row lengths of all levels, outermost first."""
        return tuple(splits[1:] - splits[:-1] for splits in self.nested_row_splits)

    def value_rowids(self, name: str | None = None) -> Any:
        """The row of each of ``values``."""
        kind = self._row_splits.dtype.base_dtype
        places = array.range_(num_rows(self._values, kind))
        found = searchsorted(self._row_splits[1:], places, side="right")
        return cast(found, kind)

    def nested_value_rowids(self, name: str | None = None) -> tuple[Any, ...]:
        """The rows of the values of all levels, outermost first."""
        inner = self._values
        more = inner.nested_value_rowids() if isinstance(inner, RaggedTensor) else ()
        return (self.value_rowids(), *more)

    def bounding_shape(
        self,
        axis: AxisLike | None = None,
        name: str | None = None,
        out_type: DTypeLike | None = None,
    ) -> Any:
        """The shape of `to_tensor`, or its size along ``axis``."""
        kind = self._row_splits.dtype if out_type is None else as_dtype(out_type)
        sizes = [self.nrows(kind)]
        for lengths in self.nested_row_lengths():
            zero = array.zeros([1], lengths.dtype)
            sizes.append(cast(reduce_max(array.concat([lengths, zero], 0)), kind))
        whole = array.concat(
            [array.stack(sizes), array.shape(self.flat_values, out_type=kind)[1:]], 0
        )
        return whole if axis is None else array.gather(whole, axis)

    # ---- changed parts --------------------------------------------------------------------------

    def with_values(self, new_values: Any) -> RaggedTensor:
        """The same rows with other values."""
        return RaggedTensor(_values(new_values), self._row_splits)

    def _composite_parts(self) -> tuple[list[Tensor], Any]:
        """What passes through a loop or a conditional in its place, and how it is made of that."""
        return [
            self.flat_values,
            *self.nested_row_splits,
        ], lambda parts: RaggedTensor.from_nested_row_splits(parts[0], parts[1:])

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """The same rows, on all levels, with other innermost values."""
        if isinstance(self._values, RaggedTensor):
            new_values = self._values.with_flat_values(new_values)
        return self.with_values(new_values)

    def with_row_splits_dtype(self, dtype: Any) -> RaggedTensor:
        """The same with row splits of int32 or int64."""
        kind = as_dtype(dtype)
        if kind not in (dtypes.int32, dtypes.int64):
            raise ValueError(f"row splits must be int32 or int64, got {kind.name}")
        inner = self._values
        if isinstance(inner, RaggedTensor):
            inner = inner.with_row_splits_dtype(kind)
        return RaggedTensor(inner, cast(self._row_splits, kind))

    # ---- as something else ----------------------------------------------------------------------

    def to_tensor(
        self,
        default_value: Any = None,
        name: str | None = None,
        shape: DynamicShapeLike | None = None,
    ) -> Any:
        """A tensor with ``default_value`` (0, or "") behind the shorter rows.

        ``shape`` cuts and widens the result; None stands for sizes that stay.
        """
        with op_scope(name, "RaggedToTensor", []):
            inner = self._values
            if default_value is None:
                default_value = b"" if self.dtype.base_dtype is dtypes.string else 0
            default = convert_to_tensor(default_value, self.dtype.base_dtype)
            check_default(default, self.flat_values)
            if isinstance(inner, RaggedTensor):
                inner = inner.to_tensor(default)
            lengths = self.row_lengths()
            width = reduce_max(array.concat([lengths, array.zeros([1], lengths.dtype)], 0))
            columns = array.range_(width)[None, :]
            last = num_rows(inner, lengths.dtype)
            places = self._row_splits[:-1, None] + columns
            places = array.where(
                columns + array.zeros_like(places) < lengths[:, None] + array.zeros_like(places),
                places,
                array.zeros_like(places) + last,
            )
            one = array.concat([[1], array.shape(inner)[1:]], 0)
            padding = (
                array.zeros(one, default.dtype) + default
                if default.dtype.base_dtype is not (dtypes.string)
                else array.fill(one, default)
            )
            result = array.gather(array.concat([inner, padding], 0), places)
            if shape is not None:
                result = fitted(result, default, shape)
            return result

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """A `SparseTensor` with all values; innermost values are a vector."""
        with op_scope(name, "RaggedToSparse", []):
            if self.flat_values.get_shape().ndims not in (None, 1):
                raise ValueError(
                    f"to_sparse needs a vector of innermost values, got {self.flat_values.get_shape()}"
                )
            columns: list[Any] = []
            level: Any = self
            while isinstance(level, RaggedTensor):
                rows = level.value_rowids()
                starts = array.gather(level.row_splits, rows)
                place = array.range_(num_rows(level.values, rows.dtype)) - starts
                before = [array.gather(c, rows) for c in columns] or [rows]
                columns = [*before, place]
                level = level.values
            indices = array.stack([cast(c, dtypes.int64) for c in columns], 1)
            return SparseTensor(
                indices, self.flat_values, self.bounding_shape(out_type=dtypes.int64)
            )

    def to_list(self) -> Any:
        """The rows as nested lists, in eager code; of a graph's ``sess.run(rt).to_list()``."""
        if self.graph.executes_eagerly:
            value: Any = np.asarray(self.flat_values)
            for splits in reversed(self.nested_row_splits):
                value = RaggedTensorValue(value, np.asarray(splits))
            return value.to_list()
        raise ValueError(
            "A RaggedTensor has no values before the graph runs: use sess.run(rt).to_list()."
        )

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Runs the graph; returns a `RaggedTensorValue`."""
        return session_for(session, self.graph, "eval()").run(self, feed_dict)

    def __getitem__(self, key: Any) -> Any:
        from dataflow.ops.ragged_indexing import getitem

        return getitem(self, key)

    def __iter__(self) -> Any:
        raise TypeError(
            "A RaggedTensor has no rows before the graph runs: use tf.map_fn or indices."
        )

    def __bool__(self) -> bool:
        raise TypeError("A RaggedTensor has no truth value before the graph runs.")

    def __repr__(self) -> str:
        if self._row_splits.graph.executes_eagerly:
            return f"<tf.RaggedTensor {self.to_list()}>"
        return f"tf.RaggedTensor(values={self._values}, row_splits={self._row_splits})"

    # ---- element by element ---------------------------------------------------------------------

    def elementwise(self, op: OpDef, values: Any, attrs: dict[str, Any], name: str | None) -> Any:
        """``op`` of the operands' innermost values, with these rows."""
        from dataflow.ops.ragged_operands import broadcast_operands, flat_operands, self_like

        # One list of operands, as those of a sum or of a join of texts.
        in_list = len(values) == 1 and isinstance(values[0], (list, tuple))
        values = broadcast_operands(list(values[0] if in_list else values))
        flat = flat_operands(values)
        return self_like(values).with_flat_values(
            op.build([flat] if in_list else flat, attrs, name)
        )


def _values(values: Any) -> Any:
    if isinstance(values, RaggedTensor):
        return values
    if is_value(values):
        return convert_to_ragged(values)
    tensor = convert_to_tensor(values, name="values")
    if tensor.get_shape().ndims == 0:
        raise ValueError("values of a RaggedTensor need an axis, got a scalar")
    return tensor


def num_rows(values: Any, kind: Any = dtypes.int64) -> Any:
    """The size of the first axis."""
    kind = as_dtype(kind).base_dtype
    if isinstance(values, RaggedTensor):
        return values.nrows(kind)
    return array.shape(values, out_type=kind)[0]


def is_ragged(value: Any) -> bool:
    """Whether this is a `RaggedTensor` or a `RaggedTensorValue`."""
    return isinstance(value, RaggedTensor | RaggedTensorValue)


def convert_to_ragged(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A `RaggedTensor` of a value of one; ragged tensors as they are, anything else as a tensor."""
    if isinstance(value, RaggedTensor):
        return value
    if is_value(value):
        inner = convert_to_ragged(value.values, dtype)
        return RaggedTensor.from_row_splits(inner, value.row_splits)
    return convert_to_tensor(value, dtype, name)


convert_to_tensor_or_ragged_tensor = convert_to_ragged


def _no_tensor(
    value: TensorLike, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Any:
    raise CompositeOperand(
        convert_to_ragged(value),
        "take its flat_values or to_tensor(), or apply the function by tf.ragged.map_flat_values.",
    )


register_tensor_conversion_function(RaggedTensor, _no_tensor)
register_tensor_conversion_function(RaggedTensorValue, _no_tensor)


def _install_operators() -> None:
    """Python's operators: those of tensors, which map over the innermost values."""
    from dataflow.ops import operators  # noqa: F401  (puts them on Tensor)

    for name in (
        *("add", "sub", "mul", "truediv", "div", "floordiv", "mod", "pow", "and", "or", "xor"),
        *("lt", "le", "gt", "ge", "neg", "abs", "invert"),
    ):
        unary = name in ("neg", "abs", "invert")
        setattr(RaggedTensor, f"__{name}__", _operator(f"__{name}__", unary))
        if not unary and name not in ("lt", "le", "gt", "ge"):
            setattr(RaggedTensor, f"__r{name}__", _operator(f"__r{name}__", False))


def _operator(name: str, unary: bool) -> Any:
    if unary:
        return lambda x: x.with_flat_values(getattr(x.flat_values, name)())

    def function(x: RaggedTensor, y: TensorLike) -> Any:
        from dataflow.ops.ragged_operands import broadcast_operands, flat_operands, self_like

        values = broadcast_operands([x, y])
        mine, other = flat_operands(values)
        return self_like(values).with_flat_values(getattr(mine, name)(other))

    return function


_install_operators()
