"""MobileNetV2 (Sandler et al. 2018, arXiv 1801.04381): inverted residuals, linear bottlenecks."""

from __future__ import annotations

from typing import Any

from dataflow.keras.applications import imagenet_utils
from dataflow.keras.applications.imagenet_utils import decode_predictions
from dataflow.keras.applications.mobilenet import preprocess_input
from dataflow.keras.layers.convolutional import Conv2D, DepthwiseConv2D
from dataflow.keras.layers.core import Dense, ReLU
from dataflow.keras.layers.merge import Add
from dataflow.keras.layers.normalization import BatchNormalization
from dataflow.keras.layers.pooling import GlobalAveragePooling2D
from dataflow.keras.layers.spatial import ZeroPadding2D
from dataflow.keras.models import Model
from dataflow.shapes import dimension_value

__all__ = ["MobileNetV2", "decode_predictions", "preprocess_input"]

#: Filters and stride of each block; all but the first widen their inputs six times inside.
_BLOCKS = (
    *((16, 1), (24, 2), (24, 1), (32, 2), (32, 1), (32, 1)),
    *((64, 2), (64, 1), (64, 1), (64, 1), (96, 1), (96, 1), (96, 1)),
    *((160, 2), (160, 1), (160, 1), (320, 1)),
)


def MobileNetV2(
    input_shape: Any = None,
    alpha: float = 1.0,
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """MobileNetV2 for images of 224 x 224 pixels, or without its top for any of 32 and more.

    ``alpha`` scales the number of filters. ``weights``, ``input_shape``, ``pooling``: as `VGG16`.
    """
    start = imagenet_utils.Builder(
        "MobileNetV2",
        include_top,
        weights,
        input_tensor,
        input_shape,
        default_size=224,
        min_size=32,
    )
    axis = start.channel_axis

    def normalized(x: Any, name: str) -> Any:
        return BatchNormalization(axis=axis, epsilon=1e-3, momentum=0.999, name=name)(x)

    x = ZeroPadding2D(_uneven(start.inputs, axis), name="Conv1_pad")(start.inputs)
    x = Conv2D(_of_eight(32 * alpha), 3, strides=2, use_bias=False, name="Conv1")(x)
    x = ReLU(6.0, name="Conv1_relu")(normalized(x, "bn_Conv1"))
    for number, (filters, stride) in enumerate(_BLOCKS):
        x = _block(x, number, _of_eight(int(filters * alpha)), stride, axis, normalized)
    last = _of_eight(1280 * alpha) if alpha > 1 else 1280
    x = Conv2D(last, 1, use_bias=False, name="Conv_1")(x)
    x = ReLU(6.0, name="out_relu")(normalized(x, "Conv_1_bn"))
    name = f"mobilenetv2_{alpha:.2f}_{start.rows or 224}"
    if not include_top:
        return start.model(start.pooled(x, pooling), name)
    x = GlobalAveragePooling2D()(x)
    return start.model(Dense(classes, activation="softmax", name="Logits")(x), name)


def _block(x: Any, number: int, filters: int, stride: int, axis: int, normalized: Any) -> Any:
    """An inverted residual: 1 x 1 expansion, depthwise 3 x 3, linear 1 x 1 projection."""
    name = f"block_{number}_" if number else "expanded_conv_"
    inputs, channels = x, dimension_value(x.shape[axis])
    if number:
        x = Conv2D(6 * channels, 1, padding="same", use_bias=False, name=name + "expand")(x)
        x = ReLU(6.0, name=name + "expand_relu")(normalized(x, name + "expand_BN"))
    if stride == 2:
        x = ZeroPadding2D(_uneven(x, axis), name=name + "pad")(x)
    padding = "same" if stride == 1 else "valid"
    x = DepthwiseConv2D(
        3, strides=stride, padding=padding, use_bias=False, name=name + "depthwise"
    )(x)
    x = ReLU(6.0, name=name + "depthwise_relu")(normalized(x, name + "depthwise_BN"))
    x = Conv2D(filters, 1, padding="same", use_bias=False, name=name + "project")(x)
    x = normalized(x, name + "project_BN")
    return Add(name=name + "add")([inputs, x]) if stride == 1 and channels == filters else x


def _of_eight(value: float) -> int:
    """The multiple of 8 nearest to ``value``, at least 8 and not below nine tenths of it."""
    nearest = max(8, int(value + 4) // 8 * 8)
    return nearest + 8 if nearest < 0.9 * value else nearest


def _uneven(x: Any, axis: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Padding before a 3 x 3 convolution of stride 2, so that the last pixel is seen."""
    sizes = x.shape.as_list()[2:] if axis == 1 else x.shape.as_list()[1:3]
    first = [0 if size is None or size % 2 == 0 else 1 for size in sizes]
    return (first[0], 1), (first[1], 1)
