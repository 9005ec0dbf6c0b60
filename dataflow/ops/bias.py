"""Adding a bias to every place, and the small layers made of it."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import NUMBERS
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.activation import relu_op
from dataflow.ops.matmul import mat_mul_op
from dataflow.shapes import Dims, list_dims

_FORMATS = ("NHWC", "NCHW")


def _channel_axis(dims: Dims, data_format: str) -> int:
    """The axis of the channels: the last, or the second of NCHW."""
    if data_format not in _FORMATS:
        raise ValueError(f"data_format must be 'NHWC' or 'NCHW', got {data_format!r}")
    least = 2 if data_format == "NHWC" else 3
    if dims is not None and len(dims) < least:
        raise ValueError(
            f"Shape must be at least rank {least} but is rank {len(dims)}: the value is "
            f"{list_dims(dims)}"
        )
    return -1 if data_format == "NHWC" else 1


def _biased_dims(value: Tensor, bias: Tensor, data_format: str) -> Dims:
    axis = _channel_axis(value.dims, data_format)
    if bias.dims is not None and len(bias.dims) != 1:
        raise ValueError(
            f"Shape must be rank 1 but is rank {len(bias.dims)}: the bias is {list_dims(bias.dims)}"
        )
    if value.dims is None:
        return None
    size = None if bias.dims is None else bias.dims[0]
    channels = value.dims[axis]
    if size is not None and channels is not None and size != channels:
        raise ValueError(
            f"Dimensions must be equal, but are {channels} and {size}: the value has {channels} "
            f"channels (data_format {data_format}), the bias {size} elements"
        )
    dims = list(value.dims)
    dims[axis] = size if channels is None else channels
    return tuple(dims)


@define_op("BiasAdd", "value: T, bias: T -> output: T", T=NUMBERS, shape_like=0, own_memory=True)
def bias_add_op(value: Tensor, bias: Tensor, *, data_format: str = "NHWC") -> Dims:
    """value + bias, one bias for each channel.

    Shape: value of rank 2 or more with the channels last (NCHW: second, of rank 3 or more), bias
    [channels]. Dtype: kept. Gradient: dy to the value, `BiasAddGrad` of dy to the bias.
    """
    return _biased_dims(value, bias, data_format)


@define_op("BiasAddV1", "value: T, bias: T -> output: T", T=NUMBERS)
def bias_add_v1_op(value: Tensor, bias: Tensor) -> Dims:
    """value + bias with the channels last; the name that early graphs use.

    Shape: value of rank 2 or more, bias [channels]. Dtype: kept. Gradient: as `BiasAdd`'s.
    """
    return _biased_dims(value, bias, "NHWC")


@define_op(
    "BiasAddGrad", "out_backprop: T -> output: T", T=NUMBERS, keeps_nothing=True, calls_blas=True
)
def bias_add_grad_op(out_backprop: Tensor, *, data_format: str = "NHWC") -> Dims:
    """The gradient of `BiasAdd` by its bias: the sum over all axes but the channels'.

    Shape: [channels]. Dtype: kept. Gradient: dy, repeated to the shape of out_backprop.
    """
    axis = _channel_axis(out_backprop.dims, data_format)
    return (None,) if out_backprop.dims is None else (out_backprop.dims[axis],)


@bias_add_op.gradient
def bias_add_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad, bias_add_grad_op(grad, data_format=op.attrs["data_format"])]


@bias_add_v1_op.gradient
def bias_add_v1_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad, bias_add_grad_op(grad)]


@bias_add_grad_op.gradient
def bias_add_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    value = op.inputs[0]
    if op.attrs["data_format"] == "NCHW":
        if value.dims is None:
            raise ValueError(f"{op.name!r}: the rank of the value must be known; use set_shape")
        grad = array_ops.reshape(grad, [-1] + [1] * (len(value.dims) - 2))
    return [array_ops.broadcast_to(grad, array_ops.shape(value))]


def bias_add(
    value: Any, bias: Any, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """value + bias, one bias for each channel; ``data_format`` "N...C" or "NC...". See `BiasAdd`."""
    with op_scope(name, "BiasAdd", [value, bias]) as scope:
        if data_format is not None:
            if data_format.startswith("NC"):
                data_format = "NCHW"
            elif data_format.startswith("N") and data_format.endswith("C"):
                data_format = "NHWC"
            else:
                raise ValueError(
                    "`data_format` must be of the form `N...C` or `NC...`. "
                    f"Received: data_format={data_format}"
                )
        value = convert_to_tensor(value, name="input")
        bias = convert_to_tensor(bias, value.dtype.base_dtype, name="bias")
        return bias_add_op(value, bias, data_format=data_format or "NHWC", name=scope)  # type: ignore[no-any-return]


def bias_add_v1(value: TensorLike, bias: TensorLike, name: str | None = None) -> Tensor:
    """value + bias with the channels last, as the op `BiasAddV1`."""
    return bias_add_v1_op(value, bias, name=name)  # type: ignore[no-any-return]


def xw_plus_b(x: TensorLike, weights: TensorLike, biases: Any, name: str | None = None) -> Tensor:
    """``matmul(x, weights) + biases``: x [batch, in], weights [in, out], biases [out]."""
    with op_scope(name, "xw_plus_b", [x, weights, biases]) as scope:
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(weights, x.dtype.base_dtype, name="weights")
        biases = convert_to_tensor(biases, x.dtype.base_dtype, name="biases")
        return bias_add_op(mat_mul_op(x, weights), biases, name=scope)  # type: ignore[no-any-return]


def relu_layer(x: TensorLike, weights: TensorLike, biases: Any, name: str | None = None) -> Tensor:
    """``relu(matmul(x, weights) + biases)``: x [batch, in], weights [in, out], biases [out]."""
    with op_scope(name, "relu_layer", [x, weights, biases]) as scope:
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(weights, x.dtype.base_dtype, name="weights")
        biases = convert_to_tensor(biases, x.dtype.base_dtype, name="biases")
        return relu_op(bias_add_op(mat_mul_op(x, weights), biases), name=scope)  # type: ignore[no-any-return]
