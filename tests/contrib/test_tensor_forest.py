"""`tf.contrib.tensor_forest`: forests that grow batch after batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.contrib import forest_growth as growth
from dataflow.contrib.tensor_forest.python import tensor_forest

RANDOM = np.random.RandomState(0)
X = RANDOM.randn(2000, 5).astype("f")
Y = ((X[:, 1] > 0).astype(int) + (X[:, 3] > 0.5)).astype("i")


pytestmark = pytest.mark.usefixtures("graph")


def forest(**settings: Any) -> Any:
    given = {"num_classes": 3, "num_features": 5, "num_trees": 5, "max_nodes": 60, "base_random_seed": 3}  # fmt: skip
    return tensor_forest.RandomForestGraphs(
        tensor_forest.ForestHParams(**{**given, **settings}).fill()
    )


def trained(session: tf.Session, made: Any, batches: int = 20, **more: Any) -> None:
    x, y = tf.placeholder(tf.float32, [None, 5]), tf.placeholder(tf.int32, [None])
    step = made.training_graph(x, y, **more)
    session.run(tf.global_variables_initializer())
    for i in range(batches):
        rows = slice(i * 100 % 2000, i * 100 % 2000 + 100)
        session.run(step, {x: X[rows], y: Y[rows]})


def test_a_forest_learns_classes_and_tells_which_features_it_asked_for() -> None:
    made = forest(split_after_samples=50)
    shares, paths, variance = made.inference_graph(tf.constant(X))
    loss, asked = made.training_loss(X, Y), made.feature_importances()
    with tf.Session() as session:
        trained(session, made, 40)
        found = session.run(shares)
        assert shares.shape.as_list() == [None, 3] and paths is None and variance is None
        np.testing.assert_allclose(found.sum(1), 1, rtol=1e-5)
        assert (found.argmax(1) == Y).mean() > 0.9
        size = session.run(loss)
        assert -60 <= size < -20 and session.run(made.validation_loss(X, Y)) == size
        importances = session.run(asked)
        assert importances.sum() == pytest.approx(1)
        assert importances[[1, 3]].sum() > importances[[0, 2, 4]].sum()
        assert session.run(made._sizes).max() <= 60


def test_forests_repeat_and_are_saved(tmp_path: Path) -> None:
    found = []
    for _ in range(2):
        with tf.Graph().as_default(), tf.Session() as session:
            made = forest(bagging_fraction=0.7)
            shares = made.inference_graph(tf.constant(X))[0]
            trained(session, made)
            found.append(session.run(shares))
            path = tf.train.Saver().save(session, str(tmp_path / "forest"))
    np.testing.assert_array_equal(*found)
    with tf.Graph().as_default(), tf.Session() as session:
        made = forest()
        shares = made.inference_graph(tf.constant(X))[0]
        tf.train.Saver().restore(session, path)
        np.testing.assert_array_equal(session.run(shares), found[0])


def test_a_second_session_grows_trees_of_its_own() -> None:
    made = forest()
    with tf.Session() as session:
        trained(session, made)
        assert session.run(made.average_size()) > 1
    with tf.Session() as session:
        trained(session, made, batches=1)
        assert session.run(made.average_size()) == 1


def test_rows_of_no_weight_teach_nothing_and_features_may_be_few() -> None:
    made = forest(feature_bagging_fraction=0.4)
    assert all(len(features) == 2 for features in made.params.bagged_features)
    with tf.Session() as session:
        trained(session, made, 3, input_weights=tf.zeros([100]))
        assert session.run(made.average_size()) == 1
        shares = session.run(made.inference_graph(tf.constant(X[:2]))[0])
        np.testing.assert_allclose(shares, 1 / 3, rtol=1e-6)


def test_a_leaf_takes_the_split_that_leaves_least_impurity() -> None:
    x = np.array([[0, 5], [1, 5], [2, 5], [3, 5]], "f")
    y, weights = np.array([0, 0, 1, 1]), np.ones(4, "f")
    tree = growth.Tree(
        np.full(7, growth.LEAF, "i"), np.zeros(7, "f"), np.zeros(7, "i"), np.zeros((7, 2), "f")
    )
    grower = growth.Grower(12, 4, np.array([0]), np.random.RandomState(0))
    assert grower.grow(tree, 1, x, y, weights) == 3
    assert (tree.feature[0], tree.threshold[0], tree.left[0]) == (0, 1, 1)
    assert tree.counts[:3].tolist() == [[2, 2], [2, 0], [0, 2]]
    assert growth.leaves_of(tree, x).tolist() == [1, 1, 2, 2]
    same = np.ones((4, 2), "f")  # nothing parts these, nor those of one class
    for labels in (y, np.zeros(4, "i")):
        again = growth.Grower(4, 4, np.array([0, 1]), np.random.RandomState(0))
        whole = growth.Tree(*(np.zeros_like(part) for part in tree))
        whole.feature[:] = growth.LEAF
        assert again.grow(whole, 1, same, labels, weights) == 1


def test_what_is_not_here_is_told() -> None:
    with pytest.raises(AttributeError, match="num_classes"):
        tensor_forest.ForestHParams(num_features=2).fill()
    with pytest.raises(ValueError, match="BoostedTreesRegressor"):
        tensor_forest.ForestHParams(num_classes=1, num_features=2, regression=True).fill()
    assert tensor_forest.ForestHParams(7, num_classes=2, num_features=900).fill().values()["num_trees"] == 7  # fmt: skip
    with pytest.raises(ValueError, match="leave `variables` out"):
        tensor_forest.RandomForestGraphs(forest().params, variables=[])
    sparse = tf.SparseTensor([[0, 0]], [1.0], [1, 5])
    with pytest.raises(ValueError, match="dense features"):
        forest().inference_graph(sparse)
    with pytest.raises(AttributeError, match="TensorForestEstimator is not part"):
        _ = tf.contrib.tensor_forest.TensorForestEstimator
