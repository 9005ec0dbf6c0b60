"""Inception-ResNet v2 (Szegedy et al. 2016, arXiv 1602.07261) as a Keras model."""

from __future__ import annotations

from typing import Any

from dataflow.keras.applications import imagenet_utils
from dataflow.keras.applications.imagenet_utils import decode_predictions
from dataflow.keras.applications.mobilenet import preprocess_input
from dataflow.keras.layers.convolutional import Conv2D
from dataflow.keras.layers.core import Activation, Dense, Lambda
from dataflow.keras.layers.merge import concatenate
from dataflow.keras.layers.normalization import BatchNormalization
from dataflow.keras.layers.pooling import AveragePooling2D, GlobalAveragePooling2D, MaxPooling2D
from dataflow.keras.models import Model

__all__ = ["InceptionResNetV2", "decode_predictions", "preprocess_input"]

#: The branches of each kind of block: filters and kernels of the convolutions in a row.
_BRANCHES: dict[str, list[list[tuple[int, Any]]]] = {
    "block35": [[(32, 1)], [(32, 1), (32, 3)], [(32, 1), (48, 3), (64, 3)]],
    "block17": [[(192, 1)], [(128, 1), (160, (1, 7)), (192, (7, 1))]],
    "block8": [[(192, 1)], [(192, 1), (224, (1, 3)), (256, (3, 1))]],
}


def InceptionResNetV2(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Model:
    """Inception-ResNet v2 for images of 299 x 299 pixels, or without its top for any of 75 and more.

    ``weights``, ``input_shape``, ``pooling``: as `VGG16`.
    """
    start = imagenet_utils.Builder(
        "InceptionResNetV2",
        include_top,
        weights,
        input_tensor,
        input_shape,
        default_size=299,
        min_size=75,
    )
    axis = start.channel_axis

    def conv(
        x: Any, filters: int, size: Any, strides: int = 1, padding: str = "same", name: str = ""
    ) -> Any:
        names: list[Any] = [{"name": name + end} if name else {} for end in ("", "_bn", "_ac")]
        x = Conv2D(filters, size, strides=strides, padding=padding, use_bias=False, **names[0])(x)
        x = BatchNormalization(axis=axis, scale=False, **names[1])(x)
        return Activation("relu", **names[2])(x)

    def row(x: Any, *sizes: tuple[int, Any], reduced: bool = False) -> Any:
        """Convolutions in a row; of a reduction the last one halves the picture."""
        for filters, size in sizes[:-1] if reduced else sizes:
            x = conv(x, filters, size)
        return conv(x, *sizes[-1], 2, "valid") if reduced else x

    def block(x: Any, scale: float, kind: str, number: int, last: bool = False) -> Any:
        name = f"{kind}_{number}"
        branches = [row(x, *sizes) for sizes in _BRANCHES[kind]]
        mixed = concatenate(branches, axis=axis, name=name + "_mixed")
        up = Conv2D(int(x.shape[axis]), 1, padding="same", name=name + "_conv")(mixed)
        x = Lambda(_residual, arguments={"scale": scale}, name=name)([x, up])
        return x if last else Activation("relu", name=name + "_ac")(x)

    x = conv(start.inputs, 32, 3, 2, "valid")
    x = conv(conv(x, 32, 3, padding="valid"), 64, 3)
    x = MaxPooling2D(3, strides=2)(x)
    x = conv(conv(x, 80, 1, padding="valid"), 192, 3, padding="valid")
    x = MaxPooling2D(3, strides=2)(x)
    branches = [row(x, (96, 1)), row(x, (48, 1), (64, 5)), row(x, (64, 1), (96, 3), (96, 3))]
    pooled = AveragePooling2D(3, strides=1, padding="same")(x)
    x = concatenate([*branches, conv(pooled, 64, 1)], axis=axis, name="mixed_5b")
    for i in range(1, 11):  # 35 x 35
        x = block(x, 0.17, "block35", i)
    branches = [row(x, (384, 3), reduced=True)]
    branches += [row(x, (256, 1), (256, 3), (384, 3), reduced=True)]
    x = concatenate([*branches, MaxPooling2D(3, strides=2)(x)], axis=axis, name="mixed_6a")
    for i in range(1, 21):  # 17 x 17
        x = block(x, 0.1, "block17", i)
    branches = [row(x, (256, 1), (384, 3), reduced=True), row(x, (256, 1), (288, 3), reduced=True)]
    branches += [row(x, (256, 1), (288, 3), (320, 3), reduced=True)]
    x = concatenate([*branches, MaxPooling2D(3, strides=2)(x)], axis=axis, name="mixed_7a")
    for i in range(1, 10):  # 8 x 8
        x = block(x, 0.2, "block8", i)
    x = conv(block(x, 1.0, "block8", 10, last=True), 1536, 1, name="conv_7b")
    if not include_top:
        return start.model(start.pooled(x, pooling), "inception_resnet_v2")
    x = GlobalAveragePooling2D(name="avg_pool")(x)
    x = Dense(classes, activation="softmax", name="predictions")(x)
    return start.model(x, "inception_resnet_v2")


def _residual(inputs: Any, scale: float) -> Any:
    return inputs[0] + inputs[1] * scale
