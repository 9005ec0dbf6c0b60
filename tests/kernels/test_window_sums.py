"""Average pooling and resizing by whole numbers in loops over all taps, beside one pass for each axis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dataflow.kernels import image_resize, pooling, window_sums
from dataflow.kernels.loader import get_kernel
from tests.kernels.mappings import mappings_that_ran


def _kernel(op_type: str) -> Any:
    found = get_kernel(op_type)
    assert found is not None
    return found.function


#: (taps, strides) of height and width.
POOLS = [
    ((2, 2), (2, 2)),
    ((3, 3), (2, 2)),
    ((3, 3), (3, 3)),
    ((3, 2), (1, 2)),
    ((2, 2), (3, 4)),
    ((1, 4), (1, 3)),
    ((3, 3), (1, 1)),
]


@pytest.fixture(params=["loops", "NumPy"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(window_sums, "_LEAST_ELEMENTS", 1)
    monkeypatch.setattr(pooling, "_LEAST_AVERAGED", 1)
    ran = mappings_that_ran(request, monkeypatch)
    yield request.param
    size = request.node.callspec.params.get("size", (2,))
    if size[-1] == 1:  # loops are along channels
        return
    assert ran
    assert (True in ran) == (request.param == "loops")


def _others(monkeypatch: pytest.MonkeyPatch, function: Any) -> Any:
    """What the kernels compute without the sums over windows; these must have been asked before."""
    asked: list[bool] = []

    def has_loops(*arguments: Any) -> bool:
        asked.append(window_sums.has_loops(*arguments))
        return asked[-1]

    with monkeypatch.context() as patch:
        for module in (pooling, image_resize):
            patch.setattr(module, "has_loops", has_loops)
        got = function()
        assert asked == [True]
        for module in (pooling, image_resize):
            patch.setattr(module, "has_loops", lambda *_: False)
        return got, function()


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("size", [(3, 8, 12, 5), (2, 9, 7, 16), (1, 31, 10, 1), (1, 5, 6, 33)])
@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_average_pooling_and_its_gradient(
    monkeypatch: pytest.MonkeyPatch, way: str, dtype: Any, pool: Any, size: Any, padding: str
) -> None:
    taps, strides = pool
    attributes = {
        "ksize": [1, *taps, 1],
        "strides": [1, *strides, 1],
        "padding": padding,
    }
    rng = np.random.default_rng(0)
    x = rng.standard_normal(size).astype(dtype)
    got, wanted = _others(monkeypatch, lambda: _kernel("AvgPool")(np, x, **attributes))
    assert got.tobytes() == wanted.tobytes()
    grad = rng.standard_normal(got.shape).astype(dtype)
    sizes = np.array(size)
    got, wanted = _others(
        monkeypatch, lambda: _kernel("AvgPoolGrad")(np, sizes, grad, **attributes)
    )
    np.testing.assert_array_equal(got, wanted)


def test_average_pooling_of_volumes(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2, 5, 6, 7, 3), np.float32)
    attributes = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "SAME"}
    got, wanted = _others(monkeypatch, lambda: _kernel("AvgPool3D")(np, x, **attributes))
    assert got.tobytes() == wanted.tobytes()
    sizes = np.array(x.shape)
    _others(monkeypatch, lambda: _kernel("AvgPool3DGrad")(np, sizes, got, **attributes))


@pytest.mark.parametrize("half_pixel", [False, True])
@pytest.mark.parametrize("scales", [(2, 2), (3, 1), (1, 4), (3, 3)])
@pytest.mark.parametrize("size", [(3, 5, 4, 7), (1, 9, 2, 32), (2, 3, 6, 1)])
def test_nearest_neighbors_by_whole_numbers(
    monkeypatch: pytest.MonkeyPatch, way: str, size: Any, scales: Any, half_pixel: bool
) -> None:
    flags = {"align_corners": False, "half_pixel_centers": half_pixel}
    rng = np.random.default_rng(2)
    x = rng.standard_normal(size, np.float32)
    x[0, 0, 0, 0] = -0.0
    new = np.array([size[1] * scales[0], size[2] * scales[1]])
    resize = _kernel("ResizeNearestNeighbor")
    got, wanted = _others(monkeypatch, lambda: resize(np, x, new, **flags))
    assert got.tobytes() == wanted.tobytes()
    grad = rng.standard_normal(got.shape, np.float32)
    back, old = _kernel("ResizeNearestNeighborGrad"), np.array(size[1:3])
    got, wanted = _others(monkeypatch, lambda: back(np, grad, old, **flags))
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("new", "corners"), [((10, 9), True), ((7, 8), False), ((3, 2), False)])
def test_other_sizes_are_left_to_indices(
    monkeypatch: pytest.MonkeyPatch, new: Any, corners: bool
) -> None:
    monkeypatch.setattr(window_sums, "_LEAST_ELEMENTS", 1)
    monkeypatch.setattr(pooling, "_LEAST_AVERAGED", 1)
    monkeypatch.setattr(image_resize, "has_loops", None)  # not to be called
    x = np.arange(2 * 5 * 4 * 3, dtype=np.float32).reshape(2, 5, 4, 3)
    flags = {"align_corners": corners, "half_pixel_centers": False}
    got = _kernel("ResizeNearestNeighbor")(np, x, np.array(new), **flags)
    back = _kernel("ResizeNearestNeighborGrad")(np, got, np.array([5, 4]), **flags)
    assert got.shape == (2, *new, 3)
    np.testing.assert_allclose((back * x).sum(), (got * got).sum(), rtol=1e-5)
