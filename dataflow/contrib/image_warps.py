"""Splines, warps by control points, colors in YIQ and connected parts of ``tf.contrib.image``."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.image_color import convert_image_dtype
from dataflow.ops.math import (
    cast,
    cos,
    equal,
    log,
    logical_and,
    matmul,
    maximum,
    minimum,
    not_equal,
    pow_,
    reduce_any,
    reduce_sum,
    sin,
    square,
)
from dataflow.ops.matrix_diag import matrix_diag
from dataflow.ops.random import random_uniform
from dataflow.ops.sequences import range_
from dataflow.ops.solvers import matrix_solve
from dataflow.ops.while_loop import while_loop

#: RGB to YIQ, as NTSC has it.
_YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]])
_SMALLEST = 1e-10


def _basis(squares: Tensor, order: int) -> Tensor:
    """The polyharmonic spline's function of a distance, from its square."""
    squares = maximum(squares, _SMALLEST)
    power = pow_(squares, 0.5 * order)
    return 0.5 * power * log(squares) if order % 2 == 0 else power  # type: ignore[no-any-return]


def _squared_distances(a: Tensor, b: Tensor) -> Tensor:
    between = array.expand_dims(a, 2) - array.expand_dims(b, 1)
    return reduce_sum(square(between), 3)


def interpolate_spline(
    train_points: TensorLike,
    train_values: TensorLike,
    query_points: TensorLike,
    order: int,
    regularization_weight: float = 0.0,
    name: str = "interpolate_spline",
) -> Tensor:
    """Values [batch, m, k] at ``query_points`` [batch, m, d] of the spline through the others.

    ``train_points`` [batch, n, d] with their ``train_values`` [batch, n, k]; ``order`` of the
    polyharmonic spline, 1 for linear, 2 for thin plates, 3 for cubic. ``regularization_weight``
    lets it miss the values. Raises `ValueError` for points without a known dimension.
    """
    with name_scope(name):
        points, values = convert_to_tensor(train_points), convert_to_tensor(train_values)
        queries = convert_to_tensor(query_points)
        if points.dims is None or len(points.dims) != 3 or points.dims[-1] is None:
            raise ValueError(
                f"train_points must have shape [batch, n, d], got {points.get_shape()}"
            )
        matrix = _basis(_squared_distances(points, points), order)
        if regularization_weight > 0:
            one = array.ones_like(points[:, :, 0])
            matrix = matrix + regularization_weight * matrix_diag(one)
        linear = array.concat([points, array.ones_like(points[..., :1])], 2)
        across = array.transpose(linear, [0, 2, 1])
        nothing = matmul(across, linear) * 0
        left = array.concat(
            [array.concat([matrix, linear], 2), array.concat([across, nothing], 2)], 1
        )
        right = array.concat([values, array.zeros_like(matmul(across, values))], 1)
        weights = matrix_solve(left, right)
        number = array.shape(points)[1]
        bent = matmul(_basis(_squared_distances(queries, points), order), weights[:, :number])
        plane = array.concat([queries, array.ones_like(queries[..., :1])], 2)
        return bent + matmul(plane, weights[:, number:])  # type: ignore[no-any-return]


def _boundary(height: int, width: int, per_edge: int) -> Any:
    """The corners of an image, and ``per_edge - 1`` points between them on each edge."""
    rows, columns = (np.linspace(0, size - 1, per_edge + 1) for size in (height, width))
    edge = [(y, x) for y in (0, height - 1) for x in columns]
    edge += [(y, x) for x in (0, width - 1) for y in rows[1:-1]]
    return np.array(edge, np.float32)


def sparse_image_warp(
    image: TensorLike,
    source_control_point_locations: TensorLike,
    dest_control_point_locations: TensorLike,
    interpolation_order: int = 2,
    regularization_weight: float = 0.0,
    num_boundary_points: int = 0,
    name: str = "sparse_image_warp",
) -> tuple[Tensor, Tensor]:
    """Images [batch, height, width, channels] that bring points [batch, n, 2] (row, column) elsewhere.

    Between the points `interpolate_spline` says what moves how; ``num_boundary_points`` to an edge
    stay where they are. Returns the warped images and the flow [batch, height, width, 2]. Raises
    `ValueError` for images of unknown size.
    """
    from dataflow.contrib.image import dense_image_warp

    image = convert_to_tensor(image)
    source, dest = (
        convert_to_tensor(points)
        for points in (source_control_point_locations, dest_control_point_locations)
    )
    if image.dims is None or None in image.dims[:3]:
        raise ValueError(f"image must have a known size, got shape {image.get_shape()}")
    if num_boundary_points < 0:
        raise ValueError(f"num_boundary_points must not be negative, got {num_boundary_points}")
    batch, height, width = (int(size) for size in image.dims[:3] if size is not None)
    with name_scope(name):
        movement = dest - source
        if num_boundary_points > 0:
            fixed = np.tile(_boundary(height, width, num_boundary_points)[None], (batch, 1, 1))
            fixed_points = convert_to_tensor(fixed, dest.dtype)
            dest = array.concat([dest, fixed_points], 1)
            movement = array.concat([movement, array.zeros_like(fixed_points)], 1)
        grid = np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij"), -1)
        cells = convert_to_tensor(np.tile(grid.reshape(1, -1, 2), (batch, 1, 1)), dest.dtype)
        flow = interpolate_spline(dest, movement, cells, interpolation_order, regularization_weight)
        flow = array.reshape(flow, [batch, height, width, 2])
        return dense_image_warp(image, flow), flow


def adjust_hsv_in_yiq(
    image: TensorLike,
    delta_hue: Any = 0,
    saturation_scale: Any = 1,
    value_scale: Any = 1,
    name: str | None = None,
) -> Tensor:
    """RGB images [..., 3] with hue turned by ``delta_hue`` radians in YIQ, saturation and value scaled.

    Keeps the dtype; integers are seen as numbers in [0, 1]. Raises `ValueError` for other channels.
    """
    with name_scope(name, "adjust_hsv_in_yiq", [image]) as scope:
        image = convert_to_tensor(image, name="image")
        if image.dims is not None and (len(image.dims) < 3 or image.dims[-1] not in (3, None)):
            raise ValueError(f"images must have shape [..., 3], got {image.get_shape()}")
        kept = image.dtype.base_dtype
        floats = convert_image_dtype(image, dtypes.float32)
        hue = convert_to_tensor(delta_hue, dtypes.float32)
        scale = convert_to_tensor(value_scale, dtypes.float32)
        color = scale * convert_to_tensor(saturation_scale, dtypes.float32)
        across, along = color * cos(hue), color * sin(hue)
        zero = array.zeros_like(scale)
        turned = array.stack(
            [
                array.stack([scale, zero, zero]),
                array.stack([zero, across, -along]),
                array.stack([zero, along, across]),
            ]
        )
        to_yiq, back = (convert_to_tensor(m, dtypes.float32) for m in (_YIQ, np.linalg.inv(_YIQ)))
        matrix = matmul(back, matmul(turned, to_yiq))
        flat = matmul(array.reshape(floats, [-1, 3]), matrix, transpose_b=True)
        result = array.reshape(flat, array.shape(floats))
        result.set_shape(image.get_shape())
        return convert_image_dtype(result, kept, saturate=True, name=scope)


def random_hsv_in_yiq(
    image: TensorLike,
    max_delta_hue: float = 0,
    lower_saturation: float = 1,
    upper_saturation: float = 1,
    lower_value: float = 1,
    upper_value: float = 1,
    seed: int | None = None,
) -> Tensor:
    """`adjust_hsv_in_yiq` by random amounts within the limits.

    Raises `ValueError` for negative limits and for lower limits above the upper ones.
    """
    if max_delta_hue < 0:
        raise ValueError("max_delta must be non-negative.")
    for low, high, what in (
        (lower_saturation, upper_saturation, "saturation"),
        (lower_value, upper_value, "value"),
    ):
        if low < 0:
            raise ValueError(f"lower {what} must be non-negative, got {low}")
        if low > high:
            raise ValueError(f"lower {what} {low} is above the upper one, {high}")

    def drawn(low: float, high: float, start: float) -> Any:
        return start if low == high else random_uniform([], low, high, seed=seed)

    return adjust_hsv_in_yiq(
        image,
        drawn(-max_delta_hue, max_delta_hue, 0),
        drawn(lower_saturation, upper_saturation, lower_saturation),
        drawn(lower_value, upper_value, lower_value),
    )


def connected_components(images: TensorLike) -> Tensor:
    """Numbers from 1 for the connected parts of equal nonzero pixels, 0 for zeros; int64.

    ``images``: [height, width] or [batch, height, width]; a pixel touches the four beside it. Parts
    are numbered row by row, one image after the other. Raises `TypeError` for other ranks.
    """
    with name_scope("connected_components"):
        given = convert_to_tensor(images, name="images")
        rank = None if given.dims is None else len(given.dims)
        if rank not in (2, 3):
            raise TypeError(
                f"images should have rank 2 (HW) or 3 (NHW). Static shape is {given.get_shape()}"
            )
        stack = given if rank == 3 else given[None]
        shown = cast(stack, dtypes.bool_) if stack.dtype != dtypes.string else not_equal(stack, "")
        size = array.size(stack, out_type=dtypes.int64)
        numbers = array.reshape(range_(size) + 1, array.shape(stack))
        far = size + 1
        first = array.where(shown, numbers, array.zeros_like(numbers) + far)

        def beside(labels: Tensor, axis: int, ahead: bool) -> Tensor:
            length = array.shape(stack)[axis]
            parts = [slice(None)] * 3
            parts[axis] = slice(1, None) if ahead else slice(None, length - 1)
            paddings = [[0, 0]] * 3
            paddings[axis] = [0, 1] if ahead else [1, 0]
            near = array.pad(labels[tuple(parts)], paddings)
            alike = array.pad(stack[tuple(parts)], paddings)
            inside = array.pad(array.ones_like(labels[tuple(parts)]), paddings)
            same = logical_and(logical_and(shown, equal(alike, stack)), equal(inside, 1))
            return array.where(same, near, array.zeros_like(near) + far)

        def spread(labels: Tensor, changed: Tensor) -> Any:
            least = labels
            for axis in (1, 2):
                for ahead in (True, False):
                    least = minimum(least, beside(least, axis, ahead))
            return least, reduce_any(not_equal(least, labels))

        labels, _ = while_loop(lambda labels, changed: changed, spread, (first, True))
        flat = array.reshape(array.where(shown, labels, array.zeros_like(labels)), [-1])
        _, order = array.unique(array.concat([[0], flat], 0, name="with_background"))
        result = array.reshape(cast(order[1:], dtypes.int64), array.shape(given))
        result.set_shape(given.get_shape())
        return result
