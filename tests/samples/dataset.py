"""Samples of datasets: the first element that comes out."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.samples.base import Sample


def first(make: Any) -> Any:
    """Builds the first element of the dataset that ``make(tf)`` gives."""

    def build(tf: Any) -> Any:
        return make(tf).make_one_shot_iterator().get_next()

    return build


def text_file(content: bytes) -> str:
    """A file with this content, for as long as the process lives."""
    import tempfile

    file = tempfile.NamedTemporaryFile(delete=False, suffix=".txt")  # noqa: SIM115
    file.write(content)
    file.close()
    import atexit
    from pathlib import Path

    atexit.register(Path(file.name).unlink, missing_ok=True)
    return file.name


def database() -> str:
    """A database of SQLite with a table ``t`` of two rows, for as long as the process lives."""
    import sqlite3

    path = text_file(b"")
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (n INTEGER, s TEXT)")
    connection.execute("INSERT INTO t VALUES (2, 'two'), (NULL, 'none')")
    connection.commit()
    connection.close()
    return path


def counted(tf: Any) -> Any:
    return tf.data.experimental.cardinality(tf.data.Dataset.range(10).batch(3))


def written(tf: Any) -> Any:
    """How many bytes a file has: two records of one byte, each with its length and two checksums.

    The file is not there before: TensorFlow folds ``read_file`` of a file that it can read already.
    """
    import os

    path = text_file(b"")
    os.unlink(path)
    records = tf.data.Dataset.from_tensor_slices(["a", "b"])
    with tf.control_dependencies([tf.data.experimental.TFRecordWriter(path).write(records)]):
        return tf.size(tf.decode_raw(tf.read_file(path), tf.uint8))


def serialized(tf: Any) -> Any:
    iterator = tf.data.Dataset.range(3, 6).make_one_shot_iterator()
    state = tf.raw_ops.SerializeIterator(resource_handle=iterator._iterator_resource)
    return tf.equal(tf.rank(state), 0)


def moved_on(tf: Any) -> Any:
    """The third element, where an iterator goes that the one beside it went to by itself."""
    both = [tf.data.Dataset.range(3, 9).make_one_shot_iterator() for _ in range(2)]
    first = both[0].get_next()
    with tf.control_dependencies([first]):
        second = both[0].get_next()
    with tf.control_dependencies([second]):
        state = tf.raw_ops.SerializeIterator(resource_handle=both[0]._iterator_resource)
    move = tf.raw_ops.DeserializeIterator(
        resource_handle=both[1]._iterator_resource, serialized=state
    )
    with tf.control_dependencies([move]):
        return both[1].get_next()


def record_file(tf: Any) -> str:
    path = text_file(b"")
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(b"one")
        writer.write(b"two")
    return path


def initializable(tf: Any) -> Any:
    iterator = tf.data.Dataset.range(3, 5).make_initializable_iterator()
    with tf.control_dependencies([iterator.initializer]):
        return iterator.get_next()


def by_handle(tf: Any) -> Any:
    source = tf.data.Dataset.range(7, 9).make_one_shot_iterator()
    return tf.data.Iterator.from_string_handle(source.string_handle(), tf.int64, []).get_next()


def next_optional(tf: Any) -> Any:
    iterator = tf.data.Dataset.range(7, 9).make_one_shot_iterator()
    return tf.data.experimental.get_next_as_optional(iterator).get_value()


def optional_of(tf: Any, *values: Any) -> Any:
    return tf.data.experimental.Optional.from_value(values)


def missing(tf: Any) -> Any:
    spec = tf.TensorSpec([], tf.float32)
    return tf.data.experimental.Optional.none_from_structure(spec).has_value()


def scanned(tf: Any) -> Any:
    d = tf.data.Dataset.range(1, 5)
    return d.apply(tf.data.experimental.scan(np.int64(10), lambda s, x: (s + x, s * x)))


def _none(tf: Any) -> list[Any]:
    return []


def _number(value: int) -> Any:
    return lambda tf: tf.constant(value, tf.int64)


def from_graph_of_1_15(op_type: str, *inputs: Any) -> Any:
    """The dataset that such a node makes of the numbers from 1 on."""

    def make(tf: Any) -> Any:
        from dataflow.data.element_functions import trace_on_elements
        from dataflow.graph.registry import get_op

        doubled = tf.data.Dataset.range(1, 3).map(lambda x: x * x)
        function = {
            "ParallelMap": lambda x: x * x,
            "MapAndBatch": lambda x: x * x,
            "ParallelInt": lambda x: tf.data.Dataset.from_tensors(x).repeat(2),
        }.get(op_type[:11])
        options = (
            {"f": trace_on_elements(doubled.structure, function, "map_func")[0]} if function else {}
        )
        made = [lambda make=make: make(tf) for make in inputs]
        result = doubled.batch(2) if op_type.startswith("MapAndBatch") else doubled
        return doubled._derive(get_op(op_type), result._structure, *made, **options)

    return make


SAMPLES = [
    Sample(
        "TensorDataset",
        first(lambda tf: tf.data.Dataset.from_tensors([1, 2])),
        (),
        np.array([1, 2]),
    ),
    Sample(
        "TensorSliceDataset",
        first(lambda tf: tf.data.Dataset.from_tensor_slices([[1, 2], [3, 4]])),
        (),
        np.array([1, 2]),
    ),
    Sample(
        "GeneratorDataset",
        first(lambda tf: tf.data.Dataset.from_generator(lambda: iter([5, 6]), tf.int32, [])),
        (),
        5,
    ),
    Sample("RangeDataset", first(lambda tf: tf.data.Dataset.range(3, 9, 2)), (), 3),
    Sample(
        "RandomDataset",
        first(lambda tf: tf.data.experimental.RandomDataset(seed=7)),
        (),
        1992159687,
    ),
    Sample(
        "ZipDataset",
        first(
            lambda tf: tf.data.Dataset.zip((tf.data.Dataset.range(3), tf.data.Dataset.range(5, 9)))
        ),
        (),
        [0, 5],
    ),
    Sample(
        "ConcatenateDataset",
        first(lambda tf: tf.data.Dataset.range(2).concatenate(tf.data.Dataset.range(5, 7)).skip(2)),
        (),
        5,
    ),
    Sample(
        "TextLineDataset",
        first(lambda tf: tf.data.TextLineDataset(text_file(b"first\r\nsecond\n"))),
        (),
        np.array(b"first", dtype=object),
    ),
    Sample(
        "CSVDataset",
        first(
            lambda tf: tf.data.experimental.CsvDataset(
                text_file(b'a,b\n1,"x\ny"\n2,z\n'), [[0], ""], header=True
            ).batch(2)
        ),
        (),
        [np.array([1, 2], np.int32), np.array([b"x\ny", b"z"], dtype=object)],
    ),
    Sample(
        "SqlDataset",
        first(
            lambda tf: tf.data.experimental.SqlDataset(
                "sqlite", database(), "SELECT n, s FROM t ORDER BY n", (tf.int32, tf.string)
            ).batch(2)
        ),
        (),
        [np.array([0, 2], np.int32), np.array([b"none", b"two"], dtype=object)],
    ),
    Sample(
        "TFRecordDataset",
        first(lambda tf: tf.data.TFRecordDataset([record_file(tf)])),
        (),
        np.array(b"one", dtype=object),
    ),
    Sample(
        "FixedLengthRecordDatasetV2",
        first(lambda tf: tf.data.FixedLengthRecordDataset([text_file(b"hABCDf")], 2, 1, 1)),
        (),
        np.array(b"AB", dtype=object),
    ),
    Sample(
        "BatchDatasetV2",
        first(lambda tf: tf.data.Dataset.range(5).batch(3)),
        (),
        np.array([0, 1, 2]),
    ),
    Sample("PrefetchDataset", first(lambda tf: tf.data.Dataset.range(5).prefetch(2)), (), 0),
    Sample("RepeatDataset", first(lambda tf: tf.data.Dataset.range(2).repeat(2).skip(3)), (), 1),
    Sample(
        "TakeDataset",
        first(lambda tf: tf.data.Dataset.range(9).take(2).batch(9)),
        (),
        np.array([0, 1]),
    ),
    Sample("SkipDataset", first(lambda tf: tf.data.Dataset.range(9).skip(4)), (), 4),
    Sample(
        "CacheDataset",
        first(lambda tf: tf.data.Dataset.range(3).cache().repeat(2).batch(6)),
        (),
        np.array([0, 1, 2] * 2),
    ),
    Sample(
        "ShardDataset",
        first(lambda tf: tf.data.Dataset.range(9).shard(3, 1).batch(3)),
        (),
        np.array([1, 4, 7]),
    ),
    Sample(
        "WindowDataset",
        first(
            lambda tf: tf.data.Dataset.range(6).window(3, 1).flat_map(lambda w: w.batch(3)).skip(1)
        ),
        (),
        np.array([1, 2, 3]),
    ),
    Sample(
        "UnbatchDataset",
        first(lambda tf: tf.data.Dataset.range(4).batch(2).unbatch().skip(3)),
        (),
        3,
    ),
    Sample(
        "IgnoreErrorsDataset",
        first(
            lambda tf: (
                tf.data.Dataset.from_tensor_slices([0.0, 2.0])
                .map(lambda x: tf.check_numerics(1.0 / x, "infinite"))
                .apply(tf.data.experimental.ignore_errors())
            )
        ),
        (),
        0.5,
    ),
    Sample(
        "ShuffleDataset",
        first(lambda tf: tf.data.Dataset.range(9).shuffle(9, seed=1)),
        (),
        random=True,
    ),
    Sample(
        "PaddedBatchDatasetV2",
        first(
            lambda tf: (
                tf.data.Dataset.range(1, 3).map(lambda x: tf.fill([x], x)).padded_batch(2, [-1])
            )
        ),
        (),
        np.array([[1, 0], [2, 2]]),
    ),
    Sample("MapDataset", first(lambda tf: tf.data.Dataset.range(2, 5).map(lambda x: x * x)), (), 4),
    Sample(
        "ParallelMapDataset",
        first(lambda tf: tf.data.Dataset.range(2, 5).map(lambda x: x * x, num_parallel_calls=2)),
        (),
        4,
    ),
    *[
        Sample(
            op,
            first(from_graph_of_1_15(op, *inputs)),
            (),
            np.array([1, 16]) if op == "MapAndBatchDataset" else 1,
            oracle=False,
            note="the parts of other graphs, which no function makes",
        )
        for op, *inputs in (
            ("ParallelMapDatasetV2", _none, _number(2)),
            ("MapAndBatchDataset", _none, _number(2), _number(2), lambda tf: tf.constant(False)),
            ("ParallelInterleaveDatasetV2", _none, _number(2), _number(1), _number(2)),
            (
                "ParallelInterleaveDataset",
                *(_none, _number(2), _number(1), lambda tf: tf.constant(False)),
                *(_number(1), _number(1)),
            ),
            ("ShuffleAndRepeatDataset", _number(1), _number(1), _number(2), _number(2)),
            ("ModelDataset",),
            ("OptimizeDataset", lambda tf: tf.constant(["map_fusion"])),
        )
    ],
    Sample(
        "FilterDataset",
        first(lambda tf: tf.data.Dataset.range(9).filter(lambda x: tf.greater(x, 4))),
        (),
        5,
    ),
    Sample(
        "FlatMapDataset",
        first(lambda tf: tf.data.Dataset.range(3).flat_map(tf.data.Dataset.range).batch(3)),
        (),
        np.array([0, 0, 1]),
    ),
    Sample(
        "InterleaveDataset",
        first(
            lambda tf: (
                tf.data.Dataset.range(1, 4)
                .interleave(lambda x: tf.data.Dataset.from_tensors(x).repeat(3), 2, 1)
                .batch(9)
            )
        ),
        (),
        np.array([1, 2, 1, 2, 1, 2, 3, 3, 3]),
    ),
    Sample("ScanDataset", first(scanned), (), 10),
    Sample(
        "TakeWhileDataset",
        first(
            lambda tf: (
                tf.data.Dataset.range(9)
                .apply(tf.data.experimental.take_while(lambda x: tf.not_equal(x, 3)))
                .batch(9)
            )
        ),
        (),
        np.array([0, 1, 2]),
    ),
    Sample("DatasetCardinality", counted, (), np.int64(4)),
    Sample(
        "AssertCardinalityDataset",
        first(
            lambda tf: (
                tf.data.Dataset.range(3)
                .filter(lambda x: x > 0)
                .apply(tf.data.experimental.assert_cardinality(2))
                .batch(9)
            )
        ),
        (),
        np.array([1, 2]),
    ),
    Sample("DatasetToTFRecord", written, (), np.int32(34)),
    Sample(
        "UniqueDataset",
        first(
            lambda tf: (
                tf.data.Dataset.from_tensor_slices([3, 1, 3, 2, 1])
                .apply(tf.data.experimental.unique())
                .batch(9)
            )
        ),
        (),
        np.array([3, 1, 2]),
    ),
    Sample(
        "GroupByWindowDataset",
        first(
            lambda tf: (
                tf.data.Dataset.range(9)
                .apply(
                    tf.data.experimental.group_by_window(
                        lambda x: x % 2, lambda key, window: window.batch(3), 3
                    )
                )
                .skip(1)
            )
        ),
        (),
        np.array([1, 3, 5]),
    ),
    Sample(
        "DirectedInterleaveDataset",
        first(
            lambda tf: tf.data.experimental.choose_from_datasets(
                [tf.data.Dataset.range(3), tf.data.Dataset.range(10, 13)],
                tf.data.Dataset.from_tensor_slices(np.array([1, 0, 1, 1, 1, 0], np.int64)),
            ).batch(9)
        ),
        (),
        np.array([10, 0, 11, 12, 1]),
    ),
    Sample(
        "ReduceDataset",
        lambda tf: tf.data.Dataset.range(5).reduce(np.int64(0), lambda s, x: s + x),
        (),
        10,
    ),
    Sample("IteratorV2", initializable, (), 3),
    Sample("MakeIterator", initializable, (), 3),
    Sample("OneShotIterator", first(lambda tf: tf.data.Dataset.range(3, 4)), (), 3),
    Sample("IteratorGetNext", initializable, (), 3),
    Sample("SerializeIterator", serialized, (), True, oracle=False),  # a variant there
    Sample("DeserializeIterator", moved_on, (), 5, oracle=False),
    Sample("IteratorToStringHandle", by_handle, (), 7),
    Sample("IteratorFromStringHandleV2", by_handle, (), 7),
    Sample("IteratorGetNextAsOptional", next_optional, (), 7),
    Sample("OptionalNone", missing, (), False),
    Sample("OptionalHasValue", lambda tf, x: optional_of(tf, x).has_value(), (1.0,), True, ()),
    Sample(
        "OptionalFromValue",
        lambda tf, x, y: list(optional_of(tf, x, y).get_value()),
        (np.array([1.0, -2.0]), np.array([[3.0]])),
        lambda x, y: [x, y],
    ),
    Sample(
        "OptionalGetValue",
        lambda tf, x, y: optional_of(tf, x * x, y).get_value()[0],
        (np.array([1.0, -2.0]), np.array([[3.0]])),
        lambda x, y: x * x,
        (0,),
    ),
]
