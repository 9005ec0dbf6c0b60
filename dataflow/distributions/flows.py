"""Normalizing flows of layers: masked autoregressive flow, and batch normalization as a bijector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow.distributions.bijector import Bijector
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.activation import relu_op
from dataflow.ops.clip import clip_by_value
from dataflow.ops.initializers import glorot_normal_initializer
from dataflow.ops.math import exp, log, reduce_sum, sqrt
from dataflow.ops.moments import moments
from dataflow.ops.template import make_template


class MaskedAutoregressiveFlow(Bijector):
    """Each element of y is that of x, scaled and shifted by what the elements of y before it say.

    ``y[i] = x[i] exp(log_scale[i]) + shift[i]`` for ``shift, log_scale = shift_and_log_scale_fn(y)``, whose
    i-th elements must depend on y[:i] alone, as those of `masked_autoregressive_default_template` do
    (Papamakarios, Pavlakou and Murray, "Masked Autoregressive Flow", 2017). `inverse` is one call of the
    function, `forward` one for each element, so their number must be known when the graph is built.
    """

    def __init__(
        self,
        shift_and_log_scale_fn: Callable[..., Any],
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        unroll_loop: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            name=name or "masked_autoregressive_flow",
        )
        self._function = shift_and_log_scale_fn

    def _forward(self, x: Any) -> Any:
        size = x.shape.as_list()[-1]
        if size is None:
            raise ValueError("MaskedAutoregressiveFlow.forward needs vectors of known size.")
        y = array.zeros_like(x)
        for _ in range(size):
            shift, log_scale = self._function(y)
            y = x if log_scale is None else x * exp(log_scale)
            y = y if shift is None else y + shift
        return y

    def _inverse(self, y: TensorLike) -> Any:
        shift, log_scale = self._function(y)
        x = y if shift is None else y - shift
        return x if log_scale is None else x * exp(-log_scale)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        _, log_scale = self._function(y)
        if log_scale is None:
            return convert_to_tensor(0.0, y.dtype)
        return -reduce_sum(log_scale, -1)


def autoregressive_mask(num_blocks: int, n_in: int, n_out: int, exclusive: bool) -> Any:
    """0 and 1, [n_in, n_out]: a block of outputs sees the blocks of inputs up to (or before) it."""
    d_in, d_out = n_in // num_blocks, n_out // num_blocks
    mask = np.zeros([n_in, n_out], np.float32)
    for block in range(num_blocks):
        first = (block + exclusive) * d_out
        mask[block * d_in : (block + 1) * d_in, first:] = 1
    return mask


def masked_dense(
    inputs: Any,
    units: int,
    num_blocks: int | None = None,
    exclusive: bool = False,
    kernel_initializer: Any = None,
    reuse: bool | None = None,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """A dense layer whose outputs, in ``num_blocks`` blocks, see the inputs' blocks up to their own.

    With ``exclusive`` they see those before it (Germain et al., "MADE", 2015). Raises
    `NotImplementedError` where the inputs' last axis is not known.
    """
    from dataflow.layers.core import Dense

    depth = inputs.shape.as_list()[-1]
    if depth is None:
        raise NotImplementedError("Rightmost dimension must be known prior to graph execution.")
    mask = autoregressive_mask(num_blocks or 1, depth, units, exclusive)
    initializer = kernel_initializer or glorot_normal_initializer()

    def masked(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return initializer(shape, dtype) * mask

    layer: Any = Dense(
        units,
        *args,
        kernel_initializer=masked,  # type: ignore[misc]
        kernel_constraint=lambda kernel: kernel * mask,
        name=name,
        dtype=inputs.dtype.base_dtype,
        _scope=name,
        _reuse=reuse,
        **kwargs,
    )
    return layer(inputs)


def masked_autoregressive_default_template(
    hidden_layers: Sequence[int],
    shift_only: bool = False,
    activation: Any = relu_op,
    log_scale_min_clip: float = -5.0,
    log_scale_max_clip: float = 3.0,
    log_scale_clip_gradient: bool = False,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """A ``shift_and_log_scale_fn`` for `MaskedAutoregressiveFlow`: masked dense layers of these sizes.

    ``log_scale`` is clipped; its gradient only with ``log_scale_clip_gradient``.
    """

    layer: Any = masked_dense

    def shift_and_log_scale(x: Any) -> tuple[Any, Any]:
        depth = x.shape.as_list()[-1]
        if depth is None:
            raise NotImplementedError("Rightmost dimension must be known prior to graph execution.")
        shape = array.shape(x)
        settings: Any = dict(kwargs, num_blocks=depth)
        for index, units in enumerate(hidden_layers):
            x = layer(x, units, *args, exclusive=index == 0, activation=activation, **settings)
        width = (1 if shift_only else 2) * depth
        x = layer(x, width, *args, activation=None, **settings)
        if shift_only:
            return array.reshape(x, shape), None
        both = array.reshape(x, array.concat([shape, [2]], 0))
        shift, log_scale = array.unstack(both, num=2, axis=-1)
        clipped = clip_by_value(log_scale, log_scale_min_clip, log_scale_max_clip)
        if not log_scale_clip_gradient:
            clipped = log_scale + array.stop_gradient(clipped - log_scale)
        return shift, clipped

    return make_template(name or "masked_autoregressive_default_template", shift_and_log_scale)


class BatchNormalization(Bijector):
    """Batch normalization as the inverse of a flow: `inverse` normalizes, `forward` undoes it.

    ``batchnorm_layer`` is a `tf.layers.BatchNormalization`; with ``training`` the inverse takes the
    batch's statistics, `forward` always those that were gathered. Run the layer's updates with the training
    step. Shapes must be known when the graph is built. Raises `ValueError` for another layer.
    """

    def __init__(
        self,
        batchnorm_layer: Any = None,
        training: bool = True,
        validate_args: bool = False,
        name: str = "batch_normalization",
    ) -> None:
        from dataflow.layers import normalization

        if batchnorm_layer is None:
            batchnorm_layer = normalization.BatchNormalization(
                gamma_constraint=lambda x: relu_op(x) + 1e-6
            )
        if not isinstance(batchnorm_layer, normalization.BatchNormalization):
            raise ValueError("batchnorm_layer must be an instance of BatchNormalization layer.")
        if batchnorm_layer.renorm:
            raise ValueError("BatchNorm Bijector does not support renormalization.")
        self.batchnorm = batchnorm_layer
        self._training = training
        axis = batchnorm_layer.axis
        super().__init__(
            forward_min_event_ndims=1 if isinstance(axis, int) else len(axis),
            validate_args=validate_args,
            name=name,
        )

    def _built(self, value: Any) -> list[int]:
        """The axes that statistics are of; makes the variables at the first call."""
        if not value.shape.is_fully_defined():
            raise ValueError("Input must have shape known at graph construction.")
        if not self.batchnorm.built:
            self.batchnorm.apply(value, training=False)
        axis = self.batchnorm.axis
        own = [axis] if isinstance(axis, int) else list(axis)
        return [
            i for i in range(value.shape.ndims) if i not in [a % value.shape.ndims for a in own]
        ]

    def _forward(self, x: Any) -> Any:
        axes = self._built(x)
        sizes = [1 if i in axes else n for i, n in enumerate(x.shape.as_list())]

        def along(variable: Any) -> Any:
            return array.reshape(variable, sizes)

        layer = self.batchnorm
        rescale = sqrt(along(layer.moving_variance) + layer.epsilon)
        if layer.scale:
            rescale = rescale / along(layer.gamma)
        y = x * rescale + along(layer.moving_mean)
        return y - along(layer.beta) * rescale if layer.center else y

    def _inverse(self, y: Any) -> Any:
        self._built(y)
        return self.batchnorm.apply(y, training=self._training)

    def _log_det(self, x: Any, y: Any) -> Any:
        axes = self._built(y if x is None else x)
        layer = self.batchnorm
        variance = layer.moving_variance
        if x is None and self._training:
            _, variance = moments(y, axes, keep_dims=True)
        half = 0.5 * reduce_sum(log(variance + layer.epsilon))
        return half - reduce_sum(log(layer.gamma)) if layer.scale else half
