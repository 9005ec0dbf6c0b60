"""What ``tensorflow.python.layers.utils`` had for layers of one's own: sizes, paddings and axes."""

from __future__ import annotations

from dataflow.keras import backend as K
from dataflow.keras.convolution_masks import conv_output_length as conv_output_length
from dataflow.layers.base import smart_cond
from dataflow.layers.layer_arguments import pair as normalize_tuple
from dataflow.ops.tensor_values import constant_value
from dataflow.python.framework.smart_cond import smart_constant_value

__all__ = [
    "constant_value",
    "conv_input_length",
    "conv_output_length",
    "convert_data_format",
    "deconv_output_length",
    "normalize_data_format",
    "normalize_padding",
    "normalize_tuple",
    "smart_cond",
    "smart_constant_value",
]


def _one_of(value: str, words: tuple[str, ...], what: str) -> str:
    lower = value.lower()
    if lower not in words:
        raise ValueError(f"The `{what}` argument must be one of {words}. Received: {value}")
    return lower


def normalize_data_format(value: str | None) -> str:
    """ "channels_last" or "channels_first", in lower case; the backend's own for None.

    Raises `ValueError` for anything else.
    """
    return _one_of(
        value or K.image_data_format(), ("channels_first", "channels_last"), "data_format"
    )


def normalize_padding(value: str) -> str:
    """ "valid" or "same", in lower case; raises `ValueError` for anything else."""
    return _one_of(value, ("valid", "same"), "padding")


def convert_data_format(data_format: str, ndim: int) -> str:
    """ "NHWC" and its like for a layer's inputs of ``ndim`` axes.

    Raises `ValueError` for other numbers of axes than 3 to 5, or another format.
    """
    if ndim not in (3, 4, 5):
        raise ValueError(f"Input rank not supported: {ndim}")
    axes = "DHW"[5 - ndim :]
    return {"channels_last": f"N{axes}C", "channels_first": f"NC{axes}"}[
        normalize_data_format(data_format)
    ]


def conv_input_length(
    output_length: int | None, filter_size: int, padding: str, stride: int
) -> int | None:
    """The shortest input that a convolution turns into ``output_length`` positions."""
    if output_length is None:
        return None
    pad = {"same": filter_size // 2, "valid": 0, "full": filter_size - 1}[padding]
    return int((output_length - 1) * stride - 2 * pad + filter_size)


def deconv_output_length(
    input_length: int | None, filter_size: int, padding: str, stride: int
) -> int | None:
    """How long the result of a transposed convolution is."""
    if input_length is None:
        return None
    more = {"valid": max(filter_size - stride, 0), "full": -(stride + filter_size - 2)}
    return int(input_length * stride + more.get(padding, 0))
