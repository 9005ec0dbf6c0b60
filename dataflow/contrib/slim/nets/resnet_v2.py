"""Residual networks whose units normalize before each convolution (He et al. 2016, arXiv 1603.05027).

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
    "resnet_v2",
    "resnet_v2_50",
    "resnet_v2_101",
    "resnet_v2_152",
    "resnet_v2_200",
    "resnet_v2_block",
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
    """``shortcut + residual``, normalized and rectified before: convolutions 1 x 1, 3 x 3, 1 x 1."""
    with variable_scope(scope, "bottleneck_v2", [inputs]) as captured:
        before = layers.batch_norm(inputs, activation_fn=activation.relu, scope="preact")
        if depth == last_dimension(inputs.get_shape(), min_rank=4):
            shortcut = resnet_utils.subsample(inputs, stride, "shortcut")
        else:
            shortcut = layers.conv2d(
                before,
                depth,
                [1, 1],
                stride=stride,
                normalizer_fn=None,
                activation_fn=None,
                scope="shortcut",
            )
        residual = layers.conv2d(before, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        residual = resnet_utils.conv2d_same(
            residual, depth_bottleneck, 3, stride, rate=rate, scope="conv2"
        )
        residual = layers.conv2d(
            residual,
            depth,
            [1, 1],
            stride=1,
            normalizer_fn=None,
            activation_fn=None,
            scope="conv3",
        )
        return collect_named_outputs(outputs_collections, captured.name, shortcut + residual)


resnet_v2 = residual_network("resnet_v2", bottleneck, units_normalize_first=True)
resnet_v2_block = block_of(bottleneck, "resnet_v2_block")
resnet_v2_50 = published(resnet_v2, resnet_v2_block, 50, (3, 4, 6, 3))
resnet_v2_101 = published(resnet_v2, resnet_v2_block, 101, (3, 4, 23, 3))
resnet_v2_152 = published(resnet_v2, resnet_v2_block, 152, (3, 8, 36, 3))
resnet_v2_200 = published(resnet_v2, resnet_v2_block, 200, (3, 24, 36, 3))

__getattr__ = explain_absent(__name__)
