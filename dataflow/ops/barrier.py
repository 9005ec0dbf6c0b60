"""`Barrier`: tuples whose components arrive one by one, under keys."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import DType, as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.declared_ops import declare_op
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims, as_dims

barrier_op = declare_op(
    "Barrier",
    "-> handle: resource",
    "A map from keys to tuples, whose components are put in one by one. A scalar handle.",
    attrs="component_types: list[DType], shapes: list[Shape] = (), capacity: int = -1, "
    "container: str = '', shared_name: str = ''",
    stateful=True,
    is_handle=True,
)
barrier_insert_many_op = declare_op(
    "BarrierInsertMany",
    "handle: resource, keys: string, values: T",
    "Puts component ``component_index`` of several keys in.",
    attrs="component_index: int",
    stateful=True,
)


@define_op(
    "BarrierTakeMany",
    "handle: resource, num_elements: int32 "
    "-> indices: int64, keys: string, values: list(component_types)",
    stateful=True,
    blocks=True,
)
def barrier_take_many_op(
    handle: Tensor,
    num_elements: Tensor,
    *,
    component_types: list[DType],
    allow_small_batch: bool = False,
    wait_for_incomplete: bool = False,
    timeout_ms: int = -1,
) -> list[Dims]:
    """Takes that many complete tuples out, in the order of their first insertion; waits."""
    return [(None,), (None,), *[None] * len(component_types)]


@define_op("BarrierClose", "handle: resource", stateful=True)
def barrier_close_op(handle: Tensor, *, cancel_pending_enqueues: bool = False) -> list[Dims]:
    """No new keys from now on; with ``cancel_pending_enqueues`` no further components either."""
    return []


barrier_ready_size_op = declare_op(
    "BarrierReadySize",
    "handle: resource -> size: int32",
    "How many tuples are complete, a scalar.",
    stateful=True,
)
barrier_incomplete_size_op = declare_op(
    "BarrierIncompleteSize",
    "handle: resource -> size: int32",
    "How many tuples still miss a component, a scalar.",
    stateful=True,
)


class Barrier:
    """Tuples by key, complete once every component was inserted; then they can be taken out."""

    def __init__(
        self, types: Any, shapes: Any = None, shared_name: str | None = None, name: str = "barrier"
    ) -> None:
        self._types = [
            as_dtype(t) for t in (types if isinstance(types, (list, tuple)) else [types])
        ]
        dims = [] if shapes is None else [as_dims(s) for s in shapes]
        if dims and len(dims) != len(self._types):
            raise ValueError("Barrier: shapes must have the same length as types.")
        self._dims = dims or [None] * len(self._types)
        self._barrier_ref = barrier_op(
            component_types=self._types, shapes=dims, shared_name=shared_name or "", name=name
        )
        self._name = self._barrier_ref.op.name.split("/")[-1]

    @property
    def barrier_ref(self) -> Tensor:
        """The handle."""
        return self._barrier_ref  # type: ignore[no-any-return]

    @property
    def name(self) -> str:
        """The name of the barrier's operation."""
        return str(self._barrier_ref.op.name)

    def insert_many(
        self, component_index: int, keys: TensorLike, values: TensorLike, name: str | None = None
    ) -> Any:
        """An operation that puts one component of several keys in."""
        return barrier_insert_many_op(
            self._barrier_ref,
            keys,
            convert_to_tensor(values, self._types[component_index]),
            component_index=component_index,
            name=name or f"{self._name}_BarrierInsertMany",
        )

    def take_many(
        self,
        num_elements: Any,
        allow_small_batch: bool = False,
        timeout: Any = None,
        name: str | None = None,
    ) -> Any:
        """(indices, keys, list of values) of that many complete tuples; waits for them."""
        result = barrier_take_many_op(
            self._barrier_ref,
            num_elements,
            component_types=self._types,
            allow_small_batch=allow_small_batch,
            timeout_ms=-1 if timeout is None else timeout,
            name=name or f"{self._name}_BarrierTakeMany",
        )
        known = None if allow_small_batch else static_value(convert_to_tensor(num_elements))
        count = None if known is None else int(known)
        result.indices.set_shape((count,))
        result.keys.set_shape((count,))
        for tensor, dims in zip(result.values, self._dims, strict=True):
            tensor.set_shape(None if dims is None else (count, *dims))
        return result

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Any:
        """An operation that closes the barrier."""
        return barrier_close_op(
            self._barrier_ref,
            cancel_pending_enqueues=cancel_pending_enqueues,
            name=name or f"{self._name}_BarrierClose",
        )

    def ready_size(self, name: str | None = None) -> Tensor:
        """How many tuples are complete."""
        return barrier_ready_size_op(  # type: ignore[no-any-return]
            self._barrier_ref, name=name or f"{self._name}_BarrierReadySize"
        )

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """How many tuples still miss a component."""
        return barrier_incomplete_size_op(  # type: ignore[no-any-return]
            self._barrier_ref, name=name or f"{self._name}_BarrierIncompleteSize"
        )


not_differentiable(barrier_take_many_op, barrier_close_op)
