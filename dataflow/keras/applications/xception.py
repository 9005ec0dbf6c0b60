"""Xception (Chollet 2016, arXiv 1610.02357): separable convolutions with residuals."""

from __future__ import annotations

from typing import Any

from dataflow.keras.applications import imagenet_utils
from dataflow.keras.applications.imagenet_utils import decode_predictions
from dataflow.keras.applications.mobilenet import preprocess_input
from dataflow.keras.layers.convolutional import Conv2D, SeparableConv2D
from dataflow.keras.layers.core import Activation, Dense
from dataflow.keras.layers.merge import Add
from dataflow.keras.layers.normalization import BatchNormalization
from dataflow.keras.layers.pooling import GlobalAveragePooling2D, MaxPooling2D
from dataflow.keras.models import Model

__all__ = ["Xception", "decode_predictions", "preprocess_input"]


def Xception(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """Xception for images of 299 x 299 pixels, or without its top for any of 71 and more.

    ``weights``, ``input_shape``, ``pooling``: as `VGG16`.
    """
    start = imagenet_utils.Builder(
        "Xception", include_top, weights, input_tensor, input_shape, default_size=299, min_size=71
    )
    axis = start.channel_axis

    def separable(x: Any, filters: int, name: str) -> Any:
        x = SeparableConv2D(filters, 3, padding="same", use_bias=False, name=name)(x)
        return BatchNormalization(axis=axis, name=name + "_bn")(x)

    def smaller(x: Any, sizes: tuple[int, int], block: str, active: bool = True) -> Any:
        """Two separable convolutions and a pooling, beside a 1 x 1 convolution of stride 2."""
        beside = Conv2D(sizes[1], 1, strides=2, padding="same", use_bias=False)(x)
        beside = BatchNormalization(axis=axis)(beside)
        if active:
            x = Activation("relu", name=block + "_sepconv1_act")(x)
        x = separable(x, sizes[0], block + "_sepconv1")
        x = separable(
            Activation("relu", name=block + "_sepconv2_act")(x), sizes[1], block + "_sepconv2"
        )
        x = MaxPooling2D(3, strides=2, padding="same", name=block + "_pool")(x)
        return Add()([x, beside])

    x = start.inputs
    for i, (filters, stride) in enumerate(((32, 2), (64, 1)), 1):
        name = f"block1_conv{i}"
        x = Conv2D(filters, 3, strides=stride, use_bias=False, name=name)(x)
        x = BatchNormalization(axis=axis, name=name + "_bn")(x)
        x = Activation("relu", name=name + "_act")(x)
    x = smaller(x, (128, 128), "block2", active=False)
    x = smaller(x, (256, 256), "block3")
    x = smaller(x, (728, 728), "block4")
    for block in range(5, 13):
        y = x
        for i in range(1, 4):
            name = f"block{block}_sepconv{i}"
            y = separable(Activation("relu", name=name + "_act")(y), 728, name)
        x = Add()([y, x])
    x = smaller(x, (728, 1024), "block13")
    for i, filters in enumerate((1536, 2048), 1):
        name = f"block14_sepconv{i}"
        x = Activation("relu", name=name + "_act")(separable(x, filters, name))
    if not include_top:
        return start.model(start.pooled(x, pooling))
    x = GlobalAveragePooling2D(name="avg_pool")(x)
    return start.model(Dense(classes, activation="softmax", name="predictions")(x))
