"""MobileNet (Howard et al. 2017, arXiv 1704.04861): depthwise separable convolutions."""

from __future__ import annotations

from typing import Any

from dataflow.keras.applications import imagenet_utils
from dataflow.keras.applications.imagenet_utils import decode_predictions
from dataflow.keras.layers.convolutional import Conv2D, DepthwiseConv2D
from dataflow.keras.layers.core import Activation, Dropout, ReLU, Reshape
from dataflow.keras.layers.normalization import BatchNormalization
from dataflow.keras.layers.pooling import GlobalAveragePooling2D
from dataflow.keras.layers.spatial import ZeroPadding2D
from dataflow.keras.models import Model

__all__ = ["MobileNet", "decode_predictions", "preprocess_input"]

#: Filters and stride of each block.
_BLOCKS = (
    *((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)),
    *((512, 1), (512, 1), (512, 1), (512, 1), (512, 1), (1024, 2), (1024, 1)),
)


def MobileNet(
    input_shape: Any = None,
    alpha: float = 1.0,
    depth_multiplier: int = 1,
    dropout: float = 1e-3,
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """MobileNet for images of 224 x 224 pixels, or without its top for any of 32 and more.

    ``alpha`` scales the number of filters, ``depth_multiplier`` is that of depthwise convolutions,
    ``dropout`` the rate before the classes. ``weights``, ``input_shape``, ``pooling``: as `VGG16`.
    """
    start = imagenet_utils.Builder(
        "MobileNet", include_top, weights, input_tensor, input_shape, default_size=224, min_size=32
    )
    axis = start.channel_axis
    x = ZeroPadding2D(padding=((0, 1), (0, 1)), name="conv1_pad")(start.inputs)
    x = Conv2D(int(32 * alpha), 3, strides=2, use_bias=False, name="conv1")(x)
    x = BatchNormalization(axis=axis, name="conv1_bn")(x)
    x = ReLU(6.0, name="conv1_relu")(x)
    for i, (filters, stride) in enumerate(_BLOCKS, 1):
        if stride == 2:
            x = ZeroPadding2D(((0, 1), (0, 1)), name=f"conv_pad_{i}")(x)
        x = DepthwiseConv2D(
            (3, 3),
            padding="same" if stride == 1 else "valid",
            depth_multiplier=depth_multiplier,
            strides=(stride, stride),
            use_bias=False,
            name=f"conv_dw_{i}",
        )(x)
        x = BatchNormalization(axis=axis, name=f"conv_dw_{i}_bn")(x)
        x = ReLU(6.0, name=f"conv_dw_{i}_relu")(x)
        x = Conv2D(int(filters * alpha), 1, padding="same", use_bias=False, name=f"conv_pw_{i}")(x)
        x = BatchNormalization(axis=axis, name=f"conv_pw_{i}_bn")(x)
        x = ReLU(6.0, name=f"conv_pw_{i}_relu")(x)
    name = f"mobilenet_{alpha:.2f}_{start.rows or 224}"
    if not include_top:
        return start.model(start.pooled(x, pooling), name)
    channels = int(1024 * alpha)
    x = GlobalAveragePooling2D()(x)
    first = axis == 1
    x = Reshape((channels, 1, 1) if first else (1, 1, channels), name="reshape_1")(x)
    x = Dropout(dropout, name="dropout")(x)
    x = Conv2D(classes, 1, padding="same", name="conv_preds")(x)
    x = Reshape((classes,), name="reshape_2")(x)
    return start.model(Activation("softmax", name="act_softmax")(x), name)


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Pixels 0 to 255 as MobileNet takes them: -1 to 1."""
    return imagenet_utils.preprocess_input(x, data_format, mode="tf")
