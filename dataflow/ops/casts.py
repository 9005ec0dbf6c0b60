"""Casts: the same numbers with another element type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import dtypes
from dataflow.dtypes import DType, as_dtype
from dataflow.errors import CastError
from dataflow.graph.conversion import convert_to_tensor, internal_convert
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, get_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops.indexed_slices import IndexedSlices, takes_slices
from dataflow.ops.ragged_dispatch import takes_ragged
from dataflow.shapes import Dims


@define_op("Cast", "x: SrcT -> y: DstT", shape_like=0, inline_safe=True)
def cast_op(x: Tensor, *, DstT: DType, Truncate: bool = False) -> Dims:
    """x with another element type.

    Shape: that of x. Dtype: floats become integers by cutting the fraction off, numbers become
    bool by comparison with 0, complex numbers become real by dropping the imaginary part.
    Gradient: cast back, between floating and complex types; none through integers.
    """
    return x.dims


@cast_op.gradient
@takes_slices
def cast_gradient(op: Operation, grad: Tensor) -> list[Any]:
    source = op.inputs[0].dtype.base_dtype
    target = op.outputs[0].dtype.base_dtype
    if source.kind in "fc" and target.kind in "fc":
        return [cast(grad, source)]
    return [None]


def modulo_unsigned(value: TensorLike, dtype: DType | None) -> Any:
    """A negative Python int as the number of an unsigned ``dtype`` with the same bits: -1 is 255.

    Anything else is returned as it is.
    """
    if dtype is None or dtype.kind != "u" or not isinstance(value, int) or value >= 0:
        return value
    return value % (1 << 8 * dtype.size)


@takes_ragged("ragged_cast")
def cast(x: Any, dtype: DTypeLike, name: str | None = None) -> Any:
    """``x`` with element type ``dtype``; returned as it is when it has that type already.

    So is a resource variable, as in TensorFlow: what uses the result reads the variable then.

    Raises `TypeError` for strings: use `tf.strings.to_number` or `tf.as_string`.
    """
    wanted = as_dtype(dtype).base_dtype
    if isinstance(x, Tensor) and x.dtype is wanted:
        return x
    if getattr(x, "is_read_by_use", False) and x.dtype is wanted:
        return x
    with_values = _cast_parts(x, wanted, name)
    if with_values is not None:
        return with_values
    with default_graph().name_scope(name or "Cast") as scope:
        tensor = convert_to_tensor(x, name="x")
        source = tensor.dtype.base_dtype
        if source is wanted:
            return tensor
        if source.kind == "S" or wanted.kind == "S":
            raise CastError(
                message=f"Cast {scope[:-1]!r}: cannot cast {source.name} to {wanted.name}. "
                "Use tf.strings.to_number(t) to read numbers, tf.as_string(t) to write them."
            )
        return cast_op(tensor, DstT=wanted, name=scope)


def _cast_parts(x: Any, dtype: DType, name: str | None) -> Any:
    """Sparse tensors and `IndexedSlices` are cast by their values; ``None`` for anything else."""
    if isinstance(x, IndexedSlices):
        return IndexedSlices(cast(x.values, dtype, name), x.indices, x.dense_shape)
    if type(x).__name__ == "SparseTensor":
        return type(x)(x.indices, cast(x.values, dtype, name), x.dense_shape)
    return None


def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """``value`` as ``dtype``, with what does not fit replaced by the nearest value that does."""
    wanted = as_dtype(dtype).base_dtype
    with default_graph().name_scope(name or "saturate_cast") as scope:
        value = convert_to_tensor(value, name="value")
        source = value.dtype.base_dtype
        if source.kind != "c" and wanted.kind != "b" and source.kind != "b":
            if source.min < wanted.min:
                value = get_op("Maximum")(value, internal_convert(wanted.min, source, "min"))
            if source.max > wanted.max:
                value = get_op("Minimum")(value, internal_convert(wanted.max, source, "max"))
        return cast(value, wanted, name=scope)  # type: ignore[no-any-return]


def _to(dtype: DType, name: str) -> Callable[..., Any]:
    def convert(x: TensorLike, name: str = name) -> Any:
        return cast(x, dtype, name=name)

    convert.__name__ = convert.__qualname__ = f"to_{name[2:].lower()}"
    convert.__doc__ = (
        f"``x`` as {dtype.name}; the older spelling of ``tf.cast(x, tf.{dtype.name})``."
    )
    return convert


to_float = _to(dtypes.float32, "ToFloat")
to_double = _to(dtypes.float64, "ToDouble")
to_int32 = _to(dtypes.int32, "ToInt32")
to_int64 = _to(dtypes.int64, "ToInt64")
to_bfloat16 = _to(dtypes.bfloat16, "ToBFloat16")
to_complex64 = _to(dtypes.complex64, "ToComplex64")
to_complex128 = _to(dtypes.complex128, "ToComplex128")
