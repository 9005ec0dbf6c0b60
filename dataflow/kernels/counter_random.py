"""Kernels of random ops of a key and a counter: TensorFlow's numbers from that place of its stream on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.errors import InvalidArgumentError
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel
from dataflow.kernels.tensorflow_random import TensorFlowStream

_PHILOX = 1


def _stream(key: Any, counter: Any, alg: Any) -> TensorFlowStream:
    if int(alg) != _PHILOX:
        raise InvalidArgumentError(None, None, f"Unsupported algorithm id: {int(alg)}")
    low, high = counter.tolist()
    stream = TensorFlowStream(int(key.reshape(-1)[0]), high)
    stream.blocks = low
    return stream


def _drawn(xp: Module, shape: Any, draw: Callable[[int], Any]) -> Any:
    sizes = tuple(int(size) for size in shape.tolist())
    return xp.asarray(draw(int(np.prod(sizes, dtype=np.int64)))).reshape(sizes)


def _floats(op_type: str, draw: Callable[[TensorFlowStream, int, Any], Any]) -> None:
    def run(
        xp: Module, shape: Array, key: Array, counter: Array, alg: Array, *, dtype: DType
    ) -> Any:
        stream = _stream(key, counter, alg)
        return _drawn(xp, shape, lambda count: draw(stream, count, dtype.numpy))

    kernel(op_type, any_dtype=True)(run)


_floats("StatelessRandomUniformV2", TensorFlowStream.uniform)
_floats("StatelessRandomNormalV2", TensorFlowStream.standard_normal)
_floats("StatelessTruncatedNormalV2", TensorFlowStream.truncated_normal)


@kernel("StatelessRandomUniformIntV2")
def counter_uniform_int_kernel(
    xp: Module, shape: Array, key: Array, counter: Array, alg: Array, minval: Array, maxval: Array
) -> Any:
    low, high = int(minval), int(maxval)
    if low >= high:
        raise InvalidArgumentError(None, None, f"Need minval < maxval, got {low} >= {high}")
    stream = _stream(key, counter, alg)
    return _drawn(xp, shape, lambda count: stream.integers(low, high, count, minval.dtype))


@kernel("StatelessRandomUniformFullIntV2", any_dtype=True)
def counter_full_int_kernel(
    xp: Module, shape: Array, key: Array, counter: Array, alg: Array, *, dtype: DType
) -> Any:
    stream = _stream(key, counter, alg)
    return _drawn(xp, shape, lambda count: stream.bits(count, dtype.numpy))
