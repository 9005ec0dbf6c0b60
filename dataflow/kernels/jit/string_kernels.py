"""Parses vectors of ``bytes`` in machine code: numbers and CSV records.

A Python call for each element costs 100 to 1,500 ns; here it is 20. The code reads the objects in
place: their size and first byte are at fixed offsets in CPython's ``bytes`` object. It holds the
interpreter lock, so that no object is freed meanwhile. Anything unusual (a number with more digits
than a double holds, a quoted field, blanks) is left to the caller, which uses Python.

Measured on two loaded cores, in a session: 10,000 numbers 5.8 ms by Python and 0.7 ms here, 20,000
records of five columns 291 ms and 12 ms, 150 records 0.49 ms and 0.10 ms.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.jit.compiler import JitEntry, address_of, compile_source, table_fields

#: With fewer elements Python's calls cost no more.
SMALL_ELEMENTS = 24
#: Kinds of columns: text, integers, real numbers.
TEXT, WHOLE, REAL = 0, 1, 2

_TYPE, _SIZE, _DATA = object.__basicsize__ - 8, object.__basicsize__, bytes.__basicsize__ - 1
_MOST_DIGITS, _MOST_TENS = 18, 22  # that an int64 holds; powers of ten that a double holds


class _Functions(NamedTuple):
    """The compiled functions; each takes a table of numbers and addresses."""

    numbers: Callable[[bytes], int]
    records: Callable[[bytes], int]


def _compile() -> _Functions:
    if sys.implementation.name != "cpython" or struct.calcsize("P") != 8:
        raise ImportError("how objects lie in memory is CPython's, with addresses of 64 bits")
    kind = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_char_p)
    return _Functions(*map(kind, compile_source(source(), *_Functions._fields)))


_LAZY = JitEntry(_compile)


def _call(name: str, *fields: int) -> bool:
    """Returns False where the texts cannot be read, or there is no machine code (yet)."""
    functions = _LAZY.get()
    if functions is None:
        return False
    table = struct.pack(f"{len(fields) + 1}q", id(bytes), *fields)
    return bool(getattr(functions, name)(table) == 0)


def _can_read(texts: Any) -> bool:
    return bool(texts.size >= SMALL_ELEMENTS and texts.flags.c_contiguous)


def numbers(texts: Any, whole: bool) -> tuple[Any, Any] | None:
    """The parsed numbers (int64 or float64), and a bool array of those left to Python;
    ``None`` where that is not possible (yet)."""
    if not _can_read(texts):
        return None
    out = np.empty(texts.shape, np.int64 if whole else np.float64)
    left = np.empty(texts.shape, np.bool_)
    arrays = address_of(texts), address_of(out), address_of(left)
    return (out, left) if _call("numbers", texts.size, *arrays, whole) else None


def records(
    texts: Any, delimiter: bytes, kinds: Sequence[int], quotes: bool, exact: bool
) -> tuple[Any, Any] | None:
    """Fields of CSV records [n], for ``kinds`` of columns.

    (values [columns, n], left [columns, n]): an int64 that is the number, the bits of a float64, or
    the start and end of text; ``left`` is 0, 1 where Python has to read the field, 2 where it is
    empty. With ``quotes`` line endings are stripped. ``None`` where that is not possible (yet),
    or a record has quotes, or fewer fields than ``kinds``, or (``exact``) more.
    """
    if not _can_read(texts) or texts.ndim != 1 or len(delimiter) != 1:
        return None
    columns = len(kinds)
    values = np.empty((columns, texts.size), np.int64)
    left = np.zeros((columns, texts.size), np.uint8)
    table = np.array(kinds, np.int64)
    arrays = address_of(texts), address_of(values), address_of(left), address_of(table)
    options = columns, delimiter[0], quotes, exact
    return (values, left) if _call("records", texts.size, *arrays, *options) else None


# ---- the text ---------------------------------------------------------------------------------


def _loop(name: str, fields: str, body: list[str]) -> list[str]:
    """A function that loops over texts and returns 0, or -1 where one cannot be read. ``body`` may use
    %i, %text and %size, branches to %next, and may branch to %wrong."""
    pointers = ("texts", "out", "left", "kinds")
    all_fields = f"bytes count texts {fields}".split()
    return [
        f"define i64 @{name}(ptr %table) {{",
        "entry:",
        *table_fields({field: "ptr" if field in pointers else "i64" for field in all_fields}),
        "  br label %head",
        "head:",
        "  %i = phi i64 [0, %entry], [%i.next, %next]",
        "  %in = icmp slt i64 %i, %count",
        "  br i1 %in, label %look, label %done",
        "look:",
        "  %object.at = getelementptr ptr, ptr %texts, i64 %i",
        "  %object = load ptr, ptr %object.at",
        f"  %type.at = getelementptr i8, ptr %object, i64 {_TYPE}",
        "  %type = load i64, ptr %type.at",
        "  %is.bytes = icmp eq i64 %type, %bytes",
        "  br i1 %is.bytes, label %read, label %wrong",
        "read:",
        f"  %size.at = getelementptr i8, ptr %object, i64 {_SIZE}",
        "  %size = load i64, ptr %size.at",
        f"  %text = getelementptr i8, ptr %object, i64 {_DATA}",
        *body,
        "next:",
        "  %i.next = add i64 %i, 1",
        "  br label %head",
        "wrong:",
        "  ret i64 -1",
        "done:",
        "  ret i64 0",
        "}",
    ]


def _number() -> list[str]:
    """``number(text, size, whole, place)`` stores the number and returns 0; 1: for Python, 2: empty.

    Digits and decimal places are counted. An integer of at most 2^53 times or over a power of ten
    that a double represents exactly is rounded only once, as it should be.
    """
    powers = ", ".join(f"double 1.0e{i}" for i in range(_MOST_TENS + 1))
    return [
        f"@tens = private constant [{_MOST_TENS + 1} x double] [{powers}]",
        "define internal i64 @number(ptr %text, i64 %size, i64 %whole, ptr %place) {",
        "entry:",
        "  %empty = icmp sle i64 %size, 0",
        "  br i1 %empty, label %nothing, label %some",
        "nothing:",
        "  ret i64 2",
        "some:",
        "  %is.whole = icmp ne i64 %whole, 0",
        "  %first = load i8, ptr %text",
        f"  %minus = icmp eq i8 %first, {ord('-')}",
        f"  %plus = icmp eq i8 %first, {ord('+')}",
        "  %signed = or i1 %minus, %plus",
        "  %begin = zext i1 %signed to i64",
        "  br label %head",
        "head:",
        "  %i = phi i64 [%begin, %some], [%i.next, %digit], [%i.next, %point]",
        "  %m = phi i64 [0, %some], [%m.next, %digit], [%m, %point]",
        "  %digits = phi i64 [0, %some], [%digits.next, %digit], [%digits, %point]",
        "  %behind = phi i64 [0, %some], [%behind.next, %digit], [%behind, %point]",
        "  %seen = phi i1 [%is.whole, %some], [%seen, %digit], [true, %point]",
        "  %step = phi i64 [0, %some], [%step, %digit], [1, %point]",
        "  %i.next = add i64 %i, 1",
        "  %in = icmp slt i64 %i, %size",
        "  br i1 %in, label %look, label %end",
        "look:",
        "  %at = getelementptr i8, ptr %text, i64 %i",
        "  %c = load i8, ptr %at",
        f"  %d = sub i8 %c, {ord('0')}",
        "  %is.digit = icmp ult i8 %d, 10",
        "  br i1 %is.digit, label %digit, label %other",
        "digit:",
        "  %d.wide = zext i8 %d to i64",
        "  %m.tens = mul i64 %m, 10",
        "  %m.next = add i64 %m.tens, %d.wide",
        "  %digits.next = add i64 %digits, 1",
        "  %behind.next = add i64 %behind, %step",
        f"  %too.many = icmp sge i64 %digits.next, {_MOST_DIGITS + 1}",
        "  br i1 %too.many, label %python, label %head",
        "other:",
        f"  %is.point = icmp eq i8 %c, {ord('.')}",
        "  %not.seen = xor i1 %seen, true",
        "  %is.first = and i1 %is.point, %not.seen",
        "  br i1 %is.first, label %point, label %letter",
        "point:",
        "  br label %head",
        "letter:",
        "  %lower = or i8 %c, 32",
        f"  %is.e = icmp eq i8 %lower, {ord('e')}",
        "  %may = xor i1 %is.whole, true",
        "  %power = and i1 %is.e, %may",
        "  br i1 %power, label %exponent, label %python",
        "exponent:",
        "  %more = icmp slt i64 %i.next, %size",
        "  br i1 %more, label %sign, label %python",
        "sign:",
        "  %sign.at = getelementptr i8, ptr %text, i64 %i.next",
        "  %sign.c = load i8, ptr %sign.at",
        f"  %down = icmp eq i8 %sign.c, {ord('-')}",
        f"  %up = icmp eq i8 %sign.c, {ord('+')}",
        "  %has.sign = or i1 %down, %up",
        "  %skip = zext i1 %has.sign to i64",
        "  %from = add i64 %i.next, %skip",
        "  %any = icmp slt i64 %from, %size",
        "  br i1 %any, label %places, label %python",
        "places:",
        "  %j = phi i64 [%from, %sign], [%j.next, %placed]",
        "  %x = phi i64 [0, %sign], [%x.next, %placed]",
        "  %j.at = getelementptr i8, ptr %text, i64 %j",
        "  %j.c = load i8, ptr %j.at",
        f"  %j.d = sub i8 %j.c, {ord('0')}",
        "  %j.digit = icmp ult i8 %j.d, 10",
        "  %x.small = icmp ult i64 %x, 100",
        "  %goes = and i1 %j.digit, %x.small",
        "  br i1 %goes, label %placed, label %python",
        "placed:",
        "  %j.wide = zext i8 %j.d to i64",
        "  %x.tens = mul i64 %x, 10",
        "  %x.next = add i64 %x.tens, %j.wide",
        "  %j.next = add i64 %j, 1",
        "  %j.in = icmp slt i64 %j.next, %size",
        "  br i1 %j.in, label %places, label %raised",
        "raised:",
        "  %x.minus = sub i64 0, %x.next",
        "  %x.signed = select i1 %down, i64 %x.minus, i64 %x.next",
        "  br label %end",
        "end:",
        "  %ten = phi i64 [0, %head], [%x.signed, %raised]",
        "  %has = icmp sgt i64 %digits, 0",
        "  br i1 %has, label %kind, label %python",
        "kind:",
        "  br i1 %is.whole, label %store.whole, label %real",
        "store.whole:",
        "  %m.minus = sub i64 0, %m",
        "  %m.signed = select i1 %minus, i64 %m.minus, i64 %m",
        "  store i64 %m.signed, ptr %place",
        "  ret i64 0",
        "real:",
        f"  %exact = icmp ule i64 %m, {1 << 53}",
        "  %e = sub i64 %ten, %behind",
        "  %e.minus = sub i64 0, %e",
        "  %below = icmp slt i64 %e, 0",
        "  %e.size = select i1 %below, i64 %e.minus, i64 %e",
        f"  %e.small = icmp ule i64 %e.size, {_MOST_TENS}",
        "  %fits = and i1 %exact, %e.small",
        "  br i1 %fits, label %make, label %python",
        "make:",
        "  %factor.at = getelementptr double, ptr @tens, i64 %e.size",
        "  %factor = load double, ptr %factor.at",
        "  %m.real = uitofp i64 %m to double",
        "  %times = fmul double %m.real, %factor",
        "  %over = fdiv double %m.real, %factor",
        "  %positive = select i1 %below, double %over, double %times",
        "  %negative = fneg double %positive",
        "  %value = select i1 %minus, double %negative, double %positive",
        "  store double %value, ptr %place",
        "  ret i64 0",
        "python:",
        "  ret i64 1",
        "}",
    ]


def _numbers() -> list[str]:
    body = [
        "  %place = getelementptr i64, ptr %out, i64 %i",
        "  %state = call i64 @number(ptr %text, i64 %size, i64 %whole, ptr %place)",
        "  %failed = icmp ne i64 %state, 0",
        "  %failed.byte = zext i1 %failed to i8",
        "  %left.place = getelementptr i8, ptr %left, i64 %i",
        "  store i8 %failed.byte, ptr %left.place",
        "  br label %next",
    ]
    return _loop("numbers", "out left whole", body)


def _records() -> list[str]:
    """Reads fields from one delimiter to the next; each is parsed when its end is found."""
    body = [
        "  %cut = icmp ne i64 %quotes, 0",
        "  br i1 %cut, label %shorten, label %split",
        "shorten:",
        "  %length = phi i64 [%size, %read], [%shorter, %line]",
        "  %shorter = sub i64 %length, 1",
        "  %is.left = icmp sgt i64 %length, 0",
        "  br i1 %is.left, label %last, label %split",
        "last:",
        "  %last.at = getelementptr i8, ptr %text, i64 %shorter",
        "  %last.c = load i8, ptr %last.at",
        f"  %is.r = icmp eq i8 %last.c, {ord(chr(13))}",
        f"  %is.n = icmp eq i8 %last.c, {ord(chr(10))}",
        "  %is.end = or i1 %is.r, %is.n",
        "  br i1 %is.end, label %line, label %split",
        "line:",
        "  br label %shorten",
        "split:",
        "  %stop = phi i64 [%size, %read], [%length, %shorten], [%length, %last]",
        "  br label %fields",
        "fields:",
        "  %k = phi i64 [0, %split], [%k.next, %field.done], [%k, %inside]",
        "  %begin = phi i64 [0, %split], [%j.next, %field.done], [%begin, %inside]",
        "  %j = phi i64 [0, %split], [%j.next, %field.done], [%j.next, %inside]",
        "  %j.next = add i64 %j, 1",
        "  %at.end = icmp sge i64 %j, %stop",
        "  br i1 %at.end, label %field, label %character",
        "character:",
        "  %j.at = getelementptr i8, ptr %text, i64 %j",
        "  %c = load i8, ptr %j.at",
        "  %c.wide = zext i8 %c to i64",
        "  %is.delimiter = icmp eq i64 %c.wide, %delimiter",
        "  br i1 %is.delimiter, label %field, label %inside",
        "inside:",
        f"  %is.quote = icmp eq i8 %c, {ord(chr(34))}",
        "  %bad = and i1 %is.quote, %cut",
        "  br i1 %bad, label %wrong, label %fields",
        "field:",
        "  %wanted = icmp slt i64 %k, %columns",
        "  br i1 %wanted, label %keep, label %field.done",
        "keep:",
        "  %row = mul i64 %k, %count",
        "  %number = add i64 %row, %i",
        "  %place = getelementptr i64, ptr %out, i64 %number",
        "  %left.place = getelementptr i8, ptr %left, i64 %number",
        "  %kind.at = getelementptr i64, ptr %kinds, i64 %k",
        "  %kind = load i64, ptr %kind.at",
        "  %long = sub i64 %j, %begin",
        "  %none = icmp eq i64 %long, 0",
        f"  %is.text = icmp eq i64 %kind, {TEXT}",
        "  br i1 %is.text, label %text.field, label %number.field",
        "text.field:",
        "  %high = shl i64 %j, 32",
        "  %both = or i64 %high, %begin",
        "  store i64 %both, ptr %place",
        "  %text.state = select i1 %none, i64 2, i64 0",
        "  br label %kept",
        "number.field:",
        f"  %is.whole = icmp eq i64 %kind, {WHOLE}",
        "  %whole = zext i1 %is.whole to i64",
        "  %from = getelementptr i8, ptr %text, i64 %begin",
        "  %read.state = call i64 @number(ptr %from, i64 %long, i64 %whole, ptr %place)",
        "  br label %kept",
        "kept:",
        "  %state = phi i64 [%text.state, %text.field], [%read.state, %number.field]",
        "  %state.byte = trunc i64 %state to i8",
        "  store i8 %state.byte, ptr %left.place",
        "  br label %field.done",
        "field.done:",
        "  %k.next = add i64 %k, 1",
        "  br i1 %at.end, label %record.done, label %fields",
        "record.done:",
        "  %few = icmp slt i64 %k.next, %columns",
        "  %many = icmp sgt i64 %k.next, %columns",
        "  %is.exact = icmp ne i64 %exact, 0",
        "  %too.many = and i1 %many, %is.exact",
        "  %differs = or i1 %few, %too.many",
        "  br i1 %differs, label %wrong, label %next",
    ]
    return _loop("records", "out left kinds columns delimiter quotes exact", body)


def source() -> str:
    """Both functions in LLVM's assembly language."""
    return "\n".join([*_number(), *_numbers(), *_records(), ""])
