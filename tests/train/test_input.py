"""Queue runners, producers, batches and readers: the input pipelines of TensorFlow 1."""

from __future__ import annotations

import collections
import pathlib
import threading
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.formats.record_files import TFRecordWriter


@pytest.fixture(autouse=True)
def fresh_graph() -> Any:
    before = set(threading.enumerate())
    with tf.Graph().as_default():
        yield
    # Others', that end meanwhile, are no concern of these tests.
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
        assert not thread.is_alive(), f"a test left {thread.name} behind"


def drain(fetches: Any, most: int = 1000) -> list[Any]:
    """Everything that ``fetches`` gives until the input ends."""
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=session, coord=coord)
        result = []
        try:
            while not coord.should_stop() and len(result) < most:
                result.append(session.run(fetches))
        except tf.errors.OutOfRangeError:
            pass
        finally:
            coord.request_stop()
            coord.join(threads)
        return result


def files(folder: pathlib.Path, count: int = 3) -> list[str]:
    names = []
    for k in range(count):
        path = folder / f"part{k}.csv"
        path.write_text("id,value\n" + "".join(f"{k},{j}\n" for j in range(4)))
        names.append(str(path))
    return names


def test_the_pipeline_of_the_tutorials(tmp_path: pathlib.Path) -> None:
    queue = tf.train.string_input_producer(files(tmp_path), num_epochs=2, shuffle=True)
    _, line = tf.TextLineReader(skip_header_lines=1).read(queue)
    batch = tf.train.shuffle_batch(
        [line], batch_size=5, capacity=20, min_after_dequeue=4, allow_smaller_final_batch=True
    )
    values = [v for rows in drain(batch) for v in rows]
    counts = collections.Counter(values)
    assert counts == {f"{k},{j}".encode(): 2 for k in range(3) for j in range(4)}


def test_keys_and_records_of_all_readers(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "a.bin")
    pathlib.Path(path).write_bytes(b"HHaabbccF")
    records = str(tmp_path / "a.tfrecord")
    with TFRecordWriter(records) as writer:
        for text in (b"one", b"two"):
            writer.write(text)

    def read_all(reader: Any, name: str) -> list[Any]:
        queue = tf.train.string_input_producer([name], num_epochs=1)
        return drain(list(reader.read(queue)))

    assert read_all(tf.WholeFileReader(), path) == [[path.encode(), b"HHaabbccF"]]


def test_fixed_length_records(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"HHaabbccF")
    queue = tf.train.string_input_producer([str(path)], num_epochs=1)
    key, value = tf.FixedLengthRecordReader(2, header_bytes=2, footer_bytes=1).read(queue)
    name = str(path).encode()
    assert drain([key, value]) == [
        [name + b":%d" % i, v] for i, v in enumerate((b"aa", b"bb", b"cc"))
    ]


def test_tf_records(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "a.tfrecord")
    with TFRecordWriter(path) as writer:
        for text in (b"one", b"two", b"three"):
            writer.write(text)
    queue = tf.train.string_input_producer([path], num_epochs=1)
    reader = tf.TFRecordReader()
    _, values = reader.read_up_to(queue, 2)
    assert [v.tolist() for v in drain(values)] == [[b"one", b"two"], [b"three"]]


def test_a_missing_file_is_reported_by_its_name() -> None:
    queue = tf.train.string_input_producer(["no-such-file"], num_epochs=1)
    batch = tf.train.batch([tf.WholeFileReader().read(queue)[1]], 1)
    with pytest.raises(tf.errors.NotFoundError, match="no-such-file"):
        drain(batch)


def test_slices_keep_their_rows_together() -> None:
    x, y = np.arange(10), np.arange(10) * 10
    row = tf.train.slice_input_producer([x, y], num_epochs=1, shuffle=True, seed=4)
    a, b = tf.train.batch(row, 2, num_threads=2)
    result = drain([a, b])
    rows = [pair for xs, ys in result for pair in zip(xs, ys, strict=True)]
    assert sorted(rows) == [(i, 10 * i) for i in range(10)]


def test_epochs_are_counted_in_a_local_variable() -> None:
    queue = tf.train.range_input_producer(3, num_epochs=2, shuffle=False)
    assert drain(queue.dequeue()) == [0, 1, 2, 0, 1, 2]
    (epochs,) = tf.local_variables()
    assert epochs.op.name == "input_producer/limit_epochs/epochs"


def test_forgetting_the_local_variables_is_reported() -> None:
    queue = tf.train.range_input_producer(3, num_epochs=2)
    with tf.Session() as session:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=session, coord=coord)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(queue.dequeue())
        with pytest.raises(tf.errors.FailedPreconditionError, match="epochs"):
            coord.join(threads)


def test_the_last_batch_is_dropped_unless_asked_for() -> None:
    def batches(smaller: bool) -> list[Any]:
        with tf.Graph().as_default():
            queue = tf.train.range_input_producer(5, num_epochs=1, shuffle=False)
            batch = tf.train.batch([queue.dequeue()], 2, allow_smaller_final_batch=smaller)
            return [b.tolist() for b in drain(batch)]

    assert batches(False) == [[0, 1], [2, 3]]
    assert batches(True) == [[0, 1], [2, 3], [4]]


def test_batches_of_dicts_with_padding() -> None:
    queue = tf.train.range_input_producer(4, num_epochs=1, shuffle=False)
    n = queue.dequeue()
    batch = tf.train.batch({"n": n, "upto": tf.range(n)}, 4, dynamic_pad=True)
    assert set(batch) == {"n", "upto"}
    (result,) = drain(batch)
    np.testing.assert_array_equal(result["upto"], [[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 2]])


def test_enqueue_many() -> None:
    queue = tf.train.range_input_producer(3, num_epochs=1, shuffle=False)
    n = queue.dequeue()
    pairs = tf.stack([n, n * 10])
    batch = tf.train.batch([pairs], 3, enqueue_many=True)
    assert [b.tolist() for b in drain(batch)] == [[0, 0, 1], [10, 2, 20]]


def test_maybe_batch_leaves_out() -> None:
    queue = tf.train.range_input_producer(10, num_epochs=1, shuffle=False)
    n = queue.dequeue()
    batch = tf.train.maybe_batch([n], tf.equal(n % 2, 0), 5)
    assert [b.tolist() for b in drain(batch)] == [[0, 2, 4, 6, 8]]


def test_batch_join_reads_from_several_sources() -> None:
    sources = [
        [tf.train.range_input_producer(4, num_epochs=1).dequeue(), tf.constant(k)] for k in range(2)
    ]
    values, which = tf.train.batch_join(sources, 8)
    ((v, w),) = drain([values, which])
    assert sorted(zip(w.tolist(), v.tolist(), strict=True)) == [
        (k, i) for k in range(2) for i in range(4)
    ]


def test_shapes_must_be_known() -> None:
    x = tf.placeholder(tf.float32, [None])
    with pytest.raises(ValueError, match="fully defined"):
        tf.train.batch([x], 2)
    with pytest.raises(ValueError, match="non-null"):
        tf.train.string_input_producer([])


def test_files_that_match(tmp_path: pathlib.Path) -> None:
    names = files(tmp_path)
    found = tf.train.match_filenames_once(str(tmp_path / "part*.csv"))
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run(found).tolist() == [n.encode() for n in names]


def test_an_error_in_a_runner_reaches_the_main_thread() -> None:
    queue = tf.FIFOQueue(10, tf.float32)
    bad = queue.enqueue(tf.check_numerics(tf.log(tf.constant(-1.0)), "in the runner"))
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [bad] * 2))
    with tf.Session() as session:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=session, coord=coord)
        with pytest.raises(tf.errors.InvalidArgumentError, match="in the runner"):
            coord.join(threads)


def test_runners_without_a_coordinator_end_with_the_session() -> None:
    queue = tf.FIFOQueue(2, tf.float32)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1.0)])
    session = tf.Session()
    threads = runner.create_threads(session, start=True)
    assert runner.create_threads(session) == []  # they run already
    assert session.run(queue.dequeue()) == 1.0
    session.close()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert runner.exceptions_raised == []


def test_start_queue_runners_needs_a_session() -> None:
    with pytest.raises(ValueError, match="No default session"):
        tf.train.start_queue_runners()


def test_files_written_and_read(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "deep" / "x.txt")
    with tf.Session() as session:
        session.run(tf.write_file(path, "hello"))
        assert session.run(tf.read_file(path)) == b"hello"
        with pytest.raises(tf.errors.NotFoundError, match="nothing here"):
            session.run(tf.read_file("nothing here"))


def test_a_whole_file_is_done_with_its_record(tmp_path: pathlib.Path) -> None:
    (tmp_path / "x").write_text("x")
    reader, queue = tf.WholeFileReader(), tf.FIFOQueue(9, [tf.string], [[]])
    with tf.Session() as session:
        session.run(queue.enqueue(str(tmp_path / "x")))
        assert session.run(reader.read_up_to(queue, 3)[1]).tolist() == [b"x"]
        assert session.run(reader.num_work_units_completed()) == 1


@pytest.mark.parametrize("damage", [b"", b"x"])
def test_states_of_readers(damage: bytes) -> None:
    reader, queue = tf.IdentityReader(), tf.FIFOQueue(9, [tf.string], [[]])
    key, _ = reader.read(queue)
    state = tf.placeholder(tf.string)
    restore, produced = reader.restore_state(state), reader.num_records_produced()
    with tf.Session() as session:
        session.run(queue.enqueue_many([["X", "Y"]]))
        session.run(key)
        saved = session.run(reader.serialize_state())
        session.run(key)
        if damage:
            negative = b"\x18" + b"\xff" * 9 + b"\x01"
            for bad in (saved + damage, saved[1:], saved[:-1], b"\x08\x02\x10\x01", negative):
                with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse state"):
                    session.run(restore, {state: bad})
            assert session.run(produced) == 2
        else:
            session.run(restore, {state: saved})
            assert session.run([produced, reader.num_work_units_completed()]) == [1, 1]
            assert (
                session.run(reader.serialize_state()) == saved == b'\x08\x01\x10\x01\x18\x01"\x01X'
            )
        with pytest.raises(tf.errors.UnimplementedError):
            session.run(tf.TextLineReader().serialize_state())
    with pytest.raises(ValueError):
        reader.restore_state([b"a"])


def test_sources_of_a_join_have_the_same_keys() -> None:
    # The values of `x` and `y` would stand in one column without a word.
    with pytest.raises(ValueError, match="must have the same keys, got .*'x'.* and .*'y'"):
        tf.train.batch_join([{"x": 1}, {"y": 2}], batch_size=2)
    joined = tf.train.batch_join([{"x": 1}, {"x": 2}], batch_size=2)
    assert sorted(joined) == ["x"]
