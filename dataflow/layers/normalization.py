"""Batch normalization (Ioffe and Szegedy 2015)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import InitializerLike, TensorLike
from dataflow.layers.base import Layer, smart_cond
from dataflow.ops import array, normalization as normalization_ops, state
from dataflow.ops.arithmetic import maximum, minimum
from dataflow.ops.casts import cast
from dataflow.ops.elementary import sqrt
from dataflow.ops.initializers import ones_initializer, zeros_initializer
from dataflow.ops.moments import moments
from dataflow.ops.reduce import reduce_mean
from dataflow.ops.seeds import count_left_out, count_left_out_of_gradient
from dataflow.ops.sources import constant
from dataflow.shapes import TensorShape, dimension_value
from dataflow.train.moving_averages import assign_moving_average


class BatchNormalization(Layer):
    """Brings each channel to mean 0 and variance 1, then scales by gamma and shifts by beta.

    While training, the batch's own statistics are used, and the moving averages are updated by ops
    in the UPDATE_OPS collection: run them with the training step. Otherwise the moving averages are
    used. The moving variance is that of a sample (divided by n - 1) where the fused kernel computes
    it: for 4 dimensions with the channels in axis 1 or 3, unless ``fused=False``.

    With several axes each combination has its own statistics. ``renorm`` corrects those of a batch
    by what moves slowly (Ioffe 2017), within ``renorm_clipping``. With ``virtual_batch_size`` parts
    of the batch are normalized alone; ``adjustment(shape)`` gives a scale and an offset that are
    applied in training only.
    """

    _beta_first = False  # whether beta is made before gamma
    #: What ``fused=None`` means; None is decided by `build`.
    fused_by_default: bool | None = True

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
        axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
        if not all(isinstance(a, (int, np.integer)) for a in axes):
            raise TypeError(
                f"axis must be int or list, got {axis!r} of type {type(axis).__name__}."
            )
        unknown = set(renorm_clipping or {}) - {"rmin", "rmax", "dmax"}
        if unknown:
            raise ValueError(f"renorm_clipping has the keys rmin, rmax and dmax; got {unknown}.")
        if virtual_batch_size is not None and (renorm or adjustment is not None):
            refused = "renorm" if renorm else "adjustment"
            raise ValueError(f"virtual_batch_size and {refused} cannot be used together.")
        self.renorm = renorm
        self.renorm_clipping = renorm_clipping or {}
        self.renorm_momentum = renorm_momentum
        self.fused = self.fused_by_default if fused is None else fused
        self.virtual_batch_size = virtual_batch_size
        self.adjustment = adjustment
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
        rank = shape.ndims
        axes = list(self.axis) if isinstance(self.axis, (list, tuple)) else [self.axis]
        if not all(-rank <= a < rank for a in axes):
            raise ValueError(
                f"Invalid axis {axes} for inputs of rank {rank}: -{rank} to {rank - 1}."
            )
        self._axes = [a % rank for a in axes]
        if len(set(self._axes)) != len(axes):
            raise ValueError(f"Duplicate axis: {axes}")
        sizes = {a: dimension_value(shape[a]) for a in self._axes}
        if None in sizes.values():
            raise ValueError(
                f"Input has undefined `axis` dimension. Received input with shape {shape}."
            )
        self.gamma = self.beta = None
        self.input_spec = None
        self.fused = (
            bool(self.fused)
            and rank == 4
            and self._axes in ([1], [3])
            and not self.renorm
            and self.virtual_batch_size is None
            and self.adjustment is None
        )
        sizes_of_one = list(sizes.values())
        if len(self._axes) > 1 or self.virtual_batch_size is not None:
            sizes_of_one = [sizes.get(i, 1) for i in range(rank)]
        if self.virtual_batch_size is not None:  # batches are cut in two dimensions
            sizes_of_one.insert(1, 1)
            self._axes = [a + 1 for a in self._axes]
        dtype = self._dtype if self._dtype is not dtypes.float16 else dtypes.float32

        def parameter(name: str, initializer: InitializerLike, *args: Any, **kwargs: Any) -> Any:
            return self.add_variable(name, sizes_of_one, dtype, initializer, *args, **kwargs)

        gamma = (self.scale, self.gamma_initializer, self.gamma_regularizer, self.gamma_constraint)
        beta = (self.center, self.beta_initializer, self.beta_regularizer, self.beta_constraint)
        trained = [("gamma", *gamma), ("beta", *beta)]
        for own, wanted, initial, penalty, limit in trained[:: -1 if self._beta_first else 1]:
            if wanted:
                setattr(self, own, parameter(own, initial, penalty, constraint=limit))
        self._set_scope(None)
        partitioner = self._scope.partitioner
        self._scope.set_partitioner(None)  # the averages stay whole, as in TensorFlow
        try:
            self._make_averages(parameter)
        finally:
            self._scope.set_partitioner(partitioner)
        self.built = True

    def _make_averages(self, parameter: Any) -> None:
        def stddev(*args: Any, **kwargs: Any) -> Any:
            made = self.moving_variance_initializer
            made = made() if isinstance(made, type) else made
            return sqrt(made(*args, **kwargs))

        self.moving_mean = parameter("moving_mean", self.moving_mean_initializer, trainable=False)
        self.moving_variance = parameter(
            "moving_variance", self.moving_variance_initializer, trainable=False
        )
        if self.renorm:
            self.moving_stddev = parameter("moving_stddev", stddev, trainable=False)
            self.renorm_mean = parameter("renorm_mean", zeros_initializer, trainable=False)
            self.renorm_stddev = parameter("renorm_stddev", stddev, trainable=False)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the inputs."""
        return TensorShape(input_shape)

    def call(self, inputs: Any, training: bool | Tensor = False) -> Any:
        given = inputs
        if self.fused and inputs.dtype.base_dtype in (dtypes.float16, dtypes.float32):
            outputs = self._fused(inputs, training)
            outputs.set_shape(given.shape)
            return outputs
        if given.dtype.base_dtype is dtypes.float16:  # statistics are kept in float32
            inputs = cast(inputs, dtypes.float32)
        if self.virtual_batch_size is not None:
            sizes = array.shape(inputs)
            inputs = array.reshape(
                inputs, array.concat([[self.virtual_batch_size, -1], sizes[1:]], 0)
            )
            inputs.set_shape([self.virtual_batch_size, None, *given.shape.as_list()[1:]])
        outputs = self._composed(inputs, training)
        if self.virtual_batch_size is not None:
            outputs = array.reshape(outputs, array.shape(given))
        outputs = cast(outputs, given.dtype.base_dtype)
        outputs.set_shape(given.shape)
        return outputs

    def _composed(self, inputs: Any, training: bool | Tensor) -> Any:
        rank = inputs.shape.ndims
        virtual = self.virtual_batch_size is not None
        reduction = [i for i in range(rank) if i not in self._axes]
        if virtual:
            reduction.remove(1)
        keep = virtual or len(self._axes) > 1
        broadcast = [1] * rank
        broadcast[self._axes[0]] = -1

        def spread(v: Any) -> Any:
            if v is None or keep or self._axes == [rank - 1]:
                return v
            return array.reshape(v, broadcast)

        scale, offset = spread(self.gamma), spread(self.beta)
        if self.adjustment is not None:
            scale, offset = self._adjusted(array.shape(inputs), training, scale, offset)
        if isinstance(training, Tensor):
            count_left_out(9)
        elif _is_never(training):
            count_left_out(-2)  # the averages as they are
        if self.renorm and training is True:
            count_left_out(4)
        mean, variance = smart_cond(
            training,
            lambda: self._moments(inputs, reduction, keep),
            lambda: (array.identity(self.moving_mean), array.identity(self.moving_variance)),
        )
        if isinstance(training, Tensor):  # each has a switch of its own there
            count_left_out_of_gradient(variance, (0, 5))
        if self.renorm:
            r, d = self._correction(mean, variance, training)
            scale, offset = _then(spread(r), spread(d), scale, offset)
        if virtual:
            self._update(
                reduce_mean(mean, 1, keepdims=True),
                reduce_mean(variance, 1, keepdims=True),
                training,
            )
        else:
            self._update(mean, variance, training)
        return normalization_ops.batch_normalization(
            inputs, spread(mean), spread(variance), offset, scale, self.epsilon
        )

    def _moments(self, inputs: Any, axes: list[int], keep: bool) -> tuple[Any, Any]:
        """Mean and variance of a batch, which a subclass may weigh."""
        return moments(inputs, axes, keep_dims=keep)

    def _adjusted(
        self, sizes: Any, training: bool | Tensor, scale: TensorLike, offset: TensorLike
    ) -> Any:
        """Scale and offset with the adjustment before them, which is made in training only."""
        adjusted = [convert_to_tensor(t) for t in self.adjustment(sizes)]
        first, second = smart_cond(
            training,
            lambda: tuple(array.identity(t) for t in adjusted),
            lambda: (array.ones_like(adjusted[0]), array.zeros_like(adjusted[1])),
        )
        return _then(first, second, scale, offset)

    def _correction(
        self, mean: TensorLike, variance: Any, training: bool | Tensor
    ) -> tuple[Any, Any]:
        """r and d of batch renormalization (Ioffe 2017), which are held constant in gradients.

        The averages that they are relative to move afterwards.
        """
        graph = default_graph()
        stddev = sqrt(variance + self.epsilon)
        r = stddev / self.renorm_stddev
        d = (mean - self.renorm_mean) / self.renorm_stddev
        if not _is_never(training):
            with graph.control_dependencies([r, d]):
                for variable, value in ((self.renorm_mean, mean), (self.renorm_stddev, stddev)):
                    self._move(variable, array.identity(value), self.renorm_momentum, training)
        limits = self.renorm_clipping
        if limits.get("rmin") is not None:
            r = maximum(r, cast(limits["rmin"], r.dtype))
        if limits.get("rmax") is not None:
            r = minimum(r, cast(limits["rmax"], r.dtype))
        if limits.get("dmax") is not None:
            most = cast(limits["dmax"], d.dtype)
            d = minimum(maximum(d, -most), most)
        r, d = smart_cond(
            training,
            lambda: (array.identity(r), array.identity(d)),
            lambda: (array.ones_like(r), array.zeros_like(d)),
        )
        return array.stop_gradient(r), array.stop_gradient(d)

    def _fused(self, inputs: Any, training: bool | Tensor) -> Any:
        layout = "NHWC" if self._axes == [3] else "NCHW"
        ones = self.gamma
        if ones is None:
            ones = array.ones([dimension_value(inputs.shape[self._axes[0]])], dtypes.float32)
        zeros = self.beta
        if zeros is None:
            zeros = array.zeros([dimension_value(inputs.shape[self._axes[0]])], dtypes.float32)

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
        if isinstance(training, Tensor):
            count_left_out(-3)
        else:
            count_left_out(1 if _is_never(training) else 3)
        return outputs

    def _update(self, mean: TensorLike, variance: Any, training: Any) -> None:
        """Adds the ops that move the averages, unless this is known to be no training."""
        if _is_never(training):
            return
        self._move(self.moving_mean, mean, self.momentum, training)
        if not self.renorm:
            self._move(self.moving_variance, variance, self.momentum, training)
            return
        moved = self._move(
            self.moving_stddev, sqrt(variance + self.epsilon), self.momentum, training
        )
        square = moved * moved - self.epsilon
        self.add_update(state.assign(self.moving_variance, maximum(square, 0.0)))

    def _move(
        self, variable: Any, value: TensorLike, momentum: float, training: bool | Tensor
    ) -> Any:
        """Moves an average towards ``value`` in training; an update of the layer."""
        graph = default_graph()
        dtype = variable.dtype.base_dtype
        with graph.name_scope("AssignMovingAvg") as scope, graph.colocate_with(variable):
            decay = smart_cond(
                training,
                lambda: constant(1.0 - momentum, dtype, name="decay"),
                lambda: constant(0.0, dtype),
            )
            change = (variable.value() - value) * decay
            moved = state.assign_sub(variable, change, name=scope)
            self.add_update(moved)
            return moved

    def _move_without_bias(
        self, variable: Any, value: TensorLike, momentum: float, training: bool | Tensor
    ) -> Any:
        """As `_move`, corrected for what the average began with."""
        moved = smart_cond(
            training,
            lambda: assign_moving_average(variable, value, momentum, zero_debias=True),
            lambda: array.identity(variable),
        )
        self.add_update(moved)
        return moved


def _is_never(training: Any) -> bool:
    return isinstance(training, (bool, int)) and not training


def _then(
    scale: TensorLike, offset: TensorLike, then_scale: Any, then_offset: Any
) -> tuple[Any, Any]:
    """Scale and offset of ``x * scale + offset`` followed by another such step."""
    if then_scale is not None:
        scale, offset = scale * then_scale, offset * then_scale
    return scale, offset if then_offset is None else offset + then_offset


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
