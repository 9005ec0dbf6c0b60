"""Many images as one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dataflow.graph.tensor import Tensor
from dataflow.ops import array


def image_grid(
    input_tensor: Any,
    grid_shape: Sequence[int],
    image_shape: Sequence[int] = (32, 32),
    num_channels: int = 3,
) -> Any:
    """A batch of images side by side, of shape [1, height, width, channels].

    ``input_tensor``: shape [rows * columns, height, width, channels], or [rows * columns, features] of
    images laid out in a row; ``grid_shape`` is (rows, columns). Other shapes are a `ValueError`.
    """
    rows, columns = grid_shape
    height, width = image_shape
    shape = input_tensor.shape.as_list()
    if rows * columns != shape[0]:
        raise ValueError(f"Grid shape {grid_shape} incompatible with minibatch size {shape[0]}.")
    if len(shape) == 2:
        if shape[1] != height * width * num_channels:
            raise ValueError("Image shape and number of channels incompatible with input tensor.")
    elif len(shape) == 4:
        if shape[1:] != [height, width, num_channels]:
            raise ValueError(
                "Image shape and number of channels incompatible with input tensor. "
                f"{input_tensor.shape} vs {(height, width, num_channels)}"
            )
    else:
        raise ValueError("Unrecognized input tensor format.")
    images = array.reshape(input_tensor, [rows, columns, height, width, num_channels])
    return array.reshape(
        array.transpose(images, [0, 2, 1, 3, 4]),
        [1, rows * height, columns * width, num_channels],
    )


def image_reshaper(images: Any, num_cols: int | None = None) -> Any:
    """Images side by side, of shape [1, height, width, channels]; black ones fill the last row.

    ``images``: a tensor of shape [batch, height, width, channels], or a list of images, with one or
    three channels (`ValueError`); without ``num_cols`` the grid is about a square.
    """
    listed = array.unstack(images) if isinstance(images, Tensor) else list(images)
    for image in listed:
        image.shape.assert_has_rank(3)
        image.shape.assert_is_fully_defined()
        if image.shape.as_list()[-1] not in (1, 3):
            raise ValueError("image_reshaper only supports 1 or 3 channel images.")
    columns = num_cols or math.ceil(math.sqrt(len(listed)))
    listed += [array.zeros_like(listed[-1])] * (-len(listed) % columns)
    rows = [array.concat(listed[i : i + columns], 1) for i in range(0, len(listed), columns)]
    return array.expand_dims(array.concat(rows, 0), 0)
