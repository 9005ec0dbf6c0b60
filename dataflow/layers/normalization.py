"""Batch normalization (Ioffe and Szegedy 2015)."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.default_stacks import default_graph
from dataflow.layers.base import Layer, smart_cond
from dataflow.ops import array, normalization as normalization_ops, state
from dataflow.ops.initializers import ones_initializer, zeros_initializer
from dataflow.ops.sources import constant
from dataflow.shapes import TensorShape


class BatchNormalization(Layer):
    """Brings each channel to mean 0 and variance 1, then scales by gamma and shifts by beta.

    While training, the batch's own statistics are used, and the moving averages are updated by ops
    in the UPDATE_OPS collection: run them with the training step. Otherwise the moving averages are
    used.
    """

    def __init__(
        self,
        axis: Any = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = zeros_initializer,
        gamma_initializer: Any = ones_initializer,
        moving_mean_initializer: Any = zeros_initializer,
        moving_variance_initializer: Any = ones_initializer,
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
        super().__init__(trainable=trainable, name=name, **kwargs)
        if renorm or virtual_batch_size is not None or adjustment is not None:
            raise NotImplementedError(
                "batch_normalization: renorm, virtual_batch_size and adjustment are not supported."
            )
        self.axis = axis
        self.momentum = momentum
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        self.beta_initializer = beta_initializer
        self.gamma_initializer = gamma_initializer
        self.moving_mean_initializer = moving_mean_initializer
        self.moving_variance_initializer = moving_variance_initializer
        self.beta_regularizer = beta_regularizer
        self.gamma_regularizer = gamma_regularizer
        self.beta_constraint = beta_constraint
        self.gamma_constraint = gamma_constraint

    def build(self, input_shape: Any) -> None:
        shape = TensorShape(input_shape)
        if shape.ndims is None:
            raise ValueError("Input has undefined rank.")
        axes = list(self.axis) if isinstance(self.axis, (list, tuple)) else [self.axis]
        if len(axes) != 1:
            raise NotImplementedError("batch_normalization over several axes is not supported.")
        self._axis = axes[0] % shape.ndims
        size = shape[self._axis].value
        if size is None:
            raise ValueError(
                f"Input has undefined `axis` dimension. Received input with shape {shape}."
            )
        self.gamma = self.beta = None
        dtype = self._dtype if self._dtype is not dtypes.float16 else dtypes.float32
        if self.scale:
            self.gamma = self.add_variable(
                "gamma",
                [size],
                dtype,
                self.gamma_initializer,
                self.gamma_regularizer,
                constraint=self.gamma_constraint,
            )
        if self.center:
            self.beta = self.add_variable(
                "beta",
                [size],
                dtype,
                self.beta_initializer,
                self.beta_regularizer,
                constraint=self.beta_constraint,
            )
        self.moving_mean = self.add_variable(
            "moving_mean", [size], dtype, self.moving_mean_initializer, trainable=False
        )
        self.moving_variance = self.add_variable(
            "moving_variance", [size], dtype, self.moving_variance_initializer, trainable=False
        )
        self.built = True

    def call(self, inputs: Any, training: Any = False) -> Any:
        rank = inputs.shape.ndims
        if rank == 4 and self._axis in (1, 3) and inputs.dtype.base_dtype is dtypes.float32:
            return self._fused(inputs, training)
        reduction = [i for i in range(rank) if i != self._axis]
        is_last = self._axis == rank - 1
        broadcast = [1] * rank
        broadcast[self._axis] = -1

        def spread(v: Any) -> Any:
            if v is None or is_last:
                return v
            return array.reshape(v, broadcast)

        mean, variance = smart_cond(
            training,
            lambda: normalization_ops.moments(inputs, reduction),
            lambda: (array.identity(self.moving_mean), array.identity(self.moving_variance)),
        )
        self._update(mean, variance, training)
        outputs = normalization_ops.batch_normalization(
            inputs,
            spread(mean),
            spread(variance),
            spread(self.beta),
            spread(self.gamma),
            self.epsilon,
        )
        outputs.set_shape(inputs.shape)
        return outputs

    def _fused(self, inputs: Any, training: Any) -> Any:
        layout = "NHWC" if self._axis == 3 else "NCHW"
        ones = self.gamma
        if ones is None:
            ones = array.ones([inputs.shape[self._axis].value], dtypes.float32)
        zeros = self.beta
        if zeros is None:
            zeros = array.zeros([inputs.shape[self._axis].value], dtypes.float32)

        def train() -> Any:
            return normalization_ops.fused_batch_norm(
                inputs, ones, zeros, epsilon=self.epsilon, data_format=layout
            )

        def infer() -> Any:
            return normalization_ops.fused_batch_norm(
                inputs,
                ones,
                zeros,
                mean=self.moving_mean,
                variance=self.moving_variance,
                epsilon=self.epsilon,
                data_format=layout,
                is_training=False,
            )

        outputs, mean, variance = smart_cond(training, train, infer)
        self._update(mean, variance, training)
        return outputs

    def _update(self, mean: Any, variance: Any, training: Any) -> None:
        """Adds the ops that move the averages, unless this is known to be no training."""
        if isinstance(training, (bool, int)) and not training:
            return
        graph = default_graph()
        for variable, value in ((self.moving_mean, mean), (self.moving_variance, variance)):
            with graph.name_scope("AssignMovingAvg"), graph.colocate_with(variable):
                decay = smart_cond(
                    training,
                    lambda: constant(1.0 - self.momentum, variable.dtype.base_dtype),  # noqa: B023
                    lambda: constant(0.0, variable.dtype.base_dtype),  # noqa: B023
                )
                change = (variable.value() - value) * decay
                self.add_update(state.assign_sub(variable, change))


def batch_normalization(
    inputs: Any,
    axis: Any = -1,
    momentum: float = 0.99,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    beta_initializer: Any = zeros_initializer,
    gamma_initializer: Any = ones_initializer,
    moving_mean_initializer: Any = zeros_initializer,
    moving_variance_initializer: Any = ones_initializer,
    beta_regularizer: Any = None,
    gamma_regularizer: Any = None,
    beta_constraint: Any = None,
    gamma_constraint: Any = None,
    training: Any = False,
    trainable: bool = True,
    name: str | None = None,
    reuse: Any = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_momentum: float = 0.99,
    fused: Any = None,
    virtual_batch_size: Any = None,
    adjustment: Any = None,
) -> Any:
    """A `BatchNormalization` layer, applied."""
    layer = BatchNormalization(
        axis,
        momentum,
        epsilon,
        center,
        scale,
        beta_initializer,
        gamma_initializer,
        moving_mean_initializer,
        moving_variance_initializer,
        beta_regularizer,
        gamma_regularizer,
        beta_constraint,
        gamma_constraint,
        renorm,
        renorm_clipping,
        renorm_momentum,
        fused,
        trainable,
        virtual_batch_size,
        adjustment,
        name,
        _scope=name,
        _reuse=reuse,
    )
    return layer(inputs, training=training)
