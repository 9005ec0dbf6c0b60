"""The data pipelines of a course, in TensorFlow 1's terms, run by both engines as those of `workloads`.

A step of each is one pass over the data. Files are written by the engine that reads them, into a
temporary folder.
"""

from __future__ import annotations

import atexit
import pathlib
import shutil
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # the peer's Python may be that of TensorFlow 1.15
    from collections.abc import Callable

    Step = Callable[[], Any]
PIPELINES: dict[str, Callable[[Any], Step]] = {}
#: What each pipeline is to take, of TensorFlow's time.
GOAL = 0.8


def pipeline(function: Callable[[Any], Step]) -> Callable[[Any], Step]:
    """Registers a pipeline under its function's name."""
    PIPELINES[function.__name__] = function
    return function


def _folder() -> pathlib.Path:
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return pathlib.Path(folder)


def _a_pass(tf: Any, data: Any) -> Step:
    iterator = tf.data.make_initializable_iterator(data)
    following = iterator.get_next()
    session = tf.Session()

    def step() -> int:
        session.run(iterator.initializer)
        count = 0
        while True:
            try:
                session.run(following)
            except tf.errors.OutOfRangeError:
                return count
            count += 1

    return step


@pipeline
def data_map(tf: Any) -> Step:
    """5,000 rows of 20 numbers: shuffled, mapped in parallel, in batches of 100, ahead of time."""
    generator = np.random.default_rng(0)
    rows = generator.random((5_000, 20), dtype=np.float32)
    labels = generator.integers(0, 10, 5_000)
    data = tf.data.Dataset.from_tensor_slices((rows, labels)).shuffle(1000, seed=1)
    data = data.map(lambda x, y: ((x - 0.5) * 2.0, tf.one_hot(y, 10)), num_parallel_calls=2)
    return _a_pass(tf, data.batch(100).prefetch(1))


@pipeline
def data_batched_map(tf: Any) -> Step:
    """As `data_map`, 50,000 rows, with the function applied to whole batches."""
    generator = np.random.default_rng(0)
    rows = generator.random((50_000, 20), dtype=np.float32)
    labels = generator.integers(0, 10, 50_000)
    data = tf.data.Dataset.from_tensor_slices((rows, labels)).shuffle(1000, seed=1).batch(100)
    data = data.map(lambda x, y: ((x - 0.5) * 2.0, tf.one_hot(y, 10)), num_parallel_calls=2)
    return _a_pass(tf, data.prefetch(1))


def _images(tf: Any, encode: Any, size: int, count: int) -> list[bytes]:
    generator = np.random.default_rng(0)
    across, down = np.meshgrid(np.arange(size), np.arange(size))
    found = []
    image = tf.placeholder(tf.uint8, [size, size, 3])
    encoded = encode(image)
    with tf.Session() as session:
        for i in range(count):
            smooth = 127 + 100 * np.sin((across + i) / 9.0) * np.cos(down / 7.0)
            noisy = smooth[:, :, None] + generator.integers(0, 12, (size, size, 3))
            found.append(session.run(encoded, {image: noisy.clip(0, 255).astype(np.uint8)}))
    return found


def _decoded(tf: Any, files: list[bytes], decode: Any) -> Step:
    data = tf.data.Dataset.from_tensor_slices(np.array(files, dtype=object))
    data = data.map(lambda b: tf.cast(decode(b), tf.float32) / 255.0, num_parallel_calls=2)
    return _a_pass(tf, data.batch(32).prefetch(1))


@pipeline
def data_png(tf: Any) -> Step:
    """200 PNG files of 96 x 96 pixels, decoded in parallel, in batches of 32."""
    return _decoded(
        tf, _images(tf, tf.image.encode_png, 96, 200), lambda b: tf.image.decode_png(b, 3)
    )


@pipeline
def data_jpeg(tf: Any) -> Step:
    """200 JPEG files of 96 x 96 pixels, decoded in parallel, in batches of 32."""
    return _decoded(
        tf, _images(tf, tf.image.encode_jpeg, 96, 200), lambda b: tf.image.decode_jpeg(b, 3)
    )


def _records(tf: Any) -> str:
    generator = np.random.default_rng(0)
    path = str(_folder() / "digits.tfrecord")
    feature, train = tf.train.Feature, tf.train
    with tf.python_io.TFRecordWriter(path) as writer:
        for i in range(3_000):
            image = generator.integers(0, 256, 784, dtype=np.uint8).tobytes()
            features = {
                "image": feature(bytes_list=train.BytesList(value=[image])),
                "label": feature(int64_list=train.Int64List(value=[i % 10])),
            }
            example = train.Example(features=train.Features(feature=features))
            writer.write(example.SerializeToString())
    return path


def _features(tf: Any) -> dict[str, Any]:
    return {
        "image": tf.FixedLenFeature([], tf.string),
        "label": tf.FixedLenFeature([], tf.int64),
    }


@pipeline
def data_tfrecord(tf: Any) -> Step:
    """3,000 Examples of an image and a label, parsed one by one, shuffled, in batches of 100."""

    def parse(record: Any) -> Any:
        found = tf.parse_single_example(record, _features(tf))
        image = tf.cast(tf.decode_raw(found["image"], tf.uint8), tf.float32) / 255.0
        return image, found["label"]

    data = tf.data.TFRecordDataset(_records(tf)).map(parse, num_parallel_calls=2)
    return _a_pass(tf, data.shuffle(500, seed=1).batch(100).prefetch(1))


@pipeline
def data_tfrecord_batched(tf: Any) -> Step:
    """As `data_tfrecord`, parsed in batches."""

    def parse(records: Any) -> Any:
        found = tf.parse_example(records, _features(tf))
        image = tf.cast(tf.decode_raw(found["image"], tf.uint8), tf.float32) / 255.0
        return image, found["label"]

    data = tf.data.TFRecordDataset(_records(tf)).shuffle(500, seed=1).batch(100)
    return _a_pass(tf, data.map(parse, num_parallel_calls=2).prefetch(1))


@pipeline
def data_text(tf: Any) -> Step:
    """20,000 lines of text: a title left out, empty lines filtered, in batches of 64."""
    path = _folder() / "lines.txt"
    lines = [f"line {i} of a text with some words in it" if i % 10 else "" for i in range(20_000)]
    path.write_text("a title\n" + "\n".join(lines))
    data = tf.data.TextLineDataset(str(path)).skip(1)
    data = data.filter(lambda line: tf.not_equal(line, ""))
    return _a_pass(tf, data.batch(64).prefetch(1))


@pipeline
def data_lines(tf: Any) -> Step:
    """50,000 lines of text, shuffled, in batches of 64."""
    path = _folder() / "lines.txt"
    path.write_text("\n".join(f"line {i} of a text with some words in it" for i in range(50_000)))
    data = tf.data.TextLineDataset(str(path)).shuffle(1000, seed=1)
    return _a_pass(tf, data.batch(64).prefetch(1))


def _table(num_rows: int) -> str:
    """A file of four numbers, a label and a word in each row, under a title."""
    generator = np.random.default_rng(0)
    numbers = generator.random((num_rows, 4)).round(4).tolist()
    words = ("red", "green", "blue")
    path = _folder() / "table.csv"
    with path.open("w") as file:
        file.write("a,b,c,d,label,word\n")
        for i, row in enumerate(numbers):
            file.write(",".join(map(str, row)) + f",{i % 10},{words[i % 3]}\n")
    return str(path)


_ROW = [[0.0], [0.0], [0.0], [0.0], [0], [""]]


def _csv_batched(tf: Any, num_rows: int) -> Step:
    data = tf.data.TextLineDataset(_table(num_rows)).skip(1).batch(500)
    return _a_pass(tf, data.map(lambda lines: tuple(tf.decode_csv(lines, _ROW))).prefetch(1))


@pipeline
def data_csv_batched(tf: Any) -> Step:
    """20,000 lines of CSV, decoded in batches of 500."""
    return _csv_batched(tf, 20_000)


@pipeline
def data_csv_million(tf: Any) -> Step:
    """As `data_csv_batched`, 1,000,000 lines."""
    return _csv_batched(tf, 1_000_000)


@pipeline
def data_csv_lines(tf: Any) -> Step:
    """5,000 lines of CSV, decoded one by one, in batches of 100."""
    data = tf.data.TextLineDataset(_table(5_000)).skip(1)
    return _a_pass(tf, data.map(lambda line: tuple(tf.decode_csv(line, _ROW))).batch(100))


@pipeline
def data_csv_dataset(tf: Any) -> Step:
    """5,000 rows of a `CsvDataset`, in batches of 100."""
    types = [tf.float32] * 4 + [tf.int32, tf.string]
    data = tf.data.experimental.CsvDataset(_table(5_000), types, header=True)
    return _a_pass(tf, data.batch(100))


@pipeline
def data_csv_rows(tf: Any) -> Step:
    """2,000 rows of a `CsvDataset`, one in each run."""
    types = [tf.float32] * 4 + [tf.int32, tf.string]
    return _a_pass(tf, tf.data.experimental.CsvDataset(_table(2_000), types, header=True))
