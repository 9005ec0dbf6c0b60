"""What slim's residual networks are built of: blocks of units, at any density of their outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dataflow.contrib import layers
from dataflow.contrib.framework import add_arg_scope, arg_scope
from dataflow.contrib.layers.building import collect_named_outputs
from dataflow.graph.collections import GraphKeys
from dataflow.namespaces import explain_absent
from dataflow.ops import activation
from dataflow.ops.pad import pad
from dataflow.ops.variable_scope import variable_scope

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope

__all__ = ["Block", "conv2d_same", "resnet_arg_scope", "stack_blocks_dense", "subsample"]


class Block(NamedTuple):
    """Units one after the other: ``unit_fn(net, rate=..., **arguments)`` for each of ``args``."""

    scope: str
    unit_fn: Any
    args: Any


def subsample(inputs: Any, factor: int, scope: str | VariableScope | None = None) -> Any:
    """Every ``factor``-th pixel of images."""
    if factor == 1:
        return inputs
    return layers.max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


def conv2d_same(
    inputs: Any,
    num_outputs: int,
    kernel_size: int,
    stride: int,
    rate: int = 1,
    scope: str | VariableScope | None = None,
) -> Any:
    """A convolution of which ``stride`` takes every n-th value of that with stride 1.

    With padding SAME a stride would shift the window where the size is even.
    """
    if stride == 1:
        return layers.conv2d(
            inputs, num_outputs, kernel_size, stride=1, rate=rate, padding="SAME", scope=scope
        )
    total = (kernel_size - 1) * rate
    before = total // 2
    around = [before, total - before]
    return layers.conv2d(
        pad(inputs, [[0, 0], around, around, [0, 0]]),
        num_outputs,
        kernel_size,
        stride=stride,
        rate=rate,
        padding="VALID",
        scope=scope,
    )


@add_arg_scope
def stack_blocks_dense(
    net: Any,
    blocks: Any,
    output_stride: int | None = None,
    outputs_collections: Any = None,
) -> Any:
    """The blocks one after the other, in scopes ``block/unit_1``, ``block/unit_2``, ...

    ``output_stride``: how much smaller the outputs are than ``net``; from there on strides become
    rates of dilated convolutions (None: as small as the strides make them).

    Raises `ValueError` for an ``output_stride`` that no product of strides reaches.
    """
    stride = rate = 1
    for block in blocks:
        with variable_scope(block.scope, "block", [net]) as captured:
            for i, unit in enumerate(block.args):
                if output_stride is not None and stride > output_stride:
                    raise ValueError("The target output_stride cannot be reached.")
                with variable_scope(f"unit_{i + 1}", values=[net]):
                    if stride == output_stride:
                        net = block.unit_fn(net, rate=rate, **{**unit, "stride": 1})
                        rate *= unit.get("stride", 1)
                    else:
                        net = block.unit_fn(net, rate=1, **unit)
                        stride *= unit.get("stride", 1)
            net = collect_named_outputs(outputs_collections, captured.name, net)
    if output_stride is not None and stride != output_stride:
        raise ValueError("The target output_stride cannot be reached.")
    return net


def resnet_arg_scope(
    weight_decay: float = 0.0001,
    batch_norm_decay: float = 0.997,
    batch_norm_epsilon: float = 1e-5,
    batch_norm_scale: bool = True,
) -> Any:
    """The arguments of the published networks: batch normalization after convolutions, then ReLU."""
    normalization = {
        "decay": batch_norm_decay,
        "epsilon": batch_norm_epsilon,
        "scale": batch_norm_scale,
        "updates_collections": GraphKeys.UPDATE_OPS,
    }
    with (
        arg_scope(
            [layers.conv2d],
            weights_regularizer=layers.l2_regularizer(weight_decay),
            weights_initializer=layers.variance_scaling_initializer(),
            activation_fn=activation.relu,
            normalizer_fn=layers.batch_norm,
            normalizer_params=normalization,
        ),
        arg_scope([layers.batch_norm], **normalization),
        arg_scope([layers.max_pool2d], padding="SAME") as scope,
    ):
        return scope


__getattr__ = explain_absent(__name__)
