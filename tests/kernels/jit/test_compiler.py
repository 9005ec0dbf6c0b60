"""Loops in machine code give what the NumPy ops give, bit for bit."""

from __future__ import annotations

import concurrent.futures
import functools
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataflow.kernels import optimizer_rules, optimizer_updates, row_updates
from dataflow.kernels.jit import code_cache, compiler, object_file, step_codegen
from dataflow.kernels.jit.op_table import INSTRUCTIONS, names_of
from dataflow.kernels.jit.rule_tracer import trace
from tests.kernels.bits import assert_same_bits

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")

#: More than two vectors of either type, and some elements left over.
LENGTH = 37
SPECIAL = (0.0, -0.0, 1.0, -1.0, 7.5, np.inf, -np.inf, np.nan, 1e-40, 3e38)


def _values(rng: Any, dtype: str, *, special: bool = True) -> Any:
    array = rng.standard_normal(LENGTH).astype(dtype)
    if special:
        array[: len(SPECIAL)] = rng.permutation(np.array(SPECIAL, dtype))
    return array


RULES = {
    "gradient_descent": (optimizer_rules.gradient_descent, 1, (0.1,)),
    "momentum": (optimizer_rules.momentum, 2, (0.1, 0.9, False)),
    "nesterov": (optimizer_rules.momentum, 2, (0.1, 0.9, True)),
    "proximal_gradient_descent": (optimizer_rules.proximal_gradient_descent, 1, (0.1, 0.2, 0.3)),
    "proximal_adagrad": (optimizer_rules.proximal_adagrad, 2, (0.1, 0.2, 0.3)),
    "adagrad_da": (optimizer_rules.adagrad_da, 3, (0.1, 0.2, 0.3, 4.0)),
    "adagrad": (optimizer_rules.adagrad, 2, (0.1, True)),
    "adagrad without slots": (optimizer_rules.adagrad, 2, (0.1, False)),
    "adadelta": (optimizer_rules.adadelta, 3, (0.1, 0.95, 1e-8)),
    "rms_prop": (optimizer_rules.rms_prop, 3, (0.1, 0.9, 0.5, 1e-10)),
    "centered_rms_prop": (optimizer_rules.centered_rms_prop, 4, (0.1, 0.9, 0.5, 1e-10)),
    "adam": (optimizer_rules.adam, 3, (0.1, 0.9, 0.999, 1e-8, False)),
    "ftrl": (optimizer_rules.ftrl, 3, (0.1, 0.2, 0.3, -0.5, None, False, True)),
    "ftrl with shrinkage": (optimizer_rules.ftrl, 3, (0.1, 0.2, 0.3, -0.5, 0.4, True, True)),
    "adam nesterov": (optimizer_rules.adam, 3, (0.1, 0.9, 0.999, 1e-8, True)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", RULES)
@pytest.mark.usefixtures("at_once")
def test_a_rule_of_an_optimizer(name: str, dtype: str) -> None:
    rule, num_arrays, numbers = RULES[name]
    rng = np.random.default_rng(3)
    scalars = [s if s is None or isinstance(s, bool) else np.dtype(dtype).type(s) for s in numbers]
    arrays = [abs(_values(rng, dtype)) for _ in range(num_arrays)]
    grad = _values(rng, dtype)
    wanted = [a.copy() for a in arrays]
    scratch = (np.empty_like(grad), np.empty_like(grad))
    with np.errstate(all="ignore"):
        rule(np, scratch, *wanted, grad, *scalars)
    assert optimizer_updates._update_natively([(arrays, grad)], rule, tuple(scalars))
    for got, want in zip(arrays, wanted, strict=True):
        assert_same_bits(got, want)


@pytest.mark.parametrize("name", ["gradient_descent", "momentum", "adam"])
@pytest.mark.usefixtures("at_once")
def test_rows_are_updated_in_order_and_again_where_named_again(name: str) -> None:
    rule, num_arrays, numbers = RULES[name]
    rng = np.random.default_rng(4)
    scalars = [s if isinstance(s, bool) else np.float32(s) for s in numbers]
    arrays = [rng.random((9, 21), np.float32) for _ in range(num_arrays)]
    indices = np.array([3, 7, 3, 0], np.int32)
    grad = rng.standard_normal((4, 21)).astype(np.float32)
    wanted = [a.copy() for a in arrays]
    for i, row in zip(indices, grad, strict=True):
        parts = [a[i] for a in wanted]
        rule(np, (np.empty_like(row), np.empty_like(row)), *parts, row, *scalars)
    update = row_updates.RowUpdate([], grad, indices)
    todo = [row_updates._Checked(arrays, update)]
    assert not row_updates._update_natively(todo, rule, tuple(scalars))
    for got, want in zip(arrays, wanted, strict=True):
        assert_same_bits(got, want)


@pytest.mark.usefixtures("at_once")
def test_large_updates_are_divided_among_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimizer_updates, "_SHARED_ELEMENTS", 100)
    monkeypatch.setattr(optimizer_updates, "_NATIVE_BLOCK", 33)
    var, grad = np.arange(150, dtype=np.float32), np.full(150, 2, np.float32)
    scalars = (np.float32(0.5),)
    assert optimizer_updates._update_natively(
        [([var], grad)], optimizer_rules.gradient_descent, scalars
    )
    np.testing.assert_array_equal(var, np.arange(150) - 1)


def test_a_rule_that_branches_on_a_number_stays_with_numpy() -> None:
    def rule(xp: Any, scratch: Any, var: Any, grad: Any, rate: Any) -> None:
        if rate > 0:
            xp.subtract(var, grad, out=var)

    assert trace(rule, 1, (...,), "float32", False) is None


def test_a_rule_with_an_instruction_that_loops_lack_stays_with_numpy() -> None:
    scalars = (..., ..., ..., ..., None, False, False)
    traced = trace(optimizer_rules.ftrl, 3, scalars, "float32", False)
    assert traced is not None and not traced.on_cpu


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", sorted(step_codegen.OPS & set(INSTRUCTIONS)))
def test_an_op_gives_what_the_numpy_instruction_gives(op: str, dtype: str) -> None:
    instruction = INSTRUCTIONS[op]
    statement = "\n".join(instruction.statements)
    operands = 2 if "{1}" in statement else 1
    rng = np.random.default_rng(5)
    if op.startswith("Logical"):
        comparison: tuple[tuple[str, tuple[Any, ...]], ...] = tuple(
            ("Greater", (i, (i + 1) % operands)) if operands == 2 else ("Greater", (0, 0))
            for i in range(operands)
        )
    else:
        comparison = ()
    inputs = [_values(rng, dtype) for _ in range(operands)]
    first = operands + len(comparison)
    arguments = tuple(range(operands, first)) if comparison else tuple(range(operands))
    steps = (*comparison, (op, arguments))
    result = first
    if instruction.is_bool:  # a result in memory is a number
        steps = (
            *steps,
            ("Const", (1.0,)),
            ("Const", (0.0,)),
            ("Select", (result, first + 1, first + 2)),
        )
        result = first + 3
    loop = step_codegen.Loop(dtype, "v" * operands, steps, ((result, "v"),))
    out = np.empty(LENGTH, dtype)
    compiler.compile_loop(loop)(LENGTH, *map(compiler.address_of, [*inputs, out]))
    truths = [inputs[i] > inputs[(i + 1) % operands] for i in range(operands)]
    scope = {"xp": np, **names_of(dtype)}
    scope |= {
        "o": np.empty(LENGTH, "?" if instruction.is_bool else dtype),
    }
    names = [f"x{i}" for i in range(operands)]
    scope |= dict(zip(names, truths if comparison else inputs, strict=True))
    with np.errstate(all="ignore"):
        exec(statement.format(*names, o="o"), scope)
    np.testing.assert_array_equal(out, scope["o"].astype(dtype))


def test_axes_strides_and_one_element_for_a_whole_row() -> None:
    rng = np.random.default_rng(6)
    x = rng.random((3, 4, 21), np.float32)[:, ::2]
    scale, shift = rng.random((3, 1, 1), np.float32), rng.random(21, np.float32)
    steps = (("Mul", (0, 1)), ("Add", (3, 2)))
    loop = step_codegen.Loop("float32", "vuv", steps, ((4, "v"),), rank=2)
    out = np.empty((3, 2, 21), np.float32)
    strides = [*x.strides[:2], 4, 0, 0, 0, *out.strides[:2]]
    compiler.compile_loop(loop)(
        3, 2, 21, *map(compiler.address_of, [x, scale, shift, out]), *strides
    )
    np.testing.assert_array_equal(out, x * scale + shift)


LOOP = step_codegen.Loop("float32", "v", (("Square", (0,)),), ((1, "v"),))


def test_a_loop_is_compiled_when_it_was_asked_for_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(code_cache.VARIABLE, "")
    lazy = compiler.JitEntry(functools.partial(compiler.compile_loop, LOOP))
    before = [lazy.get() for _ in range(compiler._ASKED_BEFORE_COMPILING - 1)]
    assert before == [None] * len(before)
    assert not lazy._begun
    lazy.get()
    assert lazy._done.wait(60)
    assert lazy.get() is lazy.function is not None


def test_what_an_earlier_process_has_compiled_is_there_for_the_second_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(code_cache.VARIABLE, str(tmp_path))
    monkeypatch.setattr(threading, "Thread", None)
    build = functools.partial(compiler.compile_loop, LOOP)
    lazy = compiler.JitEntry(build)
    assert [lazy.get(), lazy.get(), lazy.load(), lazy.get()] == [None] * 4
    build()
    assert [lazy.get(), lazy.load()] == [None] * 2, "it looks once"
    lazy = compiler.JitEntry(build)
    assert lazy.get() is None
    found = lazy.get()
    if object_file.IS_KNOWN:
        assert found is not None
        assert lazy.get() is lazy.load() is found
        assert not lazy.begin()
        assert compiler.JitEntry(build).load() is not None
    monkeypatch.setattr(object_file, "IS_KNOWN", False)  # LLVM is not loaded for what runs twice
    lazy = compiler.JitEntry(build)
    assert [lazy.get(), lazy.get(), lazy.load()] == [None] * 3


def test_what_is_compiled_at_once_is_there_for_the_first_call() -> None:
    builds: list[int] = []
    lazy = compiler.JitEntry(lambda: builds.append(1) or len(builds), at_once=True)
    assert [lazy.get() for _ in range(3)] == [1, 1, 1]
    assert builds == [1]


@pytest.mark.parametrize("at_once", [False, True])
def test_threads_that_ask_together_get_one_loop(at_once: bool) -> None:
    builds: list[int] = []

    def build() -> int:
        builds.append(1)
        time.sleep(0.05)  # the others ask meanwhile
        return len(builds)

    lazy = compiler.JitEntry(build, at_once)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda _: lazy.get(), range(200)))
    assert lazy._done.wait(60)
    assert builds == [1]
    assert lazy.get() == 1
    assert set(got) <= ({1} if at_once else {1, None})


def test_a_process_may_end_while_a_loop_is_compiled() -> None:
    pytest.importorskip("llvmlite")
    program = """
import threading
from dataflow.kernels.jit import code_cache, compiler, object_file, step_codegen

begun = threading.Event()
loop = step_codegen.Loop("float32", "v", (("Square", (0,)),), ((1, "v"),))

def build():
    compiler.compile_loop(loop)
    begun.set()
    for dtype in ("float64", "float32", "float64"):
        compiler.compile_loop(loop._replace(dtype=dtype))
    print("compiled", flush=True)

lazy = compiler.JitEntry(build)
for _ in range(compiler._ASKED_BEFORE_COMPILING):
    lazy.get()
begun.wait()
print("done", flush=True)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 0, ended.stderr
    assert sorted(ended.stdout.split()) == ["compiled", "done"]


def test_without_llvmlite_numpy_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    lazy = compiler.JitEntry(functools.partial(compiler.compile_loop, LOOP))
    lazy.compile()
    assert lazy.function is None


def test_a_loop_that_cannot_be_compiled_gives_one_warning() -> None:
    lazy = compiler.JitEntry(lambda: compiler.compile_loop(LOOP._replace(steps=(("Sin", (0,)),))))
    with pytest.warns(UserWarning, match="NumPy computes it: no machine code for the op type"):
        lazy.compile()
    assert lazy.function is None
