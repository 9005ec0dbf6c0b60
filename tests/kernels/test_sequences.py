"""Kernels of the ops in `dataflow.ops.sequences` that samples alone do not show."""

import numpy as np

from dataflow.kernels import sequences


def test_targets_among_the_largest() -> None:
    predictions = np.random.default_rng(0).random((9, 37)).astype(np.float32).round(1)
    predictions[3, 4], predictions[5, 6] = np.nan, np.inf
    targets = np.array([0, 5, 36, 4, 1, 2, -1, 37, 9])
    got = sequences.in_top_k_kernel(np, predictions, targets, 20)
    wanted = [
        bool(0 <= target < 37 and np.isfinite(row).all() and (row > row[target]).sum() < 20)
        for row, target in zip(predictions, targets, strict=True)
    ]
    assert got.tolist() == wanted
    assert not got[[3, 5, 6, 7]].any() and got.any()
