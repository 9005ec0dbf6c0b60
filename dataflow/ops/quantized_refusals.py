"""Quantized neural-net ops of TensorFlow, which this engine refuses in so many words.

TensorFlow's course code has no use for them: they serve models that were converted for phones.
"""

from __future__ import annotations

from typing import Any, NoReturn

from dataflow.errors import UnimplementedError


def _refuse(name: str, instead: str) -> Any:
    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        raise UnimplementedError(
            None,
            None,
            f"tf.nn.{name}: there are no kernels for 8-bit tensors here. Use {instead} on "
            "floating tensors; tf.quantize and tf.dequantize convert.",
        )

    refused.__name__ = refused.__qualname__ = name
    refused.__doc__ = f"Refused: use {instead}. Raises `UnimplementedError`."
    return refused


quantized_avg_pool = _refuse("quantized_avg_pool", "tf.nn.avg_pool")
quantized_conv2d = _refuse("quantized_conv2d", "tf.nn.conv2d")
quantized_max_pool = _refuse("quantized_max_pool", "tf.nn.max_pool")
quantized_relu_x = _refuse("quantized_relu_x", "tf.nn.relu6")
