"""NASNet-A (Zoph et al. 2017, arXiv 1707.07012): cells that a search found, as Keras models."""

from __future__ import annotations

from typing import Any

from dataflow.keras.applications import imagenet_utils
from dataflow.keras.applications.imagenet_utils import decode_predictions
from dataflow.keras.applications.mobilenet import preprocess_input
from dataflow.keras.layers.convolutional import Conv2D, SeparableConv2D
from dataflow.keras.layers.core import Activation, Dense
from dataflow.keras.layers.merge import add, concatenate
from dataflow.keras.layers.normalization import BatchNormalization
from dataflow.keras.layers.pooling import AveragePooling2D, GlobalAveragePooling2D, MaxPooling2D
from dataflow.keras.layers.spatial import Cropping2D, ZeroPadding2D
from dataflow.keras.models import Model
from dataflow.ops.graph_functions import name_scope

__all__ = ["NASNet", "NASNetLarge", "NASNetMobile", "decode_predictions", "preprocess_input"]


def NASNet(
    input_shape: Any = None,
    penultimate_filters: int = 4032,
    num_blocks: int = 6,
    stem_block_filters: int = 96,
    skip_reduction: bool = True,
    filter_multiplier: int = 2,
    include_top: bool = True,
    weights: str | None = None,
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    default_size: int | None = None,
    **kwargs: Any,
) -> Model:
    """A NASNet-A with ``num_blocks`` cells between reductions and ``penultimate_filters`` at its end.

    ``weights``, ``input_shape``, ``pooling``: as `VGG16`; pictures are [height, width, channels].
    """
    if penultimate_filters % (24 * filter_multiplier**2):
        raise ValueError(
            f"NASNet: penultimate_filters is a multiple of {24 * filter_multiplier**2} (24 times the "
            f"square of filter_multiplier), got {penultimate_filters}."
        )
    size = default_size or 331
    start = imagenet_utils.Builder(
        "NASNet",
        include_top,
        weights,
        input_tensor,
        input_shape or (size, size, 3),
        default_size=size,
        min_size=32,
    )
    filters = penultimate_filters // 24
    x: Any = _conv(start.inputs, stem_block_filters, "stem_conv1", 3, strides=2, padding="valid")
    x = _normed(x, "stem_bn1")
    p: Any = None
    x, p = _reduction(x, p, filters // filter_multiplier**2, "stem_1")
    x, p = _reduction(x, p, filters // filter_multiplier, "stem_2")
    for stage in range(3):
        if stage:
            x, before = _reduction(x, p, filters, f"reduce_{stage * num_blocks}")
            p = p if skip_reduction else before
        for i in range(num_blocks):
            x, p = _normal(x, p, filters, str(stage * num_blocks + i + bool(stage)))
        filters *= filter_multiplier
    x = Activation("relu")(x)
    if not include_top:
        return start.model(start.pooled(x, pooling), "NASNet")
    x = GlobalAveragePooling2D()(x)
    return start.model(Dense(classes, activation="softmax", name="predictions")(x), "NASNet")


def NASNetLarge(
    input_shape: Any = None,
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Model:
    """NASNet-A (6 @ 4032) for pictures of 331 x 331."""
    ends = (include_top, weights, input_tensor, pooling, classes, 331)
    return NASNet(input_shape, 4032, 6, 96, True, 2, *ends)


def NASNetMobile(
    input_shape: Any = None,
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Model:
    """NASNet-A (4 @ 1056) for pictures of 224 x 224."""
    ends = (include_top, weights, input_tensor, pooling, classes, 224)
    return NASNet(input_shape, 1056, 4, 32, False, 2, *ends)


# ---- cells ------------------------------------------------------------------------------------


def _conv(x: Any, filters: int, name: str, size: int = 1, **options: Any) -> Any:
    options = {"padding": "same", **options}
    return Conv2D(
        filters, size, use_bias=False, name=name, kernel_initializer="he_normal", **options
    )(x)


def _normed(x: Any, name: str) -> Any:
    return BatchNormalization(momentum=0.9997, epsilon=1e-3, name=name)(x)


def _before_halving(x: Any, size: int, name: str) -> Any:
    """Padded so that a window of ``size`` with a stride of 2 halves the picture."""
    half = size // 2
    odd = [0 if n is None else n % 2 for n in x.shape.as_list()[1:3]]
    return ZeroPadding2D(tuple((half - 1 + o, half) for o in odd), name=name)(x)


def _separable(
    x: Any, filters: int, size: int, name: str, strides: int = 1, block: str = ""
) -> Any:
    """Twice: rectified, convolved by channel and normalized."""
    with name_scope(f"block_{block}/separable_conv_block_{name}"):
        for i in (1, 2):
            x = Activation("relu")(x)
            halved = i == 1 and strides == 2
            if halved:
                x = _before_halving(x, size, f"separable_conv_1_pad_{name}")
            x = SeparableConv2D(
                filters,
                size,
                strides=2 if halved else 1,
                padding="valid" if halved else "same",
                use_bias=False,
                kernel_initializer="he_normal",
                name=f"separable_conv_{i}_{name}",
            )(x)
            x = _normed(x, f"separable_conv_{i}_bn_{name}")
    return x


def _adjusted(p: Any, x: Any, filters: int, name: str) -> Any:
    """``p``, the output of the cell before the last one, in the size and with the filters of ``x``'s cell."""
    if p is None:
        return x
    if p.shape.as_list()[-2] != x.shape.as_list()[-2]:
        with name_scope("adjust_block/adjust_reduction_block_" + name):
            p = Activation("relu", name=f"adjust_relu_1_{name}")(p)
            moved = Cropping2D(((1, 0), (1, 0)))(ZeroPadding2D(((0, 1), (0, 1)))(p))
            halves = []
            for i, part in enumerate((p, moved), 1):
                part = AveragePooling2D(1, strides=2, name=f"adjust_avg_pool_{i}_{name}")(part)
                halves.append(_conv(part, filters // 2, f"adjust_conv_{i}_{name}"))
            return _normed(concatenate(halves), f"adjust_bn_{name}")
    if p.shape.as_list()[-1] != filters:
        with name_scope("adjust_block/adjust_projection_block_" + name):
            p = _conv(Activation("relu")(p), filters, f"adjust_conv_projection_{name}")
            return _normed(p, f"adjust_bn_{name}")
    return p


def _normal(x: Any, p: Any, filters: int, name: str) -> tuple[Any, Any]:
    with name_scope("normal_A_block_" + name):
        p = _adjusted(p, x, filters, name)
        h = _conv(Activation("relu")(x), filters, f"normal_conv_1_{name}")
        h = _normed(h, f"normal_bn_1_{name}")

        def averaged(x: Any, part: str) -> Any:
            return AveragePooling2D(3, strides=1, padding="same", name=f"normal_{part}_{name}")(x)

        def convolved(x: Any, size: int, part: str) -> Any:
            return _separable(x, filters, size, f"normal_{part}_{name}", 1, part[-1])

        sums = [
            add([convolved(h, 5, "left1"), convolved(p, 3, "right1")], name=f"normal_add_1_{name}"),
            add([convolved(p, 5, "left2"), convolved(p, 3, "right2")], name=f"normal_add_2_{name}"),
            add([averaged(h, "left3"), p], name=f"normal_add_3_{name}"),
            add([averaged(p, "left4"), averaged(p, "right4")], name=f"normal_add_4_{name}"),
            add([convolved(h, 3, "left5"), h], name=f"normal_add_5_{name}"),
        ]
        return concatenate([p, *sums], name=f"normal_concat_{name}"), x


def _reduction(x: Any, p: Any, filters: int, name: str) -> tuple[Any, Any]:
    with name_scope("reduction_A_block_" + name):
        p = _adjusted(p, x, filters, name)
        h = _conv(Activation("relu")(x), filters, f"reduction_conv_1_{name}")
        h = _normed(h, f"reduction_bn_1_{name}")
        padded = _before_halving(h, 3, f"reduction_pad_1_{name}")

        def convolved(x: Any, size: int, part: str, strides: int = 2) -> Any:
            block = "5" if strides == 1 else part[-1]
            return _separable(x, filters, size, f"reduction_{part}_{name}", strides, block)

        def summed(parts: list[Any], end: str) -> Any:
            return add(parts, name=f"reduction_{end}_{name}")

        one = summed([convolved(h, 5, "left1"), convolved(p, 7, "right1")], "add_1")
        two = MaxPooling2D(3, strides=2, name=f"reduction_left2_{name}")(padded)
        two = summed([two, convolved(p, 7, "right2")], "add_2")
        three = AveragePooling2D(3, strides=2, name=f"reduction_left3_{name}")(padded)
        three = summed([three, convolved(p, 5, "right3")], "add3")
        four = AveragePooling2D(3, strides=1, padding="same", name=f"reduction_left4_{name}")(one)
        four = add([two, four])
        five = convolved(one, 3, "left4", 1)
        best = MaxPooling2D(3, strides=2, name=f"reduction_right5_{name}")(padded)
        five = summed([five, best], "add4")
        return concatenate([two, three, four, five], name=f"reduction_concat_{name}"), x
