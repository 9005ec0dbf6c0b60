"""Operations that have run, and the keys of their kinds."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dataflow.dtypes import resource, variant
from dataflow.graph import tracebacks
from dataflow.graph.eager_tensor import EagerTensor
from dataflow.graph.op_def import OpDef, SharedAttrs
from dataflow.graph.operation import Operation

if TYPE_CHECKING:
    from dataflow.dtypes import DType
    from dataflow.graph.graph import Graph
    from dataflow.graph.tensor import Tensor


def hashable(value: Any) -> Any:
    """Attributes, or one of them, as a key of a dictionary."""
    if isinstance(value, dict):
        return tuple([(key, hashable(item)) for key, item in value.items()])
    if isinstance(value, (list, tuple)):
        return tuple([hashable(item) for item in value])
    return value


def key_of(attrs: dict[str, Any]) -> Any:
    """`hashable`, found once for attributes that operations share."""
    if type(attrs) is SharedAttrs:
        if attrs.key is None:
            attrs.key = hashable(attrs)
        return attrs.key
    return hashable(attrs)


def is_handle(dtype: DType) -> bool:
    """Whether tensors of a dtype are handles of a resource, without a value."""
    return dtype.is_handle or dtype is resource or dtype is variant


def makes_lists(op_def: OpDef, inputs: Sequence[Tensor]) -> bool:
    """Whether the variants that an operation makes are lists of tensors, which are values."""
    return op_def.makes_lists or any(
        t.dtype is variant and t.known_value is not None for t in inputs
    )


class Kind:
    """What operations of one kind share: op, attributes, resources, and the shapes and dtypes of inputs."""

    __slots__ = ("call", "dims", "dtypes", "node", "reads_values")

    def __init__(
        self,
        node: Operation,
        call: Callable[[list[Any]], Sequence[Any]],
        dims: list[Any],
        dtypes: list[DType],
        reads_values: bool,
    ) -> None:
        self.node = node
        #: Runs the node: f(values of the inputs that have some) -> those of the outputs.
        self.call = call
        self.dims = dims
        self.dtypes = dtypes
        #: Whether the shape rule looked at values, so that it has to be asked each time.
        self.reads_values = reads_values


class EagerOperation(Operation):
    """An operation that has run. ``kind`` is None if it made a constant or a resource.

    Its outputs hold it. From `release` on it does not hold them, so that the value of a tensor goes
    with the last that uses it, at once.
    """

    __slots__ = ("_made", "_released", "kind")

    def __init__(
        self,
        graph: Graph,
        name: str,
        op_def: OpDef,
        attrs: dict[str, Any],
        device: str,
        frames: tracebacks.RawFrames,
    ) -> None:
        self._released: list[tuple[weakref.ref[Tensor], DType, Any]] | None = None
        super().__init__(graph, name, op_def, [], (), attrs, device, frames)
        self.kind: Kind | None = None

    @property
    def outputs(self) -> list[Tensor]:
        """Its tensors; in place of one that is gone, another without a value."""
        if self._released is None:
            return self._made
        found = []
        for i, (ref, dtype, dims) in enumerate(self._released):
            tensor = ref()
            found.append(EagerTensor(self, i, dtype, dims) if tensor is None else tensor)
        return found

    @outputs.setter
    def outputs(self, tensors: list[Tensor]) -> None:
        self._made = tensors

    def release(self) -> None:
        self._released = [(weakref.ref(t), t.dtype, t.dims) for t in self._made]
        self._made = []
