"""Variables of layers that compute in another dtype than that of their variables."""

from __future__ import annotations

import contextlib
import operator
import threading
from collections.abc import Callable, Iterator
from typing import Any

from dataflow.dtypes import DType, as_dtype
from dataflow.ops.math import cast


class _Scope(threading.local):
    #: The dtype that variables are read as; None for their own.
    dtype: DType | None = None


_scope = _Scope()


@contextlib.contextmanager
def casting_to(dtype: Any) -> Iterator[None]:
    """A block in which each `AutoCastVariable` is read as ``dtype``; as its own for None."""
    before, _scope.dtype = _scope.dtype, None if dtype is None else as_dtype(dtype).base_dtype
    try:
        yield
    finally:
        _scope.dtype = before


class AutoCastVariable:
    """A variable of floating-point numbers which within `casting_to` is read as another dtype.

    It is assigned, saved and trained as the variable it stands for, in that one's dtype.
    """

    def __init__(self, variable: Any) -> None:
        if not variable.dtype.is_floating:
            raise ValueError(
                f"variable must be a floating point variable but has type: {variable.dtype.name}"
            )
        self._variable = variable

    @property
    def variable(self) -> Any:
        """The variable it stands for."""
        return self._variable

    @property
    def dtype(self) -> DType:
        """What it is read as."""
        return _scope.dtype or self.true_dtype

    @property
    def true_dtype(self) -> DType:
        """The dtype of the variable."""
        return self._variable.dtype.base_dtype  # type: ignore[no-any-return]

    def value(self) -> Any:
        """The value as a tensor, in `dtype`."""
        return cast(self._variable.value(), self.dtype)

    def read_value(self) -> Any:
        """The value as a tensor, in `dtype`."""
        return cast(self._variable.read_value(), self.dtype)

    def sparse_read(self, indices: Any, name: str | None = None) -> Any:
        """Rows of the value, in `dtype`."""
        return cast(self._variable.sparse_read(indices, name), self.dtype)

    def _dense_var_to_tensor(
        self, dtype: Any = None, name: Any = None, as_ref: bool = False
    ) -> Any:
        """How the engine makes a tensor of it."""
        if self.dtype == self.true_dtype:
            return self._variable._dense_var_to_tensor(dtype=dtype, name=name, as_ref=as_ref)
        return self.value()

    def __getattr__(self, name: str) -> Any:
        if name == "_variable":  # of a copy that is not made yet
            raise AttributeError(name)
        return getattr(self._variable, name)

    def __getitem__(self, key: Any) -> Any:
        return self.value()[key]

    def __neg__(self) -> Any:
        return -self.value()

    def __abs__(self) -> Any:
        return abs(self.value())

    def __repr__(self) -> str:
        return f"<AutoCastVariable dtype={self.dtype.name} true_dtype={self.true_dtype.name} {self._variable!r}>"


def _binary(function: Callable[[Any, Any], Any], is_swapped: bool) -> Any:
    def method(self: AutoCastVariable, other: Any) -> Any:
        if isinstance(other, AutoCastVariable):
            other = other.value()
        return function(other, self.value()) if is_swapped else function(self.value(), other)

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    setattr(AutoCastVariable, f"__{_name}__", _binary(getattr(operator, _name), False))
    setattr(AutoCastVariable, f"__r{_name}__", _binary(getattr(operator, _name), True))
for _name in ("lt", "le", "gt", "ge"):
    setattr(AutoCastVariable, f"__{_name}__", _binary(getattr(operator, _name), False))
