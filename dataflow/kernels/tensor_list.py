"""Lists of tensors: ``()`` is the empty one, ``(rest, last)`` any other. Stacks: Python lists.

A pair shares its rest with the list it was made from, so that push and pop cost the same whatever
the length. The compiled plan writes both as tuple expressions (`runtime.codegen`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.indexed_list import popped
from dataflow.kernels.item_list import ItemList, pushed, read_sizes
from dataflow.kernels.registry import kernel

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext


@kernel("EmptyTensorList")
def empty_tensor_list_kernel(xp: Module, element_shape: Array, max_num_elements: Array) -> Any:
    sizes = read_sizes(element_shape)
    if sizes is None and max_num_elements < 0:
        return ()
    return ItemList([], sizes, int(max_num_elements))


@kernel("TensorListPushBack")
def tensor_list_push_back_kernel(xp: Module, input_handle: Any, tensor: Array) -> Any:
    return pushed(input_handle, tensor)


@kernel("TensorListPopBack")
def tensor_list_pop_back_kernel(
    xp: Module, input_handle: Any, element_shape: Array, *, element_dtype: Any
) -> Any:
    if isinstance(input_handle, tuple) and input_handle:
        return input_handle
    if input_handle:
        return popped(xp, input_handle, element_shape, element_dtype)
    shape = tuple(np.asarray(element_shape).reshape(-1).tolist())
    if element_dtype.kind == "x":
        return (), ()
    if np.ndim(element_shape) == 0 or any(d < 0 for d in shape):
        raise InvalidArgumentError(None, None, "Trying to pop from an empty list.")
    zeros = xp.zeros(shape, element_dtype.numpy)
    return (), (zeros if shape else zeros[()])


@kernel("StackV2", stateful=True)
def stack_v2_kernel(context: KernelContext, max_size: Array) -> Any:
    return []


@kernel("StackPushV2")
def stack_push_v2_kernel(xp: Module, handle: Any, elem: Array) -> Any:
    handle.append(elem)
    return elem


@kernel("StackPopV2")
def stack_pop_v2_kernel(xp: Module, handle: Any) -> Any:
    if not handle:
        raise InvalidArgumentError(None, None, "Stack is empty when calling Pop().")
    return handle.pop()


@kernel("StackCloseV2")
def stack_close_v2_kernel(xp: Module, handle: Any) -> tuple[()]:
    handle.clear()
    return ()
