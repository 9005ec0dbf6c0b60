"""Different numbers and hashes by machine code: what NumPy's kernels give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels import sequences, sparse_cross
from dataflow.kernels.jit import cross_hashes, distinct
from dataflow.kernels.sequences import first_appearances

VECTORS = {
    "few": [3, 3, 0, 7, 0, 3],
    "one": [5],
    "all the same": [4] * 50,
    "none the same": list(range(99, -1, -1)),
    "many": np.random.default_rng(0).integers(0, 3000, 20_000).tolist(),
}


@pytest.fixture(autouse=True)
def compiled(at_once: None) -> None:
    pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")


@pytest.mark.parametrize("which_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("name", VECTORS)
def test_different_numbers(name: str, dtype: Any, which_dtype: Any) -> None:
    x = np.array(VECTORS[name], dtype)
    found = distinct.distinct(x, which_dtype)
    assert found is not None
    values, which = found
    assert values.tolist() == list(dict.fromkeys(VECTORS[name])) and values.dtype == dtype
    assert values[which].tolist() == VECTORS[name] and which.dtype == which_dtype


@pytest.mark.parametrize("x", [[3, -1, 3], [0, 1 << 40, 0], [1 << 20, 5, 1 << 20]])
def test_numbers_that_lie_far_apart_are_not_for_it(x: list[int]) -> None:
    assert distinct.distinct(np.array(x), np.int64) is None
    values, which = first_appearances(np.array(x), np.int32)
    assert values.tolist() == list(dict.fromkeys(x)) and which.dtype == np.int32
    assert values[which].tolist() == x


def test_a_part_of_an_array_is_not_for_it() -> None:
    x = np.arange(20)[::2]
    assert distinct.distinct(x, np.int64) is None
    assert first_appearances(x)[0].tolist() == x.tolist()


def test_a_lookup_wants_a_row_for_each_id() -> None:
    params, ids = np.arange(12.0).reshape(6, 2), np.array([5, 0, 5])
    at = np.array([[0, 0], [1, 3], [2, 0]])
    found = distinct.look_up(params, at, ids)
    assert found is not None
    rows, segments, different, which = found
    assert rows.tolist() == [[10, 11], [0, 1], [10, 11]] and segments.tolist() == [0, 1, 2]
    assert different.tolist() == [5, 0] and which.tolist() == [0, 1, 0]
    assert distinct.look_up(params, at[::-1].copy(), ids) is None
    assert distinct.look_up(params, at, ids + 1) is None
    assert distinct.look_up(params, at, ids - 1) is None
    assert distinct.look_up(params[:, :1], at, ids) is None  # its rows lie apart


@pytest.mark.parametrize("buckets", [0, 1, 7, 1000, (1 << 63) - 1])
@pytest.mark.parametrize("features", [1, 2, 5])
def test_hashes_of_crosses(features: int, buckets: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(features)
    at = np.stack([np.arange(30), np.zeros(30, int)], 1)
    words = [np.array([b"w%d" % i for i in rng.integers(0, 9, 30)], object)]
    numbers = [rng.integers(-(1 << 62), 1 << 62, 30) for _ in range(features - 1)]
    given = [[at] * features, words + numbers, [np.array([30, 1])] * features, []]
    options = {"hashed_output": True, "hash_key": 0xDECAFCAFFE, "out_type": None}
    results = []
    for by_machine in (True, False):
        if not by_machine:
            monkeypatch.setattr(sparse_cross, "cross_hashes", lambda *arguments: None)
        results.append(
            sparse_cross.sparse_cross_kernel(
                np, *given, num_buckets=buckets, internal_type=None, **options
            )[1]
        )
    assert cross_hashes.cross_hashes([np.array([1], np.uint64)], 2, 3) is not None
    assert results[0].dtype == results[1].dtype == np.int64
    np.testing.assert_array_equal(*results)


def test_a_fingerprint_that_was_forgotten_is_computed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = np.array([b"x", b"yy", b"x", b"zzz", b"x"], object)
    wanted = sparse_cross._fingerprints(words)
    monkeypatch.setattr(sparse_cross, "_MOST_KEPT", 1)
    monkeypatch.setattr(sparse_cross, "_fingerprint", sparse_cross._Fingerprints().__getitem__)
    np.testing.assert_array_equal(sparse_cross._fingerprints(words), wanted)


def test_unique_has_the_dtype_that_is_asked_for() -> None:
    from dataflow.dtypes import int32, int64

    for out_idx in (int32, int64):
        _, which = sequences.unique_kernel(np, np.array([4, 4, 1]), out_idx=out_idx)
        assert which.tolist() == [0, 0, 1] and which.dtype == out_idx.numpy
