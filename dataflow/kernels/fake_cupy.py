"""The module CuPy of the pretend GPU: its functions, on arrays that are kept apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.fake_gpu import (
    ABOUT_DTYPES,
    LACKING,
    LACKING_IN_LINALG,
    PretendArray,
    Recording,
    compute,
    synchronize,
    wrap,
)

#: Functions of ``xp`` that take arrays of the host, to bring them to the device.
_FROM_HOST = frozenset({"array", "asarray", "ascontiguousarray", "asfortranarray"})


class _Ufunc:
    """A universal function, called on arrays of one device."""

    def __init__(self, ufunc: Any, index: int) -> None:
        self._ufunc = ufunc
        self._index = index
        self.__name__ = ufunc.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return compute(self._index, self._ufunc, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._ufunc, name)
        if not callable(value):
            return value
        return _function(value, self._index)


def _function(function: Any, index: int) -> Any:
    return lambda *args, **kwargs: compute(index, function, args, kwargs)


class PretendModule:
    """``xp`` of a pretend GPU: those functions of NumPy that CuPy has too."""

    def __init__(self, index: int, module: Any = np, lacking: frozenset[str] = LACKING) -> None:
        self._index = index
        self._module = module
        self._lacking = lacking
        self.__name__ = f"pretend {module.__name__}"

    def __getattr__(self, name: str) -> Any:
        value = self._make(name)
        self.__dict__[name] = value
        return value

    def _make(self, name: str) -> Any:
        if name in self._lacking or name.startswith("_"):
            raise AttributeError(f"CuPy has no {self._module.__name__}.{name}")
        value = getattr(self._module, name)
        if name == "ndarray":
            return PretendArray
        if name == "linalg":
            return PretendModule(self._index, np.linalg, LACKING_IN_LINALG)
        if name in ("fft", "random", "lib", "stride_tricks"):
            return PretendModule(self._index, value, frozenset())
        if name == "broadcast" or (name in ABOUT_DTYPES and not isinstance(value, type)):
            return self._about(value)
        if name in _FROM_HOST:
            return self._from_host(value)
        if isinstance(value, np.ufunc):
            return _Ufunc(value, self._index)
        if isinstance(value, type) or not callable(value):
            return value
        return _function(value, self._index)

    def _about(self, function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            plain = [a.host_array if type(a) is PretendArray else a for a in args]
            return function(*plain, **kwargs)

        return call

    def _from_host(self, function: Any) -> Any:
        def call(value: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(value, np.ndarray) and Recording.current is not None:
                synchronize()  # memory of the host that is gone when the capture is replayed
            if type(value) is not PretendArray and not isinstance(value, (list, tuple)):
                return wrap(np.asarray(function(value, *args, **kwargs)), self._index)
            return compute(
                self._index, lambda v: np.asarray(function(v, *args, **kwargs)), (value,), {}
            )

        return call

    def __repr__(self) -> str:
        return f"<{self.__name__} on gpu:{self._index}>"
