"""Loops in machine code: a chain of arithmetic over any number of arrays in one pass.

NumPy makes one pass over memory for each op; even in blocks that stay in the cache, the twelve
passes of Adam cost four times as much as a single one. A `Loop` says what is done to one element, and
LLVM (the optional package ``llvmlite``) compiles it. The text already has vector instructions, so
it does not depend on LLVM's vectorizer.

Measured on one core, 3.3 million float32 variables: Adam 4.4 ms in NumPy's blocks, 1.2 ms here;
a numba version 5.8 ms, as bounds checks and aliasing keep it from vectorizing, and numba takes 0.5 s
to compile it (with the interpreter's lock held) where this takes 10 ms (without it).

Results are bit for bit those of the NumPy ops in the same order (`step_codegen`, and `ufunc_loops` for
functions such as ``exp``), so it does not matter when a loop replaces them: it is compiled in the
background once it has been requested often enough (loading llvmlite takes 0.1 s, compiling a loop
10 ms, both mostly without the interpreter lock), or loaded from disk, where an earlier process has
stored it (`code_cache`), without LLVM (`object_file`). At first it is compiled quickly (`made_twice`). Until then, and
where llvmlite is not installed, `JitEntry.get` returns ``None`` and the caller uses NumPy.

Code that rounds differently from NumPy (sums in another order) is compiled by the first call that
requests it (``at_once``), so that all calls give the same result.
"""

from __future__ import annotations

import ctypes
import functools
import struct
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from dataflow.capabilities import MACHINE_CODE
from dataflow.kernels.array_types import Array
from dataflow.kernels.jit import ufunc_loops
from dataflow.kernels.jit.isa import needed_isa
from dataflow.kernels.jit.loop_codegen import DATA_OFFSET, source
from dataflow.kernels.jit.narrow_codegen import NARROW
from dataflow.kernels.jit.op_table import elementary_ops
from dataflow.kernels.jit.step_codegen import Loop
from dataflow.kernels.subnormals import Computing

#: Requests before a loop is compiled: a graph that runs only twice is not worth it. And before it is looked for among
#: those that earlier processes have compiled, which takes 1 ms.
_ASKED_BEFORE_COMPILING, _ASKED_BEFORE_LOADING = 20, 2
#: How many prepared calls are kept for different lengths and strides; beyond that, all are dropped.
_MOST_PREPARED = 64

#: How well code is compiled: LLVM's levels.
QUICKLY, WELL = 0, 2

Compiled = TypeVar("Compiled")


class _Improvable(Protocol):
    """What calls machine code."""

    def use(self, addresses: Sequence[int], /) -> None:
        """Calls the functions at these addresses from now on."""


Improved = TypeVar("Improved", bound=_Improvable)


class Function:
    """A loop's machine code.

    Its argument is a table: the lengths of the axes, the addresses of inputs and results (for ``n``
    the number itself, as a double), and the strides in bytes (array by array, none for ``n``). Loops
    with an ``r`` among the letters are `table_rows.RowFunction`.
    """

    __slots__ = (
        *("_code", "_objects", "_pack", "_prepared"),
        *("address", "letters", "pack_values"),
    )

    def __init__(self, loop: Loop, addresses: Sequence[int]) -> None:
        self.letters = loop.letters
        arrays = len(self.letters) - self.letters.count("n")
        values = "".join("d" if letter == "n" else "q" for letter in self.letters)
        strides = "q" * (loop.rank * arrays)
        self._pack = struct.Struct("q" * (loop.rank + 1) + values + strides).pack
        #: Packs the addresses and numbers in a table.
        self.pack_values = struct.Struct(values).pack
        self._prepared: dict[Any, Callable[[list[Any]], None]] = {}
        self.use(addresses)

    def use(self, addresses: Sequence[int]) -> None:
        """Runs this code from now on: functions of a `table`, and of one with ``id``s in it, as `prepared` makes."""
        kind = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
        #: The address of the code, a function of a `table`.
        self.address = addresses[0]
        self._code, self._objects = map(kind, addresses)
        self._prepared.clear()

    def table(self, *fields: Any) -> bytes:
        """The packed argument."""
        return self._pack(*fields)

    def __call__(self, *fields: Any) -> None:
        """Runs the code, without the interpreter lock."""
        self._code(self._pack(*fields))

    def prepared(
        self, lengths: tuple[int, ...], strides: tuple[int, ...] = ()
    ) -> Callable[[list[Any]], None]:
        """A function that runs the loop for given lengths and strides.

        It takes a list: a number for each ``n``, and the ``id`` of each NumPy array, which is the
        address of the array object; the machine code reads the data's address from there.
        """
        found = self._prepared.get((lengths, strides))
        if found is not None:
            return found
        code, pack = self._objects, self.pack_values
        head = struct.pack(f"{len(lengths)}q", *lengths)
        tail = struct.pack(f"{len(strides)}q", *strides)

        def call(values: list[Any]) -> None:
            code(head + pack(*values) + tail)

        if len(self._prepared) >= _MOST_PREPARED:
            self._prepared.clear()
        self._prepared[lengths, strides] = call
        return call


class JitEntry(Generic[Compiled]):
    """A function that ``build`` compiles in the background, once `get` has been called often enough.

    Until then the caller computes the same bits in another way. Where it cannot, ``at_once`` makes
    the first call compile and wait. What an earlier process has compiled, the second call loads.
    """

    __slots__ = ("_asked", "_at_once", "_begun", "_done", "_looked", "build", "function")

    def __init__(self, build: Callable[[], Compiled], at_once: bool = False) -> None:
        self.build = build
        self.function: Compiled | None = None
        self._at_once = at_once
        self._asked = 0
        self._begun = self._looked = False
        self._done = threading.Event()

    def get(self) -> Compiled | None:
        """The compiled function, or ``None`` while there is none."""
        if self.function is not None or self._done.is_set() or not MACHINE_CODE:
            return self.function
        with _count_lock:
            self._asked += 1
            begins = not self._begun and (self._at_once or self._asked >= _ASKED_BEFORE_COMPILING)
            self._begun |= begins
            loads = not self._begun and self._asked >= _ASKED_BEFORE_LOADING and not self._looked
        if self._at_once:
            if begins:
                self.compile()
            self._done.wait()
        elif begins:
            # No daemon thread: the process waits for it at exit. Otherwise LLVM's clean-up would free
            # what the thread is using, and a program that had finished would abort.
            threading.Thread(target=self.compile, name="dataflow-compile").start()
        elif loads:
            return self.load()
        return self.function

    def load(self) -> Compiled | None:
        """The function, where an earlier process has compiled it, or this one; looks for it once."""
        with _count_lock:
            if self._looked or self._begun:
                return self.function
            self._looked = self._begun = True
        _here.only_stored = True
        try:
            self.function = self.build()
            self._done.set()
        except Exception:  # not there; if anything is wrong with it, `compile` says so
            self._begun = False
        finally:
            _here.only_stored = False
        return self.function

    def begin(self) -> bool:
        """Compiles in the background, however often it was asked for; false where it cannot be compiled."""
        if self._done.is_set() or not MACHINE_CODE:
            return False
        with _count_lock:
            begins, self._begun = not self._begun, True
        if begins:
            threading.Thread(target=self.compile, name="dataflow-compile").start()
        return True

    @property
    def is_at_once(self) -> bool:
        """True if the first call compiles."""
        return self._at_once

    def compile(self) -> None:
        """Compiles now; if that fails, `get` returns ``None`` from then on."""
        try:
            self.function = self.build()
        except ImportError:
            pass  # llvmlite is optional, and some loops are NumPy's on some processors
        except Exception as e:
            warnings.warn(f"A loop could not be compiled; NumPy computes it: {e}", stacklevel=1)
        finally:
            self._done.set()


class NotStored(Exception):
    """No earlier process has compiled this code, or only LLVM can load it."""


class _Thread(threading.local):
    """What this thread may do now: nothing but load code without LLVM; load it and no more."""

    only_stored, compiles = False, True


_here = _Thread()
_lazy: dict[tuple[Loop, bool], JitEntry[Function]] = {}
_lock = threading.Lock()
_count_lock = threading.Lock()
#: Engines own the machine code; it lives as long as the process.
_engines: list[Any] = []


def jit_entry(loop: Loop, at_once: bool = False) -> JitEntry[Function]:
    """The `JitEntry` of a loop, shared by all its users.

    A loop with a `masked_while` is compiled at once: a single call takes longer in NumPy, which
    repeats the steps for all elements until the last has converged.
    """
    at_once = at_once or any(op == "Repeat" for op, _ in loop.steps)
    found = _lazy.get((loop, at_once))
    if found is None:
        build = functools.partial(compile_loop, loop)
        found = _lazy.setdefault((loop, at_once), JitEntry(build, at_once))
    return found


def compile_loop(loop: Loop) -> Function:
    """Compiles at once; `ImportError` without llvmlite and for what NumPy must compute, `RuntimeError` where LLVM refuses."""
    if loop.dtype in NARROW:
        needed_isa()  # has instructions that convert such numbers; others would call a library
        # Compiled quickly, conversions of subnormal ones are made by other instructions, with other results.
        return Function(loop, compile_source(text_of(loop), "loop", "objects"))
    return loop_made_twice(loop, ("loop", "objects"), functools.partial(Function, loop))


def loop_made_twice(
    loop: Loop, names: Sequence[str], make: Callable[[list[int]], Improved]
) -> Improved:
    """As `made_twice`. Compiled quickly, a loop calls NumPy for all functions: to find out which may be written out takes
    two loops more."""
    return made_twice(source(loop), names, make, better=functools.partial(text_of, loop))


#: Functions that are written inline, several times as fast, where they give NumPy's bits.
_WRITTEN_OUT = (("Exp", "exp"), ("Log", "log"))


def text_of(loop: Loop) -> str:
    """The loop in LLVM assembly, for this processor."""
    ops = frozenset().union(*(elementary_ops(op) for op, _ in loop.steps))
    if loop.dtype != "float32" or not ops.intersection(op for op, _ in _WRITTEN_OUT):
        return source(loop)
    return source(loop, inlined())


@functools.cache
def _checked_loop(op: str) -> tuple[Loop, str]:
    """A loop of one of these functions, and its text, written out."""
    loop = Loop("float32", "v", ((op, (0,)),), ((1, "v"),))
    return loop, source(loop, frozenset({op}))


@functools.cache
def inlined() -> frozenset[str]:
    """The single-precision functions that are written inline: those whose steps give the same bits as
    NumPy on this processor, for a sample of numbers of every magnitude."""
    compiled = [
        Function(loop, compile_source(text, "loop", "objects", level=QUICKLY))
        for loop, text in (_checked_loop(op) for op, _ in _WRITTEN_OUT)
    ]
    # About 64 numbers of each sign and exponent, including subnormals, infinities and NaN.
    x = np.arange(0, 1 << 32, 131_071, dtype=np.uint32).view(np.float32)
    got = np.empty_like(x)
    found = set()
    for function, (op, name) in zip(compiled, _WRITTEN_OUT, strict=True):
        with Computing():
            function(x.size, address_of(x), address_of(got))
            wanted = getattr(np, name)(x)
        same = (got.view(np.uint32) == wanted.view(np.uint32)) | (np.isnan(got) & np.isnan(wanted))
        if same.all():
            found.add(op)
    return frozenset(found)


def compile_source(
    text: str, *names: str, data: Mapping[str, int] | None = None, level: int = WELL
) -> list[int]:
    """Compiles functions in LLVM assembly and returns their addresses; ``data``: those of what is external in them.

    With the level `QUICKLY` that takes a fourth of the time: for code that mostly calls other code. The code comes
    from `code_cache` if it is there; then LLVM itself is not loaded where `object_file` can do without.
    """
    with _lock:
        return _load(_code_of(text, level), text, names, data)


def made_twice(
    text: str,
    names: Sequence[str],
    make: Callable[[list[int]], Improved],
    *,
    better: Callable[[], str] | None = None,
    counted: Sequence[str] = (),
) -> Improved:
    """What ``make`` makes of the addresses of the functions in a text. They are compiled quickly, and well when they
    have run often (`drafts`): `use` of what was made is then given other addresses.

    Well compiled, code takes four times as long to compile, and half to all of the time to run; the first
    hundred steps of a small network do not make up for that. Both give the same bits. ``better``: the text that is then
    compiled, which may take compiling to find; ``counted``: the functions in ``text`` whose runs count, if not ``names``.
    """
    from dataflow.kernels.jit import drafts

    well = text if better is None else _found_without_compiling(better)
    count = drafts.Count(text, counted or names)
    with _lock:
        code = None if well is None else _stored(well, WELL)
        if code is not None and well is not None:
            return make(_load(code, well, names))
        old = _load(_code_of(count.text, QUICKLY), text, names, count.data)
    made = make(old)

    def improve() -> None:
        new = compile_source(well or better(), *names)  # type: ignore[misc]
        made.use(new)
        drafts.replace(dict(zip(old, new, strict=True)))

    drafts.improve_later(count, improve)
    return made


def _found_without_compiling(text: Callable[[], str]) -> str | None:
    """A text; ``None`` where code is needed to find it that no earlier process has compiled."""
    before, _here.compiles = _here.compiles, False
    try:
        return text()
    except NotStored:
        return None
    finally:
        _here.compiles = before


def _code_of(text: str, level: int) -> bytes:
    """The object file of an assembly, which is stored if it was not."""
    code = _stored(text, level)
    if code is None:
        if _here.only_stored or not _here.compiles:
            raise NotStored
        code = _compiled(text, level)
        from dataflow.kernels.jit import code_cache

        code_cache.store(_key_of(text, level), code)
    return code


def _stored(text: str, level: int) -> bytes | None:
    if not MACHINE_CODE:
        raise ImportError("this machine runs no machine code of ours")
    # Their imports take 10 ms to load.
    from dataflow.kernels.jit import code_cache, object_file

    if _here.only_stored and not object_file.IS_KNOWN:
        raise NotStored
    return code_cache.load(_key_of(text, level))


def _key_of(text: str, level: int) -> str:
    from dataflow.kernels.jit import code_cache
    from dataflow.kernels.jit.target import target

    host = target()
    how = () if level == WELL else (str(level),)
    return code_cache.key_of(*host.versions, host.triple, host.cpu, host.flattened, *how, text)


def _load(
    code: bytes, text: str, names: Sequence[str], data: Mapping[str, int] | None = None
) -> list[int]:
    """The addresses of the functions ``names`` of an object file."""
    from dataflow.kernels.jit import object_file

    functions = {**ufunc_loops.addresses(text), **(data or {})}
    return object_file.load(code, functions, names) or _loaded_by_llvm(code, functions, names)


def _machine(level: int = WELL) -> Any:
    """LLVM, and what it compiles for."""
    import llvmlite.binding as llvm

    from dataflow.kernels.jit.target import target

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    host = target()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=host.cpu, features=host.flattened, opt=level, jit=True
    )


#: What compiles one text after the other: made anew for each, it takes as long as half of a short loop.
_compiling_machine = functools.cache(_machine)


def _compiled(text: str, level: int) -> bytes:
    """The object file of an assembly. One thread at a time."""
    import llvmlite.binding as llvm

    machine = _compiling_machine(level)
    module = llvm.parse_assembly(text)
    module.verify()
    return bytes(machine.emit_object(module))


def _loaded_by_llvm(code: bytes, functions: dict[str, int], names: Sequence[str]) -> list[int]:
    """The addresses of the functions of an object file."""
    import llvmlite.binding as llvm

    for name, address in functions.items():
        llvm.add_symbol(name, address)
    machine = _machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    return [engine.get_function_address(name) for name in names]


def address_of(array: Array) -> int:
    """The address of the first element of a NumPy array."""
    return _pointer_at(id(array) + DATA_OFFSET).value or 0


_pointer_at = ctypes.c_void_p.from_address


def reach(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int]:
    """How far before and after the first element of an array its elements begin, in bytes."""
    ends = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    return sum(e for e in ends if e < 0), sum(e for e in ends if e > 0)
