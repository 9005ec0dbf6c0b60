"""Dropout: elements set to 0 at random, the others scaled up (Srivastava et al. 2014)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.casts import cast
from dataflow.ops.comparison import greater_equal_op
from dataflow.ops.ragged_dispatch import maps_ragged
from dataflow.ops.random import random_uniform
from dataflow.ops.renamed_arguments import renamed


@maps_ragged
def dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: TensorLike | None = None,
) -> Tensor:
    """x with a random part of its elements set to 0, the others divided by the rest's share.

    Give ``keep_prob`` (the share that stays) or ``rate = 1 - keep_prob``: a number or a scalar
    tensor. ``noise_shape`` broadcasts against x: along an axis of size 1 all or none stay.
    Raises `ValueError` for a rate outside [0, 1), a dtype that is not floating, or a rate that is a
    tensor of another dtype than x.
    """
    try:
        kept = 1.0 - keep_prob if keep_prob is not None else None
    except TypeError as e:
        raise ValueError(
            f"`keep_prob` must be a floating point number or Tensor. Received: {keep_prob!r}"
        ) from e
    rate = renamed("rate", rate, "keep_prob", kept)
    if rate is None:
        raise ValueError(f"`rate` must be provided. Received: rate={rate}")
    with op_scope(name, "dropout", [x]):
        x = convert_to_tensor(x, name="x")
        kind: DType = x.dtype.base_dtype
        if not kind.is_floating:
            raise ValueError(
                "`x.dtype` must be a floating point tensor as `x` will be scaled. "
                f"Received: x_dtype={kind!r}"
            )
        if isinstance(rate, (int, float, np.integer, np.floating)):
            rate = float(rate)
            if not 0 <= rate < 1:
                raise ValueError(
                    "`rate` must be a scalar tensor or a float in the range [0, 1). "
                    f"Received: rate={rate}"
                )
            if rate == 0:
                return x  # type: ignore[no-any-return]
        rate = convert_to_tensor(rate, dtype=kind, name="rate")
        if rate.dims not in (None, ()):
            raise ValueError(f"`rate` must be a scalar. Received: rate={rate}")
        shape = _noise_shape(x, noise_shape)
        draw = random_uniform(shape, seed=seed, dtype=kind)
        # Nodes and their order are TensorFlow 1.15's: what is printed is "dropout/mul_1:0".
        scale = 1.0 / (1.0 - rate)
        kept_elements = greater_equal_op(draw, rate)
        result: Tensor = x * scale * cast(kept_elements, kind)
        if x.dims is not None:
            result.set_shape(x.dims)
        return result


def _noise_shape(x: Tensor, noise_shape: Any) -> Any:
    """``noise_shape``, with ``None`` filled in from x."""
    if noise_shape is None:
        return array_ops.shape(x)
    if isinstance(noise_shape, (list, tuple)) and x.dims is not None:
        sizes = [
            own if size is None else size
            for size, own in zip(noise_shape, x.dims, strict=len(noise_shape) == len(x.dims))
        ]
        if None not in sizes and len(sizes) == len(noise_shape):
            return sizes
    return noise_shape
