"""Values made of several tensors: what passes through a loop or a conditional in their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.nest import flatten
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.indexed_slices import IndexedSlices

Rebuild = Callable[[list[Any]], Any]


def parts_of(value: Any) -> tuple[list[Any], Rebuild] | None:
    """The tensors of a `TensorArray`, `IndexedSlices`, `SparseTensor`, and how to rebuild it.

    Other classes (`RaggedTensor`, `Optional`) have a method ``_composite_parts`` that says so. ``None`` for
    anything else.
    """
    if isinstance(value, Tensor):
        return None
    if isinstance(value, IndexedSlices):
        if value.dense_shape is None:
            return [value.values, value.indices], lambda p: IndexedSlices(p[0], p[1])
        return [value.values, value.indices, value.dense_shape], lambda p: IndexedSlices(*p)
    name = type(value).__name__
    if name == "TensorArray" and hasattr(value, "flow"):
        return [value.flow], lambda p: value.with_flow(p[0])
    if name == "SparseTensor" and hasattr(value, "dense_shape"):
        made = type(value)
        parts = [value.indices, value.values, value.dense_shape]
        return parts, lambda p: made(indices=p[0], values=p[1], dense_shape=p[2])
    of_class = getattr(type(value), "_composite_parts", None)
    return None if not callable(of_class) else of_class(value)


def expand(value: TensorLike) -> tuple[list[Any], Rebuild]:
    """The tensors that stand for a leaf; Python values are converted."""
    found = parts_of(value)
    if found is not None:
        return found
    return [convert_to_tensor(value)], _first


def _first(parts: list[Any]) -> Any:
    return parts[0]


class Leaves:
    """The leaves of a structure, each expanded into tensors.

    ``tensors`` is the flat list; `rebuild` takes as many values and gives the structure again.
    """

    def __init__(self, structure: Any) -> None:
        self.structure = structure
        self.leaves = flatten(structure)
        self.tensors: list[Any] = []
        self.counts: list[int] = []
        self._rebuilds: list[Rebuild] = []
        for leaf in self.leaves:
            parts, rebuild = expand(leaf)
            self.tensors.extend(parts)
            self.counts.append(len(parts))
            self._rebuilds.append(rebuild)

    def rebuild_leaves(self, values: list[Any]) -> list[Any]:
        """The leaves made of ``values``."""
        result, position = [], 0
        for count, rebuild in zip(self.counts, self._rebuilds, strict=True):
            result.append(rebuild(values[position : position + count]))
            position += count
        return result

    def rebuild(self, values: list[Any]) -> Any:
        """The structure made of ``values``."""
        from dataflow.graph.nest import pack_like

        return pack_like(self.structure, self.rebuild_leaves(values))
