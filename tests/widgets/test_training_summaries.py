"""What a `TrainingMonitor` keeps: curves, histograms, confusion matrices, samples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dataflow_widgets.training_monitor.curves import CAPACITY, Curve
from dataflow_widgets.training_monitor.summaries import MAX_SLICES, Distribution, confusion, samples

# ---- curves -----------------------------------------------------------------------------------


def test_a_short_curve_is_kept_as_it_is() -> None:
    curve = Curve()
    for i in range(10):
        curve.append(i, i * 0.5)
    assert curve.rows()[:, 1].tolist() == [i * 0.5 for i in range(10)]
    assert (curve.stride, len(curve)) == (1, 10)


def test_a_long_curve_keeps_its_mean_and_extremes_in_bounded_memory() -> None:
    curve = Curve()
    values = np.random.default_rng(0).normal(size=50_000)
    values[31_415] = 99.0
    values[27_182] = -77.0
    for i, value in enumerate(values):
        curve.append(i, value)
    rows = curve.rows()
    assert len(rows) <= CAPACITY
    assert curve.stride == 64
    assert curve.extremes() == (-77.0, 99.0)
    assert rows[-1, 0] == 49_999
    whole = values[: 64 * (len(values) // 64)].reshape(-1, 64)
    np.testing.assert_allclose(rows[: len(whole), 1], whole.mean(axis=1), atol=1e-12)
    np.testing.assert_array_equal(rows[: len(whole), 2], whole.min(axis=1))
    np.testing.assert_array_equal(rows[: len(whole), 3], whole.max(axis=1))


def test_values_that_are_not_finite_are_counted_and_left_out() -> None:
    curve = Curve()
    for i in range(2 * CAPACITY + 2):
        curve.append(i, math.nan if i % 4 < 2 else (math.inf if i == 6 else 1.0))
    rows = curve.rows()
    assert curve.first_bad == 0
    assert curve.num_bad == 2 * (CAPACITY // 2) + 2 + 1
    assert set(rows[np.isfinite(rows[:, 1]), 1]) == {1.0}
    assert np.isnan(rows[:, 1]).any() or curve.stride == 4
    only = Curve()
    only.append(0, math.nan)
    assert only.extremes() is None


# ---- histograms, matrices, samples -------------------------------------------------------------


def test_histograms_over_time_are_thinned_and_end_with_the_newest() -> None:
    shown = Distribution()
    for step in range(500):
        shown.append(step, np.arange(10.0) + step)
    table = shown.table()
    assert 10 < len(table) <= MAX_SLICES
    assert table[-1, 0] == 499
    assert table[-1, 1:4].tolist() == [499.0, 508.0, 0.0]
    assert np.all(np.diff(table[:, 0]) > 0)
    assert np.all(table[:, 4:].sum(axis=1) == 10)


@pytest.mark.parametrize("value", [np.full(5, 2.0), np.array([2.0])])
def test_a_histogram_of_equal_values_has_one_bin(value: Any) -> None:
    shown = Distribution()
    shown.append(1, value)
    assert np.count_nonzero(shown.table()[0, 4:]) == 1


def test_a_histogram_says_how_many_are_not_finite() -> None:
    shown = Distribution()
    shown.append(1, np.array([1.0, math.nan, math.inf, 3.0]))
    assert shown.table()[0, 1:4].tolist() == [1.0, 3.0, 2.0]
    shown.append(2, np.array([math.nan]))
    assert np.isnan(shown.table()[1, 1])


def test_confusion_counts_as_scikit_learn_does() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    true, predicted = rng.integers(0, 7, 300), rng.integers(0, 7, 300)
    made = confusion(true, np.eye(7)[predicted], None, None)
    np.testing.assert_array_equal(made.counts, metrics.confusion_matrix(true, predicted))
    assert made.accuracy == metrics.accuracy_score(true, predicted)


def test_the_most_frequent_mistakes_come_first() -> None:
    made = confusion([0, 0, 0, 1, 2], [1, 1, 0, 2, 2], ["a", b"b", "c"], 3)
    assert made.confused() == [("a", "b", 2), ("b", "c", 1)]


@pytest.mark.parametrize(
    ("true", "predicted", "names", "says"),
    [
        ([0, 1], [0], None, "one each"),
        ([], [], None, "at least one"),
        ([-1], [0], None, "negative"),
        ([0, 3], [0, 1], ["a", "b"], "has 2 names"),
        ([0, 500], [0, 1], None, "at most 100"),
    ],
)
def test_a_bad_confusion(true: Any, predicted: Any, names: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        confusion(true, predicted, names, None)


def test_class_numbers_must_be_whole() -> None:
    with pytest.raises(TypeError, match="class numbers"):
        confusion([0.5], [0], None, None)


def test_images_are_bytes_of_a_bounded_size() -> None:
    made = samples(np.ones((30, 100, 80)) * 0.5, np.zeros(30, int), None, ["x"], None, None)
    assert made.images is not None
    assert made.images.shape == (24, 50, 40, 1)
    assert made.images.max() == made.images.min() == 128
    assert made.predicted == ["x"] * 24
    flat = samples(np.arange(8).reshape(2, 4), [0, 1], [1, 1], None, (2, 2), None)
    assert flat.images is not None
    assert (int(flat.images.min()), int(flat.images.max())) == (0, 255)
    assert flat.true == ["1", "1"]


def test_texts_are_samples_too() -> None:
    made = samples([b"good film", "bad film"], ["+", "-"], ["+", "+"], None, None, 5)
    assert made.texts == ["good film", "bad film"]
    assert made.images is None


@pytest.mark.parametrize(
    ("inputs", "predicted", "says"),
    [
        (np.zeros((2, 4)), [0, 1], "image_shape="),
        (np.zeros((2, 4, 4)), [0], "1 labels for 2 inputs"),
        ([], [], "at least one input"),
    ],
)
def test_bad_samples(inputs: Any, predicted: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        samples(inputs, predicted, None, None, None, None)
