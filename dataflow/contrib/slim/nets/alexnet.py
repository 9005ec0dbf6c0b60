"""AlexNet (Krizhevsky 2014, arXiv 1404.5997, the second version) as ``tf.contrib.slim.nets`` builds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow.contrib import layers
from dataflow.contrib.framework import arg_scope
from dataflow.contrib.layers.building import convert_collection_to_dict
from dataflow.namespaces import explain_absent
from dataflow.ops import activation, array
from dataflow.ops.initializers import (
    constant_initializer,
    truncated_normal_initializer,
    zeros_initializer,
)
from dataflow.ops.variable_scope import variable_scope

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope

__all__ = ["alexnet_v2", "alexnet_v2_arg_scope"]


def alexnet_v2_arg_scope(weight_decay: float = 0.0005) -> Any:
    """The arguments of the published network: ReLU, biases of 0.1, and a weight on large weights."""
    with (
        arg_scope(
            [layers.conv2d, layers.fully_connected],
            activation_fn=activation.relu,
            biases_initializer=constant_initializer(0.1),
            weights_regularizer=layers.l2_regularizer(weight_decay),
        ),
        arg_scope([layers.conv2d], padding="SAME"),
        arg_scope([layers.max_pool2d], padding="VALID") as scope,
    ):
        return scope


def _features(net: Any) -> Any:
    net = layers.conv2d(net, 64, [11, 11], 4, padding="VALID", scope="conv1")
    net = layers.max_pool2d(net, [3, 3], 2, scope="pool1")
    net = layers.conv2d(net, 192, [5, 5], scope="conv2")
    net = layers.max_pool2d(net, [3, 3], 2, scope="pool2")
    for i, channels in ((3, 384), (4, 384), (5, 256)):
        net = layers.conv2d(net, channels, [3, 3], scope=f"conv{i}")
    return layers.max_pool2d(net, [3, 3], 2, scope="pool5")


def dense_layers(
    net: Any,
    hidden: tuple[tuple[str, int, list[int], str], ...],
    num_classes: int,
    is_training: Any,
    dropout_keep_prob: float,
) -> Any:
    """The scores: dense layers as convolutions, with dropout after each of ``hidden``.

    ``hidden``: for each its number, outputs, window and padding.
    """
    with arg_scope(
        [layers.conv2d],
        weights_initializer=truncated_normal_initializer(0.0, 0.005),
        biases_initializer=constant_initializer(0.1),
    ):
        for name, channels, kernel, padding in hidden:
            net = layers.conv2d(net, channels, kernel, padding=padding, scope=f"fc{name}")
            net = layers.dropout(
                net, dropout_keep_prob, is_training=is_training, scope=f"dropout{name}"
            )
        return layers.conv2d(
            net,
            num_classes,
            [1, 1],
            activation_fn=None,
            normalizer_fn=None,
            biases_initializer=zeros_initializer(),
            scope="fc8",
        )


def scores_and_end_points(
    net: Any, collection: str, scope: str, spatial_squeeze: bool
) -> tuple[Any, dict[str, Any]]:
    """The scores, of one place with ``spatial_squeeze``, and the values of the layers in ``collection``."""
    end_points = convert_collection_to_dict(collection)
    if spatial_squeeze:
        net = array.squeeze(net, [1, 2], name="fc8/squeezed")
        end_points[f"{scope}/fc8"] = net
    return net, end_points


def alexnet_v2(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True,
    scope: str | VariableScope = "alexnet_v2",
) -> tuple[Any, dict[str, Any]]:
    """``(scores, end points)`` of images [batch, 224, 224, 3].

    Scores are [batch, num_classes], or [batch, height, width, num_classes] of larger images without
    ``spatial_squeeze``: the dense layers are convolutions. End points are the values of all layers.
    """
    with variable_scope(scope, "alexnet_v2", [inputs]) as captured:
        collection = f"{captured.original_name_scope}_end_points"
        with arg_scope(
            [layers.conv2d, layers.fully_connected, layers.max_pool2d],
            outputs_collections=[collection],
        ):
            net = _features(inputs)
            net = dense_layers(
                net,
                (("6", 4096, [5, 5], "VALID"), ("7", 4096, [1, 1], "SAME")),
                num_classes,
                is_training,
                dropout_keep_prob,
            )
        return scores_and_end_points(net, collection, captured.name, spatial_squeeze)


alexnet_v2.default_image_size = 224  # type: ignore[attr-defined]

__getattr__ = explain_absent(__name__)
