"""The machine code of call lists: calls of functions that take other arguments than a table, and the list itself."""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from typing import NamedTuple

from dataflow.kernels.jit.compiler import QUICKLY, compile_source
from dataflow.kernels.jit.llvm_builder import Writer, module
from dataflow.kernels.jit.loop_codegen import DATA_OFFSET

#: The most operands of a ufunc, and axes around its inner loop.
OPERANDS, AXES = 4, 3
#: How many words say what an array must be.
FIELDS = 6
#: The words before these.
HEAD = ("arrays", "calls", "patches", "numbers", "places", "type", "refused")
#: Where an array object has its rank, the addresses of its lengths and strides, and of its dtype; where any
#: object has the address of its type.
_TYPE, _RANK, _LENGTHS, _STRIDES, _BASE, _DTYPE, _FLAGS = 8, 24, 32, 40, 48, 56, 64
#: The flags of an array whose elements lie at multiples of their size, and of one that may be changed.
_ALIGNED, _WRITEABLE = 0x100, 0x400


class Code(NamedTuple):
    """The addresses of our functions of a table, and ``run(words, ids)``."""

    ufunc: int
    flat_ufunc: int
    single_product: int
    double_product: int
    single_vector: int
    double_vector: int
    single_dot: int
    double_dot: int
    sequence: int
    run: Callable[[int, bytes], int]


@functools.cache
def code() -> Code:
    """The machine code. Raises `ImportError` where there is none."""
    names = (
        "ufunc",
        "flat_ufunc",
        "product_f",
        "product_d",
        "vector_f",
        "vector_d",
        "dot_f",
        "dot_d",
        "sequence",
        "run",
    )
    products = [_blas("product", char, 3, 3) for char in "fd"]
    vectors = [_blas("vector", char, 2, 2) for char in "fd"]
    text = module(
        _ufunc(), _flat_ufunc(), *products, *vectors, *map(_dot, "fd"), _sequence(), _run()
    )
    found = compile_source(text, *names, level=QUICKLY)
    # With the interpreter's lock, so that no other thread uses the list meanwhile.
    kind = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_char_p)
    return Code(*found[:-1], kind(found[-1]))  # type: ignore[call-arg, arg-type]


#: LLVM's types of numbers; a bool is 0 or 1.
_TYPES = {
    "b1": "i8",
    **{f"{kind}{n}": f"i{8 * n}" for kind in "iu" for n in (1, 2, 4, 8)},
    "f4": "float",
    "f8": "double",
}


@functools.cache
def conversion(source: str, to: str) -> int | None:
    """The address of a function that converts contiguous numbers; ``None`` where the result may be undefined."""
    if source not in _TYPES or to not in _TYPES or (source[0] == "f" and to[0] in "iu"):
        return None
    return compile_source(module(_conversion(source, to)), "convert")[0]


def _conversion(source: str, to: str) -> Writer:
    w = Writer("void @convert(ptr %table)")
    left, right = (w.load("ptr", w.element("i64", "%table", i)) for i in range(2))
    kind, wanted = _TYPES[source], _TYPES[to]
    signed = source[0] == "i"
    compares, zero = ("fcmp une", "0.0") if source[0] == "f" else ("icmp ne", "0")

    def one(i: str) -> int:
        x = w.load(kind, w.element(kind, left, i))
        if to == "b1":
            x = w.put(f"zext i1 {w.put(f'{compares} {kind} {x}, {zero}')} to i8")
        elif to[0] == "f":
            wider = "fpext" if source < to else "fptrunc"
            how = wider if source[0] == "f" else "sitofp" if signed else "uitofp"
            x = w.put(f"{how} {kind} {x} to {wanted}")
        elif source[1] != to[1]:
            how = ("sext" if signed else "zext") if source[1] < to[1] else "trunc"
            x = w.put(f"{how} {kind} {x} to {wanted}")
        w.store(wanted, x, w.element(wanted, right, i))
        return 1

    w.loop(w.load("i64", w.element("i64", "%table", 2)), one)
    w.leave()
    return w


def is_available() -> bool:
    """Whether this process can have lists: it needs machine code, and the interpreter's lock."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    try:
        code()
    except (ImportError, OSError, RuntimeError):
        return False
    return True


def _ufunc() -> Writer:
    """Calls the inner loop of a ufunc for each element of the outer axes."""
    w = Writer("void @ufunc(ptr %table)")
    arguments = w.room(f"[{OPERANDS} x i64]")

    def word(i: int) -> str:
        return w.load("i64", w.element("i64", "%table", i))

    function, data = w.load("ptr", "%table"), w.load("ptr", w.element("i64", "%table", 1))
    count = w.element("i64", "%table", 2)
    lengths = [word(3 + i) for i in range(AXES)]
    first = 3 + AXES
    steps = w.element("i64", "%table", first + OPERANDS)
    starts = [word(first + k) for k in range(OPERANDS)]
    strides = [
        [word(first + (2 + axis) * OPERANDS + k) for k in range(OPERANDS)] for axis in range(AXES)
    ]

    def around(axis: int, here: list[str]) -> None:
        if axis == AXES:
            for k, address in enumerate(here):
                w.store("i64", address, w.element("i64", arguments, k))
            w.call(function, *[("ptr", x) for x in (arguments, count, steps, data)])
            return
        values = [("i64", x) for x in here]

        def once(_: str, now: list[str]) -> tuple[int, list[str]]:
            around(axis + 1, now)
            return 1, [w.op("add", x, s) for x, s in zip(now, strides[axis], strict=True)]

        w.carry(lengths[axis], values, once)

    around(0, starts)
    w.leave()
    return w


def _flat_ufunc() -> Writer:
    """Calls the inner loop of a ufunc once, on the table's own addresses and steps."""
    w = Writer("void @flat_ufunc(ptr %table)")
    function, data = w.load("ptr", "%table"), w.load("ptr", w.element("i64", "%table", 1))
    count = w.load("i64", w.element("i64", "%table", 2))
    arguments = w.element("i64", "%table", 4)
    steps = w.element("i64", arguments, count)
    length = w.element("i64", "%table", 3)
    w.call(function, *[("ptr", x) for x in (arguments, length, steps, data)])
    w.leave()
    return w


def _blas(name: str, char: str, choices: int, sizes: int) -> Writer:
    """A product by BLAS: a function of so many choices, sizes, a factor, two operands, a factor and a result."""
    w = Writer(f"void @{name}_{char}(ptr %table)")
    element = "float" if char == "f" else "double"
    operands = ["ptr", "i64"]
    kinds = ["i32"] * choices + ["i64"] * sizes + [element, *operands * 2, element, *operands]
    values = [
        (kind, w.load(kind, w.element("i64", "%table", 1 + i))) for i, kind in enumerate(kinds)
    ]
    w.call(w.load("ptr", "%table"), *values)
    w.leave()
    return w


def _dot(char: str) -> Writer:
    """The sum of products of two vectors by BLAS, whose arguments come before the address of the result."""
    w = Writer(f"void @dot_{char}(ptr %table)")
    element = "float" if char == "f" else "double"
    kinds = ["i64", "ptr", "i64", "ptr", "i64"]
    values = [
        (kind, w.load(kind, w.element("i64", "%table", 1 + i))) for i, kind in enumerate(kinds)
    ]
    total = w.call(w.load("ptr", "%table"), *values, result=element)
    w.store(element, total, w.load("ptr", w.element("i64", "%table", 1 + len(kinds))))
    w.leave()
    return w


def _sequence() -> Writer:
    """Makes calls one after the other: their number, (function, offset of its table in this one) of each, the tables."""
    w = Writer("void @sequence(ptr %table)")
    calls = w.element("i64", "%table", 1)

    def make(i: str) -> int:
        entry = w.element("i64", calls, w.op("mul", i, 2))
        function, offset = w.load("ptr", entry), w.load("i64", w.element("i64", entry, 1))
        w.call(function, ("ptr", w.element("i8", "%table", offset)))
        return 1

    w.loop(w.load("i64", "%table"), make)
    w.leave()
    return w


def _run() -> Writer:
    """Compares the layouts, fills in the addresses and makes the calls; 1, or 0 where something differs, or a call
    refused.

    The words are `HEAD` (how many arrays, calls, addresses and numbers to fill in, where those are, the type of arrays,
    the address of what calls set when they refuse), layouts, (function, offset of its table) of each call, the
    tables, and (offset of a word, of the array's id, what is added) of each address and of each number's.
    """
    w = Writer("i64 @run(ptr %words, ptr %ids)")
    fields = w.fields("%words", HEAD)
    layouts = w.element("i64", "%words", len(HEAD))

    def refuse_unless(condition: str) -> None:
        same = w.name("same")
        w.branch(condition, same, "refused")
        w.begin(same)

    def check(i: str) -> int:
        layout = w.element("i64", layouts, w.op("mul", i, FIELDS))
        found = w.load("ptr", w.element("i64", "%ids", i))

        def field(at: int) -> str:
            return w.element("i8", found, at)

        refuse_unless(w.compare("eq", w.load("i64", field(_TYPE)), fields["type"]))
        flags = w.put(f"zext i32 {w.load('i32', field(_FLAGS))} to i64")
        refuse_unless(w.compare("ne", w.op("and", flags, _ALIGNED), 0))
        dtype, rank = w.load("i64", layout), w.load("i64", w.element("i64", layout, 1))
        refuse_unless(w.compare("eq", w.load("i64", field(_DTYPE)), dtype))
        here = w.put(f"zext i32 {w.load('i32', field(_RANK))} to i64")
        refuse_unless(w.compare("eq", here, rank))
        wanted = w.load("ptr", w.element("i64", layout, 2))
        lengths, strides = w.load("ptr", field(_LENGTHS)), w.load("ptr", field(_STRIDES))

        def compare(axis: str) -> int:
            length = w.load("i64", w.element("i64", lengths, axis))
            refuse_unless(w.compare("eq", length, w.load("i64", w.element("i64", wanted, axis))))
            stride = w.load("i64", w.element("i64", strides, axis))
            same = w.load("i64", w.element("i64", wanted, w.op("add", axis, rank)))
            # The stride of an axis of length 1 is never used.
            other = w.op("mul", w.op("xor", stride, same), w.op("sub", length, 1))
            refuse_unless(w.compare("eq", other, 0))
            return 1

        w.loop(rank, compare)
        contents = w.load("ptr", w.element("i64", layout, 3))
        data = w.load("ptr", field(DATA_OFFSET))

        def compare_byte(k: str) -> int:
            got, same = (w.load("i8", w.element("i8", x, k)) for x in (data, contents))
            difference = w.put(f"zext i8 {w.put(f'xor i8 {got}, {same}')} to i64")
            refuse_unless(w.compare("eq", difference, 0))
            return 1

        w.loop(w.load("i64", w.element("i64", layout, 4)), compare_byte)

        def refuse_unless_alone() -> None:
            count = w.put(
                f"zext i32 {w.load('i32', found)} to i64"
            )  # of references: one, its owner's
            shared = w.op("or", w.op("xor", count, 1), w.load("i64", field(_BASE)))
            fixed = w.op("xor", w.op("and", flags, _WRITEABLE), _WRITEABLE)
            refuse_unless(w.compare("eq", w.op("or", shared, fixed), 0))

        w.when(w.compare("ne", w.load("i64", w.element("i64", layout, 5)), 0), refuse_unless_alone)
        return 1

    w.loop(fields["arrays"], check)
    places = w.element("i8", "%words", fields["places"])

    def address(i: str) -> tuple[str, str]:
        at = w.element("i64", places, w.op("mul", i, 3))
        word, array, offset = (w.load("i64", w.element("i64", at, k)) for k in range(3))
        found = w.load("ptr", w.element("i8", "%ids", array))
        data = w.load("i64", w.element("i8", found, DATA_OFFSET))
        return w.op("add", data, offset), w.element("i8", "%words", word)

    def fill(i: str) -> int:
        value, to = address(i)
        w.store("i64", value, to)
        return 1

    def fill_number(i: str) -> int:
        place, to = address(w.op("add", i, fields["patches"]))
        w.store("i64", w.load("i64", w.pointer(place)), to)
        return 1

    w.loop(fields["patches"], fill)
    w.loop(fields["numbers"], fill_number)
    calls = w.element("i64", layouts, w.op("mul", fields["arrays"], FIELDS))

    def make(i: str) -> int:
        entry = w.element("i64", calls, w.op("mul", i, 2))
        function, offset = w.load("ptr", entry), w.load("i64", w.element("i64", entry, 1))
        w.call(function, ("ptr", w.element("i8", "%words", offset)))
        return 1

    refused = w.pointer(fields["refused"])
    w.store("i64", 0, refused)
    w.loop(fields["calls"], make)
    refuse_unless(w.compare("eq", w.load("i64", refused), 0))
    w.leave("i64", 1)
    w.begin("refused")
    w.leave("i64", 0)
    return w
