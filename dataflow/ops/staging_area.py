"""`StagingArea`: values that one run puts in and a later one takes out."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.declared_ops import declare_op
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.shapes import as_dims

stage_op = declare_op(
    "Stage",
    "values: list(dtypes)",
    "Puts a tuple into a staging area; waits while it is full.",
    attrs="capacity: int = 0, memory_limit: int = 0, container: str = '', shared_name: str = ''",
    stateful=True,
    blocks=True,
)

unstage_op = declare_op(
    "Unstage",
    "-> values: list(dtypes)",
    "Takes the oldest tuple out of a staging area; waits for one.",
    None,
    attrs="capacity: int = 0, memory_limit: int = 0, dtypes: list[DType], "
    "container: str = '', shared_name: str = ''",
    stateful=True,
    blocks=True,
)

stage_peek_op = declare_op(
    "StagePeek",
    "index: int32 -> values: list(dtypes)",
    "The tuple at ``index``, which stays; waits until there are so many.",
    None,
    attrs="capacity: int = 0, memory_limit: int = 0, dtypes: list[DType], "
    "container: str = '', shared_name: str = ''",
    stateful=True,
    blocks=True,
)

stage_size_op = declare_op(
    "StageSize",
    "-> size: int32",
    "The number of tuples, a scalar.",
    attrs="capacity: int = 0, memory_limit: int = 0, dtypes: list[DType], "
    "container: str = '', shared_name: str = ''",
    stateful=True,
)

stage_clear_op = declare_op(
    "StageClear",
    "",
    "Empties the staging area.",
    attrs="capacity: int = 0, memory_limit: int = 0, dtypes: list[DType], "
    "container: str = '', shared_name: str = ''",
    stateful=True,
)


class BaseStagingArea:
    """What areas have in common: the components, the limits, and the name that their operations share."""

    def __init__(
        self,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        self._dtypes = [as_dtype(d) for d in dtypes]
        self._dims = [None] * len(self._dtypes) if shapes is None else [as_dims(s) for s in shapes]
        if len(self._dims) != len(self._dtypes):
            raise ValueError("StagingArea shapes must be the same length as dtypes")
        self._names = names
        self._name = shared_name or default_graph().unique_name(type(self).__name__)
        self._attrs: dict[str, Any] = {
            "capacity": capacity,
            "memory_limit": memory_limit,
            "shared_name": self._name,
        }

    @property
    def name(self) -> str:
        """The name that the operations share."""
        return self._name


class StagingArea(BaseStagingArea):
    """A small queue between two parts of the graph, so that they may overlap.

    ``dtypes``, ``shapes`` and ``names`` of the components; ``capacity`` 0: no limit.
    """

    def put(self, values: Any, name: str | None = None) -> Any:
        """An operation that puts a tuple in: a list, or a dict by names."""
        if isinstance(values, dict):
            values = [values[n] for n in self._names]
        elif not isinstance(values, (list, tuple)):
            values = [values]
        tensors = [convert_to_tensor(v, d) for v, d in zip(values, self._dtypes, strict=True)]
        return stage_op(tensors, name=name or f"{self._name}_put", **self._attrs)

    def _shaped(self, result: Any) -> Any:
        for tensor, dims in zip(result, self._dims, strict=True):
            tensor.set_shape(dims)
        if self._names:
            return dict(zip(self._names, result, strict=True))
        return list(result)

    def get(self, name: str | None = None) -> Any:
        """Takes the oldest tuple out; waits for one."""
        name = name or f"{self._name}_get"
        return self._shaped(unstage_op(dtypes=self._dtypes, name=name, **self._attrs))

    def peek(self, index: Any, name: str | None = None) -> Any:
        """The tuple at ``index``, which stays; waits until there are so many."""
        name = name or f"{self._name}_peek"
        return self._shaped(stage_peek_op(index, dtypes=self._dtypes, name=name, **self._attrs))

    def size(self, name: str | None = None) -> Tensor:
        """The number of tuples."""
        return stage_size_op(dtypes=self._dtypes, name=name or f"{self._name}_size", **self._attrs)  # type: ignore[no-any-return]

    def clear(self, name: str | None = None) -> Any:
        """An operation that empties the area."""
        return stage_clear_op(
            dtypes=self._dtypes, name=name or f"{self._name}_clear", **self._attrs
        )
