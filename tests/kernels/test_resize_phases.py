"""Resizing in loops over results of equal weights, beside the products with matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dataflow.kernels import image_resize, resize_phases
from dataflow.kernels.image_resize import (
    area_matrix,
    bicubic_matrix,
    bilinear_matrix,
    resize_bilinear_grad_kernel,
    resize_bilinear_kernel,
)
from dataflow.kernels.jit import native_ufunc
from dataflow.kernels.resize_phases import pieces_of, resize
from tests.kernels.mappings import mappings_that_ran


@pytest.fixture(params=["loops", "NumPy"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(resize_phases, "_LEAST_ELEMENTS", 1)
    ran = mappings_that_ran(request, monkeypatch)
    yield request.param
    assert ran
    assert (request.param == "loops") == all(ran)


def numbers(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def product(rows: Any, columns: Any, images: Any) -> Any:
    return np.einsum("ah,bw,nhwc->nabc", rows.astype(float), columns.astype(float), images)


@pytest.mark.parametrize("half_pixel", [False, True])
@pytest.mark.parametrize(
    ("size", "result"),
    [((5, 7), (10, 14)), ((8, 8), (4, 4)), ((6, 5), (6, 10)), ((4, 3), (16, 6)), ((1, 6), (2, 12))],
)
def test_bilinear_and_its_gradient(
    monkeypatch: pytest.MonkeyPatch,
    way: str,
    size: tuple[int, int],
    result: tuple[int, int],
    half_pixel: bool,
) -> None:
    monkeypatch.setattr(resize_phases, "_MOST_TAPS", 64)
    flags = {"align_corners": False, "half_pixel_centers": half_pixel}
    x, grads = numbers(2, *size, 9), numbers(2, *result, 9)
    matrices = [bilinear_matrix(*s, False, half_pixel) for s in zip(size, result, strict=True)]
    got = resize_bilinear_kernel(np, x, np.array(result), **flags)
    np.testing.assert_allclose(got, product(matrices[0], matrices[1], x), rtol=1e-5, atol=1e-6)
    back = resize_bilinear_grad_kernel(np, grads, x, **flags)
    wanted = product(matrices[0].T, matrices[1].T, grads)
    np.testing.assert_allclose(back, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("way", ["loops"], indirect=True)
def test_numpy_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    x, pieces = numbers(3, 8, 8, 11), pieces_of(bilinear_matrix(8, 16, False, True))
    got, wanted = (np.empty((3, 16, 16, 11), np.float32) for _ in range(2))
    assert resize(x, pieces, pieces, got)
    with monkeypatch.context() as patch:
        patch.setattr(native_ufunc.Mapping, "run", lambda *arguments: False)
        assert resize(x, pieces, pieces, wanted)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(
    ("matrix", "count"),
    [
        (bilinear_matrix(9, 18, False, False), 3),
        (bilinear_matrix(9, 18, False, False).T, 3),
        (bilinear_matrix(9, 9, False, False), 1),
        (area_matrix(12, 6, False), 1),
        (bicubic_matrix(12, 6, False, False), 1),
        (bilinear_matrix(40, 77, False, False), 0),  # other weights everywhere
        (bilinear_matrix(40, 79, True, False), 2),
    ],
)
def test_pieces_make_up_the_matrix(matrix: Any, count: int) -> None:
    pieces = pieces_of(matrix)
    assert len(pieces) == count
    if not count:
        return
    made, times = np.zeros_like(matrix), np.zeros(len(matrix), int)
    for piece in pieces:
        results = np.arange(len(matrix))[piece.results]
        times[results] += 1
        for met, weight in zip(piece.met, piece.weights, strict=True):
            made[results, np.arange(matrix.shape[1])[met]] = weight
    np.testing.assert_array_equal(made, matrix)
    assert (times == 1).all()


def test_results_that_nothing_reaches_are_zero() -> None:
    matrix = bilinear_matrix(64, 32, False, False).T  # every second place
    pieces, out = pieces_of(matrix), np.full((1, 64, 64, 16), 7, np.float32)
    assert resize(numbers(1, 32, 32, 16), pieces, pieces, out)
    assert not out[:, 1::2].any()
    assert not out[:, :, 1::2].any()
    assert out[:, ::2, ::2].all()


def test_few_numbers_or_channels_many_taps_and_other_types_are_left_to_products() -> None:
    pieces = pieces_of(bilinear_matrix(32, 64, False, False))
    out = np.empty((1, 64, 64, 32), np.float32)
    assert resize(numbers(1, 32, 32, 32), pieces, pieces, out)
    assert not resize(numbers(1, 32, 32, 4), pieces, pieces, out[..., :4])
    assert not resize(numbers(1, 32, 32, 32), (), pieces, out)
    assert not resize(numbers(1, 32, 32, 32).astype(np.float16), pieces, pieces, out)
    small = pieces_of(bilinear_matrix(4, 8, False, False))
    assert not resize(numbers(1, 4, 4, 8), small, small, np.empty((1, 8, 8, 8), np.float32))
    wide = pieces_of(area_matrix(320, 64, False))
    assert wide
    assert not resize(numbers(1, 320, 320, 8), wide, wide, out[..., :8])


@pytest.mark.parametrize("way", ["loops"], indirect=True)
def test_numbers_that_are_not_finite(way: str) -> None:
    x = numbers(1, 8, 8, 8)
    x[0, 3, 3, 0] = np.inf
    flags = {"align_corners": False, "half_pixel_centers": False}
    out = image_resize.resize_bilinear_kernel(np, x, np.array([16, 16]), **flags)
    assert np.isposinf(out[0, 5:8, 5:8, 0]).all()
    assert np.isfinite(out[..., 1:]).all()
    assert np.isfinite(out[0, 8:, 8:, 0]).all()
