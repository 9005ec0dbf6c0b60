"""Tiles for every processor: they compile anywhere, keep their results in registers, and agree."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from dataflow.kernels import conv, direct_conv_common
from dataflow.kernels.jit import (
    gemm,
    gemm_codegen,
    implicit_gemm,
    isa,
    object_file,
    shared_functions,
    target,
)
from dataflow.kernels.jit.compiler import JitEntry
from dataflow.kernels.jit.isa import AVX2, AVX512, NEON, Isa
from dataflow.kernels.loader import get_kernel

llvm = pytest.importorskip("llvmlite.binding", reason="pip install 'dataflow-learn[fast]'")

TRIPLES = {NEON: "aarch64-unknown-linux-gnu"}
#: LLVM can assemble text in x86's assembly language on x86 only.
COMPILED = (AVX512, AVX2, NEON) if platform.machine() in ("x86_64", "AMD64") else (NEON,)
TEXTS = {
    "shared": shared_functions.source,
    "product": gemm_codegen.source,
    "convolution": implicit_gemm.source,
}


def assembly(isa: Isa, text: str) -> str:
    """What LLVM makes of a text for a processor that has this instruction set."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()
    triple = TRIPLES.get(isa, "x86_64-unknown-linux-gnu")
    features = ",".join(f"+{x}" for x in isa.features)
    machine = llvm.Target.from_triple(triple).create_target_machine(features=features, opt=2)
    module = llvm.parse_assembly(text)
    module.triple = triple
    module.verify()
    assert machine.emit_object(module)
    return str(machine.emit_assembly(module))


@pytest.mark.parametrize("what", TEXTS)
@pytest.mark.parametrize("isa", COMPILED, ids=lambda x: x.name)
def test_the_code_compiles_for_every_processor(isa: Isa, what: str) -> None:
    found = assembly(isa, TEXTS[what](isa))
    for rows, vectors in isa.sizes if what == "shared" else ():
        assert f"\ntile{rows}x{vectors}:" in found
    assert "fmaf" not in found  # a call of the C library for each number


@pytest.mark.parametrize("triple", ["x86_64-pc-windows-msvc", "x86_64-apple-macosx12.0.0"])
@pytest.mark.parametrize("isa", [x for x in COMPILED if x is not NEON], ids=lambda x: x.name)
def test_other_systems_find_the_tiles_under_their_names(isa: Isa, triple: str) -> None:
    """What is written in the processor's language is not decorated as a C compiler would do it there."""
    assembly(isa, "")  # sets LLVM up
    features = ",".join(f"+{x}" for x in isa.features)
    machine = llvm.Target.from_triple(triple).create_target_machine(features=features, jit=True)
    module = llvm.parse_assembly(shared_functions.source(isa))
    module.triple = triple
    assert machine.emit_object(module)
    found = machine.emit_assembly(module)
    for rows, vectors in isa.sizes:
        assert len(re.findall(rf"[ $]tile{rows}x{vectors}\b(?!:)", found)) == 1
        assert f"\ntile{rows}x{vectors}:" in found


@pytest.mark.simd
def test_llvm_loads_the_same_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where `object_file` does not know the system, the table of shared functions reaches the loops through LLVM."""
    here = isa.host()
    assert here is not None
    wanted = computed(monkeypatch, here)
    shared_functions.table.cache_clear()
    shared_functions.need.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(object_file, "load", lambda *_: None)
        found = computed(monkeypatch, here)
    for got, want in zip(found, wanted, strict=True):
        assert got.tobytes() == want.tobytes()


def test_neon_keeps_the_results_in_registers() -> None:
    found = assembly(NEON, shared_functions.source(NEON))
    for rows, vectors in NEON.sizes:
        (text,) = re.findall(rf"\ntile{rows}x{vectors}:(.*?)\n\.Lfunc_end", found, re.S)
        loops = [b for b in re.split(r"\n\.LBB[^\n]*:", text) if "fmla" in b]
        assert loops
        for loop in loops:
            assert loop.count("fmla") == rows * vectors
            assert not re.search(r"(ldr|str|ldp|stp)\tq[^\n]*\[sp", loop), (rows, vectors)


@pytest.mark.parametrize("isa", [AVX512, AVX2, NEON], ids=lambda x: x.name)
def test_tiles_fit_into_the_registers(isa: Isa) -> None:
    for rows, vectors in isa.sizes:
        # The results, a row of the right matrix, a number of the left one, and AVX2's mask.
        assert rows * vectors + vectors + 1 + (isa is AVX2) <= isa.registers
        assert vectors * isa.lanes <= 48


def computed(monkeypatch: pytest.MonkeyPatch, wanted: Isa) -> list[Any]:
    """Products and convolutions by the code of an instruction set."""
    with monkeypatch.context() as patch:
        patch.setattr(isa, "host", lambda: wanted)
        patch.setattr(gemm, "compiled_loop", JitEntry(gemm.compile_gemm, at_once=True))
        patch.setattr(implicit_gemm, "code", JitEntry(implicit_gemm.compile_code, at_once=True))
        patch.setattr(direct_conv_common, "_lists", {})
        patch.setattr(direct_conv_common, "_SMALL_PRODUCT", 0)
        patch.setattr(direct_conv_common, "_LEAST_OUTPUTS", 1)
        patch.setattr(gemm, "SMALL_PRODUCT", 0)
        patch.setattr(gemm, "LEAST_COLUMNS", 1)
        patch.setattr(gemm, "LEAST_ROWS", 1)
        return list(_results())


def _results() -> Any:
    rng = np.random.default_rng(0)

    def numbers(*shape: int) -> Any:
        return rng.standard_normal(shape).astype(np.float32)

    for rows, steps, columns in [(1, 3, 1), (13, 300, 37), (50, 17, 48), (31, 600, 103), (9, 5, 8)]:
        for turned in (False, True):
            a = numbers(rows, steps)
            b = numbers(columns, steps).T if turned else numbers(steps, columns)
            out = np.zeros((rows, columns), np.float32)
            assert gemm.multiply(a, b, out)
            np.testing.assert_allclose(out, a.astype(np.float64) @ b, rtol=1e-3, atol=1e-4)
            packed = np.zeros((rows, columns), np.float32)
            if rows >= 4:
                assert gemm.PackedMatrix(b).multiply(a, packed, 1)
                assert packed.tobytes() == out.tobytes()
            yield out
    attributes = {"strides": [1, 1, 1, 1], "padding": "SAME", "data_format": "NHWC"}
    attributes |= {"dilations": [1, 1, 1, 1], "explicit_paddings": []}
    for channels, outputs in [(3, 21), (16, 4), (5, 48)]:
        x, filters = numbers(2, 9, 11, channels), numbers(3, 5, channels, outputs)
        grad = numbers(2, 9, 11, outputs)
        sizes = np.array(x.shape), np.array(filters.shape)
        yield _kernel("Conv2D")(np, x, filters, **attributes)
        yield _kernel("Conv2DBackpropInput")(np, sizes[0], filters, grad, **attributes)
        yield _kernel("Conv2DBackpropFilter")(np, x, sizes[1], grad, **attributes)


def _kernel(op_type: str) -> Any:
    found = get_kernel(op_type)
    assert found is not None
    return found.function


@pytest.mark.simd
def test_all_processors_compute_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """NEON's text is LLVM's own language: it runs here, too, with its tiles of four numbers."""
    used = [isa.host()]
    if used == [AVX512]:
        used.append(AVX2)
    for direct in ("_direct_forward", "_direct_input_gradient", "_direct_filter_gradient"):
        original = getattr(conv, direct)

        def checked(*arguments: Any, original: Any = original) -> bool:
            assert original(*arguments)
            return True

        monkeypatch.setattr(conv, direct, checked)
    wanted = computed(monkeypatch, NEON)
    assert len(wanted) == 19
    for one in used:
        assert one is not None
        for got, want in zip(computed(monkeypatch, one), wanted, strict=True):
            assert got.tobytes() == want.tobytes(), one.name


@pytest.mark.simd
def test_what_is_written_around_a_tile_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemm, "SMALL_PRODUCT", 0)
    monkeypatch.setattr(gemm, "LEAST_COLUMNS", 1)
    for one in (NEON, isa.host()):
        with monkeypatch.context() as patch:
            patch.setattr(isa, "host", lambda one=one: one)
            patch.setattr(gemm, "compiled_loop", JitEntry(gemm.compile_gemm, at_once=True))
            for columns in range(1, 50):
                a, b = np.ones((14, 9), np.float32), np.ones((9, columns), np.float32)
                around = np.full((16, columns + 21), 7, np.float32)
                assert gemm.multiply(a, b, around[1:-1, 3 : 3 + columns])
                assert (around[1:-1, 3 : 3 + columns] == 9).all()
                around[1:-1, 3 : 3 + columns] = 7
                assert (around == 7).all()


def run_with(value: str) -> subprocess.CompletedProcess[str]:
    program = (
        "from dataflow.kernels.jit import isa, target; print(isa.host());"
        "print('avx512' in target.target().flattened.replace('-avx512', ''))"
    )
    return subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"DATAFLOW_ISA": value},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("triple", "features", "cpu"),
    [
        ("x86_64-unknown-linux-gnu", ("avx2", "avx512f", "avx10.1"), "x86-64-v3"),
        ("x86_64-unknown-linux-gnu", ("avx2",), "own"),
        ("aarch64-unknown-linux-gnu", ("neon",), "own"),
    ],
)
def test_only_a_processor_that_has_avx512_is_taken_for_another(
    triple: str, features: tuple[str, ...], cpu: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target, "INSTRUCTION_SET", "avx2")
    found = target._capped(target.Target(("0", "20"), triple, "own", dict.fromkeys(features, True)))
    assert found.cpu == cpu
    assert [name for name, on in found.features.items() if on] == [features[0]]


def test_the_environment_can_leave_avx512_alone() -> None:
    done = run_with("avx2")
    assert done.returncode == 0, done.stderr
    name, has_avx512 = done.stdout.splitlines()
    assert "avx512" not in name
    assert has_avx512 == "False"
    assert "DATAFLOW_ISA='sse'" in run_with("sse").stderr
