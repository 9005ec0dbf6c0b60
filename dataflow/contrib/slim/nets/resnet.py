"""What both versions of residual networks share: all but their units."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dataflow.contrib import layers
from dataflow.contrib.framework import arg_scope
from dataflow.contrib.layers.building import convert_collection_to_dict
from dataflow.contrib.slim.nets import resnet_utils
from dataflow.namespaces import explain_absent
from dataflow.ops import activation
from dataflow.ops.math import reduce_mean
from dataflow.ops.variable_scope import variable_scope

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope

__all__ = ["block_of", "published", "residual_network"]


def residual_network(
    version: str, bottleneck: Callable[..., Any], units_normalize_first: bool
) -> Callable[..., Any]:
    """The function that makes a network of blocks of ``bottleneck``: ``resnet_v1`` or ``resnet_v2``."""

    def network(
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
        with variable_scope(scope, version, [inputs], reuse=reuse) as captured:
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
                    net = _root_block(net, units_normalize_first)
                net = resnet_utils.stack_blocks_dense(net, blocks, output_stride)
                if units_normalize_first:
                    net = layers.batch_norm(net, activation_fn=activation.relu, scope="postnorm")
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

    network.__name__ = network.__qualname__ = version
    network.default_image_size = 224  # type: ignore[attr-defined]
    return network


def _root_block(net: Any, units_normalize_first: bool) -> Any:
    # Where a unit normalizes before it convolves, nothing does after this convolution.
    bare = {"activation_fn": None, "normalizer_fn": None}
    with arg_scope([layers.conv2d], **bare if units_normalize_first else {}):
        net = resnet_utils.conv2d_same(net, 64, 7, stride=2, scope="conv1")
    return layers.max_pool2d(net, [3, 3], stride=2, scope="pool1")


def block_of(bottleneck: Callable[..., Any], name: str) -> Callable[..., resnet_utils.Block]:
    """The function that makes a block of ``bottleneck``: ``resnet_v1_block`` or ``resnet_v2_block``."""

    def block(scope: str, base_depth: int, num_units: int, stride: int) -> resnet_utils.Block:
        """``num_units`` bottlenecks of depth ``4 base_depth``; the last has the stride."""
        sizes = {"depth": base_depth * 4, "depth_bottleneck": base_depth}
        strides = [1] * (num_units - 1) + [stride]
        return resnet_utils.Block(scope, bottleneck, [{**sizes, "stride": s} for s in strides])

    block.__name__ = block.__qualname__ = name
    return block


def published(
    resnet: Callable[..., Any],
    block: Callable[..., resnet_utils.Block],
    layer_count: int,
    units: tuple[int, int, int, int],
) -> Callable[..., Any]:
    """The function that makes a network of the papers, by the number of its layers."""
    name = f"{resnet.__name__}_{layer_count}"

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
            block(f"block{i}", 32 * 2**i, count, 1 if i == 4 else 2)
            for i, count in enumerate(units, 1)
        ]
        return resnet(  # type: ignore[no-any-return]
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
        f"The network with {layer_count} layers; arguments and result are `{resnet.__name__}`'s."
    )
    network.default_image_size = 224  # type: ignore[attr-defined]
    return network


__getattr__ = explain_absent(__name__)
