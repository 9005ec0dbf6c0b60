"""Streaming metrics over several batches, against scikit-learn, NumPy and TensorFlow's values."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as sk

import dataflow as tf

LABELS = np.array([0, 1, 1, 0, 1, 1, 0, 0])
SCORES = np.array([0.1, 0.9, 0.4, 0.8, 0.7, 0.65, 0.2, 0.3], np.float32)
WEIGHTS = np.array([1.0, 2, 3, 1, 2, 1, 1, 3], np.float32)


pytestmark = pytest.mark.usefixtures("graph")


def stream(make, *columns, batch=3):
    """The value after all batches, which the last update must have given as well."""
    holders = [
        tf.placeholder(tf.as_dtype(np.asarray(c).dtype), [None, *np.shape(c)[1:]]) for c in columns
    ]
    value, update = make(*holders)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        for start in range(0, len(columns[0]), batch):
            feed = {h: c[start : start + batch] for h, c in zip(holders, columns, strict=True)}
            last = sess.run(update, feed)
        result = sess.run(value)
    return result, last


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("accuracy", sk.accuracy_score),
        ("precision", sk.precision_score),
        ("recall", sk.recall_score),
    ],
)
def test_classification_against_sklearn(name, expected, weighted):
    predictions = (SCORES > 0.5).astype(np.int64)
    metric = getattr(tf.metrics, name)
    if weighted:
        got, last = stream(lambda y, p, w: metric(y, p, weights=w), LABELS, predictions, WEIGHTS)
        want = expected(LABELS, predictions, sample_weight=WEIGHTS)
    else:
        got, last = stream(metric, LABELS, predictions)
        want = expected(LABELS, predictions)
    np.testing.assert_allclose([got, last], want, rtol=1e-6)


def test_regression_errors_against_numpy():
    y = np.arange(8, dtype=np.float32)
    p = y + np.array([1, -1, 2, 0, 0, 3, 1, -2], np.float32)
    for name, want in {
        "mean_absolute_error": np.mean(np.abs(y - p)),
        "mean_squared_error": np.mean((y - p) ** 2),
        "root_mean_squared_error": np.sqrt(np.mean((y - p) ** 2)),
    }.items():
        np.testing.assert_allclose(stream(getattr(tf.metrics, name), y, p), want, rtol=1e-6)
    got = stream(lambda y, p: tf.metrics.mean_relative_error(y, p, y), y, p)
    np.testing.assert_allclose(got, np.mean(np.abs(y - p)[1:] / y[1:]) * 7 / 8, rtol=1e-6)


def test_cosine_distance_of_unit_vectors():
    a = np.array([[1, 0], [0, 1], [1, 0], [0.6, 0.8]], np.float32)
    b = np.array([[1, 0], [1, 0], [-1, 0], [0.8, 0.6]], np.float32)
    got = stream(lambda x, y: tf.metrics.mean_cosine_distance(x, y, dim=1), a, b)
    np.testing.assert_allclose(got, 1 - np.mean(np.sum(a * b, 1)), rtol=1e-6)


def test_auc_approaches_the_exact_area():
    rng = np.random.RandomState(0)
    labels = rng.randint(0, 2, 400)
    scores = np.clip(0.3 * labels + rng.rand(400) * 0.7, 0, 1).astype(np.float32)
    got = stream(tf.metrics.auc, labels, scores, batch=100)
    np.testing.assert_allclose(got, sk.roc_auc_score(labels, scores), atol=2e-3)
    careful = stream(
        lambda y, s: tf.metrics.auc(
            y, s, curve="PR", summation_method="careful_interpolation", num_thresholds=400
        ),
        labels,
        scores,
        batch=100,
    )
    np.testing.assert_allclose(careful, sk.average_precision_score(labels, scores), atol=5e-3)


def test_auc_bounds_enclose_it():
    low, mid, high = (
        stream(
            lambda y, s, m=m: tf.metrics.auc(y, s, num_thresholds=4, summation_method=m),
            LABELS,
            SCORES,
        )[0]
        for m in ("minoring", "trapezoidal", "majoring")
    )
    assert low <= mid <= high
    assert low < high


@pytest.mark.parametrize("weighted", [False, True])
def test_counts_add_up(weighted):
    said = SCORES > 0.5
    true = LABELS.astype(bool)
    w = WEIGHTS if weighted else np.ones(8, np.float32)
    for name, met in {
        "true_positives": true & said,
        "false_positives": ~true & said,
        "true_negatives": ~true & ~said,
        "false_negatives": true & ~said,
    }.items():
        got = stream(lambda y, p, w, n=name: getattr(tf.metrics, n)(y, p, weights=w), true, said, w)
        np.testing.assert_allclose(got, w[met].sum())
        at = stream(
            lambda y, s, w, n=name: getattr(tf.metrics, n + "_at_thresholds")(y, s, [0.5], w),
            true,
            SCORES,
            w,
        )
        np.testing.assert_allclose(at, [[w[met].sum()]] * 2)


def test_precision_and_recall_at_thresholds():
    cuts = [0.25, 0.5, 0.85]
    got = stream(lambda y, s: tf.metrics.precision_at_thresholds(y, s, cuts), LABELS, SCORES)[0]
    np.testing.assert_allclose(
        got, [sk.precision_score(LABELS, np.greater(SCORES, c)) for c in cuts], rtol=1e-6
    )
    got = stream(lambda y, s: tf.metrics.recall_at_thresholds(y, s, cuts), LABELS, SCORES)[0]
    np.testing.assert_allclose(
        got, [sk.recall_score(LABELS, np.greater(SCORES, c)) for c in cuts], rtol=1e-6
    )


def test_sensitivity_and_specificity():
    # Above 0.5: 3 of 4 positives and 1 of 4 negatives.
    got = stream(lambda y, s: tf.metrics.sensitivity_at_specificity(y, s, 0.75), LABELS, SCORES)
    np.testing.assert_allclose(got, 1.0, rtol=1e-6)  # already so at 0.31: only 0.8 is wrong
    got = stream(lambda y, s: tf.metrics.specificity_at_sensitivity(y, s, 0.75), LABELS, SCORES)
    np.testing.assert_allclose(got, 0.75, rtol=1e-6)


def test_mean_iou_and_per_class_accuracy():
    y = np.array([0, 1, 2, 2, 1, 0, 0])
    p = np.array([0, 1, 2, 1, 1, 2, 0])
    got, _ = stream(lambda a, b: tf.metrics.mean_iou(a, b, 3), y, p)
    np.testing.assert_allclose(got, np.mean(sk.jaccard_score(y, p, average=None)), rtol=1e-6)
    got, each = stream(lambda a, b: tf.metrics.mean_per_class_accuracy(a, b, 3), y, p)
    np.testing.assert_allclose(each, [2 / 3, 1, 1 / 2], rtol=1e-6)
    np.testing.assert_allclose(got, np.mean(each), rtol=1e-6)


def test_top_k_with_dense_and_sparse_labels():
    scores = np.array([[0.5, 0.3, 0.2, 0.0], [0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]], "f")
    labels = np.array([[0, 2], [1, 0], [1, 3]])
    for sparse in (False, True):
        if sparse:
            rows, cols = np.indices(labels.shape)
            y = tf.SparseTensor(
                np.stack([rows.ravel(), cols.ravel()], 1).astype(np.int64), labels.ravel(), [3, 5]
            )
        else:
            y = tf.constant(labels)
        pairs = {
            "precision": tf.metrics.precision_at_k(y, scores, 2),
            "recall": tf.metrics.recall_at_k(y, scores, 2),
            "class": tf.metrics.precision_at_k(y, scores, 2, class_id=1),
            "average": tf.metrics.average_precision_at_k(y, scores, 3),
        }
        with tf.Session() as sess:
            sess.run(tf.local_variables_initializer())
            assert np.isnan(sess.run(pairs["precision"][0]))
            got = {k: sess.run(update) for k, (_, update) in pairs.items()}
        assert got["precision"] == pytest.approx(2 / 6)  # 0 of {0, 1}; none of {3, 2}; 1 of {0, 1}
        assert got["recall"] == pytest.approx(2 / 6)
        assert got["class"] == pytest.approx(1 / 2)
        # Hits at ranks 1 and 3; at rank 3; at rank 2; each divided by two labels.
        average = [(1 + 2 / 3) / 2, (1 / 3) / 2, (1 / 2) / 2]
        assert got["average"] == pytest.approx(np.mean(average))


def test_variables_are_local_and_named_as_in_tensorflow():
    value, update = tf.metrics.accuracy([1, 0], [1, 1])
    tf.metrics.precision([1, 0], [1, 1])
    tf.metrics.accuracy([1, 0], [1, 1])
    names = [
        "accuracy/total:0",
        "accuracy/count:0",
        "precision/true_positives/count:0",
        "precision/false_positives/count:0",
        "accuracy_1/total:0",
        "accuracy_1/count:0",
    ]
    assert [v.name for v in tf.local_variables()] == names
    assert [v.name for v in tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)] == names
    assert tf.global_variables() == []
    assert tf.trainable_variables() == []
    assert (value.name, update.name) == ("accuracy/value:0", "accuracy/update_op:0")


def test_collections_that_were_asked_for():
    value, update = tf.metrics.mean([1.0], metrics_collections="m", updates_collections=["u"])
    assert tf.get_collection("m") == [value]
    assert tf.get_collection("u") == [update]


def test_mean_tensor_and_percentage():
    with tf.Session() as sess:
        x = tf.placeholder(tf.float32, [2])
        value, update = tf.metrics.mean_tensor(x)
        below, update_below = tf.metrics.percentage_below(x, 2.5)
        sess.run(tf.local_variables_initializer())
        for row in ([1.0, 2.0], [3.0, 6.0]):
            sess.run([update, update_below], {x: row})
        np.testing.assert_allclose(sess.run(value), [2.0, 4.0])
        assert sess.run(below) == pytest.approx(0.5)


def test_mistakes_say_what_is_wrong():
    with pytest.raises(ValueError, match="incompatible"):
        tf.metrics.accuracy(tf.zeros([3]), tf.zeros([4]))
    with pytest.raises(ValueError, match="can not be broadcast"):
        tf.metrics.mean(tf.zeros([3]), weights=tf.zeros([4]))
    with pytest.raises(ValueError, match="curve"):
        tf.metrics.auc([1], [0.5], curve="PRC")
    score = tf.placeholder(tf.float32, [1])
    _, update = tf.metrics.auc([1], score)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"in \[0, 1\]"):
            sess.run(update, {score: [1.5]})


def test_labels_that_are_the_value_of_a_sparse_tensor():
    labels = tf.SparseTensorValue(
        np.array([[0, 0], [1, 0], [1, 1]], np.int64),
        np.array([1, 0, 2], np.int64),
        np.array([2, 2], np.int64),
    )
    scores = tf.constant([[0.1, 0.5, 0.4], [0.3, 0.1, 0.6]])
    updates = [f(labels, scores, 2)[1] for f in (tf.metrics.recall_at_k, tf.metrics.precision_at_k)]
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run(updates) == [1.0, 0.75]
        assert session.run([tf.size(labels), tf.rank(labels)]) == [4, 2]


def test_f1_score_is_the_best_over_cuts() -> None:
    """Values of TensorFlow 1.15."""
    labels, scores = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])
    best, update = tf.contrib.metrics.f1_score(labels, scores, metrics_collections=["m"])
    draws = np.random.RandomState(0)
    found = []
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run(best) == 0
        for _ in range(3):
            truth = draws.randint(0, 2, 20)
            guess = np.clip(truth * 0.3 + draws.rand(20) * 0.7, 0, 1)
            draws.rand(20)
            found.append(session.run(update, {labels: truth, scores: guess}))
        assert session.run(best) == found[-1]
    np.testing.assert_allclose(found, [0.77777773, 0.7391304, 0.7042253], rtol=1e-6)
    assert tf.get_collection("m") == [best]


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_classes_as_scores(dtype: type) -> None:
    """A program scores the pixels of two masks; the numbers are TensorFlow 1.15's."""
    truth, guess = np.array([0, 1, 1, 0, 1], np.int32), np.array([0, 1, 0, 0, 1]).astype(dtype)
    values = [
        tf.metrics.auc(truth, guess),
        tf.contrib.metrics.f1_score(truth, guess),
        tf.metrics.sensitivity_at_specificity(truth, guess, 0.9),
    ]
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        found = session.run([update for _, update in values])
        np.testing.assert_allclose(found, [0.8333, 0.8, 0.6667], atol=1e-3)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"must be in \[0, 1\]"):
        tf.metrics.auc(truth, 3 * guess)


@pytest.mark.parametrize(
    ("labels", "predictions"), [([2, 1], [2]), ([4, 2, 1], [2, 3]), ([3], [2, 3]), ([1], [2, 3])]
)
def test_ranked_predictions_need_a_row_of_labels_each(labels, predictions) -> None:
    ids, scores = tf.zeros(predictions, tf.int64), tf.zeros(predictions)
    labels = tf.zeros(labels, tf.int64)
    with pytest.raises(ValueError, match="for predictions shape"):
        tf.contrib.metrics.streaming_sparse_average_precision_at_top_k(ids, labels)
    with pytest.raises(ValueError, match="for predictions shape"):
        tf.metrics.recall_at_top_k(labels, ids, 3)
    with pytest.raises(ValueError, match="for predictions shape"):
        tf.metrics.precision_at_k(labels, scores, 1)
