"""What variables of a rewritten function hold: tensors, Python's values, or nothing yet."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.nest import flatten, is_nested, pack_like, same_structure
from dataflow.graph.tensor import Tensor
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.ragged_tensor import RaggedTensor
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.tensor_array import TensorArray
from dataflow.ops.variables import Variable


class Site(NamedTuple):
    """A branch or loop: the names that it assigns to, what each is needed for, and its line.

    A need is "live" (the name is read later), "captured" (a function within reads it), "attribute"
    (of an object), or "" (nobody looks at it again).
    """

    names: tuple[str, ...]
    needs: tuple[str, ...]
    line: int


class Undefined:
    """The value of a variable that has none yet."""

    def __init__(self, name: str) -> None:
        self.name = name

    def read(self) -> NoReturn:
        """What reading the variable does."""
        raise UnboundLocalError(f"local variable {self.name!r} is used before it has a value.")


def ld(value: Any) -> Any:
    """The value of a variable; raises `UnboundLocalError` if it has none."""
    if isinstance(value, Undefined):
        value.read()
    return value


def attribute(read: Callable[[], Any], name: str) -> Any:
    """What ``read`` returns, or `Undefined` where the object has no such attribute."""
    try:
        return read()
    except AttributeError:
        return Undefined(name)


def set_attribute(owner: Any, name: str, value: Any) -> None:
    """Sets the attribute, or deletes it where ``value`` is `Undefined`."""
    if not isinstance(value, Undefined):
        if getattr(owner, name, None) is not value:
            setattr(owner, name, value)
    elif hasattr(owner, name):
        delattr(owner, name)


def is_tensor(value: Any) -> bool:
    """Whether Python cannot look at the value before the graph runs."""
    return isinstance(value, (Tensor, Variable))


_COMPOSITE = (TensorArray, SparseTensor, IndexedSlices, RaggedTensor)
_PLAIN = (numbers.Number, str, bytes, np.ndarray, np.generic)


def can_be_tensor(leaf: Any) -> bool:
    """Whether a loop or branch can carry the leaf."""
    return is_tensor(leaf) or isinstance(leaf, (*_COMPOSITE, *_PLAIN))


def as_tensor(leaf: Any, like: Any = None) -> Any:
    """The leaf as a tensor; Python's numbers get the dtype of ``like``, if that is a tensor."""
    if isinstance(leaf, _COMPOSITE):
        return leaf
    if isinstance(leaf, Variable):
        return leaf.read_value()
    if isinstance(leaf, (bool, np.bool_)) or not isinstance(leaf, (int, float)):
        return convert_to_tensor(leaf)
    dtype = like.dtype.base_dtype if is_tensor(like) else None
    if dtype is not None and dtype.is_integer and isinstance(leaf, float):
        dtype = None
    if dtype is not None and not (dtype.is_integer or dtype.is_floating or dtype.is_complex):
        dtype = None
    return convert_to_tensor(leaf, dtype)


def same_value(a: Any, b: Any) -> bool:
    """Whether two leaves are one object, or equal values of Python."""
    if a is b:
        return True
    plain = (bool, int, float, str, bytes)
    return type(a) is type(b) and isinstance(a, plain) and bool(a == b)


class Packed:
    """The values of some variables: their structures, and the leaves that are or can be tensors."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values
        self.leaves = [leaf for v in values for leaf in flatten(v)]
        self.carried = [leaf for leaf in self.leaves if can_be_tensor(leaf)]

    def tensors(self, like: list[Any] | None = None) -> list[Any]:
        """The carried leaves as tensors."""
        hints = like if like is not None and len(like) == len(self.carried) else None
        return [
            as_tensor(leaf, hints[number] if hints else None)
            for number, leaf in enumerate(self.carried)
        ]

    def unpack(self, tensors: list[Any]) -> list[Any]:
        """The values with ``tensors`` in place of the carried leaves."""
        rest = iter(tensors)
        leaves = iter([next(rest) if can_be_tensor(leaf) else leaf for leaf in self.leaves])
        result = []
        for value in self.values:
            flat = [next(leaves) for _ in flatten(value)]
            result.append(pack_like(value, flat) if is_nested(value) else flat[0])
        return result


def difference(a: Any, b: Any) -> str:
    """What keeps two values of one variable from being the result of one branch; "" if nothing."""
    if not same_structure(a, b):
        return f"one is {_kind(a)} and the other {_kind(b)}"
    for x, y in zip(flatten(a), flatten(b), strict=True):
        carried = can_be_tensor(x), can_be_tensor(y)
        if carried[0] != carried[1]:
            return f"one is {_kind(x)} and the other {_kind(y)}"
        if not carried[0] and x is not y:
            return f"{_kind(x)} is not a tensor, and the two are not the same"
    return ""


def _kind(value: Any) -> str:
    if is_nested(value):
        return f"a {type(value).__name__} of {len(value)}"
    return "None" if value is None else f"a {type(value).__name__}"
