"""The kernel registry; `loader` finds a kernel that is not registered yet.

A kernel is a plain function. Its positional parameters are the op's inputs (a list input arrives
as one list), its keyword-only parameters are the attributes it wants::

    @kernel("MatMul")
    def mat_mul_kernel(xp, a, b, *, transpose_a, transpose_b): ...

``xp`` is `numpy` or `cupy`. A *stateful* kernel gets a `KernelContext` in place of ``xp``. An op
with several outputs returns them as one flat tuple. Kernels return arrays (or NumPy scalars) of
exactly the dtypes that the op declares, and never change an input.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from dataflow.kernels.array_types import Module


class Kernel(NamedTuple):
    """A registered kernel."""

    op_type: str
    function: Callable[..., Any]
    devices: tuple[str, ...]
    stateful: bool  # first argument is a KernelContext
    factory: bool  # function(xp, **attrs) returns the function of the inputs
    attrs: tuple[str, ...]
    #: The function of the inputs also takes ``out``: see `kernel`.
    takes_out: bool = False
    #: It moves elements or looks at their bytes, and computes nothing with them.
    any_dtype: bool = False
    #: It has no inputs, and does no more than find its resource.
    looks_up: bool = False


_kernels: dict[tuple[str, str], Kernel] = {}
_cpu_only_reason: dict[str, str] = {}


def kernel(
    *op_types: str,
    devices: tuple[str, ...] = ("cpu", "gpu"),
    stateful: bool = False,
    factory: bool = False,
    cpu_only: str | None = None,
    takes_out: bool = False,
    any_dtype: bool = False,
    looks_up: bool = False,
    attrs: tuple[str, ...] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a kernel for one or more op types.

    ``factory=True``: the function takes ``xp`` and the attributes and returns the function that
    takes the inputs; for kernels that can prepare something when the plan is made.
    ``cpu_only`` gives the reason why there is no GPU kernel; it is listed for learners.
    ``takes_out=True``: on the host, the function of the inputs takes ``out``, an array of the
    caller's or ``None``; where the result has its dtype and shape it may be written there.
    ``any_dtype=True``: elements are moved, or their bytes looked at, so that arrays of bfloat16
    come as they are; other kernels get them as float32 (see `bfloat16`).
    ``looks_up=True``: the kernel returns `KernelContext.resource`, and is not called while what it
    found last is valid.
    ``attrs`` names the attributes of a function that takes them as ``**attrs``.
    """
    if cpu_only is not None:
        devices = ("cpu",)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        code = getattr(function, "__wrapped__", function).__code__
        named = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        wanted = named if attrs is None else attrs
        for op_type in op_types:
            if cpu_only is not None:
                _cpu_only_reason[op_type] = cpu_only
            for device in devices:
                key = (op_type, device)
                if key in _kernels:
                    raise ValueError(f"two {device} kernels for {op_type}")
                _kernels[key] = Kernel(
                    *(op_type, function, devices, stateful, factory, wanted),
                    *(takes_out, any_dtype, looks_up),
                )
        return function

    return register


def forget_kernels(op_type: str, devices: tuple[str, ...]) -> None:
    """Takes the kernels of an op out of the registry; plans that were made with them keep them."""
    for device in devices:
        _kernels.pop((op_type, device), None)
    _cpu_only_reason.pop(op_type, None)


def ufunc_kernel(op_type: str, ufunc: str) -> None:
    """The kernel is the array library's own function, called without a wrapper in between."""

    @kernel(op_type, factory=True)
    def bind(xp: Module) -> Callable[..., Any]:
        return getattr(xp, ufunc)  # type: ignore[no-any-return]


def registered_kernels() -> dict[tuple[str, str], Kernel]:
    """The kernels of the files that are loaded, by (op type, device); see `loader`."""
    return _kernels


def cpu_only_reason(op_type: str) -> str | None:
    """Why an op has no GPU kernel, where that was decided on purpose."""
    return _cpu_only_reason.get(op_type)


def bind(found: Kernel, first: Any, attrs: dict[str, Any]) -> Callable[..., Any]:
    """The kernel as a function of the inputs alone; ``first`` is ``xp`` or the context.

    A node's kernel is bound by `bfloat16.bind_node`, which knows of its dtypes too.
    """
    wanted = {name: attrs[name] for name in found.attrs}
    if found.factory:
        return found.function(first, **wanted)  # type: ignore[no-any-return]
    return functools.partial(found.function, first, **wanted)
