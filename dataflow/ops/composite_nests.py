"""Nested structures with the tensors of what is made of several in their places: ``expand_composites``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dataflow.graph.nest import (
    assert_same_structure as check,
    flatten,
    flatten_up_to,
    map_structure,
    pack_like,
)
from dataflow.ops.composites import parts_of
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.ragged_tensor import RaggedTensor
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.type_spec_bases import is_programs_composite, taken_apart


class Composite(dict[str, Any]):
    """What a sparse or ragged tensor, slices or a program's composite is made of, under the name of its class."""

    rebuild: Callable[[list[Any]], Any]
    #: That of a program's composite.
    spec: Any = None


@functools.cache
def _kind_of(owner: Any) -> type[Composite]:
    """The class of the composites of a class, so that structures of others are not alike."""
    return type(owner.__name__, (Composite,), {})


def expanded(structure: Any) -> Any:
    """``structure`` with a `Composite` in the place of what is made of several tensors."""

    def parts(leaf: Any) -> Any:
        if isinstance(leaf, (SparseTensor, RaggedTensor, IndexedSlices)):
            found = parts_of(leaf)
            assert found is not None
            owner: Any = type(leaf)
            made = _kind_of(owner)({owner.__name__: list(found[0])})
            made.rebuild = found[1]
            return made
        if is_programs_composite(leaf):
            spec, components, rebuild = taken_apart(leaf)
            owner = type(leaf)
            made = _kind_of(owner)({owner.__name__: expanded(components)})
            made.spec = spec
            made.rebuild = lambda values: rebuild(packed(components, values))
            return made
        return leaf

    return map_structure(parts, structure)


def packed(structure: Any, flat: list[Any]) -> Any:
    """``flat`` in the structure of ``structure``, whose composites take as many as they are made of."""
    whole = expanded(structure)
    pack_like(whole, list(flat))  # the right number of them
    left = iter(flat)

    def filled(part: Any) -> Any:
        if not isinstance(part, Composite):
            return next(left)
        return part.rebuild([next(left) for _ in flatten(part)])

    return pack_like(structure, [filled(part) for part in flatten_up_to(structure, whole, False)])


def assert_alike(one: Any, other: Any, check_types: bool = True) -> None:
    """Raises `ValueError` (`TypeError` where only types differ) unless both nest alike, with their composites."""
    one, other = expanded(one), expanded(other)
    pairs = zip(_composites(one), _composites(other), strict=False)
    for first, second in pairs:
        if type(first) is not type(second):
            raise TypeError(
                "The two structures nest alike, but the types of their containers differ: one has a "
                f"{type(first).__name__} where the other has a {type(second).__name__}."
            )
        if first.spec is not None:
            first.spec.most_specific_compatible_type(second.spec)
    check(one, other, check_types)


def _composites(structure: Any) -> list[Composite]:
    found = [structure] if isinstance(structure, Composite) else []
    if isinstance(structure, dict):
        parts = list(structure.values())
    else:
        parts = list(structure) if isinstance(structure, (list, tuple)) else []
    return [*found, *(c for part in parts for c in _composites(part))]
