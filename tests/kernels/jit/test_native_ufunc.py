"""Kernels that run as machine code give what their NumPy forms give."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dataflow.dtypes import float32
from dataflow.errors import InvalidArgumentError
from dataflow.kernels import (
    activation,
    bias,
    depthwise,
    gather_scatter,
    normalization,
    optimizer_rules,
    pooling,
    reduce,
    row_updates,
    segment,
    selection,
    state,
)
from dataflow.kernels.jit import compiler, elementwise, native_ufunc
from dataflow.runtime.resources import VariableResource
from tests.results_of import results_of

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")


@pytest.fixture
def both(
    at_once: None, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[[], Any]], tuple[Any, Any]]:
    """Calls a function with machine code, then without; fails if no machine code ran."""
    for module in (native_ufunc, reduce):
        monkeypatch.setattr(module, "SMALL_ELEMENTS", 0)
    compiled = compiler.JitEntry.get
    calls: list[str] = []

    def call(function: Callable[[], Any]) -> tuple[Any, Any]:
        monkeypatch.setattr(
            compiler.JitEntry, "get", lambda lazy: calls.append("get") or compiled(lazy)
        )
        with np.errstate(all="ignore"):
            fast = function()
            assert calls, "no machine code was asked for"
            calls.clear()
            monkeypatch.setattr(compiler.JitEntry, "get", lambda lazy: None)
            return fast, function()

    return call


def _array(rng: Any, shape: tuple[int, ...], dtype: str = "float32") -> Any:
    """Numbers among which some are equal, some infinite and some are none."""
    x = rng.integers(-2, 3, shape).astype(dtype)
    x.reshape(-1)[:: max(x.size // 7, 1)] = rng.choice([np.nan, np.inf, -np.inf, -0.0])
    return x


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("taps", [(2, 2), (1, 3), (3, 3), (4, 4)])
def test_max_pooling_and_its_gradient(both: Any, taps: tuple[int, int], dtype: str) -> None:
    rng = np.random.default_rng(0)
    sizes = [1, *taps, 1]
    windows = {"ksize": sizes, "strides": sizes, "padding": "VALID", "explicit_paddings": []}
    x = _array(rng, (3, 4 * taps[0], 5 * taps[1], 19), dtype)
    if taps == (4, 4):  # too many taps for a loop
        assert pooling._max_pool_mapping(x.dtype, 16, biased=False) is None
        return
    y, wanted = both(lambda: pooling.max_pool_kernel(np, x, **windows))
    np.testing.assert_array_equal(y, wanted)
    grad = _array(rng, y.shape, dtype)
    got, wanted = both(lambda: pooling.max_pool_grad_kernel(np, x, y, grad, **windows))
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("shapes", [((7, 21),) * 3, ((21,), (7, 21), ()), ((7, 21), (7, 1), (21,))])
def test_selection(both: Any, shapes: Any) -> None:
    rng = np.random.default_rng(1)
    condition = rng.random(shapes[0]) < 0.5
    x, y = _array(rng, shapes[1]), np.asarray(_array(rng, shapes[2]))
    got, wanted = both(lambda: selection.select_v2_kernel(np, condition, x, y))
    np.testing.assert_array_equal(got, wanted)


def test_the_gradient_of_relu(both: Any) -> None:
    rng = np.random.default_rng(2)
    dy, x = _array(rng, (5, 33)), _array(rng, (5, 33))
    got, wanted = both(lambda: activation.relu_grad_kernel(np)(dy, x))
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(
    "shapes",
    [((9, 21), (21,)), ((9, 21), (9, 1)), ((9, 21), ()), ((3, 5, 7), (5, 1)), ((4, 1, 6), (5, 1))],
)
def test_a_fused_chain_with_broadcasting(both: Any, shapes: Any) -> None:
    rng = np.random.default_rng(3)
    program = elementwise.Program(2, (("Add", (0, 1)), ("Relu", (2,)), ("Mul", (3, 0))), "float32")
    run = elementwise.fused_kernel(np, program=program)
    inputs = [np.asarray(_array(rng, shape)) for shape in shapes]
    got, wanted = both(lambda: run(inputs))
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("kernel", [state.scatter_add_kernel, state.scatter_sub_kernel])
@pytest.mark.parametrize("index_type", [np.int32, np.int64])
def test_rows_of_a_scatter_are_added_up_where_one_is_named_again(
    both: Any, kernel: Any, index_type: Any
) -> None:
    rng = np.random.default_rng(4)
    start = rng.integers(0, 9, (6, 19)).astype(np.float32)
    updates = rng.integers(0, 9, (4, 19)).astype(np.float32)
    indices = np.array([4, 0, 4, 4], index_type)

    def scatter() -> Any:
        variable = VariableResource("v", float32)
        variable.array = start.copy()
        kernel(np, variable, indices, updates)
        return variable.array

    got, wanted = both(scatter)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("bad", [-1, 6, 2**31 - 1])
@pytest.mark.parametrize("index_type", [np.int32, np.int64])
def test_a_number_of_no_row_changes_nothing(at_once: None, bad: int, index_type: Any) -> None:
    at = np.array([2, bad, 3], index_type)
    table = np.arange(12, dtype=np.float32).reshape(6, 2)
    rows = np.ones((3, 2), np.float32)
    with pytest.raises(ValueError, match=rf"indices\[1\] = {bad} is not in \[0, 6\)"):
        gather_scatter.gather_kernel(np, table, at, np.int32(0), batch_dims=0)
    variable = VariableResource("v", float32)
    variable.array = table.copy()
    with pytest.raises(InvalidArgumentError, match=rf"indices\[1\] = {bad} is not in \[0, 6\)"):
        state.scatter_add_kernel(np, variable, at, rows)
    context = SimpleNamespace(xp=np, state={})
    with pytest.raises(InvalidArgumentError, match=f"Index {bad} at offset 1"):
        row_updates.update_rows(
            context,
            [row_updates.RowUpdate([variable], rows, at)],
            optimizer_rules.gradient_descent,
            (np.float32(1),),
        )
    np.testing.assert_array_equal(variable.array, table)
    if bad < 0:  # left out
        total = segment.segment_reduce(np, rows, at, 6, "add", 0)
        np.testing.assert_array_equal(total[:, 0], [0, 0, 1, 1, 0, 0])
    else:
        with pytest.raises(ValueError, match=f"holds {bad}, which is out of range"):
            segment.segment_reduce(np, rows, at, 6, "add", 0)


def test_segment_sums(both: Any) -> None:
    rng = np.random.default_rng(8)
    data = rng.integers(0, 9, (6, 21)).astype(np.float32)
    ids = np.array([2, 0, 2, 5, 2, 0], np.int32)
    got, wanted = both(lambda: segment.segment_reduce(np, data, ids, 7, "add", 0))
    np.testing.assert_array_equal(got, wanted)


def test_a_scatter_leaves_alone_what_a_reader_holds(at_once: None) -> None:
    variable = VariableResource("v", float32)
    held = variable.array = np.ones((3, 2), np.float32)
    state.scatter_add_kernel(np, variable, np.array([1]), np.ones((1, 2), np.float32))
    np.testing.assert_array_equal(held, np.ones((3, 2)))
    np.testing.assert_array_equal(variable.array, [[1, 1], [2, 2], [1, 1]])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(64, 5), (16, 700), (3, 4, 6, 16), (9, 3)])
def test_sums_over_all_axes_but_the_last(both: Any, shape: tuple[int, ...], dtype: str) -> None:
    x = np.random.default_rng(5).random(shape).astype(dtype)
    axes = np.arange(len(shape) - 1)
    got, wanted = both(lambda: reduce.sum_kernel(np, x, axes, keep_dims=False))
    np.testing.assert_allclose(got, wanted, rtol=1e-5)
    assert got.dtype == wanted.dtype
    got, wanted = both(lambda: bias.bias_add_grad_kernel(np, x, data_format="NHWC"))
    np.testing.assert_allclose(got, wanted, rtol=1e-5)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_batch_normalization_and_its_gradient(both: Any, data_format: str) -> None:
    rng = np.random.default_rng(6)
    shape = (4, 6, 5, 8) if data_format == "NHWC" else (4, 8, 6, 5)
    x, grad = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
    scale, offset = (rng.random(8, np.float32) for _ in range(2))
    common = {"epsilon": 1e-3, "data_format": data_format, "is_training": True}

    def forward() -> Any:
        none = np.empty(0, np.float32)
        return normalization.fused_batch_norm_kernel(
            np, x, scale, offset, none, none, exponential_avg_factor=1.0, **common
        )

    got, wanted = both(forward)
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    mean, variance = wanted[3:5]

    def backward() -> Any:
        return normalization.fused_batch_norm_grad_kernel(
            np, grad, x, scale, mean, variance, np.empty(0, np.float32), **common
        )

    got, wanted = both(backward)
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("channels", [3, 40])
@pytest.mark.parametrize(
    "case",
    [
        {"padding": "SAME"},
        {"padding": "VALID"},
        {"padding": "SAME", "dilations": [1, 2, 1, 1]},
        {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 0, 2, 1, 1, 0, 0]},
        {"padding": "SAME", "strides": [1, 2, 2, 1]},
        {"padding": "SAME", "data_format": "NCHW"},
    ],
    ids=lambda c: "-".join(map(str, c.values())),
)
def test_depthwise_convolution(
    both: Any, monkeypatch: pytest.MonkeyPatch, channels: int, case: dict[str, Any]
) -> None:
    monkeypatch.setattr(depthwise, "SMALL_ELEMENTS", 0)
    rng = np.random.default_rng(7)
    attributes = {
        "strides": [1, 1, 1, 1],
        "dilations": [1, 1, 1, 1],
        "explicit_paddings": [],
        "data_format": "NHWC",
    } | case
    x = rng.standard_normal((2, 9, 8, channels)).astype(np.float32)
    if attributes["data_format"] == "NCHW":
        x = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    filters = rng.standard_normal((3, 2, channels, 1)).astype(np.float32)
    y, wanted = both(lambda: depthwise.depthwise_kernel(np, x, filters, **attributes))
    np.testing.assert_allclose(y, wanted, rtol=1e-4, atol=1e-5)
    grad = rng.standard_normal(y.shape).astype(np.float32)
    sizes = np.array(filters.shape)
    got, wanted = both(
        lambda: depthwise.depthwise_backprop_filter_kernel(np, x, sizes, grad, **attributes)
    )
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
    if "strides" in case:
        return  # left to NumPy
    sizes = np.array(x.shape)
    got, wanted = both(
        lambda: depthwise.depthwise_backprop_input_kernel(np, sizes, filters, grad, **attributes)
    )
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("rate", [1, 2])
def test_depthwise_convolution_of_one_channel(
    both: Any, monkeypatch: pytest.MonkeyPatch, padding: str, rate: int
) -> None:
    """Lines are vectors there."""
    monkeypatch.setattr(depthwise, "SMALL_ELEMENTS", 0)
    rng = np.random.default_rng(7)
    attributes: dict[str, Any] = {"strides": [1] * 4, "explicit_paddings": [], "padding": padding}
    attributes |= {"dilations": [1, rate, rate, 1], "data_format": "NHWC"}
    x = rng.standard_normal((2, 9, 21, 1)).astype(np.float32)
    filters = rng.standard_normal((3, 2, 1, 1)).astype(np.float32)
    asked = results_of(monkeypatch, depthwise, "_native_forward")
    y, wanted = both(lambda: depthwise.depthwise_kernel(np, x, filters, **attributes))
    np.testing.assert_allclose(y, wanted, rtol=1e-4, atol=1e-5)
    grad, sizes = rng.standard_normal(y.shape).astype(np.float32), np.array(x.shape)
    got, wanted = both(
        lambda: depthwise.depthwise_backprop_input_kernel(np, sizes, filters, grad, **attributes)
    )
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
    assert asked.count(True) == 2


def test_columns_of_a_transposed_matrix_are_left_to_numpy(at_once: None) -> None:
    x = np.ones((70, 80), np.float32).T
    double = native_ufunc.Mapping.of("float32", (("Add", (0, 0)),), (1,))
    assert double is not None
    assert not double.run(x.shape, [x], [np.empty(x.shape, np.float32)])


def test_large_arrays_are_divided_among_threads(
    at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native_ufunc, "_SHARED_BYTES", 64)
    monkeypatch.setattr(native_ufunc, "_PIECE_BYTES", 999)
    x, bias = np.arange(4000, dtype=np.float32).reshape(100, 40), np.ones(40, np.float32)
    plus = native_ufunc.Mapping.of("float32", (("Add", (0, 1)),), (2,))
    out = np.empty_like(x)
    assert plus is not None and plus.run(x.shape, [x, bias], [out])
    np.testing.assert_array_equal(out, x + 1)


@pytest.mark.parametrize("threads", [1, 2, 3, 4])
def test_threads_get_as_many_pieces_each(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr(native_ufunc, "num_threads", lambda: threads)
    assert native_ufunc.num_pieces((100, 100), "float32", 2) == 1
    for num_arrays in range(3, 30):
        pieces = native_ufunc.num_pieces((2048, 128), "float32", num_arrays)
        assert pieces > 1 and pieces % threads == 0


def test_a_number_is_passed_to_each_piece_as_it_is(
    at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sum of two -0.0 is -0.0, and that of -0.0 and 0.0 is 0.0."""
    monkeypatch.setattr(native_ufunc, "_SHARED_BYTES", 64)
    plus = native_ufunc.Mapping.of("float32", (("Add", (0, 1)),), (2,))
    x = np.full((100, 40), -0.0, np.float32)
    out = np.empty_like(x)
    assert plus is not None and plus.run(x.shape, [x, np.float32(-0.0)], [out])
    assert np.signbit(out).all()


@pytest.mark.parametrize("rows", [1, 3, 4, 5, 8, 11])
def test_rows_are_added_one_after_the_other(at_once: None, rows: int) -> None:
    """To sums of their own, of two axes, or of all rows."""
    x = np.random.default_rng(rows).standard_normal((6, rows, 37)).astype(np.float32)
    plus = native_ufunc.Mapping.of("float32", (), (0,), adds=True)
    assert plus is not None
    for shape in ((6, 1, 37), (1, 1, 37), (1, rows, 37)):
        want, got = np.ones(shape, np.float32), np.ones(shape, np.float32)
        for i in range(6):
            for j in range(rows):
                want[i if shape[0] > 1 else 0, j if shape[1] > 1 else 0] += x[i, j]
        assert plus.run(x.shape, [x], [got])
        assert got.tobytes() == want.tobytes()


def test_empty_arrays_and_integers_are_left_to_numpy(at_once: None) -> None:
    empty = np.empty((0, 3), np.float32)
    double = native_ufunc.Mapping.of("float32", (("Add", (0, 0)),), (1,))
    assert double is not None and not double.run(empty.shape, [empty], [empty.copy()])
    assert native_ufunc.Mapping.of("int32", (("Add", (0, 0)),), (1,)) is None
    assert native_ufunc.Mapping.of("float32", (("Sin", (0,)),), (1,)) is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axes", [(1,), (0,), (0, 1), (-2,), (1, 2), (0, 2)])
@pytest.mark.parametrize("keep_dims", [True, False])
def test_sums_and_means_along_inner_axes(
    both: Any, axes: tuple[int, ...], keep_dims: bool, dtype: str
) -> None:
    x = np.random.default_rng(6).random((4, 5, 3, 21)).astype(dtype)
    for kernel in (reduce.sum_kernel, reduce.mean_kernel):
        got, wanted = both(lambda k=kernel: k(np, x, np.array(axes), keep_dims=keep_dims))
        np.testing.assert_allclose(got, wanted, rtol=1e-5)
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
