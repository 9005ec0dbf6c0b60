"""``tf.nest``: nested structures."""

from __future__ import annotations

from typing import Any

from dataflow.graph.nest import (
    flatten,
    is_nested,
    map_structure as _map_structure,
    pack_like as _pack_like,
)

__all__ = ["assert_same_structure", "flatten", "is_nested", "map_structure", "pack_sequence_as"]


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """``flat_sequence`` in the structure of ``structure``."""
    return _pack_like(structure, list(flat_sequence))


def map_structure(func: Any, *structure: Any, **kwargs: Any) -> Any:
    """``func`` of the leaves of structures that are alike, in that structure."""
    return _map_structure(func, *structure)


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raises `ValueError` (`TypeError` where only types differ) unless both nest alike."""
    from dataflow.graph.nest import assert_same_structure as check

    check(nest1, nest2, check_types)
