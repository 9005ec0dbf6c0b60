"""Inception v3 (Szegedy et al. 2015, arXiv 1512.00567) as ``tf.contrib.slim.nets`` builds it.

Scopes, variables and end points have the names of the published checkpoint, odd ones included
(``Mixed_5c/Branch_1/Conv_1_0c_5x5``), so that its weights load.
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


_conv, _Conv, _Pool, _Fork = parts.conv, parts.Conv, parts.Pool, parts.Fork


def _halving(scope: str, channels: int) -> parts.Conv:
    return _Conv(scope, channels, (3, 3), 2, "VALID")


def _pooled(channels: int) -> tuple[parts.Step, ...]:
    return _Pool("AvgPool_0a_3x3"), _conv("Conv2d_0b_1x1", channels, 1, 1)


def _fine(
    pooled: int, narrow: str = "Conv2d_0a_1x1", wide: str = "Conv2d_0b_5x5"
) -> parts.Branches:
    """A module at 35 x 35."""
    return (
        (_conv("Conv2d_0a_1x1", 64, 1, 1),),
        (_conv(narrow, 48, 1, 1), _conv(wide, 64, 5, 5)),
        (
            _conv("Conv2d_0a_1x1", 64, 1, 1),
            _conv("Conv2d_0b_3x3", 96, 3, 3),
            _conv("Conv2d_0c_3x3", 96, 3, 3),
        ),
        _pooled(pooled),
    )


def _factorized(inner: int) -> parts.Branches:
    """A module at 17 x 17, whose 7x7 convolutions are 1x7 and 7x1 after each other."""
    return (
        (_conv("Conv2d_0a_1x1", 192, 1, 1),),
        (
            _conv("Conv2d_0a_1x1", inner, 1, 1),
            _conv("Conv2d_0b_1x7", inner, 1, 7),
            _conv("Conv2d_0c_7x1", 192, 7, 1),
        ),
        (
            _conv("Conv2d_0a_1x1", inner, 1, 1),
            _conv("Conv2d_0b_7x1", inner, 7, 1),
            _conv("Conv2d_0c_1x7", inner, 1, 7),
            _conv("Conv2d_0d_7x1", inner, 7, 1),
            _conv("Conv2d_0e_1x7", 192, 1, 7),
        ),
        _pooled(192),
    )


def _coarse(upright: str) -> parts.Branches:
    """A module at 8 x 8, which grows wider and not deeper."""
    return (
        (_conv("Conv2d_0a_1x1", 320, 1, 1),),
        (
            _conv("Conv2d_0a_1x1", 384, 1, 1),
            _Fork(_conv("Conv2d_0b_1x3", 384, 1, 3), _conv(upright, 384, 3, 1)),
        ),
        (
            _conv("Conv2d_0a_1x1", 448, 1, 1),
            _conv("Conv2d_0b_3x3", 384, 3, 3),
            _Fork(_conv("Conv2d_0c_1x3", 384, 1, 3), _conv("Conv2d_0d_3x1", 384, 3, 1)),
        ),
        _pooled(192),
    )


_STAGES: dict[str, parts.Step | parts.Branches] = {
    "Conv2d_1a_3x3": _Conv("Conv2d_1a_3x3", 32, (3, 3), 2, "VALID"),
    "Conv2d_2a_3x3": _Conv("Conv2d_2a_3x3", 32, (3, 3), 1, "VALID"),
    "Conv2d_2b_3x3": _conv("Conv2d_2b_3x3", 64, 3, 3),
    "MaxPool_3a_3x3": _Pool("MaxPool_3a_3x3", 2, "VALID"),
    "Conv2d_3b_1x1": _Conv("Conv2d_3b_1x1", 80, (1, 1), 1, "VALID"),
    "Conv2d_4a_3x3": _Conv("Conv2d_4a_3x3", 192, (3, 3), 1, "VALID"),
    "MaxPool_5a_3x3": _Pool("MaxPool_5a_3x3", 2, "VALID"),
    "Mixed_5b": _fine(32),
    "Mixed_5c": _fine(64, "Conv2d_0b_1x1", "Conv_1_0c_5x5"),
    "Mixed_5d": _fine(64),
    "Mixed_6a": (
        (_halving("Conv2d_1a_1x1", 384),),
        (
            _conv("Conv2d_0a_1x1", 64, 1, 1),
            _conv("Conv2d_0b_3x3", 96, 3, 3),
            _halving("Conv2d_1a_1x1", 96),
        ),
        (_Pool("MaxPool_1a_3x3", 2, "VALID"),),
    ),
    "Mixed_6b": _factorized(128),
    "Mixed_6c": _factorized(160),
    "Mixed_6d": _factorized(160),
    "Mixed_6e": _factorized(192),
    "Mixed_7a": (
        (_conv("Conv2d_0a_1x1", 192, 1, 1), _halving("Conv2d_1a_3x3", 320)),
        (
            _conv("Conv2d_0a_1x1", 192, 1, 1),
            _conv("Conv2d_0b_1x7", 192, 1, 7),
            _conv("Conv2d_0c_7x1", 192, 7, 1),
            _halving("Conv2d_1a_3x3", 192),
        ),
        (_Pool("MaxPool_1a_3x3", 2, "VALID"),),
    ),
    "Mixed_7b": _coarse("Conv2d_0b_3x1"),
    "Mixed_7c": _coarse("Conv2d_0c_3x1"),
}


def inception_v3_base(
    inputs: Any,
    final_endpoint: str = "Mixed_7c",
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    scope: str | VariableScope | None = None,
) -> tuple[Any, dict[str, Any]]:
    """The network without its heads: [batch, 299, 299, 3] -> [batch, 8, 8, 2048].

    Every number of channels is ``depth_multiplier`` times the paper's, ``min_depth`` at least.
    Returns the tensor of ``final_endpoint`` and all end points up to it, by name.

    Raises `ValueError` for an unknown end point, or where ``depth_multiplier`` is not above 0.
    """
    depth = parts.depth_of(depth_multiplier, min_depth)
    net = convert_to_tensor(inputs)
    with variable_scope(scope, "InceptionV3", [inputs]):
        return parts.build_base(net, _STAGES, final_endpoint, depth)


def _auxiliary_head(net: Any, num_classes: int, depth: Any, spatial_squeeze: bool) -> Any:
    """A second classifier, amid the network: its loss brings gradients to the lower layers."""
    with (
        variable_scope("AuxLogits"),
        arg_scope([layers.conv2d, layers.avg_pool2d], stride=1, padding="SAME"),
    ):
        net = layers.avg_pool2d(net, [5, 5], stride=3, padding="VALID", scope="AvgPool_1a_5x5")
        net = layers.conv2d(net, depth(128), [1, 1], scope="Conv2d_1b_1x1")
        window = parts.window_of(net, 5)
        net = layers.conv2d(
            net,
            depth(768),
            window,
            padding="VALID",
            weights_initializer=truncated_normal_initializer(0.0, 0.01),
            scope="Conv2d_2a_{}x{}".format(*window),
        )
        return parts.class_scores(
            net,
            num_classes,
            "Conv2d_2b_1x1",
            spatial_squeeze,
            weights_initializer=truncated_normal_initializer(0.0, 0.001),
        )


def inception_v3(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Any = layers.softmax,
    spatial_squeeze: bool = True,
    reuse: bool | None = None,
    scope: str | VariableScope = "InceptionV3",
) -> tuple[Any, dict[str, Any]]:
    """The classifier: logits [batch, num_classes] of images [batch, 299, 299, 3], scaled to [-1, 1].

    Build it within ``arg_scope(inception_v3_arg_scope())``, which brings batch normalization. The
    end points are those of `inception_v3_base` with ``AuxLogits``, ``PreLogits`` [batch, 1, 1,
    2048], ``Logits`` and ``Predictions``. The published weights have ``num_classes=1001``.

    Raises `ValueError` where ``depth_multiplier`` is not above 0.
    """
    depth = parts.depth_of(depth_multiplier, min_depth)
    with (
        variable_scope(scope, "InceptionV3", [inputs], reuse=reuse) as captured,
        arg_scope([layers.batch_norm, layers.dropout], is_training=is_training),
    ):
        net, end_points = inception_v3_base(
            inputs, min_depth=min_depth, depth_multiplier=depth_multiplier, scope=captured
        )
        end_points["AuxLogits"] = _auxiliary_head(
            end_points["Mixed_6e"], num_classes, depth, spatial_squeeze
        )
        with variable_scope("Logits"):
            window = parts.window_of(net, 8)
            net = layers.avg_pool2d(
                net, window, padding="VALID", scope="AvgPool_1a_{}x{}".format(*window)
            )
            net = layers.dropout(net, keep_prob=dropout_keep_prob, scope="Dropout_1b")
            end_points["PreLogits"] = net
            logits = end_points["Logits"] = parts.class_scores(
                net, num_classes, "Conv2d_1c_1x1", spatial_squeeze
            )
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


#: Pixels on a side of the images that the network was trained on.
default_image_size = 299
inception_v3.default_image_size = default_image_size  # type: ignore[attr-defined]


def inception_v3_arg_scope(
    weight_decay: float = 0.00004,
    batch_norm_var_collection: str = "moving_vars",
    use_fused_batchnorm: bool = True,
) -> dict[str, dict[str, Any]]:
    """The settings of the published network, for `arg_scope`: batch normalization, weight decay."""
    return parts.inception_arg_scope(
        weight_decay, batch_norm_var_collection, fused=use_fused_batchnorm
    )
