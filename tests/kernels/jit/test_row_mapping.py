"""Regions with sums along rows, in machine code: the bits of one call after the other."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from dataflow.kernels import activation, loss, reduce
from dataflow.kernels.jit import native_ufunc, row_mapping
from dataflow.kernels.jit.expression import ROW_MEAN, ROW_SUM, Region
from dataflow.kernels.jit.regions import small
from dataflow.kernels.jit.row_mapping import RowMapping, are_summed, summed_rows
from dataflow.kernels.jit.row_regions import fused_rows_kernel
from tests.results_of import results_of

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")

#: x, a number for each row, one for each column, and one for all: a layer norm, a sum of what it gives, and
#: a function that NumPy computes, of the result and of nothing that is one number for a row.
NORM = Region(
    4,
    (
        (ROW_MEAN, (0,)),
        ("SquaredDifference", (0, 4)),
        (ROW_MEAN, (5,)),
        ("AddV2", (6, 3)),
        ("Rsqrt", (7,)),
        ("Sub", (0, 4)),
        ("Mul", (9, 8)),
        ("Mul", (10, 2)),
        ("AddV2", (11, 1)),
        (ROW_SUM, (12,)),
        ("Mul", (13, 1)),
        ("Tanh", (12,)),
        ("Exp", (14,)),
    ),
    (12, 13, 14, 8, 15, 16),
    "float32",
)
BY_ROW = (False, True, True, True, False, True)
#: One row, rows with and without a rest, of less than a vector more, of several axes, and the longest.
SHAPES = [(1, 1000), (700, 16), (300, 17), (64, 100), (4, 9, 128), (3, 2, 1023), (2, 3, 4, 256)]
SHAPES += [(5, 1024), (64, 64), (500, 33)]


@pytest.fixture(autouse=True)
def every_size(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (native_ufunc, row_mapping, reduce, activation):
        monkeypatch.setattr(module, "SMALL_ELEMENTS", 0)


def _numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def _inputs(shape: tuple[int, ...], dtype: str) -> list[Any]:
    shapes = (shape, (*shape[:-1], 1), shape[-1:], ())
    inputs = [_numbers(s, dtype, i) for i, s in enumerate(shapes)]
    return [*inputs[:3], np.asarray(np.abs(inputs[3]), dtype)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_bits_of_one_call_after_the_other(
    shape: tuple[int, ...], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    region = NORM._replace(dtype=dtype)
    if dtype == "float64":  # whose exponential is NumPy's: no number of a row can be one
        region = region._replace(steps=region.steps[:-1], results=region.results[:-1])
    by_row = BY_ROW[: len(region.results)]
    run = fused_rows_kernel(np, region=region, by_row=by_row, without_axis=(False,) * len(by_row))
    inputs = _inputs(shape, dtype)
    laid_out = results_of(monkeypatch, RowMapping, "layout")
    got = run(inputs)
    assert laid_out[0] is not None
    wanted = small(region)(*inputs)
    for one, other, is_row in zip(got, wanted, by_row, strict=True):
        assert one.shape == (*shape[:-1], 1 if is_row else shape[-1])
        assert one.tobytes() == other.tobytes()


def test_a_function_of_numpy_of_one_number_for_a_row_is_left_to_numpy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The logarithm of a sum, in double precision: there was a warning that a loop could not be compiled."""
    region = Region(1, ((ROW_SUM, (0,)), ("Log", (1,)), ("Sub", (0, 2))), (2, 3), "float64")
    run = fused_rows_kernel(np, region=region, by_row=(True, False), without_axis=(False,) * 2)
    laid_out = results_of(monkeypatch, RowMapping, "layout")
    x = np.abs(_numbers((64, 100), "float64"))
    got = run([x])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        laid_out[0].loop.compile()
    assert laid_out[0].loop.function is None
    for one, other in zip(got, small(region)(x), strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums(shape: tuple[int, ...], dtype: str) -> None:
    x = _numbers(shape, dtype)
    total = summed_rows(x)
    exact = x.astype(np.longdouble).sum(-1, keepdims=True)
    assert np.abs(total - exact).max() < shape[-1] * np.finfo(dtype).eps * 4
    x[..., -1] = np.inf
    x[..., 0] = np.nan
    assert np.isnan(summed_rows(x)).all()


@pytest.mark.parametrize("axes", [(1, 0, 2), (0, 1, 2)], ids=str)
def test_rows_in_any_order(axes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a batch of sequences that are stored step by step, times one number for each sequence."""
    region = Region(2, (("Mul", (0, 1)), (ROW_MEAN, (2,)), ("Sub", (2, 3))), (2, 3, 4), "float32")
    x = _numbers((9, 8, 70), "float32").transpose(axes)
    others = _numbers((len(x), 1, 70), "float32", 1)
    run = fused_rows_kernel(
        np, region=region, by_row=(False, True, False), without_axis=(False,) * 3
    )
    laid_out = results_of(monkeypatch, RowMapping, "layout")
    got = run([x, others])
    assert laid_out[0] is not None
    for one, other in zip(got, small(region)(x, others), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_sum_ends_with_its_row() -> None:
    x = np.full((7, 37), np.float32(1e30))
    x[3] = 1
    assert summed_rows(x)[3, 0] == 37


def test_without_an_axis(monkeypatch: pytest.MonkeyPatch) -> None:
    region = Region(1, (("Square", (0,)), (ROW_SUM, (1,))), (2,), "float32")
    run = fused_rows_kernel(np, region=region, by_row=(True,), without_axis=(True,))
    x = _numbers((40, 50), "float32")
    (total,) = run([x])
    assert total.shape == (40,)
    np.testing.assert_allclose(total, (x * x).sum(-1), rtol=1e-5)


@pytest.mark.parametrize(
    "inputs",
    [
        [np.ones((50, 40), np.float32).T],  # summed by NumPy in another order
        [np.broadcast_to(np.float32(2), (40, 50))],
        [np.ones((0, 50), np.float32)],
        [np.ones((40, 1025), np.float32)],
        [np.ones((40, 8), np.float32)],
    ],
    ids=["columns", "one number", "no rows", "long", "short"],
)
def test_what_is_left_to_one_call_after_the_other(
    inputs: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    region = Region(1, (("Square", (0,)), (ROW_MEAN, (1,)), ("Sub", (0, 2))), (2, 3), "float32")
    run = fused_rows_kernel(np, region=region, by_row=(True, False), without_axis=(False, False))
    laid_out = results_of(monkeypatch, RowMapping, "layout")
    mean, rest = run(inputs)
    assert laid_out[:1] == [None]
    np.testing.assert_allclose(mean, np.square(inputs[0]).mean(-1, keepdims=True))
    assert rest.shape == inputs[0].shape


def test_which_rows_are_summed_here() -> None:
    assert are_summed((2, 16)) and are_summed((3, 1, 1024))
    assert not are_summed((16,)) and not are_summed((2, 15)) and not are_summed((2, 1025))


def _logits(shape: tuple[int, ...], dtype: str) -> Any:
    """Also rows with NaN and infinities, and one of equal numbers."""
    x = 20 * _numbers(shape, dtype)
    rows = x.reshape(-1, shape[-1])
    if len(rows) > 5:
        rows[0, -1], rows[1, 0], rows[2], rows[3, 3] = np.nan, np.inf, -np.inf, -np.inf
        rows[4] = 7
    return x


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_softmax_has_the_bits_of_its_steps(
    shape: tuple[int, ...], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = _logits(shape, dtype)
    in_one_pass = results_of(monkeypatch, activation, "softmax")
    with np.errstate(all="ignore"):
        got = activation.softmax_kernel(np, x)
        monkeypatch.setattr(activation, "softmax", lambda x: None)
        wanted = activation.softmax_kernel(np, x)
        monkeypatch.setattr(activation, "SMALL_ELEMENTS", 1 << 40)
        by_numpy_alone = activation.softmax_kernel(np, x)
    assert in_one_pass[0] is got
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(by_numpy_alone, wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(700, 16), (64, 100), (5, 1024), (500, 33)], ids=str)
def test_cross_entropies(
    shape: tuple[int, int], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = _logits(shape, dtype)
    numbers = np.arange(len(x)) * 7 % shape[1]
    one_hot = np.eye(shape[1], dtype=dtype)[numbers]
    shares = np.abs(_numbers(shape, dtype, 1))
    shares /= shares.sum(1, keepdims=True)
    calls: list[tuple[Any, Any, str]] = [
        (loss.sparse_softmax_cross_entropy_kernel, numbers, "softmax_parts"),
        (loss.softmax_cross_entropy_kernel, one_hot, "cross_entropy"),
        (loss.softmax_cross_entropy_kernel, shares, "cross_entropy"),
    ]
    near = {"rtol": 1e-5 if dtype == "float32" else 1e-13, "atol": 1e-6}
    for kernel, labels, name in calls:
        with monkeypatch.context() as patch, np.errstate(all="ignore"):
            in_one_pass = results_of(patch, loss, name)
            got = kernel(np, x, labels)
            assert in_one_pass[0] is not None
            patch.setattr(loss, name, lambda *_: None)
            wanted = kernel(np, x, labels)
        for one, other in zip(got, wanted, strict=True):
            assert one.shape == other.shape
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, **near)


def test_certain_labels_give_the_sparse_loss() -> None:
    """Of a label that is certain, the dense and the sparse loss are the same bits."""
    x = _numbers((64, 100), "float32")
    numbers = np.arange(64)
    sparse = loss.sparse_softmax_cross_entropy_kernel(np, x, numbers)
    dense = loss.softmax_cross_entropy_kernel(np, x, np.eye(100, dtype=np.float32)[numbers])
    for one, other in zip(sparse, dense, strict=True):
        np.testing.assert_array_equal(one, other)
