"""Rows by index in machine code, for call lists: an index out of range is noted, and its row left as it is."""

from __future__ import annotations

import functools
from collections.abc import Callable

from dataflow.kernels.jit.compiler import compile_source
from dataflow.kernels.jit.llvm_builder import Writer, module

#: LLVM's types, by NumPy's character code.
_INDICES = {"i": "i32", "l": "i64", "q": "i64"}
_NUMBERS = {"f": "float", "d": "double"}
#: The fields of a table. Steps are in bytes.
PICK = (
    *("rows", "classes", "refused", "labels", "label_step"),
    *("logits", "row_step", "class_step", "largest", "chosen", "shares"),
)
TAKE = ("rows", "table_rows", "refused", "indices", "index_step", "table", "row_bytes", "out")

#: ``step`` leads from one place of the sparse matrix to the next; its two numbers are ``row_at`` and ``column_at`` after it.
MULTIPLY = (
    *("places", "rows", "refused", "indices", "step", "row_at", "column_at", "values"),
    *("columns", "matrix", "width", "out"),
)
#: Numbers of a row that are multiplied together.
_LANES = 8


@functools.cache
def pick(char: str, index: str) -> int | None:
    """The address of a function of `PICK`; ``None`` for other types.

    For each row: ``chosen = logits[label] - largest``, and ``shares[label] -= 1``.
    """
    if char not in _NUMBERS or index not in _INDICES:
        return None
    kind = _NUMBERS[char]
    number_bytes = 4 if char == "f" else 8
    w = Writer("void @pick(ptr %table)")
    f = w.fields("%table", PICK)

    def one(row: str, label: str) -> None:
        places = (row, f["row_step"]), (label, f["class_step"])
        logit = w.load(kind, w.pointer(w.at(f["logits"], *places)))
        largest = w.load(kind, w.element(kind, w.pointer(f["largest"]), row))
        to = w.element(kind, w.pointer(f["chosen"]), row)
        w.store(kind, w.put(f"fsub {kind} {logit}, {largest}"), to)
        each = w.op("mul", f["classes"], number_bytes)
        share = w.pointer(w.at(f["shares"], (row, each), (label, number_bytes)))
        w.store(kind, w.put(f"fsub {kind} {w.load(kind, share)}, 1.0"), share)

    _rows(w, _INDICES[index], f["labels"], f["label_step"], f["classes"], one)
    return compile_source(module(w), "pick")[0]


@functools.cache
def take(index: str) -> int | None:
    """The address of a function of `TAKE`: ``out[row] = table[index]``, contiguous; ``None`` for other types."""
    if index not in _INDICES:
        return None
    w = Writer("void @take(ptr %table)")
    f = w.fields("%table", TAKE)

    def one(row: str, number: str) -> None:
        to, source = (
            ("ptr", w.pointer(w.at(f[name], (i, f["row_bytes"]))))
            for name, i in (("out", row), ("table", number))
        )
        size = ("i64", f["row_bytes"])
        w.call("@llvm.memcpy.p0.p0.i64", to, source, size, ("i1", "false"))

    _rows(w, _INDICES[index], f["indices"], f["index_step"], f["table_rows"], one)
    return compile_source(module(w), "take")[0]


@functools.cache
def multiply(char: str) -> int | None:
    """The address of a function of `MULTIPLY`: ``out[row] += value * matrix[column]`` for the places of a sparse matrix,
    one after the other; ``None`` for other types."""
    if char not in _NUMBERS:
        return None
    kind = _NUMBERS[char]
    number_bytes = 4 if char == "f" else 8
    wide = f"<{_LANES} x {kind}>"
    w = Writer("void @multiply(ptr %table)")
    f = w.fields("%table", MULTIPLY)
    row_bytes = w.op("mul", f["width"], number_bytes)
    together = w.op("sub", f["width"], w.op("urem", f["width"], _LANES))

    def one(place: str, row: str) -> None:
        at = w.at(f["indices"], (place, f["step"]))
        column = w.load("i64", w.pointer(w.op("add", at, f["column_at"])))
        good, bad, after = w.name("met"), w.name("unmet"), w.name("done")
        w.branch(w.compare("ult", column, f["columns"]), good, bad)
        w.begin(bad)
        w.store("i64", 1, w.pointer(f["refused"]))
        w.jump(after)
        w.begin(good)
        value = w.load(kind, w.element(kind, w.pointer(f["values"]), place))
        values = w.spread(_LANES, kind, value)
        source, to = (
            w.at(f[name], (i, row_bytes)) for name, i in (("matrix", column), ("out", row))
        )

        def add(here: str, kind: str, value: str) -> None:
            place = w.pointer(w.at(to, (here, number_bytes)))
            x = w.load(kind, w.pointer(w.at(source, (here, number_bytes))), number_bytes)
            product = w.put(f"fmul {kind} {value}, {x}")
            total = w.put(f"fadd {kind} {w.load(kind, place, number_bytes)}, {product}")
            w.store(kind, total, place, number_bytes)

        def several(k: str, _: list[str]) -> tuple[int, list[str]]:
            add(k, wide, values)
            return _LANES, []

        def single(k: str, _: list[str]) -> tuple[int, list[str]]:
            add(k, kind, value)
            return 1, []

        w.carry(together, [], several)
        w.carry(f["width"], [], single, together)
        w.enter(after)

    start = w.op("add", f["indices"], f["row_at"])
    _rows(w, "i64", start, f["step"], f["rows"], one)
    return compile_source(module(w), "multiply")[0]


def _rows(
    w: Writer, kind: str, start: str, step: str, limit: str, body: Callable[[str, str], None]
) -> None:
    """Runs ``body(row, index)`` for each row whose index is in range."""
    rows, refused = (w.load("i64", w.element("i64", "%table", i)) for i in (0, 2))

    def one(row: str) -> int:
        number = w.load(kind, w.pointer(w.at(start, (row, step))))
        if kind == "i32":
            number = w.put(f"sext i32 {number} to i64")
        good, bad, after = w.name("good"), w.name("bad"), w.name("next")
        w.branch(w.compare("ult", number, limit), good, bad)
        w.begin(bad)
        w.store("i64", 1, w.pointer(refused))
        w.jump(after)
        w.begin(good)
        body(row, number)
        w.enter(after)
        return 1

    w.loop(rows, one)
    w.leave()
