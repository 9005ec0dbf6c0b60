"""Residual networks (He et al. 2015, arXiv 1512.03385) of 50, 101 and 152 layers."""

from __future__ import annotations

from typing import Any

from dataflow.keras.applications import imagenet_utils
from dataflow.keras.applications.imagenet_utils import decode_predictions
from dataflow.keras.applications.vgg16 import preprocess_input
from dataflow.keras.layers.convolutional import Conv2D
from dataflow.keras.layers.core import Activation, Dense
from dataflow.keras.layers.merge import Add
from dataflow.keras.layers.normalization import BatchNormalization
from dataflow.keras.layers.pooling import GlobalAveragePooling2D, MaxPooling2D
from dataflow.keras.layers.spatial import ZeroPadding2D
from dataflow.keras.models import Model

__all__ = ["ResNet50", "ResNet101", "ResNet152", "decode_predictions", "preprocess_input"]

_EPSILON = 1.001e-5


def ResNet50(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """ResNet50 for images of 224 x 224 pixels, or without its top for any of 32 and more.

    ``weights``: None, or the path of a file of Keras's; ``input_shape``: (height, width, channels);
    ``pooling``, without the top: None, "avg" or "max". Raises `ValueError` for ``weights="imagenet"``,
    as no weights come with this package.
    """
    return _resnet(
        "ResNet50", (3, 4, 6, 3), include_top, weights, input_tensor, input_shape, pooling, classes
    )


def ResNet101(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """As `ResNet50`, with 101 layers."""
    depths = (3, 4, 23, 3)
    return _resnet(
        "ResNet101", depths, include_top, weights, input_tensor, input_shape, pooling, classes
    )


def ResNet152(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """As `ResNet50`, with 152 layers."""
    depths = (3, 8, 36, 3)
    return _resnet(
        "ResNet152", depths, include_top, weights, input_tensor, input_shape, pooling, classes
    )


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
    x = ZeroPadding2D(padding=((3, 3), (3, 3)), name="conv1_pad")(start.inputs)
    x = Conv2D(64, 7, strides=2, name="conv1_conv")(x)
    x = BatchNormalization(axis=axis, epsilon=_EPSILON, name="conv1_bn")(x)
    x = Activation("relu", name="conv1_relu")(x)
    x = ZeroPadding2D(padding=((1, 1), (1, 1)), name="pool1_pad")(x)
    x = MaxPooling2D(3, strides=2, name="pool1_pool")(x)
    for stage, (depth, filters) in enumerate(zip(depths, (64, 128, 256, 512), strict=True), 2):
        for i in range(1, depth + 1):
            stride = 2 if i == 1 and stage > 2 else 1
            x = _block(x, filters, stride, i == 1, f"conv{stage}_block{i}", axis)
    if not include_top:
        return start.model(start.pooled(x, pooling))
    x = GlobalAveragePooling2D(name="avg_pool")(x)
    return start.model(Dense(classes, activation="softmax", name="probs")(x))


def _block(x: Any, filters: int, stride: int, widens: bool, name: str, axis: int) -> Any:
    """1 x 1, 3 x 3 and 1 x 1 convolutions beside the identity, or beside a projection where it widens."""

    def normalized(y: Any, part: str) -> Any:
        return BatchNormalization(axis=axis, epsilon=_EPSILON, name=f"{name}_{part}_bn")(y)

    shortcut = x
    if widens:
        shortcut = Conv2D(4 * filters, 1, strides=stride, name=f"{name}_0_conv")(x)
        shortcut = normalized(shortcut, "0")
    y = normalized(Conv2D(filters, 1, strides=stride, name=f"{name}_1_conv")(x), "1")
    y = Activation("relu", name=f"{name}_1_relu")(y)
    y = normalized(Conv2D(filters, 3, padding="same", name=f"{name}_2_conv")(y), "2")
    y = Activation("relu", name=f"{name}_2_relu")(y)
    y = normalized(Conv2D(4 * filters, 1, name=f"{name}_3_conv")(y), "3")
    y = Add(name=f"{name}_add")([shortcut, y])
    return Activation("relu", name=f"{name}_out")(y)
