"""Batches of products in machine code give what NumPy gives, for every layout, in any number of parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dataflow.kernels import parallel
from dataflow.kernels.jit import batched_gemm, gemm

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
pytestmark = pytest.mark.simd


@pytest.fixture(autouse=True)
def every_size(at_once: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(gemm, "SMALL_PRODUCT", 0)
    monkeypatch.setattr(batched_gemm, "_LEAST_PAIR", 0)
    batched_gemm._layout_of.cache_clear()
    yield
    batched_gemm._layout_of.cache_clear()


def _whole_numbers(shape: tuple[int, ...], seed: int) -> Any:
    """Products of them are exact, so that one wrong number is seen."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


def _turned(x: Any) -> Any:
    return x.swapaxes(-1, -2)


def _heads(examples: int, words: int, heads: int, width: int) -> Any:
    return _whole_numbers((examples, words, heads, width), words).transpose(0, 2, 1, 3)


PAIRS = {
    "plain": (_whole_numbers((3, 20, 9), 1), _whole_numbers((3, 9, 33), 2)),
    "right turned": (_whole_numbers((3, 20, 9), 1), _turned(_whole_numbers((3, 33, 9), 2))),
    "left turned": (_turned(_whole_numbers((3, 9, 20), 1)), _whole_numbers((3, 9, 33), 2)),
    "heads, right turned": (_heads(2, 17, 3, 24), _turned(_heads(2, 19, 3, 24))),
    "heads": (_whole_numbers((2, 3, 17, 19), 1), _heads(2, 19, 3, 24)),
    "one left": (_whole_numbers((20, 9), 1), _whole_numbers((4, 9, 16), 2)),
    "one right": (_whole_numbers((2, 4, 20, 9), 1), _whole_numbers((1, 1, 9, 16), 2)),
    "repeated": (_whole_numbers((5, 1, 20, 9), 1), _whole_numbers((3, 9, 16), 2)),
    "long sums": (_whole_numbers((2, 5, 600), 1), _whole_numbers((2, 600, 50), 2)),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("parts", [1, 2, 7])
def test_products_are_exact(name: str, parts: int) -> None:
    a, b = PAIRS[name]
    wanted = np.matmul(a, b)
    # The rest of the array around the output must stay as it is.
    around = np.full((*wanted.shape[:-2], wanted.shape[-2] + 2, wanted.shape[-1] + 5), 7.0, "f")
    out = around[..., 1:-1, 3:-2]
    assert batched_gemm.multiply(a, b, out, parts)
    np.testing.assert_array_equal(out, wanted)
    out[...] = 7
    assert (around == 7).all()


def test_the_number_of_parts_changes_no_bit() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((6, 30, 70), dtype=np.float32), rng.random((6, 70, 40), dtype=np.float32)
    found = []
    for parts in (1, 2, 3, 6):
        out = np.empty((6, 30, 40), np.float32)
        assert batched_gemm.multiply(a, b, out, parts)
        found.append(out.tobytes())
    assert len(set(found)) == 1


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.ones((3, 20, 9)), np.ones((3, 9, 33))),  # float64
        (np.ones((3, 20, 9), "f"), np.ones((3, 9, 8), "f")),  # few columns
        (np.ones((3, 20, 9), "f"), np.ones((3, 9, 66), "f")[..., ::2]),
        (np.ones((3, 5, 9), "f"), np.ones((3, 33, 9), "f").swapaxes(1, 2)),  # few rows, turned
        (np.ones((2, 3, 4, 20, 9), "f").transpose(2, 1, 0, 3, 4), np.ones((4, 3, 2, 9, 16), "f")),
    ],
)
def test_what_is_left_to_numpy(a: Any, b: Any) -> None:
    wanted = np.matmul(a, b)
    assert not batched_gemm.multiply(a, b, np.empty_like(wanted), 1)
    np.testing.assert_array_equal(parallel.batch_of_products(a, b), wanted)


def test_results_of_heads_turn_back_without_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "MEDIUM_PRODUCT", 0)
    weights, values = PAIRS["heads"]
    mixed = parallel.batch_of_products(weights, values)
    np.testing.assert_array_equal(mixed, np.matmul(weights, values))
    assert mixed.transpose(0, 2, 1, 3).flags.c_contiguous
    assert parallel.batch_of_products(*PAIRS["plain"]).flags.c_contiguous


@pytest.mark.parametrize("batch", [(4,), (64, 3, 10)])
def test_columns_by_rows_have_the_bits_of_matmul(batch: tuple[int, ...]) -> None:
    random = np.random.default_rng(1)
    columns = np.asarray(random.standard_normal((*batch, 16, 1)), "f")
    rows = np.asarray(random.standard_normal((*batch[1:], 8, 1)), "f").swapaxes(-1, -2)
    columns[0, ..., ::3, :], rows[..., ::2] = -0.0, 1e-30
    got = parallel.batch_of_products(columns, rows)
    assert got.tobytes() == np.matmul(columns, rows).tobytes()
    with pytest.raises(ValueError, match=r"size 2 is different from 1|mismatch"):
        parallel.batch_of_products(columns, np.ones((2, 8), "f"))


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="mismatch"):
        parallel.batch_of_products(np.ones((2, 200, 90), "f"), np.ones((2, 91, 200), "f"))
