"""VGG (Simonyan and Zisserman 2014, arXiv 1409.1556) as ``tf.contrib.slim.nets`` builds it.

Scopes, variables and end points have the names of the published checkpoints. The dense layers are
convolutions, so that images larger than 224 x 224 give a map of scores with ``spatial_squeeze=False``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow.contrib import layers
from dataflow.contrib.framework import arg_scope
from dataflow.contrib.layers.building import convert_collection_to_dict
from dataflow.namespaces import explain_absent
from dataflow.ops import activation, array
from dataflow.ops.initializers import zeros_initializer
from dataflow.ops.variable_scope import variable_scope

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope

__all__ = ["vgg_16", "vgg_19", "vgg_a", "vgg_arg_scope", "vgg_d", "vgg_e"]

_CHANNELS = (64, 128, 256, 512, 512)


def vgg_arg_scope(weight_decay: float = 0.0005) -> Any:
    """The arguments of the published network: ReLU, padding SAME, and a weight on large weights."""
    with (
        arg_scope(
            [layers.conv2d, layers.fully_connected],
            activation_fn=activation.relu,
            weights_regularizer=layers.l2_regularizer(weight_decay),
            biases_initializer=zeros_initializer(),
        ),
        arg_scope([layers.conv2d], padding="SAME") as scope,
    ):
        return scope


def _vgg(
    inputs: Any,
    repetitions: tuple[int, ...],
    num_classes: int | None,
    is_training: Any,
    dropout_keep_prob: float,
    spatial_squeeze: bool,
    scope: str | VariableScope,
    fc_conv_padding: str,
    base: str,
) -> tuple[Any, dict[str, Any]]:
    """``(scores, end points)``: so many convolutions before each of five poolings, three dense layers."""
    with variable_scope(scope, base, [inputs]) as captured:
        collection = f"{captured.original_name_scope}_end_points"
        with arg_scope(
            [layers.conv2d, layers.fully_connected, layers.max_pool2d],
            outputs_collections=collection,
        ):
            net = inputs
            for i, (count, channels) in enumerate(zip(repetitions, _CHANNELS, strict=True), 1):
                net = layers.repeat(net, count, layers.conv2d, channels, [3, 3], scope=f"conv{i}")
                net = layers.max_pool2d(net, [2, 2], scope=f"pool{i}")
            for name, kernel, padding in (("6", [7, 7], fc_conv_padding), ("7", [1, 1], "SAME")):
                net = layers.conv2d(net, 4096, kernel, padding=padding, scope=f"fc{name}")
                net = layers.dropout(
                    net, dropout_keep_prob, is_training=is_training, scope=f"dropout{name}"
                )
            if num_classes is not None:
                net = layers.conv2d(
                    net,
                    num_classes,
                    [1, 1],
                    activation_fn=None,
                    normalizer_fn=None,
                    scope="fc8",
                )
        end_points = convert_collection_to_dict(collection)
        if num_classes is not None:
            if spatial_squeeze:
                net = array.squeeze(net, [1, 2], name="fc8/squeezed")
            end_points[f"{captured.name}/fc8"] = net
        return net, end_points


def _network(name: str, layer_count: int, repetitions: tuple[int, ...]) -> Any:
    def network(
        inputs: Any,
        num_classes: int | None = 1000,
        is_training: Any = True,
        dropout_keep_prob: float = 0.5,
        spatial_squeeze: bool = True,
        scope: str | VariableScope = name,
        fc_conv_padding: str = "VALID",
    ) -> tuple[Any, dict[str, Any]]:
        return _vgg(
            inputs,
            repetitions,
            num_classes,
            is_training,
            dropout_keep_prob,
            spatial_squeeze,
            scope,
            fc_conv_padding,
            name,
        )

    network.__name__ = network.__qualname__ = name
    network.__doc__ = (
        f"VGG with {layer_count} layers of weights: ``(scores, end points)`` of images [batch, 224, 224, 3].\n\n"
        "    Scores are [batch, num_classes], or [batch, height, width, num_classes] without\n"
        "    ``spatial_squeeze``; ``num_classes=None`` gives the values before the last layer. End points are\n"
        "    the values of all layers, by scope."
    )
    network.default_image_size = 224  # type: ignore[attr-defined]
    return network


vgg_a = _network("vgg_a", 11, (1, 1, 2, 2, 2))
vgg_16 = _network("vgg_16", 16, (2, 2, 3, 3, 3))
vgg_19 = _network("vgg_19", 19, (2, 2, 4, 4, 4))

#: The names that configurations D and E of the paper have.
vgg_d = vgg_16
vgg_e = vgg_19

__getattr__ = explain_absent(__name__)
