"""The inner loops of NumPy's ufuncs, which machine code calls.

No processor has an instruction for ``exp``, and every library rounds it in its own way. If machine
code called another library's, results would change in the last digit when it replaces NumPy. So it
calls NumPy's own: a ufunc has a function for each type, ``void(char **args, npy_intp *dims,
npy_intp *steps, void *data)``, and the table of these is part of its C structure (`PyUFuncObject`,
public since NumPy 1.0).

If the table is not as expected, or a function gives other bits than the ufunc for any of the numbers
that it is tested with, it is not used: the build fails with `ImportError` (see `compiler.JitEntry`),
and the ufunc itself is called.
"""

from __future__ import annotations

import ctypes
import functools
import re
import sys
from typing import Any

import numpy as np

from dataflow.kernels.subnormals import Computing

#: The ufunc of each op type.
UFUNCS = {"Exp": "exp", "Expm1": "expm1", "Log": "log", "Tanh": "tanh"}
#: The power of two contiguous arrays. The op type ``Pow`` is not among these: for a scalar exponent
#: ``power`` takes shortcuts that depend on how it is passed.
POWER = "PowerOfArrays"
#: The ufunc of each op type that loops call.
NAMES = {**UFUNCS, POWER: "power"}
_PREFIX = "dataflow_numpy_"
_PATTERN = re.compile(rf"@{_PREFIX}(\w+)_([fd])\b")
#: Elements of the arrays that a function is tested with, and lengths of the calls.
_TRIED, _LENGTHS = 2048, (1, 2, 3, 7, 16, 33, 257)


class _UFunc(ctypes.Structure):
    """The beginning of `PyUFuncObject`, after the object header."""

    _fields_ = (
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
        ("reserved1", ctypes.c_int),  # from NumPy 2.5 on it marks some ufuncs, as maximum
        ("name", ctypes.c_char_p),
        ("types", ctypes.c_void_p),
    )


_INNER_LOOP = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)


def symbol(op: str, char: str) -> str:
    """The function's name in LLVM assembly; ``char`` is NumPy's character code of its type."""
    return f"@{_PREFIX}{NAMES[op]}_{char}"


def addresses(text: str) -> dict[str, int]:
    """The addresses of the functions that ``text`` calls, by symbol. Raises `ImportError` if one is missing."""
    found = {}
    for name, char in set(_PATTERN.findall(text)):
        address = inner_loop(name, char)
        if address is None:
            raise ImportError(f"NumPy {np.__version__} shows no inner loop of {name} for {char!r}")
        found[f"{_PREFIX}{name}_{char}"] = address
    return found


@functools.cache
def inner_loop(name: str, char: str) -> int | None:
    """The address of a ufunc's function for one type; ``None`` where it cannot be relied on."""
    ufunc = getattr(np, name)
    address = _from_table(ufunc, np.dtype(char).num)
    return address if address is not None and _gives_the_same(ufunc, char, address) else None


def _from_table(ufunc: Any, number: int) -> int | None:
    """The function whose types all have number ``number``; ``None`` where the table is unexpected."""
    if type(ufunc) is not np.ufunc:
        return None
    found = typed_loop(ufunc, (number,) * ufunc.nargs)
    # A function with data is a generic loop; ours have none.
    return None if found is None or found[1] else found[0]


@functools.cache
def typed_loop(ufunc: np.ufunc, numbers: tuple[int, ...]) -> tuple[int, int] | None:
    """The (function, data) for operands and results whose types have these numbers; ``None`` where there is
    none, or the table is unexpected."""
    if sys.implementation.name != "cpython":
        return None
    head = object.__basicsize__
    if np.ufunc.__basicsize__ < head + ctypes.sizeof(_UFunc):
        return None
    fields = _UFunc.from_address(id(ufunc) + head)
    counts = (fields.nin, fields.nout, fields.nargs, fields.ntypes)
    if counts != (ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes):
        return None
    if not fields.functions or not fields.data or not fields.types or not fields.name:
        return None
    if fields.name != ufunc.__name__.encode():
        return None
    types = ctypes.string_at(fields.types, fields.ntypes * fields.nargs)
    wanted = bytes(numbers)
    for i in range(fields.ntypes):
        if types[i * fields.nargs : (i + 1) * fields.nargs] == wanted:
            return fields.functions[i] or 0, fields.data[i] or 0
    return None


def _gives_the_same(ufunc: Any, char: str, address: int) -> bool:
    """True if the function gives the same bits as the ufunc, for calls of several lengths and offsets."""
    size = np.dtype(char).itemsize
    with Computing():
        inputs = [_numbers(char, seed) for seed in range(ufunc.nin)]
        wanted = ufunc(*inputs)
        got = np.zeros_like(wanted)
        function = _INNER_LOOP(address)
        steps = (ctypes.c_ssize_t * ufunc.nargs)(*[size] * ufunc.nargs)
        start, turn = 0, 0
        while start < _TRIED:
            count = min(_LENGTHS[turn % len(_LENGTHS)], _TRIED - start)
            at = [x.ctypes.data + start * size for x in (*inputs, got)]
            pointers = (ctypes.c_void_p * ufunc.nargs)(*at)
            dims = (ctypes.c_ssize_t * 1)(count)
            function(*map(ctypes.addressof, (pointers, dims, steps)), None)
            start, turn = start + count, turn + 1
    nan = np.isnan(wanted)
    bits = f"u{size}"
    same = got.view(bits) == wanted.view(bits)
    return bool((same | nan).all() and (np.isnan(got) == nan).all())


def _numbers(char: str, seed: int) -> Any:
    """Small, ordinary and large numbers of both signs, and special ones."""
    quarter = _TRIED // 4
    large = 80.0 if char == "f" else 700.0
    # Spread out, and different for each seed; `np.random` takes 40 ms to load.
    spread = np.arange(quarter) * (0.6180339887498949 + 0.1 * seed) % 1.0
    wide = (2.0 * spread - 1.0) * large
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-40, -1e-40, 3e38, 89.0, -104.0]
    parts = (
        np.tan(2.0 * spread - 1.0),
        wide,
        np.copysign(np.exp(wide), np.cos(1e3 * spread)),
        np.resize(np.roll(special, seed), quarter + seed)[seed:],
    )
    return np.stack(parts, axis=-1).astype(char).reshape(-1)
