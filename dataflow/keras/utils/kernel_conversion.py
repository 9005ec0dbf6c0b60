"""Weights for another convention: kernels turned around, dense layers behind other feature maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

_CONVOLUTIONS = {"Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose"}


def convert_kernel(kernel: Any) -> Any:
    """A kernel [..., in, out] with its 1 to 3 spatial axes turned around: Theano's as TensorFlow's.

    Raises `ValueError` for another rank.
    """
    kernel = np.asarray(kernel)
    if not 3 <= kernel.ndim <= 5:
        raise ValueError(f"Invalid kernel shape: {kernel.shape}; it must have 3 to 5 axes")
    return np.flip(kernel, tuple(range(kernel.ndim - 2))).copy()


def convert_all_kernels_in_model(model: Any) -> None:
    """Turns the kernels of a model's convolutions around, in place; see `convert_kernel`."""
    for layer in model.layers:
        if type(layer).__name__ in _CONVOLUTIONS:
            kernel, *others = layer.get_weights()
            layer.set_weights([convert_kernel(kernel), *others])


def convert_dense_weights_data_format(
    dense: Any,
    previous_feature_map_shape: Sequence[int],
    target_data_format: str = "channels_first",
) -> None:
    """Sorts the rows of a Dense layer behind a Flatten for feature maps in the other data format.

    ``previous_feature_map_shape``: that of the map before it is flattened, in the new format.
    """
    if target_data_format not in ("channels_first", "channels_last"):
        raise ValueError(
            f"target_data_format must be channels_first or channels_last, got {target_data_format!r}"
        )
    kernel, *others = dense.get_weights()
    first, second, third = previous_feature_map_shape
    if target_data_format == "channels_first":
        shape, order = (second, third, first, -1), (2, 0, 1, 3)
    else:
        shape, order = (third, first, second, -1), (1, 2, 0, 3)
    maps = kernel.reshape(shape).transpose(order)
    dense.set_weights([maps.reshape(kernel.shape), *others])
