"""Samples of queues, readers, accumulators, barriers and locks."""

from __future__ import annotations

import os
import pathlib
import tempfile
from typing import Any

import numpy as np

from tests.samples.base import Sample
from tests.samples.control_flow import after, raw

ROWS = np.array([[1, 2], [3, 4], [5, 6]], np.float32)


def filled(tf: Any, queue: Any, rows: Any, take: Any) -> Any:
    """What ``take(queue)`` gives after ``rows`` went in, all in one run."""
    put = queue.enqueue_many([rows])
    with tf.control_dependencies([put]):
        return take(queue)


def fifo(tf: Any, **options: Any) -> Any:
    return tf.FIFOQueue(10, [tf.float32], shapes=[[2]], **options)


def one_by_one(tf: Any, x: Any) -> Any:
    queue = fifo(tf)
    with tf.control_dependencies([queue.enqueue(x[0])]):
        second = queue.enqueue(x[1])
    with tf.control_dependencies([second]):
        return queue.dequeue()


def closed(tf: Any, x: Any) -> Any:
    queue = fifo(tf)
    put = queue.enqueue_many([x])
    with tf.control_dependencies([put]):
        close = queue.close()
    with tf.control_dependencies([close]):
        rest = queue.dequeue_up_to(5)
        is_closed = queue.is_closed()
    return [rest, is_closed]


def priorities(tf: Any) -> Any:
    queue = tf.PriorityQueue(10, tf.string, [[]])
    put = queue.enqueue_many([np.array([5, 1, 3]), ["five", "one", "three"]])
    with tf.control_dependencies([put]):
        return queue.dequeue_many(2)


def padded(tf: Any) -> Any:
    queue = tf.PaddingFIFOQueue(10, tf.int32, [[None]])
    with tf.control_dependencies([queue.enqueue([[1, 2, 3]])]):
        second = queue.enqueue([[4]])
    with tf.control_dependencies([second]):
        return queue.dequeue_many(2)


def shuffled(tf: Any, x: Any) -> Any:
    queue = tf.RandomShuffleQueue(10, 0, [tf.float32], shapes=[[2]], seed=1)
    return tf.reduce_sum(filled(tf, queue, x, lambda q: q.dequeue_many(3)), 0)


# One folder for each test process: samples write files, and two at once read halves of them. The
# name is the same in the other engine's process, which inherits the variable.
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "alone")
FOLDER = pathlib.Path(tempfile.gettempdir()) / f"dataflow_reader_samples_{WORKER}"


def file(name: str, data: bytes) -> str:
    """A small file to read, written once."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / name
    if not path.exists() or path.read_bytes() != data:
        path.write_bytes(data)
    return str(path)


def records_file(tf: Any) -> str:
    FOLDER.mkdir(exist_ok=True)
    path = str(FOLDER / "a.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(b"first")
        writer.write(b"second")
    return path


def read(make: Any, names: Any, pick: Any) -> Any:
    """``pick(reader, queue)`` of a reader over files."""

    def build(tf: Any) -> Any:
        paths = [n(tf) if callable(n) else n for n in names]
        queue = tf.FIFOQueue(10, [tf.string], shapes=[[]])
        put = queue.enqueue_many([paths])
        with tf.control_dependencies([put]):
            return pick(tf, make(tf), queue)

    return build


def lines(_: Any) -> str:
    return file("lines.txt", b"head\none\ntwo\r\n")


def numbers(_: Any) -> str:
    return file("numbers.bin", b"HaabbccF")


# A ReaderBaseState: one file begun, one done, one record read, and the file's name.
STATE_AFTER_NUMBERS = b"\x08\x01\x10\x01\x18\x01\x22" + (lambda name: bytes([len(name)]) + name)(
    str(FOLDER / "numbers.bin").encode()
)


def value(tf: Any, reader: Any, queue: Any) -> Any:
    return reader.read(queue)[1]


def produced(tf: Any, reader: Any, queue: Any) -> Any:
    first = reader.read(queue)
    with tf.control_dependencies([first[1]]):
        return [reader.num_records_produced(), reader.num_work_units_completed()]


def reset(tf: Any, reader: Any, queue: Any) -> Any:
    first = reader.read(queue)
    with tf.control_dependencies([first[1]]):
        back = reader.reset()
    return after(tf, back, first[1])


def restored(tf: Any, reader: Any, queue: Any) -> Any:
    """The state after one file, put back after the counts were lost."""
    first = reader.read(queue)
    with tf.control_dependencies([first[1]]):
        state = reader.serialize_state()
    with tf.control_dependencies([state]):
        lost = reader.reset()
    with tf.control_dependencies([lost]):
        back = reader.restore_state(state)
    with tf.control_dependencies([back]):
        return reader.serialize_state()


def written(tf: Any) -> Any:
    path = str(FOLDER / "written" / "x.txt")
    with tf.control_dependencies([tf.write_file(path, "hello")]):
        return tf.read_file(tf.constant(path))


def averaged(tf: Any, x: Any) -> Any:
    total = tf.ConditionalAccumulator(tf.float32, [2])
    with tf.control_dependencies([total.set_global_step(1)]):
        stale = total.apply_grad(x[2], 0)
    with tf.control_dependencies([stale]):
        first = total.apply_grad(x[0], 1)
    with tf.control_dependencies([first]):
        second = total.apply_grad(x[1], 2)
    with tf.control_dependencies([second]):
        count = total.num_accumulated()
    with tf.control_dependencies([count]):
        return [count, total.take_grad(2)]


def averaged_by_old_ops(tf: Any, x: Any) -> Any:
    total = raw(tf, "ConditionalAccumulator", dtype=tf.float32, shape=[2])
    step = raw(
        tf, "AccumulatorSetGlobalStep", handle=total, new_global_step=tf.constant(1, tf.int64)
    )
    wait, count = step, None
    for row, local_step in ((2, 0), (0, 1), (1, 2)):
        with tf.control_dependencies([wait]):
            wait = raw(
                tf,
                "AccumulatorApplyGradient",
                handle=total,
                local_step=tf.constant(local_step, tf.int64),
                gradient=x[row],
            )
    with tf.control_dependencies([wait]):
        count = raw(tf, "AccumulatorNumAccumulated", handle=total)
    with tf.control_dependencies([count]):
        take = raw(tf, "AccumulatorTakeGradient", handle=total, num_required=2, dtype=tf.float32)
    return [count, take]


def sparse_averaged(tf: Any, x: Any) -> Any:
    total = tf.SparseConditionalAccumulator(tf.float32, [4, 2])
    first = total.apply_grad([0, 2], x[:2], [4, 2], 0)
    with tf.control_dependencies([first]):
        second = total.apply_grad([2, 3], x[1:], [4, 2], 0)
    with tf.control_dependencies([second]):
        return list(total.take_grad(2))


def make_barrier(tf: Any) -> Any:
    if tf.__name__ != "dataflow":
        from tensorflow.python.ops.data_flow_ops import Barrier
    else:
        from dataflow.ops.barrier import Barrier
    return Barrier([tf.float32, tf.int32], [[], []])


def gathered(tf: Any) -> Any:
    barrier = make_barrier(tf)
    first = barrier.insert_many(0, ["a", "b", "c"], [1.0, 2.0, 3.0])
    with tf.control_dependencies([first]):
        second = barrier.insert_many(1, ["b", "a"], [20, 10])
    with tf.control_dependencies([second]):
        sizes = [barrier.ready_size(), barrier.incomplete_size()]
    with tf.control_dependencies(sizes):
        _, keys, values = barrier.take_many(2)
    with tf.control_dependencies([keys]):
        close = barrier.close()
    return [*sizes, after(tf, close, keys), *values]


def staged(tf: Any, x: Any) -> Any:
    options = {"shared_name": "sample_area"}
    put = raw(tf, "Stage", values=[x], **options)
    with tf.control_dependencies([put]):
        peek = raw(tf, "StagePeek", index=0, dtypes=[tf.float32], **options)[0]
        size = raw(tf, "StageSize", dtypes=[tf.float32], **options)
    with tf.control_dependencies([peek, size]):
        take = raw(tf, "Unstage", dtypes=[tf.float32], **options)[0]
    with tf.control_dependencies([take]):
        clear = raw(tf, "StageClear", dtypes=[tf.float32], **options)
    return [size, after(tf, clear, peek), take]


def staged_by_key(tf: Any, x: Any, prefix: str) -> Any:
    """Under key 3 both parts, one after the other; under 7 one alone."""
    options = {"shared_name": f"{prefix}map_area", "dtypes": [tf.float32, tf.float32]}
    one = {**options, "dtypes": [tf.float32]}
    seven, three = tf.constant(7, tf.int64), tf.constant(3, tf.int64)
    name = f"{prefix}MapStage"
    first = raw(tf, name, key=three, indices=[1], values=[x], **options)
    with tf.control_dependencies([first]):
        other = raw(tf, name, key=seven, indices=[0], values=[x], **options)
        incomplete = raw(tf, f"{prefix}MapIncompleteSize", **options)
    with tf.control_dependencies([other, incomplete]):
        second = raw(tf, name, key=three, indices=[0], values=[x * 2.0], **options)
    with tf.control_dependencies([second]):
        size = raw(tf, f"{prefix}MapSize", **options)
        peek = raw(tf, f"{prefix}MapPeek", key=three, indices=[0, 1], **options)
    with tf.control_dependencies([size, *peek]):
        taken = raw(tf, f"{prefix}MapUnstage", key=three, indices=[1], **one)[0]
    with tf.control_dependencies([taken]):
        key, (last,) = raw(tf, f"{prefix}MapUnstageNoKey", indices=[0], **one)
    with tf.control_dependencies([last]):
        clear = raw(tf, f"{prefix}MapClear", **options)
    return [size, *peek, taken, after(tf, clear, last), tf.reshape(key, [])]


def _staged_by_key(x: Any) -> list[Any]:
    return [np.int32(1), 2 * x, x, x, 2 * x, np.int64(3)]


def exclusive(tf: Any, x: Any) -> Any:
    return tf.CriticalSection().execute(lambda: x * 2.0)


STALE_AND_MEAN = [np.int32(2), np.array([2, 3], np.float32)]
SPARSE = [
    np.array([0, 2, 3]),
    np.array([[1, 2], [3, 4], [5, 6]], np.float32),
    np.array([4, 2]),
]
GATHERED = [
    np.int32(2),
    np.int32(1),
    np.array([b"b", b"a"], object),
    np.array([2, 1], np.float32),
    np.array([20, 10], np.int32),
]


def plain(op_type: str, build: Any, inputs: Any = (), expected: Any = None, **more: Any) -> Sample:
    return Sample(op_type, build, inputs, expected, gradient=(), **more)


def text_lines(tf: Any) -> Any:
    return tf.TextLineReader(skip_header_lines=1)


BY_KEY = [
    plain(
        f"{prefix}{name}",
        lambda tf, x, prefix=prefix: staged_by_key(tf, x, prefix),
        (ROWS,),
        _staged_by_key,
    )
    for prefix in ("", "Ordered")
    for name in (
        "MapStage",
        "MapUnstage",
        "MapUnstageNoKey",
        "MapPeek",
        "MapSize",
        "MapIncompleteSize",
        "MapClear",
    )
]


SAMPLES = [
    plain("FIFOQueueV2", one_by_one, (ROWS,), lambda x: x[0]),
    plain("QueueEnqueueV2", one_by_one, (ROWS,), lambda x: x[0]),
    plain("QueueDequeueV2", one_by_one, (ROWS,), lambda x: x[0]),
    plain(
        "QueueEnqueueManyV2",
        lambda tf, x: filled(tf, fifo(tf), x, lambda q: q.dequeue_many(2)),
        (ROWS,),
        lambda x: x[:2],
    ),
    plain(
        "QueueDequeueManyV2",
        lambda tf, x: filled(tf, fifo(tf), x, lambda q: q.dequeue_many(3)),
        (ROWS,),
        lambda x: x,
    ),
    plain("QueueDequeueUpToV2", closed, (ROWS,), lambda x: [x, np.True_]),
    plain("QueueCloseV2", closed, (ROWS,), lambda x: [x, np.True_]),
    plain("QueueIsClosedV2", closed, (ROWS,), lambda x: [x, np.True_]),
    plain(
        "QueueSizeV2",
        lambda tf, x: filled(tf, fifo(tf), x, lambda q: q.size()),
        (ROWS,),
        np.int32(3),
    ),
    plain("PaddingFIFOQueueV2", padded, (), np.array([[1, 2, 3], [4, 0, 0]], np.int32)),
    plain(
        "PriorityQueueV2", priorities, (), [np.array([1, 3]), np.array([b"one", b"three"], object)]
    ),
    plain("RandomShuffleQueueV2", shuffled, (ROWS,), lambda x: x.sum(0)),
    plain(
        "WholeFileReaderV2",
        read(lambda tf: tf.WholeFileReader(), [lines], value),
        (),
        b"head\none\ntwo\r\n",
    ),
    plain("TextLineReaderV2", read(text_lines, [lines], value), (), b"one"),
    plain("ReaderReadV2", read(text_lines, [lines], value), (), b"one"),
    plain(
        "ReaderReadUpToV2",
        read(text_lines, [lines], lambda tf, r, q: r.read_up_to(q, 5)[1]),
        (),
        np.array([b"one", b"two"], object),
    ),
    plain(
        "FixedLengthRecordReaderV2",
        read(lambda tf: tf.FixedLengthRecordReader(2, 1, 1), [numbers], value),
        (),
        b"aa",
    ),
    plain(
        "TFRecordReaderV2",
        read(lambda tf: tf.TFRecordReader(), [records_file], value),
        (),
        b"first",
    ),
    plain("IdentityReaderV2", read(lambda tf: tf.IdentityReader(), ["work"], value), (), b"work"),
    plain(
        "ReaderNumRecordsProducedV2",
        read(text_lines, [lines], produced),
        (),
        [np.int64(1), np.int64(0)],
    ),
    plain(
        "ReaderNumWorkUnitsCompletedV2",
        read(text_lines, [lines], produced),
        (),
        [np.int64(1), np.int64(0)],
    ),
    plain(
        "ReaderResetV2", read(lambda tf: tf.WholeFileReader(), [numbers], reset), (), b"HaabbccF"
    ),
    plain(
        "ReaderSerializeStateV2",
        read(lambda tf: tf.WholeFileReader(), [numbers], restored),
        (),
        STATE_AFTER_NUMBERS,
    ),
    plain(
        "ReaderRestoreStateV2",
        read(lambda tf: tf.WholeFileReader(), [numbers], restored),
        (),
        STATE_AFTER_NUMBERS,
    ),
    plain("ReadFile", written, (), b"hello"),
    plain("WriteFile", written, (), b"hello"),
    plain(
        "MatchingFiles",
        lambda tf: tf.matching_files(str(pathlib.Path(lines(tf)).parent / "li*.txt")),
        (),
        np.array([str(FOLDER / "lines.txt").encode()], object),
    ),
    *[
        plain(op_type, averaged, (ROWS,), STALE_AND_MEAN)
        for op_type in (
            "ResourceConditionalAccumulator",
            "ResourceAccumulatorApplyGradient",
            "ResourceAccumulatorTakeGradient",
            "ResourceAccumulatorNumAccumulated",
            "ResourceAccumulatorSetGlobalStep",
        )
    ],
    *[
        plain(op_type, averaged_by_old_ops, (ROWS,), STALE_AND_MEAN)
        for op_type in (
            "ConditionalAccumulator",
            "AccumulatorApplyGradient",
            "AccumulatorTakeGradient",
            "AccumulatorNumAccumulated",
            "AccumulatorSetGlobalStep",
        )
    ],
    plain("SparseConditionalAccumulator", sparse_averaged, (ROWS,), SPARSE),
    plain("SparseAccumulatorApplyGradient", sparse_averaged, (ROWS,), SPARSE),
    plain("SparseAccumulatorTakeGradient", sparse_averaged, (ROWS,), SPARSE),
    plain("Barrier", gathered, (), GATHERED),
    plain("BarrierInsertMany", gathered, (), GATHERED),
    plain("BarrierTakeMany", gathered, (), GATHERED),
    plain("BarrierReadySize", gathered, (), GATHERED),
    plain("BarrierIncompleteSize", gathered, (), GATHERED),
    plain("BarrierClose", gathered, (), GATHERED),
    plain("Stage", staged, (ROWS,), lambda x: [np.int32(1), x, x]),
    plain("Unstage", staged, (ROWS,), lambda x: [np.int32(1), x, x]),
    plain("StagePeek", staged, (ROWS,), lambda x: [np.int32(1), x, x]),
    plain("StageSize", staged, (ROWS,), lambda x: [np.int32(1), x, x]),
    plain("StageClear", staged, (ROWS,), lambda x: [np.int32(1), x, x]),
    *BY_KEY,
    plain("MutexV2", exclusive, (ROWS,), lambda x: 2 * x),
    plain("MutexLock", exclusive, (ROWS,), lambda x: 2 * x),
    plain("ConsumeMutexLock", exclusive, (ROWS,), lambda x: 2 * x),
]
