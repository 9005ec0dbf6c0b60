"""`tf.estimator.BoostedTrees*`: the trees, predictions and explanations of TensorFlow 1.15.5, and pieces of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.estimator import tree_growth as growth
from dataflow.estimator.quantiles import (
    Quantiles,
    batch_summary,
    compressed,
    error_of,
    merged,
    summary_of_values,
)

fc = tf.feature_column
I = np.arange(60)
X = {
    "a": ((I * 17 % 60 - 30) / 10).astype("f"),
    "b": (I * 7 % 11).astype("f"),
    "c": I % 3,
    "w": (1 + I % 2).astype("f"),
}
Y = X["a"] * np.where(X["b"] > 4, 2, 1) + np.where(X["c"] == 1, 1.5, 0) + (I * 13 % 7) / 10
NUMBERS = Y.astype("f")
CLASSES = (NUMBERS > 1).astype(int)
CATEGORIES = fc.indicator_column(fc.categorical_column_with_identity("c", 3))
BUCKETS = [
    fc.bucketized_column(fc.numeric_column("a"), [-2.0, -1.0, 0.0, 1.0, 2.0]),
    fc.bucketized_column(fc.numeric_column("b"), [2.5, 4.5, 6.5]),
    CATEGORIES,
]
FLOATS = [fc.numeric_column("a"), fc.numeric_column("b"), CATEGORIES]


def inputs(labels: Any, batch: int = 60, epochs: int | None = None) -> Callable[[], Any]:
    return lambda: tf.data.Dataset.from_tensor_slices((X, labels)).batch(batch).repeat(epochs)


#: What TensorFlow 1.15.5 gives: steps, six predictions, their sum, and the columns' shares of the gain.
CASES: list[tuple[Any, Any, dict[str, Any], int, int, list[float], float, dict[str, float]]] = [
    (
        tf.estimator.BoostedTreesRegressor, BUCKETS,
        {"n_batches_per_layer": 3, "n_trees": 3, "max_depth": 3, "center_bias": True, "l2_regularization": 0.01},
        20, 36, [-0.80549, -0.7583, 1.14152, 2.88239, -1.35434, -0.10362], 45.2031,
        {"a_bucketized": 0.8704, "b_bucketized": 0.07769, "c": 0.0519},
    ),
    (
        tf.estimator.BoostedTreesClassifier, FLOATS,
        {"n_batches_per_layer": 1, "n_trees": 3, "max_depth": 3, "learning_rate": 0.4, "min_node_weight": 0.01,
         "l1_regularization": 0.002},
        60, 9, [-4.06631, -3.4146, -1.79455, 4.06848, -3.4146, -4.06631], -25.9373,
        {"a": 0.78876, "c": 0.17543, "b": 0.03581},
    ),
    (
        tf.estimator.BoostedTreesRegressor, BUCKETS,
        {"n_batches_per_layer": 1, "n_trees": 2, "max_depth": 4, "pruning_mode": "post", "tree_complexity": 0.3,
         "learning_rate": 0.5},
        60, 8, [-1.55615, -1.81451, 1.25899, 3.52788, -2.72951, -0.54101], 42.1589,
        {"a_bucketized": 0.90286, "c": 0.06306, "b_bucketized": 0.03408},
    ),
    (
        tf.estimator.BoostedTreesRegressor, BUCKETS,
        {"n_batches_per_layer": 1, "n_trees": 2, "max_depth": 4, "pruning_mode": "pre", "tree_complexity": 0.3,
         "learning_rate": 0.5},
        60, 17, [-1.55615, -1.81451, 1.25899, 3.52788, -2.72951, -0.54101], 42.1589,
        {"a_bucketized": 0.90286, "c": 0.06306, "b_bucketized": 0.03408},
    ),
    (
        tf.estimator.BoostedTreesClassifier, BUCKETS,
        {"n_batches_per_layer": 1, "n_trees": 2, "max_depth": 2, "weight_column": "w", "center_bias": True},
        60, 6, [-0.73074, -0.73074, -0.42955, 0.55156, -0.73074, -0.5941], -13.8201,
        {"a_bucketized": 1.0, "b_bucketized": 0.0, "c": 0.0},
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "columns", "settings", "batch", "steps", "first", "total", "shares"), CASES
)
def test_trees_are_those_of_tensorflow(
    kind: Any, columns: Any, settings: Any, batch: int, steps: int, first: Any, total: float,
    shares: Any,
) -> None:  # fmt: skip
    is_class = kind is tf.estimator.BoostedTreesClassifier
    labels = CLASSES if is_class else NUMBERS
    estimator = kind(columns, **settings)
    estimator.train(inputs(labels, batch), max_steps=300)
    assert estimator.get_variable_value("global_step") == steps
    key = "logits" if is_class else "predictions"
    found = [float(p[key][0]) for p in estimator.predict(inputs(labels, 60, 1))]
    np.testing.assert_allclose(found[:6], first, atol=2e-5)
    assert sum(found) == pytest.approx(total, abs=5e-4)
    importances = estimator.experimental_feature_importances(normalize=True)
    assert list(importances) == list(shares)
    assert importances == pytest.approx(shares, abs=2e-5)


def test_what_each_column_does_for_a_prediction() -> None:
    kind, columns, settings, batch, *_ = CASES[0]
    regressor = kind(columns, **settings)
    regressor.train(inputs(NUMBERS, batch))
    found = list(regressor.experimental_predict_with_explanations(inputs(NUMBERS, 60, 1)))
    assert found[1]["bias"] == pytest.approx(0.7561, abs=1e-5)
    assert found[1]["dfc"] == pytest.approx(
        {"a_bucketized": -1.00258, "b_bucketized": -0.55776, "c": 0.04595}, abs=1e-5
    )
    for one in found:
        assert one["bias"] + sum(one["dfc"].values()) == pytest.approx(
            float(one["predictions"][0]), abs=1e-5
        )
    assert "buckets" not in found[0]
    kind, columns, settings, batch, *_ = CASES[4]
    classifier = kind(columns, **settings)
    classifier.train(inputs(CLASSES, batch))
    keys = ["probabilities"]
    one = list(classifier.experimental_predict_with_explanations(inputs(CLASSES, 60, 1), keys))[1]
    assert sorted(one) == ["bias", "dfc", "probabilities"]
    assert one["bias"] == pytest.approx(0.44444, abs=1e-5)
    assert one["dfc"]["a_bucketized"] == pytest.approx(-0.11941, abs=1e-5)


def test_all_data_in_memory_evaluation_export_and_a_second_training(tmp_path: Path) -> None:
    def whole() -> Any:
        return {k: tf.constant(v) for k, v in X.items()}, tf.constant(CLASSES)

    classifier = tf.estimator.BoostedTreesClassifier(
        FLOATS, 1, str(tmp_path / "model"), n_trees=4, max_depth=3, train_in_memory=True
    )
    classifier.train(whole)
    assert classifier.evaluate(inputs(CLASSES, 60, 1))["accuracy"] > 0.9
    assert classifier.get_variable_value("boosted_trees/state")[growth.TREES] == 5
    trees = classifier.get_variable_value("boosted_trees/feature")
    classifier.train(whole, max_steps=100)
    assert classifier.get_variable_value("global_step") <= 14
    np.testing.assert_array_equal(trees, classifier.get_variable_value("boosted_trees/feature"))
    spec = {k: tf.placeholder(tf.float32, [None]) for k in "ab"}
    spec["c"] = tf.placeholder(tf.int64, [None])
    receiver = tf.estimator.export.build_raw_serving_input_receiver_fn(spec)
    folder = classifier.export_savedmodel(str(tmp_path / "exported"), receiver)
    predict = tf.contrib.predictor.from_saved_model(folder, signature_def_key="predict")
    wanted = [p["logits"] for p in classifier.predict(inputs(CLASSES, 60, 1))]
    given = predict({k: X[k] for k in "abc"})["logits"]
    np.testing.assert_allclose(given, np.array(wanted), rtol=1e-6)


def test_kept_sums_of_finished_trees_change_nothing() -> None:
    found = []
    for kept in (False, True):
        regressor = tf.estimator.BoostedTreesRegressor(
            BUCKETS, 1, n_trees=4, max_depth=2, center_bias=True, train_in_memory=kept,
            learning_rate=0.3,
        )  # fmt: skip
        regressor.train(lambda: ({k: tf.constant(v) for k, v in X.items()}, tf.constant(NUMBERS)))
        assert "boosted_trees/past_logits" not in regressor.get_variable_names()
        found.append([p["predictions"][0] for p in regressor.predict(inputs(NUMBERS, 60, 1))])
    np.testing.assert_allclose(*found, rtol=1e-5)


def test_a_head_of_ones_own() -> None:
    head = tf.contrib.estimator.regression_head(
        loss_fn=lambda labels, logits: (labels - logits) ** 2
    )
    own = tf.estimator.BoostedTreesEstimator(BUCKETS, 1, head, n_trees=2, max_depth=3)
    same = tf.estimator.BoostedTreesRegressor(BUCKETS, 1, n_trees=2, max_depth=3)
    found = []
    for estimator in (own, same):
        estimator.train(inputs(NUMBERS))
        found.append([p["predictions"][0] for p in estimator.predict(inputs(NUMBERS, 60, 1))])
    np.testing.assert_allclose(*found, rtol=1e-5)


def test_what_does_not_go_together() -> None:
    classifier, regressor = (
        tf.estimator.BoostedTreesClassifier,
        tf.estimator.BoostedTreesRegressor,
    )
    with pytest.raises(ValueError, match="only binary classification"):
        classifier(BUCKETS, 1, n_classes=3)
    with pytest.raises(ValueError, match="only 1 dimension regression"):
        regressor(BUCKETS, 1, label_dimension=2)
    with pytest.raises(ValueError, match="no effect unless pruning"):
        regressor(BUCKETS, 1, tree_complexity=0.1)
    with pytest.raises(ValueError, match="tree_complexity must be positive"):
        regressor(BUCKETS, 1, pruning_mode="pre")
    with pytest.raises(ValueError, match="Invalid pruning mode"):
        regressor(BUCKETS, 1, pruning_mode="some")
    with pytest.raises(ValueError, match="as a single batch"):
        regressor(BUCKETS, 2, train_in_memory=True)
    with pytest.raises(ValueError, match="one logit"):
        tf.estimator.BoostedTreesEstimator(BUCKETS, 1, tf.estimator.MultiClassHead(3))
    with pytest.raises(ValueError, match="wrapped by IndicatorColumn"):
        regressor([fc.categorical_column_with_identity("c", 3)], 1)
    with pytest.raises(ValueError, match="rank 1"):
        regressor([fc.bucketized_column(fc.numeric_column("m", (2,)), [1.0])], 1)
    with pytest.raises(ValueError, match="rank of 1"):
        regressor([fc.numeric_column("m", (2, 2))], 1)
    with pytest.raises(ValueError, match="unexpected feature column"):
        regressor([fc.embedding_column(CATEGORIES.categorical_column, 2)], 1)
    untrained = regressor(BUCKETS, 1)
    with pytest.raises(ValueError, match="has not been trained"):
        untrained.experimental_feature_importances()
    with pytest.raises(ValueError, match="center_bias must be enabled"):
        next(untrained.experimental_predict_with_explanations(inputs(NUMBERS)))


def test_splits_of_small_sums() -> None:
    sums = np.zeros((1, 2, 3, 2), "f")
    sums[0, 0] = [[1, 2], [-3, 1], [2, 0.5]]
    sums[0, 1] = [[0.1, 1], [0.2, 1], [0.3, 1]]
    # These are what BoostedTreesCalculateBestGainsPerFeature of TensorFlow 1.15.5 gives.
    plain = growth.Settings(1, 3, 0.1, 0.0, 0.0, 0.0, 0.0, "none")
    found = growth.best_splits(sums, plain)
    np.testing.assert_allclose(found.gain, [9.333333, 0.015], rtol=1e-5)
    assert found.threshold.tolist() == [1, 0] and found.allowed.all()
    np.testing.assert_allclose(found.left, [2 / 3, -0.1], rtol=1e-5)
    np.testing.assert_allclose(found.right, [-4, -0.25], rtol=1e-5)
    found = growth.best_splits(sums, plain._replace(l1=0.5, l2=1.0, tree_complexity=0.1))
    np.testing.assert_allclose(found.gain, [1.9625, -0.1], rtol=1e-5)
    assert found.threshold.tolist() == [1, 2]
    np.testing.assert_allclose(found.left, [0.375, -0.025], rtol=1e-5)
    np.testing.assert_allclose(found.right, [-1, 0], atol=1e-6)
    found = growth.best_splits(sums, plain._replace(l2=0.1, min_node_weight=3.2))
    assert found.allowed.tolist() == [True, False]


def test_equal_gains_are_the_first_features() -> None:
    one = np.array([[[1, 2], [-3, 1]]], "f")
    found = growth.best_splits(
        np.stack([one, one, one]), growth.Settings(1, 1, 1, 0, 0, 0, 0, "none")
    )
    assert found.feature.tolist() == [0]


def test_summaries_of_values() -> None:
    values, weights = np.array([3, 1, 3, 2, 5], "f"), np.array([1, 1, 2, 0, 1], "f")
    summary = summary_of_values(values, weights)
    assert summary.tolist() == [[1, 1, 0, 1], [3, 3, 1, 4], [5, 1, 4, 5]]
    other = summary_of_values(np.array([2, 3, 9], "f"), np.ones(3, "f"))
    both = merged(summary, other)
    assert both[:, :2].tolist() == [[1, 1], [2, 1], [3, 4], [5, 1], [9, 1]]
    assert both[:, 2:].tolist() == [[0, 1], [1, 2], [2, 6], [6, 7], [7, 8]]
    assert error_of(both) == pytest.approx(0) and merged(both, both[:0]) is both
    few = compressed(summary_of_values(np.arange(50, dtype="f"), np.ones(50, "f")), 10, 0.01)
    assert len(few) in (10, 11) and few[0, 0] == 0 and few[-1, 0] == 49


@pytest.mark.parametrize("size", [50, 400, 7000])
def test_boundaries_leave_about_as_much_between_each_two(size: int) -> None:
    random, stream = np.random.RandomState(0), Quantiles(0.01)
    parts = [random.randn(size).astype("f") for _ in range(3)]
    for part in parts:
        stream.add_summary(batch_summary(part, np.ones(size, "f"), 0.01))
    cuts = stream.boundaries(20)
    assert np.all(np.diff(cuts) > 0) and 15 <= len(cuts) <= 21
    counts = np.histogram(np.concatenate(parts), [-np.inf, *cuts[1:-1], np.inf])[0]
    assert counts.max() <= 3 * size * (1 / 20 + 0.06)
