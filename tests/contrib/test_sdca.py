"""Stochastic dual coordinate ascent: the model, its optimizer and the estimators that it trains."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from dataflow.contrib.learn.svm import SDCALinearRegressor, SDCALogisticClassifier
from dataflow.contrib.linear_optimizer import SdcaModel, SDCAOptimizer, SparseFeatureColumn
from dataflow.kernels.hashing import fingerprint128

layers, learn = tf.contrib.layers, tf.contrib.learn


def _examples(labels=(0.0, 1.0, 1.0)):
    return {
        "sparse_features": [
            SparseFeatureColumn([0, 1, 2], [0, 1, 1], [1.0, 1.0, 2.0]),
            SparseFeatureColumn([0, 1, 2], [0, 1, 2], [1.0, 1.0, 1.0]),
        ],
        "dense_features": [tf.constant([[1.0, 2.0], [0.5, -1.0], [0.3, 0.1]])],
        "example_weights": [1.0, 1.0, 2.0],
        "example_labels": list(labels),
        "example_ids": ["0", "1", "2"],
    }


def _variables():
    return {
        "sparse_features_weights": [tf.Variable(tf.zeros([2])), tf.Variable(tf.zeros([3]))],
        "dense_features_weights": [tf.Variable(tf.zeros([2]))],
    }


def _options(loss="logistic_loss", l1=0.0, l2=1.0, **more):
    return {
        "symmetric_l1_regularization": l1,
        "symmetric_l2_regularization": l2,
        "loss_type": loss,
        **more,
    }


#: Loss, L1, L2, partitions -> the mean loss, the same with penalties, and predictions; of TensorFlow 1.15.5.
CONVERGED = [
    ("logistic_loss", 0.0, 1.0, 1, 0.1822, 0.3154, [0.1891, 0.8149, 0.8544]),
    ("logistic_loss", 0.3, 2.0, 1, 0.3397, 0.5042, [0.3385, 0.6953, 0.7475]),
    ("logistic_loss", 0.2, 0.5, 2, 0.2322, 0.3567, [0.2518, 0.7758, 0.8249]),
    ("squared_loss", 0.3, 2.0, 1, 0.0336, 0.12, [-0.0329, 0.5374, 0.8365]),
    ("hinge_loss", 0.0, 1.0, 1, 0.0, 0.0529, [-1.0, 1.0, 1.0]),
    ("smooth_hinge_loss", 0.3, 2.0, 1, 0.2565, 0.3797, [-0.6635, 0.7063, 0.8021]),
    ("poisson_loss", 0.0, 1.0, 1, 0.8107, 0.8515, [0.2356, 1.115, 0.9685]),
]


@pytest.mark.parametrize(("loss", "l1", "l2", "parts", "plain", "whole", "found"), CONVERGED)
def test_every_loss_converges_as_in_tensorflow(loss, l1, l2, parts, plain, whole, found):
    with tf.Graph().as_default(), tf.Session() as sess:
        examples = _examples()
        model = SdcaModel(examples, _variables(), _options(loss, l1, l2, num_loss_partitions=parts))
        train = model.minimize()
        update = model.update_weights(train)
        sess.run(tf.global_variables_initializer())
        for _ in range(100):
            sess.run(train)
        sess.run(update)
        assert sess.run(model.unregularized_loss(examples)) == pytest.approx(plain, abs=5e-4)
        assert sess.run(model.regularized_loss(examples)) == pytest.approx(whole, abs=5e-4)
        assert sess.run(model.approximate_duality_gap()) == pytest.approx(0, abs=1e-4)
        assert sess.run(model.predictions(examples)) == pytest.approx(found, abs=2e-3)


def test_partitions_of_a_variable_train_as_the_whole():
    def trained(cut):
        with tf.Graph().as_default(), tf.Session() as sess:
            variables = _variables()
            if cut:
                variables["sparse_features_weights"][1] = [
                    tf.Variable(tf.zeros([2])),
                    tf.Variable(tf.zeros([1])),
                ]
                variables["dense_features_weights"] = [
                    [tf.Variable(tf.zeros([1])), tf.Variable(tf.zeros([1]))]
                ]
            model = SdcaModel(_examples(), variables, _options())
            step = tf.train.get_or_create_global_step()
            train = model.minimize(step)
            update = model.update_weights(train)
            sess.run(tf.global_variables_initializer())
            for _ in range(30):
                sess.run(train)
            sess.run(update)
            assert sess.run(step) == 31  # the update trains once more
            return sess.run(model.predictions(_examples()))

    assert np.array_equal(trained(False), trained(True))


def test_what_a_model_refuses():
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="squared_loss"):
            SdcaModel(_examples(), _variables(), _options("cubic_loss"))
        with pytest.raises(ValueError, match="should be non-negative"):
            SdcaModel(_examples(), _variables(), _options(l1=-1.0))
        with pytest.raises(ValueError, match="example_ids must be specified"):
            SdcaModel({**_examples(), "example_ids": None}, _variables(), _options())
        with pytest.raises(ValueError, match="dense_features must be a list"):
            SdcaModel({**_examples(), "dense_features": ()}, _variables(), _options())
        model = SdcaModel(_examples(labels=(0.0, 0.5, 1.0)), _variables(), _options())
        train = model.minimize()
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            with pytest.raises(
                tf.errors.InvalidArgumentError, match=r"Only labels of 0\.0 or 1\.0"
            ):
                sess.run(train)


def _input_fn():
    return {
        "example_id": tf.constant(["1", "2", "3"]),
        "price": tf.constant([[0.6], [0.8], [0.3]]),
        "rooms": tf.constant([1, 2, 3]),
        "country": tf.SparseTensor([[0, 0], [1, 3], [2, 1]], ["IT", "US", "GB"], [3, 5]),
        "weights": tf.constant([[3.0], [1.0], [1.0]]),
    }, tf.constant([[1], [0], [1]])


def _columns():
    price = layers.real_valued_column("price")
    country = layers.sparse_column_with_hash_bucket("country", hash_bucket_size=5)
    rooms = layers.sparse_column_with_integerized_feature("rooms", 4)
    return [
        price,
        layers.bucketized_column(price, boundaries=[0.5, 0.7]),
        country,
        layers.crossed_column([country, rooms], hash_bucket_size=10),
    ]


def _machines():
    optimizer = SDCAOptimizer("example_id", symmetric_l2_regularization=1.0)
    yield learn.SVM("example_id", _columns(), weight_column_name="weights", l2_regularization=0.1)
    yield SDCALogisticClassifier("example_id", _columns(), weight_column_name="weights")
    yield learn.LinearClassifier(_columns(), optimizer=optimizer)


@pytest.mark.parametrize("number", range(3))
def test_linear_classifiers_learn_columns_of_all_kinds(number):
    machine = list(_machines())[number]
    machine.fit(input_fn=_input_fn, steps=30)
    assert machine.evaluate(input_fn=_input_fn, steps=1)["accuracy"] == 1.0
    assert list(machine.predict_classes(input_fn=_input_fn)) == [1, 0, 1]


def test_linear_regressors_reach_the_least_squares():
    def input_fn():
        return {
            "example_id": tf.constant(["1", "2", "3"]),
            "price": tf.constant([[0.0], [1.0], [2.0]]),
        }, tf.constant([[1.0], [3.0], [5.0]])

    columns = [layers.real_valued_column("price")]
    optimizer = SDCAOptimizer("example_id", symmetric_l2_regularization=1.0)
    for regressor in (
        SDCALinearRegressor("example_id", columns),
        learn.LinearRegressor(columns, optimizer=optimizer),
    ):
        regressor.fit(input_fn=input_fn, steps=60)
        found = np.array(list(regressor.predict_scores(input_fn=input_fn)))
        # With the penalty w**2 / 2 and b**2 / 2 on the sum of half the squares: [[6, 3], [3, 4]] @ [w, b] = [13, 9].
        w, b = np.linalg.solve([[6.0, 3.0], [3.0, 4.0]], [13.0, 9.0])
        assert found == pytest.approx([b, w + b, 2 * w + b], abs=1e-3)


def test_estimators_refuse_what_dual_ascent_cannot_train():
    optimizer = SDCAOptimizer("id")
    columns = [layers.real_valued_column("price")]
    with pytest.raises(ValueError, match="Kernel SVMs"):
        learn.SVM("id", columns, kernels=["rbf"])
    with pytest.raises(ValueError, match="enable_centered_bias"):
        learn.LinearClassifier(columns, optimizer=optimizer, enable_centered_bias=True)
    with pytest.raises(ValueError, match="binary classification"):
        learn.LinearClassifier(columns, optimizer=optimizer, n_classes=3)
    with pytest.raises(ValueError, match="_joint_weight"):
        learn.LinearRegressor(columns, optimizer=optimizer, _joint_weights=True)
    with pytest.raises(ValueError, match="LinearEstimator does not support SDCA"):
        learn.LinearEstimator(columns, learn.regression_head(), optimizer=optimizer)


#: Text -> both halves of its fingerprint, of TensorFlow 1.15.5.
LONG = [
    (0, 4463240938071824939, 4374473821787594281),
    (5, 10668970051761944655, 17831839097762972641),
    (12, 16044552599505606033, 2468217907007631274),
    (16, 4884664341716474623, 12443961691566609651),
    (30, 18305538454558507199, 227679585013471300),
    (100, 2660465491950359267, 2665477752845598852),
    (144, 5408290305107990616, 12369996321694313027),
    (200, 17165307541020561957, 3061485852314978208),
    (300, 6325225123710139063, 2870380595382576692),
]


@pytest.mark.parametrize(("length", "low", "high"), LONG)
def test_fingerprints_of_long_texts(length, low, high):
    text = bytes(97 + i % 26 for i in range(length))
    assert fingerprint128(text) == (low, high)


def test_the_column_of_an_array_has_no_name():
    x = np.eye(3, dtype=np.float32)
    columns = learn.infer_real_valued_columns_from_input(x)
    assert columns[0].name == ""
    classifier = learn.LinearClassifier(columns).fit(x=x, y=np.array([0, 1, 1]), steps=1)
    assert {"linear//weight", "linear/bias_weight"} <= set(classifier.get_variable_names())
    assert list(classifier.predict_classes(x=x)) == [0, 1, 1]
