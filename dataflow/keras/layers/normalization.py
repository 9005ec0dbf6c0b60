"""Normalization over batches, and over the values of an example."""

from __future__ import annotations

import numbers
from typing import Any

from dataflow.graph.eager import executing_eagerly
from dataflow.graph.tensor import Tensor
from dataflow.keras import backend as K
from dataflow.keras.base_layer import Layer
from dataflow.keras.layers.core import weight_settings
from dataflow.layers import normalization
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.elementary import rsqrt, square
from dataflow.ops.reduce import reduce_mean
from dataflow.ops.seeds import count_left_out
from dataflow.shapes import TensorShape, dimension_value


class BatchNormalization(Layer, normalization.BatchNormalization):
    """Brings each channel to mean 0 and variance 1, then scales by gamma and shifts by beta.

    `fit` moves the averages that `predict` uses; a frozen layer's averages stay. In programs of the package Keras
    the averages forget what they began with, as there: after the first batch they are that batch's.
    """

    _casts_weights = False
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
        renorm: bool = False,
        renorm_clipping: Any = None,
        renorm_momentum: float = 0.99,
        fused: Any = None,
        trainable: bool = True,
        virtual_batch_size: Any = None,
        adjustment: Any = None,
        name: str | None = None,
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
            renorm=renorm,
            renorm_clipping=renorm_clipping,
            renorm_momentum=renorm_momentum,
            fused=fused,
            trainable=trainable,
            virtual_batch_size=virtual_batch_size,
            adjustment=adjustment,
            name=name,
            **settings,
            **kwargs,
        )
        self._settle_fused()

    def _settle_fused(self) -> None:
        """Decides what the arguments say of `fused`; here `build` does."""

    def own_config(self) -> dict[str, Any]:
        """The arguments that tell of the layer: not how it computes, nor of a renormalization that there is not."""
        unsaid = {"fused", "virtual_batch_size", "adjustment"}
        if not self.renorm:
            unsaid |= {"renorm", "renorm_clipping", "renorm_momentum"}
        return {k: v for k, v in super().own_config().items() if k not in unsaid}

    def call(self, inputs: Any, training: Any = None) -> Any:
        if isinstance(training, Tensor) and not self.fused:
            count_left_out(2)
        self._inputs_now = inputs
        try:
            return normalization.BatchNormalization.call(self, inputs, training=training)
        finally:
            self._inputs_now = None  # a batch may be large

    def _move(self, variable: Any, value: Any, momentum: float, training: Any) -> Any:
        """For programs of the package Keras, its averages: without the bias of their start, variances of samples."""
        if not K.is_package_keras() or executing_eagerly():
            return super()._move(variable, value, momentum, training)
        if variable is self.moving_variance:
            value = value * self._sample_factor(self._inputs_now, value.dtype)
        return self._move_without_bias(variable, value, momentum, training)

    def _sample_factor(self, inputs: Any, dtype: Any) -> Any:
        """What makes the variance of a batch that of a sample, in the package Keras's way.

        The fused kernel has done it before; there the package corrects the variance once more, but for channels first.
        """
        if self.fused and self._axes != [3]:
            return 1.0
        size = cast(array.size(inputs), dtype)
        for axis in self._axes:
            size = size / float(dimension_value(inputs.shape[axis]))
        return size / (size - (1.0 + self.epsilon))


class LayerNormalization(Layer):
    """Brings each example to mean 0 and variance 1 over ``axis``, then scales and shifts.

    Ba, Kiros and Hinton 2016. ``gamma`` and ``beta`` have the sizes of ``axis``.
    """

    _casts_weights = False
    supports_masking = True

    def __init__(
        self,
        axis: Any = -1,
        epsilon: float = 0.001,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.axis = list(axis) if isinstance(axis, (list, tuple)) else [axis]
        if not all(isinstance(one, numbers.Integral) for one in self.axis):
            raise ValueError(
                "Expected an int or a list/tuple of ints for the argument 'axis', but received "
                f"instead: {axis}"
            )
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        self._settings = weight_settings(
            {
                "beta_initializer": beta_initializer,
                "gamma_initializer": gamma_initializer,
                "beta_regularizer": beta_regularizer,
                "gamma_regularizer": gamma_regularizer,
                "beta_constraint": beta_constraint,
                "gamma_constraint": gamma_constraint,
            }
        )

    def _weight(self, name: str, sizes: list[int]) -> Any:
        return self.add_weight(
            name,
            sizes,
            initializer=self._settings[name + "_initializer"],
            regularizer=self._settings[name + "_regularizer"],
            constraint=self._settings[name + "_constraint"],
        )

    def build(self, input_shape: Any) -> None:
        sizes = TensorShape(input_shape).as_list()
        for axis in self.axis:
            if not -len(sizes) <= axis < len(sizes):
                raise ValueError(f"Invalid axis: {axis}, for inputs of shape {input_shape}.")
        self._axes = sorted(axis % len(sizes) for axis in self.axis)
        if len(set(self._axes)) < len(self._axes):
            raise ValueError(f"Duplicate axis: {self.axis}, for inputs of shape {input_shape}.")
        if any(sizes[axis] is None for axis in self._axes):
            raise ValueError(f"Layer {self.name}: the sizes of axis {self.axis} must be known.")
        own = [sizes[axis] for axis in self._axes]
        self.gamma = self._weight("gamma", own) if self.scale else None
        self.beta = self._weight("beta", own) if self.center else None
        self._broadcast = [n if i in self._axes else 1 for i, n in enumerate(sizes)]
        self.built = True

    def call(self, inputs: Any) -> Any:
        mean = reduce_mean(inputs, axis=self._axes, keepdims=True)
        variance = reduce_mean(square(inputs - mean), axis=self._axes, keepdims=True)
        count_left_out(-3)
        outputs = (inputs - mean) * rsqrt(variance + self.epsilon)
        if self.gamma is not None:
            outputs = outputs * array.reshape(self.gamma, self._broadcast)
        if self.beta is not None:
            outputs = outputs + array.reshape(self.beta, self._broadcast)
        return outputs
