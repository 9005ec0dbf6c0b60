"""Machine code gives the bits that NumPy gives, so that it can take NumPy's place at any time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dataflow.dtypes import float32
from dataflow.kernels import (
    activation,
    elementary,
    gather_scatter,
    normalization,
    pooling,
    reduce,
    segment,
    special,
    state,
)
from dataflow.kernels.jit import compiler, native_ufunc, step_codegen, traced_functions, ufunc_loops
from dataflow.kernels.jit.elementwise import compile_program, run_blocks
from dataflow.kernels.jit.expression import Program
from dataflow.kernels.jit.native_ufunc import Mapping
from dataflow.kernels.jit.op_table import INSTRUCTIONS
from dataflow.kernels.jit.regions import Region, small
from dataflow.kernels.loader import get_kernel
from dataflow.kernels.registry import bind
from dataflow.runtime.resources import VariableResource
from tests.kernels.bits import assert_same_bits

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")

SPECIAL = (
    *(0.0, -0.0, 1.0, -1.0, 6.0, 7.5, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 1e-45, 3e38),
    *(-3e38, 88.73, -87.4, -103.9, 0.5, 1e-8, 2.0**25, 1e5),
)
#: One element, less and more than a vector, tiles and some elements left over.
LENGTHS = (1, 7, 16, 33, 1024, 1025, 3000)


def numbers(rng: Any, shape: Any, dtype: str = "float32") -> Any:
    """Numbers of all sizes, whole ones that are often equal, and those that are special."""
    kinds = [
        rng.standard_normal(shape),
        np.exp(rng.uniform(-85, 85, shape)) * rng.choice([-1, 1], shape),
        rng.uniform(-100, 100, shape),
        rng.integers(-2, 3, shape) * rng.choice([-1.0, 1.0], shape),
        rng.choice(SPECIAL, shape),
    ]
    with np.errstate(all="ignore"):
        return np.choose(rng.integers(0, len(kinds), shape), kinds).astype(dtype)


def unaligned(x: Any) -> Any:
    """A copy whose elements begin at an odd address plus their size."""
    buffer = np.empty(x.nbytes + x.itemsize + 64, np.uint8)
    start = -buffer.ctypes.data % 64 + x.itemsize
    copy = buffer[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    copy[...] = x
    return copy


@pytest.fixture(autouse=True)
def every_size(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (native_ufunc, traced_functions, reduce, activation, normalization):
        if hasattr(module, "SMALL_ELEMENTS"):
            monkeypatch.setattr(module, "SMALL_ELEMENTS", 0)
    monkeypatch.setattr(elementary, "_LARGE_ELEMENTS", 0)


def fused(program: Program, inputs: list[Any]) -> Any:
    return compile_program(program).small(*inputs)


def by_machine_code(program: Program, inputs: list[Any], out: Any = None) -> Any:
    found = Mapping.of(program.dtype, program.steps, (program.num_inputs + len(program.steps) - 1,))
    assert found is not None
    if out is None:
        out = np.empty(np.broadcast_shapes(*[x.shape for x in inputs]), program.dtype)
    assert found.run(out.shape, inputs, (out,))
    return out


WRITABLE = sorted(op for op in INSTRUCTIONS if op in step_codegen.OPS | step_codegen.CALLED)


def program_of(op: str, dtype: str) -> Program:
    """The op on numbers; truth values come of comparisons, and a factor makes numbers of them."""
    operands = 2 if "{1}" in INSTRUCTIONS[op].text else 1
    if op.startswith("Logical"):
        truths = tuple(("Greater", (i, (i + 1) % 2)) for i in range(operands))
        last = 2 + operands
        return Program(2, (*truths, (op, tuple(range(2, last))), ("Mul", (0, last))), dtype)
    if INSTRUCTIONS[op].is_bool:
        return Program(2, ((op, (0, 1)), ("ReluGrad", (0, 1))), dtype)
    return Program(operands, ((op, tuple(range(operands))),), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", [op for op in WRITABLE if not INSTRUCTIONS[op].is_bool])
def test_an_op(op: str, dtype: str) -> None:
    program = program_of(op, dtype)
    rng = np.random.default_rng(len(op))
    with np.errstate(all="ignore"):
        for length in LENGTHS:
            inputs = [numbers(rng, length, dtype) for _ in range(program.num_inputs)]
            wanted = fused(program, inputs)
            assert_same_bits(by_machine_code(program, inputs), wanted)
            assert_same_bits(by_machine_code(program, [unaligned(x) for x in inputs]), wanted)
            assert_same_bits(by_machine_code(program, inputs, out=inputs[0]), wanted)
        lines = numbers(rng, (5, 9, 40), dtype)
        for first in (lines[:, ::2], lines[::-1], lines[:, :, 3:36]):
            inputs = [first, numbers(rng, first.shape[-1], dtype)][: program.num_inputs]
            assert_same_bits(by_machine_code(program, inputs), fused(program, inputs))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(25))
def test_a_region_of_any_steps(seed: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    ops = [op for op in WRITABLE if not INSTRUCTIONS[op].is_bool]
    num_inputs = int(rng.integers(1, 4))
    steps: list[tuple[str, tuple[int, ...]]] = []
    truths: list[int] = []

    def any_number() -> int:
        known = [i for i in range(num_inputs + len(steps)) if i not in truths]
        return int(rng.choice(known))

    for _ in range(int(rng.integers(2, 14))):
        if rng.random() < 0.2:
            truths.append(num_inputs + len(steps))
            steps.append((str(rng.choice(["Less", "GreaterEqual"])), (any_number(), any_number())))
        elif truths and rng.random() < 0.4:
            steps.append(("SelectV2", (int(rng.choice(truths)), any_number(), any_number())))
        else:
            op = str(rng.choice([*ops, *step_codegen.CALLED] if rng.random() < 0.6 else ops))
            count = 2 if "{1}" in INSTRUCTIONS[op].text else 1
            steps.append((op, tuple(any_number() for _ in range(count))))
    steps.append(("AddV2", (any_number(), any_number())))
    last = num_inputs + len(steps) - 1
    results = tuple(dict.fromkeys((any_number(), last)))
    results = tuple(r for r in results if r >= num_inputs)
    region = Region(num_inputs, tuple(steps), results, dtype)
    found = Mapping.of(dtype, region.steps, region.results)
    assert found is not None
    monkeypatch.setattr(native_ufunc, "_SHARED_BYTES", 1 << 14)
    monkeypatch.setattr(native_ufunc, "_PIECE_BYTES", 999)
    with np.errstate(all="ignore"):
        for shape in ((1,), (37,), (3, 1500), (2, 3, 65)):
            inputs = [numbers(rng, shape, dtype) for _ in range(num_inputs)]
            outs = [np.empty(shape, dtype) for _ in results]
            assert found.run(shape, inputs, outs)
            for got, wanted in zip(outs, small(region)(*inputs), strict=True):
                assert_same_bits(got, wanted)


def test_blocks_and_small_calls_and_machine_code_give_the_same() -> None:
    """The three ways of a fused chain, at a size that threads share."""
    steps = (("Sigmoid", (0,)), ("Tanh", (1,)), ("Mul", (2, 3)), ("Log1p", (4,)), ("Exp", (5,)))
    program = Program(2, steps, "float32")
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((1100, 1001)).astype(np.float32) for _ in range(2))
    with np.errstate(all="ignore"):
        wanted = fused(program, [x, y])
        assert_same_bits(run_blocks(program, compile_program(program), [x, y]), wanted)
        assert_same_bits(by_machine_code(program, [x, y]), wanted)


def both(
    monkeypatch: pytest.MonkeyPatch, function: Callable[[], Any], compiles: bool = True
) -> tuple[Any, Any]:
    """What a function gives with machine code, and without; ``compiles``: there is some for it."""
    asked: list[Any] = []
    get = compiler.JitEntry.get

    def counted(lazy: compiler.JitEntry[Any]) -> Any:
        asked.append(get(lazy))
        return asked[-1]

    with np.errstate(all="ignore"), monkeypatch.context() as patch:
        patch.setattr(compiler.JitEntry, "get", counted)
        got = function()
        assert compiles is any(found is not None for found in asked), "whether machine code ran"
        patch.setattr(compiler.JitEntry, "get", lambda lazy: None)
        return got, function()


def of_op(name: str, **attributes: Any) -> Any:
    """The kernel that a session binds."""
    found = get_kernel(name)
    assert found is not None
    return bind(found, np, attributes)


def plain(kernel: Any, **attributes: Any) -> Any:
    return lambda *operands: kernel(np, *operands, **attributes)


KERNELS = {
    **{
        name: (of_op(name), 2 if name.endswith("Grad") else 1)
        for name in (
            *("Relu", "ReluGrad", "Relu6", "Relu6Grad", "Elu", "EluGrad", "Selu", "SeluGrad"),
            *("Softplus", "SoftplusGrad", "Softsign", "SoftsignGrad"),
            *("Sigmoid", "SigmoidGrad", "TanhGrad"),
        )
    },
    "LeakyRelu": (of_op("LeakyRelu", alpha=0.2), 1),
    "LeakyReluGrad": (of_op("LeakyReluGrad", alpha=0.2), 2),
    "Erf": (plain(special.erf_kernel), 1),
    "Erfc": (plain(special.erfc_kernel), 1),
    "Lgamma": (plain(special.lgamma_kernel), 1),
    "Digamma": (plain(special.digamma_kernel), 1),
    "Erfinv": (plain(special.erfinv_kernel), 1),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel(monkeypatch: pytest.MonkeyPatch, name: str, dtype: str) -> None:
    kernel, operands = KERNELS[name]
    rng = np.random.default_rng(len(name))
    for shape in ((7,), (65, 33), (2, 1)):
        inputs = [numbers(rng, shape, dtype) for _ in range(operands)]
        before = [x.copy() for x in inputs]
        got, wanted = both(monkeypatch, lambda given=inputs: kernel(*given))
        assert_same_bits(got, wanted)
        for x, untouched in zip(inputs, before, strict=True):
            assert_same_bits(x, untouched)


@pytest.mark.parametrize("name", ["Zeta", "Igamma", "Igammac", "IgammaGradA", "Betainc"])
def test_a_special_function_of_several_arrays(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    kernel = {
        "Zeta": special.zeta_kernel,
        "Igamma": special.igamma_kernel,
        "Igammac": special.igammac_kernel,
        "IgammaGradA": special.igamma_grad_a_kernel,
        "Betainc": special.betainc_kernel,
    }[name]
    rng = np.random.default_rng(1)
    inputs = [np.abs(rng.standard_normal((3, 40))) * 3 + 0.1 for _ in range(2)]
    if name == "Betainc":
        inputs.append(rng.random((3, 40)))
    got, wanted = both(monkeypatch, lambda: kernel(np, *inputs))
    if name == "Zeta":
        assert_same_bits(got, wanted)
    else:  # each vector repeats its steps until its own elements are done
        np.testing.assert_allclose(got, wanted, rtol=1e-12)


@pytest.mark.parametrize("name", sorted(ufunc_loops.NAMES.values()))
def test_numpy_shows_the_inner_loops_here(name: str) -> None:
    assert all(ufunc_loops.inner_loop(name, char) for char in "fd")


def test_a_ufunc_with_another_table_is_not_trusted() -> None:
    assert ufunc_loops._from_table(np.frompyfunc(abs, 1, 1), np.dtype("f").num) is None
    assert ufunc_loops._from_table(abs, np.dtype("f").num) is None
    address = ufunc_loops.inner_loop("exp", "f")
    assert address is not None
    assert not ufunc_loops._gives_the_same(np.log, "f", address)


def test_without_inner_loops_numpy_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ufunc_loops, "inner_loop", lambda name, char: None)
    loop = step_codegen.Loop("float32", "v", (("Tanh", (0,)), ("Abs", (1,))), ((2, "v"),))
    with pytest.raises(ImportError, match="shows no inner loop of tanh"):
        compiler.compile_loop(loop)
    lazy = compiler.JitEntry(lambda: compiler.compile_loop(loop), at_once=True)
    assert lazy.get() is None


def test_a_repetition_calls_no_function() -> None:
    steps = (("Repeat", ((0,), (("Exp", (2,)), ("Greater", (3, 2))), (3,), 4, 5)),)
    with pytest.raises(ValueError, match="a repetition cannot call NumPy's functions"):
        compiler.compile_loop(step_codegen.Loop("float64", "v", steps, ((1, "v"),)))


def test_what_is_written_out_gives_the_bits_of_numpy_or_is_not() -> None:
    """Numbers of every size, other ones than it is chosen by."""
    x = np.arange(77, 1 << 32, 65_521, dtype=np.uint32).view(np.float32)
    for op in compiler.inlined():
        loop = step_codegen.Loop("float32", "v", ((op, (0,)),), ((1, "v"),))
        assert ufunc_loops.addresses(compiler.text_of(loop)) == {}
        out = np.empty_like(x)
        compiler.compile_loop(loop)(x.size, compiler.address_of(x), compiler.address_of(out))
        with np.errstate(all="ignore"):
            assert_same_bits(out, getattr(np, op.lower())(x))


def test_a_function_of_other_bits_is_not_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "_WRITTEN_OUT", (("Exp", "exp2"), ("Log", "log2")))
    assert compiler.inlined.__wrapped__() == frozenset()


SHAPES = ((64, 5), (16, 700), (3, 4, 6, 16), (9, 3), (1024, 1), (4096, 40), (2, 1, 7), (1, 300))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_over_all_axes_but_the_last(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], dtype: str
) -> None:
    rng = np.random.default_rng(2)
    axes = np.arange(len(shape) - 1)
    adds = math.prod(shape[:-1]) > 1  # one row is its sum
    for x in (rng.standard_normal(shape).astype(dtype), np.full(shape, -0.0, dtype)):
        got, wanted = both(
            monkeypatch, lambda x=x: reduce.sum_kernel(np, x, axes, keep_dims=False), adds
        )
        assert_same_bits(got, wanted)
        got, wanted = both(
            monkeypatch, lambda x=x: reduce.column_sums(np, x.reshape(-1, shape[-1]))
        )
        assert_same_bits(got, wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axes", [(1,), (0,), (0, 1), (-2,), (1, 2), (0, 2)])
@pytest.mark.parametrize("shape", [(4, 5, 3, 21), (8, 1, 6, 64), (2, 300, 2, 3), (3, 7, 5, 2)])
def test_sums_along_inner_axes(
    monkeypatch: pytest.MonkeyPatch, axes: tuple[int, ...], shape: tuple[int, ...], dtype: str
) -> None:
    x = np.random.default_rng(6).standard_normal(shape).astype(dtype)
    adds = math.prod(shape[axis] for axis in axes) > 1
    for kernel in (reduce.sum_kernel, reduce.mean_kernel):
        got, wanted = both(
            monkeypatch,
            lambda k=kernel: k(np, x, np.array(axes), keep_dims=False),
            adds or kernel is reduce.mean_kernel,
        )
        assert_same_bits(got, wanted)


@pytest.mark.parametrize("shape", [(4, 6, 5, 8), (2, 16, 16, 3), (1, 3, 3, 300)])
def test_batch_normalization_and_its_gradient(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(6)
    x, grad = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
    scale, offset = (rng.random(shape[-1], np.float32) for _ in range(2))
    none = np.empty(0, np.float32)
    common: Any = {"epsilon": 1e-3, "data_format": "NHWC", "is_training": True}

    def forward() -> Any:
        return normalization.fused_batch_norm_kernel(
            np, x, scale, offset, none, none, exponential_avg_factor=1.0, **common
        )

    got, wanted = both(monkeypatch, forward)
    for a, b in zip(got, wanted, strict=True):
        assert_same_bits(a, b)
    mean, variance = wanted[3:5]
    got, wanted = both(
        monkeypatch,
        lambda: normalization.fused_batch_norm_grad_kernel(
            np, grad, x, scale, mean, variance, none, **common
        ),
    )
    for a, b in zip(got, wanted, strict=True):
        assert_same_bits(a, b)


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("op", "inner"),
    # Single numbers of `sum_rows` are added up in double precision, by NumPy alone.
    [("sum_rows", (3,)), ("sum_rows", (2, 33))]
    + [
        (op, x)
        for op in ("segment", "scatter_add", "scatter_sub")
        for x in ((), (1,), (3,), (2, 33))
    ],
)
def test_sums_of_rows_that_are_named_again(
    monkeypatch: pytest.MonkeyPatch, op: str, inner: tuple[int, ...], index_type: Any
) -> None:
    rng = np.random.default_rng(3)
    at = rng.integers(0, 9, 200).astype(index_type)
    at[:60] = 4  # more than NumPy adds up in order where it may choose
    rows = rng.standard_normal((200, *inner)).astype(np.float32)

    def run() -> Any:
        if op == "sum_rows":
            return gather_scatter.sum_rows(np, at, rows, 10)
        if op == "segment":
            return segment.segment_reduce(np, rows, at, 10, "add", 0)
        variable = VariableResource("v", float32)
        variable.array = np.full((10, *inner), 0.1, np.float32)
        change = state.scatter_add_kernel if op == "scatter_add" else state.scatter_sub_kernel
        change(np, variable, at, rows)
        return variable.array

    got, wanted = both(monkeypatch, run)
    assert_same_bits(got, wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("taps", [(2, 2), (1, 3), (3, 3)])
def test_max_pooling_and_its_gradient(
    monkeypatch: pytest.MonkeyPatch, taps: tuple[int, int], dtype: str
) -> None:
    rng = np.random.default_rng(0)
    sizes = [1, *taps, 1]
    windows: Any = {"ksize": sizes, "strides": sizes, "padding": "VALID", "explicit_paddings": []}
    x = numbers(rng, (3, 4 * taps[0], 5 * taps[1], 19), dtype)
    y, wanted = both(monkeypatch, lambda: pooling.max_pool_kernel(np, x, **windows))
    assert_same_bits(y, wanted)
    grad = numbers(rng, y.shape, dtype)
    got, wanted = both(monkeypatch, lambda: pooling.max_pool_grad_kernel(np, x, y, grad, **windows))
    assert_same_bits(got, wanted)
