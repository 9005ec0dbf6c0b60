"""Products by tiles in registers give what BLAS gives, for every shape and layout."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from dataflow.kernels import parallel
from dataflow.kernels.jit import gemm
from dataflow.kernels.jit.isa import AVX2
from tests.results_of import results_of

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
pytestmark = pytest.mark.simd


@pytest.fixture(autouse=True)
def every_size(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemm, "SMALL_PRODUCT", 0)
    monkeypatch.setattr(gemm, "LEAST_ROWS", 1)
    monkeypatch.setattr(gemm, "LEAST_COLUMNS", 1)


def _whole_numbers(shape: tuple[int, ...], seed: int) -> Any:
    """Products of them are exact, so that one wrong number is seen."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


#: All heights and widths of tiles, sums over several panels, and several blocks of rows.
SHAPES = [
    *[(rows, 3, 48) for rows in range(1, 18)],
    *[(rows, 4, 20) for rows in range(1, 14)],
    *[(5, 6, columns) for columns in (1, 2, 15, 16, 17, 31, 32, 33, 47, 49, 64, 65, 80, 100)],
    *[(7, steps, 37) for steps in (1, 15, 16, 17, 255, 256, 257, 513, 700)],
    *[(511, 20, 18), (513, 260, 19), (1030, 5, 50)],
]


@pytest.mark.parametrize(("rows", "steps", "columns"), SHAPES)
def test_products_are_exact(rows: int, steps: int, columns: int) -> None:
    for transpose_a in (False, True):
        for transpose_b in (False, True):
            a = _whole_numbers((steps, rows) if transpose_a else (rows, steps), 1)
            b = _whole_numbers((columns, steps) if transpose_b else (steps, columns), 2)
            a, b = (a.T if transpose_a else a), (b.T if transpose_b else b)
            # The rest of the array around the output must stay as it is.
            around = np.full((rows + 2, columns + 21), 7, np.float32)
            out = around[1:-1, 3 : 3 + columns]
            assert gemm.multiply(a, b, out)
            np.testing.assert_array_equal(out, a @ b)
            out[...] = 7
            assert (around == 7).all()


def test_parts_of_arrays() -> None:
    a, b = _whole_numbers((40, 90), 1)[::3, 10:70:2], _whole_numbers((70, 120), 2)[::2, 7:40]
    a = a[:, :30]
    b = b[:30]
    out = np.empty((14, 33), np.float32)
    assert gemm.multiply(a, b, out)
    np.testing.assert_array_equal(out, a @ b)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("steps_of_left_are_far", [False, True])
def test_blocks_of_rows_share_panels(
    monkeypatch: pytest.MonkeyPatch, turned: bool, steps_of_left_are_far: bool
) -> None:
    """All that fit into a buffer; otherwise each block packs its own, with the same bits."""
    random = np.random.default_rng(0).standard_normal
    a = random((300, 600) if steps_of_left_are_far else (600, 300), np.float32)
    b = random((150, 300) if turned else (300, 150), np.float32)
    a, b = (a.T if steps_of_left_are_far else a), (b.T if turned else b)
    found = []
    for most_bytes in (gemm._MOST_KEPT_BYTES, 0):
        monkeypatch.setattr(gemm, "_MOST_KEPT_BYTES", most_bytes)
        gemm.lay_out.cache_clear()
        out = np.empty((600, 150), np.float32)
        layout = gemm.layout_of(a, b, out, 2)
        assert layout is not None
        assert [bool(part[4]) for part in layout.parts] == [most_bytes > 0] * 2
        assert gemm.multiply(a, b, out, 2)
        found.append(out)
    gemm.lay_out.cache_clear()
    np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(found[0], a @ b, atol=1e-4)


@pytest.mark.parametrize("rows", [256, 300, 1001])
@pytest.mark.parametrize("columns", [16, 20, 45, 64, 80, 130])
def test_a_transposed_left_matrix_whose_steps_are_far_apart(rows: int, columns: int) -> None:
    """It is copied strip by strip: the bits are those of the matrix that lies row by row."""
    numbers = np.random.default_rng(1).standard_normal((300, rows), np.float32)
    a, b = numbers.T, np.random.default_rng(2).standard_normal((300, columns), np.float32)
    assert a.strides[1] >= gemm.FAR
    out, want = (np.empty((rows, columns), np.float32) for _ in range(2))
    assert gemm.multiply(a, b, out)
    assert gemm.multiply(np.ascontiguousarray(a), b, want)
    assert out.tobytes() == want.tobytes()
    np.testing.assert_allclose(out, a @ b, rtol=1e-4, atol=1e-4)


def test_a_packed_right_matrix_leaves_such_a_left_one_alone() -> None:
    a, b = np.ones((150, 256), np.float32).T, np.ones((150, 80), np.float32)
    assert not gemm.PackedMatrix(b).multiply(a, np.empty((256, 80), np.float32), 1)


def test_nan_and_infinity_stay_in_their_rows_and_columns() -> None:
    a, b = np.ones((20, 40), np.float32), np.ones((40, 50), np.float32)
    a[3, 5], b[7, 49] = np.nan, np.inf
    for right in (b, np.asfortranarray(b)):
        out = np.empty((20, 50), np.float32)
        assert gemm.multiply(a, right, out)
        np.testing.assert_array_equal(out, a @ b)
        assert np.isfinite(np.delete(out, 3, 0)[:, :49]).all()


def test_what_is_left_to_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = np.ones((20, 40), np.float32), np.ones((40, 50), np.float32)
    out = np.empty((20, 50), np.float32)
    assert not gemm.multiply(a.astype(np.float64), b, out)
    assert not gemm.multiply(a, np.ones((40, 100), np.float32)[:, ::2], out)
    assert not gemm.multiply(a, b, np.empty((20, 100), np.float32)[:, ::2])
    monkeypatch.setattr(gemm, "needed_isa", lambda: AVX2._replace(blas_from=20 * 40 * 50))
    assert not gemm.multiply(a, b, out)
    assert gemm.multiply(a[:19], b, out[:19])
    monkeypatch.setattr(gemm, "SMALL_PRODUCT", 20 * 40 * 50 + 1)
    assert not gemm.multiply(a, b, out)


def test_several_threads_at_once() -> None:
    a, b = _whole_numbers((60, 300), 1), _whole_numbers((300, 70), 2)
    want = [(a + i) @ b for i in range(4)]
    wrong: list[int] = []

    def work(i: int) -> None:
        out = np.empty((60, 70), np.float32)
        for _ in range(50):
            out.fill(0)
            gemm.multiply(a + i, b, out)
            if not np.array_equal(out, want[i]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize(("m", "k", "n"), [(128, 64, 130), (410, 410, 413), (50, 1500, 1000)])
def test_matrix_product_uses_them(monkeypatch: pytest.MonkeyPatch, m: int, k: int, n: int) -> None:
    used = results_of(monkeypatch, gemm, "multiply")
    a, b = _whole_numbers((m, k), 1), _whole_numbers((k, n), 2)
    np.testing.assert_array_equal(parallel.matrix_product(a, b), a @ b)
    total = parallel.sum_of_products([a, a, a], [b, b, b])
    np.testing.assert_array_equal(total, 3 * (a @ b))
    assert used
    assert all(used)


@pytest.mark.parametrize("parts", [1, 2, 3])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("rows", "steps", "columns"),
    [(1, 3, 1), (5, 17, 64), (9, 256, 100), (50, 257, 131), (8, 700, 49), (512, 20, 33)],
)
def test_a_packed_matrix_serves_many_products(
    parts: int, turned: bool, rows: int, steps: int, columns: int
) -> None:
    b = _whole_numbers((columns, steps) if turned else (steps, columns), 2)
    b = b.T if turned else b
    packed = gemm.PackedMatrix(b)
    for seed in range(3):  # the first packs it
        for number in (rows, max(1, rows - 1)):
            a = _whole_numbers((number, steps), seed)
            around = np.full((number + 2, columns + 21), 7, np.float32)
            out = around[1:-1, 3 : 3 + columns]
            fits = columns >= parts
            assert packed.multiply(a, out, parts) == fits
            if fits:
                np.testing.assert_array_equal(out, a @ b)
            out[...] = 7
            assert (around == 7).all()
    other = gemm.PackedMatrix(b.astype(np.float64))
    assert not other.multiply(a, around[1:-1, 3 : 3 + columns], parts)
    assert not packed.multiply(
        _whole_numbers((513, steps), 0), np.empty((513, columns), "f"), parts
    )


def test_products_with_packed_matrices_use_them(monkeypatch: pytest.MonkeyPatch) -> None:
    used = results_of(monkeypatch, gemm.PackedMatrix, "multiply")
    a, b = _whole_numbers((50, 130), 1), _whole_numbers((130, 200), 2)
    packed = gemm.PackedMatrix(b)
    for _ in range(2):
        np.testing.assert_array_equal(parallel.product_with_packed(a, packed), a @ b)
    np.testing.assert_array_equal(parallel.product_with_packed(a[:2], packed), a[:2] @ b)
    assert used == [True, True]
    with pytest.raises(ValueError, match="shapes"):
        parallel.product_with_packed(a[:, :9], packed)
