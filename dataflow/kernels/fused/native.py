"""Loops in machine code: a chain of arithmetic over any number of arrays in one pass.

NumPy makes one pass over memory for each op; even in blocks that stay in the cache, Adam's twelve
passes cost four times what the one pass does that it could be. A `Loop` says what one element
needs, and LLVM (the optional package ``llvmlite``) turns it into vector instructions. The text of
the loop is written here, vectors and all, so no optimizer has to find them again.

Measured on one core, 3.3 million float32 variables: Adam 4.4 ms in NumPy's blocks, 1.2 ms here;
a numba version 5.8 ms, since its bounds and aliasing keep it from vectors, and numba takes 0.5 s to
compile it (with the interpreter's lock held) where this takes 10 ms (without it).

Results are bit for bit those of the NumPy ops in the same order: every step is one IEEE operation,
none are contracted. Only functions that processors have no instruction for, as ``exp``, differ in the last places (`transcendental`); other such functions stay with NumPy.

A loop is compiled in the background once it was asked for often enough (loading llvmlite takes
0.1 s, a loop 10 ms, both without the interpreter's lock for the most part), or comes from the disk,
where an earlier process left it (`object_files`). Until it is used, and
where llvmlite is not installed, `Lazy.get` gives ``None`` and the caller goes on with NumPy.
"""

from __future__ import annotations

import ctypes
import functools
import struct
import threading
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from dataflow.kernels.fused import repetition, transcendental, transcendental_double

#: Times that a loop is asked for before it is compiled: a graph that runs twice is not worth it.
_ASKED_BEFORE_COMPILING = 20
#: Times that it is asked for before it is used; by then it is long there.
_ASKED_BEFORE_USE = 40
_VECTOR_BYTES = 64
#: Lengths and strides that a function is prepared for; where they change all the time, anew.
_MOST_PREPARED = 64

Compiled = TypeVar("Compiled")


class Loop(NamedTuple):
    """What is done to each element, in static single assignment.

    ``inputs`` has a letter for each array: ``v`` for elements that lie side by side along the
    innermost axis, ``u`` for one element for the whole innermost axis, ``r`` as ``v`` in the row
    that the index names, ``n`` for one number for all, ``b`` for truth values side by side, ``t`` for one
    truth value for the whole innermost axis. A result
    may be ``+``: as ``v``, but added to what is there. Value i is input i, or the result of a step; ``steps`` are (op type,
    operand numbers), ``("Const", (number,))``, or those of a `repetition`; ``results`` are (value, letter) of what is
    stored; ``rank`` counts the axes around the innermost one; ``index_type`` is LLVM's type of row
    numbers.
    """

    dtype: str
    inputs: str
    steps: tuple[tuple[str, tuple[Any, ...]], ...]
    results: tuple[tuple[int, str], ...]
    rank: int = 0
    index_type: str = "i64"

    @property
    def letters(self) -> str:
        """Those of the inputs, then those of the results."""
        return self.inputs + "".join(letter for _, letter in self.results)


class Function:
    """A loop's machine code.

    It takes a table: the lengths of the axes, the addresses of inputs and results (for ``n`` the
    number itself, as a double), and the strides in bytes (all of one array together, none for
    ``n``). Loops with an ``r`` among the letters are `rows.RowFunction`.
    """

    __slots__ = (
        *("_code", "_objects", "_pack", "_pack_values", "_prepared"),
        *("address", "letters"),
    )

    def __init__(self, loop: Loop, address: int, objects_address: int) -> None:
        self.letters = loop.letters
        #: Where the code is, a function of a `table`.
        self.address = address
        kind = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
        self._code, self._objects = kind(address), kind(objects_address)
        arrays = len(self.letters) - self.letters.count("n")
        values = "".join("d" if letter == "n" else "q" for letter in self.letters)
        strides = "q" * (loop.rank * arrays)
        self._pack = struct.Struct("q" * (loop.rank + 1) + values + strides).pack
        self._pack_values = struct.Struct(values).pack
        self._prepared: dict[Any, Callable[[list[Any]], None]] = {}

    def table(self, *fields: Any) -> bytes:
        """What the code takes."""
        return self._pack(*fields)

    def __call__(self, *fields: Any) -> None:
        """Runs it, without the interpreter's lock."""
        self._code(self._pack(*fields))

    def prepared(
        self, lengths: tuple[int, ...], strides: tuple[int, ...] = ()
    ) -> Callable[[list[Any]], None]:
        """The loop for given lengths and strides.

        What it returns takes a list: a number for each ``n``, and the ``id`` of each NumPy array,
        which is where the array's own record lies; the machine code looks up its address there.
        """
        found = self._prepared.get((lengths, strides))
        if found is not None:
            return found
        code, pack = self._objects, self._pack_values
        head = struct.pack(f"{len(lengths)}q", *lengths)
        tail = struct.pack(f"{len(strides)}q", *strides)

        def call(values: list[Any]) -> None:
            code(head + pack(*values) + tail)

        if len(self._prepared) >= _MOST_PREPARED:
            self._prepared.clear()
        self._prepared[lengths, strides] = call
        return call


class Lazy(Generic[Compiled]):
    """What ``build`` compiles, once `get` was called often enough.

    That happens in the background, but the number of calls alone decides when the result is first
    used, counted anew since `count_anew`: a program with a seed gives the same bits again, in
    another process or in this one.
    """

    __slots__ = (
        *("_before_compiling", "_before_use", "_era", "_thread"),
        *("asked", "build", "function"),
    )

    def __init__(
        self,
        build: Callable[[], Compiled],
        before_compiling: int = _ASKED_BEFORE_COMPILING,
        before_use: int = _ASKED_BEFORE_USE,
    ) -> None:
        self.build = build
        self._before_compiling, self._before_use = before_compiling, before_use
        self.asked = 0
        self.function: Compiled | None = None
        self._thread: threading.Thread | None = None
        self._era = _era

    def get(self) -> Compiled | None:
        """The compiled function, or ``None`` while there is none."""
        if self.asked >= self._before_use and self._era == _era:
            return self.function
        with _count_lock:
            if self._era != _era:
                self._era, self.asked = _era, 0
            self.asked += 1
            if self.asked == self._before_compiling and self._thread is None:
                # No daemon: a process that ends waits for it. LLVM's own clean-up would take away
                # what it works with, and a program that had done its work would end in an abort.
                self._thread = threading.Thread(target=self._compile, name="dataflow-compile")
                self._thread.start()
            thread = self._thread
        if self.asked >= self._before_use and thread is not None:
            thread.join()
            return self.function
        return None

    def _compile(self) -> None:
        try:
            self.function = self.build()
        except ImportError:
            pass  # llvmlite is optional
        except Exception as e:
            warnings.warn(f"A loop could not be compiled; NumPy computes it: {e}", stacklevel=1)


#: How often `count_anew` was called.
_era = 0


def count_anew() -> None:
    """What is compiled waits again for as many calls as in a fresh process.

    Sums of the machine code round otherwise than NumPy's, so a session with a seed would else
    depend on what ran in this process before it.
    """
    global _era
    with _count_lock:
        _era += 1


_lazy: dict[Loop, Lazy[Function]] = {}
_lock = threading.Lock()
_count_lock = threading.Lock()
#: Engines own the machine code; it lives as long as the process.
_engines: list[Any] = []


def lazy(loop: Loop) -> Lazy[Function]:
    """The one `Lazy` of a loop.

    One with a repetition is compiled and used at once: NumPy would take longer for one call.
    """
    found = _lazy.get(loop)
    if found is None:
        build = functools.partial(compile_loop, loop)
        repeats = any(op == "Repeat" for op, _ in loop.steps)
        found = _lazy.setdefault(loop, Lazy(build, 1, 1) if repeats else Lazy(build))
    return found


def compile_loop(loop: Loop) -> Function:
    """Compiles at once; `ImportError` without llvmlite, `RuntimeError` where LLVM refuses."""
    address, objects_address = compile_source(source(loop), "loop", "objects")
    return Function(loop, address, objects_address)


def compile_source(text: str, *names: str) -> list[int]:
    """The addresses of functions in LLVM's assembly language, as machine code.

    It comes from `object_files` where it is there.
    """
    import llvmlite
    import llvmlite.binding as llvm

    from dataflow.kernels.fused import object_files  # files and hashes, which cost 10 ms to load

    with _lock:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        llvm.initialize_native_asmparser()
        target = llvm.Target.from_default_triple()
        cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
        machine = target.create_target_machine(cpu=cpu, features=features, opt=2, jit=True)
        versions = (llvmlite.__version__, str(llvm.llvm_version_info))
        key = object_files.key_of(*versions, machine.triple, cpu, features, text)
        code = object_files.load(key)
        if code is None:
            module = llvm.parse_assembly(text)
            module.verify()
            code = machine.emit_object(module)
            object_files.store(key, code)
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        _engines.append(engine)
        return [engine.get_function_address(name) for name in names]


def table_fields(kinds: Mapping[str, str]) -> list[str]:
    """Lines that load the fields of a function's ``%table``, of 8 bytes each.

    ``kinds``: LLVM's type by name, in the table's order.
    """
    lines = []
    for i, (name, kind) in enumerate(kinds.items()):
        lines.append(f"  %{name}.at = getelementptr i64, ptr %table, i64 {i}")
        lines.append(f"  %{name} = load {kind}, ptr %{name}.at")
    return lines


def address_of(array: Any) -> int:
    """Where the first element of a NumPy array lies."""
    return _pointer_at(id(array) + DATA_OFFSET).value or 0


_pointer_at = ctypes.c_void_p.from_address
#: Where in the record of a NumPy array the address of its data is: the first thing after what all
#: objects have (NumPy's C interface, `PyArrayObject`, the same since 1.0).
DATA_OFFSET = object.__basicsize__

# ---- the text ---------------------------------------------------------------------------------

_ARITHMETIC = {"Add": "fadd", "AddV2": "fadd", "Sub": "fsub", "Mul": "fmul", "RealDiv": "fdiv"}
_COMPARISONS = {
    "Greater": "ogt",
    "GreaterEqual": "oge",
    "Less": "olt",
    "LessEqual": "ole",
    "Equal": "oeq",
    "NotEqual": "une",
}
_TRUTHS = {"LogicalAnd": "and", "LogicalOr": "or"}
_UNARY = {"Sqrt": "sqrt", "Abs": "fabs", "Floor": "floor", "Ceil": "ceil", "Rint": "rint"}
#: Ops made of others: operands are numbers of values, constants are floats.
_COMPOSED = frozenset(
    {
        *("BiasAdd", "Square", "SquaredDifference", "Reciprocal", "Inv", "Rsqrt", "Relu", "Relu6"),
        *("ReluGrad", "SigmoidGrad", "TanhGrad", "Maximum", "Minimum", "Neg", "Select"),
        *("SelectV2", "LogicalNot", "Const", "Copysign", "Sign"),
        *("Repeat", "Part"),
    }
)
#: The op types that steps of any type may have.
OPS = frozenset({*_ARITHMETIC, *_COMPARISONS, *_TRUTHS, *_UNARY, *_COMPOSED})


def can_write(op: str, dtype: Any) -> bool:
    """True when there is machine code for an op on float32 or float64."""
    single = np.dtype(dtype).char == "f"
    return op in OPS or op in (transcendental.OPS if single else transcendental_double.OPS)


class StepWriter:
    """Writes the steps for one width: a vector of elements, or a single one.

    With a ``mask``, only the elements that it names are read and stored.
    """

    def __init__(self, loop: Loop, lanes: int, prefix: str, mask: str = "") -> None:
        self.loop, self.lanes, self.prefix, self.mask = loop, lanes, prefix, mask
        self.element = "float" if loop.dtype == "float32" else "double"
        self.letter = f"{'f32' if self.element == 'float' else 'f64'}"
        self.type = self.element if lanes == 1 else f"<{lanes} x {self.element}>"
        self.truth = "i1" if lanes == 1 else f"<{lanes} x i1>"
        self.intrinsic = self.letter if lanes == 1 else f"v{lanes}{self.letter}"
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self.count = 0

    def put(self, text: str) -> str:
        """A new name for what ``text`` computes."""
        name = f"%{self.prefix}{self.count}"
        self.count += 1
        self.lines.append(f"  {name} = {text}")
        return name

    def constant(self, number: float) -> str:
        rounded = float(np.dtype(self.loop.dtype).type(number))
        text = "0x" + struct.pack(">d", rounded).hex().upper()
        if self.lanes == 1:
            return text
        return "<" + ", ".join([f"{self.element} {text}"] * self.lanes) + ">"

    def spread(self, scalar: str, element: str = "") -> str:
        """A vector all of whose elements are one."""
        if self.lanes == 1:
            return scalar
        kind = f"<{self.lanes} x {element or self.element}>"
        first = self.put(f"insertelement {kind} poison, {element or self.element} {scalar}, i64 0")
        mask = f"<{self.lanes} x i32> zeroinitializer"
        return self.put(f"shufflevector {kind} {first}, {kind} poison, {mask}")

    def step(self, op: str, *x: Any) -> str:
        """One op on names or Python numbers."""
        x = tuple(self.constant(v) if isinstance(v, float) else v for v in x)
        t = self.type
        if op in _ARITHMETIC:
            return self.put(f"{_ARITHMETIC[op]} {t} {x[0]}, {x[1]}")
        if op in _COMPARISONS:
            return self.put(f"fcmp {_COMPARISONS[op]} {t} {x[0]}, {x[1]}")
        if op in _TRUTHS:
            return self.put(f"{_TRUTHS[op]} {self.truth} {x[0]}, {x[1]}")
        if op in _UNARY:
            return self._intrinsic(_UNARY[op], *x)
        if op in ("Select", "SelectV2"):
            return self.put(f"select {self.truth} {x[0]}, {t} {x[1]}, {t} {x[2]}")
        match op:
            case "BiasAdd":
                return self.step("Add", *x)
            case "Neg":
                return self.put(f"fneg {t} {x[0]}")
            case "Copysign":
                return self._intrinsic("copysign", *x)
            case "Square":
                return self.step("Mul", x[0], x[0])
            case "SquaredDifference":
                difference = self.step("Sub", *x)
                return self.step("Mul", difference, difference)
            case "Reciprocal" | "Inv":
                return self.step("RealDiv", 1.0, x[0])
            case "Rsqrt":
                return self.step("RealDiv", 1.0, self.step("Sqrt", x[0]))
            case "Relu":  # a NaN stays
                return self.step("Select", self.step("Less", x[0], 0.0), 0.0, x[0])
            case "Relu6":
                low = self.step("Relu", x[0])
                return self.step("Select", self.step("Greater", low, 6.0), 6.0, low)
            case "Maximum" | "Minimum":  # the second operand where it is a NaN, or further out
                order = "Less" if op == "Maximum" else "Greater"
                takes = self.step(
                    "LogicalOr", self.step(order, *x), self.step("NotEqual", x[1], x[1])
                )
                return self.step("Select", takes, x[1], x[0])
            case "ReluGrad":
                # A factor, not a choice: an infinite gradient times zero is NaN, as unfused.
                factor = self.step("Select", self.step("Greater", x[1], 0.0), 1.0, 0.0)
                return self.step("Mul", x[0], factor)
            case "SigmoidGrad":
                slope = self.step("Mul", self.step("Sub", 1.0, x[0]), x[0])
                return self.step("Mul", slope, x[1])
            case "TanhGrad":
                slope = self.step("Sub", 1.0, self.step("Mul", x[0], x[0]))
                return self.step("Mul", slope, x[1])
            case "Sign":  # a NaN stays
                low = self.step("Select", self.step("Less", x[0], 0.0), -1.0, x[0])
                high = self.step("Select", self.step("Greater", x[0], 0.0), 1.0, low)
                return self.step("Add", high, 0.0)  # not minus zero
            case "LogicalNot":
                false = "false" if self.lanes == 1 else "zeroinitializer"
                return self.put(f"icmp eq {self.truth} {x[0]}, {false}")
        if self.element == "float":
            return transcendental.write(self, op, *x)
        return transcendental_double.write(self, op, *x)

    @property
    def whole_type(self) -> str:
        """That of whole numbers as wide as the elements."""
        bits = "i32" if self.element == "float" else "i64"
        return bits if self.lanes == 1 else f"<{self.lanes} x {bits}>"

    def whole(self, number: int) -> str:
        """A whole number, for each element."""
        if self.lanes == 1:
            return str(number)
        bits = "i32" if self.element == "float" else "i64"
        return "<" + ", ".join([f"{bits} {number}"] * self.lanes) + ">"

    def call(self, name: str, *x: Any) -> str:
        """One of LLVM's own functions on names or Python numbers."""
        return self._intrinsic(name, *(self.constant(v) if isinstance(v, float) else v for v in x))

    def _intrinsic(self, name: str, *x: str) -> str:
        types = ", ".join([self.type] * len(x))
        self.declared.add(f"declare {self.type} @llvm.{name}.{self.intrinsic}({types})")
        operands = ", ".join(f"{self.type} {v}" for v in x)
        return self.put(f"call {self.type} @llvm.{name}.{self.intrinsic}({operands})")

    def element_address(self, number: int, index: str, kind: str) -> str:
        return self.put(f"getelementptr {kind}, ptr %row{number}, i64 {index}")

    def load(self, kind: str, address: str, align: int) -> str:
        """The elements at an address."""
        if not self.mask:
            return self.put(f"load {kind}, ptr {address}, align {align}")
        name = f"@llvm.masked.load.v{self.lanes}{'i8' if align == 1 else self.letter}.p0"
        self.declared.add(f"declare {kind} {name}(ptr, i32, {self.truth}, {kind})")
        mask = f"{self.truth} {self.mask}"
        return self.put(
            f"call {kind} {name}(ptr {address}, i32 {align}, {mask}, {kind} zeroinitializer)"
        )

    def store(self, value: str, address: str, align: int) -> None:
        """Stores results at an address."""
        if not self.mask:
            self.lines.append(f"  store {self.type} {value}, ptr {address}, align {align}")
            return
        name = f"@llvm.masked.store.v{self.lanes}{self.letter}.p0"
        self.declared.add(f"declare void {name}({self.type}, ptr, i32, {self.truth})")
        self.lines.append(
            f"  call void {name}({self.type} {value}, ptr {address}, i32 {align}, "
            f"{self.truth} {self.mask})"
        )

    def body(self, index: str) -> None:
        """Loads, steps and stores at one place of the innermost axis."""
        align = 4 if self.element == "float" else 8
        values: list[str] = []
        for i, letter in enumerate(self.loop.inputs):
            if letter in "un":
                values.append(self.spread(f"%u{i}"))
                continue
            if letter == "t":
                values.append(self.spread(f"%u{i}", "i1"))
                continue
            if letter == "b":
                address = self.element_address(i, index, "i8")
                kind = "i8" if self.lanes == 1 else f"<{self.lanes} x i8>"
                byte = self.load(kind, address, 1)
                zero = "0" if self.lanes == 1 else "zeroinitializer"
                values.append(self.put(f"icmp ne {kind} {byte}, {zero}"))
                continue
            address = self.element_address(i, index, self.element)
            values.append(self.load(self.type, address, align))
        self.values_of(self.loop.steps, values)
        for i, (value, letter) in enumerate(self.loop.results, len(self.loop.inputs)):
            address = self.element_address(i, index, self.element)
            if letter == "+":
                before = self.load(self.type, address, align)
                values[value] = self.put(f"fadd {self.type} {before}, {values[value]}")
            self.store(values[value], address, align)

    def values_of(self, steps: Any, values: list[str]) -> None:
        """Writes steps one after the other; their names are added to those of ``values``."""
        parts: dict[int, list[str]] = {}
        for op, operands in steps:
            if op == "Const":
                values.append(self.constant(operands[0]))
            elif op == "Repeat":
                parts[len(values)] = repetition.write(self, values, *operands)
                values.append(parts[len(values)][0])
            elif op == "Part":
                values.append(parts[operands[0]][operands[1]])
            else:
                values.append(self.step(op, *[values[o] for o in operands]))


def source(loop: Loop) -> str:
    """The loop in LLVM's assembly language.

    The table of one with rows ends with the address of the row numbers (along the first axis) and
    how many rows there are. It returns the place of a number that is none of them, else -1.
    """
    lanes = _VECTOR_BYTES // np.dtype(loop.dtype).itemsize
    element = "float" if loop.dtype == "float32" else "double"
    letters = loop.letters
    rank, count = loop.rank, len(letters)
    lines = ["define i64 @loop(ptr %table) {", "entry:"]

    def field(name: str, place: int, kind: str = "i64") -> None:
        lines.append(f"  %{name}.at = getelementptr i64, ptr %table, i64 {place}")
        lines.append(f"  %{name} = load {kind}, ptr %{name}.at")

    for r in range(rank):
        field(f"length{r}", r)
    field("length", rank)
    place = rank + 1 + count
    for i, letter in enumerate(letters):
        if letter == "n":
            field(f"double{i}", rank + 1 + i, "double")
            cast = "fptrunc double" if element == "float" else "fadd double -0.0,"
            lines.append(f"  %u{i} = {cast} %double{i}" + (" to float" * (element == "float")))
            continue
        field(f"base{i}", rank + 1 + i, "ptr")
        for r in range(rank):
            field(f"stride{i}.{r}", place)
            place += 1
    if "r" in letters:
        field("rows", place, "ptr")
        field("limit", place + 1)
    lines.append(f"  %whole = and i64 %length, {-lanes}")
    before = "entry"
    if "r" in letters:
        lines += [*_CHECK, *_row_number(loop, "checked", "%c"), *_CHECKED]
        before = "sound"
    for r in range(rank):
        lines += [f"  br label %head{r}", f"head{r}:"]
        lines.append(f"  %i{r} = phi i64 [0, %{before}], [%next{r}, %end{r}]")
        lines.append(f"  %in{r} = icmp slt i64 %i{r}, %length{r}")
        outside = f"end{r - 1}" if r else "done"
        lines += [f"  br i1 %in{r}, label %start{r}, label %{outside}", f"start{r}:"]
        before = f"start{r}"
    if "r" in letters:
        lines += _row_number(loop, "number", "%i0")
    for i, letter in enumerate(letters):
        if letter == "n":
            continue
        offset = "0"
        for r in range(rank):
            index = "%number" if letter == "r" and r == 0 else f"%i{r}"
            lines.append(f"  %step{i}.{r} = mul i64 {index}, %stride{i}.{r}")
            lines.append(f"  %offset{i}.{r} = add i64 {offset}, %step{i}.{r}")
            offset = f"%offset{i}.{r}"
        lines.append(f"  %row{i} = getelementptr i8, ptr %base{i}, i64 {offset}")
        if letter == "u":
            lines.append(f"  %u{i} = load {element}, ptr %row{i}")
        if letter == "t":
            lines.append(f"  %byte{i} = load i8, ptr %row{i}")
            lines.append(f"  %u{i} = icmp ne i8 %byte{i}, 0")
    outside = f"end{rank - 1}" if rank else "done"
    # What is left at the end of the axis is a vector, too, of which a mask names the first elements.
    wide, rest = StepWriter(loop, lanes, "w"), StepWriter(loop, lanes, "s", "%mask")
    wide.body("%v")
    rest.body("%whole")
    numbers = ", ".join(f"i64 {i}" for i in range(lanes))
    lines += [
        "  br label %vectors",
        "vectors:",
        f"  %v = phi i64 [0, %{before}], [%v.next, %vector.end]",
        "  %v.in = icmp slt i64 %v, %whole",
        "  br i1 %v.in, label %vector, label %rest",
        "vector:",
        *wide.lines,
        "  br label %vector.end",
        "vector.end:",
        f"  %v.next = add i64 %v, {lanes}",
        "  br label %vectors",
        "rest:",
        "  %left = sub i64 %length, %whole",
        "  %some = icmp sgt i64 %left, 0",
        f"  br i1 %some, label %last, label %{outside}",
        "last:",
        f"  %left.one = insertelement <{lanes} x i64> poison, i64 %left, i64 0",
        f"  %left.all = shufflevector <{lanes} x i64> %left.one, <{lanes} x i64> poison, "
        f"<{lanes} x i32> zeroinitializer",
        f"  %mask = icmp slt <{lanes} x i64> <{numbers}>, %left.all",
        *rest.lines,
        f"  br label %{outside}",
    ]
    for r in reversed(range(rank)):
        lines += [f"end{r}:", f"  %next{r} = add i64 %i{r}, 1", f"  br label %head{r}"]
    lines += ["done:", "  ret i64 -1", "}", *sorted(wide.declared | rest.declared)]
    return "\n".join([*lines, *_for_objects(loop), ""])


#: The numbers of rows are looked at before anything is changed.
_CHECK = (
    "  br label %check",
    "check:",
    "  %c = phi i64 [0, %entry], [%c.next, %fine]",
    "  %c.in = icmp slt i64 %c, %length0",
    "  br i1 %c.in, label %look, label %sound",
    "look:",
)
_CHECKED = (
    "  %c.fine = icmp ult i64 %checked, %limit",  # a negative number is a large one
    "  br i1 %c.fine, label %fine, label %wrong",
    "wrong:",
    "  ret i64 %c",
    "fine:",
    "  %c.next = add i64 %c, 1",
    "  br label %check",
    "sound:",
)


def _row_number(loop: Loop, name: str, place: str) -> list[str]:
    """The number of a row, at a place of the index."""
    lines = [f"  %{name}.at = getelementptr {loop.index_type}, ptr %rows, i64 {place}"]
    if loop.index_type == "i64":
        return [*lines, f"  %{name} = load i64, ptr %{name}.at"]
    lines.append(f"  %{name}.short = load {loop.index_type}, ptr %{name}.at")
    return [*lines, f"  %{name} = sext {loop.index_type} %{name}.short to i64"]


def _for_objects(loop: Loop) -> list[str]:
    """A function whose table has the arrays' records in place of their addresses."""
    letters = loop.letters
    fields = loop.rank + 1 + len(letters) + loop.rank * (len(letters) - letters.count("n"))
    fields += 2 * ("r" in letters)
    lines = ["define i64 @objects(ptr %objects) {", f"  %table = alloca [{fields} x i64]"]
    for i in range(fields):
        lines.append(f"  %from{i} = getelementptr i64, ptr %objects, i64 {i}")
        lines.append(f"  %to{i} = getelementptr i64, ptr %table, i64 {i}")
        place = i - loop.rank - 1
        array = 0 <= place < len(letters) and letters[place] != "n"
        if array or ("r" in letters and i == fields - 2):
            lines.append(f"  %record{i} = load ptr, ptr %from{i}")
            lines.append(f"  %data{i} = getelementptr i8, ptr %record{i}, i64 {DATA_OFFSET}")
            lines.append(f"  %value{i} = load i64, ptr %data{i}")
        else:
            lines.append(f"  %value{i} = load i64, ptr %from{i}")
        lines.append(f"  store i64 %value{i}, ptr %to{i}")
    return [*lines, "  %result = call i64 @loop(ptr %table)", "  ret i64 %result", "}"]
