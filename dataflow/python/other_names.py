"""Functions under the names that TensorFlow's private modules have for them."""

from __future__ import annotations

from math import gcd as _gcd
from typing import Any

from dataflow import dtypes
from dataflow.dtypes import DType
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.casts import cast
from dataflow.ops.check_numerics import verify_tensor_all_finite
from dataflow.ops.initializers import Identity
from dataflow.ops.logging_ops import print_ as print_v2
from dataflow.ops.matrix_functions import matrix_exponential
from dataflow.ops.sampled_losses import sampled_logits
from dataflow.ops.sources import constant as constant_v1
from dataflow.ops.tensor_values import constant_value
from dataflow.ops.weights import assert_broadcastable

__all__ = [
    "assert_broadcastable",
    "constant_v1",
    "gcd",
    "identity_initializer",
    "matrix_exponential",
    "print_v2",
    "verify_tensor_all_finite_v2",
]

identity_initializer = Identity
#: dtype of real numbers -> that of complex ones of their size.
_COMPLEX = {dtypes.float32: dtypes.complex64, dtypes.float64: dtypes.complex128}


def _to_complex(x: TensorLike) -> Tensor:
    """The numbers as complex ones of their size."""
    x = convert_to_tensor(x)
    own: DType = x.dtype.base_dtype
    return cast(x, _COMPLEX.get(own, dtypes.complex64)) if not own.is_complex else x


def verify_tensor_all_finite_v2(x: TensorLike, message: str, name: str | None = None) -> Tensor:
    """The tensor, available only after it was checked for NaN and infinity."""
    return verify_tensor_all_finite(x, message, name)


def _compute_sampled_logits(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    subtract_log_q: bool = True,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str | None = None,
    seed: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Logits [batch, num_true + num_sampled] of the true classes and of drawn ones, and their labels."""
    return sampled_logits(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        subtract_log_q,
        remove_accidental_hits,
        partition_strategy,
        name or "compute_sampled_logits",
        seed,
    )


def gcd(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """The greatest common divisor of two whole numbers, scalars; others raise `ValueError`."""
    from dataflow.ops.graph_functions import name_scope
    from dataflow.ops.while_loop import while_loop

    with name_scope(name or "gcd"):
        a, b = convert_to_tensor(a), convert_to_tensor(b)
        for label, value in (("a", a), ("b", b)):
            value.get_shape().assert_has_rank(0)
            if not value.dtype.is_integer:
                raise ValueError(f"{label} must be an integer type. Got: {value.dtype}")
        first, second = constant_value(a), constant_value(b)
        if first is not None and second is not None:
            return convert_to_tensor(_gcd(int(first), int(second)), dtype=a.dtype)
        return while_loop(lambda _, y: y > 0, lambda x, y: [y, x % y], [a, b], back_prop=False)[0]  # type: ignore[no-any-return]
