"""Iterators in checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python.dataset_serialization_tests import DatasetSerializationTestBase

Dataset = tf.data.Dataset


pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def case() -> Iterator[DatasetSerializationTestBase]:
    made = DatasetSerializationTestBase()
    made.setUp()
    yield made
    made.tearDown()


DATASETS: dict[str, tuple[Callable[[], Any], int]] = {
    "range": (lambda: Dataset.range(2, 8), 6),
    "shuffle": (lambda: Dataset.range(4).shuffle(3, seed=55).repeat(2), 8),
    "one order": (
        lambda: Dataset.range(4).shuffle(3, seed=5, reshuffle_each_iteration=False).repeat(2),
        8,
    ),
    "nested": (lambda: Dataset.range(5).map(lambda x: {"b": x, "a": (x, x * 2)}), 5),
    "sparse": (
        lambda: Dataset.from_tensor_slices(tf.SparseTensor([[0, 0], [1, 1]], [1, 2], [3, 3])),
        3,
    ),
    "seeded numbers": (lambda: Dataset.range(5).map(lambda x: tf.random_uniform([], seed=3)), 5),
    "seeded choice": (
        lambda: tf.data.experimental.sample_from_datasets(
            [Dataset.range(3), Dataset.range(10, 12)], seed=3
        ),
        5,
    ),
    "interleave": (
        lambda: Dataset.range(3).interleave(lambda x: Dataset.range(x, x + 2), cycle_length=2),
        6,
    ),
}


@pytest.mark.parametrize("name", DATASETS)
def test_a_restored_iterator_goes_on(case: DatasetSerializationTestBase, name: str) -> None:
    make, count = DATASETS[name]
    case.verify_multiple_breaks(make, count, num_breaks=3)
    case.verify_exhausted_iterator(make, count)
    case.verify_reset_restored_iterator(make, count)


def test_what_is_compared_can_differ(case: DatasetSerializationTestBase) -> None:
    for one, other in (
        ([1, 2], [1, 3]),
        ({"a": 1}, {"b": 1}),
        (1, 1.0),
        (np.array([1]), np.array([2])),
        (tf.SparseTensorValue([[0]], [1], [3]), tf.SparseTensorValue([[0]], [1], [4])),
    ):
        case.does_not_match(one, other)
        case.match(one, one)


def _with_variable() -> Any:
    variable = tf.get_variable("v", [], tf.int64, tf.zeros_initializer(), use_resource=True)
    return Dataset.range(5).map(lambda x: x + variable)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Dataset.range(5).map(lambda x: tf.random_uniform([]) + tf.cast(x, tf.float32)),
        _with_variable,
        lambda: Dataset.range(5).map(lambda x: tf.py_func(lambda y: y, [x], tf.int64)),
        lambda: Dataset.range(5).flat_map(
            lambda x: Dataset.from_tensors(x).map(lambda y: tf.random_uniform([]))
        ),
    ],
    ids=["random", "variable", "Python", "inside"],
)
def test_functions_with_state_are_refused(case: DatasetSerializationTestBase, make: Any) -> None:
    case.verify_error_on_save(make, 4, tf.errors.InvalidArgumentError)


def _saved(iterator: Any) -> tf.train.Saver:
    saveable = tf.data.experimental.make_saveable_from_iterator(iterator)
    return tf.train.Saver([saveable])


def test_an_unseeded_one_shot_iterator_takes_its_order_again(tmp_path: Path) -> None:
    dataset = Dataset.range(20).shuffle(20).repeat(2)
    both = [dataset.make_one_shot_iterator() for _ in range(2)]
    elements = [iterator.get_next() for iterator in both]
    savers = [_saved(iterator) for iterator in both]
    with tf.Session() as session:
        session.run(elements)
        paths = [s.save(session, str(tmp_path / f"{i}")) for i, s in enumerate(savers)]
        first = [session.run(elements) for _ in range(39)]
        for saver, path in zip(savers, paths, strict=True):
            saver.restore(session, path)
        assert [session.run(elements) for _ in range(39)] == first
        assert [a for a, _ in first] != [b for _, b in first]


def test_an_iterator_that_was_not_started_is_not_saved(tmp_path: Path) -> None:
    saver = _saved(Dataset.range(3).make_initializable_iterator())
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.FailedPreconditionError, match="run the initializer"),
    ):
        saver.save(session, str(tmp_path / "it"))


def test_a_fed_dataset_is_started_before_it_is_restored(tmp_path: Path) -> None:
    count = tf.placeholder(tf.int64, [])
    iterator = Dataset.range(count).make_initializable_iterator()
    element, saver = iterator.get_next(), _saved(iterator)
    with tf.Session() as session:
        session.run(iterator.initializer, {count: 5})
        session.run(element)
        path = saver.save(session, str(tmp_path / "it"))
        with pytest.raises(tf.errors.FailedPreconditionError, match="right before"):
            saver.restore(session, path)
        session.run(iterator.initializer, {count: 4})
        saver.restore(session, path)
        assert session.run(element) == 1


def test_failed_elements_count(tmp_path: Path) -> None:
    dataset = Dataset.from_tensor_slices([1.0, np.nan, 2.0, 3.0])
    iterator = dataset.map(lambda x: tf.check_numerics(x, "bad")).make_one_shot_iterator()
    element, saver = iterator.get_next(), _saved(iterator)
    with tf.Session() as session:
        assert session.run(element) == 1.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="bad"):
            session.run(element)
        path = saver.save(session, str(tmp_path / "it"))
        assert session.run(element) == 2.0
        saver.restore(session, path)
        assert session.run(element) == 2.0


def _model(features: Any, mode: Any) -> Any:
    step = tf.train.get_or_create_global_step()
    latest = tf.Variable(0, name="latest", dtype=tf.int64)
    train = tf.group(step.assign_add(1), latest.assign(features))
    return tf.estimator.EstimatorSpec(mode=mode, train_op=train, loss=tf.constant(2.0))


def test_the_hook_of_estimators_goes_on_where_training_ended(tmp_path: Path) -> None:
    estimator = tf.estimator.Estimator(_model, str(tmp_path))
    Hook = tf.data.experimental.CheckpointInputPipelineHook
    for expected in (1, 3):
        estimator.train(lambda: Dataset.range(10), hooks=[Hook(estimator)], steps=2)
        assert estimator.get_variable_value("latest") == expected
    estimator.train(lambda: Dataset.range(10), steps=2)
    assert estimator.get_variable_value("latest") == 1
    Hook(estimator, "warn")
    with pytest.raises(ValueError, match="external_state_policy must be"):
        Hook(estimator, "drop")
    one_shot = lambda: Dataset.range(10).make_one_shot_iterator().get_next()
    estimator = tf.estimator.Estimator(_model, str(tmp_path / "one_shot"))
    for expected in (1, 3):
        estimator.train(one_shot, hooks=[Hook(estimator)], steps=2)
        assert estimator.get_variable_value("latest") == expected


def test_the_hook_needs_an_iterator(tmp_path: Path) -> None:
    estimator = tf.estimator.Estimator(_model, str(tmp_path))
    hook = tf.data.experimental.CheckpointInputPipelineHook(estimator)
    with pytest.raises(ValueError, match="No variables to save"):
        estimator.train(lambda: tf.constant(1, tf.int64), hooks=[hook], steps=2)
