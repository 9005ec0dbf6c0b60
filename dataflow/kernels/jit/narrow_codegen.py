"""Half precision and bfloat16 in LLVM assembly: 16 bits in memory, single precision in registers."""

from __future__ import annotations

from dataflow.kernels.jit.llvm_builder import Writer, vector_of, vector_type

#: The types of 16 bits that loops may have, by NumPy's names.
NARROW = frozenset({"float16", "bfloat16"})
_BITS, _HALF_UNIT, _QUIET = 16, 0x7FFF, 0x40


def widened(w: Writer, dtype: str, bits: str, lanes: int = 0) -> str:
    """The number in single precision, or each of a vector's; exact."""
    narrow, whole, single, half = (_kind(lanes, x) for x in ("i16", "i32", "float", "half"))
    if dtype == "float16":
        return w.put(f"fpext {half} {w.put(f'bitcast {narrow} {bits} to {half}')} to {single}")
    wide = w.put(f"zext {narrow} {bits} to {whole}")
    shifted = w.put(f"shl {whole} {wide}, {_all(lanes, _BITS)}")
    return w.put(f"bitcast {whole} {shifted} to {single}")


def narrowed(w: Writer, dtype: str, value: str, lanes: int) -> str:
    """The bits of each number of a vector, rounded to the nearest, of two the even one."""
    narrow, whole, single, half = (_kind(lanes, x) for x in ("i16", "i32", "float", "half"))
    if dtype == "float16":
        return w.put(f"bitcast {half} {w.put(f'fptrunc {single} {value} to {half}')} to {narrow}")

    def op(name: str, a: str, b: str) -> str:
        return w.put(f"{name} {whole} {a}, {b}")

    bits = w.put(f"bitcast {single} {value} to {whole}")
    high = op("lshr", bits, _all(lanes, _BITS))
    is_odd = op("and", high, _all(lanes, 1))
    rounded = op("add", op("add", bits, _all(lanes, _HALF_UNIT)), is_odd)
    rounded = op("lshr", rounded, _all(lanes, _BITS))
    is_nan = w.put(f"fcmp uno {single} {value}, {value}")
    quiet = op("or", high, _all(lanes, _QUIET))
    found = w.put(f"select {_kind(lanes, 'i1')} {is_nan}, {whole} {quiet}, {whole} {rounded}")
    return w.put(f"trunc {whole} {found} to {narrow}")


def _kind(lanes: int, element: str) -> str:
    return vector_type(lanes, element) if lanes else element


def _all(lanes: int, value: int) -> str:
    return vector_of("i32", [value] * lanes) if lanes else str(value)
