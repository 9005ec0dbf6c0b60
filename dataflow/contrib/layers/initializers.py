"""Initializers of variables: Xavier's, and of a given variance."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops import initializers

__all__ = ["variance_scaling_initializer", "xavier_initializer", "xavier_initializer_conv2d"]


def _check_floating(dtype: DTypeLike) -> None:
    if not dtypes.as_dtype(dtype).is_floating:
        raise TypeError(
            f"Cannot create initializer for non-floating point type: got {dtypes.as_dtype(dtype).name}."
        )


def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: DTypeLike = dtypes.float32
) -> Any:
    """Glorot and Bengio's initializer, uniform or normal; `TypeError` for a dtype that is not floating."""
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


xavier_initializer_conv2d = xavier_initializer


def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: int | None = None,
    dtype: DTypeLike = dtypes.float32,
) -> Any:
    """Values of variance ``factor`` / fan; He's initializer by default.

    Normal values are cut at two standard deviations of sqrt(1.3 ``factor`` / fan), as in TensorFlow.

    Raises `TypeError` for an unknown mode, and for a dtype that is not floating.
    """
    modes = {"FAN_IN": "fan_in", "FAN_OUT": "fan_out", "FAN_AVG": "fan_avg"}
    if mode not in modes:
        raise TypeError(f"Unknown mode {mode} [FAN_IN, FAN_OUT, FAN_AVG]")
    _check_floating(dtype)
    # 1.3 is what contrib took for 1 / 0.8796... ** 2.
    scale = factor if uniform else 1.3 * factor * initializers.CUT_STDDEV**2
    return initializers.variance_scaling_initializer(
        scale=scale,
        mode=modes[mode],
        distribution="uniform" if uniform else "truncated_normal",
        seed=seed,
        dtype=dtype,
    )
