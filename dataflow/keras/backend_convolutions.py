"""`tf.keras.backend`: padding, resizing, convolutions and pooling.

Images follow ``image_data_format()`` where ``data_format`` is None; "same" and "valid" are
TensorFlow's paddings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.keras.backend_layers import repeat_elements
from dataflow.ops import array, math
from dataflow.ops.bias import bias_add as _bias_add
from dataflow.ops.conv_functions import conv2d_transpose as _conv2d_transpose
from dataflow.ops.depthwise_functions import (
    depthwise_conv2d as _depthwise_conv2d,
    separable_conv2d as _separable_conv2d,
)
from dataflow.ops.dilated_convolutions import atrous_conv2d_transpose, convolution
from dataflow.ops.image_resize import resize_bilinear, resize_nearest_neighbor
from dataflow.ops.pooling_functions import pool

__all__ = [
    *("bias_add", "conv1d", "conv2d", "conv2d_transpose", "conv3d", "depthwise_conv2d"),
    *(
        "local_conv",
        "local_conv1d",
        "local_conv2d",
        "pool2d",
        "pool3d",
        "resize_images",
        "resize_volumes",
    ),
    *(
        "separable_conv1d",
        "separable_conv2d",
        "spatial_2d_padding",
        "spatial_3d_padding",
        "temporal_padding",
    ),
]


def _format(data_format: str | None, rank: int) -> str:
    """TensorFlow's name of the data format, for ``rank`` spatial axes."""
    from dataflow.keras.backend_settings import image_data_format

    name = data_format or image_data_format()
    if name not in ("channels_first", "channels_last"):
        raise ValueError(
            f"data_format must be 'channels_first' or 'channels_last', got {data_format!r}."
        )
    letters = "DHW"[3 - rank :]
    return f"NC{letters}" if name == "channels_first" else f"N{letters}C"


# ---- padding and resizing -----------------------------------------------------------------------


def temporal_padding(x: Any, padding: Any = (1, 1)) -> Tensor:
    """Zeros before and after axis 1 of [batch, steps, dim]."""
    return array.pad(x, [[0, 0], list(padding), [0, 0]])


def spatial_2d_padding(x: Any, padding: Any = ((1, 1), (1, 1)), data_format: str | None = None) -> Tensor:  # fmt: skip
    """Zeros around the height and width of images."""
    return _spatial_padding(x, padding, _format(data_format, 2))


def spatial_3d_padding(x: Any, padding: Any = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None) -> Tensor:  # fmt: skip
    """Zeros around the three axes of volumes."""
    return _spatial_padding(x, padding, _format(data_format, 3))


def _spatial_padding(x: Any, padding: Sequence[Sequence[int]], data_format: str) -> Tensor:
    middle = [list(pair) for pair in padding]
    none = [[0, 0]]
    first = data_format.startswith("NC")
    return array.pad(x, none * 2 + middle if first else none + middle + none)


def resize_images(
    x: Any, height_factor: int, width_factor: int, data_format: str, interpolation: str = "nearest"
) -> Tensor:
    """Images of ``height_factor`` times the height, ``width_factor`` times the width.

    ``interpolation``: "nearest" or "bilinear".
    """
    resize = {"nearest": resize_nearest_neighbor, "bilinear": resize_bilinear}.get(interpolation)
    if resize is None:
        raise ValueError(f"interpolation must be 'nearest' or 'bilinear', got {interpolation!r}.")
    first = _format(data_format, 2).startswith("NC")
    x = convert_to_tensor(x)
    if first:
        x = array.transpose(x, [0, 2, 3, 1])
    size = array.shape(x)[1:3] * np.array([height_factor, width_factor], np.int32)
    result = resize(x, size)
    dims = x.shape.as_list()
    for axis, factor in ((1, height_factor), (2, width_factor)):
        dims[axis] = None if dims[axis] is None else dims[axis] * factor
    result.set_shape(dims)
    return array.transpose(result, [0, 3, 1, 2]) if first else result


def resize_volumes(
    x: Any, depth_factor: int, height_factor: int, width_factor: int, data_format: str
) -> Tensor:
    """Volumes with each voxel repeated along the three axes."""
    begin = 2 if _format(data_format, 3).startswith("NC") else 1
    for axis, factor in enumerate((depth_factor, height_factor, width_factor), begin):
        x = repeat_elements(x, factor, axis)
    return x  # type: ignore[no-any-return]


# ---- convolutions and pooling -----------------------------------------------------------------


def _padding(padding: str) -> str:
    if padding not in ("same", "valid"):
        raise ValueError(f"padding must be 'same' or 'valid', got {padding!r}.")
    return padding.upper()


def _numbers(value: Any, count: int) -> list[int]:
    return [int(value)] * count if isinstance(value, int) else [int(v) for v in value]


def conv1d(x: Any, kernel: Any, strides: int = 1, padding: str = "valid", data_format: str | None = None, dilation_rate: int = 1) -> Tensor:  # fmt: skip
    """Convolution of sequences by a kernel [steps, in, out]; ``padding`` may be "causal"."""
    if padding == "causal":
        reach = dilation_rate * (kernel.shape.as_list()[0] - 1)
        if _format(data_format, 1) == "NWC":
            x = temporal_padding(x, (reach, 0))
        else:
            x = array.pad(x, [[0, 0], [0, 0], [reach, 0]])
        padding = "valid"
    return _convolution(x, kernel, strides, padding, data_format, dilation_rate, 1)


def conv2d(x: Any, kernel: Any, strides: int | Sequence[int] = (1, 1), padding: str = "valid", data_format: str | None = None, dilation_rate: Any = (1, 1)) -> Tensor:  # fmt: skip
    """Convolution of images by a kernel [height, width, in, out]."""
    return _convolution(x, kernel, strides, padding, data_format, dilation_rate, 2)


def conv3d(x: Any, kernel: Any, strides: int | Sequence[int] = (1, 1, 1), padding: str = "valid", data_format: str | None = None, dilation_rate: Any = (1, 1, 1)) -> Tensor:  # fmt: skip
    """Convolution of volumes by a kernel [depth, height, width, in, out]."""
    return _convolution(x, kernel, strides, padding, data_format, dilation_rate, 3)


def _convolution(
    x: Any, kernel: Any, strides: Any, padding: str, data_format: str | None, rate: Any, rank: int
) -> Tensor:
    return convolution(
        x,
        kernel,
        _padding(padding),
        _numbers(strides, rank),
        _numbers(rate, rank),
        data_format=_format(data_format, rank),
    )


def conv2d_transpose(x: Any, kernel: Any, output_shape: Any, strides: int | Sequence[int] = (1, 1), padding: str = "valid", data_format: str | None = None, dilation_rate: Any = (1, 1)) -> Tensor:  # fmt: skip
    """The transpose of `conv2d`; ``kernel`` [height, width, out, in], ``output_shape`` four sizes.

    ``dilation_rate`` is one for both axes, and then ``strides`` are 1. Raises `ValueError` otherwise.
    """
    x = convert_to_tensor(x)
    name = _format(data_format, 2)
    sizes = output_shape
    if not isinstance(output_shape, Tensor):
        given = [array.shape(x)[0] if size is None else size for size in output_shape]
        dynamic = any(isinstance(size, Tensor) for size in given)
        sizes = array.stack(given) if dynamic else given
    if _numbers(dilation_rate, 2) != [1, 1]:
        result = _dilated_transpose(x, kernel, sizes, strides, padding, name, dilation_rate)
    else:
        steps = _image_strides(strides, name)
        result = _conv2d_transpose(x, kernel, sizes, steps, _padding(padding), name)
    if not isinstance(output_shape, Tensor):
        result.set_shape([s if isinstance(s, int) else None for s in output_shape])
    return result  # type: ignore[no-any-return]


def _dilated_transpose(
    x: Any, kernel: Any, sizes: Any, strides: Any, padding: str, name: str, rates: Any
) -> Any:
    rate, other = _numbers(rates, 2)
    if rate != other or _numbers(strides, 2) != [1, 1]:
        raise ValueError(
            "conv2d_transpose: a dilation_rate is the same for both axes, and with it strides are 1; "
            f"got dilation_rate={rates}, strides={strides}."
        )
    if name == "NHWC":
        return atrous_conv2d_transpose(x, kernel, sizes, rate, _padding(padding))
    last = array.transpose(x, [0, 2, 3, 1])
    sizes = array.gather(sizes, [0, 2, 3, 1])
    result = atrous_conv2d_transpose(last, kernel, sizes, rate, _padding(padding))
    return array.transpose(result, [0, 3, 1, 2])


def _image_strides(strides: int | Sequence[int], data_format: str) -> list[int]:
    step = _numbers(strides, 2)
    return [1, 1, *step] if data_format == "NCHW" else [1, *step, 1]


def depthwise_conv2d(x: Any, depthwise_kernel: Any, strides: int | Sequence[int] = (1, 1), padding: str = "valid", data_format: str | None = None, dilation_rate: Any = (1, 1)) -> Tensor:  # fmt: skip
    """Each channel convolved by kernels of its own, [height, width, channels, multiplier]."""
    name = _format(data_format, 2)
    return _depthwise_conv2d(
        x,
        depthwise_kernel,
        _image_strides(strides, name),
        _padding(padding),
        rate=_numbers(dilation_rate, 2),
        data_format=name,
    )


def separable_conv1d(x: Any, depthwise_kernel: Any, pointwise_kernel: Any, strides: int | Sequence[int] = 1, padding: str = "valid", data_format: str | None = None, dilation_rate: Any = 1) -> Tensor:  # fmt: skip
    """As `separable_conv2d`, for sequences: kernels [steps, channels, multiplier] and [1, in, out]."""
    axis = 2 if _format(data_format, 1) == "NCW" else 1
    step, rate = _numbers(strides, 1) * 2, [1, *_numbers(dilation_rate, 1)]
    kernels = [array.expand_dims(kernel, 0) for kernel in (depthwise_kernel, pointwise_kernel)]
    image = array.expand_dims(x, axis)
    made = separable_conv2d(image, kernels[0], kernels[1], step, padding, data_format, rate)
    return array.squeeze(made, [axis])


def separable_conv2d(x: Any, depthwise_kernel: Any, pointwise_kernel: Any, strides: int | Sequence[int] = (1, 1), padding: str = "valid", data_format: str | None = None, dilation_rate: Any = (1, 1)) -> Tensor:  # fmt: skip
    """`depthwise_conv2d`, then channels mixed by a kernel [1, 1, in, out]."""
    name = _format(data_format, 2)
    return _separable_conv2d(
        x,
        depthwise_kernel,
        pointwise_kernel,
        _image_strides(strides, name),
        _padding(padding),
        rate=_numbers(dilation_rate, 2),
        data_format=name,
    )


def local_conv1d(inputs: Any, kernel: Any, kernel_size: int | Sequence[int], strides: int | Sequence[int], data_format: str | None = None) -> Tensor:  # fmt: skip
    """A convolution with a kernel for each place: ``kernel`` [places, steps * in, out]."""
    places = [int(kernel.shape.as_list()[0])]
    return _local_conv(inputs, kernel, kernel_size, strides, places, _format(data_format, 1))


def local_conv2d(inputs: Any, kernel: Any, kernel_size: int | Sequence[int], strides: int | Sequence[int], output_shape: Any, data_format: str | None = None) -> Tensor:  # fmt: skip
    """A convolution with a kernel for each of ``output_shape`` = (rows, columns) places.

    ``kernel``: [rows * columns, height * width * in, out].
    """
    places = [int(n) for n in output_shape]
    return _local_conv(inputs, kernel, kernel_size, strides, places, _format(data_format, 2))


def local_conv(inputs: Any, kernel: Any, kernel_size: int | Sequence[int], strides: int | Sequence[int], output_shape: Any, data_format: str | None = None) -> Tensor:  # fmt: skip
    """`local_conv1d` or `local_conv2d`, for as many axes as ``output_shape`` has."""
    places = [int(n) for n in output_shape]
    kind = _format(data_format, len(places))
    return _local_conv(inputs, kernel, kernel_size, strides, places, kind)


def _local_conv(
    inputs: Any, kernel: Any, kernel_size: Any, strides: Any, places: list[int], data_format: str
) -> Tensor:
    rank = len(places)
    window, step = _numbers(kernel_size, rank), _numbers(strides, rank)
    x = convert_to_tensor(inputs)
    first = data_format.startswith("NC")
    if first:
        x = array.transpose(x, [0, *range(2, rank + 2), 1])
    patches = []
    for place in np.ndindex(*places):
        part = x[
            (slice(None), *(slice(p * s, p * s + w) for p, s, w in zip(place, step, window, strict=True)))
        ]  # fmt: skip
        if first:  # the kernel was laid out channels first
            part = array.transpose(part, [0, rank + 1, *range(1, rank + 1)])
        patches.append(array.reshape(part, [-1, kernel.shape.as_list()[1]]))
    made = math.matmul(array.stack(patches), kernel)  # [places, batch, out]
    outputs = kernel.shape.as_list()[2]
    made = array.reshape(array.transpose(made, [1, 0, 2]), [-1, *places, outputs])
    return array.transpose(made, [0, rank + 1, *range(1, rank + 1)]) if first else made


def pool2d(x: Any, pool_size: Any, strides: int | Sequence[int] = (1, 1), padding: str = "valid", data_format: str | None = None, pool_mode: str = "max") -> Tensor:  # fmt: skip
    """The largest value, or with ``pool_mode="avg"`` the mean, of windows of images."""
    return _pool(x, pool_size, strides, padding, data_format, pool_mode, 2)


def pool3d(x: Any, pool_size: Any, strides: int | Sequence[int] = (1, 1, 1), padding: str = "valid", data_format: str | None = None, pool_mode: str = "max") -> Tensor:  # fmt: skip
    """As `pool2d`, for volumes."""
    return _pool(x, pool_size, strides, padding, data_format, pool_mode, 3)


def _pool(
    x: Any, size: Any, strides: Any, padding: str, data_format: str | None, mode: str, rank: int
) -> Tensor:
    if mode not in ("max", "avg"):
        raise ValueError(f"pool_mode must be 'max' or 'avg', got {mode!r}.")
    return pool(
        x,
        _numbers(size, rank),
        mode.upper(),
        _padding(padding),
        strides=_numbers(strides, rank),
        data_format=_format(data_format, rank),
    )


def bias_add(x: Any, bias: Any, data_format: str | None = None) -> Tensor:
    """``x`` and a bias: a vector for the channels, or a tensor of ``x``'s shape without the examples."""
    x = convert_to_tensor(x)
    channels_first = _format(data_format, 2).startswith("NC")
    rank = x.shape.ndims or 2
    dims = bias.shape.as_list()
    if len(dims) not in (1, rank - 1):
        raise ValueError(
            f"bias_add: a bias of rank 1 or {rank - 1} is needed for x of rank {rank}, "
            f"got rank {len(dims)}."
        )
    first = channels_first and rank > 2
    if len(dims) == 1:
        if not first:
            return _bias_add(x, bias)
        return x + array.reshape(bias, [1, dims[0], *[1] * (rank - 2)])  # type: ignore[no-any-return]
    shaped = [dims[-1], *dims[:-1]] if first else dims  # Keras reshapes, it does not transpose
    return x + array.reshape(bias, [1, *shaped])  # type: ignore[no-any-return]
