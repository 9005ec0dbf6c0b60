"""Inception v2 (Ioffe and Szegedy 2015, arXiv 1502.03167) as ``tf.contrib.slim.nets`` builds it.

Scopes, variables and end points have the names of the published checkpoint, so that its weights load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow.contrib import layers
from dataflow.contrib.framework import arg_scope
from dataflow.contrib.slim.nets import inception_parts as parts
from dataflow.graph.conversion import convert_to_tensor
from dataflow.ops.initializers import truncated_normal_initializer
from dataflow.ops.variable_scope import variable_scope

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope

_conv, _Conv, _Pool = parts.conv, parts.Conv, parts.Pool


def _first(net: Any, depth: parts.Depth) -> Any:
    """A separable convolution; each color gives as many maps as the product can still use."""
    channels = depth(64)
    return layers.separable_conv2d(
        net,
        channels,
        [7, 7],
        depth_multiplier=min(int(channels / 3), 8),
        stride=2,
        padding="SAME",
        weights_initializer=truncated_normal_initializer(0.0, 1.0),
        scope="Conv2d_1a_7x7",
    )


def _mixed(
    plain: int,
    third: tuple[int, int],
    double: tuple[int, int],
    pooled: int,
    pool: str = "AvgPool_0a_3x3",
) -> parts.Branches:
    """A module: one convolution of 3x3, two after each other, and what a pool gives."""
    return (
        (_conv("Conv2d_0a_1x1", plain, 1, 1),),
        (_conv("Conv2d_0a_1x1", third[0], 1, 1, 0.09), _conv("Conv2d_0b_3x3", third[1], 3, 3)),
        (
            _conv("Conv2d_0a_1x1", double[0], 1, 1, 0.09),
            _conv("Conv2d_0b_3x3", double[1], 3, 3),
            _conv("Conv2d_0c_3x3", double[1], 3, 3),
        ),
        (_Pool(pool), _conv("Conv2d_0b_1x1", pooled, 1, 1, 0.1)),
    )


def _halving(third: tuple[int, int], double: tuple[int, int]) -> parts.Branches:
    """A module that halves height and width."""
    return (
        (
            _conv("Conv2d_0a_1x1", third[0], 1, 1, 0.09),
            _Conv("Conv2d_1a_3x3", third[1], (3, 3), 2),
        ),
        (
            _conv("Conv2d_0a_1x1", double[0], 1, 1, 0.09),
            _conv("Conv2d_0b_3x3", double[1], 3, 3),
            _Conv("Conv2d_1a_3x3", double[1], (3, 3), 2),
        ),
        (_Pool("MaxPool_1a_3x3", 2),),
    )


_STAGES: dict[str, parts.Step | parts.Branches] = {
    "Conv2d_1a_7x7": _first,
    "MaxPool_2a_3x3": _Pool("MaxPool_2a_3x3", 2),
    "Conv2d_2b_1x1": _conv("Conv2d_2b_1x1", 64, 1, 1, 0.1),
    "Conv2d_2c_3x3": _conv("Conv2d_2c_3x3", 192, 3, 3),
    "MaxPool_3a_3x3": _Pool("MaxPool_3a_3x3", 2),
    "Mixed_3b": _mixed(64, (64, 64), (64, 96), 32),
    "Mixed_3c": _mixed(64, (64, 96), (64, 96), 64),
    "Mixed_4a": _halving((128, 160), (64, 96)),
    "Mixed_4b": _mixed(224, (64, 96), (96, 128), 128),
    "Mixed_4c": _mixed(192, (96, 128), (96, 128), 128),
    "Mixed_4d": _mixed(160, (128, 160), (128, 160), 96),
    "Mixed_4e": _mixed(96, (128, 192), (160, 192), 96),
    "Mixed_5a": _halving((128, 192), (192, 256)),
    "Mixed_5b": _mixed(352, (192, 320), (160, 224), 128),
    "Mixed_5c": _mixed(352, (192, 320), (192, 224), 128, pool="MaxPool_0a_3x3"),
}


def inception_v2_base(
    inputs: Any,
    final_endpoint: str = "Mixed_5c",
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    scope: str | VariableScope | None = None,
) -> tuple[Any, dict[str, Any]]:
    """The network without its head: [batch, 224, 224, 3] -> [batch, 7, 7, 1024].

    Every number of channels is ``depth_multiplier`` times the paper's, ``min_depth`` at least.
    Returns the tensor of ``final_endpoint`` and all end points up to it, by name.

    Raises `ValueError` for an unknown end point, or where ``depth_multiplier`` is not above 0.
    """
    depth = parts.depth_of(depth_multiplier, min_depth)
    net = convert_to_tensor(inputs)
    with variable_scope(scope, "InceptionV2", [inputs]):
        return parts.build_base(net, _STAGES, final_endpoint, depth)


def inception_v2(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Any = layers.softmax,
    spatial_squeeze: bool = True,
    reuse: bool | None = None,
    scope: str | VariableScope = "InceptionV2",
) -> tuple[Any, dict[str, Any]]:
    """The classifier: logits [batch, num_classes] of images [batch, 224, 224, 3], scaled to [-1, 1].

    Build it within ``arg_scope(inception_v2_arg_scope())``, which brings batch normalization. The end
    points are those of `inception_v2_base` with ``Logits`` and ``Predictions``. The published weights
    have ``num_classes=1001``.

    Raises `ValueError` where ``depth_multiplier`` is not above 0.
    """
    parts.depth_of(depth_multiplier, min_depth)
    with (
        variable_scope(scope, "InceptionV2", [inputs, num_classes], reuse=reuse) as captured,
        arg_scope([layers.batch_norm, layers.dropout], is_training=is_training),
    ):
        net, end_points = inception_v2_base(
            inputs, min_depth=min_depth, depth_multiplier=depth_multiplier, scope=captured
        )
        with variable_scope("Logits"):
            window = parts.window_of(net, 7)
            net = layers.avg_pool2d(
                net, window, padding="VALID", scope="AvgPool_1a_{}x{}".format(*window)
            )
            net = layers.dropout(net, keep_prob=dropout_keep_prob, scope="Dropout_1b")
            logits = parts.class_scores(net, num_classes, "Conv2d_1c_1x1", spatial_squeeze)
        end_points["Logits"] = logits
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


#: Pixels on a side of the images that the network was trained on.
default_image_size = 224
inception_v2.default_image_size = default_image_size  # type: ignore[attr-defined]


def inception_v2_arg_scope(
    weight_decay: float = 0.00004, batch_norm_var_collection: str = "moving_vars"
) -> dict[str, dict[str, Any]]:
    """The settings of the published network, for `arg_scope`: batch normalization, weight decay."""
    return parts.inception_arg_scope(weight_decay, batch_norm_var_collection)
