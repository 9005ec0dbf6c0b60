"""Datasets after an error, functions that assign or draw, datasets and tensors as arguments.

Values are TensorFlow's (tests/oracle/programs/differences_data.py).
"""

from __future__ import annotations

import gzip
import threading
from typing import Any

import pytest

import dataflow as tf
from dataflow.data import Dataset, experimental

pytestmark = pytest.mark.usefixtures("graph")


def elements(dataset, count=12):
    iterator = dataset.make_initializable_iterator()
    element = iterator.get_next()
    found = []
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), iterator.initializer])
        for _ in range(count):
            try:
                value = sess.run(element)
                found.append(value.tolist() if hasattr(value, "tolist") else value)
            except tf.errors.OutOfRangeError:
                return [*found, "end"]
            except tf.errors.InvalidArgumentError:
                found.append("error")
    return found


def inverse(x):
    return tf.check_numerics(1.0 / x, "inverse")


ONCE = [1.0, "error", 0.5, 0.25, "end"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda d: d.map(inverse), ONCE),
        (lambda d: d.map(inverse, num_parallel_calls=2), ONCE),
        (lambda d: d.map(inverse).prefetch(2), ONCE),
        (lambda d: d.interleave(lambda x: Dataset.from_tensors(inverse(x)), 2), ONCE),
        (lambda d: d.flat_map(lambda x: Dataset.from_tensors(inverse(x))), ONCE),
        (lambda d: d.filter(lambda x: inverse(x) > 0), [1.0, "error", 2.0, 4.0, "end"]),
        (lambda d: d.map(inverse).batch(2), ["error", [0.5, 0.25], "end"]),
        (lambda d: d.map(inverse).padded_batch(2, []), ["error", [0.5, 0.25], "end"]),
        (
            lambda d: d.map(inverse).window(2).flat_map(lambda w: w.batch(2)),
            ["error", [0.5, 0.25], "end"],
        ),
        (lambda d: d.map(inverse).shuffle(1), ONCE),
        (lambda d: d.map(inverse).take(3), ONCE),
        (lambda d: d.map(inverse).skip(1), ["error", 0.5, 0.25, "end"]),
        (lambda d: d.map(inverse).repeat(2), [*ONCE[:-1], *ONCE]),
        (lambda d: d.map(inverse).concatenate(d), [*ONCE[:-1], 1.0, 0.0, 2.0, 4.0, "end"]),
        (
            lambda d: Dataset.zip((d.map(inverse), d)).map(lambda a, b: b),
            [1.0, "error", 2.0, 4.0, "end"],
        ),
        (
            lambda d: d.apply(experimental.scan(0.0, lambda a, x: (a + inverse(x), a))),
            [0.0, "error", 1.0, 1.5, "end"],
        ),
        (lambda d: d.map(inverse, 2).apply(experimental.ignore_errors()), [1.0, 0.5, 0.25, "end"]),
        (lambda d: d.map(lambda x: inverse(x)[None]).unbatch(), ONCE),
        (lambda d: d.map(inverse).cache(), ONCE),
    ],
)
def test_the_next_element_follows_an_error(change, expected) -> None:
    assert elements(change(Dataset.from_tensor_slices([1.0, 0.0, 2.0, 4.0]))) == expected


def test_a_generator_that_fails_goes_on_where_it_can() -> None:
    class Numbers:
        def __init__(self):
            self.number = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.number += 1
            if self.number == 2:
                raise ValueError("two")
            if self.number > 3:
                raise StopIteration
            return self.number

    def misfit():
        yield from [1, "x", 3]

    assert elements(Dataset.from_generator(Numbers, tf.int32)) == [1, "error", 3, "end"]
    assert elements(Dataset.from_generator(misfit, tf.int32)) == [1, "error", 3, "end"]


@pytest.mark.threads
def test_threads_end_with_the_iteration() -> None:
    def prefetching():
        return {t for t in threading.enumerate() if t.name == "prefetch"} - others

    others = {t for t in threading.enumerate() if t.name == "prefetch"}
    slow = Dataset.range(100).map(lambda x: tf.py_func(_slow, [x], tf.int64), 2)
    iterator = slow.prefetch(2).take(90).make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as sess:
        sess.run(iterator.initializer)
        assert sess.run(element) == 0
        (first,) = prefetching()
        sess.run(iterator.initializer)  # leaves the first iteration in the middle
        assert sess.run(element) == 0
        first.join(60)
        assert not first.is_alive()


def _slow(x):
    threading.Event().wait(0.001)
    return x


def test_functions_may_assign() -> None:
    v = tf.get_variable("v", [], tf.int64, tf.zeros_initializer())
    assert elements(Dataset.range(3).map(lambda x: tf.assign_add(v, x) + 0)) == [0, 1, 3, "end"]


def test_draws_repeat_with_each_initialization_and_not_within() -> None:
    tf.set_random_seed(1)
    draws = Dataset.range(3).map(lambda x: tf.random_uniform([], seed=3))
    nested = Dataset.range(3).flat_map(
        lambda _: Dataset.range(1).map(lambda x: tf.random_uniform([], seed=3))
    )
    for dataset in (draws, nested, draws.take(1).repeat(3)):
        iterator = dataset.make_initializable_iterator()
        element = iterator.get_next()
        with tf.Session() as sess:
            rounds = []
            for _ in range(2):
                sess.run(iterator.initializer)
                rounds.append([sess.run(element) for _ in range(3)])
        assert rounds[0] == rounds[1]
        assert len(set(rounds[0])) == 3


def test_datasets_and_arrays_as_components() -> None:
    assert elements(Dataset.range(3).map(Dataset.range).flat_map(lambda d: d)) == [0, 0, 1, "end"]
    of_one = Dataset.from_tensors(Dataset.range(2)).flat_map(lambda d: d)
    assert elements(of_one) == [0, 1, "end"]
    arrays = Dataset.range(2).map(
        lambda x: tf.TensorArray(tf.int64, 2, clear_after_read=False).unstack([x, x + 1])
    )
    assert elements(arrays.map(lambda a: a.stack())) == [[0, 1], [1, 2], "end"]


def test_datasets_of_file_names(tmp_path) -> None:
    for name in "ab":
        (tmp_path / name).write_text(f"{name}1\n{name}2\n")
        with tf.python_io.TFRecordWriter(str(tmp_path / name) + ".records") as writer:
            writer.write(name.encode())
    names = Dataset.from_tensor_slices([str(tmp_path / name) for name in "ab"])
    assert elements(tf.data.TextLineDataset(names)) == [b"a1", b"a2", b"b1", b"b2", "end"]
    records = names.map(lambda name: name + ".records")
    assert elements(tf.data.TFRecordDataset(records)) == [b"a", b"b", "end"]
    assert elements(tf.data.TFRecordDataset(records, num_parallel_reads=2)) == [b"a", b"b", "end"]
    with pytest.raises(TypeError, match="dataset of strings"):
        tf.data.TextLineDataset(Dataset.range(2))
    with gzip.open(tmp_path / "pieces", "wb") as file:
        file.write(b"HHaabbccF")
    pieces = tf.data.FixedLengthRecordDataset(
        str(tmp_path / "pieces"), 2, 2, 1, compression_type="GZIP"
    )
    assert elements(pieces) == [b"aa", b"bb", b"cc", "end"]


def test_files_are_looked_for_when_an_iteration_starts(tmp_path) -> None:
    pattern = tf.placeholder(tf.string, [])
    iterator = Dataset.list_files(pattern, shuffle=False).make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match="No files matched"):
            sess.run(iterator.initializer, {pattern: f"{tmp_path}/*.txt"})
        (tmp_path / "a.txt").write_text("a")
        sess.run(iterator.initializer, {pattern: f"{tmp_path}/*.txt"})
        assert sess.run(element) == f"{tmp_path}/a.txt".encode()


def test_tensors_as_arguments() -> None:
    fill = Dataset.range(1, 4).map(lambda x: tf.fill([x], x))
    padded = fill.padded_batch(2, tf.constant([5], tf.int64))
    assert elements(padded) == [[[1, 0, 0, 0, 0], [2, 2, 0, 0, 0]], [[3, 3, 3, 0, 0]], "end"]
    shuffled = elements(Dataset.range(3).shuffle(3, seed=tf.constant(3, tf.int64)), 3)
    assert sorted(shuffled) == [0, 1, 2]

    def count(n):
        yield from range(n)

    counted = Dataset.range(1, 4).flat_map(
        lambda n: Dataset.from_generator(count, tf.int64, args=(n,))
    )
    assert elements(counted) == [0, 0, 1, 0, 1, 2, "end"]


def test_what_does_not_fit_together_is_refused() -> None:
    one, two = tf.constant(1, tf.int64), tf.constant(2, tf.int64)
    with pytest.raises(TypeError, match="different types"):
        Dataset.range(2).concatenate(Dataset.from_tensors((one, two)))
    with pytest.raises(TypeError, match="different types"):
        Dataset.from_tensors({"a": 1}).concatenate(Dataset.from_tensors((1,)))
    with pytest.raises(ValueError, match="equally many rows"):
        Dataset.from_tensors((tf.zeros([2]), tf.zeros([3]))).unbatch()
    with pytest.raises(ValueError, match="has no rows"):
        Dataset.from_tensors(1).unbatch()
    with tf.Graph().as_default():
        elsewhere = Dataset.range(3)
    with pytest.raises(ValueError, match="another one than that in which the dataset was made"):
        elsewhere.make_one_shot_iterator()


def test_options() -> None:
    options = tf.data.Options()
    options.experimental_deterministic = False
    options.experimental_threading.private_threadpool_size = 2
    options.experimental_optimization.map_vectorization.enabled = True
    options.experimental_stats.latency_all_edges = True
    dataset = Dataset.range(2).with_options(options).map(lambda x: x)
    assert dataset.options() == options
    other = tf.data.Options()
    other.experimental_deterministic = True
    merged = dataset.with_options(other).options()
    assert merged.experimental_deterministic is True
    assert merged.experimental_threading.private_threadpool_size == 2
    assert merged.experimental_optimization.map_vectorization.enabled is True
    with pytest.raises(AttributeError, match="no_such_option"):
        options.no_such_option = 1
    with pytest.raises(TypeError, match="Options"):
        dataset.with_options({})
    spec = experimental.get_structure(dataset)
    assert spec == tf.TensorSpec([], tf.int64)


@pytest.mark.threads
@pytest.mark.parametrize("kind", ["reduce", "filter"])
def test_a_run_over_an_endless_dataset_ends_with_its_session(kind: str) -> None:
    started = threading.Event()

    def seen(x: Any) -> Any:
        started.set()
        return x

    endless = tf.data.Dataset.range(1).repeat()
    if kind == "reduce":
        fetch = endless.reduce(
            tf.constant(0, tf.int64), lambda a, b: a + tf.py_func(seen, [b], tf.int64)
        )
    else:
        never = endless.filter(lambda x: tf.py_func(seen, [x], tf.int64) > 0)
        fetch = never.make_one_shot_iterator().get_next()
    session = tf.Session()
    errors: list[Exception] = []

    def run() -> None:
        try:
            session.run(fetch)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert started.wait(60)
    session.close()
    thread.join(60)
    assert not thread.is_alive()
    assert [type(error) for error in errors] == [tf.errors.CancelledError]


def test_a_run_over_an_endless_dataset_ends_when_its_time_is_up() -> None:
    endless = tf.data.Dataset.range(1).repeat()
    total = endless.reduce(tf.constant(0, tf.int64), lambda a, b: a + b)
    with tf.Session() as session, pytest.raises(tf.errors.DeadlineExceededError):
        session.run(total, options=tf.RunOptions(timeout_in_ms=200))


def test_a_state_of_another_structure_is_refused() -> None:
    with pytest.raises(TypeError, match="state has 1 tensors, reduce_func returns 2"):
        tf.data.Dataset.range(3).reduce(tf.constant(0, tf.int64), lambda a, b: (a, b))


def test_a_tensor_array_without_elements_keeps_the_shape_of_what_it_would_hold() -> None:
    def counted(n):
        n = tf.cast(n, tf.int32)
        return tf.TensorArray(tf.int32, size=n, element_shape=[]).unstack(tf.range(n))

    arrays = tf.data.Dataset.range(4).map(counted)
    rows = arrays.flat_map(lambda array: tf.data.Dataset.from_tensor_slices(array.stack()))
    assert elements(rows) == [0, 0, 1, 0, 1, 2, "end"]


def test_only_datasets_and_iterators_have_a_structure() -> None:
    with pytest.raises(TypeError, match="must be a Dataset or Iterator object"):
        experimental.get_structure([1])
