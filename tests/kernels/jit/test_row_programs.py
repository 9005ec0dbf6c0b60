"""What row programs make of matrices is what NumPy makes of them, whatever their shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels import activation, loss, reduce
from dataflow.kernels.jit import row_programs, row_reductions, window_kernels
from dataflow.kernels.jit.elementwise import fused_kernel
from dataflow.kernels.jit.expression import Program
from tests.results_of import results_of

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
pytestmark = pytest.mark.avx512

SHAPES = [(1, 1), (3, 5), (7, 16), (5, 17), (9, 64), (4, 65), (6, 200), (2, 3, 129), (2, 1000)]
REDUCTIONS = {"sum": np.sum, "product": np.prod, "largest": np.max, "smallest": np.min}


@pytest.fixture(autouse=True)
def every_size(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_programs, "SMALL_ELEMENTS", 0)
    monkeypatch.setattr(window_kernels, "SMALL_ELEMENTS", 0)
    monkeypatch.setattr(reduce, "SMALL_ELEMENTS", 0)


@pytest.fixture(params=[False, True], ids=["alone", "shared"])
def maybe_shared(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param:
        monkeypatch.setattr(row_programs, "_SHARED_BYTES", 0)
        monkeypatch.setattr(row_programs, "_PIECE_BYTES", 600)


def _numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", REDUCTIONS)
def test_reductions(maybe_shared: None, kind: str, shape: tuple[int, ...], dtype: str) -> None:
    x = _numbers(shape, dtype)
    got = row_reductions.reduced(kind, x)
    tolerance = 1e-4 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(got, REDUCTIONS[kind](x, -1), rtol=tolerance, atol=tolerance)
    assert got.dtype == x.dtype


@pytest.mark.parametrize("kind", REDUCTIONS)
@pytest.mark.parametrize("columns", [5, 100])
def test_values_that_are_no_numbers(kind: str, columns: int) -> None:
    x = np.ones((4, columns), np.float32)
    x[0, 1], x[1, 3], x[2, 4] = np.nan, np.inf, -np.inf
    with np.errstate(all="ignore"):
        wanted = REDUCTIONS[kind](x, -1)
    np.testing.assert_array_equal(row_reductions.reduced(kind, x), wanted)


@pytest.mark.parametrize("name", ["softmax_kernel", "log_softmax_kernel"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_softmax(
    maybe_shared: None, monkeypatch: pytest.MonkeyPatch, name: str, shape: tuple[int, ...]
) -> None:
    x = _numbers(shape, np.float32) * 9
    x[(0,) * (x.ndim - 1) + (-1,)] = 95.0  # alone it would overflow
    function = getattr(activation, name)
    with monkeypatch.context() as patch:
        used = results_of(patch, activation, "mapped_rows")
        got = function(np, x)
    assert used[0] is got
    monkeypatch.setattr(activation, "mapped_rows", lambda *arguments: None)
    np.testing.assert_allclose(
        got, function(np, x), rtol=3e-6, atol=2e-6 if "log" in name else 1e-30
    )


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("shape", [s for s in SHAPES if len(s) == 2], ids=str)
@pytest.mark.parametrize("name", ["softmax_rows", "cross_entropy_rows"])
def test_cross_entropies(
    maybe_shared: None,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    shape: tuple[int, int],
    special: bool,
) -> None:
    x = _numbers(shape, np.float32) * 9
    x[0, -1] = 95.0
    if special and shape[0] > 2:
        x[0, 1], x[1, 0], x[2] = np.nan, np.inf, -np.inf
        x[-1, :1] = -np.inf
    labels: Any = np.random.default_rng(1).integers(0, shape[1], shape[0])
    kernel: Any = loss.sparse_softmax_cross_entropy_kernel
    if name == "cross_entropy_rows":
        labels = np.random.default_rng(1).dirichlet(np.ones(shape[1]), shape[0]).astype(np.float32)
        kernel = loss.softmax_cross_entropy_kernel
    monkeypatch.setattr(loss, "is_tall", lambda xp, x: False)
    with np.errstate(all="ignore"):
        with monkeypatch.context() as patch:
            used = results_of(patch, loss, name)
            got = kernel(np, x, labels)
        assert used[0] is not None
        monkeypatch.setattr(loss, name, lambda *arguments: None)
        wanted = kernel(np, x, labels)
    for result, expected in zip(got, wanted, strict=True):
        assert result.dtype == np.float32
        np.testing.assert_allclose(result, expected, rtol=3e-6, atol=3e-6)


@pytest.mark.parametrize("keep_dims", [False, True])
@pytest.mark.parametrize("axes", [[1], [-1], [1, 2], [2, 1], [0, 1], [0, 1, 2], [0, 2], [0]])
@pytest.mark.parametrize("name", ["Sum", "Mean", "Max", "Min", "Prod"])
def test_kernels_over_any_axes(name: str, axes: list[int], keep_dims: bool) -> None:
    from dataflow.dtypes import float32
    from dataflow.kernels.registry import bind, get_kernel

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


#: Shapes of three operands that are broadcast.
OPERANDS = [
    ((4, 33), (4, 33), (4, 33)),
    ((4, 33), (4, 1), (33,)),
    ((4, 1, 7), (1, 5, 7), ()),
    ((2, 3, 4, 65), (2, 1, 4, 1), (65,)),
    ((3, 1), (3, 1), (3, 1)),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["Sum", "Mean"])
@pytest.mark.parametrize("shapes", OPERANDS, ids=str)
def test_chains(
    monkeypatch: pytest.MonkeyPatch, maybe_shared: None, shapes: Any, kind: str, dtype: str
) -> None:
    steps = (("SquaredDifference", (0, 1)), ("Maximum", (3, 2)), ("Mul", (4, 1)))
    used = results_of(monkeypatch, row_reductions.ReducedChain, "__call__")
    a, b, c = (_numbers(shape, dtype, seed) for seed, shape in enumerate(shapes))
    for keep_dims in (False, True):
        program = Program(3, steps, dtype, kind, over_rows=True, keep_dims=keep_dims)
        got = fused_kernel(np, program=program)([a, b, np.asarray(c)])
        chain = np.maximum((a - b) ** 2, c) * b
        wanted = {"Sum": np.sum, "Mean": np.mean}[kind](chain, axis=-1, keepdims=keep_dims)
        assert got.shape == wanted.shape and got.dtype == np.dtype(dtype)
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
    has_code = shapes not in (OPERANDS[3], OPERANDS[4])  # three axes of rows; no row
    assert all((found is not None) == has_code for found in used)


def test_chains_of_other_arrays_are_left_to_numpy() -> None:
    chain = row_reductions.ReducedChain.of("float32", 1, (("Square", (0,)),))
    assert chain is not None
    x = _numbers((8, 10), np.float32)
    assert chain([x[:, ::2]]) is None and chain([x.T]) is None
    assert chain([np.zeros((0, 3), np.float32)]) is None
    assert row_reductions.ReducedChain.of("float64", 1, (("Tanh", (0,)),)) is None


@pytest.mark.parametrize("keep_dims", [False, True])
@pytest.mark.parametrize("columns", [1, 2, 3, 8, 9])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("name", ["Sum", "Mean", "Max", "Min"])
def test_short_rows_are_taken_apart_by_columns(
    monkeypatch: pytest.MonkeyPatch, name: str, dtype: str, columns: int, keep_dims: bool
) -> None:
    from dataflow.dtypes import as_dtype
    from dataflow.kernels.registry import bind, get_kernel

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


def test_a_number_for_all_may_have_any_rank() -> None:
    """The mean of a long vector, kept as a vector of one."""
    chain = row_reductions.ReducedChain.of("float32", 2, (("Sub", (0, 1)), ("Square", (2,))))
    assert chain is not None
    x = _numbers((1, 5000), np.float32)
    found = chain([x, np.ones((1, 1), np.float32)])
    assert found is not None
    np.testing.assert_allclose(found[0], np.square(x - 1).sum(-1), rtol=1e-5)
