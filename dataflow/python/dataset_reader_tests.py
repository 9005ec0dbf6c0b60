"""TensorFlow's bases of tests that read files (``reader_dataset_ops_test_base``)."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import dataflow
from dataflow import compat
from dataflow.python.dataset_tests import DatasetTestBase

__all__ = [
    "FixedLengthRecordDatasetTestBase",
    "MakeBatchedFeaturesDatasetTestBase",
    "TFRecordDatasetTestBase",
    "TextLineDatasetTestBase",
]

#: Its names are in stubs.
tf: Any = dataflow


def _in_turns(readers: Sequence[Iterator[Any]], cycle_length: int) -> Iterator[Any]:
    """One element of each of ``cycle_length`` iterators in turn; one that ends gives its place to the next."""
    waiting = list(readers)
    places: list[Iterator[Any] | None] = [waiting.pop(0) for _ in readers[:cycle_length]]
    while any(place is not None for place in places):
        for i, place in enumerate(places):
            if place is None:
                continue
            try:
                yield next(place)
            except StopIteration:
                places[i] = waiting.pop(0) if waiting else None


def _int_feature(value: int) -> Any:
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def _text_feature(values: list[bytes]) -> Any:
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


class _Files(DatasetTestBase):
    """A test with two files of seven records."""

    def setUp(self) -> None:
        super().setUp()
        self._num_files = 2
        self._num_records = 7

    def _path(self, kind: str, number: int) -> str:
        return os.path.join(self.get_temp_dir(), f"{kind}.{number}.txt")

    def _write_records(self, record: Callable[[int, int], bytes]) -> list[str]:
        names = [self._path("tf_record", i) for i in range(self._num_files)]
        for i, name in enumerate(names):
            with tf.io.TFRecordWriter(name) as writer:
                for j in range(self._num_records):
                    writer.write(record(i, j))
        return names

    def _places(self, files: Any, num_epochs: int, cycle_length: int) -> Iterator[tuple[int, int]]:
        """(file, record) in the order in which they are read."""
        for _ in range(num_epochs):
            each = [iter([(f, r) for r in range(self._num_records)]) for f in files]
            yield from _in_turns(each, cycle_length)

    def _listed(self, file_index: Any) -> list[int]:
        if file_index is None:
            return list(range(self._num_files))
        return file_index if isinstance(file_index, list) else [file_index]


class FixedLengthRecordDatasetTestBase(_Files):
    """Files of a header, records of three equal characters, and a footer."""

    def setUp(self) -> None:
        super().setUp()
        self._header_bytes = 5
        self._record_bytes = 3
        self._footer_bytes = 2

    def _record(self, f: int, r: int) -> bytes:
        return compat.as_bytes(str(f * 2 + r) * self._record_bytes)

    def _createFiles(self) -> list[str]:
        names = [self._path("fixed_length_record", i) for i in range(self._num_files)]
        for i, name in enumerate(names):
            records = b"".join(self._record(i, j) for j in range(self._num_records))
            with open(name, "wb") as file:
                file.write(b"H" * self._header_bytes + records + b"F" * self._footer_bytes)
        return names


class TextLineDatasetTestBase(DatasetTestBase):
    """Files of lines; the last line of all but the first file has no end."""

    def _lineText(self, f: int, l: int) -> bytes:  # noqa: E741 - tests give it by name
        return compat.as_bytes(f"{f}: {l}")

    def _createFiles(
        self,
        num_files: int,
        num_lines: int,
        crlf: bool = False,
        compression_type: str | None = None,
    ) -> list[str]:
        end = b"\r\n" if crlf else b"\n"
        pack: dict[Any, Callable[[bytes], bytes]] = {
            None: bytes,
            "": bytes,
            "GZIP": gzip.compress,
            "ZLIB": zlib.compress,
        }
        if compression_type not in pack:
            raise ValueError("Unsupported compression_type", compression_type)
        names = []
        for i in range(num_files):
            names.append(os.path.join(self.get_temp_dir(), f"text_line.{i}.txt"))
            text = end.join(self._lineText(i, j) for j in range(num_lines))
            with open(names[-1], "wb") as file:
                file.write(pack[compression_type](text + end if i == 0 else text))
        return names


class TFRecordDatasetTestBase(_Files):
    """Files of records that say where they are."""

    def setUp(self) -> None:
        super().setUp()
        self.test_filenames = self._createFiles()

    def _record(self, f: int, r: int) -> bytes:
        return compat.as_bytes(f"Record {r} of file {f}")

    def _createFiles(self) -> list[str]:
        return self._write_records(self._record)

    def _next_expected_batch(
        self,
        file_indices: Any,
        batch_size: int,
        num_epochs: int,
        cycle_length: int,
        drop_final_batch: bool,
        use_parser_fn: bool,
    ) -> Iterator[list[bytes]]:
        batch: list[bytes] = []
        for f, r in self._places(file_indices, num_epochs, cycle_length):
            batch.append(self._record(f, r)[1 if use_parser_fn else 0 :])
            if len(batch) == batch_size:
                yield batch
                batch = []
        if batch and not drop_final_batch:
            yield batch

    def _verify_records(
        self,
        outputs: Callable[[], Any],
        batch_size: int,
        file_index: Any,
        num_epochs: int,
        interleave_cycle_length: int,
        drop_final_batch: bool,
        use_parser_fn: bool,
    ) -> None:
        expected = self._next_expected_batch(
            self._listed(file_index),
            batch_size,
            num_epochs,
            interleave_cycle_length,
            drop_final_batch,
            use_parser_fn,
        )
        for batch in expected:
            self.assertAllEqual(batch, self.evaluate(outputs()))


class MakeBatchedFeaturesDatasetTestBase(_Files):
    """Files of ``Example`` messages: their file, record, one or two keywords, and a label."""

    def setUp(self) -> None:
        super().setUp()
        self.test_filenames = self._createFiles()

    def make_batch_feature(
        self,
        filenames: Any,
        num_epochs: int | None,
        batch_size: int,
        label_key: str | None = None,
        reader_num_threads: int = 1,
        parser_num_threads: int = 1,
        shuffle: bool = False,
        shuffle_seed: int | None = None,
        drop_final_batch: bool = False,
    ) -> Any:
        """`make_batched_features_dataset` of these files."""
        self.filenames, self.num_epochs, self.batch_size = filenames, num_epochs, batch_size
        return tf.data.experimental.make_batched_features_dataset(
            file_pattern=filenames,
            batch_size=batch_size,
            features={
                "file": tf.FixedLenFeature([], tf.int64),
                "record": tf.FixedLenFeature([], tf.int64),
                "keywords": tf.VarLenFeature(tf.string),
                "label": tf.FixedLenFeature([], tf.string),
            },
            label_key=label_key,
            reader=tf.data.TFRecordDataset,
            num_epochs=num_epochs,
            shuffle=shuffle,
            shuffle_seed=shuffle_seed,
            reader_num_threads=reader_num_threads,
            parser_num_threads=parser_num_threads,
            drop_final_batch=drop_final_batch,
        )

    def _record(self, f: int, r: int, l: Any) -> bytes:  # noqa: E741 - tests give it by name
        feature = {
            "file": _int_feature(f),
            "record": _int_feature(r),
            "keywords": _text_feature(self._get_keywords(f, r)),
            "label": _text_feature([compat.as_bytes(l)]),
        }
        message = tf.train.Example(features=tf.train.Features(feature=feature))
        return message.SerializeToString()  # type: ignore[no-any-return]

    def _get_keywords(self, f: int, r: int) -> list[bytes]:
        return [compat.as_bytes(f"keyword{i}") for i in range(1 + (f + r) % 2)]

    def _sum_keywords(self, num_files: int) -> int:
        every = ((f, r) for f in range(num_files) for r in range(self._num_records))
        return sum(len(self._get_keywords(f, r)) for f, r in every)

    def _createFiles(self) -> list[str]:
        return self._write_records(lambda f, r: self._record(f, r, "fake-label"))

    def _run_actual_batch(self, outputs: Any, label_key_provided: bool = False) -> list[Any]:
        """File, indices, values and shape of the keywords, record and label."""
        found = self.evaluate(outputs())
        features, label = found if label_key_provided else (found, found["label"])
        return [features["file"], *features["keywords"], features["record"], label]

    def _next_actual_batch(self, label_key_provided: bool = False) -> list[Any]:
        return self._run_actual_batch(self.outputs, label_key_provided)  # type: ignore[attr-defined]

    def _next_expected_batch(
        self, file_indices: Any, batch_size: int, num_epochs: int, cycle_length: int = 1
    ) -> Iterator[list[Any]]:
        places = list(self._places(file_indices, num_epochs, cycle_length))
        for start in range(0, len(places), batch_size):
            yield self._expected(places[start : start + batch_size])

    def _expected(self, places: list[tuple[int, int]]) -> list[Any]:
        words = [self._get_keywords(f, r) for f, r in places]
        indices = [[i, j] for i, own in enumerate(words) for j in range(len(own))]
        values = [word for own in words for word in own]
        shape = [len(places), max(map(len, words))]
        labels = [b"fake-label"] * len(places)
        return [[f for f, _ in places], indices, values, shape, [r for _, r in places], labels]

    def verify_records(
        self,
        batch_size: int,
        file_index: int | None = None,
        num_epochs: int = 1,
        label_key_provided: bool = False,
        interleave_cycle_length: int = 1,
    ) -> None:
        """``self.outputs`` gives the records of a file, or of all, in their order."""
        expected = self._next_expected_batch(
            self._listed(file_index), batch_size, num_epochs, interleave_cycle_length
        )
        for batch in expected:
            actual = self._next_actual_batch(label_key_provided)
            for wanted, found in zip(batch, actual, strict=True):
                self.assertAllEqual(wanted, found)
