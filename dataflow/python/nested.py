"""Functions of ``tensorflow.python.util.nest`` that `tf.nest` has not: shallow structures, and paths."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dataflow.graph.nest import (
    assert_same_structure,
    flatten,
    is_nested,
    leaves_with_paths,
    named_parts,
    ordered_keys,
    pack_like,
)
from dataflow.ops.composite_nests import expanded

__all__ = [
    "assert_shallow_structure",
    "flatten_dict_items",
    "flatten_with_joined_string_paths",
    "flatten_with_tuple_paths",
    "get_traverse_shallow_structure",
    "map_structure_with_paths",
    "map_structure_with_tuple_paths",
    "yield_flat_paths",
    "yield_flattened_paths",
]


def assert_shallow_structure(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raises unless ``input_tree`` nests like ``shallow_tree`` as far as that goes; it may go on below.

    Raises `TypeError` for a leaf, or another type of container, where ``shallow_tree`` has a container,
    `ValueError` for another number of parts or other keys.
    """
    if expand_composites:
        shallow_tree, input_tree = expanded(shallow_tree), expanded(input_tree)
    if not is_nested(shallow_tree):
        return
    if not is_nested(input_tree):
        raise TypeError(
            "If shallow structure is a sequence, input must also be a sequence. Input has type: "
            f"{type(input_tree)}."
        )
    mappings = isinstance(shallow_tree, Mapping) and isinstance(input_tree, Mapping)
    if check_types and not isinstance(input_tree, type(shallow_tree)) and not mappings:
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type "
            f"{type(input_tree)}, while shallow structure has type {type(shallow_tree)}."
        )
    if len(input_tree) != len(shallow_tree):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length "
            f"{len(input_tree)}, while shallow structure has length {len(shallow_tree)}."
        )
    if mappings:
        missing = [k for k in shallow_tree if k not in input_tree]
        if missing:
            raise ValueError(
                "The shallow_tree's keys are not a subset of the input_tree's keys. The shallow_tree has "
                f"the following keys that are not in the input_tree: {missing}."
            )
    for place, part in named_parts(shallow_tree):
        inside = input_tree[place] if mappings else dict(named_parts(input_tree))[place]
        assert_shallow_structure(part, inside, check_types)


def flatten_dict_items(dictionary: Mapping[Any, Any]) -> dict[Any, Any]:
    """``{(1, 2): (a, b), 3: c}`` as ``{1: a, 2: b, 3: c}``; keys and values nest alike.

    Raises `TypeError` for anything but a dict, `ValueError` for keys that nest otherwise than their values,
    and for one that comes twice.
    """
    if not isinstance(dictionary, Mapping):
        raise TypeError(
            f"flatten_dict_items: expected a dictionary, got {type(dictionary).__name__}."
        )
    result: dict[Any, Any] = {}
    for key, value in dictionary.items():
        keys, values = ([key], [value]) if not is_nested(key) else (flatten(key), flatten(value))
        if len(keys) != len(values):
            raise ValueError(
                f"Could not flatten dictionary. Key had {len(keys)} elements, but value had "
                f"{len(values)} elements. Key: {keys}, value: {values}."
            )
        for one, its_value in zip(keys, values, strict=True):
            if one in result:
                raise ValueError(f"Cannot flatten dict because this key is not unique: {one}")
            result[one] = its_value
    return result


def flatten_with_tuple_paths(
    structure: Any, expand_composites: bool = False
) -> list[tuple[tuple[Any, ...], Any]]:
    """The leaves, each after its path: the keys, fields and numbers that lead to it."""
    return list(leaves_with_paths(expanded(structure) if expand_composites else structure))


def yield_flattened_paths(nest: Any, expand_composites: bool = False) -> Iterator[tuple[Any, ...]]:
    """The path of each leaf."""
    return (path for path, _ in flatten_with_tuple_paths(nest, expand_composites))


yield_flat_paths = yield_flattened_paths


def flatten_with_joined_string_paths(
    structure: Any, separator: str = "/", expand_composites: bool = False
) -> list[tuple[str, Any]]:
    """The leaves, each after its path as a text: ``("a/0", leaf)``."""
    pairs = flatten_with_tuple_paths(structure, expand_composites)
    return [(separator.join(map(str, path)), leaf) for path, leaf in pairs]


def map_structure_with_tuple_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """``func(path, leaf, ...)`` of the leaves of structures that are alike, in that structure."""
    for other in structure[1:]:
        assert_same_structure(structure[0], other, kwargs.get("check_types", True))
    columns = zip(*(flatten(s) for s in structure), strict=True)
    paths = yield_flattened_paths(structure[0])
    return pack_like(
        structure[0], [func(path, *leaves) for path, leaves in zip(paths, columns, strict=True)]
    )


def map_structure_with_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """`map_structure_with_tuple_paths` with the path as a text, ``"a/0"``."""
    return map_structure_with_tuple_paths(
        lambda path, *leaves: func("/".join(map(str, path)), *leaves), *structure, **kwargs
    )


def get_traverse_shallow_structure(
    traverse_fn: Callable[[Any], Any], structure: Any, expand_composites: bool = False
) -> Any:
    """The structure with True at the leaves of the part that ``traverse_fn`` allows to enter, else False.

    Raises `TypeError` where ``traverse_fn`` returns something else than a bool or a structure of bools.
    """
    allowed = traverse_fn(structure)
    if not is_nested(structure):
        if not isinstance(allowed, bool):
            raise TypeError(f"traverse_fn returned {allowed!r} for a leaf; expected a bool.")
        return allowed
    if allowed is False:
        return False
    inside = [part for _, part in named_parts(structure)]
    entered = (
        [True] * len(inside) if allowed is True else [part for _, part in named_parts(allowed)]
    )
    if not all(isinstance(enter, bool) for enter in entered):
        raise TypeError(f"traverse_fn returned {allowed!r}; expected bools.")
    return _like(
        structure,
        [
            enter and get_traverse_shallow_structure(traverse_fn, part)
            for part, enter in zip(inside, entered, strict=True)
        ],
    )


def _like(structure: Any, parts: list[Any]) -> Any:
    """A container like ``structure`` of ``parts``, which are not looked into."""
    packed = iter(parts)
    if isinstance(structure, Mapping):
        by_key = dict(zip(ordered_keys(structure), packed, strict=True))
        return type(structure)((k, by_key[k]) for k in structure)  # type: ignore[call-arg]
    made: Any = type(structure)
    return made(*packed) if hasattr(structure, "_fields") else made(packed)


def _is_namedtuple(instance: Any, strict: bool = False) -> bool:
    """Whether ``instance`` is a named tuple; ``strict``: of a class that was not derived further."""
    fields = getattr(instance, "_fields", None)
    if not isinstance(instance, tuple) or not isinstance(fields, (tuple, list)):
        return False
    if strict and type(instance).__base__ is not tuple:
        return False
    return all(isinstance(field, str) for field in fields)
