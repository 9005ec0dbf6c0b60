"""Residual networks (He et al. 2015, arXiv 1512.03385), normalized after each convolution.

Scopes, variables and end points have the names of slim's published checkpoints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow.contrib import layers
from dataflow.contrib.framework import add_arg_scope, arg_scope
from dataflow.contrib.layers.building import (
    collect_named_outputs,
    convert_collection_to_dict,
    last_dimension,
)
from dataflow.contrib.slim.nets import resnet_utils
from dataflow.contrib.slim.nets.resnet_utils import resnet_arg_scope
from dataflow.namespaces import explain_absent
from dataflow.ops import activation
from dataflow.ops.math import reduce_mean
from dataflow.ops.variable_scope import variable_scope

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope

__all__ = [
    "bottleneck",
    "resnet_arg_scope",
    "resnet_v1",
    "resnet_v1_50",
    "resnet_v1_101",
    "resnet_v1_152",
    "resnet_v1_200",
    "resnet_v1_block",
]


@add_arg_scope
def bottleneck(
    inputs: Any,
    depth: int,
    depth_bottleneck: int,
    stride: int,
    rate: int = 1,
    outputs_collections: Any = None,
    scope: str | VariableScope | None = None,
) -> Any:
    """``relu(shortcut + residual)``: convolutions 1 x 1, 3 x 3 (with the stride) and 1 x 1."""
    with variable_scope(scope, "bottleneck_v1", [inputs]) as captured:
        if depth == last_dimension(inputs.get_shape(), min_rank=4):
            shortcut = resnet_utils.subsample(inputs, stride, "shortcut")
        else:
            shortcut = layers.conv2d(
                inputs, depth, [1, 1], stride=stride, activation_fn=None, scope="shortcut"
            )
        residual = layers.conv2d(inputs, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        residual = resnet_utils.conv2d_same(
            residual, depth_bottleneck, 3, stride, rate=rate, scope="conv2"
        )
        residual = layers.conv2d(
            residual, depth, [1, 1], stride=1, activation_fn=None, scope="conv3"
        )
        outputs = activation.relu(shortcut + residual)
        return collect_named_outputs(outputs_collections, captured.name, outputs)


def resnet_v1(
    inputs: Any,
    blocks: Any,
    num_classes: int | None = None,
    is_training: Any = True,
    global_pool: bool = True,
    output_stride: int | None = None,
    include_root_block: bool = True,
    reuse: bool | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[Any, dict[str, Any]]:
    """``(scores, end points)`` of images [batch, height, width, 3] by these blocks.

    Without ``num_classes`` the first are the values before the scores. ``global_pool=False`` keeps
    places, ``output_stride`` (a multiple of 4) how much smaller than the images they are.

    Raises `ValueError` for another ``output_stride``.
    """
    with variable_scope(scope, "resnet_v1", [inputs], reuse=reuse) as captured:
        collection = f"{captured.original_name_scope}_end_points"
        with (
            arg_scope(
                [layers.conv2d, bottleneck, resnet_utils.stack_blocks_dense],
                outputs_collections=collection,
            ),
            arg_scope([layers.batch_norm], is_training=is_training),
        ):
            net = inputs
            if include_root_block:
                if output_stride is not None:
                    if output_stride % 4:
                        raise ValueError("The output_stride needs to be a multiple of 4.")
                    output_stride //= 4
                net = resnet_utils.conv2d_same(net, 64, 7, stride=2, scope="conv1")
                net = layers.max_pool2d(net, [3, 3], stride=2, scope="pool1")
            net = resnet_utils.stack_blocks_dense(net, blocks, output_stride)
            if global_pool:
                net = reduce_mean(net, [1, 2], name="pool5", keepdims=True)
            if num_classes is not None:
                net = layers.conv2d(
                    net,
                    num_classes,
                    [1, 1],
                    activation_fn=None,
                    normalizer_fn=None,
                    scope="logits",
                )
            end_points = convert_collection_to_dict(collection)
            if num_classes is not None:
                end_points["predictions"] = layers.softmax(net, scope="predictions")
            return net, end_points


resnet_v1.default_image_size = 224  # type: ignore[attr-defined]


def resnet_v1_block(scope: str, base_depth: int, num_units: int, stride: int) -> Any:
    """``num_units`` bottlenecks of depth ``4 base_depth``; the last has the stride."""
    sizes = {"depth": base_depth * 4, "depth_bottleneck": base_depth}
    strides = [1] * (num_units - 1) + [stride]
    return resnet_utils.Block(scope, bottleneck, [{**sizes, "stride": s} for s in strides])


def _network(layer_count: int, units: tuple[int, int, int, int]) -> Any:
    name = f"resnet_v1_{layer_count}"

    def network(
        inputs: Any,
        num_classes: int | None = None,
        is_training: Any = True,
        global_pool: bool = True,
        output_stride: int | None = None,
        reuse: bool | None = None,
        scope: str | VariableScope = name,
    ) -> tuple[Any, dict[str, Any]]:
        blocks = [
            resnet_v1_block(f"block{i}", 32 * 2**i, count, 1 if i == 4 else 2)
            for i, count in enumerate(units, 1)
        ]
        return resnet_v1(
            inputs,
            blocks,
            num_classes,
            is_training,
            global_pool,
            output_stride,
            include_root_block=True,
            reuse=reuse,
            scope=scope,
        )

    network.__name__ = network.__qualname__ = name
    network.__doc__ = (
        f"The network with {layer_count} layers; arguments and result are `resnet_v1`'s."
    )
    network.default_image_size = 224  # type: ignore[attr-defined]
    return network


resnet_v1_50 = _network(50, (3, 4, 6, 3))
resnet_v1_101 = _network(101, (3, 4, 23, 3))
resnet_v1_152 = _network(152, (3, 8, 36, 3))
resnet_v1_200 = _network(200, (3, 24, 36, 3))

__getattr__ = explain_absent(__name__)
