"""Code that is compiled quickly at first, and well later: the same bits, and who runs it learns of it."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataflow.kernels import direct_few_outputs
from dataflow.kernels.jit import (
    channel_norm,
    compiler,
    drafts,
    gemm,
    gemm_codegen,
    shared_functions as shared,
)
from dataflow.kernels.jit.call_list import At, CallWriter
from dataflow.kernels.jit.compiler import Function, compile_loop
from dataflow.kernels.jit.isa import host, needed_isa
from dataflow.kernels.jit.step_codegen import Loop
from dataflow.kernels.subnormals import Computing
from dataflow.windows import Window
from tests.kernels.bits import assert_same_bits

pytestmark = pytest.mark.skipif(host() is None, reason="this machine runs no machine code")

X = np.random.default_rng(0).standard_normal(1003).astype(np.float32)
LOOP = Loop("float32", "vn", (("Mul", (0, 1)), ("Add", (2, 0)), ("Exp", (3,))), ((4, "v"),))


@pytest.fixture(autouse=True)
def _nothing_stored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    drafts.finish()
    monkeypatch.setenv("DATAFLOW_KERNEL_CACHE", str(tmp_path))


def _result(function: Function) -> Any:
    out = np.empty_like(X)
    function.prepared((X.size,))([id(X), 0.7, id(out)])
    return out


def test_a_loop_has_the_same_bits_before_and_after() -> None:
    function = compile_loop(LOOP)
    quick, address = _result(function), function.address
    drafts.finish()
    assert function.address != address
    assert_same_bits(_result(function), quick)
    assert compile_loop(LOOP).address != address  # found on disk, well compiled
    assert not drafts.num_waiting()


def test_quick_code_counts_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[Any] = []
    monkeypatch.setattr(drafts, "improve_later", lambda count, _: counts.append(count))
    function = compile_loop(LOOP)
    for runs in (1, 2):
        _result(function)
        assert counts[0]() == 2 * runs  # ``objects`` calls ``loop``


def test_only_code_that_runs_often_is_improved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts._Improver, "_work", lambda _: None)
    now, runs, improver = 0.0, {"often": 100, "once": 1}, drafts._Improver()
    monkeypatch.setattr(time, "process_time", lambda: now)
    improved: list[str] = []
    for name in runs:
        improver.add(
            functools.partial(runs.__getitem__, name), functools.partial(improved.append, name)
        )

    def improve() -> None:
        while (found := improver._next()) is not None:
            found.improve()

    improve()
    assert not improved
    now = 5.0
    improve()
    assert improved == ["often"]
    runs["once"] = 100
    now = 9.9
    improve()
    assert improved == ["often"]
    now = 10.0
    improve()
    assert improved == ["often", "once"]


def test_functions_are_written_out_only_in_better_code(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler.inlined.cache_clear()
    real, texts = compiler._compiled, []

    def compiled(text: str, level: int) -> bytes:
        texts.append(text)
        return real(text, level)

    monkeypatch.setattr(compiler, "_compiled", compiled)
    quick = _result(function := compile_loop(LOOP))
    assert len(texts) == 1
    drafts.finish()
    assert len(texts) == 4  # the loop, and the two by which it is found out what may be written out
    assert_same_bits(_result(function), quick)
    compiler.inlined.cache_clear()
    assert_same_bits(_result(compile_loop(LOOP)), quick)
    assert len(texts) == 4


def test_what_was_compiled_quickly_is_stored_too(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_loop(LOOP)
    monkeypatch.setattr(compiler, "_compiled", lambda *_: pytest.fail("compiled again"))
    quick = compile_loop(LOOP)
    assert_same_bits(_result(quick), np.exp(X * np.float32(0.7) + X))
    monkeypatch.undo()
    drafts.finish()


def test_a_list_of_calls_calls_the_better_code() -> None:
    function, out = compile_loop(LOOP), np.empty_like(X)
    old = function.address
    writer = CallWriter([X, out])
    writer.call(old, X.size, At(X), 0.7, At(out))
    found = writer.list()
    assert found.run(X, out)
    quick = out.copy()
    drafts.finish()
    out[:] = 0
    assert found.calls(function.address)
    assert not found.calls(old)
    assert found.run(X, out)
    assert_same_bits(out, quick)


@pytest.mark.simd
def test_batch_normalization_has_the_same_bits() -> None:
    rows = X[:1000].reshape(125, 8).repeat(20, 0).copy()
    scale, offset, *old = (X[i : i + 8].copy() for i in range(4))
    call = functools.partial(channel_norm.train, rows, scale, offset, (old[0], old[1]), 0.9, 1e-3)
    quick = call()
    drafts.finish()
    well = call()
    assert quick is not None
    assert well is not None
    assert_same_bits(well[0], quick[0])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system forks no processes")
def test_a_fork_improves_code_although_its_parent_was_about_to() -> None:
    program = (
        "import os\n"
        "from dataflow.kernels.jit import drafts\n"
        "drafts._improver._lock.acquire()\n"  # as another thread's, at the time of the fork
        "child = os.fork()\n"
        "if not child:\n"
        "    done = []\n"
        "    drafts.improve_later(lambda: 0, lambda: done.append(1))\n"
        "    drafts.finish()\n"
        "    os._exit(len(done))\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "1\n", done.stderr


def test_a_process_ends_while_code_waits() -> None:
    program = (
        "from tests.kernels.jit.test_drafts import LOOP\n"
        "from dataflow.kernels.jit import drafts\n"
        "from dataflow.kernels.jit.compiler import compile_loop\n"
        "compile_loop(LOOP)\n"
        "print(drafts.num_waiting())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert int(done.stdout) > 0
    assert not done.stderr


@pytest.mark.parametrize("columns", [16, 17, 33, 48, 49, 64, 65, 80, 96, 100, 112, 113])
def test_a_product_has_the_tiles_that_it_needs(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    isa = needed_isa()
    shared.table.cache_clear()
    shared.need.cache_clear()
    monkeypatch.setattr(gemm, "compiled_loop", compiler.JitEntry(gemm.compile_gemm, at_once=True))
    a = X[: 29 * 31].reshape(29, 31)
    b = np.resize(X, (31, columns)).copy()
    out = np.empty((29, columns), np.float32)
    monkeypatch.setattr(gemm, "SMALL_PRODUCT", 0)
    assert gemm.multiply(a, b, out)
    np.testing.assert_allclose(out, a @ b, rtol=1e-3, atol=1e-4)
    found = gemm_codegen.widths_of(isa, columns)
    for vectors in range(1, isa.most_vectors + 1):
        there = bool(shared.table(isa)[shared.tile_place(1, vectors)])
        assert there == (vectors in found)


def test_steps_are_written_once_for_all_images(monkeypatch: pytest.MonkeyPatch) -> None:
    count, written = 0, direct_few_outputs._FewOutputs._chunk

    def counted(*arguments: Any) -> None:
        nonlocal count
        count += 1
        written(*arguments)

    monkeypatch.setattr(direct_few_outputs._FewOutputs, "_chunk", counted)
    monkeypatch.setattr(direct_few_outputs, "_CHUNK_BYTES", 1)
    x = np.random.default_rng(1).standard_normal((40, 10, 10, 16)).astype(np.float32)
    filters = np.random.default_rng(2).standard_normal((5, 5, 16, 6)).astype(np.float32)
    window = Window(10, 5, 1, 1, 4, 4, 14)
    out, single = np.empty((40, 14, 14, 6), np.float32), np.empty((1, 14, 14, 6), np.float32)
    assert direct_few_outputs.forward(x, filters, window, window, out)
    assert count < 40
    for i in range(40):
        assert direct_few_outputs.forward(x[i : i + 1], filters, window, window, single)
        assert_same_bits(out[i], single[0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_subnormal_number_times_a_bool_is_flushed_as_numpy_does(dtype: str) -> None:
    tiny = np.finfo(dtype).tiny
    dy, x = (np.array([a, tiny / 2, 1.0, -tiny / 4] * 9, dtype) for a in (tiny / 2, 3.0))
    function, got = compile_loop(Loop(dtype, "vv", (("ReluGrad", (0, 1)),), ((2, "v"),))), dy.copy()
    for _ in range(2):
        with Computing():
            function.prepared((dy.size,))([id(dy), id(x), id(got)])
            wanted = np.multiply(dy, np.greater(x, 0))
        assert_same_bits(got, wanted)
        drafts.finish()


def test_swaps_of_a_transpose_are_blocks_of_their_own() -> None:
    isa = needed_isa()
    blocks = shared.source(isa, shared.PACKS).split(":\n")
    swaps = [block.count(f"shufflevector {isa.vector} %") for block in blocks]
    assert max(swaps) == isa.lanes  # LLVM's time grows much faster than a block
