"""CUDA C to something that can be launched: by CuPy, or by a stand-in in tests."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from dataflow.kernels.array_types import Module
from dataflow.kernels.fake_gpu import recorded

#: ``launch(grid, block, arguments)``; arguments are device arrays and NumPy scalars.
Launch = Callable[[tuple[int, ...], tuple[int, ...], tuple[Any, ...]], None]

_compiled: dict[tuple[str, str, bool], Launch] = {}
_stand_in: Callable[[str, str], Launch] | None = None


def use_stand_in(compiler: Callable[[str, str], Launch] | None) -> None:
    """Compiles sources for pretend GPUs with ``compiler(source, name)``; ``None``: not at all."""
    global _stand_in
    _stand_in = compiler


def can_compile(xp: Module) -> bool:
    """Whether CUDA C can run on the device of ``xp``; a pretend GPU can only with a stand-in."""
    return getattr(xp, "__name__", "") == "cupy" or _stand_in is not None


def compile_kernel(xp: Module, source: str, name: str) -> Launch:
    """The kernel ``name`` of ``source``; compiled once per process (CuPy keeps it on disk too)."""
    real = getattr(xp, "__name__", "") == "cupy"
    found = _compiled.get((source, name, real))
    if found is None:
        if real:
            cupy = importlib.import_module("cupy")
            found = cupy.RawKernel(source, name, options=("-std=c++14",))
        else:
            assert _stand_in is not None
            found = recorded(_stand_in(source, name))
        _compiled[source, name, real] = found
    return found
