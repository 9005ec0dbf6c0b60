"""Images resized in machine code are what products with matrices make of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels import image
from dataflow.kernels.jit import resampling
from tests.results_of import results_of

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
pytestmark = pytest.mark.avx512

#: (images, new size)
SIZES = [
    ((2, 7, 9, 3), (13, 20)),
    ((3, 12, 10, 1), (5, 4)),
    ((1, 40, 90, 4), (9, 7)),  # places far from each other
    ((2, 20, 31, 3), (8, 11)),
    ((2, 5, 6, 17), (5, 11)),
    ((2, 8, 8, 12), (16, 8)),
    ((1, 1, 1, 2), (3, 5)),
    ((1, 30, 33, 11), (1, 1)),
]
FLAGS = [(False, False), (True, False), (False, True)]
MAKES = [image.bilinear_matrix, image.bicubic_matrix, image.nearest_matrix]


@pytest.fixture(autouse=True)
def every_size(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "SMALL_ELEMENTS", 0)


def _compare(monkeypatch: pytest.MonkeyPatch, maps: Any, images: Any) -> Any:
    with monkeypatch.context() as patch:
        used = results_of(patch, image, "resample")
        got = image._apply(maps, images)
    assert used[0] is not None
    monkeypatch.setattr(image, "resample", lambda *arguments: None)
    wanted = image._apply(maps, images)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("is_shared", [True, False], ids=["shared", "alone"])
@pytest.mark.parametrize("is_back", [False, True], ids=["images", "gradient"])
@pytest.mark.parametrize("flags", FLAGS, ids=["plain", "corners", "half_pixels"])
@pytest.mark.parametrize("make", MAKES, ids=lambda m: m.__name__)
@pytest.mark.parametrize("size", SIZES, ids=lambda s: "x".join(map(str, s[0])))
def test_as_by_matrices(
    monkeypatch: pytest.MonkeyPatch,
    size: Any,
    make: Any,
    flags: Any,
    is_back: bool,
    is_shared: bool,
) -> None:
    if is_shared:
        monkeypatch.setattr(resampling, "_SHARED_BYTES", 0)
        monkeypatch.setattr(resampling, "_PIECE_BYTES", 300)
    shape, out = size
    maps = image._maps(make, shape[1:3], out, *flags, is_back=is_back)
    given = (shape[0], *out, shape[3]) if is_back else shape
    _compare(monkeypatch, maps, np.random.default_rng(0).standard_normal(given).astype(np.float32))


@pytest.mark.parametrize("size", SIZES, ids=lambda s: "x".join(map(str, s[0])))
def test_areas(monkeypatch: pytest.MonkeyPatch, size: Any) -> None:
    maps = image._maps(image.area_matrix, size[0][1:3], size[1], False)
    images = np.random.default_rng(0).standard_normal(size[0]).astype(np.float32)
    _compare(monkeypatch, maps, images)


def test_images_that_are_not_contiguous(monkeypatch: pytest.MonkeyPatch) -> None:
    maps = image._maps(image.bilinear_matrix, (6, 8), (9, 5), False, False)
    images = np.random.default_rng(0).standard_normal((2, 8, 6, 3)).astype(np.float32)
    _compare(monkeypatch, maps, images.swapaxes(1, 2))


def test_what_is_no_number_stays_with_the_pixels_that_meet_it() -> None:
    images = np.zeros((1, 4, 40, 3), np.float32)
    images[0, 0, 0, 0], images[0, 3, 39, 2] = np.nan, np.inf
    maps = image._maps(image.bilinear_matrix, (4, 40), (8, 80), False, True)
    out = image._apply(maps, images)
    assert np.isnan(out[0, 0, 0]).tolist() == [True, False, False]
    assert np.isposinf(out[0, 7, 79]).tolist() == [False, False, True]
    assert np.isnan(out).sum() == np.isinf(out).sum() == 9


def test_nearest_pixels_are_copied_whatever_their_type() -> None:
    sizes = np.array([6, 10])
    flags = {"align_corners": False, "half_pixel_centers": True}
    for dtype in (np.float32, np.float64, np.uint8):
        images = (np.random.default_rng(0).random((2, 4, 5, 3)) * 255).astype(dtype)
        out = image.resize_nearest_neighbor_kernel(np, images, sizes, **flags)
        rows, columns = image._nearest(4, 6, False, True), image._nearest(5, 10, False, True)
        np.testing.assert_array_equal(out, images[:, rows][:, :, columns])


@pytest.mark.parametrize("channels", [1, 3, 20])
def test_boxes(monkeypatch: pytest.MonkeyPatch, channels: int) -> None:
    rng = np.random.default_rng(0)
    images = rng.standard_normal((3, 9, 14, channels)).astype(np.float32)
    boxes = rng.uniform(-0.2, 1.2, (11, 4)).astype(
        np.float32
    )  # some reach outside, some are turned
    boxes[0], boxes[1] = [0, 0, 1, 1], [0.5, 0.5, 0.5, 0.5]
    numbers = rng.integers(0, 3, 11).astype(np.int32)

    def run(size: list[int]) -> Any:
        attrs = {"method": "bilinear", "extrapolation_value": -7.0}
        return image.crop_and_resize_kernel(np, images, boxes, numbers, np.array(size), **attrs)

    with monkeypatch.context() as patch:
        used = results_of(patch, image, "crop")
        got = [run([5, 7]), run([1, 1]), run([20, 3])]
    assert all(found is not None for found in used)
    monkeypatch.setattr(image, "crop", lambda *arguments: None)
    for mine, wanted in zip(got, [run([5, 7]), run([1, 1]), run([20, 3])], strict=True):
        assert mine.dtype == np.float32 and ((mine == -7.0).any() or mine.shape[1] == 1)
        np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-5)
