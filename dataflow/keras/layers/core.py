"""Inputs, dense layers, and layers that change only shapes or values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, ShapeLike, TensorLike
from dataflow.keras import activations, backend as K, constraints, initializers, regularizers
from dataflow.keras.backend_settings import op_seed
from dataflow.keras.base_layer import Layer
from dataflow.keras.call_nodes import Node
from dataflow.layers import core
from dataflow.layers.base import smart_cond
from dataflow.namespaces import also_from
from dataflow.ops import array, dropout as dropout_ops
from dataflow.ops.comparison import greater, not_equal
from dataflow.ops.math import cast
from dataflow.ops.reduce import reduce_any
from dataflow.ops.seeds import counted_as
from dataflow.ops.sparse_tensor import is_sparse
from dataflow.ops.variables import Variable
from dataflow.shapes import TensorShape, as_dimension


def weight_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Names in ``*_initializer``, ``*_regularizer``, ``*_constraint``, ``activation`` resolved."""
    getters = {
        "initializer": initializers.get,
        "regularizer": regularizers.get,
        "constraint": constraints.get,
        "activation": activations.get,
    }
    return {
        key: getters[key.rpartition("_")[2]](value) if key.rpartition("_")[2] in getters else value
        for key, value in settings.items()
    }


class InputLayer(Layer):
    """The entry of a model: a placeholder, or the tensor given as ``input_tensor``.

    With ``sparse`` a sparse placeholder, whose examples are SciPy matrices or SparseTensorValues.
    """

    def __init__(
        self,
        input_shape: Any = None,
        batch_size: int | None = None,
        dtype: Any = None,
        input_tensor: Any = None,
        sparse: bool = False,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        shape = kwargs.pop("batch_input_shape", None)
        if shape is None and input_shape is not None:
            inner = (input_shape,) if isinstance(input_shape, int) else tuple(input_shape)
            shape = (batch_size, *inner)
        if shape is None and input_tensor is None:
            raise ValueError("InputLayer: give input_shape=, such as (784,), without the batch.")
        name = name or f"input_{K.get_uid('input')}"
        kwargs.pop("trainable", None)
        super().__init__(dtype=dtype or K.floatx(), name=name, trainable=False)
        self.built = True
        self.is_placeholder = input_tensor is None
        if input_tensor is None:
            sizes = [as_dimension(s).value for s in shape]
            input_tensor = K.placeholder(sizes, dtype=self._dtype, sparse=sparse, name=name)
        elif isinstance(input_tensor, Variable):
            input_tensor = convert_to_tensor(input_tensor)
        self.sparse = is_sparse(input_tensor)
        self._batch_input_shape = tuple(input_tensor.shape.as_list())
        self._dtype = input_tensor.dtype.base_dtype
        Node(self, [], input_tensor, {})
        K.note_input(input_tensor.graph)

    def remember_call(self, inputs: Any, outputs: Any) -> None:
        """Notes the one call: what an input is given is what it returns."""
        super().remember_call(outputs, outputs)

    def get_config(self) -> dict[str, Any]:
        return {
            "batch_input_shape": list(self.given_input_shape or ()),
            "dtype": None if self._dtype is None else self._dtype.name,
            "sparse": self.sparse,
            "name": self.name,
        }


def Input(
    shape: ShapeLike | None = None,
    batch_size: int | None = None,
    name: str | None = None,
    dtype: DTypeLike | None = None,
    sparse: bool = False,
    tensor: TensorLike | None = None,
    ragged: bool = False,
    **kwargs: Any,
) -> Tensor:
    """The tensor that a functional model begins with; ``shape`` is without the batch.

    Raises `ValueError` for ``ragged=True``: such an input is no input of a model here.
    """
    if ragged:
        raise ValueError("Input: ragged=True is not supported; pad the rows, and mask the padding.")
    batch_shape = kwargs.pop("batch_shape", None)
    if shape is not None and batch_shape is not None:
        raise ValueError("Only provide the `shape` OR `batch_shape` argument to Input, not both.")
    if kwargs:
        raise ValueError(f"Input: unrecognized keyword arguments: {sorted(kwargs)}")
    if shape is None and batch_shape is None and tensor is None:
        raise ValueError("Please provide to Input either a `shape` or a `tensor` argument.")
    layer = InputLayer(
        input_shape=shape,
        batch_size=batch_size,
        dtype=dtype,
        input_tensor=tensor,
        sparse=sparse,
        name=name,
        **({} if batch_shape is None else {"batch_input_shape": batch_shape}),
    )
    return layer.output  # type: ignore[no-any-return]


class Dense(Layer, core.Dense):
    """``activation(inputs @ kernel + bias)``."""

    supports_masking = True

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        settings = weight_settings(
            {
                "activation": activation,
                "kernel_initializer": kernel_initializer,
                "bias_initializer": bias_initializer,
                "kernel_regularizer": kernel_regularizer,
                "bias_regularizer": bias_regularizer,
                "activity_regularizer": activity_regularizer,
                "kernel_constraint": kernel_constraint,
                "bias_constraint": bias_constraint,
            }
        )
        super().__init__(int(units), use_bias=use_bias, **settings, **kwargs)


class Activation(Layer):
    """A function by name."""

    supports_masking = True

    def __init__(self, activation: str | Callable[..., Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.activation = activations.get(activation)

    def call(self, inputs: Any) -> Any:
        return self.activation(inputs)


class Dropout(Layer):
    """Sets a part ``rate`` of the inputs to 0 while training, and scales the others up."""

    supports_masking = True

    def __init__(
        self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if K.is_package_keras():
            rate = min(1.0, max(0.0, rate))
        if not 0 <= rate <= 1:
            raise ValueError(f"Dropout: rate must be in [0, 1], got {rate}.")
        self.rate = rate
        self.noise_shape = noise_shape
        self.seed = seed

    def _noise_shape(self, inputs: Any) -> Any:
        if self.noise_shape is None:
            return None
        sizes = array.shape(inputs)
        return [sizes[i] if s is None else s for i, s in enumerate(self.noise_shape)]

    def call(self, inputs: Any, training: bool | Tensor | None = None) -> Any:
        if not self.rate:
            return inputs
        return smart_cond(
            training,
            lambda: dropout_ops.dropout(
                inputs,
                rate=self.rate,
                noise_shape=self._noise_shape(inputs),
                seed=op_seed(self.seed),
            ),
            lambda: array.identity(inputs),
        )


class Flatten(Layer, core.Flatten):
    """All axes but the batch as one, channels last, whatever ``data_format`` says that they are.

    ``data_format``: "channels_last" or "channels_first", by default `backend.image_data_format`.
    """

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = data_format or K.image_data_format()

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "data_format": self.data_format}


class Reshape(Layer):
    """Another shape for each example; one size may be -1."""

    def __init__(self, target_shape: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def call(self, inputs: Any) -> Any:
        inner = inputs.shape.as_list()[1:]
        target = list(self.target_shape)
        if None not in inner:
            total, known = int(np.prod(inner)), int(np.prod([t for t in target if t != -1]))
            if (-1 not in target and total != known) or (
                -1 in target and (known == 0 or total % known)
            ):
                raise ValueError(
                    f"Reshape {self.name!r}: total size of new array must be unchanged: an "
                    f"example has shape {inner} ({total} values), target_shape is {target}."
                )
            if -1 in target:
                target[target.index(-1)] = total // known
        outputs = array.reshape(inputs, [array.shape(inputs)[0], *target])
        outputs.set_shape([inputs.shape[0], *(None if t == -1 else t for t in target)])
        return outputs


class Permute(Layer):
    """The axes of an example in another order, counted from 1."""

    def __init__(self, dims: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dims = tuple(dims)

    def call(self, inputs: Any) -> Any:
        return array.transpose(inputs, [0, *self.dims])


class RepeatVector(Layer):
    """[batch, n] as [batch, times, n]."""

    def __init__(self, n: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.n = int(n)

    def call(self, inputs: Any) -> Any:
        return array.tile(array.expand_dims(inputs, 1), [1, self.n, 1])


class ActivityRegularization(Layer):
    """A penalty on the values that pass through."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **kwargs: Any) -> None:
        super().__init__(activity_regularizer=regularizers.L1L2(l1, l2), **kwargs)


class Masking(Layer):
    """Steps in which all values equal ``mask_value`` are skipped by the layers after it."""

    supports_masking = True

    def __init__(self, mask_value: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.mask_value = mask_value

    def call(self, inputs: Any) -> Any:
        kept = reduce_any(not_equal(inputs, self.mask_value), axis=-1, keepdims=True)
        return inputs * cast(kept, inputs.dtype.base_dtype)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        with counted_as(1):
            return reduce_any(not_equal(inputs, self.mask_value), axis=-1)


class LeakyReLU(Layer):
    """x where positive, else ``alpha x``."""

    def __init__(self, alpha: float = 0.3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = alpha

    def call(self, inputs: Any) -> Any:
        return K.relu(inputs, alpha=self.alpha)


class ReLU(Layer):
    """As `tf.keras.backend.relu`. Raises `ValueError` for a negative ``max_value`` or ``negative_slope``."""

    def __init__(
        self, max_value: Any = None, negative_slope: float = 0, threshold: float = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        for name, value in (("max_value", max_value), ("negative_slope", negative_slope)):
            if value is not None and value < 0:
                raise ValueError(f"{name} of Relu layer cannot be negative value: {value}")
        self.max_value, self.negative_slope, self.threshold = max_value, negative_slope, threshold

    def call(self, inputs: Any) -> Any:
        return K.relu(inputs, self.negative_slope, self.max_value, self.threshold)


class ELU(Layer):
    """x where positive, else ``alpha (exp(x) - 1)``."""

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = alpha

    def call(self, inputs: Any) -> Any:
        return activations.elu(inputs, self.alpha)


class PReLU(Layer):
    """x where positive, else a learnt slope times x (He et al. 2015)."""

    def __init__(
        self,
        alpha_initializer: Any = "zeros",
        alpha_regularizer: Any = None,
        alpha_constraint: Any = None,
        shared_axes: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.alpha_initializer = alpha_initializer
        self.alpha_regularizer = regularizers.get(alpha_regularizer)
        self.alpha_constraint = constraints.get(alpha_constraint)
        self.shared_axes = [shared_axes] if isinstance(shared_axes, int) else shared_axes

    def build(self, input_shape: Any) -> None:
        sizes = TensorShape(input_shape).as_list()[1:]
        for axis in self.shared_axes or ():
            sizes[axis - 1] = 1
        self.alpha = self.add_weight(
            "alpha",
            sizes,
            initializer=self.alpha_initializer,
            regularizer=self.alpha_regularizer,
            constraint=self.alpha_constraint,
        )
        self.built = True

    def call(self, inputs: Any) -> Any:
        return K.relu(inputs) - self.alpha * K.relu(-inputs)


class Softmax(Layer):
    """Probabilities over ``axis``."""

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Any:
        return activations.softmax(inputs, self.axis)


class ThresholdedReLU(Layer):
    """x where above ``theta``, else 0 (Konda et al. 2015)."""

    def __init__(self, theta: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.theta = theta

    def call(self, inputs: Any) -> Any:
        return inputs * cast(greater(inputs, self.theta), inputs.dtype.base_dtype)


__getattr__ = also_from(__name__, "dataflow.keras.layers")
