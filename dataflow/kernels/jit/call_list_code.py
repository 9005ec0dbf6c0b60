"""The machine code of call lists: calls of functions that take other arguments than a table, and the list itself."""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from typing import NamedTuple

from dataflow.kernels.jit.compiler import compile_source
from dataflow.kernels.jit.llvm_builder import Writer, module
from dataflow.kernels.jit.loop_codegen import DATA_OFFSET

#: The most operands of a ufunc, and axes around its inner loop.
OPERANDS, AXES = 4, 3
#: Where an array object has its rank, the addresses of its lengths and strides, and of its dtype; where any
#: object has the address of its type.
_TYPE, _RANK, _LENGTHS, _STRIDES, _DTYPE, _FLAGS = 8, 24, 32, 40, 56, 64
#: The flag of an array whose elements lie at multiples of their size.
_ALIGNED = 0x100


class Code(NamedTuple):
    """The addresses of our functions of a table, and ``run(words, ids)``."""

    ufunc: int
    flat_ufunc: int
    single_product: int
    double_product: int
    single_vector: int
    double_vector: int
    run: Callable[[int, bytes], int]


@functools.cache
def code() -> Code:
    """The machine code. Raises `ImportError` where there is none."""
    names = ("ufunc", "flat_ufunc", "product_f", "product_d", "vector_f", "vector_d", "run")
    products = [_blas("product", char, 3, 3) for char in "fd"]
    vectors = [_blas("vector", char, 2, 2) for char in "fd"]
    text = module(_ufunc(), _flat_ufunc(), *products, *vectors, _run())
    found = compile_source(text, *names)
    # With the interpreter's lock, so that no other thread uses the list meanwhile.
    kind = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_char_p)
    return Code(*found[:6], kind(found[6]))  # type: ignore[call-arg, arg-type]


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


def _run() -> Writer:
    """Compares the layouts, fills in the addresses and makes the calls; 1, or 0 where a layout differs.

    The words are (number of arrays, of calls, of addresses to fill in, where those are, the type of arrays), layouts,
    (function, offset of its table) of each call, the tables, and (offset of a word, of the array's id,
    what is added) of each address.
    """
    w = Writer("i64 @run(ptr %words, ptr %ids)")
    fields = w.fields("%words", ("arrays", "calls", "patches", "places", "type"))
    layouts = w.element("i64", "%words", 5)

    def refuse_unless(condition: str) -> None:
        same = w.name("same")
        w.branch(condition, same, "refused")
        w.begin(same)

    def check(i: str) -> int:
        layout = w.element("i64", layouts, w.op("mul", i, 3))
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
        return 1

    w.loop(fields["arrays"], check)
    places = w.element("i8", "%words", fields["places"])

    def patch(i: str) -> int:
        at = w.element("i64", places, w.op("mul", i, 3))
        word, array, offset = (w.load("i64", w.element("i64", at, k)) for k in range(3))
        found = w.load("ptr", w.element("i8", "%ids", array))
        data = w.load("i64", w.element("i8", found, DATA_OFFSET))
        w.store("i64", w.op("add", data, offset), w.element("i8", "%words", word))
        return 1

    w.loop(fields["patches"], patch)
    calls = w.element("i64", layouts, w.op("mul", fields["arrays"], 3))

    def make(i: str) -> int:
        entry = w.element("i64", calls, w.op("mul", i, 2))
        function, offset = w.load("ptr", entry), w.load("i64", w.element("i64", entry, 1))
        w.call(function, ("ptr", w.element("i8", "%words", offset)))
        return 1

    w.loop(fields["calls"], make)
    w.leave("i64", 1)
    w.begin("refused")
    w.leave("i64", 0)
    return w
