"""DenseNet (Huang et al. 2016, arXiv 1608.06993): each layer sees all before it in its block."""

from __future__ import annotations

from typing import Any

from dataflow.graph.type_aliases import TensorLike
from dataflow.keras.applications import imagenet_utils
from dataflow.keras.applications.imagenet_utils import decode_predictions
from dataflow.keras.layers.convolutional import Conv2D
from dataflow.keras.layers.core import Activation, Dense
from dataflow.keras.layers.merge import Concatenate
from dataflow.keras.layers.normalization import BatchNormalization
from dataflow.keras.layers.pooling import AveragePooling2D, GlobalAveragePooling2D, MaxPooling2D
from dataflow.keras.layers.spatial import ZeroPadding2D
from dataflow.keras.models import Model
from dataflow.shapes import dimension_value

__all__ = ["DenseNet121", "DenseNet169", "DenseNet201", "decode_predictions", "preprocess_input"]

#: Channels that each layer adds.
_GROWTH = 32


def DenseNet121(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorLike | None = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """DenseNet121 for images of 224 x 224 pixels, or without its top for any of 32 and more.

    ``weights``, ``input_shape``, ``pooling``: as `VGG16`.
    """
    given = (include_top, weights, input_tensor, input_shape, pooling, classes)
    return _densenet("DenseNet121", (6, 12, 24, 16), *given)


def DenseNet169(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorLike | None = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """As `DenseNet121`, with 169 layers."""
    given = (include_top, weights, input_tensor, input_shape, pooling, classes)
    return _densenet("DenseNet169", (6, 12, 32, 32), *given)


def DenseNet201(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorLike | None = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """As `DenseNet121`, with 201 layers."""
    given = (include_top, weights, input_tensor, input_shape, pooling, classes)
    return _densenet("DenseNet201", (6, 12, 48, 32), *given)


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Pixels 0 to 255 as DenseNet takes them: 0 to 1, normalized by ImageNet's means."""
    return imagenet_utils.preprocess_input(x, data_format, mode="torch")


def _densenet(
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

    def activated(x: Any, before: str) -> Any:
        x = BatchNormalization(axis=axis, epsilon=1.001e-5, name=before + "bn")(x)
        return Activation("relu", name=before + "relu")(x)

    x = ZeroPadding2D(((3, 3), (3, 3)))(start.inputs)
    x = activated(Conv2D(64, 7, strides=2, use_bias=False, name="conv1/conv")(x), "conv1/")
    x = MaxPooling2D(3, strides=2, name="pool1")(ZeroPadding2D(((1, 1), (1, 1)))(x))
    for stage, depth in enumerate(depths, 2):
        for i in range(1, depth + 1):
            block = f"conv{stage}_block{i}_"
            y = Conv2D(4 * _GROWTH, 1, use_bias=False, name=block + "1_conv")(
                activated(x, block + "0_")
            )
            y = Conv2D(_GROWTH, 3, padding="same", use_bias=False, name=block + "2_conv")(
                activated(y, block + "1_")
            )
            x = Concatenate(axis=axis, name=block + "concat")([x, y])
        if stage < 5:  # half as many channels, on half the sides
            half = dimension_value(x.shape[axis]) // 2
            x = activated(x, f"pool{stage}_")
            x = Conv2D(half, 1, use_bias=False, name=f"pool{stage}_conv")(x)
            x = AveragePooling2D(2, strides=2, name=f"pool{stage}_pool")(x)
    x = activated(x, "")
    if not include_top:
        return start.model(start.pooled(x, pooling))
    x = GlobalAveragePooling2D(name="avg_pool")(x)
    return start.model(Dense(classes, activation="softmax", name="fc1000")(x))
