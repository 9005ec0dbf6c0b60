"""`tf.contrib.learn.io`: input functions of arrays, frames and generators, and readers of files."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

learn = tf.contrib.learn
pytestmark = pytest.mark.usefixtures("graph")


def drawn(tensors):
    """What all runs of ``tensors`` give, until the input ends."""
    found = []
    with tf.Session() as sess:
        sess.run([tf.local_variables_initializer(), tf.global_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        try:
            while True:
                found.append(sess.run(tensors))
        except tf.errors.OutOfRangeError:
            pass
        coord.request_stop()
        coord.join(threads)
    return found


def test_the_input_function_of_the_first_guide_shuffles_by_itself() -> None:
    x, y = np.arange(40.0), -np.arange(40.0)
    features, labels = learn.io.numpy_input_fn({"x": x}, y, batch_size=40, num_epochs=1)()
    ((found, targets),) = drawn((features, labels))
    assert sorted(found["x"]) == x.tolist()
    assert found["x"].tolist() != x.tolist()
    assert (found["x"] == -targets).all()
    estimator = learn.LinearRegressor([tf.contrib.layers.real_valued_column("x")])
    estimator.fit(input_fn=learn.io.numpy_input_fn({"x": x / 40}, y, 4, 1000), steps=3)
    assert np.isfinite(
        estimator.evaluate(input_fn=learn.io.numpy_input_fn({"x": x / 40}, y, 4, 1))["loss"]
    )


def test_arrays_out_of_frames() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2], "b": [True, False]})
    assert learn.extract_pandas_data(frame).tolist() == [[1.0, 1.0], [2.0, 0.0]]
    assert learn.extract_pandas_matrix(frame).shape == (2, 2)
    assert learn.extract_pandas_labels(frame[["a"]]).tolist() == [[1], [2]]
    assert learn.extract_pandas_data("as it is") == "as it is"
    with pytest.raises(ValueError, match="must be int, float, or bool. Found: 'c'"):
        learn.extract_pandas_data(pandas.DataFrame({"c": ["text"]}))
    with pytest.raises(ValueError, match="Only one column"):
        learn.extract_pandas_labels(frame)
    batch = learn.io.pandas_input_fn(frame[["a"]], shuffle=False)()
    assert drawn(batch)[0]["a"].tolist() == [1, 2]


def numbered():
    for i in range(3):
        yield {"a": np.full([1], i), "b": np.full([i + 1], 7), "label": np.full([2], -i)}


def test_a_generator_gives_batches_as_tensorflows_queue_does() -> None:
    """Values are TensorFlow 1.15's: what is taken before the end was seen begins the next epoch."""

    def two():
        for i in range(2):
            yield {"a": np.ones(1) * i, "b": np.ones(1) * i + 32, "label": np.ones(1) * i - 32}

    make = learn.io.generator_input_fn
    features, label = make(two, "label", batch_size=2, shuffle=False)()
    found = drawn((features, label))
    assert [batch["a"].ravel().tolist() for batch, _ in found] == [[0.0, 1.0], [0.0]]
    assert found[0][1].ravel().tolist() == [-32.0, -31.0]
    whole = drawn(make(two, batch_size=4, shuffle=False)())
    assert [batch["b"].ravel().tolist() for batch in whole] == [[32.0, 33.0, 32.0, 33.0]]
    _, targets = make(two, ["label", "b"], batch_size=2)()
    assert sorted(targets) == ["b", "label"]


def test_a_generator_of_rows_of_several_lengths_is_padded() -> None:
    features = learn.io.generator_input_fn(
        numbered, batch_size=3, shuffle=False, pad_value={"a": 0, "b": -1, "label": 0}
    )()
    assert drawn(features)[0]["b"].tolist() == [[7, -1, -1], [7, 7, -1], [7, 7, 7]]


@pytest.mark.parametrize(
    ("x", "target", "error", "text"),
    [
        (np.ones(3), None, TypeError, "x must be generator function"),
        (lambda: np.ones(3), None, TypeError, r"x\(\) must be generator"),
        (numbered, "none", KeyError, "target_key not in yielded dict"),
        (numbered, ["label", 3], TypeError, "Container of str"),
    ],
    ids=["array", "no generator", "key", "number"],
)
def test_what_a_generator_has_to_be(x, target, error, text) -> None:
    with pytest.raises(error, match=text):
        learn.io.generator_input_fn(x, target)()


@pytest.fixture
def records(tmp_path):
    for name in "ab":
        with tf.python_io.TFRecordWriter(str(tmp_path / f"{name}.tfrecord")) as writer:
            for i in range(3):
                feature = tf.train.Feature(
                    int64_list=tf.train.Int64List(value=[i + 10 * (name == "b")])
                )
                example = tf.train.Example(features=tf.train.Features(feature={"n": feature}))
                writer.write(example.SerializeToString())
    return str(tmp_path / "*.tfrecord")


@pytest.mark.threads
def test_records_of_files_in_batches(records) -> None:
    keys, raw = learn.read_keyed_batch_examples(
        records, 4, tf.TFRecordReader, randomize_input=False, num_epochs=1
    )
    found = drawn((keys, raw))
    assert [len(batch) for batch, _ in found] == [4, 2]
    assert all(b".tfrecord:" in key for batch, _ in found for key in batch)


@pytest.mark.threads
@pytest.mark.parametrize("shuffled", [False, True])
def test_features_of_files_in_batches(records, shuffled) -> None:
    spec = {"n": tf.FixedLenFeature([], tf.int64), "none": tf.VarLenFeature(tf.string)}
    features = learn.read_batch_record_features(
        records, 2, spec, randomize_input=shuffled, num_epochs=2
    )
    assert isinstance(features["none"], tf.SparseTensor)
    found = [int(n) for batch in drawn(features["n"]) for n in batch]
    assert sorted(found) == sorted([0, 1, 2, 10, 11, 12] * 2)


def test_readers_say_what_is_wrong(tmp_path) -> None:
    with pytest.raises(ValueError, match="No files match"):
        learn.read_batch_examples(str(tmp_path / "*.none"), 2, tf.TFRecordReader)
    (tmp_path / "one").write_bytes(b"")
    with pytest.raises(ValueError, match="Invalid batch_size 9, with queue_capacity 4"):
        learn.read_batch_examples(str(tmp_path / "one"), 9, tf.TFRecordReader, queue_capacity=4)
    with pytest.raises(ValueError, match="Invalid num_epochs 0"):
        learn.read_batch_examples(str(tmp_path / "one"), 2, tf.TFRecordReader, num_epochs=0)
