"""``tfp.math``, as far as it is here: numerically careful functions of tensors."""

from __future__ import annotations

from typing import Any

from dataflow.autodiff.gradients import gradients
from dataflow.contrib.distributions import (
    fill_triangular as fill_triangular,
    fill_triangular_inverse as fill_triangular_inverse,
    reduce_weighted_logsumexp as reduce_weighted_logsumexp,
    softplus_inverse as softplus_inverse,
)
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.identity import stop_gradient
from dataflow.ops.math import abs_, cast, exp, log, log1p, maximum, minimum, sign
from dataflow.ops.reduce import reduce_logsumexp


def clip_by_value_preserve_gradient(
    t: TensorLike,
    clip_value_min: TensorLike,
    clip_value_max: TensorLike,
    name: str | None = None,
) -> Tensor:
    """``t`` held between both values, with the gradient of ``t`` itself, also where it was held."""
    with name_scope(name, "clip_by_value_preserve_gradient"):
        tensor = convert_to_tensor(t, name="t")
        clipped = minimum(maximum(tensor, clip_value_min), clip_value_max)
        return tensor + stop_gradient(clipped - tensor)  # type: ignore[no-any-return]


def log_add_exp(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """``log(exp(x) + exp(y))`` without overflow; ``x`` and ``y`` broadcast."""
    with name_scope(name, "log_add_exp"):
        x, y = convert_to_tensor(x, name="x"), convert_to_tensor(y, name="y")
        return maximum(x, y) + log1p(exp(-abs_(x - y)))  # type: ignore[no-any-return]


def reduce_logmeanexp(
    input_tensor: TensorLike, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """``log(mean(exp(input_tensor)))`` along ``axis`` (all without it), without overflow."""
    with name_scope(name, "reduce_logmeanexp"):
        tensor = convert_to_tensor(input_tensor)
        total = reduce_logsumexp(tensor, axis, keepdims)
        terms = array.size(tensor) / array.size(total)
        return total - log(cast(terms, tensor.dtype))  # type: ignore[no-any-return]


def soft_threshold(x: TensorLike, threshold: TensorLike, name: str | None = None) -> Tensor:
    """``sign(x) max(|x| - threshold, 0)``, the proximal operator of an L1 penalty."""
    with name_scope(name, "soft_threshold"):
        tensor = convert_to_tensor(x, name="x")
        return sign(tensor) * maximum(abs_(tensor) - threshold, 0.0)  # type: ignore[no-any-return]


def value_and_gradient(
    f: Any,
    xs: Any,
    output_gradients: Any = None,
    use_gradient_tape: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """``f(*xs)`` and its gradient with respect to each of ``xs`` (a tensor, or a list of tensors)."""
    with name_scope(name, "value_and_gradient"):
        several = isinstance(xs, (list, tuple))
        inputs = [convert_to_tensor(x, name="x") for x in (xs if several else [xs])]
        value = f(*inputs)
        grads = gradients(value, inputs, grad_ys=output_gradients)
        return value, grads if several else grads[0]
