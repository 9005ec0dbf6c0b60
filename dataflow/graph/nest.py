"""Nested structures: flattening lists, tuples, named tuples and dicts, and putting them together.

Dicts are taken in the order of their sorted keys, so that equal dicts give equal flat lists.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

#: What ``d.keys()``, ``d.values()`` and ``d.items()`` give: lists of what they show.
_VIEWS: tuple[type, ...] = tuple(
    type(getattr(kind(), shown)())
    for kind in (dict, OrderedDict)
    for shown in ("keys", "values", "items")
)
_CONTAINERS = (list, tuple, *_VIEWS, Mapping)


def is_nested(value: Any) -> bool:
    """True for lists, tuples, mappings and their views; strings are leaves."""
    return isinstance(value, _CONTAINERS)


def _parts(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [value[k] for k in ordered_keys(value)]
    return list(value)


def ordered_keys(value: Mapping[Any, Any]) -> list[Any]:
    """A mapping's keys in the order of its leaves: sorted where they can be."""
    try:
        return sorted(value)
    except TypeError:
        return list(value)


def flatten(structure: Any) -> list[Any]:
    """The leaves in order; a leaf alone gives a list of one."""
    if not is_nested(structure):
        return [structure]
    result: list[Any] = []
    for part in _parts(structure):
        result.extend(flatten(part))
    return result


def _rebuild(structure: Any, parts: list[Any]) -> Any:
    if isinstance(structure, Mapping):
        by_key = dict(zip(ordered_keys(structure), parts, strict=True))
        pairs = [(k, by_key[k]) for k in structure]  # the order of the original is kept
        kind: Any = type(structure)
        return dict(pairs) if kind is dict else kind(pairs)
    if hasattr(structure, "_fields"):
        named: Any = type(structure)
        return named(*parts)
    if isinstance(structure, _VIEWS):
        return parts
    made: Any = type(structure)
    return made(parts)


def pack_like(structure: Any, flat: list[Any]) -> Any:
    """``flat`` in the structure of ``structure``.

    Raises `ValueError` when the numbers of leaves differ.
    """
    count = len(flatten(structure))
    if count != len(flat):
        if not is_nested(structure):
            raise ValueError(f"Structure is a scalar but len(flat_sequence) == {len(flat)} > 1")
        raise ValueError(
            f"Structure had {count} elements, but flat_sequence had {len(flat)} elements. "
            f"Structure: {_describe(structure)}"
        )
    values = iter(flat)

    def build(part: Any) -> Any:
        if not is_nested(part):
            return next(values)
        return _rebuild(part, [build(p) for p in _parts(part)])

    return build(structure)


def map_structure(function: Callable[..., Any], *structures: Any, check_types: bool = True) -> Any:
    """``function`` of the leaves of structures that are alike, in that structure."""
    if len(structures) == 1 and not is_nested(structures[0]):
        return function(structures[0])
    for other in structures[1:]:
        assert_same_structure(structures[0], other, check_types)
    columns = zip(*[flatten(s) for s in structures], strict=True)
    return pack_like(structures[0], [function(*c) for c in columns])


def same_structure(a: Any, b: Any, check_types: bool = True) -> bool:
    """True when both nest in the same way."""
    if is_nested(a) != is_nested(b):
        return False
    if not is_nested(a):
        return True
    if check_types and type(a) is not type(b):
        if not (isinstance(a, Mapping) and isinstance(b, Mapping)):
            return False
    if isinstance(a, Mapping) != isinstance(b, Mapping):
        return False
    if isinstance(a, Mapping) and set(a) != set(b):
        return False
    x, y = _parts(a), _parts(b)
    return len(x) == len(y) and all(
        same_structure(p, q, check_types) for p, q in zip(x, y, strict=True)
    )


def assert_same_structure(a: Any, b: Any, check_types: bool = True) -> None:
    """Raises `ValueError` (or `TypeError`, where only the types differ) unless both nest alike."""
    if same_structure(a, b, check_types):
        return
    text = (
        "The two structures don't have the same nested structure.\n\n"
        f"First structure: {_describe(a)}\n\nSecond structure: {_describe(b)}"
    )
    if check_types and same_structure(a, b, False):
        raise TypeError(text + "\n\nThey differ in the types of their containers.")
    raise ValueError(text)


def _describe(structure: Any) -> str:
    if not is_nested(structure):
        return "."
    if isinstance(structure, Mapping):
        inner = ", ".join(f"{k!r}: {_describe(structure[k])}" for k in ordered_keys(structure))
        return f"{{{inner}}}"
    inner = ", ".join(_describe(p) for p in structure)
    return f"{type(structure).__name__}({inner})"


def named_parts(structure: Any) -> list[tuple[Any, Any]]:
    """The parts of a container with their keys, names of fields, or numbers."""
    if isinstance(structure, Mapping):
        return [(k, structure[k]) for k in ordered_keys(structure)]
    fields = getattr(structure, "_fields", None)
    return list(zip(fields or range(len(structure)), structure, strict=True))


def leaves_with_paths(
    structure: Any, path: tuple[Any, ...] = ()
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The leaves, each after the keys, fields and numbers that lead to it."""
    if not is_nested(structure):
        yield path, structure
        return
    for place, part in named_parts(structure):
        yield from leaves_with_paths(part, (*path, place))


def _check_container(shallow: Any, structure: Any) -> None:
    if not is_nested(structure):
        raise TypeError(
            "If shallow structure is a sequence, input must also be a sequence. "
            f"Input has type: {type(structure)}."
        )
    alike = isinstance(structure, type(shallow)) or (
        isinstance(shallow, Mapping) and isinstance(structure, Mapping)
    )
    names = [getattr(s, "_fields", None) for s in (shallow, structure)]
    same_names = names[0] is not None and names[0] == names[1]
    if not alike and not (same_names and type(shallow).__name__ == type(structure).__name__):
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type "
            f"{type(structure)}, while shallow structure has type {type(shallow)}."
        )


def flatten_up_to(shallow: Any, structure: Any, check_types: bool = False) -> list[Any]:
    """The parts of ``structure`` at the places of the leaves of ``shallow``.

    Raises `ValueError` where there is no such place; with ``check_types`` `TypeError` where a
    container is none, or of another type.
    """
    if not is_nested(shallow):
        return [structure]
    if check_types:
        _check_container(shallow, structure)
    if not is_nested(structure) or len(_parts(shallow)) != len(_parts(structure)):
        raise ValueError(
            "The two structures don't have the same nested structure.\n\n"
            f"First structure: {_describe(shallow)}\n\nSecond structure: {_describe(structure)}"
        )
    if isinstance(shallow, Mapping):
        pairs = [(shallow[k], structure[k]) for k in ordered_keys(shallow)]
    else:
        pairs = list(zip(shallow, structure, strict=True))
    result: list[Any] = []
    for a, b in pairs:
        result.extend(flatten_up_to(a, b, check_types))
    return result
