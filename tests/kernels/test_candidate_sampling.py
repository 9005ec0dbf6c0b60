"""Numbers drawn ahead are those that each run would draw itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dataflow.kernels import candidate_sampling
from dataflow.kernels.philox import Stream, uniform


@pytest.mark.parametrize("count", [1, 4, 6, 128])
def test_rows_drawn_ahead_continue_one_stream(count: int) -> None:
    ahead = candidate_sampling.Ahead(Stream(3, 4), lambda numbers: numbers * 2)
    alone = Stream(3, 4)
    for _ in range(200):
        np.testing.assert_array_equal(
            ahead.draw(count), uniform(np, alone, count, np.dtype(np.float64)) * 2
        )


def test_long_rows_are_not_made_for_many_runs() -> None:
    stream = Stream(3, 4)
    ahead = candidate_sampling.Ahead(stream, lambda numbers: numbers)
    for _ in range(9):
        ahead.draw(1 << 15)
    assert stream.blocks <= 10 * (1 << 15) // 4


@pytest.mark.parametrize("unique", [True, False])
def test_tables_change_nothing(monkeypatch: pytest.MonkeyPatch, unique: bool) -> None:
    wanted = {"num_true": 1, "num_sampled": 9, "unique": unique, "range_max": 30, "seed": 1}

    def runs() -> list[Any]:
        context = SimpleNamespace(state={})
        true = np.arange(12, dtype=np.int64)[:, None]
        return [
            part
            for _ in range(40)
            for part in candidate_sampling.log_uniform_sampler_kernel(
                context, true, seed2=2, **wanted
            )
        ]

    quick = runs()
    monkeypatch.setattr(candidate_sampling, "_MOST_KEPT_CLASSES", 0)
    for got, slow in zip(quick, runs(), strict=True):
        np.testing.assert_array_equal(got, slow)
        assert got.dtype == slow.dtype
