"""The hashes of crossed features, in one pass of machine code for each feature, instead of twelve of NumPy's.

Whole numbers only, so the results are those of `sparse_cross.concatenate_fingerprints`.

Measured (3 features of 128 words): NumPy 39 us, machine code 2 us.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow.kernels.jit.compiler import JitEntry, compile_source
from dataflow.kernels.jit.llvm_builder import Writer, module
from dataflow.kernels.jit.loop_codegen import DATA_OFFSET

#: Of TensorFlow's FingerprintCat64, which puts two fingerprints together.
MULTIPLIER, SHIFT = 0xC6A4A7935BD1E995, 47
_FIELDS = ("size", "features", "key", "buckets", "out")


def _compile() -> Callable[[bytes], None]:
    (address,) = compile_source(source(), "cross_hashes")
    return ctypes.CFUNCTYPE(None, ctypes.c_char_p)(address)


_entry: JitEntry[Callable[[bytes], None]] = JitEntry(_compile)


def cross_hashes(fingerprints: Sequence[Any], hash_key: int, num_buckets: int) -> Any:
    """Combines fingerprints (uint64 vectors of one length) and takes them modulo the number of buckets: int64.

    ``None`` where there is no machine code (yet).
    """
    function = _entry.get() if fingerprints else None
    if function is None:
        return None
    size = len(fingerprints[0])
    arrays = [np.ascontiguousarray(x) for x in fingerprints]
    out = np.empty(size, np.int64)
    count = len(arrays)
    fields = (size, count, hash_key, num_buckets, id(out), *map(id, arrays))
    function(struct.pack(f"{5 + count}Q", *fields))
    return out


def source() -> str:
    """The function in LLVM's assembly language."""
    w = Writer("void @cross_hashes(ptr %table)")
    field = w.fields("%table", _FIELDS)

    def data(address: str) -> str:
        """Where the elements of a NumPy array lie, from the address of its object."""
        return w.load("ptr", w.pointer(w.op("add", address, DATA_OFFSET)))

    def mix(x: str) -> str:
        return w.op("xor", x, w.op("lshr", x, SHIFT))

    def times(x: str) -> str:
        return w.op("mul", x, MULTIPLIER)

    out = data(field["out"])

    def begin(i: str) -> int:
        w.store("i64", field["key"], w.element("i64", out, i))
        return 1

    def feature(j: str) -> int:
        place = w.element("i64", "%table", w.op("add", j, len(_FIELDS)))
        prints = data(w.load("i64", place))

        def element(i: str) -> int:
            here = w.element("i64", out, i)
            second = w.load("i64", w.element("i64", prints, i))
            result = w.op("xor", w.load("i64", here), MULTIPLIER)
            result = times(w.op("xor", result, times(mix(times(second)))))
            w.store("i64", mix(times(mix(result))), here)
            return 1

        w.loop(field["size"], element)
        return 1

    def end(i: str) -> int:
        here = w.element("i64", out, i)
        w.store("i64", w.op("urem", w.load("i64", here), field["buckets"]), here)
        return 1

    w.loop(field["size"], begin)
    w.loop(field["features"], feature)
    w.loop(field["size"], end)
    w.leave()
    return module(w)
