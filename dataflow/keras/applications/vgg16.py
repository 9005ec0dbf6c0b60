"""VGG16 (Simonyan and Zisserman 2014, arXiv 1409.1556): sixteen layers with weights."""

from __future__ import annotations

from typing import Any

from dataflow.graph.type_aliases import TensorLike
from dataflow.keras.applications import imagenet_utils
from dataflow.keras.applications.imagenet_utils import decode_predictions
from dataflow.keras.layers.convolutional import Conv2D
from dataflow.keras.layers.core import Dense, Flatten
from dataflow.keras.layers.pooling import MaxPooling2D
from dataflow.keras.models import Model

__all__ = ["VGG16", "decode_predictions", "preprocess_input"]


def VGG16(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """VGG16 for images of 224 x 224 pixels, or without its top for any of 32 and more.

    ``weights``: None, or the path of a file of Keras's; ``input_shape``: (height, width, channels);
    ``pooling``, without the top: None, "avg" or "max". Raises `ValueError` for ``weights="imagenet"``,
    as no weights come with this package.
    """
    return vgg(
        "VGG16", (2, 2, 3, 3, 3), include_top, weights, input_tensor, input_shape, pooling, classes
    )


def vgg(
    name: str,
    depths: tuple[int, ...],
    include_top: bool,
    weights: str | None,
    input_tensor: TensorLike,
    input_shape: Any,
    pooling: str | None,
    classes: int,
) -> Model:
    """Five blocks of ``depths[i]`` convolutions, each followed by 2 x 2 max pooling."""
    start = imagenet_utils.Builder(
        name, include_top, weights, input_tensor, input_shape, default_size=224, min_size=32
    )
    x = start.inputs
    for block, (depth, filters) in enumerate(zip(depths, (64, 128, 256, 512, 512), strict=True), 1):
        for i in range(1, depth + 1):
            x = Conv2D(
                filters, (3, 3), activation="relu", padding="same", name=f"block{block}_conv{i}"
            )(x)
        x = MaxPooling2D((2, 2), strides=(2, 2), name=f"block{block}_pool")(x)
    if not include_top:
        return start.model(start.pooled(x, pooling))
    x = Flatten(name="flatten")(x)
    x = Dense(4096, activation="relu", name="fc1")(x)
    x = Dense(4096, activation="relu", name="fc2")(x)
    return start.model(Dense(classes, activation="softmax", name="predictions")(x))


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Pixels 0 to 255 as VGG takes them: blue, green, red, less their means."""
    return imagenet_utils.preprocess_input(x, data_format, mode="caffe")
