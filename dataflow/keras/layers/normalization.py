"""Batch normalization."""

from __future__ import annotations

from typing import Any

from dataflow.keras.base_layer import Layer
from dataflow.keras.layers.core import weight_settings
from dataflow.layers import normalization


class BatchNormalization(Layer, normalization.BatchNormalization):
    """Brings each channel to mean 0 and variance 1, then scales by gamma and shifts by beta.

    `fit` moves the averages that `predict` uses; a frozen layer's averages stay.
    """

    supports_masking = True

    def __init__(
        self,
        axis: Any = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        moving_mean_initializer: Any = "zeros",
        moving_variance_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        settings = weight_settings(
            {
                "beta_initializer": beta_initializer,
                "gamma_initializer": gamma_initializer,
                "moving_mean_initializer": moving_mean_initializer,
                "moving_variance_initializer": moving_variance_initializer,
                "beta_regularizer": beta_regularizer,
                "gamma_regularizer": gamma_regularizer,
                "beta_constraint": beta_constraint,
                "gamma_constraint": gamma_constraint,
            }
        )
        super().__init__(
            axis=axis,
            momentum=momentum,
            epsilon=epsilon,
            center=center,
            scale=scale,
            **settings,
            **kwargs,
        )

    def call(self, inputs: Any, training: Any = None) -> Any:
        return normalization.BatchNormalization.call(self, inputs, training=training)
