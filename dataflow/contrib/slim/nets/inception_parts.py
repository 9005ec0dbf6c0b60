"""What the Inception networks of ``tf.contrib.slim.nets`` share: layers as tables, and their settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dataflow.contrib import layers
from dataflow.contrib.framework import arg_scope
from dataflow.graph.collections import GraphKeys
from dataflow.ops import activation, array
from dataflow.ops.initializers import truncated_normal_initializer
from dataflow.ops.variable_scope import variable_scope

Depth = Callable[[int], int]


@dataclass(frozen=True)
class Conv:
    scope: str
    channels: int
    kernel: tuple[int, int]
    stride: int = 1
    padding: str = "SAME"
    #: Of the initial weights; None: as the argument scope says.
    stddev: float | None = None

    def __call__(self, net: Any, depth: Depth) -> Any:
        initial = {}
        if self.stddev is not None:
            initial["weights_initializer"] = truncated_normal_initializer(0.0, self.stddev)
        return layers.conv2d(
            net,
            depth(self.channels),
            list(self.kernel),
            stride=self.stride,
            padding=self.padding,
            scope=self.scope,
            **initial,
        )


@dataclass(frozen=True)
class Pool:
    """A square window; its greatest value, or its mean where the scope says so."""

    scope: str
    stride: int = 1
    padding: str = "SAME"
    size: int = 3

    def __call__(self, net: Any, depth: Depth) -> Any:
        pool = layers.avg_pool2d if self.scope.startswith("Avg") else layers.max_pool2d
        window = [self.size, self.size]
        return pool(net, window, stride=self.stride, padding=self.padding, scope=self.scope)


@dataclass(frozen=True)
class Fork:
    """Two convolutions of the same input, side by side."""

    left: Conv
    right: Conv

    def __call__(self, net: Any, depth: Depth) -> Any:
        return array.concat([self.left(net, depth), self.right(net, depth)], 3)


#: Anything that is called with a tensor and `Depth`, and gives the next tensor.
Step = Callable[[Any, Depth], Any]
Branches = tuple[tuple[Step, ...], ...]


def conv(scope: str, channels: int, height: int, width: int, stddev: float | None = None) -> Conv:
    """A convolution of stride 1 that keeps the picture's size."""
    return Conv(scope, channels, (height, width), stddev=stddev)


def depth_of(depth_multiplier: float, min_depth: int) -> Depth:
    """The function from the paper's number of channels to the network's."""
    if depth_multiplier <= 0:
        raise ValueError("depth_multiplier is not greater than zero.")
    return lambda channels: max(int(channels * depth_multiplier), min_depth)


def build_base(
    net: Any, stages: Mapping[str, Step | Branches], final_endpoint: str, depth: Depth
) -> tuple[Any, dict[str, Any]]:
    """The tensor of ``final_endpoint``, and all end points up to it by name."""
    if final_endpoint not in stages:
        raise ValueError(
            f"Unknown final endpoint {final_endpoint}. The end points are {', '.join(stages)}."
        )
    end_points: dict[str, Any] = {}
    for name, stage in stages.items():
        net = _module(net, name, stage, depth) if isinstance(stage, tuple) else stage(net, depth)
        end_points[name] = net
        if name == final_endpoint:
            break
    return net, end_points


def _module(net: Any, name: str, branches: Branches, depth: Depth) -> Any:
    with variable_scope(name):
        outputs = []
        for i, steps in enumerate(branches):
            with variable_scope(f"Branch_{i}"):
                branch = net
                for step in steps:
                    branch = step(branch, depth)
                outputs.append(branch)
        return array.concat(outputs, 3)


def window_of(net: Any, size: int) -> list[int]:
    """A window of ``size``, or all of a smaller picture; an unknown size is taken as enough."""
    height, width = (net.dims or (None,) * 4)[1:3]
    if height is None or width is None:
        return [size, size]
    return [min(height, size), min(width, size)]


def class_scores(
    net: Any, num_classes: int, scope: str, spatial_squeeze: bool, **options: Any
) -> Any:
    """The logits of each place, [batch, height, width, num_classes]; without the places where squeezed."""
    net = layers.conv2d(
        net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope=scope, **options
    )
    return array.squeeze(net, [1, 2], name="SpatialSqueeze") if spatial_squeeze else net


def inception_arg_scope(
    weight_decay: float, batch_norm_var_collection: str, use_batch_norm: bool = True, **options: Any
) -> dict[str, dict[str, Any]]:
    """Settings for `arg_scope`: weight decay, and batch normalization with ``options``."""
    settings = {
        "decay": 0.9997,
        "epsilon": 0.001,
        "updates_collections": GraphKeys.UPDATE_OPS,
        "variables_collections": {
            "beta": None,
            "gamma": None,
            "moving_mean": [batch_norm_var_collection],
            "moving_variance": [batch_norm_var_collection],
        },
        **options,
    }
    with (
        arg_scope(
            [layers.conv2d, layers.fully_connected],
            weights_regularizer=layers.l2_regularizer(weight_decay),
        ),
        arg_scope(
            [layers.conv2d],
            weights_initializer=layers.variance_scaling_initializer(),
            activation_fn=activation.relu,
            normalizer_fn=layers.batch_norm if use_batch_norm else None,
            normalizer_params=settings if use_batch_norm else {},
        ) as scope,
    ):
        return scope
