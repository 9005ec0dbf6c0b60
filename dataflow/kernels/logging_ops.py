"""Assert and Print. Values are written as TensorFlow's ``SummarizeValue`` writes them."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel

_lock = threading.Lock()


def _host(value: Any) -> Any:
    get = getattr(value, "get", None)
    return np.asarray(get() if get is not None and not isinstance(value, dict) else value)


def element_text(value: Any) -> str:
    """One element: 6 digits (15 for float64), or 9 (17) where needed to tell values apart, strings as they are."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    if isinstance(value, (float, np.floating)):
        short, long = (
            ("%.15g", "%.17g") if np.dtype(type(value)).itemsize == 8 else ("%.6g", "%.9g")
        )
        text = short % value
        if type(value)(float(text)) != value and value == value:
            text = long % value
        return text
    if isinstance(value, (complex, np.complexfloating)):
        return f"({element_text(value.real)},{element_text(value.imag)})"
    return str(value)


def summarize_value(value: Any, limit: int) -> str:
    """The first ``limit`` values (all for -1), with ``[]`` around the rows of matrices."""
    array = _host(value)
    if limit < 0:
        limit = array.size
    flat = array.reshape(-1)
    shown = [element_text(v) for v in flat[:limit]]
    result: list[str] = []
    position = 0

    def walk(axis: int) -> None:
        nonlocal position
        if position >= limit and limit < array.size and axis:
            return
        if axis == array.ndim - 1:
            for i in range(array.shape[axis]):
                if position >= limit:
                    if axis:
                        result.append("...")
                    return
                if i:
                    result.append(" ")
                result.append(shown[position])
                position += 1
            return
        for _ in range(array.shape[axis]):
            inside = position < limit
            if inside:
                result.append("[")
            walk(axis + 1)
            if inside:
                result.append("]")

    if array.ndim:
        walk(0)
    else:
        result.extend(shown)
    if array.size > limit:
        result.append("...")
    return "".join(result)


@kernel("Assert", any_dtype=True)
def assert_kernel(xp: Module, condition: Array, data: list[Any], *, summarize: int) -> tuple[()]:
    if not condition:
        parts = " ".join(f"[{summarize_value(v, summarize)}]" for v in data)
        raise InvalidArgumentError(None, None, f"assertion failed: {parts}")
    return ()


@kernel("Print", stateful=True)
def print_kernel(
    context: Any, input: Any, data: list[Any], *, message: str, first_n: int, summarize: int
) -> Any:
    if first_n >= 0:
        with _lock:
            count = context.state.get("count", 0)
            context.state["count"] = count + 1
        if count >= first_n:
            return input
    text = message + "".join(f"[{summarize_value(v, summarize)}]" for v in data)
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
    return input


@kernel("PrintV2")
def print_v2_kernel(xp: Module, input: Array, *, output_stream: str, end: str) -> tuple[()]:
    value = np.asarray(input, object)[()]
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    if output_stream.startswith("file://"):
        with open(output_stream[len("file://") :], "a", encoding="utf-8") as file:
            file.write(text + end)
        return ()
    stream = sys.stdout if output_stream == "stdout" else sys.stderr
    stream.write(text + end)
    stream.flush()
    return ()


def formatted(value: Any, summarize: int) -> str:
    """A tensor as ``tf.print`` shows it: ``[1 2 3 ... 8 9 10]``, rows on lines of their own."""
    array = _host(value)
    if not array.ndim:
        return element_text(array[()])
    return _formatted(array, summarize, 1)


def _element(value: Any) -> str:
    if isinstance(value, bytes):
        return f'"{value.decode("utf-8", "replace")}"'
    return element_text(value)


def _formatted(array: Array, summarize: int, depth: int) -> str:
    n = array.shape[0]
    last = array.ndim == 1
    cut = summarize >= 0 and n > 2 * summarize

    def one(i: int) -> str:
        return _element(array[i]) if last else _formatted(array[i], summarize, depth + 1)

    if cut:
        first = [one(i) for i in range(summarize)]
        end = [one(i) for i in range(n - summarize, n)]
        parts = [*first, "...", *end]
    else:
        parts = [one(i) for i in range(n)]
    separator = " " if last else "\n" * (array.ndim - 1) + " " * depth
    return "[" + separator.join(parts) + "]"


@kernel("Timestamp")
def timestamp_kernel(xp: Module) -> Any:
    return np.float64(time.time())
