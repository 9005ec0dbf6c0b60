"""``tf.nest``: nested structures."""

from __future__ import annotations

from typing import Any

from dataflow.graph.nest import (
    flatten as _flatten,
    flatten_up_to as _flatten_up_to,
    is_nested,
    map_structure as _map_structure,
    pack_like as _pack_like,
)

__all__ = [
    "assert_same_structure",
    "flatten",
    "flatten_up_to",
    "is_nested",
    "is_sequence",
    "map_structure",
    "map_structure_up_to",
    "pack_sequence_as",
]

#: The name that `is_nested` had until TensorFlow 1.14.
is_sequence = is_nested


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves in order; a leaf alone gives a list of one.

    With ``expand_composites`` a sparse tensor gives its indices, values and dense shape, a ragged one its flat
    values and row splits, `IndexedSlices` values, indices and, where known, the dense shape.
    """
    if not expand_composites:
        return _flatten(structure)
    from dataflow.ops.composite_nests import expanded

    return _flatten(expanded(structure))


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """``flat_sequence`` in the structure of ``structure``; `flatten` tells of ``expand_composites``.

    Raises `TypeError` where it is no list or tuple, `ValueError` for another number of leaves.
    """
    if not is_nested(flat_sequence):
        raise TypeError(f"flat_sequence must be a sequence, got {type(flat_sequence).__name__}.")
    if not expand_composites:
        return _pack_like(structure, list(flat_sequence))
    from dataflow.ops.composite_nests import packed

    return packed(structure, list(flat_sequence))


def map_structure(func: Any, *structure: Any, **kwargs: Any) -> Any:
    """``func`` of the leaves of structures that are alike, in that structure.

    ``check_types`` (True): containers are of one type. ``expand_composites`` (False): see `flatten`.
    """
    check_types = kwargs.get("check_types", True)
    if not kwargs.get("expand_composites", False) or not structure:
        return _map_structure(func, *structure, check_types=check_types)
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types, expand_composites=True)
    columns = zip(*(flatten(s, expand_composites=True) for s in structure), strict=True)
    return pack_sequence_as(structure[0], [func(*c) for c in columns], expand_composites=True)


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raises `ValueError` (`TypeError` where only types differ) unless both nest alike.

    With ``expand_composites`` sparse and ragged tensors and slices are containers of their tensors.
    """
    if expand_composites:
        from dataflow.ops.composite_nests import assert_alike

        assert_alike(nest1, nest2, check_types)
        return
    from dataflow.graph.nest import assert_same_structure as check

    check(nest1, nest2, check_types)


def flatten_up_to(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, **kwargs: Any
) -> list[Any]:
    """What stands in ``input_tree`` where ``shallow_tree`` has its leaves.

    Raises `TypeError` where a container is none or of another type, `ValueError` for another length.
    """
    return _flatten_up_to(shallow_tree, input_tree, check_types)


def map_structure_up_to(shallow_tree: Any, func: Any, *inputs: Any, **kwargs: Any) -> Any:
    """``func`` of what stands in each of ``inputs`` at the leaves of ``shallow_tree``."""
    check_types = kwargs.get("check_types", True)
    flat = [_flatten_up_to(shallow_tree, tree, check_types) for tree in inputs]
    return _pack_like(shallow_tree, [func(*parts) for parts in zip(*flat, strict=True)])
