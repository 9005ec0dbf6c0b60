"""``tensorflow.python.data.util.nest``: structures of datasets' elements, in which a list is an array.

Tuples and dictionaries nest, in which these functions differ from `tf.nest`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dataflow.data.structure import flatten as flatten, pack

__all__ = ["assert_same_structure", "flatten", "is_sequence", "map_structure", "pack_sequence_as"]


def is_sequence(value: Any) -> bool:
    """Whether ``value`` has parts: a tuple or a dictionary."""
    return isinstance(value, (tuple, Mapping))


def pack_sequence_as(structure: Any, flat_sequence: Any) -> Any:
    """The leaves ``flat_sequence`` in the nesting of ``structure``; `ValueError` for another number of them."""
    leaves = list(flat_sequence)
    if len(leaves) != len(flatten(structure)):
        raise ValueError(
            f"Structure had {len(flatten(structure))} elements, but flat_sequence had {len(leaves)} elements."
        )
    return pack(structure, leaves)


def map_structure(func: Callable[..., Any], *structures: Any) -> Any:
    """``func`` of the leaves at the same place of all ``structures``, in their nesting."""
    for other in structures[1:]:
        assert_same_structure(structures[0], other, check_types=False)
    flat = zip(*(flatten(each) for each in structures), strict=True)
    return pack(structures[0], [func(*leaves) for leaves in flat])


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """Raises `ValueError` for another nesting, and `TypeError` for another type of container."""
    if is_sequence(nest1) != is_sequence(nest2):
        raise ValueError(
            f"The two structures don't have the same nested structure: {nest1}, {nest2}."
        )
    if not is_sequence(nest1):
        return
    if check_types and type(nest1) is not type(nest2):
        raise TypeError(
            f"The two structures don't have the same type: {type(nest1)} and {type(nest2)}."
        )
    if len(nest1) != len(nest2) or (isinstance(nest1, Mapping) and set(nest1) != set(nest2)):
        raise ValueError(f"The two structures don't have the same parts: {nest1}, {nest2}.")
    for key in nest1 if isinstance(nest1, Mapping) else range(len(nest1)):
        assert_same_structure(nest1[key], nest2[key], check_types)
