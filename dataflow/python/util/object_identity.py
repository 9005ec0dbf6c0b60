"""``from tensorflow.python.util import object_identity``: collections that compare by identity."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, MutableMapping, MutableSet
from typing import Any

from dataflow.graph.object_reference import Reference

__all__ = [
    "ObjectIdentityDictionary",
    "ObjectIdentitySet",
    "ObjectIdentityWeakKeyDictionary",
    "ObjectIdentityWeakSet",
    "Reference",
]


class ObjectIdentityDictionary(MutableMapping[Any, Any]):
    """A dictionary whose keys are the objects themselves, whatever their ``==`` and hash say."""

    def __init__(self, items: Any = ()) -> None:
        #: id of a key -> (what `_kept` makes of the key, the value).
        self._items: dict[int, tuple[Any, Any]] = {}
        self.update(items)

    def _kept(self, key: Any) -> Any:
        return key

    def __getitem__(self, key: Any) -> Any:
        if id(key) not in self._items:
            raise KeyError(key)
        return self._items[id(key)][1]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._items[id(key)] = self._kept(key), value

    def __delitem__(self, key: Any) -> None:
        if id(key) not in self._items:
            raise KeyError(key)
        del self._items[id(key)]

    def __iter__(self) -> Iterator[Any]:
        return iter([key for key, _ in self._items.values()])

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self.items())!r})"


class ObjectIdentityWeakKeyDictionary(ObjectIdentityDictionary):
    """An `ObjectIdentityDictionary` that does not keep its keys alive; an entry goes with its key."""

    def _kept(self, key: Any) -> weakref.ref[Any]:
        items, number = self._items, id(key)
        return weakref.ref(key, lambda _: items.pop(number, None) and None)

    def __iter__(self) -> Iterator[Any]:
        keys = [reference() for reference, _ in list(self._items.values())]
        return iter([key for key in keys if key is not None])


class _Identities(MutableSet[Any]):
    """A set of objects, by a dictionary that compares by identity."""

    _kind: type[MutableMapping[Any, Any]]

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._keys = self._kind()
        for item in items:
            self.add(item)

    def __contains__(self, item: Any) -> bool:
        return item in self._keys

    def add(self, item: Any) -> None:
        self._keys[item] = True

    def discard(self, item: Any) -> None:
        self._keys.pop(item, None)

    def update(self, items: Iterable[Any]) -> None:
        """Adds all items."""
        for item in items:
            self.add(item)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


class ObjectIdentitySet(_Identities):
    """A set of the objects themselves, whatever their ``==`` and hash say."""

    _kind = ObjectIdentityDictionary


class ObjectIdentityWeakSet(_Identities):
    """An `ObjectIdentitySet` that does not keep its objects alive."""

    _kind = ObjectIdentityWeakKeyDictionary
