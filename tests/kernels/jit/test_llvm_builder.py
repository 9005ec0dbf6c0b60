"""The builder of machine code: what it writes is what LLVM takes, and nobody writes past it."""

import ctypes
import re
from pathlib import Path

import pytest

from dataflow.kernels import jit
from dataflow.kernels.jit.compiler import compile_source
from dataflow.kernels.jit.llvm_builder import Writer, mangled, module, number, vector_of

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")


@pytest.mark.parametrize(
    ("kind", "name"),
    [("float", "f32"), ("<16 x float>", "v16f32"), ("<8 x i1>", "v8i1"), ("i64", "i64")],
)
def test_types_in_the_names_of_intrinsics(kind, name):
    assert mangled(kind) == name


def test_constants():
    assert number(-2.0) == "0xC000000000000000"
    assert vector_of("i32", range(3)) == "<i32 0, i32 1, i32 2>"


def _function(w, *arguments):
    (address,) = compile_source(module(w), "f")
    return ctypes.CFUNCTYPE(ctypes.c_int64, *arguments)(address)


def test_loops_inside_each_other_carry_a_sum():
    w = Writer("i64 @f(i64 %n)")
    total = w.room("i64")
    w.store("i64", 0, total)

    def row(i):
        def cell(j):
            w.store("i64", w.op("add", w.load("i64", total), w.op("mul", i, j)), total)
            return 1

        w.loop("%n", cell)
        return 2

    w.loop("%n", row)
    w.leave("i64", w.load("i64", total))
    of = _function(w, ctypes.c_int64)
    for n in (0, 1, 5):
        assert of(n) == sum(i * j for i in range(0, n, 2) for j in range(n))


def test_a_phi_takes_the_value_of_the_block_that_it_was_reached_from():
    w = Writer("i64 @f(i64 %n)")
    w.branch(w.compare("slt", "%n", 0), "negative", "both")
    w.begin("both")
    size = w.phi("i64", "%n", "entry")
    w.leave("i64", size)
    w.begin("negative")
    w.arrive(size, w.op("sub", 0, "%n"))
    w.jump("both")
    of = _function(w, ctypes.c_int64)
    assert [of(n) for n in (-7, 0, 7)] == [7, 0, 7]


def test_switch_and_when_go_on_behind_the_case():
    w = Writer("i64 @f(i64 %n)")
    out = w.room("i64")
    w.store("i64", 0, out)
    w.switch("%n", {k: lambda k=k: w.store("i64", 10 * k, out) for k in (1, 2)})
    w.when(w.compare("eq", "%n", 2), lambda: w.store("i64", 21, out))
    w.leave("i64", w.load("i64", out))
    of = _function(w, ctypes.c_int64)
    assert [of(n) for n in range(4)] == [0, 10, 21, 0]


def test_a_mask_keeps_other_elements():
    w = Writer("i64 @f(ptr %from, ptr %to)")
    kind, mask = "<4 x i32>", vector_of("i1", ["true", "false", "true", "false"])
    w.store(kind, w.load(kind, "%from", 4, mask), "%to", 4, mask)
    w.leave("i64", 0)
    source, target = (ctypes.c_int32 * 4)(1, 2, 3, 4), (ctypes.c_int32 * 4)(9, 9, 9, 9)
    _function(w, ctypes.c_void_p, ctypes.c_void_p)(
        ctypes.addressof(source), ctypes.addressof(target)
    )
    assert list(target) == [1, 9, 3, 9]


def test_nobody_else_writes_blocks_and_functions():
    """Functions, blocks, phis, loads and addresses of elements come from the builder alone."""
    by_hand = re.compile(
        r"\b(define |declare \w+ @|phi i|br i1|br label|ret (void|i64)|load i\d|getelementptr)"
    )
    found = [
        f"{path.name}: {line.strip()}"
        for path in Path(jit.__file__).parent.glob("*.py")
        if path.name != "llvm_builder.py"
        for line in path.read_text().splitlines()
        if by_hand.search(line)
    ]
    assert found == []
