"""Optimizers after whose steps weights have a largest norm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow.contrib.opt import VariableClippingOptimizer


def clip_variables(optimizer: Any, variables: Sequence[Any], weight_clip: float) -> Any:
    """``optimizer``, after whose step the norm of each variable is at most ``weight_clip``.

    Raises `ValueError` for a negative one.
    """
    if weight_clip < 0:
        raise ValueError(
            f"`discriminator_weight_clip` must be positive. Instead, was {weight_clip}"
        )
    return VariableClippingOptimizer(
        optimizer,
        {variable: [] for variable in variables},
        weight_clip,
        use_locking=True,
        colocate_clip_ops_with_vars=True,
    )


def clip_discriminator_weights(optimizer: Any, model: Any, weight_clip: float) -> Any:
    """`clip_variables` of the variables of a model's discriminator."""
    return clip_variables(optimizer, model.discriminator_variables, weight_clip)
