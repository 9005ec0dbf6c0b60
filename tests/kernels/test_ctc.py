"""CTC's loss by scaled probabilities, and by logarithms where these are too small."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from dataflow.errors import InvalidArgumentError
from dataflow.kernels import ctc


def _loss(inputs: Any, labels: list[list[int]], lengths: Any, **options: bool) -> tuple[Any, Any]:
    given = {
        "preprocess_collapse_repeated": False,
        "ctc_merge_repeated": True,
        "ignore_longer_outputs_than_inputs": True,
        **options,
    }
    indices = [(b, i) for b, label in enumerate(labels) for i in range(len(label))]
    values = np.array([v for label in labels for v in label], np.int32)
    where = np.array(indices, np.int64).reshape(-1, 2)
    return ctc.ctc_loss_kernel(np, inputs, where, values, np.asarray(lengths), **given)


def _by_all_paths(log_y: Any, label: list[int]) -> float:
    """The definition: the sum over all paths that become the label."""
    blank, total = log_y.shape[1] - 1, -np.inf
    for path in itertools.product(range(blank + 1), repeat=len(log_y)):
        if [k for k, _ in itertools.groupby(path) if k != blank] == label:
            total = np.logaddexp(total, sum(log_y[t, k] for t, k in enumerate(path)))
    return -float(total)


@pytest.mark.parametrize("scale", [1.0, 30.0, 400.0])
def test_the_loss_is_that_of_all_paths(scale: float) -> None:
    inputs = np.random.default_rng(0).normal(0, scale, (5, 4, 3))
    labels, lengths = [[0, 1], [1, 1], [], [1]], [5, 4, 3, 5]
    loss, _ = _loss(inputs, labels, lengths)
    log_y = ctc.log_softmax(inputs)
    wanted = [_by_all_paths(log_y[:n, b], labels[b]) for b, n in enumerate(lengths)]
    np.testing.assert_allclose(loss, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("scale", [0.0, 3.0, 500.0])
@pytest.mark.parametrize("merge", [True, False])
def test_scaled_probabilities_and_logarithms_agree(
    monkeypatch: pytest.MonkeyPatch, scale: float, merge: bool
) -> None:
    rng = np.random.default_rng(1)
    inputs = rng.normal(0, scale, (30, 6, 5)).astype(np.float32)
    labels = [rng.integers(0, 4, n).tolist() for n in (0, 1, 3, 9, 12, 25)]
    lengths = [0, 1, 30, 25, 30, 30]
    got = _loss(inputs, labels, lengths, ctc_merge_repeated=merge)
    monkeypatch.setattr(ctc, "_DOUBTFUL", np.inf)
    wanted = _loss(inputs, labels, lengths, ctc_merge_repeated=merge)
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_what_no_number_holds_is_computed_by_logarithms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each label costs 300: their product is smaller than any number, and the loss is 1800."""
    asked = []
    slow = ctc._in_logarithms

    def watched(*given: Any) -> Any:
        asked.append(given)
        return slow(*given)

    monkeypatch.setattr(ctc, "_in_logarithms", watched)
    inputs = np.zeros((12, 2, 3))
    inputs[:, 0, 2] = 300.0
    loss, gradient = _loss(inputs, [[0, 1, 0, 1, 0, 1], [0]], [12, 12])
    assert len(asked) == 1 and asked[0][0].shape[1] == 1
    assert 1700 < loss[0] <= 1800 and 0 < loss[1] < 12
    assert np.isfinite(gradient).all() and abs(gradient[:, 0].sum()) < 1e-6


def test_impossible_and_broken_sequences() -> None:
    """As TensorFlow: an infinite loss, whose gradient is the softmax, and NaN where an input is none."""
    inputs = np.zeros((3, 4, 4), np.float32)
    inputs[:, 1, 0] = -np.inf
    inputs[1, 2] = np.nan
    loss, gradient = _loss(inputs, [[0, 0, 1], [0], [1], [2, 2]], [3, 3, 3, 2])
    assert loss[0] == loss[1] == loss[3] == np.inf and np.isnan(loss[2])
    assert (gradient[:, 0] == 0.25).all() and np.isnan(gradient[:, 2]).all()
    np.testing.assert_allclose(gradient[:, 1], [[0, 1 / 3, 1 / 3, 1 / 3]] * 3, rtol=1e-6)
    assert (gradient[:2, 3] == 0.25).all() and not gradient[2, 3].any()


@pytest.mark.parametrize("length", [0, 2])
def test_more_labels_than_times(length: int) -> None:
    inputs = np.zeros((3, 2, 4), np.float32)
    with pytest.raises(InvalidArgumentError, match=f"required: 3, available: {length}"):
        _loss(inputs, [[0, 1, 0], [0]], [length, 3], ignore_longer_outputs_than_inputs=False)
    loss, gradient = _loss(inputs, [[0, 1, 0], [0]], [length, 3])
    assert loss[0] == 0 and loss[1] > 1 and not gradient[:, 0].any() and gradient[:, 1].any()
