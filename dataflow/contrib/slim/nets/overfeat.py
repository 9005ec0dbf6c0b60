"""OverFeat (Sermanet et al. 2014, arXiv 1312.6229) as ``tf.contrib.slim.nets`` builds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow.contrib import layers
from dataflow.contrib.framework import arg_scope
from dataflow.contrib.slim.nets.alexnet import dense_layers, scores_and_end_points
from dataflow.namespaces import explain_absent
from dataflow.ops import activation
from dataflow.ops.initializers import zeros_initializer
from dataflow.ops.variable_scope import variable_scope

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope

__all__ = ["overfeat", "overfeat_arg_scope"]


def overfeat_arg_scope(weight_decay: float = 0.0005) -> Any:
    """The arguments of the published network: ReLU, biases of 0, and a weight on large weights."""
    with (
        arg_scope(
            [layers.conv2d, layers.fully_connected],
            activation_fn=activation.relu,
            weights_regularizer=layers.l2_regularizer(weight_decay),
            biases_initializer=zeros_initializer(),
        ),
        arg_scope([layers.conv2d], padding="SAME"),
        arg_scope([layers.max_pool2d], padding="VALID") as scope,
    ):
        return scope


def _features(net: Any) -> Any:
    net = layers.conv2d(net, 64, [11, 11], 4, padding="VALID", scope="conv1")
    net = layers.max_pool2d(net, [2, 2], scope="pool1")
    net = layers.conv2d(net, 256, [5, 5], padding="VALID", scope="conv2")
    net = layers.max_pool2d(net, [2, 2], scope="pool2")
    for i, channels in ((3, 512), (4, 1024), (5, 1024)):
        net = layers.conv2d(net, channels, [3, 3], scope=f"conv{i}")
    return layers.max_pool2d(net, [2, 2], scope="pool5")


def overfeat(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True,
    scope: str | VariableScope = "overfeat",
) -> tuple[Any, dict[str, Any]]:
    """``(scores, end points)`` of images [batch, 231, 231, 3].

    Scores are [batch, num_classes], or [batch, height, width, num_classes] of larger images without
    ``spatial_squeeze``: the dense layers are convolutions. End points are the values of all layers.
    """
    with variable_scope(scope, "overfeat", [inputs]) as captured:
        collection = f"{captured.name}_end_points"
        with arg_scope(
            [layers.conv2d, layers.fully_connected, layers.max_pool2d],
            outputs_collections=collection,
        ):
            net = _features(inputs)
            # Without `overfeat_arg_scope` fc7's window of 1x1 pads nothing either way.
            net = dense_layers(
                net,
                (("6", 3072, [6, 6], "VALID"), ("7", 4096, [1, 1], "VALID")),
                num_classes,
                is_training,
                dropout_keep_prob,
            )
        return scores_and_end_points(net, collection, captured.name, spatial_squeeze)


overfeat.default_image_size = 231  # type: ignore[attr-defined]

__getattr__ = explain_absent(__name__)
