"""Shapes of ragged tensors as tensors, and how they are broadcast: `RaggedTensorDynamicShape`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.ops.array import concat, fill, gather, identity, ones, reshape, shape, stack
from dataflow.ops.casts import cast
from dataflow.ops.comparison import equal, logical_or
from dataflow.ops.cumulative import cumsum
from dataflow.ops.logging_ops import Assert
from dataflow.ops.ragged_tensor import RaggedTensor, convert_to_ragged
from dataflow.ops.reduce import reduce_all, reduce_sum
from dataflow.ops.selection import where
from dataflow.ops.sequences import range_
from dataflow.ops.static_value import static_value
from dataflow.ops.tile import repeat

_I64 = dtypes.int64


def _sizes(value: Any) -> Tensor:
    return cast(convert_to_tensor(value, name="dim_size"), _I64)  # type: ignore[no-any-return]


def _checked(value: Tensor, condition: Tensor, message: str) -> Tensor:
    """``value``, once ``condition`` was found true. Raises `ValueError` where it is known to be false."""
    known = static_value(condition)
    if known is not None:
        if not known:
            raise ValueError(message)
        return value
    with value.graph.control_dependencies([Assert(condition, [message])]):
        return identity(value)


def _sums(values: Tensor, counts: Tensor) -> Tensor:
    """The sums of runs of ``values`` of the lengths ``counts``."""
    before = concat([[0], cumsum(values)], 0)
    ends = cumsum(counts)
    return gather(before, ends) - gather(before, ends - counts)  # type: ignore[no-any-return]


def _repeated(values: Tensor, counts: Tensor, times: Tensor) -> Tensor:
    """Runs of ``values`` of the lengths ``counts``, each as often as ``times`` says."""
    which = repeat(range_(cast(shape(counts)[0], _I64)), times)
    lengths, begins = gather(counts, which), gather(cumsum(counts) - counts, which)
    shift = begins - (cumsum(lengths) - lengths)
    places = range_(reduce_sum(lengths)) + repeat(shift, lengths)
    return gather(values, places)


class RaggedTensorDynamicShape:
    """The sizes of a ragged tensor: a scalar for a uniform dimension, a vector of lengths for a ragged one.

    ``partitioned_dim_sizes`` are those up to the last ragged dimension, ``inner_dim_sizes``, a vector, those
    of the uniform ones behind it. All are int64.
    """

    def __init__(
        self, partitioned_dim_sizes: Sequence[Any], inner_dim_sizes: Any, dim_size_dtype: Any = None
    ) -> None:
        self._partitioned = tuple(_sizes(size) for size in partitioned_dim_sizes)
        self._inner = _sizes(inner_dim_sizes)
        if self._inner.dims is None or len(self._inner.dims) != 1 or self._inner.dims[0] is None:
            raise ValueError("inner_dim_sizes must be a vector, whose length is known")
        if self._partitioned and self._partitioned[0].dims != ():
            raise ValueError("outermost partitioned dimension must be uniform")
        if self._partitioned and self._partitioned[-1].dims == ():
            raise ValueError("innermost partitioned dimension must be ragged")

    def __repr__(self) -> str:
        return (
            f"RaggedTensorDynamicShape(partitioned_dim_sizes={self._partitioned!r}, "
            f"inner_dim_sizes={self._inner!r})"
        )

    @staticmethod
    def from_dim_sizes(dim_sizes: Sequence[Any]) -> RaggedTensorDynamicShape:
        """The shape whose dimensions have these sizes: scalars, and vectors of lengths."""
        sizes = [_sizes(size) for size in dim_sizes]
        last = max((i for i, size in enumerate(sizes) if size.dims != ()), default=-1)
        inner = sizes[last + 1 :]
        return RaggedTensorDynamicShape(
            sizes[: last + 1], stack(inner) if inner else convert_to_tensor([], _I64)
        )

    @classmethod
    def from_tensor(cls, rt_input: Any, dim_size_dtype: Any = None) -> RaggedTensorDynamicShape:
        """The shape of a tensor, or of a ragged one."""
        rt_input = convert_to_ragged(rt_input)
        if not isinstance(rt_input, RaggedTensor):
            return cls((), shape(rt_input, out_type=_I64))
        sizes = (rt_input.nrows(), *rt_input.nested_row_lengths())
        return cls(sizes, shape(rt_input.flat_values, out_type=_I64)[1:])

    @property
    def partitioned_dim_sizes(self) -> tuple[Tensor, ...]:
        """The sizes of the dimensions that row splits tell apart."""
        return self._partitioned

    @property
    def inner_dim_sizes(self) -> Tensor:
        """The sizes of the uniform dimensions of the innermost values."""
        return self._inner

    @property
    def num_partitioned_dimensions(self) -> int:
        """How many dimensions there are up to the last ragged one."""
        return len(self._partitioned)

    @property
    def num_inner_dimensions(self) -> int:
        """How many uniform dimensions there are behind the last ragged one."""
        return int(self._inner.shape[0])

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return self.num_partitioned_dimensions + self.num_inner_dimensions

    @property
    def dim_size_dtype(self) -> Any:
        """The dtype of the sizes."""
        return _I64

    def dimension_size(self, axis: int) -> Tensor:
        """The size of a dimension, or the lengths of its slices."""
        if axis < self.num_partitioned_dimensions:
            return self._partitioned[axis]
        return self._inner[axis - self.num_partitioned_dimensions]  # type: ignore[no-any-return]

    def is_ragged(self, axis: int) -> bool:
        """Whether the slices of a dimension may have different lengths."""
        return axis < self.num_partitioned_dimensions and self._partitioned[axis].dims != ()

    def num_slices_in_dimension(self, axis: int) -> Tensor:
        """How many slices there are in a dimension, all in all; one before the first."""
        if axis < 0:
            return convert_to_tensor(1, _I64)
        if self.is_ragged(axis):
            return reduce_sum(self.dimension_size(axis))
        return self.dimension_size(axis) * self.num_slices_in_dimension(axis - 1)  # type: ignore[no-any-return]

    def broadcast_to_rank(self, rank: int) -> RaggedTensorDynamicShape:
        """The shape with further dimensions of size 1 in front."""
        more = rank - self.rank
        if more < 0:
            raise ValueError(f"a shape of rank {self.rank} cannot have the rank {rank}")
        if not more:
            return self
        if self._partitioned:
            return RaggedTensorDynamicShape([1] * more + [*self._partitioned], self._inner)
        return RaggedTensorDynamicShape((), concat([ones([more], _I64), self._inner], 0))

    def broadcast_dimension(self, axis: int, lengths: Any) -> RaggedTensorDynamicShape:
        """The shape with ``lengths`` (a scalar or a vector) for a dimension of size 1; others must agree."""
        return self.broadcast_values(axis, lengths, None)[0]

    def broadcast_values(
        self, axis: int, lengths: Any, values: Tensor | None
    ) -> tuple[RaggedTensorDynamicShape, Tensor | None]:
        """`broadcast_dimension`, and the elements of a tensor of this shape, as a vector, repeated with it."""
        lengths, size = _sizes(lengths), self.dimension_size(axis)
        what = f"Unable to broadcast the dimension {axis}"
        if self.is_ragged(axis):
            if lengths.dims == ():
                ok, message = equal(lengths, 1), f"{what}, whose slices have their own lengths"
            else:
                ok = equal(shape(lengths)[0], shape(size)[0])
                message = f"{what}: the numbers of slices differ"
            sizes = [*self._partitioned]
            sizes[axis] = _checked(size, ok, message)
            if lengths.dims != ():
                same = reduce_all(equal(sizes[axis], lengths))
                sizes[axis] = _checked(sizes[axis], same, f"{what}: the row lengths differ")
            return RaggedTensorDynamicShape(sizes, self._inner), values
        is_one, outer = equal(size, 1), self.num_slices_in_dimension(axis - 1)
        if lengths.dims == ():
            fits = logical_or(is_one, logical_or(equal(lengths, 1), equal(lengths, size)))
            times = where(is_one, lengths, 1)
            made = _checked(size, fits, f"{what}: neither size is 1, and they differ") * times
            times = fill(reshape(outer, [1]), times)
        else:
            made = times = _checked(
                lengths, is_one, f"{what}, of one size that is not 1, to a ragged one"
            )
        return self._with(axis, made, self._deeper(axis, times)), self._values(axis, times, values)

    def _counts(self, axis: int, until: int) -> Tensor:
        """For each slice around dimension ``axis``: how many slices of the dimension ``until`` - 1 it has."""
        outer = reshape(self.num_slices_in_dimension(axis - 1), [1])
        counts = fill(outer, self.dimension_size(axis))
        for i in range(axis + 1, until):
            size = self.dimension_size(i)
            counts = _sums(size, counts) if self.is_ragged(i) else counts * size
        return counts

    def _deeper(self, axis: int, times: Tensor) -> list[Tensor]:
        """The sizes of all partitioned dimensions behind ``axis``, each slice around it repeated."""
        found = []
        for i in range(axis + 1, self.num_partitioned_dimensions):
            size = self.dimension_size(i)
            if self.is_ragged(i):
                size = _repeated(size, self._counts(axis, i), times)
            found.append(size)
        return found

    def _values(self, axis: int, times: Tensor, values: Tensor | None) -> Tensor | None:
        return None if values is None else _repeated(values, self._counts(axis, self.rank), times)

    def _with(self, axis: int, size: Tensor, deeper: list[Tensor]) -> RaggedTensorDynamicShape:
        place = axis - self.num_partitioned_dimensions
        if place < 0:
            return RaggedTensorDynamicShape([*self._partitioned[:axis], size, *deeper], self._inner)
        if size.dims == ():
            inner = concat([self._inner[:place], [size], self._inner[place + 1 :]], 0)
            return RaggedTensorDynamicShape(self._partitioned, inner)
        between = [self._inner[i] for i in range(place)]
        return RaggedTensorDynamicShape(
            [*self._partitioned, *between, size], self._inner[place + 1 :]
        )

    def of_values(self, values: Tensor) -> Any:
        """The tensor of this shape with these elements, which are in a vector: ragged, where a dimension is."""
        if not self._partitioned:
            return reshape(values, self._inner)
        made: Any = reshape(values, concat([[-1], self._inner], 0))
        for i in range(self.num_partitioned_dimensions - 1, 0, -1):
            lengths = self.dimension_size(i)
            if not self.is_ragged(i):
                lengths = fill(reshape(self.num_slices_in_dimension(i - 1), [1]), lengths)
            made = RaggedTensor.from_row_lengths(made, lengths)
        return made


def broadcast_dynamic_shape(
    shape_x: RaggedTensorDynamicShape, shape_y: RaggedTensorDynamicShape
) -> RaggedTensorDynamicShape:
    """The shape that both are broadcast to."""
    rank = max(shape_x.rank, shape_y.rank)
    shape_x, shape_y = shape_x.broadcast_to_rank(rank), shape_y.broadcast_to_rank(rank)
    for axis in range(rank):
        shape_x = shape_x.broadcast_dimension(axis, shape_y.dimension_size(axis))
        shape_y = shape_y.broadcast_dimension(axis, shape_x.dimension_size(axis))
    return shape_x


def broadcast_to(
    rt_input: Any, shape: RaggedTensorDynamicShape, broadcast_inner_dimensions: bool = True
) -> Any:
    """A tensor, or a ragged one, in the larger ``shape``: what has the size 1 is repeated."""
    rt_input = convert_to_ragged(rt_input)
    own = RaggedTensorDynamicShape.from_tensor(rt_input).broadcast_to_rank(shape.rank)
    flat = rt_input.flat_values if isinstance(rt_input, RaggedTensor) else rt_input
    values: Tensor | None = reshape(flat, [-1])
    for axis in range(shape.rank):
        own, values = own.broadcast_values(axis, shape.dimension_size(axis), values)
    assert values is not None
    return own.of_values(values)
