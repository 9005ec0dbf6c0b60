"""Quantization: floats as small integers, and floats that behave as if they were."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.dtypes import FLOATING, DType, as_dtype
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, refuse_gradient
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import AxisLike, DTypeLike, TensorLike
from dataflow.shapes import Dims, list_dims, merge

_QUANTIZED = frozenset({dtypes.qint8, dtypes.quint8, dtypes.qint32, dtypes.qint16, dtypes.quint16})


def _scalar(tensor: Tensor, name: str) -> None:
    if tensor.dims not in (None, ()):
        raise ValueError(f"{name} must be a scalar, got shape {list_dims(tensor.dims)}")


@define_op(
    "QuantizeV2",
    "input: float32, min_range: float32, max_range: float32 "
    "-> output: T, output_min: float32, output_max: float32",
    T=_QUANTIZED,
    later_attrs={"narrow_range": False, "axis": -1, "ensure_minimum_range": 0.009999999776482582},
)
def quantize_v2_op(
    input: Tensor,
    min_range: Tensor,
    max_range: Tensor,
    *,
    T: DType,
    mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    narrow_range: bool = False,
    axis: int = -1,
    ensure_minimum_range: float = 0.009999999776482582,
) -> list[Dims]:
    """Floats between min_range and max_range as integers of a quantized type.

    Shape: that of the input, and the range that was used as two scalars. Gradient: none.
    """
    if axis != -1:
        raise ValueError("quantization along an axis is not supported; use axis=-1")
    _scalar(min_range, "min_range")
    _scalar(max_range, "max_range")
    return [input.dims, (), ()]


@define_op(
    "Dequantize",
    "input: T, min_range: float32, max_range: float32 -> output: dtype",
    T=_QUANTIZED,
    later_attrs={"narrow_range": False, "axis": -1, "dtype": dtypes.float32},
)
def dequantize_op(
    input: Tensor,
    min_range: Tensor,
    max_range: Tensor,
    *,
    mode: str = "MIN_COMBINED",
    narrow_range: bool = False,
    axis: int = -1,
    dtype: DType = dtypes.float32,
) -> Dims:
    """The floats that quantized integers stand for.

    Shape: that of the input. Dtype: float32. Gradient: none.
    """
    if axis != -1:
        raise ValueError("quantization along an axis is not supported; use axis=-1")
    return input.dims


@define_op("FakeQuantWithMinMaxArgs", "inputs: float32 -> outputs: float32")
def fake_quant_args_op(
    inputs: Tensor,
    *,
    min: float = -6.0,
    max: float = 6.0,
    num_bits: int = 8,
    narrow_range: bool = False,
) -> Dims:
    """Floats rounded to what num_bits between min and max can hold.

    Shape: kept. Dtype: float32. Gradient: dy inside the range, 0 outside.
    """
    if min >= max:
        raise ValueError(f"min must be smaller than max, got {min} and {max}")
    return inputs.dims


@define_op(
    "FakeQuantWithMinMaxArgsGradient", "gradients: float32, inputs: float32 -> backprops: float32"
)
def fake_quant_args_gradient_op(
    gradients: Tensor,
    inputs: Tensor,
    *,
    min: float = -6.0,
    max: float = 6.0,
    num_bits: int = 8,
    narrow_range: bool = False,
) -> Dims:
    """The gradient of FakeQuantWithMinMaxArgs: dy inside the range. Shape: kept. Gradient: none."""
    return merge(gradients.dims, inputs.dims)


@define_op(
    "FakeQuantWithMinMaxVars", "inputs: float32, min: float32, max: float32 -> outputs: float32"
)
def fake_quant_vars_op(
    inputs: Tensor, min: Tensor, max: Tensor, *, num_bits: int = 8, narrow_range: bool = False
) -> Dims:
    """As FakeQuantWithMinMaxArgs, with a range that can be learned.

    Shape: kept; the ends are scalars. Gradient: dy inside; what was cut off goes to the ends.
    """
    _scalar(min, "min")
    _scalar(max, "max")
    return inputs.dims


@define_op(
    "FakeQuantWithMinMaxVarsGradient",
    "gradients: float32, inputs: float32, min: float32, max: float32 -> "
    "backprops_wrt_input: float32, backprop_wrt_min: float32, backprop_wrt_max: float32",
)
def fake_quant_vars_gradient_op(
    gradients: Tensor,
    inputs: Tensor,
    min: Tensor,
    max: Tensor,
    *,
    num_bits: int = 8,
    narrow_range: bool = False,
) -> list[Dims]:
    """The gradients of FakeQuantWithMinMaxVars. Shape: the input's and two scalars. Gradient: none."""
    return [merge(gradients.dims, inputs.dims), (), ()]


def _channels(inputs: Tensor, *ends: Tensor) -> None:
    """Each end of the ranges must have a number for every channel, the last axis of the inputs."""
    depth = None if inputs.dims is None else inputs.dims[-1:]
    for name, end in zip(("min", "max"), ends, strict=True):
        if depth == () or (end.dims is not None and len(end.dims) != 1):
            raise ValueError(f"{name} must be a vector, got shape {list_dims(end.dims)}")
        if depth is not None and end.dims is not None and None not in (depth[0], end.dims[0]):
            if depth != end.dims:
                raise ValueError(
                    f"{name} has {end.dims[0]} numbers, the inputs have {depth[0]} channels"
                )


@define_op(
    "FakeQuantWithMinMaxVarsPerChannel",
    "inputs: float32, min: float32, max: float32 -> outputs: float32",
)
def fake_quant_per_channel_op(
    inputs: Tensor, min: Tensor, max: Tensor, *, num_bits: int = 8, narrow_range: bool = False
) -> Dims:
    """As FakeQuantWithMinMaxVars, with a range for each channel, the last axis.

    Shape: kept; the ends are [channels]. Gradient: dy inside; what was cut off goes to the ends.
    """
    _channels(inputs, min, max)
    return inputs.dims


@define_op(
    "FakeQuantWithMinMaxVarsPerChannelGradient",
    "gradients: float32, inputs: float32, min: float32, max: float32 -> "
    "backprops_wrt_input: float32, backprop_wrt_min: float32, backprop_wrt_max: float32",
)
def fake_quant_per_channel_gradient_op(
    gradients: Tensor,
    inputs: Tensor,
    min: Tensor,
    max: Tensor,
    *,
    num_bits: int = 8,
    narrow_range: bool = False,
) -> list[Dims]:
    """The gradients of FakeQuantWithMinMaxVarsPerChannel. Shape: those of its inputs. Gradient: none."""
    _channels(inputs, min, max)
    return [merge(gradients.dims, inputs.dims), min.dims, max.dims]


@define_op(
    "QuantizeAndDequantizeV2",
    "input: T, input_min: T, input_max: T -> output: T",
    T=FLOATING,
    later_attrs={"axis": -1},
)
def quantize_and_dequantize_op(
    input: Tensor,
    input_min: Tensor,
    input_max: Tensor,
    *,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    narrow_range: bool = False,
    axis: int = -1,
) -> Dims:
    """Floats rounded to what num_bits can hold, 0 included, between the ends of a range.

    Shape: kept; the ends are scalars, or vectors where there is an axis; without ``range_given`` they are
    those of the input. Gradient: dy for the input, as if nothing were rounded.
    """
    if round_mode not in ("HALF_TO_EVEN", "HALF_UP"):
        raise ValueError(f"round_mode must be HALF_TO_EVEN or HALF_UP, got {round_mode!r}")
    if not 1 <= num_bits <= 62 or (signed_input and num_bits == 1):
        raise ValueError(f"num_bits is out of range: {num_bits} with signed_input {signed_input}")
    return input.dims


refuse_gradient(
    quantize_v2_op,
    dequantize_op,
    fake_quant_args_gradient_op,
    fake_quant_vars_gradient_op,
    fake_quant_per_channel_gradient_op,
)


@fake_quant_per_channel_op.gradient
def fake_quant_per_channel_gradient(op: Operation, grad: Tensor) -> list[Any]:
    attrs = {k: op.attrs[k] for k in ("num_bits", "narrow_range")}
    return list(fake_quant_per_channel_gradient_op(grad, *op.inputs, **attrs))


@quantize_and_dequantize_op.gradient
def quantize_and_dequantize_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad, None, None]


@fake_quant_args_op.gradient
def fake_quant_args_gradient(op: Operation, grad: Tensor) -> list[Any]:
    attrs = {k: op.attrs[k] for k in ("min", "max", "num_bits", "narrow_range")}
    return [fake_quant_args_gradient_op(grad, op.inputs[0], **attrs)]


@fake_quant_vars_op.gradient
def fake_quant_vars_gradient(op: Operation, grad: Tensor) -> list[Any]:
    attrs = {k: op.attrs[k] for k in ("num_bits", "narrow_range")}
    return list(fake_quant_vars_gradient_op(grad, *op.inputs, **attrs))


def quantize(
    input: TensorLike,
    min_range: Any,
    max_range: Any,
    T: Any,
    mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    name: str | None = None,
    narrow_range: bool = False,
    axis: AxisLike | None = None,
    ensure_minimum_range: float = 0.01,
) -> Any:
    """Floats as integers of the quantized type ``T``: (output, output_min, output_max)."""
    return quantize_v2_op(
        input,
        min_range,
        max_range,
        T=as_dtype(T),
        mode=mode,
        round_mode=round_mode,
        narrow_range=narrow_range,
        axis=-1 if axis is None else axis,
        ensure_minimum_range=ensure_minimum_range,
        name=name,
    )


def dequantize(
    input: TensorLike,
    min_range: Any,
    max_range: Any,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    axis: AxisLike | None = None,
    narrow_range: bool = False,
    dtype: DTypeLike = dtypes.float32,
) -> Tensor:
    """The floats that quantized integers stand for."""
    return dequantize_op(  # type: ignore[no-any-return]
        input,
        min_range,
        max_range,
        mode=mode,
        axis=-1 if axis is None else axis,
        narrow_range=narrow_range,
        dtype=as_dtype(dtype),
        name=name,
    )


fake_quant_with_min_max_args = fake_quant_args_op
fake_quant_with_min_max_args_gradient = fake_quant_args_gradient_op
fake_quant_with_min_max_vars = fake_quant_vars_op
fake_quant_with_min_max_vars_gradient = fake_quant_vars_gradient_op
fake_quant_with_min_max_vars_per_channel = fake_quant_per_channel_op
fake_quant_with_min_max_vars_per_channel_gradient = fake_quant_per_channel_gradient_op


def quantize_and_dequantize(
    input: TensorLike,
    input_min: Any,
    input_max: Any,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: AxisLike | None = None,
) -> Tensor:
    """Floats rounded to what ``num_bits`` can hold; see the op QuantizeAndDequantizeV2."""
    return quantize_and_dequantize_op(  # type: ignore[no-any-return]
        input,
        input_min,
        input_max,
        signed_input=signed_input,
        num_bits=num_bits,
        range_given=range_given,
        round_mode=round_mode,
        narrow_range=narrow_range,
        axis=-1 if axis is None else axis,
        name=name,
    )
