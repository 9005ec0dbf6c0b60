"""Inception v1, GoogLeNet (Szegedy et al. 2014, arXiv 1409.4842), as ``tf.contrib.slim.nets`` builds it.

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


def _mixed(
    plain: int,
    third: tuple[int, int],
    fifth: tuple[int, int],
    pooled: int,
    last: str = "Conv2d_0b_3x3",
) -> parts.Branches:
    """A module; the paper's 5x5 convolution, ``fifth``, is one of 3x3 in the published network."""
    return (
        (_conv("Conv2d_0a_1x1", plain, 1, 1),),
        (_conv("Conv2d_0a_1x1", third[0], 1, 1), _conv("Conv2d_0b_3x3", third[1], 3, 3)),
        (_conv("Conv2d_0a_1x1", fifth[0], 1, 1), _conv(last, fifth[1], 3, 3)),
        (_Pool("MaxPool_0a_3x3"), _conv("Conv2d_0b_1x1", pooled, 1, 1)),
    )


_STAGES: dict[str, parts.Step | parts.Branches] = {
    "Conv2d_1a_7x7": _Conv("Conv2d_1a_7x7", 64, (7, 7), 2),
    "MaxPool_2a_3x3": _Pool("MaxPool_2a_3x3", 2),
    "Conv2d_2b_1x1": _conv("Conv2d_2b_1x1", 64, 1, 1),
    "Conv2d_2c_3x3": _conv("Conv2d_2c_3x3", 192, 3, 3),
    "MaxPool_3a_3x3": _Pool("MaxPool_3a_3x3", 2),
    "Mixed_3b": _mixed(64, (96, 128), (16, 32), 32),
    "Mixed_3c": _mixed(128, (128, 192), (32, 96), 64),
    "MaxPool_4a_3x3": _Pool("MaxPool_4a_3x3", 2),
    "Mixed_4b": _mixed(192, (96, 208), (16, 48), 64),
    "Mixed_4c": _mixed(160, (112, 224), (24, 64), 64),
    "Mixed_4d": _mixed(128, (128, 256), (24, 64), 64),
    "Mixed_4e": _mixed(112, (144, 288), (32, 64), 64),
    "Mixed_4f": _mixed(256, (160, 320), (32, 128), 128),
    "MaxPool_5a_2x2": _Pool("MaxPool_5a_2x2", 2, size=2),
    "Mixed_5b": _mixed(256, (160, 320), (32, 128), 128, last="Conv2d_0a_3x3"),
    "Mixed_5c": _mixed(384, (192, 384), (48, 128), 128),
}


def inception_v1_base(
    inputs: Any,
    final_endpoint: str = "Mixed_5c",
    scope: str | VariableScope | None = "InceptionV1",
) -> tuple[Any, dict[str, Any]]:
    """The network without its head: [batch, 224, 224, 3] -> [batch, 7, 7, 1024].

    Returns the tensor of ``final_endpoint`` and all end points up to it, by name. Raises `ValueError`
    for an unknown end point.
    """
    net = convert_to_tensor(inputs)
    with (
        variable_scope(scope, "InceptionV1", [inputs]),
        arg_scope(
            [layers.conv2d, layers.fully_connected],
            weights_initializer=truncated_normal_initializer(0.0, 0.01),
        ),
    ):
        return parts.build_base(net, _STAGES, final_endpoint, lambda channels: channels)


def inception_v1(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    prediction_fn: Any = layers.softmax,
    spatial_squeeze: bool = True,
    reuse: bool | None = None,
    scope: str | VariableScope = "InceptionV1",
) -> tuple[Any, dict[str, Any]]:
    """The classifier: logits [batch, num_classes] of images [batch, 224, 224, 3], scaled to [-1, 1].

    Build it within ``arg_scope(inception_v1_arg_scope())``, which brings batch normalization. The end
    points are those of `inception_v1_base` with ``Logits`` and ``Predictions``. The published weights
    have ``num_classes=1001``.
    """
    with (
        variable_scope(scope, "InceptionV1", [inputs, num_classes], reuse=reuse) as captured,
        arg_scope([layers.batch_norm, layers.dropout], is_training=is_training),
    ):
        net, end_points = inception_v1_base(inputs, scope=captured)
        with variable_scope("Logits"):
            net = layers.avg_pool2d(net, [7, 7], stride=1, scope="MaxPool_0a_7x7")
            net = layers.dropout(net, dropout_keep_prob, scope="Dropout_0b")
            logits = end_points["Logits"] = parts.class_scores(
                net, num_classes, "Conv2d_0c_1x1", spatial_squeeze
            )
            end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


#: Pixels on a side of the images that the network was trained on.
default_image_size = 224
inception_v1.default_image_size = default_image_size  # type: ignore[attr-defined]


def inception_v1_arg_scope(
    weight_decay: float = 0.00004,
    use_batch_norm: bool = True,
    batch_norm_var_collection: str = "moving_vars",
) -> dict[str, dict[str, Any]]:
    """The settings of the published network, for `arg_scope`: batch normalization, weight decay."""
    return parts.inception_arg_scope(weight_decay, batch_norm_var_collection, use_batch_norm)
