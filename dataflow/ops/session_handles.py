"""Values that stay in the session: `get_session_handle` keeps one, `get_session_tensor` reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.dtypes import DType, as_dtype
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops.sources import placeholder
from dataflow.shapes import Dims

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession


@define_op("GetSessionHandle", "value: T -> handle: string", stateful=True)
def get_session_handle_op(value: Tensor) -> Dims:
    """Keeps a value in the session; the output names it. Shape: scalar."""
    return ()


@define_op("GetSessionTensor", "handle: string -> value: dtype", stateful=True)
def get_session_tensor_op(handle: Tensor, *, dtype: DType) -> Dims:
    """The value that a handle names. Shape: unknown."""
    return None


@define_op("DeleteSessionTensor", "handle: string", stateful=True)
def delete_session_tensor_op(handle: Tensor) -> list[Dims]:
    """Drops the value that a handle names."""
    return []


not_differentiable(get_session_handle_op, get_session_tensor_op, delete_session_tensor_op)


class TensorHandle:
    """What running `get_session_handle` returns: a name for a value that stays in the session."""

    def __init__(self, handle: str, dtype: DType, session: BaseSession) -> None:
        self.handle = handle
        self.dtype = dtype
        self._session = session

    def eval(self) -> Any:
        """The value."""
        with default_graph().as_default():
            holder, tensor = get_session_tensor(self.handle, self.dtype)
            return self._session.run(tensor, {holder: self.handle})

    def get_raw_handle(self) -> str:
        """The name alone, for `delete_session_tensor`."""
        return self.handle

    def delete(self) -> None:
        """Drops the value."""
        holder, deleter = delete_session_tensor(self.handle)
        self._session.run(deleter, {holder: self.handle})

    def __str__(self) -> str:
        return self.handle

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """The value, for a placeholder that is fed the handle itself."""
        return np.asarray(self.eval(), dtype)


def get_session_handle(data: TensorLike, name: str | None = None) -> Tensor:
    """A tensor that, when run, keeps ``data`` in the session and gives its handle."""
    if not isinstance(data, Tensor):
        raise TypeError("`data` must be of type Tensor.")
    return get_session_handle_op(data, name=name)  # type: ignore[no-any-return]


def get_session_tensor(
    handle: Any, dtype: DTypeLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """(placeholder for a handle, tensor with the value that it names)."""
    holder = placeholder("string", shape=[])
    return holder, get_session_tensor_op(holder, dtype=as_dtype(dtype), name=name)


def delete_session_tensor(handle: Any, name: str | None = None) -> tuple[Tensor, Any]:
    """(placeholder for a handle, operation that drops the value)."""
    holder = placeholder("string", shape=[])
    return holder, delete_session_tensor_op(holder, name=name)
