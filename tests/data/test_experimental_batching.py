"""`map_and_batch`, and the ends of lines in CSV files."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

experimental = tf.data.experimental


def _all(dataset):
    """The elements, and the errors in their places."""
    element = dataset.make_one_shot_iterator().get_next()
    found = []
    with tf.Session() as sess:
        while True:
            try:
                found.append(sess.run(element))
            except tf.errors.OutOfRangeError:
                return found
            except tf.errors.OpError as error:
                found.append(error)


def test_batches_of_a_function():
    with tf.Graph().as_default():
        dataset = tf.data.Dataset.range(5).apply(
            experimental.map_and_batch(lambda x: (x, x * x), 2)
        )
        assert dataset.output_shapes == (tf.TensorShape([None]), tf.TensorShape([None]))
        found = [[part.tolist() for part in batch] for batch in _all(dataset)]
        assert found == [[[0, 1], [0, 1]], [[2, 3], [4, 9]], [[4], [16]]]


@pytest.mark.threads
def test_whole_batches_computed_in_parallel():
    with tf.Graph().as_default():
        apply = experimental.map_and_batch(
            lambda x: x + 1, 3, num_parallel_batches=2, drop_remainder=True
        )
        dataset = tf.data.Dataset.range(8).apply(apply)
        assert dataset.output_shapes.as_list() == [3]
        assert [batch.tolist() for batch in _all(dataset)] == [[1, 2, 3], [4, 5, 6]]


def test_an_error_takes_the_place_of_its_batch():
    def ends(x):
        if x in (1, 2):
            raise StopIteration
        return x

    with tf.Graph().as_default():
        function = lambda x: tf.py_func(ends, [x], tf.int64)
        dataset = tf.data.Dataset.range(7).apply(experimental.map_and_batch(function, 3))
        first, second, third = _all(dataset)
        assert isinstance(first, tf.errors.InvalidArgumentError)
        assert "Function invocation produced OutOfRangeError" in str(first)
        assert (second.tolist(), third.tolist()) == ([3, 4, 5], [6])


def test_other_errors_stay_what_they_are():
    with tf.Graph().as_default():
        function = lambda x: tf.check_numerics(1.0 / tf.cast(x - 1, tf.float32), "oops")
        dataset = tf.data.Dataset.range(4).apply(experimental.map_and_batch(function, 2))
        first, second = _all(dataset)
        assert isinstance(first, tf.errors.InvalidArgumentError) and "oops" in str(first)
        np.testing.assert_allclose(second, [1.0, 0.5])


def test_calls_and_batches_exclude_each_other():
    with pytest.raises(ValueError, match="mutually exclusive, got 2 and 3"):
        experimental.map_and_batch(lambda x: x, 2, num_parallel_batches=2, num_parallel_calls=3)


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_rows_end_at_each_kind_of_line_end(tmp_path, end, quote):
    rows = [["a", "b"], ["1", "2"], ["", "3"]]
    if quote:
        rows.append(["x\n\ny", "\r\r"])
    text = end.join(",".join(f"{quote}{field}{quote}" for field in row) for row in rows)
    path = tmp_path / "rows.csv"
    path.write_bytes(text.encode())
    with tf.Graph().as_default():
        found = _all(experimental.CsvDataset(str(path), [["NA"]] * 2))
    expected = [tuple((field or "NA").encode() for field in row) for row in rows]
    assert found == expected


def test_a_buffer_of_no_bytes_is_refused(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("1,2\n")
    with tf.Graph().as_default():
        dataset = experimental.CsvDataset(str(path), [[0]] * 2, buffer_size=0)
        element = dataset.make_one_shot_iterator().get_next()
        with tf.Session() as sess, pytest.raises(tf.errors.OpError, match="should be positive"):
            sess.run(element)
        assert _all(experimental.CsvDataset(str(path), [[0]] * 2, buffer_size=1)) == [(1, 2)]
