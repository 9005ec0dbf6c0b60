"""``tf.contrib.metrics``: values over several batches against NumPy's."""

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("fresh_graph")
metrics = tf.contrib.metrics


def streamed(metric, batches, *args, **kwargs):
    """The value and the last update after each of ``batches``, a list of tuples of arrays."""
    kinds = [tf.constant(a).dtype for a in batches[0]]
    places = [tf.placeholder(k, np.shape(a)) for k, a in zip(kinds, batches[0], strict=True)]
    value, update = metric(*places, *args, **kwargs)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        for batch in batches:
            last = sess.run(update, dict(zip(places, batch, strict=True)))
        return sess.run(value), last


def two_batches(seed=0, number=12):
    rng = np.random.default_rng(seed)
    return [
        (rng.random(number, np.float32), (rng.random(number) > 0.4).astype(np.float32))
        for _ in range(2)
    ]


def test_count_counts_values_or_weights():
    value, update = streamed(metrics.count, [([1.0, 2.0],), ([3.0, 4.0],)])
    assert value == update == 4
    value, _ = streamed(metrics.count, [([1.0, 2.0], [0.5, 2.0])] * 2)
    assert value == 5


@pytest.mark.parametrize("weighted", [False, True])
def test_covariance_and_correlation_are_numpys(weighted):
    batches = two_batches()
    predictions, labels = np.concatenate(batches, axis=1)
    weights = np.tile([1, 0, 2], 8).astype(np.float32)
    if weighted:
        batches = [(*b, w) for b, w in zip(batches, np.split(weights, 2), strict=True)]
    repeat = weights.astype(int) if weighted else 1
    predictions, labels = np.repeat(predictions, repeat), np.repeat(labels, repeat)
    value, update = streamed(metrics.streaming_covariance, batches)
    assert value == pytest.approx(np.cov(predictions, labels)[0, 1], rel=1e-5)
    assert update == pytest.approx(value)
    value, update = streamed(metrics.streaming_pearson_correlation, batches)
    assert value == pytest.approx(np.corrcoef(predictions, labels)[0, 1], rel=1e-5)
    assert update == pytest.approx(value)


def test_covariance_of_one_value_is_not_a_number():
    value, _ = streamed(metrics.streaming_covariance, [([1.0], [2.0])])
    assert np.isnan(value)


def test_cohens_kappa():
    ours, theirs = [0, 0, 1, 1, 2, 2, 0, 1], [0, 1, 1, 1, 2, 0, 0, 1]
    table = np.zeros((3, 3))
    np.add.at(table, (ours, theirs), 1)
    by_chance = (table.sum(0) * table.sum(1)).sum() / 8
    value, update = streamed(metrics.cohen_kappa, [(ours, theirs)], 3)
    assert value == update == pytest.approx((np.trace(table) - by_chance) / (8 - by_chance))
    with pytest.raises(ValueError, match="incompatible"):
        metrics.cohen_kappa(tf.zeros([3], tf.int64), tf.zeros([4], tf.int64), 3)


def test_concat_keeps_all_values_or_the_first():
    batches = [([[1, 2]],), ([[3, 4]],), ([[5, 6]],)]
    value, update = streamed(metrics.streaming_concat, batches)
    assert value.tolist() == update.tolist() == [[1, 2], [3, 4], [5, 6]]
    last, _ = streamed(metrics.streaming_concat, batches, axis=-1, max_size=3)
    value, _ = streamed(metrics.streaming_concat, batches, axis=1, max_size=3)
    np.testing.assert_array_equal(last, value)
    assert value.tolist() == [[1, 2, 3]]
    with pytest.raises(ValueError, match="not in"):
        metrics.streaming_concat(tf.zeros([2]), axis=1)
    with pytest.raises(ValueError, match="rank"):
        metrics.streaming_concat(tf.placeholder(tf.float32))


def test_rates_of_errors():
    said, true = [1, 1, 0, 0, 1], [1, 0, 0, 1, 0]
    assert streamed(metrics.streaming_false_positive_rate, [(said, true)])[0] == pytest.approx(
        2 / 3
    )
    assert streamed(metrics.streaming_false_negative_rate, [(said, true)])[0] == pytest.approx(
        1 / 2
    )
    scores = [0.9, 0.6, 0.1, 0.3, 0.8]
    value, update = streamed(
        metrics.streaming_false_positive_rate_at_thresholds, [(scores, true)], [0.5, 0.7]
    )
    np.testing.assert_allclose(value, [2 / 3, 1 / 3], rtol=1e-5)
    np.testing.assert_allclose(update, value)
    value, _ = streamed(
        metrics.streaming_false_negative_rate_at_thresholds, [(scores, true)], [0.2, 0.5]
    )
    np.testing.assert_allclose(value, [0, 0.5], atol=1e-5)


def test_points_of_curves():
    labels, scores = [0.0, 0.0, 1.0, 1.0], [0.1, 0.4, 0.35, 0.8]
    points = streamed(metrics.streaming_curve_points, [(labels, scores)], num_thresholds=3)[0]
    np.testing.assert_allclose(points, [[1, 1], [0, 0.5], [0, 0]], atol=1e-5)
    points = streamed(
        metrics.streaming_curve_points, [(labels, scores)], num_thresholds=3, curve="PR"
    )[0]
    np.testing.assert_allclose(points, [[1, 0.5], [0.5, 1], [0, 1]], atol=1e-5)


def test_precision_at_a_recall_and_recall_at_a_precision():
    labels, scores = [0.0, 1.0, 0.0, 1.0, 1.0], [0.1, 0.3, 0.5, 0.7, 0.9]
    at_recall = metrics.precision_at_recall
    assert streamed(at_recall, [(labels, scores)], 1.0)[0] == pytest.approx(0.75, rel=1e-5)
    assert streamed(at_recall, [(labels, scores)], 0.6)[0] == pytest.approx(1.0, rel=1e-5)
    at_precision = metrics.recall_at_precision
    assert streamed(at_precision, [(labels, scores)], 0.75)[0] == pytest.approx(1.0, rel=1e-5)
    strict = streamed(at_precision, [(labels, scores)], 0.8, strict_mode=True)[0]
    assert strict == pytest.approx(2 / 3, rel=1e-5)
    for metric in (at_recall, at_precision):
        with pytest.raises(ValueError, match="range"):
            metric(labels, scores, 1.5)


def test_precision_and_recall_at_equal_thresholds():
    labels = tf.constant([True, False, True, True])
    data, update = metrics.precision_recall_at_equal_thresholds(
        labels, [0.9, 0.6, 0.4, 1.0], num_thresholds=3
    )
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        sess.run(update)
        found = sess.run(data._asdict())
    assert found["tp"].tolist() == [3, 2, 1]
    assert found["fp"].tolist() == [1, 1, 0]
    assert found["fn"].tolist() == [0, 1, 2]
    assert found["tn"].tolist() == [0, 0, 1]
    np.testing.assert_allclose(found["precision"], [3 / 4, 2 / 3, 1], rtol=1e-5)
    assert found["thresholds"].tolist() == [0, 0.5, 1]
    with pytest.raises(ValueError, match="num_thresholds"):
        metrics.precision_recall_at_equal_thresholds(labels, [0.1] * 4, num_thresholds=1)


def pairs_in_order(scores, labels):
    """The area under the ROC curve: the share of pairs that the scores put in order."""
    above = scores[labels > 0][:, None] - scores[labels == 0][None]
    return (above > 0).mean() + (above == 0).mean() / 2


def test_exact_area_of_all_batches():
    batches = [(labels, np.round(scores, 1)) for scores, labels in two_batches(3)]
    labels, scores = np.concatenate(batches, axis=1)
    value, update = streamed(metrics.streaming_dynamic_auc, batches)
    assert value == update == pytest.approx(pairs_in_order(scores, labels), rel=1e-5)
    one_kind = [(np.ones(3, np.float32), np.arange(3, dtype=np.float32))]
    for curve in ("ROC", "PR"):
        assert streamed(metrics.streaming_dynamic_auc, one_kind, curve=curve)[0] == 0
    value, _ = streamed(
        metrics.streaming_dynamic_auc, [([1.0, 0.0, 1.0], [0.9, 0.5, 0.1])], curve="PR"
    )
    assert value == pytest.approx((1 + 2 / 3) / 2)


def test_area_by_histogram():
    batches = [(labels > 0, scores) for scores, labels in two_batches(4, 200)]
    labels, scores = np.concatenate(batches, axis=1)
    value, _ = streamed(metrics.auc_using_histogram, batches, (0.0, 1.0), nbins=500)
    assert value == pytest.approx(pairs_in_order(scores, labels), abs=5e-3)


def test_ranked_classes():
    labels = np.array([[2], [0]])
    ranked = np.array([[1, 2], [0, 1]])
    assert streamed(metrics.sparse_recall_at_top_k, [(labels, ranked)])[0] == 1
    best = metrics.streaming_sparse_precision_at_top_k(top_k_predictions=ranked, labels=labels)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run(best[1]) == 0.5
    value, update = streamed(
        metrics.streaming_sparse_average_precision_at_top_k, [(ranked, labels)]
    )
    assert value == update == 0.75


def test_precision_at_recall_is_that_of_the_highest_cut() -> None:
    """As TensorFlow 1.15.5: of the cuts with a recall of 2/3 the one without false positives."""
    with tf.Graph().as_default():
        value, update = tf.contrib.metrics.precision_at_recall(
            tf.constant([0, 0, 1, 1, 1, 0]), tf.constant([0.1, 0.4, 0.35, 0.8, 0.6, 0.2]), 0.6
        )
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            assert session.run(update) == session.run(value) == 1.0


def test_pairwise_error_weighs_examples() -> None:
    """As TensorFlow 1.15.5: one weight an example."""
    with tf.Graph().as_default():
        loss = tf.contrib.losses.mean_pairwise_squared_error(
            tf.constant([[1.0, 2.0], [0.5, -1.0]]),
            tf.constant([[0.0, 1.0], [1.0, 0.0]]),
            weights=tf.constant([1.0, 3.0]),
        )
        with tf.Session() as session:
            assert session.run(loss) == pytest.approx(0.375)
