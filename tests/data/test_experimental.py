"""The rest of `tf.data.experimental`; the oracle's program compares more of it with TensorFlow."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf

Dataset, experimental = tf.data.Dataset, tf.data.experimental


pytestmark = pytest.mark.usefixtures("graph")


def elements(dataset: Any, most: int = 99) -> list[Any]:
    following = dataset.make_one_shot_iterator().get_next()
    found: list[Any] = []
    with tf.Session() as sess:
        while len(found) < most:
            try:
                found.append(sess.run(following))
            except tf.errors.OutOfRangeError:
                break
    return found


def test_the_number_of_elements_is_that_of_the_run() -> None:
    size = tf.placeholder(tf.int64, [])
    batches = experimental.cardinality(Dataset.range(10).batch(size))
    with tf.Session() as sess:
        assert [sess.run(batches, {size: n}) for n in (3, 5, 20)] == [4, 2, 1]


def test_a_wrong_number_of_elements_is_an_error_that_says_both() -> None:
    with pytest.raises(tf.errors.FailedPreconditionError, match="contain 3 elements .* only 2 "):
        elements(Dataset.range(2).apply(experimental.assert_cardinality(3)))
    with pytest.raises(tf.errors.FailedPreconditionError, match="contain 1 elements .* least 2 "):
        elements(Dataset.range(2).apply(experimental.assert_cardinality(1)))
    with pytest.raises(tf.errors.FailedPreconditionError, match="an infinite number .* only 2 "):
        elements(Dataset.range(2).apply(experimental.assert_cardinality(-1)))


def test_sums_by_key() -> None:
    mean = experimental.Reducer(
        lambda key: (0.0, 0.0),
        lambda state, x: (state[0] + tf.to_float(x), state[1] + 1),
        lambda total, count: total / count,
    )
    by_rest = Dataset.range(7).apply(experimental.group_by_reducer(lambda x: x % 2, mean))
    assert elements(by_rest) == [3.0, 3.0]


def test_random_numbers_repeat_with_their_seed() -> None:
    first, second, other = (elements(experimental.RandomDataset(seed), 20) for seed in (3, 3, 4))
    assert first == second != other
    assert len(set(first)) == 20 and min(first) >= 0 and max(first) < 2**32
    assert max(first) > 2**31


def test_resampling_makes_a_rare_class_as_frequent() -> None:
    rare = Dataset.from_tensor_slices((np.arange(200) % 10 == 0).astype(np.int32))
    step = experimental.rejection_resample(lambda x: x, [0.5, 0.5], [0.9, 0.1], seed=1)
    (classes, values) = elements(rare.repeat().apply(step).batch(400), 1)[0]
    np.testing.assert_array_equal(classes, values)
    assert abs(classes.mean() - 0.5) < 0.15
    # Nothing is left out, and none doubled, where the target is what there is.
    same = rare.apply(experimental.rejection_resample(lambda x: x, [0.9, 0.1], [0.9, 0.1]))
    assert len(elements(same.batch(9999))[0][0]) == 200
    # A class that is not wanted never comes.
    none = rare.apply(experimental.rejection_resample(lambda x: x, [1.0, 0.0], [0.9, 0.1]))
    assert elements(none.batch(9999))[0][0].tolist() == [0] * 180


def test_rows_of_a_database_with_nothing_in_a_cell(tmp_path: Path) -> None:
    path = tmp_path / "a b.sqlite"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE t (s TEXT, n INTEGER, x REAL)")
    database.executemany("INSERT INTO t VALUES (?, ?, ?)", [("a", 1, 0.5), (None, None, None)])
    database.commit()
    database.close()
    rows = experimental.SqlDataset(
        "sqlite", str(path), "SELECT s, n, x FROM t", (tf.string, tf.int16, tf.float64)
    )
    assert elements(rows) == [(b"a", 1, 0.5), (b"", 0, 0.0)]
    with tf.Graph().as_default() as graph:  # a graph file holds the query
        again = experimental.SqlDataset("sqlite", str(path), "SELECT n FROM t", (tf.int8,))
        again.make_one_shot_iterator().get_next(name="next")
        definition = graph.as_graph_def()
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.import_graph_def(definition, name="")
        assert [sess.run("next:0") for _ in range(2)] == [1, 0]
        with sqlite3.connect(
            path, timeout=0
        ) as database:  # an iterator that has rows left locks nothing
            database.execute("DELETE FROM t")
        database.executemany("INSERT INTO t (n) VALUES (?)", [(n,) for n in range(2500)])
        database.commit()
        database.close()
    numbers = experimental.SqlDataset("sqlite", str(path), "SELECT n FROM t", (tf.int32,))
    assert elements(numbers, 3000) == [(n,) for n in range(2500)]
    missing = experimental.SqlDataset("sqlite", str(tmp_path / "no"), "SELECT 1", (tf.int64,))
    with pytest.raises(tf.errors.UnknownError, match="unable to open"):
        elements(missing)
    assert not (tmp_path / "no").exists()


def test_records_are_written_by_a_run(tmp_path: Path) -> None:
    path = str(tmp_path / "records")
    write = experimental.TFRecordWriter(path).write(Dataset.from_tensor_slices([b"a\0", b""]))
    with tf.Session() as sess:
        sess.run(write)
    assert elements(tf.data.TFRecordDataset(path)) == [b"a\0", b""]
    with pytest.raises(TypeError, match="scalar `DT_STRING`"):
        experimental.TFRecordWriter(path).write(Dataset.range(3))


def test_conjugate_gradients_solve_many_systems() -> None:
    random = np.random.RandomState(0)
    root = random.randn(5, 4, 4)
    matrix = root @ np.swapaxes(root, 1, 2) + np.eye(4)
    right = random.randn(5, 4)
    operator = tf.linalg.LinearOperatorFullMatrix(matrix, is_positive_definite=True)
    state = tf.linalg.experimental.conjugate_gradient(operator, right, tol=1e-10)
    with tf.Session() as sess:
        found = sess.run(state)
    np.testing.assert_allclose(
        found.x, np.linalg.solve(matrix, right[..., None])[..., 0], rtol=1e-6
    )
    assert found.i <= 6 and found.gamma.shape == (5,)
    lopsided = tf.linalg.LinearOperatorFullMatrix(np.eye(2), is_self_adjoint=False)
    with pytest.raises(ValueError, match="self-adjoint and positive definite"):
        tf.linalg.experimental.conjugate_gradient(lopsided, [1.0, 2.0])


def test_scan_finds_what_of_its_state_stays() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        grows = tf.data.experimental.scan([0], lambda s, e: (tf.concat([s, s], 0), s))
        dataset = tf.data.Dataset.range(3).apply(grows)
        assert dataset.output_shapes.as_list() == [None]
        following = dataset.make_one_shot_iterator().get_next()
        assert [len(sess.run(following)) for _ in range(3)] == [1, 2, 4]


def test_scan_refuses_functions_that_do_not_fit() -> None:
    def stop(_: int) -> int:
        raise StopIteration

    with tf.Graph().as_default(), tf.Session() as sess:
        dataset = tf.data.Dataset.range(3)
        with pytest.raises(TypeError, match="a pair"):
            dataset.apply(tf.data.experimental.scan(np.int64(0), lambda s, e: s))
        with pytest.raises(TypeError, match="match the initial state"):
            dataset.apply(tf.data.experimental.scan(0, lambda s, e: (e, s)))
        ends = dataset.apply(
            tf.data.experimental.scan(0, lambda s, e: (s, tf.py_func(stop, [e], tf.int64)))
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match="OutOfRange"):
            sess.run(ends.make_one_shot_iterator().get_next())


def test_padded_batch_refuses_shapes_that_are_none() -> None:
    with tf.Graph().as_default():
        dataset = tf.data.Dataset.from_tensors([1, 2, 3])
        with pytest.raises(ValueError, match="not compatible"):
            dataset.padded_batch(2, [1])
        with pytest.raises(ValueError, match="1-D"):
            dataset.padded_batch(2, [[1, 1], [1, 1]])
        with pytest.raises(TypeError, match="float32"):
            dataset.padded_batch(2, tf.constant([3.0]))
