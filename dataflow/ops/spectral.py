"""Fourier transforms over the innermost axes, and the cosine transform made from them."""

from __future__ import annotations

import math
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
from dataflow.ops.casts import cast
from dataflow.ops.complex_numbers import complex_, real
from dataflow.ops.reduce import prod_op
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims, list_dims

_PARTS = frozenset({dtypes.float32, dtypes.float64})


def _needs_rank(dims: Dims, num_axes: int) -> None:
    if dims is not None and len(dims) < num_axes:
        raise ValueError(
            f"Shape must be at least rank {num_axes} but is rank {len(dims)}: the transform is over "
            f"the last {num_axes} axes of {list_dims(dims)}"
        )


def _name(num_axes: int) -> str:
    return "" if num_axes == 1 else f"{num_axes}D"


def _complex_transform(num_axes: int, inverse: bool) -> OpDef:
    def rule(input: Tensor) -> Dims:
        _needs_rank(input.dims, num_axes)
        return input.dims

    op_type = f"{'I' if inverse else ''}FFT{_name(num_axes)}"
    rule.__name__ = op_type
    rule.__doc__ = (
        f"The {'inverse ' if inverse else ''}discrete Fourier transform over the last "
        f"{num_axes} axes.\n\nShape and dtype: those of the input. "
        f"Gradient: the {'forward' if inverse else 'inverse'} transform of dy, scaled.\n"
    )
    return define_op(
        op_type, "input: Tcomplex -> output: Tcomplex", Tcomplex=COMPLEX, shape_like=0, cost=0.02
    )(rule)


_FORWARD = {n: _complex_transform(n, False) for n in (1, 2, 3)}
_INVERSE = {n: _complex_transform(n, True) for n in (1, 2, 3)}


def _length(x: TensorLike, num_axes: int) -> Any:
    """The number of elements of one transform, as a tensor."""
    return prod_op(array_ops.shape(x)[-num_axes:], [0])


def _set_complex_gradients(num_axes: int) -> None:
    forward, inverse = _FORWARD[num_axes], _INVERSE[num_axes]

    @forward.gradient
    def forward_gradient(op: Operation, grad: Tensor) -> list[Any]:
        size = cast(cast(_length(grad, num_axes), grad.dtype.real_dtype), grad.dtype)
        return [inverse(grad) * size]

    @inverse.gradient
    def inverse_gradient(op: Operation, grad: Tensor) -> list[Any]:
        size = cast(cast(_length(grad, num_axes), grad.dtype.real_dtype), grad.dtype)
        return [forward(grad) / size]


def _real_dims(x: Tensor, fft_length: Tensor, num_axes: int, to_complex: bool) -> Dims:
    if x.dims is not None and len(x.dims) < num_axes:
        raise ValueError(f"Shape {list_dims(x.dims)} must have rank at least {num_axes}")
    if fft_length.dims is not None and len(fft_length.dims) != 1:
        raise ValueError(f"Shape {list_dims(fft_length.dims)} of fft_length must have rank 1")
    if fft_length.dims is not None and fft_length.dims[0] not in (None, num_axes):
        raise ValueError(
            f"Dimension must be {num_axes} but is {fft_length.dims[0]}: fft_length has a size for each axis"
        )
    lengths = static_value(fft_length)
    if x.dims is None:
        return None
    if lengths is None:
        return (*x.dims[:-num_axes], *([None] * num_axes))
    sizes = [int(v) for v in lengths]
    if to_complex:
        sizes[-1] = sizes[-1] // 2 + 1 if sizes[-1] else 0
    return (*x.dims[:-num_axes], *sizes)


_LATER = {"Treal": dtypes.float32, "Tcomplex": dtypes.complex64}


def _real_transform(num_axes: int) -> OpDef:
    def rule(input: Tensor, fft_length: Tensor, *, Tcomplex: DType = dtypes.complex64) -> Dims:
        return _real_dims(input, fft_length, num_axes, True)

    op_type = f"RFFT{_name(num_axes)}"
    rule.__name__ = op_type
    rule.__doc__ = (
        f"The discrete Fourier transform of real numbers over the last {num_axes} axes.\n\n"
        "Shape: the transformed axes have the sizes ``fft_length``, the last one half of it plus "
        "1; the input is cut or filled with zeros. Gradient: an inverse transform of dy.\n"
    )
    return define_op(
        op_type,
        "input: Treal, fft_length: int32 -> output: Tcomplex",
        cost=0.02,
        Treal=_PARTS,
        Tcomplex=COMPLEX,
        later_attrs=_LATER,
    )(rule)


def _to_real_transform(num_axes: int) -> OpDef:
    def rule(input: Tensor, fft_length: Tensor, *, Treal: DType = dtypes.float32) -> Dims:
        return _real_dims(input, fft_length, num_axes, False)

    op_type = f"IRFFT{_name(num_axes)}"
    rule.__name__ = op_type
    rule.__doc__ = (
        f"The inverse of RFFT{_name(num_axes)}: complex halves give real numbers.\n\n"
        "Shape: the transformed axes have the sizes ``fft_length``. "
        "Gradient: a forward transform of dy, halved where halves were joined.\n"
    )
    return define_op(
        op_type,
        "input: Tcomplex, fft_length: int32 -> output: Treal",
        cost=0.02,
        Tcomplex=COMPLEX,
        Treal=_PARTS,
        later_attrs=_LATER,
    )(rule)


_REAL = {n: _real_transform(n) for n in (1, 2, 3)}
_TO_REAL = {n: _to_real_transform(n) for n in (1, 2, 3)}


def _fit(x: Any, shape: Any, num_axes: int) -> Any:
    """x cut or filled with zeros at the end, so that its last axes have those of ``shape``."""
    for axis in range(-num_axes, 0):
        wanted, have = shape[axis], array_ops.shape(x)[axis]
        rank = len(x.dims)
        from dataflow.ops.arithmetic import maximum_op, minimum_op

        size = [-1] * rank
        size[axis] = minimum_op(have, wanted)
        x = array_ops.slice_(x, [0] * rank, array_ops.stack(size))
        padding = [[0, 0] for _ in range(rank)]
        padding[axis] = [0, maximum_op(wanted - have, 0)]
        x = array_ops.pad(x, array_ops.stack([array_ops.stack(p) for p in padding]))
    return x


def _set_real_gradients(num_axes: int) -> None:
    @_REAL[num_axes].gradient
    def real_gradient(op: Operation, grad: Tensor) -> list[Any]:
        """The adjoint: the half spectrum is filled with zeros and transformed as a whole."""
        x, fft_length = op.inputs
        whole = array_ops.concat([array_ops.shape(grad)[:-1], fft_length[-1:]], 0)
        full = _fit(grad, whole, num_axes)
        size = cast(prod_op(fft_length, [0]), x.dtype.base_dtype)
        result = real(_INVERSE[num_axes](full)) * size
        fitted = _fit(result, array_ops.shape(x), num_axes)
        fitted.set_shape(x.dims)
        return [fitted, None]

    @_TO_REAL[num_axes].gradient
    def to_real_gradient(op: Operation, grad: Tensor) -> list[Any]:
        """All but the first (and, for even lengths, the middle) elements stand for two."""
        x, fft_length = op.inputs
        length = fft_length[-1]
        half = length // 2 + 1
        index = array_ops.range_(half)
        twice = cast((index > 0) & (index < length - half + 1), grad.dtype.base_dtype)
        spectrum = _REAL[num_axes](grad, fft_length, Tcomplex=x.dtype.base_dtype)
        size = cast(prod_op(fft_length, [0]), grad.dtype.base_dtype)
        scale = (1.0 + twice) / size
        result = spectrum * complex_(scale, array_ops.zeros_like(scale))
        fitted = _fit(result, array_ops.shape(x), num_axes)
        fitted.set_shape(x.dims)
        return [fitted, None]


for _n in (1, 2, 3):
    _set_complex_gradients(_n)
    _set_real_gradients(_n)

fft, fft2d, fft3d = (_FORWARD[n] for n in (1, 2, 3))
ifft, ifft2d, ifft3d = (_INVERSE[n] for n in (1, 2, 3))


def _padded(x: Tensor, fft_length: Any, num_axes: int, half: int) -> Tensor:
    """x with zeros up to ``fft_length``: TensorFlow's kernels, unlike NumPy's, do not add them.

    With ``half`` the last axis of x is a half spectrum. Lengths not known yet are left to the
    kernel.
    """
    lengths = static_value(convert_to_tensor(fft_length, dtype=dtypes.int32))
    if lengths is None or x.dims is None or None in x.dims[-num_axes:] or lengths.ndim != 1:
        return x
    wanted = [int(n) for n in lengths]
    if half and wanted:
        wanted[-1] = wanted[-1] // 2 + 1
    missing = [max(0, n - d) for n, d in zip(wanted, x.dims[-num_axes:], strict=False)]  # type: ignore[operator]
    if not any(missing) or len(wanted) != num_axes:
        return x
    return array_ops.pad(x, [[0, 0]] * (len(x.dims) - num_axes) + [[0, n] for n in missing])


def _real_function(num_axes: int) -> Any:
    op = _REAL[num_axes]

    def transform(
        input_tensor: TensorLike, fft_length: Any = None, name: str | None = None
    ) -> Tensor:
        with default_graph().name_scope(name or op.type.lower()) as scope:
            x = convert_to_tensor(input_tensor, preferred_dtype=dtypes.float32)
            if fft_length is None:
                fft_length = array_ops.shape(x)[-num_axes:]
            else:
                x = _padded(x, fft_length, num_axes, 0)
            wanted = dtypes.complex128 if x.dtype == dtypes.float64 else dtypes.complex64
            return op(x, fft_length, Tcomplex=wanted, name=scope)  # type: ignore[no-any-return]

    transform.__doc__ = op.__doc__
    transform.__name__ = op.type.lower()
    return transform


def _to_real_function(num_axes: int) -> Any:
    op = _TO_REAL[num_axes]

    def transform(
        input_tensor: TensorLike, fft_length: Any = None, name: str | None = None
    ) -> Tensor:
        with default_graph().name_scope(name or op.type.lower()) as scope:
            x = convert_to_tensor(input_tensor, preferred_dtype=dtypes.complex64)
            if fft_length is None:
                shape = array_ops.shape(x)
                last = array_ops.reshape(2 * (shape[-1] - 1), [1])
                fft_length = array_ops.concat([shape[-num_axes:-1], last], 0)
                if x.dims is not None and None not in x.dims[-num_axes:]:
                    fft_length = [*x.dims[-num_axes:-1], max(0, 2 * (x.dims[-1] - 1))]  # type: ignore[operator]
            else:
                x = _padded(x, fft_length, num_axes, 1)
            return op(x, fft_length, Treal=x.dtype.base_dtype.real_dtype, name=scope)  # type: ignore[no-any-return]

    transform.__doc__ = op.__doc__
    transform.__name__ = op.type.lower()
    return transform


rfft, rfft2d, rfft3d = (_real_function(n) for n in (1, 2, 3))
irfft, irfft2d, irfft3d = (_to_real_function(n) for n in (1, 2, 3))


def dct(
    input: TensorLike,
    type: int = 2,
    n: Any = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The discrete cosine transform of type 1 to 4 along the last axis.

    ``norm="ortho"`` scales it to an orthogonal transform (types 2 to 4). Raises `ValueError` for
    other types, axes and norms, `NotImplementedError` for ``n``.
    """
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Received: {axis}")
    if n is not None:
        raise NotImplementedError("n should be None: cut or pad the input first")
    if type not in (1, 2, 3, 4):
        raise ValueError("Types I, II, III and IV (I)DCT are supported.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")
    with default_graph().name_scope(name or "dct"):
        x = convert_to_tensor(input, preferred_dtype=dtypes.float32)
        kind = x.dtype.base_dtype
        size: Any = x.dims[-1] if x.dims is not None else None
        if size is None:
            size = array_ops.shape(x)[-1]
        elif type == 1 and size < 2:
            raise ValueError("Dimension must be greater than one for Type-I DCT.")
        zero = array_ops.zeros([size], kind)
        steps = array_ops.range_(size, dtype=kind)
        half_turn = math.pi / (2 * _as_float(size, kind))
        if type == 1:
            if norm == "ortho":
                raise ValueError("Normalization is not supported for the Type-I DCT.")
            mirrored = array_ops.concat([x, array_ops.reverse(x[..., 1:-1], [-1])], -1)
            return real(rfft(mirrored))
        if type == 2:
            turn = complex_(zero, -steps * half_turn)
            from dataflow.ops.elementary import exp

            scale = 2.0 * exp(turn)
            result = real(rfft(x, fft_length=[2 * size])[..., :size] * scale)
            return result * _weights(0.5, math.sqrt(0.5), -0.5, size, kind) if norm else result
        if type == 4:  # every second one of type 2 of the signal and as many zeros
            longer = array_ops.concat([x, array_ops.zeros_like(x)], -1)
            odd = dct(longer, type=2)[..., 1::2]
            return odd * (0.5 / _as_float(size, kind)) ** 0.5 if norm == "ortho" else odd  # type: ignore[no-any-return]
        x = x * (_weights(1.0, math.sqrt(0.5), 0.5, size, kind) if norm else _as_float(size, kind))
        from dataflow.ops.elementary import exp

        turn = complex_(zero, steps * half_turn)
        scale = 2.0 * exp(turn)
        spectrum = complex_(x, array_ops.zeros_like(x)) * scale
        return irfft(spectrum, fft_length=[2 * size])[..., :size]  # type: ignore[no-any-return]


def _as_float(size: Any, dtype: DType) -> Any:
    return cast(size, dtype) if isinstance(size, Tensor) else float(size)


def _weights(first: float, others: float, power: float, size: Any, dtype: DType) -> Any:
    """``first``, and then ``others`` for the rest of an axis of that size, times ``size**power``."""
    scale = _as_float(size, dtype) ** power
    if not isinstance(size, Tensor):
        return [first * scale] + [others * scale] * (size - 1)
    rest = array_ops.fill([size - 1], others * scale)
    return array_ops.concat([[first * scale], rest], 0)


def idct(
    input: TensorLike,
    type: int = 2,
    n: Any = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of `dct`, up to a factor when ``norm`` is not "ortho"."""
    return dct(input, {1: 1, 2: 3, 3: 2}.get(type, type), n, axis, norm, name or "idct")
