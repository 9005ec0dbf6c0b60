"""Initializers of variables: Xavier's, and of a given variance."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops import initializers

__all__ = ["variance_scaling_initializer", "xavier_initializer", "xavier_initializer_conv2d"]


def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: DTypeLike = dtypes.float32
) -> Any:
    """Glorot and Bengio's initializer, uniform or normal."""
    return initializers.variance_scaling_initializer(
        scale=1.0,
        mode="fan_avg",
        distribution="uniform" if uniform else "truncated_normal",
        seed=seed,
        dtype=dtype,
    )


xavier_initializer_conv2d = xavier_initializer


def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: int | None = None,
    dtype: DTypeLike = dtypes.float32,
) -> Any:
    """Values of variance ``factor`` / fan; He's initializer by default."""
    modes = {"FAN_IN": "fan_in", "FAN_OUT": "fan_out", "FAN_AVG": "fan_avg"}
    if mode not in modes:
        raise TypeError(f"Unknown mode {mode} [FAN_IN, FAN_OUT, FAN_AVG]")
    return initializers.variance_scaling_initializer(
        scale=factor,
        mode=modes[mode],
        distribution="uniform" if uniform else "truncated_normal",
        seed=seed,
        dtype=dtype,
    )
