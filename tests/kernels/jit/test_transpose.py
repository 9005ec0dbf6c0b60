"""Transposed arrays that were copied in blocks are the views that NumPy gives."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from dataflow.kernels import rearranging
from dataflow.kernels.jit import transpose

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
pytestmark = pytest.mark.avx512


@pytest.fixture(autouse=True)
def every_size(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transpose, "SMALL_ELEMENTS", 0)


def _numbers(shape: tuple[int, ...], dtype: str) -> Any:
    bits = np.random.default_rng(0).integers(0, 2**32, shape, dtype=np.uint32)
    return bits.view(dtype) if shape else bits  # not-a-numbers and the smallest ones among them


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint32"])
@pytest.mark.parametrize("shape", [(16, 16), (7, 40), (33, 5, 18), (3, 17, 2, 35)], ids=str)
def test_all_orders(shape: tuple[int, ...], dtype: str) -> None:
    x = _numbers(shape, dtype)
    copied = 0
    for order in itertools.permutations(range(len(shape))):
        wanted = x.transpose(order)
        got = rearranging.transpose_kernel(np, x, np.array(order))
        assert got.shape == wanted.shape and got.dtype == x.dtype
        np.testing.assert_array_equal(
            np.ascontiguousarray(got).view(np.uint32), np.ascontiguousarray(wanted).view(np.uint32)
        )
        made = transpose.turned(x, order)
        assert (made is not None) == (order[-1] != len(shape) - 1)
        copied += made is not None and made.flags.c_contiguous
    assert copied


def test_sources_that_are_views_and_other_types() -> None:
    x = _numbers((6, 50, 20), "float32")[:, 3:47:2, 1:18]
    np.testing.assert_array_equal(transpose.turned(x, (0, 2, 1)), x.transpose(0, 2, 1))
    assert transpose.turned(np.ones(x.shape), (0, 2, 1)) is None
    assert transpose.turned(x[..., ::2], (0, 2, 1)) is None
    assert transpose.turned(x[:0], (0, 2, 1)) is None
    assert transpose.turned(_numbers((1, 20, 1), "float32"), (2, 1, 0)) is None
