"""Residual networks (He et al. 2015, arXiv 1512.03385), normalized after each convolution.

Scopes, variables and end points have the names of slim's published checkpoints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow.contrib import layers
from dataflow.contrib.framework import add_arg_scope
from dataflow.contrib.layers.building import (
    collect_named_outputs,
    last_dimension,
)
from dataflow.contrib.slim.nets import resnet_utils
from dataflow.contrib.slim.nets.resnet import block_of, published, residual_network
from dataflow.contrib.slim.nets.resnet_utils import resnet_arg_scope
from dataflow.namespaces import explain_absent
from dataflow.ops import activation
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


resnet_v1 = residual_network("resnet_v1", bottleneck, units_normalize_first=False)
resnet_v1_block = block_of(bottleneck, "resnet_v1_block")
resnet_v1_50 = published(resnet_v1, resnet_v1_block, 50, (3, 4, 6, 3))
resnet_v1_101 = published(resnet_v1, resnet_v1_block, 101, (3, 4, 23, 3))
resnet_v1_152 = published(resnet_v1, resnet_v1_block, 152, (3, 8, 36, 3))
resnet_v1_200 = published(resnet_v1, resnet_v1_block, 200, (3, 24, 36, 3))

__getattr__ = explain_absent(__name__)
