"""Softmax and cross entropies by machine code have NumPy's bits, whatever the shape; so do reductions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels import activation, loss, reduce
from dataflow.kernels.jit import native_ufunc
from tests.results_of import results_of

SHAPES = [(1, 1), (3, 5), (7, 16), (5, 17), (200, 3), (4, 65), (6, 200), (2, 3, 129), (2, 1000)]


@pytest.fixture
def no_kernel_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduce, "SMALL_ELEMENTS", 0)


@pytest.fixture
def every_size(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
    for module in (native_ufunc, activation):
        monkeypatch.setattr(module, "SMALL_ELEMENTS", 0)


def _numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def _bits(results: Any) -> list[bytes]:
    arrays = results if isinstance(results, tuple) else (results,)
    return [np.where(np.isnan(x), np.float64(np.nan), x).tobytes() for x in arrays]


def _same_bits(monkeypatch: pytest.MonkeyPatch, function: Any, calls: int, *arrays: Any) -> Any:
    """The results by NumPy, which machine code must give, too, in so many calls of it."""
    with np.errstate(all="ignore"):
        with monkeypatch.context() as patch:
            used = results_of(patch, native_ufunc.Mapping, "run")
            got = function(np, *arrays)
        assert used == [True] * calls
        with monkeypatch.context() as patch:
            patch.setattr(native_ufunc.Mapping, "run", lambda *arguments: False)
            wanted = function(np, *arrays)
    assert _bits(got) == _bits(wanted)
    return wanted


def _softmax(x: Any) -> Any:
    x = np.asarray(x, np.float64)
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["softmax_kernel", "log_softmax_kernel"])
def test_softmax(
    every_size: None, monkeypatch: pytest.MonkeyPatch, name: str, shape: tuple[int, ...], dtype: str
) -> None:
    x = _numbers(shape, dtype) * 9
    x[(0,) * (x.ndim - 1) + (-1,)] = 95.0  # alone it would overflow
    wanted = _same_bits(monkeypatch, getattr(activation, name), 2, x)
    reference = _softmax(x) if name == "softmax_kernel" else np.log(_softmax(x))
    assert wanted.dtype == np.dtype(dtype)
    np.testing.assert_allclose(wanted, reference, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("shape", [s for s in SHAPES if len(s) == 2], ids=str)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_cross_entropies(
    every_size: None,
    monkeypatch: pytest.MonkeyPatch,
    is_sparse: bool,
    shape: tuple[int, int],
    special: bool,
) -> None:
    x = _numbers(shape, np.float32) * 9
    x[0, -1] = 95.0
    if special and shape[0] > 2:
        x[0, 1], x[1, 0], x[2] = np.nan, np.inf, -np.inf
        x[-1, :1] = -np.inf
    if is_sparse:
        labels: Any = np.random.default_rng(1).integers(0, shape[1], shape[0])
        chances = np.eye(shape[1], dtype=np.float32)[labels]
        kernel: Any = loss.sparse_softmax_cross_entropy_kernel
    else:
        labels = np.random.default_rng(1).dirichlet(np.ones(shape[1]), shape[0]).astype(np.float32)
        chances, kernel = labels, loss.softmax_cross_entropy_kernel
    losses, gradient = _same_bits(monkeypatch, kernel, 2 if is_sparse else 3, x, labels)
    assert losses.dtype == gradient.dtype == np.float32
    if not special:
        softmax = _softmax(x)
        np.testing.assert_allclose(
            losses, -(chances * np.log(softmax)).sum(1), rtol=2e-5, atol=1e-5
        )
        np.testing.assert_allclose(gradient, softmax - chances, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("keep_dims", [False, True])
@pytest.mark.parametrize("axes", [[1], [-1], [1, 2], [2, 1], [0, 1], [0, 1, 2], [0, 2], [0]])
@pytest.mark.parametrize("name", ["Sum", "Mean", "Max", "Min", "Prod"])
def test_kernels_over_any_axes(
    at_once: None, no_kernel_is_small: None, name: str, axes: list[int], keep_dims: bool
) -> None:
    from dataflow.dtypes import float32
    from dataflow.kernels.loader import get_kernel
    from dataflow.kernels.registry import bind

    found = get_kernel(name)
    assert found is not None
    attrs: dict[str, Any] = {"keep_dims": keep_dims}
    if name in ("Max", "Min"):
        attrs["T"] = float32
    x = _numbers((6, 5, 33), np.float32)
    got = bind(found, np, attrs)(x, np.array(axes))
    function = {"Sum": np.sum, "Mean": np.mean, "Max": np.max, "Min": np.min, "Prod": np.prod}[name]
    wanted = function(x.astype(np.float64), tuple(axes), keepdims=keep_dims)
    assert got.shape == wanted.shape and got.dtype == np.float32
    np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("keep_dims", [False, True])
@pytest.mark.parametrize("columns", [1, 2, 3, 8, 9])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("name", ["Sum", "Mean", "Max", "Min"])
def test_short_rows_are_taken_apart_by_columns(
    no_kernel_is_small: None,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    dtype: str,
    columns: int,
    keep_dims: bool,
) -> None:
    from dataflow.dtypes import as_dtype
    from dataflow.kernels.loader import get_kernel
    from dataflow.kernels.registry import bind

    found = get_kernel(name)
    assert found is not None
    attrs: dict[str, Any] = {"keep_dims": keep_dims}
    if name in ("Max", "Min"):
        attrs["T"] = as_dtype(dtype)
    x = (_numbers((6, 5, columns), np.float64) * 9).astype(dtype)
    if dtype != "int32":
        x[0, 0, 0], x[1, 0, -1] = np.nan, np.inf
    used = results_of(monkeypatch, reduce, "_by_columns")
    with np.errstate(all="ignore"):
        got = bind(found, np, attrs)(x, np.array([-1]))
        function = {"Sum": np.sum, "Mean": np.mean, "Max": np.max, "Min": np.min}[name]
        wanted = function(x, -1, keepdims=keep_dims)
    if 2 <= columns <= 8:
        assert used[0] is not None
    if dtype == "int32" and name == "Mean":
        wanted = np.trunc(wanted)
    assert got.shape == wanted.shape and got.dtype == x.dtype
    np.testing.assert_allclose(got, wanted, rtol=1e-5)
