"""Metrics that are values of the last batch."""

from __future__ import annotations

from typing import Any

from dataflow.graph.collections import GraphKeys
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.state import assign
from dataflow.ops.variables import Variable


def last_value(name: str, value: Tensor) -> tuple[Any, Any]:
    """A metric, the pair (value, update), that is ``value`` of the last batch, of any shape."""
    kept = Variable(
        array.zeros([], dtype=value.dtype),
        name=f"{name}_identity_metric",
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES],
        validate_shape=False,
    )
    update = assign(kept, value, validate_shape=False)
    kept.set_shape(value.shape)
    return kept.value(), update
