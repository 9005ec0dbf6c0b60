"""Residual networks, second version (He et al. 2016, arXiv 1603.05027): with pre-activation."""

from __future__ import annotations

from typing import Any

from dataflow.graph.type_aliases import TensorLike
from dataflow.keras.applications import imagenet_utils
from dataflow.keras.applications.imagenet_utils import decode_predictions
from dataflow.keras.applications.mobilenet import preprocess_input
from dataflow.keras.layers.convolutional import Conv2D
from dataflow.keras.layers.core import Activation, Dense
from dataflow.keras.layers.merge import Add
from dataflow.keras.layers.normalization import BatchNormalization
from dataflow.keras.layers.pooling import GlobalAveragePooling2D, MaxPooling2D
from dataflow.keras.layers.spatial import ZeroPadding2D
from dataflow.keras.models import Model

__all__ = ["ResNet50V2", "ResNet101V2", "ResNet152V2", "decode_predictions", "preprocess_input"]


def ResNet50V2(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorLike | None = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """ResNet50V2 for images of 224 x 224 pixels, or without its top for any of 32 and more.

    ``weights``, ``input_shape``, ``pooling``: as `VGG16`.
    """
    given = (include_top, weights, input_tensor, input_shape, pooling, classes)
    return _resnet("ResNet50V2", (3, 4, 6, 3), *given)


def ResNet101V2(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorLike | None = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """As `ResNet50V2`, with 101 layers."""
    given = (include_top, weights, input_tensor, input_shape, pooling, classes)
    return _resnet("ResNet101V2", (3, 4, 23, 3), *given)


def ResNet152V2(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorLike | None = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """As `ResNet50V2`, with 152 layers."""
    given = (include_top, weights, input_tensor, input_shape, pooling, classes)
    return _resnet("ResNet152V2", (3, 8, 36, 3), *given)


def _resnet(
    name: str,
    depths: tuple[int, ...],
    include_top: bool,
    weights: str | None,
    input_tensor: Any,
    input_shape: Any,
    pooling: str | None,
    classes: int,
) -> Model:
    start = imagenet_utils.Builder(
        name, include_top, weights, input_tensor, input_shape, default_size=224, min_size=32
    )
    axis = start.channel_axis
    x = ZeroPadding2D(((3, 3), (3, 3)), name="conv1_pad")(start.inputs)
    x = Conv2D(64, 7, strides=2, name="conv1_conv")(x)
    x = ZeroPadding2D(((1, 1), (1, 1)), name="pool1_pad")(x)
    x = MaxPooling2D(3, strides=2, name="pool1_pool")(x)
    for stage, (depth, filters) in enumerate(zip(depths, (64, 128, 256, 512), strict=True), 2):
        for i in range(1, depth + 1):
            stride = 2 if i == depth and stage < 5 else 1
            x = _block(x, filters, stride, i == 1, f"conv{stage}_block{i}_", axis)
    x = _activated(x, "post_", axis)
    if not include_top:
        return start.model(start.pooled(x, pooling))
    x = GlobalAveragePooling2D(name="avg_pool")(x)
    return start.model(Dense(classes, activation="softmax", name="probs")(x))


def _activated(x: Any, before: str, axis: int) -> Any:
    x = BatchNormalization(axis=axis, epsilon=1.001e-5, name=before + "bn")(x)
    return Activation("relu", name=before + "relu")(x)


def _block(x: Any, filters: int, stride: int, widens: bool, name: str, axis: int) -> Any:
    """1 x 1, 3 x 3 and 1 x 1 convolutions beside the identity, or beside a projection where it widens."""
    before = _activated(x, name + "preact_", axis)
    if widens:
        shortcut = Conv2D(4 * filters, 1, strides=stride, name=name + "0_conv")(before)
    else:
        shortcut = MaxPooling2D(1, strides=stride)(x) if stride > 1 else x
    y = Conv2D(filters, 1, use_bias=False, name=name + "1_conv")(before)
    y = ZeroPadding2D(((1, 1), (1, 1)), name=name + "2_pad")(_activated(y, name + "1_", axis))
    y = Conv2D(filters, 3, strides=stride, use_bias=False, name=name + "2_conv")(y)
    y = Conv2D(4 * filters, 1, name=name + "3_conv")(_activated(y, name + "2_", axis))
    return Add(name=name + "out")([shortcut, y])
