"""``tf.contrib.kernel_methods``: random Fourier features, the classifier of them, the hinge loss."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

K = tf.contrib.kernel_methods
L = tf.contrib.learn
RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(200, 2)).astype(np.float32)
INSIDE = (np.sum(POINTS**2, 1) < 1.2).astype(np.int32)  # no line separates them
COLUMN = tf.contrib.layers.real_valued_column("point", dimension=2)


def inputs():
    return {"point": tf.constant(POINTS)}, tf.constant(INSIDE)


def test_products_of_features_are_near_the_kernel() -> None:
    mapper = K.RandomFourierFeatureMapper(2, 4000, stddev=1.5, seed=3, name="mapper")
    assert (mapper.name, mapper.input_dim, mapper.output_dim) == ("mapper", 2, 4000)
    with tf.Session() as sess:
        features = sess.run(mapper.map(tf.constant(POINTS[:20])))
        again = sess.run(mapper.map(tf.constant(POINTS[:20])))
    np.testing.assert_array_equal(features, again)  # drawn from the seed
    distances = np.sum((POINTS[:20, None] - POINTS[None, :20]) ** 2, -1)
    np.testing.assert_allclose(features @ features.T, np.exp(-distances / (2 * 1.5**2)), atol=0.08)


def test_features_are_tensorflow_s() -> None:
    mapper = K.RandomFourierFeatureMapper(3, 5, 2.0)
    with tf.Session() as sess:
        features = sess.run(mapper.map(tf.constant([[1.0, 2.0, 3.0]])))
    expected = [[0.6307769, -0.4277105, 0.35513887, 0.5397983, -0.6210107]]
    np.testing.assert_allclose(features, expected, rtol=1e-5)  # of TensorFlow 1.15.5


@pytest.mark.parametrize("shape, message", [([2, 3], "expected 2 input"), ([2], "should be 2")])
def test_mappers_take_rows_of_their_size(shape, message) -> None:
    from dataflow.contrib.kernel_methods import InvalidShapeError

    with pytest.raises(InvalidShapeError, match=message):
        K.RandomFourierFeatureMapper(2, 5).map(tf.ones(shape))


@pytest.mark.parametrize("columns", [None, [COLUMN]])
def test_a_kernel_classifier_bends_its_boundary(columns, tmp_path) -> None:
    def optimizer():
        return tf.train.FtrlOptimizer(learning_rate=5.0)

    line = L.LinearClassifier([COLUMN], str(tmp_path / "line"), optimizer=optimizer)
    line.fit(input_fn=inputs, steps=80)
    bent = K.KernelLinearClassifier(
        columns,
        str(tmp_path / "bent"),
        optimizer=optimizer,
        kernel_mappers={
            COLUMN: [
                K.RandomFourierFeatureMapper(2, 100),
                K.RandomFourierFeatureMapper(2, 50, seed=2),
            ]
        },
    )
    bent.fit(input_fn=inputs, steps=80)
    straight = line.evaluate(input_fn=inputs, steps=1)["accuracy"]
    found = bent.evaluate(input_fn=inputs, steps=1)["accuracy"]
    assert found > 0.95 > 0.8 > straight
    predicted = bent.predict_classes(input_fn=inputs)
    assert np.mean([next(predicted) for _ in INSIDE] == INSIDE) == pytest.approx(found)
    probabilities = next(iter(bent.predict_proba(input_fn=inputs)))
    assert probabilities.sum() == pytest.approx(1.0, abs=1e-5)


def test_what_a_kernel_classifier_needs() -> None:
    with pytest.raises(ValueError, match="at least one of"):
        K.KernelLinearClassifier()
    with pytest.raises(ValueError, match="Invalid kernel mappers"):
        K.KernelLinearClassifier(kernel_mappers={COLUMN: [lambda x: x]})


def test_mappers_of_other_columns_are_left_out(tmp_path, capsys) -> None:
    words = tf.contrib.layers.sparse_column_with_hash_bucket("word", 10)
    K.KernelLinearClassifier([COLUMN], kernel_mappers={words: [K.RandomFourierFeatureMapper(2, 5)]})
    assert "RealValuedColumns only" in capsys.readouterr().err


def test_the_hinge_loss_compares_with_the_best_other_class() -> None:
    logits = tf.constant([[1.2, -1.4, -1.0], [1.4, 1.8, 4.0], [0.5, 1.8, -1.0]])
    loss = K.sparse_multiclass_hinge_loss
    none = tf.losses.Reduction.NONE
    before = len(tf.losses.get_losses())  # another test's, in the same graph
    with tf.Session() as sess:
        each = sess.run(loss([0, 1, 2], logits, reduction=none))
        np.testing.assert_allclose(each, [0.0, 3.2, 3.8], rtol=1e-6)
        assert sess.run(loss([0, 1, 2], logits)) == pytest.approx(7.0 / 3)
        weighted = loss([[0], [1], [2]], logits, weights=tf.constant([1.0, 2.0, 0.0]))
        assert sess.run(weighted) == pytest.approx(3.2)
    assert len(tf.losses.get_losses()) == before + 3
    with pytest.raises(ValueError, match="rank 2"):
        loss([0], tf.ones([3]))
