"""``ufunc.at`` on any device, for every dtype.

CuPy (14.2) has atomic sums, differences, maxima and minima of some dtypes only; the others are
brought to one of these and back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

#: What ``ufunc.at`` of CuPy takes (``cupy/_core/_routines_indexing.pyx``).
ATOMIC_DTYPES = {
    "add": frozenset({"int32", "uint32", "uint64", "float16", "float32", "float64"}),
    "subtract": frozenset({"int32", "uint32"}),
    "maximum": frozenset({"int32", "uint32", "uint64", "float32", "float64"}),
    "minimum": frozenset({"int32", "uint32", "uint64", "float32", "float64"}),
}
_WIDER = {
    **dict.fromkeys(("bool", "int8", "int16", "uint8", "uint16"), np.int32),
    "float16": np.float32,
}
#: Turns the order of signed numbers of 64 bits into that of unsigned ones.
_SIGN = np.uint64(1 << 63)


def scatter_at(xp: Any, name: str, array: Any, where: Any, values: Any) -> None:
    """``name.at(array, where, values)``, in place: repeated indices count as often as they stand.

    ``name``: "add", "subtract", "maximum" or "minimum". ``where`` is an index array, or a tuple of
    them; ``values`` has the shape of ``array[where]`` and the dtype of ``array``.
    """
    if xp is np:
        getattr(np, name).at(array, where, values)
        return
    if name == "subtract" and array.dtype.name not in ATOMIC_DTYPES[name]:
        name, values = "add", -values
    ufunc = getattr(xp, name)
    dtype = array.dtype.name
    if dtype in ATOMIC_DTYPES[name]:
        ufunc.at(array, where, values)
    elif dtype == "int64":
        flip = np.uint64(0) if name == "add" else _SIGN
        numbers = array.view(np.uint64) ^ flip
        ufunc.at(numbers, where, xp.ascontiguousarray(values).view(np.uint64) ^ flip)
        array[...] = (numbers ^ flip).view(np.int64)
    elif array.dtype.kind == "c":
        real, imaginary = array.real.copy(), array.imag.copy()
        ufunc.at(real, where, values.real)
        ufunc.at(imaginary, where, values.imag)
        array[...] = real + 1j * imaginary
    else:
        wide = array.astype(_WIDER[dtype])
        ufunc.at(wide, where, values.astype(wide.dtype))
        array[...] = wide.astype(array.dtype)
