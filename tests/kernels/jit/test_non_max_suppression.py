"""Boxes kept by machine code are those that NumPy keeps."""

from __future__ import annotations

import numpy as np
import pytest

from dataflow.kernels import image
from tests.results_of import results_of

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("count", [0, 1, 7, 300])
@pytest.mark.parametrize("most", [0, 5, 1000])
def test_the_same_boxes(
    at_once: None, monkeypatch: pytest.MonkeyPatch, count: int, threshold: float, most: int
) -> None:
    rng = np.random.default_rng(count)
    boxes = rng.uniform(0, 1, (count, 4)).astype(np.float32)  # also with corners turned round
    scores = rng.integers(0, 50, count).astype(np.float32)  # with ties
    if count > 6:
        boxes[2], boxes[3, 0], boxes[4] = boxes[1], np.nan, 0.5
        boxes[5, 2] = np.inf
    used = results_of(monkeypatch, image, "suppressed")
    arguments = (boxes, scores, np.int32(most), np.float32(threshold), np.float32(3.0))
    with np.errstate(all="ignore"):
        got = image.non_max_suppression_kernel(np, *arguments)
        assert used[0] is not None
        monkeypatch.setattr(image, "suppressed", lambda *arguments: None)
        wanted = image.non_max_suppression_kernel(np, *arguments)
    np.testing.assert_array_equal(got, wanted)
    assert got.dtype == np.int32
