"""Which places of an input a convolution connects with which of its output: ``keras.utils.conv_utils``."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

__all__ = [
    "conv_connected_inputs",
    "conv_kernel_idxs",
    "conv_kernel_mask",
    "conv_output_length",
    "conv_output_shape",
]


def _checked(
    input_shape: Sequence[int],
    kernel_shape: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The kernel and the strides for each axis.

    Raises `NotImplementedError` for another padding than "same" and "valid", `ValueError` for other numbers of axes.
    """
    if padding not in ("same", "valid"):
        raise NotImplementedError(
            f'Padding type {padding} not supported. Only "valid" and "same" are implemented.'
        )
    rank = len(input_shape)
    kernel = (kernel_shape,) * rank if isinstance(kernel_shape, int) else tuple(kernel_shape)
    steps = (strides,) * rank if isinstance(strides, int) else tuple(strides)
    if not len(kernel) == len(steps) == rank:
        raise ValueError(
            "Number of strides, input and kernel dimensions must all match. Received: "
            f"{len(steps)}, {rank}, {len(kernel)}."
        )
    return kernel, steps


def conv_output_length(
    input_length: int | None, filter_size: int, padding: str, stride: int, dilation: int = 1
) -> int | None:
    """How many positions a filter has along an axis; None where the input's length is None."""
    if input_length is None:
        return None
    assert padding in ("same", "valid", "full", "causal"), padding
    sign = {"valid": -1, "full": 1}.get(padding, 0)  # "same" and "causal" keep the length
    return int((input_length + sign * (filter_size - 1) * dilation + stride - 1) // stride)


def conv_output_shape(
    input_shape: Sequence[int], kernel_shape: Sequence[int], strides: Sequence[int], padding: str
) -> tuple[int, ...]:
    """The spatial sizes after a convolution; an axis without places stays without."""
    axes = zip(input_shape, kernel_shape, strides, strict=True)
    return tuple(
        (conv_output_length(size, kernel, padding, step) or 0) if size else 0
        for size, kernel, step in axes
    )


def conv_connected_inputs(
    input_shape: Sequence[int],
    kernel_shape: Sequence[int],
    output_position: Sequence[int],
    strides: Sequence[int],
    padding: str,
) -> list[range]:
    """For each axis, the places of the input that one place of the output sees."""
    found = []
    for size, kernel, place, step in zip(
        input_shape, kernel_shape, output_position, strides, strict=True
    ):
        first = place * step - (0 if padding == "valid" else kernel // 2)
        found.append(range(max(0, first), min(size, first + kernel)))
    return found


def _pairs(
    input_shape: Sequence[int],
    kernel_shape: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str,
) -> tuple[tuple[int, ...], Iterator[tuple[tuple[int, ...], tuple[int, ...]]]]:
    """The output's sizes, and (place of the input, place of the output) for each connection."""
    kernel, steps = _checked(input_shape, kernel_shape, strides, padding)
    sizes = conv_output_shape(input_shape, kernel, steps, padding)

    def each() -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        for after in itertools.product(*map(range, sizes)):
            seen = conv_connected_inputs(input_shape, kernel, after, steps, padding)
            for before in itertools.product(*seen):
                yield before, after

    return sizes, each()


def conv_kernel_mask(
    input_shape: tuple[int, ...],
    kernel_shape: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str,
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """bool[*input sizes, *output sizes]: which places are connected.

    Raises `NotImplementedError` for another padding than "same" and "valid", `ValueError` for other numbers of axes.
    """
    sizes, connected = _pairs(input_shape, kernel_shape, strides, padding)
    mask = np.zeros((*input_shape, *sizes), bool)
    for before, after in connected:
        mask[before + after] = True
    return mask


def conv_kernel_idxs(
    input_shape: tuple[int, ...],
    kernel_shape: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str,
    filters_in: int,
    filters_out: int,
    data_format: str,
) -> Iterator[tuple[int, int]]:
    """(index of the output, index of the input) in flat images, for each weight of each connection.

    Raises as `conv_kernel_mask` does, and `ValueError` for another data format.
    """
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(
            f'Data format {data_format} not recognized: it must be "channels_first" or "channels_last".'
        )
    sizes, connected = _pairs(input_shape, kernel_shape, strides, padding)

    def flat(place: tuple[int, ...], shape: tuple[int, ...], channel: int, channels: int) -> int:
        if data_format == "channels_first":
            return int(np.ravel_multi_index((channel, *place), (channels, *shape)))
        return int(np.ravel_multi_index((*place, channel), (*shape, channels)))

    for before, after in connected:
        for i in range(filters_in):
            for o in range(filters_out):
                yield flat(after, sizes, o, filters_out), flat(before, input_shape, i, filters_in)
