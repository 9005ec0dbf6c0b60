"""The same elements several times over: Tile, and `tf.repeat`."""

from __future__ import annotations

from typing import Any

from dataflow import shapes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.op_signature import INDEX
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, get_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.broadcasting import broadcast_to
from dataflow.ops.concat_split import concat, stack
from dataflow.ops.ragged_dispatch import takes_ragged
from dataflow.ops.reshape import expand_dims, reshape
from dataflow.ops.seeds import counted_as
from dataflow.ops.shape import need_rank, shape
from dataflow.ops.static_value import static_dims, static_value
from dataflow.shapes import Dims


@define_op("Tile", "input: T, multiples: Tmultiples -> output: T", Tmultiples=INDEX)
def tile_op(input: Tensor, multiples: Tensor) -> Dims:
    """The input repeated ``multiples[i]`` times along axis i.

    Shape: sizes times multiples. Gradient: the sum over the repetitions.
    """
    need_rank(multiples, 1, "multiples")
    length = None if multiples.dims is None else multiples.dims[0]
    if input.dims is not None and length is not None and length != len(input.dims):
        raise ValueError(
            f"multiples has {length} elements for an input of rank {len(input.dims)}\n"
            "Give one number for each axis."
        )
    if length is None:
        return None if input.dims is None else (None,) * len(input.dims)
    known = static_value(multiples)
    if known is not None and (known < 0).any():
        raise ValueError(f"multiples must not be negative, got {known.tolist()}")
    sizes = input.dims or (None,) * length
    times = static_dims(multiples) or (None,) * length
    return tuple(
        0 if m == 0 or d == 0 else None if d is None or m is None else d * m
        for d, m in zip(sizes, times, strict=True)
    )


@tile_op.gradient
def tile_gradient(op: Operation, grad: Tensor) -> list[Any]:
    """Splits each axis in (multiple, size) and sums over the multiples."""
    source, multiples = op.inputs
    with counted_as(12):
        return _summed_tiles(source, multiples, grad)


@takes_ragged("tile")
def tile(input: TensorLike, multiples: Any, name: str | None = None) -> Tensor:
    """The input repeated ``multiples[i]`` times along axis i."""
    return tile_op(input, multiples, name=name)  # type: ignore[no-any-return]


def _summed_tiles(source: Tensor, multiples: Tensor, grad: Tensor) -> list[Any]:
    sizes = shape(source, out_type=multiples.dtype)
    interleaved = reshape(stack([multiples, sizes], axis=1), [-1])
    if source.dims == ():
        return [grad, None]
    if source.dims is None:
        from dataflow.ops.sequences import range_

        axes: Any = range_(0, shape(interleaved)[0], 2)
    else:
        axes = list(range(0, 2 * len(source.dims), 2))
    return [reshape(get_op("Sum")(reshape(grad, interleaved), axes), sizes), None]


def repeat(
    input: TensorLike, repeats: Any, axis: int | None = None, name: str | None = None
) -> Tensor:
    """Each element (or each slice along ``axis``) repeated, as `numpy.repeat` does.

    ``repeats``: a scalar, or one number for each slice. Without ``axis`` the input is flattened.
    """
    from dataflow.ops.gather_scatter import gather
    from dataflow.ops.sequences import range_, searchsorted

    if axis is None:
        input, axis = reshape(input, [-1]), 0
    with op_scope(name, "Repeat", [input, repeats]):
        data = convert_to_tensor(input, name="data")
        counts = convert_to_tensor(repeats, name="repeats")
        if counts.dims is not None and len(counts.dims) > 1:
            raise ValueError(
                f"Shape {counts.shape} must have rank at most 1: repeats is a scalar or a vector"
            )
        if data.dims == ():
            data = expand_dims(data, 0)
        if data.dims is not None:
            axis = shapes.normalize_axis(axis, len(data.dims))
        if counts.dims == () or counts.dims == (1,):
            if data.dims is not None:
                return _repeat_all(data, counts, axis)
            counts = reshape(counts, [])
        length = shape(data)[axis]
        size = None if data.dims is None else data.dims[axis]
        if counts.dims is not None and not shapes.compatible(counts.dims or (size,), (size,)):
            raise ValueError(
                f"Dimensions {size} and {counts.dims[0]} are not compatible\n"
                f"Give one number of repeats for each slice of axis {axis}."
            )
        if counts.dims is None or counts.dims != (size,):
            counts = broadcast_to(counts, reshape(length, [1]))  # of another size: refused there
        ends = get_op("Cumsum")(counts, 0)
        total = get_op("Sum")(counts, 0)  # not ends[-1]: there may be nothing to repeat
        positions = searchsorted(ends, range_(total), side="right")
        data = reshape(data, shape(data))  # its gradient is whole, not rows
        return gather(data, positions, axis=axis, name="boolean_mask/GatherV2")


def _repeat_all(data: Tensor, count: Tensor, axis: int) -> Tensor:
    """Every slice of an axis ``count`` times: tiled on an axis of its own, then merged."""
    assert data.dims is not None
    times: list[Any] = [1] * (len(data.dims) + 1)
    one, many = data.dims[axis], static_value(count)
    times[axis + 1] = reshape(count, []) if many is None else many.item()
    tiled = tile(expand_dims(data, axis + 1), stack(times) if many is None else times)
    sizes: list[Any] = list(data.dims)
    sizes[axis] = None if one is None or many is None else one * many.item()
    if sizes.count(None) <= 1:
        return reshape(tiled, [-1 if size is None else size for size in sizes])
    now = shape(data)
    merged = concat([now[:axis], [-1], now[axis + 1 :]], 0)
    result = reshape(tiled, merged)
    result.set_shape(sizes)
    return result
