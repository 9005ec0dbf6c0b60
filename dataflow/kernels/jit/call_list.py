"""Call lists: many small kernels, made one after the other by a single call of machine code.

What a kernel of a few hundred numbers costs is what surrounds it: Python's call, finding the loop for the
arrays' layout, a new array for the result. When the arrays of a plan's lines have the same shapes in every
run, all of that can be decided once. A `CallWriter` writes down which functions are called with which
addresses: inner loops of NumPy's ufuncs (`ufunc_loops`), BLAS's products, our own loops, copies. Values
that only the list itself reads have buffers of their own, whose addresses never change. The addresses of the
other arrays are filled in for each call, from the array objects, whose dtypes and layouts are compared
with those that the list was written for, as are the contents of small ones that it depends on: where
something differs, nothing is computed. A call that finds an index out of range refuses: kernels say what is wrong.

The functions are those that the kernels call, so results have the same bits; what has nothing to do with each other
may be made at the same time (`side_by_side`).
"""

from __future__ import annotations

import bisect
import functools
import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.array_types import Array
from dataflow.kernels.blas import PLAIN, ROW_MAJOR, TRANSPOSED, product_functions
from dataflow.kernels.jit.call_list_code import AXES, FIELDS, HEAD, OPERANDS, code, conversion
from dataflow.kernels.jit.compiler import address_of, reach
from dataflow.kernels.jit.drafts import add_holder
from dataflow.kernels.jit.native_ufunc import merged_axes
from dataflow.kernels.jit.thread_pool import team_for


class At(NamedTuple):
    """The address of an array's first element, and ``offset`` bytes more, as a field of a call's table."""

    array: Array
    offset: int = 0


class Single(NamedTuple):
    """A number in single precision, as a field of a call's table."""

    value: float


class Number(NamedTuple):
    """An array's first element, of 64 bits, as a field of a call's table: what it is when the call is made."""

    array: Array


class CallList:
    """Calls in machine code. ``run(arrays)`` makes them and says whether it did: all arrays must have the
    layouts of those that the list was written for (and the contents, where it depends on them), and be NumPy's own,
    no subclass's. A call may refuse, too, when others have been made: what was given is as it was."""

    __slots__ = ("__weakref__", "_code", "_kept", "_pack", "_words", "num_calls")

    def __init__(
        self, words: Array, num_calls: int, num_arrays: int, kept: Sequence[Array]
    ) -> None:
        self._words, self._kept, self.num_calls = words, kept, num_calls
        self._pack = struct.Struct(f"{num_arrays}q").pack
        self._code = functools.partial(code().run, address_of(words))
        add_holder(self)

    def calls(self, function: int) -> bool:
        """Whether a call, or a list within one, has this address."""
        return bool((self._words == function).any())

    def replace(self, addresses: Mapping[int, int]) -> None:
        """Calls the functions at other addresses, where there is one for theirs."""
        for i in np.flatnonzero(np.isin(self._words, list(addresses))):
            self._words[i] = addresses[int(self._words[i])]

    @property
    def num_bytes(self) -> int:
        """The bytes of memory that it holds."""
        return int(self._words.nbytes + sum(x.nbytes for x in self._kept))

    def run(self, *arrays: Array) -> bool:
        """Makes the calls, unless an array has another layout."""
        return bool(self._code(self._pack(*map(id, arrays))))

    def run_by_id(self, ids: Sequence[int]) -> bool:
        """As `run`, of the `id` of each array: a reference to one that is changed would make it refuse."""
        return bool(self._code(self._pack(*ids)))


class CallWriter:
    """Writes a `CallList` for ``arrays``: examples of what it will be given, with the same layouts.

    ``numbers`` are those, contiguous, that will have the same contents, ``changed`` those that calls change in place: to
    such an array nobody else may refer. ``packed`` has the panels (`gemm.PackedMatrix.panels`), also among
    ``arrays``, of matrices by their `id` and the number of parts.
    """

    def __init__(
        self,
        arrays: Sequence[Array],
        numbers: Sequence[Array] = (),
        changed: Sequence[Array] = (),
        packed: Mapping[tuple[int, int], Array] | None = None,
    ) -> None:
        self._arrays = list(arrays)
        self.packed = packed or {}
        self._numbers = {id(x) for x in numbers}
        self._changed = {id(x) for x in changed}
        self._calls: list[tuple[int, tuple[Any, ...]]] = []
        self._kept: list[Array] = []
        self._constants: set[int] = set()
        self._free: dict[int, list[Array]] = {}
        spans = sorted((*_span(x), i) for i, x in enumerate(arrays) if x.size)
        self._starts = [start for start, _, _ in spans]
        self._spans = spans
        self.num_bytes = 0
        #: The list's own memory: where each block begins, and where it ends.
        self._own_starts: list[int] = []
        self._own_ends: dict[int, int] = {}
        #: What was released while it is held, if it is.
        self._held: list[Array] | None = None
        self.held_bytes = 0
        #: Whether threads may make what was added last beside other calls (`begin_line`).
        self.is_apart = True
        #: A call that cannot be made, as an index is out of range, sets this number to 1 and goes on.
        self.refused = self.constant(np.zeros((), np.int64))

    # ---- memory

    def constant(self, array: Any) -> Array:
        """Keeps an array that never changes, and returns it."""
        found = np.asarray(array)
        self._kept.append(found)
        self._constants.add(id(found))
        return found

    def is_constant(self, array: Array) -> bool:
        """Whether it was made by `constant`."""
        return id(array) in self._constants

    def buffer(self, shape: Sequence[int], dtype: Any) -> Array:
        """A contiguous array in memory that belongs to the list."""
        dtype = np.dtype(dtype)
        size = max(64, -(-math.prod(shape) * dtype.itemsize // 64) * 64)
        free = self._free.get(size)
        if free:
            block = free.pop()
        else:
            block = np.zeros(size, np.uint8)
            self.num_bytes += size
            self._kept.append(block)
            start = address_of(block)
            bisect.insort(self._own_starts, start)
            self._own_ends[start] = start + size
        return np.ndarray(tuple(shape), dtype, block)

    def release(self, array: Array) -> None:
        """Lets a later `buffer` have the memory of an earlier one."""
        block: Any = array.base
        while type(block.base) is np.ndarray:
            block = block.base
        if self._held is None:
            self._free.setdefault(block.size, []).append(block)
        else:
            self._held.append(block)
            self.held_bytes += block.size

    def hold(self) -> None:
        """From now on released memory waits for `let_go`."""
        self._held = []

    def let_go(self) -> None:
        """Lets later buffers have what was released."""
        for block in self._held or ():
            self._free.setdefault(block.size, []).append(block)
        self._held, self.held_bytes = [], 0

    def block_of(self, array: Array) -> int:
        """A number for the memory that an array lies in: the same for all arrays in a given one, or in a buffer."""
        place = self._place(array)
        if place is not None:
            return place[0]
        address = address_of(array)
        i = bisect.bisect_right(self._own_starts, address) - 1
        if i >= 0 and address < self._own_ends[self._own_starts[i]]:
            return self._own_starts[i]
        return address

    # ---- calls

    def mark(self) -> int:
        """Where the list ends, for `rewind`."""
        return len(self._calls)

    def rewind(self, mark: int) -> None:
        """Removes the calls that were added since ``mark``."""
        del self._calls[mark:]

    def begin_line(self) -> int:
        """As `mark`; until the next one, ``is_apart`` says whether other threads may make other calls meanwhile."""
        self.is_apart = True
        return self.mark()

    def take(self, mark: int) -> list[tuple[int, tuple[Any, ...]]]:
        """Removes the calls that were added since ``mark``, and returns them."""
        taken = self._calls[mark:]
        self.rewind(mark)
        return taken

    def add(self, calls: Sequence[tuple[int, tuple[Any, ...]]]) -> None:
        """Adds calls."""
        self._calls += calls

    def sequence(self, calls: Sequence[tuple[int, tuple[Any, ...]]]) -> tuple[int, tuple[Any, ...]]:
        """One call that makes these, in order."""
        if len(calls) == 1:
            return calls[0]
        offset = 8 + 16 * len(calls)
        places: list[int] = []
        for function, fields in calls:
            places += (function, offset)
            offset += 8 * len(fields)
        return code().sequence, (
            len(calls),
            *places,
            *(field for _, fields in calls for field in fields),
        )

    def call(self, function: int, *fields: Any) -> None:
        """Adds a call of ``function`` with a table of integers, floats, `At`s, `Single`s and `Number`s."""
        self._calls.append((function, fields))

    def share(self, calls: Sequence[tuple[int, Sequence[Any]]]) -> None:
        """Adds calls that threads may make at the same time, as by `thread_pool.run_calls`."""
        team, members = team_for(len(calls))
        if team is None:
            for function, fields in calls:
                self.call(function, *fields)
            return
        self.is_apart = False
        places: list[int] = []
        offset = 16 * len(calls)
        for function, fields in calls:
            places += (function, offset)
            offset += 8 * len(fields)
        fields = [field for _, fields in calls for field in fields]
        self.call(team.share, team.memory, members, 1, len(calls), *places, *fields)

    def ufunc(self, ufunc: np.ufunc, *arrays: Array) -> bool:
        """``ufunc(*inputs, out=out)``; the inputs are broadcast, and none is converted."""
        from dataflow.kernels.jit.ufunc_loops import typed_loop

        loop = typed_loop(ufunc, tuple(x.dtype.num for x in arrays))
        shape = arrays[-1].shape
        if loop is None or len(arrays) > OPERANDS:
            return False
        strides = [
            x.strides if x.shape == shape else np.broadcast_to(x, shape).strides for x in arrays
        ]
        axes = _merged(shape, strides)
        if axes is None or len(axes) > AXES + 1:
            return False
        if axes:
            self._loop(loop, arrays, axes[-1], axes[:-1])
        return True

    def reduce(self, ufunc: np.ufunc, x: Array, axis: int, out: Array) -> bool:
        """``ufunc.reduce(x, axis, out=out)`` as NumPy does it: along the last axis row by row, along the first
        one a row at a time. ``out`` has the rank of ``x``, with 1 for that axis, and is begun by the caller."""
        from dataflow.kernels.jit.ufunc_loops import typed_loop

        loop = typed_loop(ufunc, (x.dtype.num,) * 3)
        if loop is None or not x.size:
            return False
        last = axis == x.ndim - 1
        to = np.broadcast_to(out, x.shape).strides
        if last:
            outer = _merged(x.shape[:-1], [s[:-1] for s in (to, x.strides, to)])
            inner: tuple[int, tuple[int, ...]] = (x.shape[-1], (0, x.strides[-1], 0))
        else:
            around = _merged(x.shape, [to, x.strides, to])
            if around is None:
                return False
            *outer, inner = around
        if outer is None or len(outer) > AXES:
            return False
        self._loop(loop, (out, x, out), inner, outer)
        return True

    def _loop(
        self, loop: tuple[int, int], arrays: Sequence[Array], inner: Any, outer: Sequence[Any]
    ) -> None:
        if not outer:
            self.call(code().flat_ufunc, *loop, len(arrays), inner[0], *map(At, arrays), *inner[1])
            return
        missing = [(1, (0,) * len(arrays))] * (AXES - len(outer))
        axes = [*missing, *outer]
        empty = (0,) * (OPERANDS - len(arrays))
        self.call(
            code().ufunc,
            *loop,
            inner[0],
            *(length for length, _ in axes),
            *map(At, arrays),
            *empty,
            *(*inner[1], *empty),
            *(s for _, steps in axes for s in (*steps, *empty)),
        )

    def copy(self, source: Array, to: Array) -> bool:
        """``to[...] = source`` for arrays of one dtype; ``source`` is broadcast."""
        kind = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}.get(to.dtype.itemsize)
        if kind is None or source.dtype != to.dtype or to.dtype.kind not in "biuf":
            return False
        bits, to_bits = (
            x.view(kind) if x.ndim else x.reshape(1).view(kind).reshape(()) for x in (source, to)
        )
        return self.ufunc(np.bitwise_or, bits, bits, to_bits)

    def convert(self, source: Array, to: Array) -> bool:
        """``to[...] = source.astype(to.dtype)`` where the result is defined for each number: not from floats to
        integers. Both are contiguous."""
        if source.dtype == to.dtype:
            return self.copy(source, to)
        if not (source.flags.c_contiguous and to.flags.c_contiguous and source.shape == to.shape):
            return False
        function = conversion(source.dtype.str[1:], to.dtype.str[1:])
        if function is None:
            return False
        self.call(function, At(source), At(to), to.size)
        return True

    def fill(self, to: Array, value: Any) -> bool:
        """``to[...] = value``."""
        return self.copy(self.constant(np.asarray(value, to.dtype)), to)

    def product(self, a: Array, b: Array, out: Array) -> bool:
        """``out = a @ b`` for matrices, as BLAS is called by `numpy.dot`."""
        functions = product_functions(a.dtype.char)
        if functions is None or not (a.dtype == b.dtype == out.dtype) or not out.flags.c_contiguous:
            return False
        single, size = a.dtype.char == "f", a.itemsize
        one, zero = (Single(1.0), Single(0.0)) if single else (1.0, 0.0)
        rows, steps = a.shape
        columns = b.shape[1]
        if not rows * steps * columns:
            return False
        if rows > 1 and columns > 1:
            left, right = _order(a), _order(b)
            if left is None or right is None:
                return False
            function = code().single_product if single else code().double_product
            self.call(
                function,
                functions[0],
                *(ROW_MAJOR, left[0], right[0], rows, columns, steps, one),
                *(At(a), left[1], At(b), right[1], zero, At(out), columns),
            )
            return True
        matrix, vector = (a, b[:, 0]) if columns == 1 else (b.T, a[0])
        if rows == columns == 1 and steps > 1:
            return self.dot(a[0], vector, out)
        if 1 in matrix.shape or vector.strides[0] % size:
            return False
        order = _order(matrix)
        if order is None:
            return False
        transposed, length = order
        m, n = matrix.shape[::-1] if transposed == TRANSPOSED else matrix.shape
        function = code().single_vector if single else code().double_vector
        self.call(
            function,
            functions[1],
            *(ROW_MAJOR, transposed, m, n, one, At(matrix), length),
            *(At(vector), vector.strides[0] // size, zero, At(out), 1),
        )
        return True

    def dot(self, a: Array, b: Array, out: Array) -> bool:
        """``out = a @ b`` for vectors of at least two numbers, as `numpy.dot` calls BLAS."""
        functions = product_functions(a.dtype.char)
        if functions is None or not (a.dtype == b.dtype == out.dtype) or a.size < 2:
            return False
        steps = [x.strides[0] // x.itemsize for x in (a, b)]
        if any(x.strides[0] % x.itemsize for x in (a, b)) or min(steps) < 1:
            return False
        function = code().single_dot if a.dtype.char == "f" else code().double_dot
        self.call(function, functions[2], a.size, At(a), steps[0], At(b), steps[1], At(out))
        return True

    # ---- the list

    def list(self) -> CallList:
        """The finished list."""
        count = len(self._calls)
        #: (place of a word, array, offset) of the addresses that are filled in.
        patches: list[tuple[int, int, int]] = []
        numbers: list[tuple[int, int, int]] = []
        tables: list[int] = []
        heads: list[int] = []
        layouts = [field for x in self._arrays for field in self._layout_of(x)]
        head = len(HEAD) + FIELDS * len(self._arrays) + 2 * count
        for function, fields in self._calls:
            heads += (function, 8 * (head + len(tables)))
            for field in fields:
                if type(field) is At:
                    place = self._place(field.array)
                    if place is None:
                        tables.append(address_of(field.array) + field.offset)
                        continue
                    patches.append((head + len(tables), place[0], place[1] + field.offset))
                    tables.append(0)
                elif type(field) is Number:
                    place = self._place(field.array)
                    assert place is not None  # else its value could be written down
                    numbers.append((head + len(tables), *place))
                    tables.append(0)
                elif type(field) is Single:
                    tables.append(struct.unpack("i", struct.pack("f", field.value))[0])
                elif type(field) is float:
                    tables.append(struct.unpack("q", struct.pack("d", field))[0])
                else:
                    tables.append(int(field))
        counts = len(self._arrays), count, len(patches), len(numbers)
        sizes = [*counts, 8 * (head + len(tables)), id(np.ndarray), address_of(self.refused)]
        filled = [*patches, *numbers]
        ends = [v for place, array, offset in filled for v in (8 * place, 8 * array, offset)]
        words = np.array([*sizes, *layouts, *heads, *tables, *ends], np.int64)
        return CallList(words, count, len(self._arrays), self._kept)

    def _layout_of(self, x: Array) -> tuple[int, ...]:
        """The fields to compare: the dtype's address, the rank, an array with lengths and strides, the contents
        with their number of bytes, and whether it is changed."""
        layout = np.array([*x.shape, *x.strides] or [0], np.int64)
        contents = x.copy() if id(x) in self._numbers else np.empty(0)
        self._kept += [layout, contents]
        _dtypes[id(x.dtype)] = x.dtype
        same = address_of(contents), contents.nbytes
        return id(x.dtype), x.ndim, address_of(layout), *same, id(x) in self._changed

    def _place(self, x: Array) -> tuple[int, int] | None:
        """(Number of the given array, offset) of an array that lies in it; ``None`` for memory of our own."""
        address = address_of(x)
        i = bisect.bisect_right(self._starts, address) - 1
        if i >= 0 and address < self._spans[i][1]:
            return self._spans[i][2], address - address_of(self._arrays[self._spans[i][2]])
        return None


#: Keeps the dtypes whose addresses are compared.
_dtypes: dict[int, Any] = {}


def _span(x: Array) -> tuple[int, int]:
    """Where the memory of an array begins and ends."""
    start, (low, high) = address_of(x), reach(x.shape, x.strides)
    return start + low, start + high + x.itemsize


def _merged(
    shape: Sequence[int], strides: Sequence[tuple[int, ...]]
) -> list[tuple[int, tuple[int, ...]]] | None:
    """The axes of a loop, merged where they are contiguous in all arrays; ``None`` without elements."""
    if 0 in shape:
        return None
    return merged_axes(tuple(shape), list(strides)) or [(1, (0,) * len(strides))]


def _order(x: Array) -> tuple[int, int] | None:
    """How BLAS reads a matrix: plain or transposed, and the length of its rows in memory."""
    size = x.itemsize
    (rows, columns), (row, column) = x.shape, x.strides
    if column == size and row % size == 0 and row >= columns * size:
        return PLAIN, row // size
    if row == size and column % size == 0 and column >= rows * size:
        return TRANSPOSED, column // size
    return None
