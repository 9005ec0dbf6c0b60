"""Inception v3 (Szegedy et al. 2015, arXiv 1512.00567) as a Keras model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow.keras.applications import imagenet_utils
from dataflow.keras.applications.imagenet_utils import decode_predictions
from dataflow.keras.layers.convolutional import Conv2D
from dataflow.keras.layers.core import Activation, Dense
from dataflow.keras.layers.merge import concatenate
from dataflow.keras.layers.normalization import BatchNormalization
from dataflow.keras.layers.pooling import AveragePooling2D, GlobalAveragePooling2D, MaxPooling2D
from dataflow.keras.models import Model

__all__ = ["InceptionV3", "decode_predictions", "preprocess_input"]


def InceptionV3(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """Inception v3 for images of 299 x 299 pixels, or without its top for any of 75 and more.

    ``weights``, ``input_shape``, ``pooling``: as `VGG16`. Convolutions carry no names of their own, as in
    Keras: they count up in the order in which they are built.
    """
    start = imagenet_utils.Builder(
        "InceptionV3",
        include_top,
        weights,
        input_tensor,
        input_shape,
        default_size=299,
        min_size=75,
    )
    axis = start.channel_axis

    def conv(
        x: Any,
        filters: int,
        rows: int,
        columns: int,
        padding: str = "same",
        strides: int | Sequence[int] = (1, 1),
    ) -> Any:
        x = Conv2D(filters, (rows, columns), strides=strides, padding=padding, use_bias=False)(x)
        return Activation("relu")(BatchNormalization(axis=axis, scale=False)(x))

    def pooled(x: Any, filters: int) -> Any:
        return conv(AveragePooling2D((3, 3), strides=(1, 1), padding="same")(x), filters, 1, 1)

    def joined(branches: list[Any], name: str | None = None) -> Any:
        return concatenate(branches, axis=axis, **({"name": name} if name else {}))

    x = conv(start.inputs, 32, 3, 3, "valid", (2, 2))
    x = conv(conv(x, 32, 3, 3, "valid"), 64, 3, 3)
    x = MaxPooling2D((3, 3), strides=(2, 2))(x)
    x = conv(conv(x, 80, 1, 1, "valid"), 192, 3, 3, "valid")
    x = MaxPooling2D((3, 3), strides=(2, 2))(x)
    for i, filters in enumerate((32, 64, 64)):  # 35 x 35
        one = conv(x, 64, 1, 1)
        five = conv(conv(x, 48, 1, 1), 64, 5, 5)
        three = conv(conv(conv(x, 64, 1, 1), 96, 3, 3), 96, 3, 3)
        x = joined([one, five, three, pooled(x, filters)], f"mixed{i}")
    three = conv(x, 384, 3, 3, "valid", (2, 2))
    double = conv(conv(conv(x, 64, 1, 1), 96, 3, 3), 96, 3, 3, "valid", (2, 2))
    x = joined([three, double, MaxPooling2D((3, 3), strides=(2, 2))(x)], "mixed3")
    for i, n in enumerate((128, 160, 160, 192), 4):  # 17 x 17
        one = conv(x, 192, 1, 1)
        seven = conv(conv(conv(x, n, 1, 1), n, 1, 7), 192, 7, 1)
        double = conv(conv(conv(x, n, 1, 1), n, 7, 1), n, 1, 7)
        double = conv(conv(double, n, 7, 1), 192, 1, 7)
        x = joined([one, seven, double, pooled(x, 192)], f"mixed{i}")
    three = conv(conv(x, 192, 1, 1), 320, 3, 3, "valid", (2, 2))
    seven = conv(conv(conv(x, 192, 1, 1), 192, 1, 7), 192, 7, 1)
    seven = conv(seven, 192, 3, 3, "valid", (2, 2))
    x = joined([three, seven, MaxPooling2D((3, 3), strides=(2, 2))(x)], "mixed8")
    for i in range(2):  # 8 x 8
        one = conv(x, 320, 1, 1)
        three = conv(x, 384, 1, 1)
        three = joined([conv(three, 384, 1, 3), conv(three, 384, 3, 1)], f"mixed9_{i}")
        double = conv(conv(x, 448, 1, 1), 384, 3, 3)
        double = joined([conv(double, 384, 1, 3), conv(double, 384, 3, 1)])
        x = joined([one, three, double, pooled(x, 192)], f"mixed{9 + i}")
    if not include_top:
        return start.model(start.pooled(x, pooling), "inception_v3")
    x = GlobalAveragePooling2D(name="avg_pool")(x)
    x = Dense(classes, activation="softmax", name="predictions")(x)
    return start.model(x, "inception_v3")


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Pixels 0 to 255 as Inception v3 takes them: -1 to 1."""
    return imagenet_utils.preprocess_input(x, data_format, mode="tf")
