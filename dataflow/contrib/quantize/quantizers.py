"""Fake quantizations whose limits are variables."""

from __future__ import annotations

from typing import Any

from dataflow.graph.collections import GraphKeys
from dataflow.graph.tensor import Tensor
from dataflow.ops.initializers import Constant
from dataflow.ops.math import maximum, minimum
from dataflow.ops.quantize import fake_quant_with_min_max_vars
from dataflow.ops.reduce import reduce_max, reduce_min
from dataflow.ops.state import assign
from dataflow.ops.variable_scope import get_variable, variable_scope
from dataflow.train.moving_averages import assign_moving_average


def _limit(name: str, start: float) -> Any:
    return get_variable(
        name,
        [],
        initializer=Constant(start),
        trainable=False,
        collections=[GraphKeys.GLOBAL_VARIABLES],
    )


def limited(
    values: Tensor,
    name: str,
    is_training: bool,
    num_bits: int,
    *,
    init_min: float = -6.0,
    init_max: float = 6.0,
    decay: float | None = None,
    narrow_range: bool = False,
    symmetric: bool = False,
) -> Any:
    """``values`` rounded to ``num_bits`` bits between the variables ``min`` and ``max`` below ``name``.

    In training the variables follow the values: as their moving average with ``decay``, without one as the last
    limits seen. ``narrow_range`` leaves out the lowest number; ``symmetric`` limits are as far below 0 as above.
    """
    with variable_scope(None, default_name=name, values=[values]):
        low, high = _limit("min", init_min), _limit("max", init_max)
        if is_training:
            seen_low = reduce_min(values, name="BatchMin")
            seen_high = reduce_max(values, name="BatchMax")
            if symmetric:
                ratio = -1.0 if narrow_range else -((1 << num_bits) - 2) / (1 << num_bits)
                wanted = minimum(seen_low, seen_high / ratio), maximum(seen_high, seen_low * ratio)
            else:
                wanted = minimum(seen_low, 0.0), maximum(seen_high, 0.0)
            if decay is None:
                low = assign(low, wanted[0], name="AssignMinLast")
                high = assign(high, wanted[1], name="AssignMaxLast")
            else:
                low = assign_moving_average(low, wanted[0], decay, name="AssignMinEma")
                high = assign_moving_average(high, wanted[1], decay, name="AssignMaxEma")
        return fake_quant_with_min_max_vars(
            values, low, high, num_bits=num_bits, narrow_range=narrow_range
        )
