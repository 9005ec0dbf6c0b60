"""Checks of arguments that TensorFlow's ``distributions.util`` has."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.distributions.probabilities import logits_and_probs
from dataflow.dtypes import DType
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.assertions import (
    assert_equal,
    assert_greater_equal,
    assert_less_equal,
    assert_non_negative,
)
from dataflow.ops.casts import cast
from dataflow.ops.control_flow import no_op, with_dependencies
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.matrix_diag import matrix_transpose
from dataflow.ops.shape_assertions import assert_rank_at_least

__all__ = [
    "assert_integer_form",
    "assert_symmetric",
    "embed_check_categorical_event_shape",
    "embed_check_integer_casting_closed",
    "embed_check_nonnegative_integer_form",
    "get_logits_and_probs",
]

_INTEGERS = {
    dtypes.float16: dtypes.int16,
    dtypes.float32: dtypes.int32,
    dtypes.float64: dtypes.int64,
}


def assert_integer_form(
    x: TensorLike,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    int_dtype: DType | None = None,
    name: str = "assert_integer_form",
) -> Any:
    """An op that fails where a float is no whole number. Raises `TypeError` for a dtype without integers."""
    with name_scope(name):
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_integer:
            return no_op()
        if int_dtype is None and x.dtype.base_dtype not in _INTEGERS:
            raise TypeError(f"Unrecognized type {x.dtype.name}")
        whole = cast(cast(x, int_dtype or _INTEGERS[x.dtype.base_dtype]), x.dtype)
        text = message or f"{x} has non-integer components"
        return assert_equal(x, whole, data=data, summarize=summarize, message=text)


def assert_symmetric(matrix: Any) -> Any:
    """The matrix, checked as the graph runs to be its own transpose."""
    return with_dependencies([assert_equal(matrix, matrix_transpose(matrix))], matrix)


def embed_check_nonnegative_integer_form(
    x: TensorLike, name: str = "embed_check_nonnegative_integer_form"
) -> Any:
    """``x``, checked to hold whole numbers that are not negative."""
    with name_scope(name):
        x = convert_to_tensor(x, name="x")
        checks = [assert_non_negative(x, message=f"'{x}' must be non-negative.")]
        if not x.dtype.is_integer:
            text = f"'{x}' cannot contain fractional components."
            checks.append(assert_integer_form(x, message=text))
        return with_dependencies(checks, x)


def get_logits_and_probs(
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    multidimensional: bool = False,
    validate_args: bool = False,
    name: str = "get_logits_and_probs",
    dtype: Any = None,
) -> tuple[Any, Any]:
    """Both from the one that is given: see `logits_and_probs`; with ``validate_args`` classes are counted."""
    with name_scope(name):
        if validate_args and multidimensional and (probs is None) != (logits is None):
            if logits is not None:
                logits = embed_check_categorical_event_shape(logits)
            elif probs is not None:
                probs = embed_check_categorical_event_shape(probs)
        return logits_and_probs(logits, probs, multidimensional, validate_args, dtype)


def _largest(dtype: DType) -> int:
    """The largest n so that the dtype has all whole numbers up to n; `TypeError` for what has none."""
    if dtype.base_dtype == dtypes.bool_:
        return 1
    if dtype.is_floating:
        return int(2 ** (np.finfo(dtype.as_numpy_dtype).nmant + 1))
    if dtype.is_integer:
        return int(np.iinfo(dtype.as_numpy_dtype).max)
    raise TypeError(f"Unrecognized dtype: {dtype.name}")


def _smallest(dtype: DType) -> int:
    unsigned = dtype.base_dtype in (dtypes.bool_, dtypes.uint8, dtypes.uint16)
    return 0 if unsigned else -_largest(dtype)


def _is_whole(dtype: DType) -> bool:
    _largest(dtype)
    return bool(dtype.is_integer or dtype.base_dtype == dtypes.bool_)


def embed_check_categorical_event_shape(
    categorical_param: TensorLike, name: str = "embed_check_categorical_event_shape"
) -> Any:
    """The parameter [..., k], checked to have at least two classes, and no more than its dtype can count."""
    with name_scope(name):
        x = convert_to_tensor(categorical_param, name="categorical_param")
        dtype = x.dtype.base_dtype
        if not dtype.is_floating or dtype.base_dtype not in _INTEGERS:
            raise TypeError(f"Unable to validate size of unrecognized dtype ({dtype.name}).")
        rank = "A categorical-distribution parameter must have at least 1 dimension."
        few = "A categorical-distribution parameter must have at least 2 events."
        many = f"Number of classes exceeds `dtype` precision, i.e., {dtype.name} "
        if x.dims is not None and not x.dims:
            raise ValueError(rank)
        known = None if x.dims is None else x.dims[-1]
        if known is None:
            size = array.shape(x, name="x_shape")[-1]
            many += f"dtype cannot exceed {_largest(dtype)} shape."
            return with_dependencies(
                [
                    assert_rank_at_least(x, 1, message=rank),
                    assert_greater_equal(size, 2, message=few),
                    assert_less_equal(
                        size, np.int32(min(_largest(dtype), 2**31 - 1)), message=many
                    ),
                ],
                x,
            )
        if known < 2:
            raise ValueError(few)
        if known > _largest(dtype):
            raise ValueError(f"{many}implies shape ({known}) cannot exceed {_largest(dtype)}.")
        return x


def embed_check_integer_casting_closed(
    x: TensorLike,
    target_dtype: DType,
    assert_nonnegative: bool = True,
    name: str = "embed_check_casting_closed",
) -> Any:
    """``x``, checked to hold whole numbers that stay what they are as ``target_dtype`` and back."""
    with name_scope(name):
        x = convert_to_tensor(x, name="x")
        if not _is_whole(x.dtype) and not x.dtype.is_floating:
            raise TypeError(f"{x.dtype.name}.dtype must be floating- or integer-type.")
        if not _is_whole(target_dtype) and not target_dtype.is_floating:
            raise TypeError(
                f"target_dtype ({target_dtype.name}) must be floating- or integer-type."
            )
        if not _is_whole(x.dtype) and not _is_whole(target_dtype):
            raise TypeError(
                f"At least one of {x}.dtype ({x.dtype.name}) and target_dtype "
                f"({target_dtype.name}) must be integer-type."
            )
        checks = []
        if assert_nonnegative:
            checks.append(assert_non_negative(x, message="Elements must be non-negative."))
        if x.dtype.is_floating:
            text = f"Elements must be {target_dtype.name}-equivalent."
            checks.append(assert_integer_form(x, int_dtype=target_dtype, message=text))
        else:
            high, low = _largest(target_dtype), _smallest(target_dtype)
            if _largest(x.dtype) > high:
                text = f"Elements cannot exceed {high}."
                checks.append(assert_less_equal(x, high, message=text))
            if not assert_nonnegative and _smallest(x.dtype) < low:
                text = f"Elements cannot be smaller than {low}."
                checks.append(assert_greater_equal(x, low, message=text))
        return with_dependencies(checks, x) if checks else x
