"""Colors in machine code are what NumPy's functions make of them, and what Python's own module does."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np
import pytest

from dataflow.kernels import image_color
from dataflow.kernels.jit import native_ufunc
from tests.results_of import results_of

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")

KERNELS: dict[str, tuple[Any, ...]] = {
    "rgb_to_hsv_kernel": (),
    "hsv_to_rgb_kernel": (),
    "adjust_hue_kernel": (np.float32(-0.3),),
    "adjust_saturation_kernel": (np.float32(1.7),),
    "adjust_contrast_kernel": (np.float32(2.5),),
}


@pytest.fixture(autouse=True)
def every_size(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (native_ufunc, image_color):
        monkeypatch.setattr(module, "SMALL_ELEMENTS", 0)


def _images(shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    images = np.random.default_rng(0).random(shape).round(1)  # with equal colors, zeros and ones
    return images.astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(2, 5, 7, 3), (1, 1, 3), (4, 33, 3)], ids=str)
@pytest.mark.parametrize("name", KERNELS)
def test_as_by_numpy(
    monkeypatch: pytest.MonkeyPatch, name: str, shape: tuple[int, ...], dtype: str
) -> None:
    images, function = _images(shape, dtype), getattr(image_color, name)
    with monkeypatch.context() as patch:
        used = results_of(patch, native_ufunc.Mapping, "run")
        got = function(np, images, *KERNELS[name])
    assert used == [True] or (name, dtype) == ("adjust_contrast_kernel", "float64")
    monkeypatch.setattr(native_ufunc.Mapping, "run", lambda *arguments: False)
    wanted = function(np, images, *KERNELS[name])
    assert got.dtype == wanted.dtype == np.dtype(dtype) and got.shape == shape
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6)


def test_as_in_pythons_module() -> None:
    images = _images((6, 50, 3), np.float64)
    hsv = image_color.rgb_to_hsv_kernel(np, images)
    for got, pixel in zip(hsv.reshape(-1, 3), images.reshape(-1, 3), strict=True):
        np.testing.assert_allclose(got, colorsys.rgb_to_hsv(*pixel), atol=1e-12)
    rgb = image_color.hsv_to_rgb_kernel(np, images)
    for got, pixel in zip(rgb.reshape(-1, 3), images.reshape(-1, 3), strict=True):
        np.testing.assert_allclose(got, colorsys.hsv_to_rgb(*pixel), atol=1e-12)


def test_contrast_is_the_distance_from_the_mean_of_each_channel() -> None:
    images = _images((3, 4, 5, 2))
    mean = images.astype(np.float64).mean((1, 2), keepdims=True)
    got = image_color.adjust_contrast_kernel(np, images, np.float32(2.5))
    np.testing.assert_allclose(got, (images - mean) * 2.5 + mean, atol=1e-6)
