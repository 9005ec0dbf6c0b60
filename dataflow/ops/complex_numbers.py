"""Complex numbers: putting them together and taking them apart."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.dtypes import COMPLEX, DType
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.op_def import OpDef
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.broadcasting import broadcast_dims, broadcast_gradients
from dataflow.ops.comparison import less_op
from dataflow.shapes import Dims

_PARTS = frozenset({dtypes.float32, dtypes.float64})


@define_op("Complex", "real: T, imag: T -> out: Tout", T=_PARTS, Tout=COMPLEX, elementwise=True)
def complex_op(real: Tensor, imag: Tensor, *, Tout: DType = dtypes.complex64) -> Dims:
    """The complex numbers ``real + i * imag``.

    Shape: both broadcast. Dtype: float32 gives complex64, float64 complex128.
    Gradient: the real part of dz to real, the imaginary part to imag.
    """
    return broadcast_dims(real, imag)


def _part(op_type: str, what: str, gradient: str) -> OpDef:
    def rule(input: Tensor, *, Tout: DType = dtypes.float32) -> Dims:
        return input.dims

    rule.__name__ = op_type
    rule.__doc__ = (
        f"{what} of complex numbers, element by element.\n\n"
        f"Shape: kept. Dtype: the real type of a part. Gradient: {gradient}\n"
    )
    return define_op(op_type, "input: T -> output: Tout", T=COMPLEX, Tout=_PARTS, shape_like=0)(
        rule
    )


real_op = _part("Real", "The real part", "dy as a complex number.")
imag_op = _part("Imag", "The imaginary part", "i * dy.")
angle_op = _part("Angle", "The angle (argument)", "-dy / (x.imag + i * x.real).")


@define_op("Conj", "input: T -> output: T", T=COMPLEX, elementwise=True)
def conj_op(input: Tensor) -> Dims:
    """The complex conjugate, element by element.

    Shape and dtype: kept. Gradient: the conjugate of dy.
    """
    return input.dims


@complex_op.gradient
def complex_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return broadcast_gradients(op, real(grad), imag(grad))


@real_op.gradient
def real_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [complex_(grad, array_ops.zeros_like(grad))]


@imag_op.gradient
def imag_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [complex_(array_ops.zeros_like(grad), grad)]


@angle_op.gradient
def angle_gradient(op: Operation, grad: Tensor) -> list[Any]:
    from dataflow.ops.elementary import reciprocal

    x = op.inputs[0]
    scale = reciprocal(complex_(imag(x), real(x)))
    return [-complex_(grad, array_ops.zeros_like(grad)) * scale]


@conj_op.gradient
def conj_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [conj(grad)]


def complex_(real: Any, imag: Any, name: str | None = None) -> Tensor:
    """``real + i * imag``; both float32 (complex64) or both float64 (complex128).

    Raises `TypeError` for other dtypes, or two different ones.
    """
    with default_graph().name_scope(name or "Complex") as scope:
        real = convert_to_tensor(real, name="real")
        imag = convert_to_tensor(imag, name="imag")
        kinds = (real.dtype.base_dtype, imag.dtype.base_dtype)
        if kinds == (dtypes.float64, dtypes.float64):
            wanted = dtypes.complex128
        elif kinds == (dtypes.float32, dtypes.float32):
            wanted = dtypes.complex64
        else:
            raise TypeError(
                f"real and imag have incorrect types: {kinds[0].name} {kinds[1].name}; "
                "both must be float32 or both float64."
            )
        return complex_op(real, imag, Tout=wanted, name=scope)  # type: ignore[no-any-return]


def real(input: Any, name: str | None = None) -> Tensor:
    """The real part; real tensors are returned as they are."""
    input = convert_to_tensor(input, name="input")
    if not input.dtype.is_complex:
        return input  # type: ignore[no-any-return]
    return real_op(input, Tout=input.dtype.base_dtype.real_dtype, name=name)  # type: ignore[no-any-return]


def imag(input: TensorLike, name: str | None = None) -> Tensor:
    """The imaginary part; zeros for real tensors."""
    input = convert_to_tensor(input, name="input")
    if not input.dtype.is_complex:
        return array_ops.zeros_like(input)
    return imag_op(input, Tout=input.dtype.base_dtype.real_dtype, name=name)  # type: ignore[no-any-return]


def angle(input: TensorLike, name: str | None = None) -> Tensor:
    """The angle of each number, from -pi to pi; of real numbers 0 or pi."""
    with default_graph().name_scope(name or "Angle") as scope:
        input = convert_to_tensor(input, name="input")
        if input.dtype.is_complex:
            return angle_op(input, Tout=input.dtype.base_dtype.real_dtype, name=scope)  # type: ignore[no-any-return]
        pi = 3.141592653589793 * array_ops.ones_like(input)
        return array_ops.where(less_op(input, 0), pi, array_ops.zeros_like(input))


def conj(x: Any, name: str | None = None) -> Tensor:
    """The complex conjugate; real tensors are returned as they are."""
    x = convert_to_tensor(x, name="x")
    if x.dtype.is_complex:
        return conj_op(x, name=name)  # type: ignore[no-any-return]
    if x.dtype.is_floating or x.dtype.is_integer:
        return x  # type: ignore[no-any-return]
    raise TypeError(f"Expected numeric or variant tensor, got dtype {x.dtype.name}")
