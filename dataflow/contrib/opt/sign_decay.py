"""How much the signs count after some steps: decays for `AddSignOptimizer` and `PowerSignOptimizer`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dataflow import dtypes
from dataflow.graph.tensor import Tensor
from dataflow.ops.array import where, zeros_like
from dataflow.ops.math import cast, cos, floormod, greater_equal, maximum

if TYPE_CHECKING:
    from dataflow.ops.variables import Variable


def _share(global_step: Tensor | Variable | None, decay_steps: int) -> Any:
    if global_step is None:
        raise ValueError("global_step is required for the decay: pass it to apply_gradients.")
    return cast(global_step, dtypes.float32) / float(decay_steps)


def get_linear_decay_fn(decay_steps: int) -> Callable[[Any], Any]:
    """1 at first, 0 after ``decay_steps``, on a line."""
    return lambda global_step: maximum(1.0 - _share(global_step, decay_steps), 0.0)


def get_cosine_decay_fn(
    decay_steps: int, num_periods: float = 0.5, zero_after: float | None = None
) -> Callable[[Any], Any]:
    """``(1 + cos(2 pi num_periods t / decay_steps)) / 2``, and 0 after ``zero_after`` periods."""

    def decay(global_step: Tensor | Variable) -> Any:
        periods = num_periods * _share(global_step, decay_steps)
        decayed = 0.5 * (1.0 + cos(2.0 * math.pi * periods))
        if zero_after is None:
            return decayed
        return where(greater_equal(periods, zero_after), zeros_like(decayed), decayed)

    return decay


def get_restart_decay_fn(
    decay_steps: int, num_periods: int = 1, zero_after: float | None = None
) -> Callable[[Any], Any]:
    """``(1 + cos(pi s)) / 2``, with s from 0 to 1 in each of ``num_periods`` periods of ``decay_steps``."""

    def decay(global_step: Tensor | Variable) -> Any:
        periods = num_periods * _share(global_step, decay_steps)
        decayed = 0.5 * (1.0 + cos(math.pi * floormod(periods, 1.0)))
        if zero_after is None:
            return decayed
        return where(greater_equal(periods, zero_after), zeros_like(decayed), decayed)

    return decay
