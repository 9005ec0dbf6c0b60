"""Calls written down and made at once: the same bits as NumPy, and nothing where a layout differs."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from dataflow.kernels import parallel
from dataflow.kernels.jit import gemm, product_calls, thread_pool, thread_pool_codegen
from dataflow.kernels.jit.call_list import At, CallWriter
from dataflow.kernels.jit.call_list_code import is_available
from dataflow.kernels.jit.call_writers import Node, products, write
from dataflow.kernels.parallel import matrix_product
from dataflow.runtime.array_layouts import Layout, example_of

pytestmark = pytest.mark.skipif(not is_available(), reason="this machine runs no machine code")

RANDOM = np.random.default_rng(0)


def normal(*shape: int, dtype: str = "float32") -> Any:
    return np.asarray(RANDOM.standard_normal(shape or None), dtype)


def other(x: Any) -> Any:
    """An array of the same layout with other numbers."""
    layout = Layout.of(x)
    assert layout is not None
    found = example_of(layout)
    found[...] = x * 2 + 1 if x.dtype.kind != "b" else ~x
    return found


@pytest.mark.parametrize(
    ("ufunc", "inputs"),
    [
        (np.add, [normal(4, 5), normal(5)]),
        (np.multiply, [normal(3, 4, 5), normal(3, 1, 5)]),
        (np.tanh, [normal(7)]),
        (np.exp, [normal(6, 8).T]),
        (np.subtract, [normal(4, 9)[:, ::2], normal(4, 5)]),
        (np.greater, [normal(3, 3), normal()]),
        (np.maximum, [normal(2, 3, 4, 5)[:, ::2, :, ::3], normal(2, 2, 4, 2)]),
        (np.add, [np.arange(6), np.arange(6)[::-1]]),
        (np.true_divide, [normal(5, dtype="float64"), normal(5, dtype="float64")]),
        (np.sqrt, [np.array(2, "f")]),
        (np.logical_not, [normal(9) > 0]),
    ],
    ids=lambda x: x.__name__ if isinstance(x, np.ufunc) else "",
)
def test_a_ufunc_gives_the_same_bits(ufunc: Any, inputs: list[Any]) -> None:
    out = ufunc(*inputs)
    out = np.empty(out.shape, out.dtype)
    w = CallWriter([*inputs, out])
    assert w.ufunc(ufunc, *inputs, out)
    written = w.list()
    for arrays in (inputs, [other(x) for x in inputs]):
        with np.errstate(all="ignore"):
            wanted = ufunc(*arrays)
        assert written.run(*arrays, out)
        np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("ufunc", [np.add, np.maximum])
@pytest.mark.parametrize(
    ("shape", "axis"), [((6, 300), 1), ((40, 7), 0), ((3, 5, 4), 1), ((9,), 0)]
)
def test_a_reduction_gives_the_same_bits(ufunc: Any, shape: Any, axis: int) -> None:
    x = normal(*shape)
    out = np.empty([1 if i == axis else n for i, n in enumerate(shape)], "f")
    w = CallWriter([x, out])
    if ufunc is np.add:
        assert w.fill(out, 0)
    else:
        assert w.copy(x[tuple(slice(1) if i == axis else slice(None) for i in range(x.ndim))], out)
    assert w.reduce(ufunc, x, axis, out)
    written = w.list()
    for array in (x, other(x)):
        assert written.run(array, out)
        np.testing.assert_array_equal(out, ufunc.reduce(array, axis, keepdims=True))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((4, 5), (5, 6)),
        ((1, 5), (5, 6)),
        ((4, 5), (5, 1)),
        ((17, 33), (33, 20)),
    ],
)
@pytest.mark.parametrize("turned", ["", "a", "b", "ab"])
def test_a_product_gives_the_same_bits(a: Any, b: Any, turned: str, dtype: str) -> None:
    left = normal(*a[::-1], dtype=dtype).T if "a" in turned else normal(*a, dtype=dtype)
    right = normal(*b[::-1], dtype=dtype).T if "b" in turned else normal(*b, dtype=dtype)
    out = np.empty((a[0], b[1]), dtype)
    w = CallWriter([left, right, out])
    if not w.product(left, right, out):
        pytest.fail("it was not written")
    written = w.list()
    for arrays in ((left, right), (other(left), other(right))):
        assert written.run(*arrays, out)
        np.testing.assert_array_equal(out, np.dot(*arrays))


NUMBERS = [0, 1, 2, 5, -1, -128, 127, 255, 65_535, -(2**31), 2**31 - 1, 2**53 + 1, -(2**63)]


@pytest.mark.parametrize("source", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "f4", "f8"])
@pytest.mark.parametrize("to", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"])
def test_a_conversion_gives_numpy_s_numbers(source: str, to: str) -> None:
    x = np.array(NUMBERS, np.int64).astype(source)
    if x.dtype.kind == "f":
        x = np.concatenate([x, np.array([0.1, -0.0, np.nan, np.inf, 1e-42, 1e-30], source)])
    out = np.zeros(x.shape, to)
    w = CallWriter([x, out])
    can = w.convert(x, out)
    assert can == (x.dtype.kind != "f" or out.dtype.kind in "fb")
    assert not w.convert(x[::2], out[::2]) or source == to
    if can:
        assert w.list().run(x, out)
        np.testing.assert_array_equal(out, x.astype(to))


def test_what_it_cannot_write_is_refused() -> None:
    x = normal(4, 4)
    w = CallWriter([x])
    assert not w.ufunc(np.add, x, x.astype("float64"), np.empty((4, 4)))  # converts
    assert not w.ufunc(np.tanh, np.zeros((0, 3), "f"), np.zeros((0, 3), "f"))
    assert not w.product(x, normal(4, 4, dtype="float64"), np.empty((4, 4)))
    assert not w.copy(x, np.empty((4, 4)))
    assert not w.list().num_calls


def test_nothing_is_computed_for_another_layout() -> None:
    x, out = normal(4, 3), np.empty((4, 3), "f")
    w = CallWriter([x, out])
    assert w.ufunc(np.exp, x, out)
    written = w.list()
    out[...] = 5
    unaligned = np.zeros(49, np.uint8)[1:].view("f").reshape(4, 3)

    class Mine(np.ndarray):
        pass

    refused: list[Any] = [
        *(x[:3], x.astype("float64"), x.astype("int32"), np.asfortranarray(x), unaligned),
        *(np.float32(3), None, [1.0], "x", x.view(Mine), x.astype(">f4"), x[:, :, None]),
    ]
    for value in refused:
        assert not written.run(value, out)
    assert (out == 5).all()
    assert written.run(x, out)
    np.testing.assert_array_equal(out, np.exp(x))


def test_nothing_is_computed_for_other_numbers() -> None:
    x, shape, out = normal(4, 3), np.array([3, 4], np.int32), np.zeros((4, 3), "f")
    w = CallWriter([x, shape, out], [shape])
    assert w.ufunc(np.exp, x, out)
    written = w.list()
    shape[0] = 5  # it has a copy
    for numbers in ([4, 3], [3, 5], [2, 4], [3 + (1 << 24), 4]):
        assert not written.run(x, np.array(numbers, np.int32), out)
    assert not written.run(x, np.array([3, 4], np.int64), out)
    assert not out.any()
    assert written.run(normal(4, 3), np.array([3, 4], np.int32), out)
    assert written.run(x, np.array([3, 4], np.int32), out)
    np.testing.assert_array_equal(out, np.exp(x))


def test_the_stride_of_an_axis_of_one_element_does_not_matter() -> None:
    x, out = normal(4, 1, 3), np.empty((4, 1, 3), "f")
    w = CallWriter([x, out])
    assert w.ufunc(np.exp, x, out)
    same = normal(4, 3)[:, None]
    assert same.strides != x.strides
    assert w.list().run(same, out)
    np.testing.assert_array_equal(out, np.exp(same))


def test_views_of_what_it_is_given_are_found_again() -> None:
    x, out = normal(6, 4), np.zeros((6, 4), "f")
    w = CallWriter([x, out])
    assert w.ufunc(np.negative, x[2:4, 1:], out[1:3, :3])
    written = w.list()
    again, there = other(x), np.zeros((6, 4), "f")
    assert written.run(again, there)
    np.testing.assert_array_equal(there[1:3, :3], -again[2:4, 1:])
    assert not there[3:].any()


def test_buffers_are_given_back_and_constants_stay() -> None:
    x, out = normal(64), np.empty(64, "f")
    w = CallWriter([x, out])
    first = w.buffer((64,), "f")
    assert w.ufunc(np.exp, x, first)
    second = w.buffer((64,), "f")
    assert w.ufunc(np.add, first, w.constant(np.float32(2)), second)
    w.release(first)
    third = w.buffer((8, 8), "f")
    assert np.may_share_memory(third, first)
    assert w.ufunc(np.sqrt, second, third.reshape(64))
    assert w.copy(third.reshape(64), out)
    assert w.num_bytes == 2 * 256
    written = w.list()
    assert written.num_calls == 4
    for array in (x, other(x)):
        assert written.run(array, out)
        np.testing.assert_array_equal(out, np.sqrt(np.exp(array) + np.float32(2)))


def test_calls_are_taken_back() -> None:
    x, out = normal(4), np.zeros(4, "f")
    w = CallWriter([x, out])
    mark = w.mark()
    assert w.ufunc(np.exp, x, out)
    w.rewind(mark)
    assert w.list().num_calls == 0


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(
    "sizes", [(50, 256, 256), (50, 300, 130), (8, 4096, 256), (600, 40, 90), (5, 512, 800)]
)
def test_threads_share_products_of_a_list(
    sizes: tuple[int, int, int], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, steps, columns = sizes
    for module in (parallel, thread_pool):
        monkeypatch.setattr(module, "num_workers", lambda: threads)
    monkeypatch.setattr(parallel, "num_threads", lambda: threads)
    for a, b in (
        (normal(rows, steps), normal(steps, columns)),
        (normal(steps, rows).T, normal(columns, steps).T),
    ):
        out = np.empty((rows, columns), "f")
        matrix = gemm.PackedMatrix(b)
        shapes = [a.shape, b.shape]
        parts = products.packed_parts("_PackedProduct", shapes)
        panels = matrix.panels(parts) if parts and rows <= gemm.MOST_ROWS else np.zeros(1, "f")
        for packed in ({}, {(id(b), parts): panels}):
            w = CallWriter([a, b, panels, out], packed=packed)
            op_type = "_PackedProduct" if packed else "MatMul"
            attrs = {"transpose_a": False, "transpose_b": False}
            write(w, Node(op_type, attrs, [a, b], [out], frozenset(), None, 0))
            written = w.list()
            for x in (a, other(a)):
                out[...] = 77
                assert written.run(x, b, panels, out)
                wanted = parallel.product_with_packed(x, matrix) if packed else matrix_product(x, b)
                np.testing.assert_array_equal(out, wanted)


def test_a_list_of_a_thread_that_finds_the_team_at_work_computes_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(thread_pool, "num_workers", lambda: 2)
    team, members = thread_pool.team_for(2)
    if team is None:
        pytest.skip("this machine has no teams")
    assert members == 1
    a, b, out = normal(50, 256), normal(256, 256), np.zeros((50, 256), "f")
    calls = product_calls.of_product(a, b, lambda _: [out], 2)
    assert calls is not None and len(calls) == 2
    w = CallWriter([a, b, out])
    w.share([(f, [At(*x) if type(x) is tuple else x for x in fields]) for f, fields in calls])
    written, wanted = w.list(), matrix_product(a, b)
    busy = ctypes.c_int64.from_address(team.memory + thread_pool_codegen.BUSY)
    for value in (1, 0):
        busy.value, out[...] = value, 77
        assert written.run(a, b, out)
        assert busy.value == value
        np.testing.assert_array_equal(out, wanted)
