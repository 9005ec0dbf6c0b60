"""The mathematical functions of `tf.keras.backend`: elementwise, reductions, products, random numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import DTypeLike, ShapeLike, TensorLike
from dataflow.keras.backend_settings import backend_seed, floatx
from dataflow.ops import activation, array, elementary, math, random, reduce, tensor_products
from dataflow.ops.clip import clip_by_value
from dataflow.ops.comparison import greater
from dataflow.ops.sparse_dense import sparse_tensor_dense_matmul
from dataflow.ops.sparse_tensor import is_sparse

__all__ = [
    "abs",
    "all",
    "any",
    "argmax",
    "argmin",
    "batch_flatten",
    "binary_crossentropy",
    "cast",
    "cast_to_floatx",
    "categorical_crossentropy",
    "clip",
    "concatenate",
    "cos",
    "count_params",
    "dot",
    "dropout",
    "exp",
    "flatten",
    "gradients",
    "hard_sigmoid",
    "int_shape",
    "l2_normalize",
    "log",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "ndim",
    "one_hot",
    "permute_dimensions",
    "prod",
    "random_normal",
    "random_uniform",
    "relu",
    "round",
    "sigmoid",
    "sign",
    "sin",
    "sqrt",
    "square",
    "std",
    "sum",
    "tanh",
    "var",
]


def cast(x: Any, dtype: Any) -> Any:
    """``x`` as another dtype."""
    return math.cast(x, dtype)


def cast_to_floatx(x: Any) -> Any:
    """An array cast to `floatx`."""
    return np.asarray(x, floatx())


def _reduction(function: Callable[..., Any]) -> Any:
    def reduced(x: Any, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Any:
        x = x if is_sparse(x) else convert_to_tensor(x)
        if function is reduce.reduce_mean and x.dtype.base_dtype.name == "bool":
            x = math.cast(x, floatx())
        if function in (reduce.reduce_any, reduce.reduce_all):
            x = math.cast(x, "bool")
        return function(x, axis=axis, keepdims=keepdims)

    reduced.__doc__ = f"As `tf.{function.__name__}`."
    return reduced


mean = _reduction(reduce.reduce_mean)


sum = _reduction(reduce.reduce_sum)


prod = _reduction(reduce.reduce_prod)


max = _reduction(reduce.reduce_max)


min = _reduction(reduce.reduce_min)


any = _reduction(reduce.reduce_any)


all = _reduction(reduce.reduce_all)


def var(x: Any, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Any:
    """The variance."""
    centered = x - reduce.reduce_mean(x, axis=axis, keepdims=True)
    return reduce.reduce_mean(elementary.square(centered), axis=axis, keepdims=keepdims)


def std(x: Any, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Any:
    """The standard deviation."""
    return elementary.sqrt(var(x, axis, keepdims))


def argmax(x: Any, axis: int = -1) -> Any:
    """The index of the largest element along an axis."""
    return reduce.argmax(x, axis)


def argmin(x: Any, axis: int = -1) -> Any:
    """The index of the smallest element along an axis."""
    return reduce.argmin(x, axis)


def clip(x: Any, min_value: Any, max_value: Any) -> Any:
    """``x`` clipped to [min_value, max_value]."""
    return clip_by_value(x, min_value, max_value)


def dot(x: Any, y: Any) -> Any:
    """Product over the last axis of ``x`` and the last but one of ``y``."""
    if (ndim(x) or 0) > 2 or (ndim(y) or 0) > 2:
        x, y = convert_to_tensor(x), convert_to_tensor(y)
        rank = ndim(y) or 2
        return tensor_products.tensordot(
            x, y, [[(ndim(x) or 2) - 1], [rank - 2 if rank > 1 else 0]]
        )
    return sparse_tensor_dense_matmul(x, y) if is_sparse(x) else math.matmul(x, y)


def concatenate(tensors: Any, axis: int = -1) -> Any:
    """Tensors joined along ``axis``."""
    return array.concat(tensors, axis)


def flatten(x: Any) -> Any:
    """``x`` as a vector."""
    return array.reshape(x, [-1])


def batch_flatten(x: Any) -> Any:
    """``x`` as a matrix with a row for each example."""
    return array.reshape(x, [array.shape(x)[0], -1])


def permute_dimensions(x: Any, pattern: Any) -> Any:
    """The axes in another order."""
    return array.transpose(x, pattern)


def l2_normalize(x: Any, axis: int | Sequence[int] | None = None) -> Any:
    """``x`` divided by its Euclidean norm."""
    from dataflow.ops.moments import l2_normalize as normalized

    return normalized(x, axis)


def gradients(loss: Any, variables: Any) -> Any:
    """As `tf.gradients`."""
    from dataflow.autodiff.gradients import gradients as make

    return make(loss, variables)


def random_normal(shape: ShapeLike, mean: Any = 0.0, stddev: TensorLike = 1.0, dtype: DTypeLike | None = None, seed: int | None = None) -> Any:  # fmt: skip
    """Normally distributed random numbers."""
    return random.random_normal(shape, mean, stddev, dtype or floatx(), backend_seed(seed))


def random_uniform(shape: ShapeLike, minval: TensorLike = 0.0, maxval: TensorLike = 1.0, dtype: DTypeLike | None = None, seed: int | None = None) -> Any:  # fmt: skip
    """Uniformly distributed random numbers."""
    return random.random_uniform(shape, minval, maxval, dtype or floatx(), backend_seed(seed))


def dropout(x: Any, level: Any, noise_shape: Any = None, seed: int | None = None) -> Any:
    """Sets the fraction ``level`` of ``x`` to 0 and scales up the rest."""
    from dataflow.ops.dropout import dropout as drop

    return drop(x, rate=level, noise_shape=noise_shape, seed=backend_seed(seed))


def hard_sigmoid(x: Any) -> Any:
    """0.2 x + 0.5, cut to [0, 1]."""
    return clip_by_value(0.2 * x + 0.5, 0.0, 1.0)


def relu(x: Any, alpha: float = 0.0, max_value: Any = None, threshold: float = 0) -> Any:
    """x above ``threshold``, ``alpha (x - threshold)`` below, at most ``max_value``."""
    if threshold == 0 and max_value == 6 and not alpha:
        return activation.relu6(x)
    if threshold == 0:
        result = activation.leaky_relu(x, alpha) if alpha else activation.relu(x)
        return result if max_value is None else math.minimum(result, float(max_value))
    result = math.cast(greater(x, threshold), x.dtype.base_dtype) * x
    if max_value is not None:
        result = math.minimum(math.maximum(result, 0.0), float(max_value))
    return result - alpha * activation.relu(threshold - x) if alpha else result


def categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> Any:
    """Cross-entropy of each row; the last axis of both holds probabilities (or logits)."""
    from dataflow.keras.losses import cross_entropy

    return cross_entropy(target, output, from_logits, axis)


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Any:
    """Cross-entropy of each element."""
    from dataflow.keras.losses import binary_cross_entropy

    return binary_cross_entropy(target, output, from_logits)


def one_hot(indices: TensorLike, num_classes: int) -> Any:
    """One-hot rows of integer indices."""
    return array.one_hot(indices, num_classes)


abs = elementary.abs_


exp = elementary.exp


log = elementary.log


round = elementary.round_


sign = elementary.sign


sin = elementary.sin


cos = elementary.cos


sqrt = elementary.sqrt


square = elementary.square


maximum = math.maximum


minimum = math.minimum


sigmoid = elementary.sigmoid


tanh = elementary.tanh


def count_params(x: Any) -> int:
    """The number of elements."""
    return int(np.prod(x.shape.as_list()))


def int_shape(x: Any) -> tuple[int | None, ...] | None:
    """The static shape as a tuple."""
    return None if x.shape.dims is None else tuple(x.shape.as_list())


def ndim(x: Any) -> int | None:
    """The number of axes."""
    return x.shape.ndims  # type: ignore[no-any-return]
