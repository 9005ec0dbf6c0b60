"""Kernels of values that stay in the session."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.array_types import Array
from dataflow.kernels.registry import kernel
from dataflow.kernels.text_decoding import text

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext

_numbers = itertools.count()


@kernel("GetSessionHandle", stateful=True)
def get_session_handle_kernel(ctx: KernelContext, value: Array) -> Any:
    name = f"{ctx.op_name};{next(_numbers)}"
    ctx.resources.put("", "session_tensor", name, ctx.xp.array(value))
    return np.array(name.encode(), dtype=object)


@kernel("GetSessionTensor", stateful=True)
def get_session_tensor_kernel(ctx: KernelContext, handle: Array) -> Any:
    found = ctx.resources.get("", "session_tensor", text(handle))
    if found is None:
        raise InvalidArgumentError(
            None, None, f"The tensor with handle {text(handle)!r} is not in the session store."
        )
    return found


@kernel("DeleteSessionTensor", stateful=True)
def delete_session_tensor_kernel(ctx: KernelContext, handle: Array) -> None:
    if ctx.resources.remove("", "session_tensor", text(handle)) is None:
        raise InvalidArgumentError(
            None, None, f"The tensor with handle {text(handle)!r} is not in the session store."
        )
