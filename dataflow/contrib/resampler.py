"""``tf.contrib.resampler``: images read at points between their pixels (spatial transformers)."""

from __future__ import annotations

from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.namespaces import explain_absent
from dataflow.ops.casts import cast
from dataflow.ops.clip import clip_by_value
from dataflow.ops.comparison import logical_and
from dataflow.ops.concat_split import stack
from dataflow.ops.elementary import abs_, floor
from dataflow.ops.fills import ones_like
from dataflow.ops.gather_scatter import gather_nd
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.reshape import expand_dims
from dataflow.ops.sequences import range_
from dataflow.ops.shape import shape

__all__ = ["resampler"]


def resampler(data: Any, warp: Any, name: str = "resampler") -> Tensor:
    """Bilinear samples of ``data`` at the points of ``warp``, zeros outside; gradients to both.

    ``data``: [batch, height, width, channels]; ``warp``: [batch, ..., 2], its last axis (x, y) in pixels.
    Returns [batch, ..., channels] of data's dtype. Raises `ValueError` for another number of axes of data,
    or a last axis of ``warp`` that is not 2.
    """
    with name_scope(name, "resampler", [data, warp]):
        data = convert_to_tensor(data, name="data")
        warp = convert_to_tensor(warp, name="warp")
        if data.shape.ndims not in (None, 4):
            raise ValueError(f"data must be [batch, height, width, channels], got {data.shape}")
        if warp.shape.ndims is None or warp.shape.as_list()[-1] not in (None, 2):
            raise ValueError(f"warp must be [batch, ..., 2], got {warp.shape}")
        sizes = shape(data)
        height, width = sizes[1], sizes[2]
        x, y = warp[..., 0], warp[..., 1]
        batch = range_(sizes[0])
        for _ in range(warp.shape.ndims - 2):
            batch = expand_dims(batch, -1)
        batch = batch * ones_like(cast(x, "int32"))
        left, top = floor(x), floor(y)
        result = None
        for column in (left, left + 1):
            for row in (top, top + 1):
                weight = (1 - abs_(x - column)) * (1 - abs_(y - row))
                i, j = cast(row, "int32"), cast(column, "int32")
                inside = logical_and(
                    logical_and(i >= 0, i < height), logical_and(j >= 0, j < width)
                )
                places = stack(
                    [batch, clip_by_value(i, 0, height - 1), clip_by_value(j, 0, width - 1)], -1
                )
                part = gather_nd(data, places) * expand_dims(weight * cast(inside, data.dtype), -1)
                result = part if result is None else result + part
        assert result is not None
        return result  # type: ignore[no-any-return]


__getattr__ = explain_absent(__name__)
