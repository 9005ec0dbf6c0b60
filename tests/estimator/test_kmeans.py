"""K-means, as a graph and as an estimator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dataflow as tf
from dataflow.contrib.factorization import KMeansClustering
from dataflow.python.ops.clustering_ops import KMeans

CENTERS = np.array([[0, 0], [4, 4], [0, 8], [9, 0]], np.float32)


def points(number: int = 50) -> np.ndarray:
    rng = np.random.RandomState(0)
    found = np.concatenate([rng.randn(number, 2) * 0.2 + c for c in CENTERS])
    return found[rng.permutation(len(found))].astype(np.float32)


def trained(data: np.ndarray, steps: int = 12, shards: int = 1, **kwargs) -> tuple:
    with tf.Graph().as_default(), tf.Session() as s:
        x = [tf.placeholder(tf.float32, [None, 2]) for _ in range(shards)]
        feed = dict(zip(x, np.split(data, shards), strict=True))
        model = KMeans(x if shards > 1 else x[0], kwargs.pop("num_clusters", 4), **kwargs)
        distances, nearest, scores, initialized, init_op, step = model.training_graph()
        s.run(tf.global_variables_initializer())
        while not s.run(initialized):
            s.run(init_op, feed)
        for _ in range(steps):
            s.run(step, feed)
        s.run(init_op, feed)  # all are chosen: changes nothing
        found = s.run([distances, nearest, scores], feed)
        return (*(np.concatenate(part) for part in found), s.run("clusters:0"))


@pytest.mark.parametrize("how", ["kmeans_plus_plus", "kmc2"])
def test_well_chosen_centers_find_the_groups(how: str) -> None:
    data = points()
    distances, nearest, scores, centers = trained(data, initial_clusters=how, random_seed=1)
    order = [int(np.argmin(((centers - c) ** 2).sum(1))) for c in CENTERS]
    assert sorted(order) == [0, 1, 2, 3]
    np.testing.assert_allclose(centers[order], CENTERS, atol=0.15)
    assert nearest.dtype == np.int64
    np.testing.assert_array_equal(nearest, distances.argmin(1))
    np.testing.assert_allclose(scores, ((data - centers[nearest]) ** 2).sum(1), atol=1e-4)


def lloyd(data: np.ndarray, centers: np.ndarray, steps: int) -> np.ndarray:
    for _ in range(steps):
        near = ((data[:, None] - centers[None]) ** 2).sum(2).argmin(1)
        centers = np.stack([data[near == k].sum(0) / ((near == k).sum() + 1e-6) for k in range(4)])
    return centers


@pytest.mark.parametrize("shards", [1, 2])
def test_a_full_batch_is_one_iteration_of_lloyd(shards: int) -> None:
    data = points()
    *_, centers = trained(data, 3, shards, initial_clusters=data[:4])
    np.testing.assert_allclose(centers, lloyd(data, data[:4], 3), rtol=1e-4)


def test_random_centers_are_different_points() -> None:
    data = points(5)
    *_, centers = trained(data, 0, num_clusters=10)
    assert len({tuple(c) for c in centers}) == 10
    assert {tuple(c) for c in centers} <= {tuple(p) for p in data}


def test_small_batches_give_all_their_points_until_there_are_enough() -> None:
    data = points()
    with tf.Graph().as_default(), tf.Session() as s:
        x = tf.placeholder(tf.float32, [None, 2])
        *_, initialized, init_op, _ = KMeans(x, 5).training_graph()
        s.run(tf.global_variables_initializer())
        for start in (0, 2, 4):
            assert not s.run(initialized)
            s.run(init_op, {x: data[start : start + 2]})
        assert s.run(initialized)
        centers = s.run("clusters:0")
    assert centers.shape == (5, 2)
    assert {tuple(c) for c in centers[:4]} == {tuple(p) for p in data[:4]}


def test_a_mini_batch_moves_centers_to_the_mean_of_what_they_got() -> None:
    data = points()
    *_, centers = trained(data, 1, initial_clusters=data[:4], use_mini_batch=True)
    near = ((data[:, None] - data[None, :4]) ** 2).sum(2).argmin(1)
    mean = [(data[near == k].sum(0) + data[k]) / ((near == k).sum() + 1) for k in range(4)]
    np.testing.assert_allclose(centers, mean, rtol=1e-4)


def test_centers_follow_every_so_many_steps() -> None:
    data = points()
    kwargs = {
        "initial_clusters": data[:4],
        "use_mini_batch": True,
        "mini_batch_steps_per_iteration": 3,
    }
    for steps in (1, 2, 3):
        np.testing.assert_array_equal(trained(data, steps, **kwargs)[-1], data[:4])
    assert not np.array_equal(trained(data, 4, **kwargs)[-1], data[:4])


@pytest.mark.parametrize("kwargs", [{}, {"use_mini_batch": True}])
def test_cosine_distances(kwargs: dict) -> None:
    data = points() + 1
    distances, nearest, _, centers = trained(
        data, 3, initial_clusters=data[:4], distance_metric="cosine", **kwargs
    )
    if not kwargs:
        np.testing.assert_allclose(np.linalg.norm(centers, axis=1), 1, rtol=1e-5)
    unit = centers / np.linalg.norm(centers, axis=1, keepdims=True)
    of = data / np.linalg.norm(data, axis=1, keepdims=True)
    np.testing.assert_allclose(distances, 1 - of @ unit.T, atol=1e-5)
    np.testing.assert_array_equal(nearest, distances.argmin(1))


def test_a_function_chooses_centers() -> None:
    data = points()
    *_, centers = trained(data, 0, initial_clusters=lambda inputs, k: inputs[0][:k])
    np.testing.assert_array_equal(centers, data[:4])


def test_what_there_is_not_is_refused() -> None:
    with tf.Graph().as_default():
        x = tf.zeros([3, 2])
        with pytest.raises(ValueError, match="initialization algorithm 'best'"):
            KMeans(x, 2, initial_clusters="best")
        with pytest.raises(ValueError, match="distance metric 'manhattan'"):
            KMeans(x, 2, distance_metric="manhattan")
    with pytest.raises(ValueError, match="distance metric 'manhattan'"):
        tf.estimator.experimental.KMeans(2, distance_metric="manhattan")


def all_points(epochs: int = 1) -> tf.Tensor:
    return tf.train.limit_epochs(tf.convert_to_tensor(points()), num_epochs=epochs)


def test_the_estimator(tmp_path: Path) -> None:
    model = KMeansClustering(
        4, str(tmp_path), "kmeans_plus_plus", random_seed=2, use_mini_batch=False
    )
    model.train(lambda: all_points(5))  # the first chooses the centers
    centers = model.cluster_centers()
    assert model.get_variable_value("global_step") == 5
    order = [int(np.argmin(((centers - c) ** 2).sum(1))) for c in CENTERS]
    np.testing.assert_allclose(centers[order], CENTERS, atol=0.15)
    data = points()
    distances = np.linalg.norm(data[:, None] - centers[None], axis=2)
    np.testing.assert_allclose(list(model.transform(all_points)), distances, atol=2e-3)
    np.testing.assert_array_equal(
        list(model.predict_cluster_index(all_points)), distances.argmin(1)
    )
    np.testing.assert_allclose(model.score(all_points), (distances.min(1) ** 2).sum(), rtol=1e-3)


def test_trainings_of_one_batch_each(tmp_path: Path) -> None:
    """The program of TensorFlow's documentation: the first training has a batch to choose from only."""
    model = KMeansClustering(4, str(tmp_path), random_seed=2, use_mini_batch=False)
    scores = []
    for _ in range(6):
        model.train(all_points)
        scores.append(model.score(all_points))
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] < scores[0]
    assert model.get_variable_value("global_step") == 6


def test_a_training_ends_when_the_loss_stands_still(tmp_path: Path) -> None:
    data = points()
    model = tf.estimator.experimental.KMeans(
        4,
        str(tmp_path),
        initial_clusters=CENTERS + 0.5,
        use_mini_batch=False,
        relative_tolerance=1e-3,
    )
    columns = {"x": data[:, 0], "y": data[:, 1]}
    model.train(lambda: tf.data.Dataset.from_tensors(columns).repeat(), max_steps=50)
    assert model.get_variable_value("global_step") < 10
    np.testing.assert_allclose(model.cluster_centers(), CENTERS, atol=0.15)


def test_kmeans_plus_plus_needs_as_many_points_as_centers() -> None:
    kmeans = tf.contrib.factorization.KMeansClustering(
        5, initial_clusters=tf.contrib.factorization.KMEANS_PLUS_PLUS_INIT
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="fewer points"):
        kmeans.train(lambda: tf.constant([[1.0], [2.0], [3.0]]), steps=1)
