"""A builder for functions in LLVM's assembly language.

All machine code of ours is written by it, and compiled by `compiler.compile_source`. Types, names and
operands are text. LLVM optimizes little of what comes out (only its code generator runs), so values
that a loop carries are phis here, and not variables in memory.
"""

from __future__ import annotations

import functools
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

_SHORT = {"float": "f32", "double": "f64", "ptr": "p0"}


@functools.cache
def mangled(kind: str) -> str:
    """A type as it is part of an intrinsic's name: ``v16f32`` for ``<16 x float>``."""
    lanes, found, element = kind.strip("<>").rpartition(" x ")
    return f"v{lanes}{mangled(element)}" if found else _SHORT.get(kind, kind)


def vector_type(lanes: int, element: str) -> str:
    """The type of a vector of this many elements."""
    return f"<{lanes} x {element}>"


def vector_of(element: str, values: Iterable[Any]) -> str:
    """A constant vector."""
    return f"<{', '.join(f'{element} {value}' for value in values)}>"


def number(value: float) -> str:
    """A constant of type float or double; float only takes one that it represents exactly."""
    return "0x" + struct.pack(">d", value).hex().upper()


class Writer:
    """Writes one function: ``signature`` is what follows ``define``. Scalars have 64 bits.

    Instructions are added to the current block. A method that returns a string returns the name of a
    value.
    """

    def __init__(self, signature: str) -> None:
        self._lines = [f"define {signature} {{", "entry:"]
        #: Values by block, and the place of the line, by a phi's name.
        self._phis: dict[str, tuple[int, str, list[str]]] = {}
        self._count = 0
        #: The current block.
        self.block = "entry"
        #: Declarations of the functions called that are not our own.
        self.declared: set[str] = set()

    def name(self, start: str) -> str:
        """A name that is not in use."""
        self._count += 1
        return f"{start}{self._count}"

    def do(self, text: str) -> None:
        """Adds an instruction that has no result."""
        self._lines.append(f"  {text}")

    def put(self, text: str) -> str:
        """Adds an instruction and returns the name of its result."""
        name = self.name("%x")
        self._lines.append(f"  {name} = {text}")
        return name

    def text(self) -> str:
        """The whole function."""
        lines = list(self._lines)
        for name, (place, kind, values) in self._phis.items():
            lines[place] = f"  {name} = phi {kind} {', '.join(values)}"
        return "\n".join([*lines, "}", ""])

    # ---- integers of 64 bits

    def op(self, kind: str, a: str | int, b: str | int) -> str:
        """``add``, ``sub``, ``mul``, ``and``, ``lshr``, ..."""
        return self.put(f"{kind} i64 {a}, {b}")

    def compare(self, how: str, a: str | int, b: str | int) -> str:
        """``eq``, ``ne``, ``slt`` (signed, less), ``ult`` (unsigned), ..."""
        return self.op(f"icmp {how}", a, b)

    def select(self, condition: str, a: str | int, b: str | int) -> str:
        """``a`` if the condition holds, else ``b``."""
        return self.put(f"select i1 {condition}, i64 {a}, i64 {b}")

    def at(self, start: str, *offsets: tuple[str, str | int]) -> str:
        """``start`` plus the sum of ``index * stride``."""
        for index, stride in offsets:
            start = self.op("add", start, self.op("mul", index, stride))
        return start

    def least(self, a: str, b: str | int) -> str:
        """The smaller of two signed integers."""
        return self.select(self.compare("slt", a, b), a, b)

    def quotient_up(self, a: str, b: str | int) -> str:
        """``a / b``, rounded up."""
        return self.op("udiv", self.op("sub", self.op("add", a, b), 1), b)

    # ---- vectors

    def spread(self, lanes: int, element: str, scalar: str) -> str:
        """A vector whose elements all equal ``scalar``."""
        kind, zeros = vector_type(lanes, element), vector_type(lanes, "i32")
        first = self.put(f"insertelement {kind} poison, {element} {scalar}, i64 0")
        return self.put(f"shufflevector {kind} {first}, {kind} poison, {zeros} zeroinitializer")

    # ---- memory

    def room(self, kind: str, align: int = 0) -> str:
        """Memory for a value of a type, until the function returns; to be called in the first block."""
        return self.put(f"alloca {kind}" + (f", align {align}" if align else ""))

    def element(self, kind: str, base: str, index: str | int) -> str:
        """The place of an element of an array that begins at ``base``."""
        return self.put(f"getelementptr {kind}, ptr {base}, i64 {index}")

    def pointer(self, address: str) -> str:
        """The place with an address."""
        return self.put(f"inttoptr i64 {address} to ptr")

    def load(self, kind: str, place: str, align: int = 0, mask: str = "") -> str:
        """Loads a value; of a vector with a mask, only the elements it selects, and zeros."""
        if mask:
            others = (("i32", align), (_truths(kind), mask), (kind, "zeroinitializer"))
            name = f"@llvm.masked.load.{mangled(kind)}.p0"
            return self.call(name, ("ptr", place), *others, result=kind)
        return self.put(f"load {kind}, ptr {place}" + (f", align {align}" if align else ""))

    def store(
        self, kind: str, value: str | int, place: str, align: int = 0, mask: str = ""
    ) -> None:
        """Stores a value; of a vector with a mask, only the elements it selects."""
        if mask:
            name, others = f"@llvm.masked.store.{mangled(kind)}.p0", (_truths(kind), mask)
            self.call(name, (kind, value), ("ptr", place), ("i32", align), others)
            return
        self.do(f"store {kind} {value}, ptr {place}" + (f", align {align}" if align else ""))

    def fields(self, table: str, names: Sequence[str]) -> dict[str, str]:
        """The integers at the beginning of a table, by name."""
        return {x: self.load("i64", self.element("i64", table, i)) for i, x in enumerate(names)}

    # ---- calls

    def call(
        self, function: str, *operands: tuple[str, Any], result: str = "", convention: str = ""
    ) -> str:
        """Calls a function on (type, value) pairs; without ``result``, its type, there is none.

        LLVM's functions, which begin with ``@llvm.``, are declared. ``convention``: how arguments are passed, where it
        is not as in C, as LLVM writes it.
        """
        if function.startswith("@llvm."):
            self.declare(function, *[kind for kind, _ in operands], result=result)
        text = f"{function}({', '.join(f'{kind} {value}' for kind, value in operands)})"
        if convention:
            self.do(f"call {convention} void {text}")
            return ""
        if result:
            return self.put(f"call {result} {text}")
        self.do(f"call void {text}")
        return ""

    def declare(self, function: str, *operands: str, result: str = "") -> None:
        """Declares a function that is defined elsewhere."""
        self.declared.add(f"declare {result or 'void'} {function}({', '.join(operands)})")

    def external(self, name: str) -> None:
        """Declares pointers that lie elsewhere; `compiler.compile_source` is told where."""
        self.declared.add(f"@{name} = external global ptr")

    def intrinsic(self, name: str, kind: str, *operands: str) -> str:
        """``@llvm.<name>`` of operands of one type, which the result has too."""
        pairs = [(kind, value) for value in operands]
        return self.call(f"@llvm.{name}.{mangled(kind)}", *pairs, result=kind)

    # ---- blocks

    def begin(self, label: str) -> None:
        """Begins a block; the one before has ended."""
        self._lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str) -> None:
        """Ends the current block."""
        self.do(f"br label %{label}")

    def enter(self, label: str) -> None:
        """Begins a block that follows the current one."""
        self.jump(label)
        self.begin(label)

    def branch(self, condition: str, yes: str, no: str) -> None:
        """Ends the current block."""
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")

    def phi(self, kind: str, value: str | int, block: str) -> str:
        """A value that depends on the block before this one; `arrive` says the others."""
        name = self.name("%phi")
        self._phis[name] = len(self._lines), kind, [f"[{value}, %{block}]"]
        self._lines.append("")
        return name

    def arrive(self, phi: str, value: str | int) -> None:
        """The value of a phi that the current block leads to."""
        self._phis[phi][2].append(f"[{value}, %{self.block}]")

    def leave(self, kind: str = "void", value: str | int = "") -> None:
        """Returns from the function."""
        self.do(f"ret {kind} {value}".rstrip())

    def when(self, condition: str, body: Callable[[], None]) -> None:
        """Runs ``body`` if the condition holds."""
        then, after = self.name("then"), self.name("after")
        self.branch(condition, then, after)
        self.begin(then)
        body()
        self.enter(after)

    def loop(self, limit: str, body: Callable[[str], str | int]) -> None:
        """Runs ``body(i)`` for i from 0 while i < ``limit``; it returns the increment of i."""
        self.carry(limit, [], lambda i, _: (body(i), []))

    def carry(
        self,
        limit: str,
        values: Sequence[tuple[str, str | int]],
        body: Callable[[str, list[str]], tuple[str | int, list[str]]],
        start: str | int = 0,
    ) -> list[str]:
        """A loop that carries ``values``, (type, value) pairs, and returns what they are after it.

        ``body(i, values)`` runs for i from ``start`` while i < ``limit``; it returns the increment of i, and
        the values of the next turn.
        """
        head, inside, end, before = *map(self.name, ("head", "inside", "end")), self.block
        self.enter(head)
        i = self.phi("i64", start, before)
        found = [self.phi(kind, value, before) for kind, value in values]
        self.branch(self.compare("slt", i, limit), inside, end)
        self.begin(inside)
        increment, following = body(i, found)
        self.arrive(i, self.op("add", i, increment))
        for phi, value in zip(found, following, strict=True):
            self.arrive(phi, value)
        self.jump(head)
        self.begin(end)
        return found

    def switch(self, value: str, cases: dict[int, Callable[[], None]]) -> None:
        """Runs the case of a value; nothing for other values."""
        after = self.name("after")
        labels = {key: self.name("case") for key in cases}
        choices = " ".join(f"i64 {key}, label %{label}" for key, label in labels.items())
        self.do(f"switch i64 {value}, label %{after} [ {choices} ]")
        for key, case in cases.items():
            self.begin(labels[key])
            case()
            self.jump(after)
        self.begin(after)


@functools.cache
def _truths(kind: str) -> str:
    """The type of a mask for a vector."""
    return kind.partition(" x ")[0] + " x i1>"


def mask_of(w: Writer, lanes: int, bits: str) -> str:
    """A mask with an element for each of the lowest bits of an integer."""
    low = w.put(f"trunc i64 {bits} to i{lanes}")
    return w.put(f"bitcast i{lanes} {low} to {vector_type(lanes, 'i1')}")


class Assembly:
    """A function in the processor's own language, which a module takes as it is.

    LLVM only assembles it: 32 tiles (`microkernel_x86`) take 7 ms, and 61 as functions of its language that consist of an
    ``asm`` each, whose registers it checks again and again.
    """

    def __init__(self, name: str, declaration: str, instructions: Sequence[str]) -> None:
        #: How its caller knows it.
        self.declared = {declaration}
        self._lines = [".p2align 4", f"{name}:", *instructions]

    def text(self) -> str:
        """The whole function."""
        return 'module asm "' + "\\0A".join(self._lines) + '"\n'


def module(*functions: Writer | Assembly) -> str:
    """The text of several functions, and what they call."""
    declared = sorted(set().union(*(w.declared for w in functions)))
    return "\n".join([*(w.text() for w in functions), *declared, ""])


def counting_calls(text: str, names: Iterable[str], counter: str) -> str:
    """A text whose functions ``names`` add one to an integer that lies elsewhere, whenever they are called."""
    functions = "|".join(map(re.escape, names))
    counts = (
        f"  %calls.before = load i64, ptr @{counter}\n"
        f"  %calls.now = add i64 %calls.before, 1\n"
        f"  store i64 %calls.now, ptr @{counter}\n"
    )
    beginning = rf"^define [^\n]*@(?:{functions})\([^\n]*\n\w+:\n"
    text = re.sub(beginning, lambda found: found[0] + counts, text, flags=re.MULTILINE)
    return f"{text}@{counter} = external global i64\n"
