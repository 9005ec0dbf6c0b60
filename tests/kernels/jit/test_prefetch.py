"""What products prefetch: the numbers that come next, each cache line of them, and no others.

Prefetching has no result, so the code is compiled here with a mark in its place: a byte of a shadow of memory.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np
import pytest

from dataflow.kernels.jit import gemm, gemm_codegen, packing, shared_functions
from dataflow.kernels.jit.compiler import address_of
from dataflow.kernels.jit.isa import needed_isa
from dataflow.kernels.jit.llvm_builder import Writer

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
pytestmark = pytest.mark.simd

_ROOM = 1 << 22


class _Marked(NamedTuple):
    """Memory with a shadow, and the function of products that marks there what it would prefetch."""

    function: int
    memory: Any
    shadow: Any

    def matrix(self, place: int, rows: int, columns: int, stride: int) -> Any:
        """A matrix of ones with so many numbers from row to row, a share of 256 KB."""
        part = self.memory[place << 18 : (place << 18) + rows * stride * 4].view(np.float32)
        part[:] = 1
        return part.reshape(rows, stride)[:, :columns]

    def multiply(self, a: Any, b: Any, out: Any, kept: int, **nexts: Any) -> None:
        layout = gemm.lay_out(
            *(self.function, (*a.shape, b.shape[1]), a.strides, b.strides, out.strides[0]),
            *(1, False, kept),
        )
        fields = dict(
            zip(gemm_codegen.FIELDS[4:], gemm.unpack_fields(layout.parts[0][-1]), strict=True)
        )
        fields |= {name: address_of(x) for name, x in nexts.items()}
        addresses = (*map(address_of, (a, b, out)), gemm.panel_address(0, 1 << 20))
        table = np.array([*addresses, *fields.values()], np.int64)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.function)(address_of(table))
        np.testing.assert_array_equal(out, np.full(out.shape, a.shape[1]))

    def lines(self, x: Any) -> set[tuple[int, int]]:
        """(row, byte) of what is marked in a matrix."""
        start = address_of(x) - address_of(self.memory)
        found = np.flatnonzero(self.shadow[start : start + x.shape[0] * x.strides[0]])
        return {divmod(int(at), x.strides[0]) for at in found}


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> _Marked:
    memory, shadow = (gemm.aligned(_ROOM)[1] for _ in range(2))
    memory, shadow = (x[-address_of(x) % 64 :][:_ROOM] for x in (memory, shadow))
    shadow[:] = 0
    distance = address_of(shadow) - address_of(memory)

    def mark(w: Writer, address: str) -> None:
        w.store("i8", 1, w.pointer(w.op("add", address, distance)))

    isa = needed_isa()
    for group in shared_functions.groups_of(isa):
        # Compiled before, as they are; what they prefetch may lie outside of all matrices.
        shared_functions.need(isa, group)
    monkeypatch.setattr(packing, "_prefetch", mark)
    function = shared_functions.compile_with(isa, gemm_codegen.source(isa), "loop")[0]
    return _Marked(function, memory, shadow)


def _all_lines(rows: range, num_bytes: int, start: int = 0) -> set[tuple[int, int]]:
    return {(row, at) for row in rows for at in range(start, start + num_bytes, 64)}


def test_the_next_rows_of_the_left_matrix(marked: _Marked) -> None:
    a, b, out = (
        marked.matrix(0, 300, 48, 64),
        marked.matrix(2, 48, 32, 32),
        marked.matrix(4, 300, 32, 32),
    )
    marked.multiply(a, b, out, gemm_codegen.IN_PASSING)
    assert marked.lines(a) == _all_lines(range(150, 300), 48 * 4)
    assert not marked.lines(out)


def test_the_next_steps_of_both(marked: _Marked) -> None:
    a, b, out = (
        marked.matrix(0, 20, 512, 512),
        marked.matrix(2, 512, 16, 16),
        marked.matrix(4, 20, 16, 16),
    )
    marked.multiply(a, b, out, gemm_codegen.IN_PASSING)
    assert marked.lines(a) == _all_lines(range(20), 256 * 4, 256 * 4)
    assert {row for row, _ in marked.lines(b)} == set(range(256, 512))


@pytest.mark.parametrize("turned", [False, True])
def test_the_matrices_of_the_next_product(marked: _Marked, turned: bool) -> None:
    a, next_a = (
        marked.matrix(i, 48, 32, 64).T if turned else marked.matrix(i, 32, 48, 64) for i in (0, 1)
    )
    b, next_b = (marked.matrix(i, 48, 64, 80) for i in (2, 3))
    out, next_out = (marked.matrix(i, 32, 64, 96) for i in (4, 5))
    nexts = {"next_left": next_a, "next_right": next_b, "next_out": next_out}
    marked.multiply(a, b, out, gemm_codegen.IN_PLACE, **nexts)
    assert marked.lines(next_a.T if turned else next_a) == _all_lines(
        *((range(48), 32 * 4) if turned else (range(32), 48 * 4))
    )
    assert marked.lines(next_b) == _all_lines(range(48), 64 * 4)
    assert marked.lines(next_out) == _all_lines(range(32), 64 * 4)
    assert not any(marked.lines(x.T if turned and x is a else x) for x in (a, b, out))


def test_a_packed_right_matrix_is_not_fetched_as_it_was(marked: _Marked) -> None:
    a, b, out = (
        marked.matrix(0, 20, 512, 512),
        marked.matrix(2, 512, 16, 16),
        marked.matrix(4, 20, 16, 16),
    )
    for kept in (gemm_codegen.TO_STAY, gemm_codegen.THERE):
        marked.shadow[:] = 0
        marked.multiply(a, b, out, kept)
        assert bool(marked.lines(b)) == (kept == gemm_codegen.TO_STAY)
