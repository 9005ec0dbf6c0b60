"""Cross entropies of many short rows, which are computed turned round, are those of few."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels import loss
from dataflow.kernels.reduce import is_tall, row_maxima


@pytest.mark.parametrize("classes", [1, 2, 5, 20])
@pytest.mark.parametrize("special", [False, True])
def test_many_rows_give_what_few_give(classes: int, special: bool) -> None:
    rng = np.random.default_rng(0)
    logits = (rng.standard_normal((60, classes)) * 20).astype(np.float32)
    if special:
        logits[3, 0], logits[7, -1], logits[11] = np.nan, np.inf, -np.inf
    numbers = rng.integers(0, classes, 60)
    one_hot = np.eye(classes, dtype=np.float32)[numbers]
    kernels: list[tuple[Any, Any]] = [
        (loss.softmax_cross_entropy_kernel, one_hot),
        (loss.sparse_softmax_cross_entropy_kernel, numbers),
    ]
    assert is_tall(np, logits)
    assert not is_tall(np, logits[:1])
    for kernel, labels in kernels:
        with np.errstate(all="ignore"):
            got = kernel(np, logits, labels)
            rows = [kernel(np, logits[i : i + 1], labels[i : i + 1]) for i in range(60)]
        assert got[1].flags.c_contiguous
        for i, result in enumerate(got):
            wanted = np.concatenate([row[i] for row in rows])
            np.testing.assert_allclose(result, wanted, rtol=1e-6, atol=1e-6)
            assert result.dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    "shape", [(4096, 17), (2, 2500, 33), (5000, 128), (4100, 129), (8, 8, 64, 64)]
)
def test_the_largest_of_many_rows(shape: tuple[int, ...], dtype: Any) -> None:
    x = np.random.default_rng(5).standard_normal(shape).astype(dtype)
    flat = x.reshape(-1, shape[-1])
    flat[0, -1], flat[1, 0], flat[2, shape[-1] // 2] = np.inf, np.nan, np.nan
    flat[3] = -np.inf
    np.testing.assert_array_equal(row_maxima(np, x), x.max(-1, keepdims=True))
