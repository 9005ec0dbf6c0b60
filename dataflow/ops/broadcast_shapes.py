"""The shape that any number of shapes broadcast to."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from dataflow import dtypes
from dataflow.graph.tensor import Tensor
from dataflow.ops.broadcasting import broadcast_dynamic_shape
from dataflow.ops.fills import zeros
from dataflow.shapes import TensorShape, broadcast_static_shape


def common_shape(shapes: Iterable[TensorShape]) -> TensorShape:
    """The static shape that all of these broadcast to; raises `ValueError` where they do not."""
    return functools.reduce(broadcast_static_shape, shapes, TensorShape([]))


def common_shape_tensor(shapes: Iterable[Any]) -> Tensor:
    """The run-time shape (int32 vector) that all of these broadcast to."""
    return functools.reduce(broadcast_dynamic_shape, shapes, zeros([0], dtypes.int32))
