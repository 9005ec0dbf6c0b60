"""`MapStagingArea`: values that one run puts in under a key, whole or in parts, and a later one takes out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dataflow.dtypes import as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.declared_ops import declare_op
from dataflow.graph.op_def import OpDef
from dataflow.graph.tensor import Tensor
from dataflow.ops.staging_area import BaseStagingArea

_ATTRS = (
    "capacity: int = 0, memory_limit: int = 0, dtypes: list[DType], container: str = '', "
    "shared_name: str = ''"
)


def _declare(
    name: str, signature: str, text: str, shape: Any = (), blocks: bool = False
) -> dict[bool, OpDef]:
    """The two ops of a name: of areas in any order (False), and of areas in the order of the keys."""
    return {
        ordered: declare_op(
            f"{'Ordered' if ordered else ''}{name}",
            signature,
            text,
            shape,
            attrs=_ATTRS,
            stateful=True,
            blocks=blocks,
        )
        for ordered in (False, True)
    }


map_stage_ops = _declare(
    "MapStage",
    "key: int64, indices: int32, values: list(fake_dtypes)",
    "Puts the parts ``indices`` of a tuple in under a key; waits while the area is full.",
    blocks=True,
)
map_unstage_ops = _declare(
    "MapUnstage",
    "key: int64, indices: int32 -> values: list(dtypes)",
    "Takes the parts ``indices`` of the tuple of a key out; waits for the tuple to be whole.",
    None,
    blocks=True,
)
map_unstage_no_key_ops = _declare(
    "MapUnstageNoKey",
    "indices: int32 -> key: int64, values: list(dtypes)",
    "Takes parts of any whole tuple out (ordered: of that with the smallest key); waits for one.",
    [(), None],
    blocks=True,
)
map_peek_ops = _declare(
    "MapPeek",
    "key: int64, indices: int32 -> values: list(dtypes)",
    "The parts ``indices`` of the tuple of a key, which stays; waits for the tuple to be whole.",
    None,
    blocks=True,
)
map_size_ops = _declare("MapSize", "-> size: int32", "The number of whole tuples, a scalar.")
map_incomplete_size_ops = _declare(
    "MapIncompleteSize", "-> size: int32", "The number of tuples that lack parts, a scalar."
)
map_clear_ops = _declare("MapClear", "", "Empties the area.")


class MapStagingArea(BaseStagingArea):
    """Tuples under keys (int64 scalars), between two parts of the graph, so that they may overlap.

    ``dtypes``, ``shapes`` and ``names`` of the components; ``capacity`` and ``memory_limit`` (bytes) 0: no
    limit. With ``ordered`` the tuples of unnamed keys come in the order of their keys.
    """

    def __init__(
        self,
        dtypes: Any,
        shapes: Any = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        ordered: bool = False,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)
        if names is not None and len(names) != len(self._dtypes):
            raise ValueError("StagingArea names must be the same length as dtypes")
        self._ordered = bool(ordered)
        self._attrs["dtypes"] = self._dtypes

    def _places(self, indices: Any) -> list[int]:
        """The numbers of components, given so or by their names; all of them for None."""
        if indices is None:
            return list(range(len(self._dtypes)))
        found = []
        for index in indices:
            if isinstance(index, str):
                if self._names is None or index not in self._names:
                    raise ValueError(
                        f"Named index '{index}' is not one of the names {self._names} of this StagingArea."
                    )
                index = list(self._names).index(index)
            if not 0 <= index < len(self._dtypes):
                raise ValueError(
                    f"There is no component {index}: this area has {len(self._dtypes)}, numbered from 0."
                )
            found.append(int(index))
        return found

    def _parts(self, vals: Any, indices: Any) -> Iterator[tuple[int, Tensor]]:
        if isinstance(vals, dict):
            indices, vals = list(vals), list(vals.values())
        elif not isinstance(vals, (list, tuple)):
            raise ValueError(
                f"The values to put must be a dict, a list or a tuple, got {type(vals).__name__}."
            )
        elif indices is None:
            raise ValueError("Indices must be supplied when inserting a list of tensors")
        if len(indices) != len(vals):
            raise ValueError(
                f"There must be an index for each value, got {len(indices)} and {len(vals)}."
            )
        for place, value in zip(self._places(indices), vals, strict=True):
            tensor = convert_to_tensor(value, self._dtypes[place])
            if not tensor.shape.is_compatible_with(self._dims[place]):
                raise ValueError(
                    f"Component {place} must have shape {self._dims[place]}, got {tensor.shape}."
                )
            yield place, tensor

    def put(self, key: Any, vals: Any, indices: Any = None, name: str | None = None) -> Any:
        """An operation that puts values in under a key: a dict by names, or a list with its ``indices``."""
        parts = dict(self._parts(vals, indices))
        op = map_stage_ops[self._ordered]
        key = convert_to_tensor(key, as_dtype("int64"))
        return op(
            key, list(parts), list(parts.values()), name=name or f"{self._name}_put", **self._attrs
        )

    def _shaped(self, tensors: Any, places: list[int]) -> Any:
        for tensor, place in zip(tensors, places, strict=True):
            tensor.set_shape(self._dims[place])
        if self._names is None:
            return list(tensors)
        return {self._names[p]: t for p, t in zip(places, tensors, strict=True)}

    def _of(self, places: list[int]) -> dict[str, Any]:
        return {**self._attrs, "dtypes": [self._dtypes[place] for place in places]}

    def get(self, key: Any = None, indices: Any = None, name: str | None = None) -> Any:
        """(key, values): takes the values of a key out, or of any key; waits for all of its values.

        Without ``indices`` (numbers or names) all of them; others stay until they are taken.
        """
        places = self._places(indices)
        name = name or f"{self._name}_get"
        if key is None:
            made = map_unstage_no_key_ops[self._ordered](places, name=name, **self._of(places))
            return made[0], self._shaped(made[1], places)
        key = convert_to_tensor(key, as_dtype("int64"))
        found = map_unstage_ops[self._ordered](key, places, name=name, **self._of(places))
        return key, self._shaped(found, places)

    def peek(self, key: Any, indices: Any = None, name: str | None = None) -> Any:
        """The values of a key, which stay; waits for all of them."""
        places = self._places(indices)
        key = convert_to_tensor(key, as_dtype("int64"))
        name = name or f"{self._name}_peek"
        found = map_peek_ops[self._ordered](key, places, name=name, **self._of(places))
        return self._shaped(found, places)

    def size(self, name: str | None = None) -> Tensor:
        """The number of whole tuples."""
        return map_size_ops[self._ordered](name=name or f"{self._name}_size", **self._attrs)  # type: ignore[no-any-return]

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """The number of tuples that lack values."""
        name = name or f"{self._name}_incomplete_size"
        return map_incomplete_size_ops[self._ordered](name=name, **self._attrs)  # type: ignore[no-any-return]

    def clear(self, name: str | None = None) -> Any:
        """An operation that empties the area."""
        return map_clear_ops[self._ordered](name=name or f"{self._name}_clear", **self._attrs)
