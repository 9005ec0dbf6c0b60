"""Work of one kernel, divided among threads: NumPy and BLAS let go of the interpreter's lock.

(Work that is machine code of our own is divided by `jit.thread_pool`, which needs no interpreter.)

One thread for each processor that BLAS may use. The calling thread takes part; pieces are handed
out as threads become free, so a processor that is busy elsewhere does fewer of them, and nobody
waits for it by spinning, as threads inside BLAS do.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dataflow.capabilities import MACHINE_CODE
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.blas import num_threads, single_threaded
from dataflow.kernels.large_arrays import empty
from dataflow.kernels.subnormals import Computing


class _Helper(threading.Thread):
    """A thread that waits, asleep, to take part in a caller's work.

    ``busy`` is held by the caller whose work it does; ``go`` wakes it. A lock between two threads
    costs a few microseconds, a `ThreadPoolExecutor` several times that.
    """

    def __init__(self) -> None:
        super().__init__(name="dataflow-kernel", daemon=True)
        self.busy = threading.Lock()
        self.go = threading.Lock()
        self.go.acquire()
        self.part: _Part | None = None
        self.start()

    def run(self) -> None:
        with Computing():  # as in the thread that runs the plan
            while True:
                self.go.acquire()
                part, self.part = self.part, None
                if part is not None and part.begun.acquire(blocking=False):
                    try:
                        part.work()
                    except BaseException as e:
                        part.error = e
                    finally:
                        part.done.release()
                part = None
                self.busy.release()


class _Part:
    """What a helper is asked to do; whoever gets ``begun`` decides whether it does it."""

    __slots__ = ("begun", "done", "error", "work")

    def __init__(self, work: Callable[[], None]) -> None:
        self.work = work
        self.begun = threading.Lock()
        self.done = threading.Lock()
        self.done.acquire()
        self.error: BaseException | None = None


@functools.cache
def _helpers(_process: int) -> list[_Helper]:
    """The helpers of this process (a fork gets its own)."""
    return [_Helper() for _ in range(max(1, num_threads() - 1))]


_limits = threading.local()


@contextlib.contextmanager
def limited_to(count: int) -> Iterator[None]:
    """Inside, kernels that this thread calls use at most ``count`` threads."""
    before = getattr(_limits, "count", None)
    _limits.count = count
    try:
        yield
    finally:
        _limits.count = before


_num_processes = 1


def share_processors(num_processes: int) -> None:
    """From now on kernels use a part of the threads: so many processes compute on this machine.

    Threads of several processes on the same processors hold each other up, and those that wait for
    work take the time of those that have some.
    """
    global _num_processes
    _num_processes = max(1, num_processes)


def num_workers() -> int:
    """How many threads a kernel may use, the caller included."""
    limit = getattr(_limits, "count", None)
    count = max(1, num_threads() // _num_processes)
    return count if limit is None else min(limit, count)


def run_pieces(pieces: Sequence[Any], make_worker: Callable[[], Callable[[Any], None]]) -> None:
    """Calls ``worker(piece)`` for every piece; each thread makes its own worker, with its scratch.

    The first error is raised when all threads have stopped.
    """
    helpers = min(num_workers(), len(pieces)) - 1
    if helpers < 1:
        with single_threaded():  # a product has other bits with BLAS's threads
            worker = make_worker()
            for piece in pieces:
                worker(piece)
        return
    remaining = iter(pieces)
    lock = threading.Lock()

    def work() -> None:
        worker = None
        while True:
            with lock:
                piece = next(remaining, None)
            if piece is None:
                return
            if worker is None:
                worker = make_worker()
            worker(piece)

    parts: list[_Part] = []
    with single_threaded():
        for helper in _helpers(os.getpid()):
            # One that works for another caller is left alone.
            if len(parts) < helpers and helper.busy.acquire(blocking=False):
                part = _Part(work)
                parts.append(part)
                helper.part = part
                helper.go.release()
        try:
            work()
        finally:
            for part in parts:
                # A helper that has not started yet has nothing left to do.
                if not part.begun.acquire(blocking=False):
                    part.done.acquire()
    for part in parts:
        if part.error is not None:
            raise part.error


def add_up_pieces(
    xp: Module,
    pieces: Sequence[Any],
    total: Any,
    make_worker: Callable[[Any], Callable[[Any], None]],
) -> None:
    """Adds to ``total`` what the workers add to the totals that they are made with.

    Neighboring pieces share a total, and the totals are added in order, so that the rounding does
    not depend on which thread was free when, nor on how many there are.
    """
    count = max(1, min(SHARES, len(pieces))) if xp is np else 1
    ends = [len(pieces) * i // count for i in range(count + 1)]
    totals = [total, *([None] * (count - 1))]

    def add_share(share: int) -> None:
        if share:
            totals[share] = xp.zeros_like(total)
        worker = make_worker(totals[share])
        for piece in pieces[ends[share] : ends[share + 1]]:
            worker(piece)

    run_pieces_of(xp, range(count), lambda: add_share)
    for other in totals[1:]:
        total += other


class Future:
    """A call that another thread may make in the meantime; `__call__` returns its result.

    A helper makes it if one was free and awake in time, else the caller does.
    """

    __slots__ = ("_function", "_part", "_result")

    def __init__(self, function: Callable[[], Any], limit: int = 0) -> None:
        self._function = function
        self._result: Any = None
        self._part: _Part | None = None

        def work() -> None:
            if limit:
                with limited_to(limit):
                    self._result = function()
            else:
                self._result = function()

        for helper in _helpers(os.getpid()):
            if helper.busy.acquire(blocking=False):
                self._part = helper.part = _Part(work)
                helper.go.release()
                break

    def __call__(self) -> Any:
        part = self._part
        if part is None or part.begun.acquire(blocking=False):
            return self._function()
        part.done.acquire()
        if part.error is not None:
            raise part.error
        return self._result


def run_pieces_of(xp: Module, pieces: Sequence[Any], make_worker: Any) -> None:
    """`run_pieces` on the CPU; one piece after the other on a GPU, where threads gain nothing."""
    if xp is np and len(pieces) > 1:
        run_pieces(pieces, make_worker)
    else:
        worker = make_worker()
        for piece in pieces:
            worker(piece)


#: Parts of a sum, or of a product of BLAS (whose results depend on where a matrix is cut): so many
#: on all machines, whatever the number of their processors.
SHARES = 4
#: From here on products of columns and rows are made by machine code.
_SMALL_PRODUCT = 1 << 15
#: From here on a product may be made by `jit.gemm`.
MEDIUM_PRODUCT = 1 << 20
#: From here on one with a packed matrix is quicker than NumPy's.
_PACKED_PRODUCT = 1 << 19
#: From here on that is divided among the team's threads, which wait for it in a loop.
_SHARED_PRODUCT = 3 << 20
#: What a part of it has at least, where there are more than two threads.
_SHARE_OF_PRODUCT = 4 << 20
#: From here on BLAS's work is divided among the helpers here; waking one takes about 0.1 ms. (At 25
#: million, two threads take 0.56 of the time on a quiet machine, and 1.06 of it on a busy one.)
LARGE_PRODUCT = 1 << 24
#: From here on there are twice as many, so that more threads have one.
_VERY_LARGE_PRODUCT = 1 << 26
#: Parts start at multiples of this many columns or rows, as the kernels of BLAS work on blocks.
_BLOCK = 16


def shared_from(dtype_name: str) -> int:
    """From how many multiplications on a product of matrices uses several threads itself."""
    return _SHARED_PRODUCT if MACHINE_CODE and dtype_name == "float32" else LARGE_PRODUCT


def matrix_product(a: Array, b: Array, out: Any = None) -> Any:
    """``a @ b`` for two NumPy matrices; a large product is divided among the threads here.

    It is written to ``out`` where that has its shape and type.

    On a quiet machine that is as quick as BLAS's own threads; when other processes want the
    processors too it is several times quicker, since no thread waits for long for another.
    """
    rows, columns = a.shape[0], b.shape[1]
    multiplications = rows * columns * b.shape[0]
    if multiplications < MEDIUM_PRODUCT or a.dtype.kind != "f":
        return np.dot(a, b)
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"shapes {a.shape} and {b.shape} do not fit: {a.shape[1]} != {b.shape[0]}")
    if out is None or out.shape != (rows, columns) or out.dtype != a.dtype:
        out = empty((rows, columns), a.dtype)
    _multiply(a, b, out, multiplications)
    return out


def batch_of_products(a: Array, b: Array) -> Any:
    """``a @ b`` for two NumPy arrays of matrices; the threads here share a large batch."""
    if a.ndim < 2 or b.ndim < 2 or not a.dtype.char == b.dtype.char == "f":
        return np.matmul(a, b)
    *_, rows, steps = a.shape
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    multiplications = math.prod(batch) * rows * steps * b.shape[-1]
    if b.shape[-2] != steps or multiplications < _SMALL_PRODUCT:
        return np.matmul(a, b)
    if steps == 1:
        from dataflow.kernels.jit.large_arithmetic import outer_products

        return outer_products(np, a, b)
    if multiplications < MEDIUM_PRODUCT:
        return np.matmul(a, b)
    from dataflow.kernels.jit import batched_gemm  # with the first product of some size

    out = batched_gemm.empty_like_right(b, (*batch, rows, b.shape[-1]))
    if batched_gemm.multiply(a, b, out, num_shares(multiplications)):
        return out
    return np.matmul(a, b)


def product_with_packed(a: Array, packed: Any) -> Any:
    """``a @ packed.matrix``, for a `gemm.PackedMatrix`."""
    b = packed.matrix
    rows, columns = a.shape[0], b.shape[1]
    multiplications = rows * columns * b.shape[0]
    if multiplications < _PACKED_PRODUCT or a.shape[1] != b.shape[0]:
        return matrix_product(a, b)
    out = empty((rows, columns), b.dtype)
    if not packed.multiply(a, out, shares_with_packed(multiplications)):
        return matrix_product(a, b)
    return out


def shares_with_packed(multiplications: int) -> int:
    """Into how many parts a product with a packed matrix is divided; 0 where it is not worth packing."""
    if multiplications < _PACKED_PRODUCT:
        return 0
    if MEDIUM_PRODUCT <= multiplications < _SHARED_PRODUCT:
        return min(num_threads(), 2)
    return num_shares(multiplications)


def _multiply(a: Array, b: Array, out: Any, multiplications: int) -> None:
    """``out = a @ b``, by one thread or all."""
    from dataflow.kernels.jit import gemm  # with the first product of some size

    # By rows or columns: the number of parts changes no sum.
    if gemm.multiply(a, b, out, num_shares(multiplications)):
        return
    if multiplications < LARGE_PRODUCT:
        np.matmul(a, b, out=out)
        return
    by_columns = out.shape[1] >= out.shape[0]
    length = max(out.shape)
    size = -(-length // ((2 if multiplications >= _VERY_LARGE_PRODUCT else 1) * SHARES))
    size = -(-size // _BLOCK) * _BLOCK

    def work(start: int) -> None:
        part = slice(start, start + size)
        if by_columns:
            np.matmul(a, b[:, part], out=out[:, part])
        else:
            np.matmul(a[part], b, out=out[part])

    run_pieces(range(0, length, size), lambda: work)


def num_shares(multiplications: int) -> int:
    """Into how many parts a product of matrices is divided for the threads."""
    if multiplications < _SHARED_PRODUCT:
        return 1
    return min(num_threads(), max(2, multiplications // _SHARE_OF_PRODUCT))


def sum_of_products(lefts: Sequence[Any], rights: Sequence[Any]) -> Any:
    """``lefts[0] @ rights[0] + lefts[1] @ rights[1] + ...``, each product rounded before it is added.

    There is one matrix for all products but the first.
    """
    rows, columns = lefts[0].shape[0], rights[0].shape[1]
    for a, b in zip(lefts, rights, strict=True):
        if a.shape[1] != b.shape[0] or a.shape[0] != rows or b.shape[1] != columns:
            raise ValueError(
                f"products of shapes {a.shape} x {b.shape} and {lefts[0].shape} x "
                f"{rights[0].shape} cannot be added"
            )
    out = matrix_product(lefts[0], rights[0])
    product = None
    for a, b in zip(lefts[1:], rights[1:], strict=True):
        product = matrix_product(a, b, product)
        out += product
    return out
