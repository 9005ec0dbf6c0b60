"""``object_identity``, and the dtypes of references."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import dataflow as tf
from dataflow.python.framework import dtypes
from dataflow.python.util import object_identity


class _Same:
    """All of its objects are equal, and none can be hashed."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True


@pytest.mark.parametrize("weak", [False, True])
def test_dictionaries_tell_equal_objects_apart(weak: bool) -> None:
    kind = (
        object_identity.ObjectIdentityWeakKeyDictionary
        if weak
        else object_identity.ObjectIdentityDictionary
    )
    first, second = _Same(), _Same()
    found = kind([(first, 1)])
    found[second] = 2
    assert (found[first], found[second], len(found)) == (1, 2, 2)
    assert [id(key) for key in found] == [id(first), id(second)]
    del found[first]
    with pytest.raises(KeyError):
        found[first]
    with pytest.raises(KeyError):
        del found[first]
    del second
    gc.collect()
    assert len(found) == (0 if weak else 1)


@pytest.mark.parametrize("weak", [False, True])
def test_sets_tell_equal_objects_apart(weak: bool) -> None:
    kind: Any = object_identity.ObjectIdentityWeakSet if weak else object_identity.ObjectIdentitySet
    first, second, third = _Same(), _Same(), _Same()
    found = kind([first])
    found.update([first, second])
    assert first in found and third not in found and len(found) == 2
    found.discard(first)
    found.discard(third)
    assert first not in found and len(list(found)) == 1
    del second
    gc.collect()
    assert len(found) == (0 if weak else 1)


def test_every_dtype_has_its_reference() -> None:
    for name in ("bool", "half", "uint16", "complex128", "qint8", "bfloat16", "string"):
        reference = getattr(dtypes, f"{name}_ref")
        assert reference == getattr(dtypes, name).as_ref and reference.is_ref
    assert dtypes.float32_ref.base_dtype == tf.float32
    for name in ("no_such_ref", "as_dtype_ref"):
        with pytest.raises(AttributeError, match=name):
            getattr(dtypes, name)


def test_references_give_their_object() -> None:
    one, other = _Same(), _Same()
    keys = {object_identity.Reference(one): 1, object_identity.Reference(other): 2}
    assert keys[object_identity.Reference(one)] == 1
    assert [key.deref() for key in keys] == [one, other]
    with pytest.raises(TypeError, match="wrapped object with unwrapped"):
        object_identity.Reference(one) == one  # noqa: B015
    x, v = tf.constant(1.0), tf.Variable(1.0)
    for value in (x, v):
        assert isinstance(value.experimental_ref(), object_identity.Reference)
        assert value.experimental_ref().deref() is value
    assert not isinstance(one, object_identity.Reference)
