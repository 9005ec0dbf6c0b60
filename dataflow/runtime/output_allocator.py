"""Results computed directly in the memory that they are sent from.

A result that one task of a cluster sends to another is copied into memory that both can read. This
module saves the copy: the function of a segment takes one more argument, an *output allocator*, and a
kernel with an ``out`` parameter writes into an array of that dtype and shape from the allocator. A variable's value
is copied there as it is read, under the variable's lock; otherwise an update in the meantime would
have to leave the array to the reader and make a new one.

Without an allocator, when it returns ``None``, and when a result turns out to have another shape than
the graph says, results get memory of their own as usual.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dataflow.dtypes import bfloat16
from dataflow.graph.tensor import Tensor
from dataflow.kernels.loader import get_kernel

if TYPE_CHECKING:
    from dataflow.runtime.codegen import Generator

#: The argument's name in the generated function.
ALLOCATOR = "allocator"

_OPERATORS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide}


class OutputAllocator(Protocol):
    """Provides buffers for results: the connection that sends them."""

    def allocate(self, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray | None:
        """An uninitialized array to write to; ``None`` if the result should have memory of its own."""


def num_bytes(tensor: Tensor) -> int:
    """The size of a value in bytes; 0 where it is unknown, or the value is no array of numbers."""
    dims, dtype = tensor.dims, tensor.dtype.base_dtype
    if dims is None or None in dims or dtype.kind not in "iufc" or dtype is bfloat16:
        return 0
    return math.prod(d or 0 for d in dims) * int(np.dtype(dtype.as_numpy_dtype).itemsize)


def write_to_allocated(generator: Generator, preallocated: set[Tensor]) -> None:
    """Rewrites the lines that compute these values, where their kernels take ``out``."""
    for i, line in enumerate(generator.lines):
        op, operands = line.op, line.operands
        if (
            op is None
            or not line.has_one_result
            or len(op.outputs) != 1
            or op.outputs[0] not in preallocated
        ):
            continue
        number = generator.numbers[op]
        bound = generator.globals.get(f"k{number}")
        _, _, right = line.text.partition(" = ")
        function = None
        if isinstance(bound, np.ufunc):
            function = _by_ufunc(bound, op.outputs[0])
        elif bound is not None:
            found = get_kernel(op.type)
            if found is not None and found.takes_out:
                function = _by_kernel(bound, op.outputs[0])
        elif len(operands) == 2:
            symbol = right.removeprefix(operands[0]).removesuffix(operands[1]).strip()
            if symbol in _OPERATORS:
                function = _by_ufunc(_OPERATORS[symbol], op.outputs[0])
        if function is None:
            continue
        generator.globals[f"l{number}"] = function
        text = f"{line.sets[0]} = l{number}({ALLOCATOR}, {', '.join(operands)})"
        # Without operands: it must not reuse another value's buffer.
        generator.lines[i] = line._replace(text=text, operands=())


def reader(tensor: Tensor) -> Callable[[OutputAllocator | None, Any], Any]:
    """A function of the allocator and a variable that returns the variable's value."""
    dtype, shape = _kind(tensor)

    def read(allocator: OutputAllocator | None, ref: Any) -> Any:
        if allocator is None:
            return ref.read()
        with ref.lock:
            array = ref.read()
            if type(array) is not np.ndarray or array.shape != shape or array.dtype != dtype:
                return array
            out = allocator.allocate(dtype, shape)
            if out is None:
                return array
            out[...] = array
            return out

    return read


def _kind(tensor: Tensor) -> tuple[np.dtype, tuple[int, ...]]:
    assert tensor.dims is not None
    return np.dtype(tensor.dtype.base_dtype.as_numpy_dtype), tuple(int(d or 0) for d in tensor.dims)


def _by_kernel(bound: Callable[..., Any], tensor: Tensor) -> Callable[..., Any]:
    dtype, shape = _kind(tensor)

    def call(allocator: OutputAllocator | None, *inputs: Any) -> Any:
        if allocator is None:
            return bound(*inputs)
        return bound(*inputs, out=allocator.allocate(dtype, shape))

    return call


def _by_ufunc(ufunc: Callable[..., Any], tensor: Tensor) -> Callable[..., Any]:
    dtype, shape = _kind(tensor)

    def call(allocator: OutputAllocator | None, *inputs: Any) -> Any:
        if allocator is None:
            return ufunc(*inputs)
        has_shape = False
        for x in inputs:
            given = x.shape if isinstance(x, np.ndarray | np.generic) else np.shape(x)
            if given == shape:
                has_shape = True
            elif given != shape[len(shape) - len(given) :]:
                return ufunc(*inputs)
        if not has_shape:
            return ufunc(*inputs)
        return ufunc(*inputs, out=allocator.allocate(dtype, shape))

    return call
