"""What bad input gets: the error names the file, the row, the column or the node."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf


@pytest.fixture(autouse=True)
def fresh_graph():
    before = tf.logging.get_verbosity()
    tf.logging.set_verbosity(tf.logging.ERROR)
    with tf.Graph().as_default():
        yield
    tf.logging.set_verbosity(before)


def drain(dataset):
    following = dataset.make_one_shot_iterator().get_next()
    got = []
    with tf.Session() as session:
        while True:
            try:
                got.append(session.run(following))
            except tf.errors.OutOfRangeError:
                return got
            except tf.errors.OpError as error:
                return got, error


BAD_ROWS = {
    "no number": ("3,x", r"Field 1 in record {} is not a valid float32: x. The record is '3,x'"),
    "too many": ("3,4,5", r"Expect 2 fields but have 3 in record {}: '3,4,5'"),
    "missing": (",4", r"Field 0 is required but missing in record {}! The record is ',4'"),
}


@pytest.mark.parametrize("name", BAD_ROWS)
@pytest.mark.parametrize("kind", ["csv dataset", "text lines"])
def test_a_csv_with_a_bad_row(kind, name, tmp_path) -> None:
    """The rows before it are read; the error has the file, the line, its text, the column, the node."""
    row, message = BAD_ROWS[name]
    path = tmp_path / "rows.csv"
    path.write_text(f"1,2\n2,3\n{row}\n4,5\n")
    if kind == "csv dataset":
        dataset = tf.data.experimental.CsvDataset(str(path), [tf.int32, tf.float32])
    else:
        required = [tf.constant([], tf.int32), tf.constant([], tf.float32)]
        dataset = tf.data.TextLineDataset(str(path)).map(lambda line: tf.decode_csv(line, required))
    got, error = drain(dataset)
    assert [tuple(r) for r in got] == [(1, 2.0), (2, 3.0)]
    assert isinstance(error, tf.errors.InvalidArgumentError)
    # A record of the file, or the only one that the function is given.
    number, node = (2, "IteratorGetNext") if kind == "csv dataset" else (0, "DecodeCSV")
    with pytest.raises(tf.errors.InvalidArgumentError, match=message.format(number)):
        raise error
    assert f"(line 3 of {path})" in str(error)
    assert node in str(error)


def test_a_bad_row_is_found_after_shuffling_and_batching(tmp_path) -> None:
    paths = [tmp_path / f"part{i}.csv" for i in range(3)]
    for i, path in enumerate(paths):
        path.write_text("a,b\n" + "".join(f"{i},{j}\n" for j in range(4)))
    paths[1].write_text('a,b\n1,0\n1,"x\n1,2\n')
    lines = tf.data.Dataset.from_tensor_slices([str(p) for p in paths]).interleave(
        lambda name: tf.data.TextLineDataset(name).skip(1), cycle_length=3
    )
    dataset = lines.shuffle(20, seed=1).cache().repeat(2).batch(50)
    _, error = drain(dataset.map(lambda line: tf.decode_csv(line, [[0], [0]])))
    assert f"""'1,"x' (line 3 of {paths[1]})""" in str(error)
    assert "Quoted field has to end with quote" in str(error)


def test_a_bad_row_from_a_queue_names_its_line(tmp_path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n3,x\n")
    files = tf.train.string_input_producer([str(path)], num_epochs=1, shuffle=False)
    _, line = tf.TextLineReader(skip_header_lines=1).read(files)
    columns = tf.decode_csv(tf.train.batch([line], 2), [[0], [0]])
    with tf.train.MonitoredSession() as session:
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(columns)
    assert f"'3,x' (line 3 of {path})" in str(caught.value)


def test_a_bad_row_in_a_batch_is_counted() -> None:
    columns = tf.decode_csv(["1,2", "3,4", "5,x"], [[0], [0]], name="rows")
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match=r"'rows': Field 1 in record 2 .*'5,x'"),
    ):
        session.run(columns)


def records(path, count=3):
    with tf.python_io.TFRecordWriter(str(path)) as writer:
        for i in range(count):
            writer.write(b"record %d" % i)
    raw = bytearray(path.read_bytes())
    raw[-6] ^= 1  # in the last record's data
    path.write_bytes(raw)


def test_a_record_with_a_bad_crc(tmp_path) -> None:
    records(tmp_path / "train.records")
    got, error = drain(tf.data.TFRecordDataset(str(tmp_path / "train.records")))
    assert got == [b"record 0", b"record 1"]
    with pytest.raises(tf.errors.DataLossError, match=r"train.records: record 2 at byte 48: .*CRC"):
        raise error


def test_a_record_with_a_bad_crc_in_a_queue(tmp_path) -> None:
    records(tmp_path / "train.records")
    queue = tf.train.string_input_producer([str(tmp_path / "train.records")], num_epochs=1)
    _, value = tf.TFRecordReader().read(queue)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        got = [session.run(value), session.run(value)]
        with pytest.raises(tf.errors.DataLossError, match=r"train.records: record 2 at byte 48"):
            session.run(value)
        coordinator.request_stop()
        coordinator.join(threads)
    assert got == [b"record 0", b"record 1"]


def test_ragged_columns_are_named() -> None:
    columns = {"age": np.zeros(3), "city": np.zeros(4)}
    with pytest.raises(ValueError, match=r"3 rows \('age'\), 4 rows \('city'\)"):
        tf.data.Dataset.from_tensor_slices(columns)
    with pytest.raises(ValueError, match="component 'words': .*rows have different lengths"):
        tf.data.Dataset.from_tensor_slices({"age": [1, 2], "words": [[1, 2], [3]]})
    inputs = tf.estimator.inputs.numpy_input_fn(columns, np.zeros(3), shuffle=False)
    with pytest.raises(ValueError, match=r"x\['age'\]\": 3, \"x\['city'\]\": 4"):
        inputs()


def classifier(folder, labels):
    model = tf.estimator.DNNClassifier(
        [2], [tf.feature_column.numeric_column("x")], str(folder), n_classes=3
    )
    inputs = tf.estimator.inputs.numpy_input_fn(
        {"x": np.zeros(len(labels), np.float32)}, np.array(labels), shuffle=False
    )
    return model, inputs


def test_labels_out_of_range_leave_the_checkpoint(tmp_path) -> None:
    model, good = classifier(tmp_path, [0, 1, 2])
    model.train(good, steps=1)
    for labels, message in (
        ([0, 1, 3], r"Labels must be <= n_classes - 1. Row 2 of the batch .* has the label \[3\]"),
        ([0, -1, 2], r"Labels must be >= 0. Row 1 of the batch .* has the label \[-1\]"),
    ):
        _, bad = classifier(tmp_path, labels)
        with pytest.raises(tf.errors.InvalidArgumentError, match=message) as caught:
            model.train(bad, steps=1)
        assert "dnn/head/check_labels" in str(caught.value)
    assert model.evaluate(good)["global_step"] == 1


def test_a_loss_that_is_nan_names_its_node_and_leaves_the_checkpoint(tmp_path) -> None:
    column = [tf.feature_column.numeric_column("x")]
    model = tf.estimator.LinearRegressor(column, str(tmp_path))
    x = {"x": np.zeros(2, np.float32)}

    def inputs(labels):
        return tf.estimator.inputs.numpy_input_fn(x, np.array(labels), shuffle=False)

    model.train(inputs([1.0, 2.0]), steps=1)
    with pytest.raises(
        tf.train.NanLossDuringTrainingError, match="'linear/head/weighted_loss/Sum:0' is nan"
    ):
        model.train(inputs([1.0, np.nan]), steps=1)
    assert model.get_variable_value("global_step") == 1
    assert np.isfinite(model.get_variable_value("linear/linear_model/bias_weights")).all()


def test_a_full_disk_names_the_file_and_leaves_what_was_there(tmp_path, monkeypatch) -> None:
    """The session goes on, and the checkpoint of before is whole."""
    w = tf.get_variable("w", [], initializer=tf.ones_initializer())
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(w.initializer)
        saver.save(session, str(tmp_path / "model"), global_step=1)

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        session.run(tf.assign(w, 2.0))
        with monkeypatch.context() as patch:
            patch.setattr("os.fsync", full)
            with pytest.raises(tf.errors.ResourceExhaustedError, match=r"model-2.*No space left"):
                saver.save(session, str(tmp_path / "model"), global_step=2)
        assert session.run(w) == 2.0
        assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model-1")
        saver.restore(session, str(tmp_path / "model-1"))
        assert session.run(w) == 1.0


@pytest.mark.parametrize(
    ("method", "instead"),
    [
        ("group_by_window", "the function of this name is in tf.data.experimental"),
        ("as_numpy_iterator", "make_one_shot_iterator"),
        ("shufle", r"Did you mean tf.data.Dataset.shuffle\?"),
    ],
)
def test_a_method_that_there_is_not_says_what_to_write(method: str, instead: str) -> None:
    with pytest.raises(AttributeError, match=rf"tf\.data\.Dataset\.{method} is not.*{instead}"):
        getattr(tf.data.Dataset.range(3), method)
