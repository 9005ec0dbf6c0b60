"""Compressed data is unpacked to a limit, whatever it claims to hold."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

import dataflow as tf
from dataflow.formats.compression import VARIABLE, unpack, unpacked_file

PACKERS: dict[str, Callable[[bytes], bytes]] = {"GZIP": gzip.compress, "ZLIB": zlib.compress}
kinds = pytest.mark.parametrize("kind", PACKERS)


@kinds
@pytest.mark.parametrize("size", [0, 1, 10, 100_000, 1_000_000])
def test_there_and_back(kind: str, size: int) -> None:
    data = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    packed = PACKERS[kind](data)
    assert unpack(packed, kind) == data
    assert unpacked_file(io.BytesIO(packed), kind).read() == data


def test_a_gzip_file_of_several_members_and_zeros_at_its_end() -> None:
    packed = gzip.compress(b"one") + b"\0" * 5 + gzip.compress(b"two") + b"\0" * 100_000
    assert unpack(packed, "GZIP") == b"onetwo"
    assert unpacked_file(io.BytesIO(packed), "GZIP").read() == b"onetwo"
    assert unpack(b"", "GZIP") == b""


@kinds
def test_strings_larger_than_the_limit(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1000")
    pack = PACKERS[kind]
    packed = tf.placeholder(tf.string, [None])
    result = tf.io.decode_compressed(packed, kind)
    with tf.Session() as session:
        assert session.run(result, {packed: [pack(b"a" * 1000)]})[0] == b"a" * 1000
        with pytest.raises(tf.errors.InvalidArgumentError, match=rf"1,000 bytes.*{VARIABLE}"):
            session.run(result, {packed: [pack(b"a"), pack(b"a" * 1001)]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="cannot unpack 6 bytes"):
            session.run(result, {packed: [pack(b"a" * 100)[:6]]})


def test_two_megabytes_that_claim_to_be_two_gigabytes() -> None:
    """64 MiB is where it ends by itself."""
    zeros = zlib.compressobj()
    packed = b"".join(zeros.compress(b"\0" * (1 << 20)) for _ in range(80)) + zeros.flush()
    with pytest.raises(tf.errors.InvalidArgumentError, match="67,108,864 bytes"):
        unpack(packed, "ZLIB")


def _lines(path: Path, kind: str) -> list[bytes]:
    with tf.Graph().as_default(), tf.Session() as session:
        item = tf.data.TextLineDataset(str(path), kind).make_one_shot_iterator().get_next()
        found = []
        while True:
            try:
                found.append(session.run(item))
            except tf.errors.OutOfRangeError:
                return found


@kinds
def test_lines_of_a_compressed_file(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is one of lines: a file may be of any length."""
    monkeypatch.setenv(VARIABLE, "1000")
    path = tmp_path / "lines"
    lines = [b"a" * 900] * 50
    path.write_bytes(PACKERS[kind](b"\n".join(lines)))
    assert _lines(path, kind) == lines
    path.write_bytes(PACKERS[kind](b"short\n" + b"a" * 5000))
    with pytest.raises(tf.errors.DataLossError, match=rf"{path}: line 2 is larger than 1,000"):
        _lines(path, kind)
    path.write_bytes(PACKERS[kind](b"short\n" * 100)[:-9])
    with pytest.raises(tf.errors.DataLossError, match=rf"{path}: cannot unpack line \d+ as {kind}"):
        _lines(path, kind)


@kinds
def test_records_of_a_compressed_file(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "records")
    with tf.python_io.TFRecordWriter(path, kind) as writer:
        for _ in range(20):
            writer.write(b"a" * 900)
        writer.write(b"a" * 5000)
    monkeypatch.setenv(VARIABLE, "1000")
    found = []
    with pytest.raises(tf.errors.DataLossError, match=r"record 20 .*5,000 bytes is larger than"):
        found += tf.python_io.tf_record_iterator(path, kind)
    monkeypatch.setenv(VARIABLE, "5000")
    assert len(list(tf.python_io.tf_record_iterator(path, kind))) == 21


def test_records_of_fixed_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "records"
    path.write_bytes(zlib.compress(b"abcd" * 300))

    def first() -> bytes:
        with tf.Graph().as_default(), tf.Session() as session:
            queue = tf.FIFOQueue(1, tf.string, [[]])
            session.run(queue.enqueue([str(path)]))
            reader = tf.FixedLengthRecordReader(4, encoding="ZLIB")
            return session.run(reader.read(queue))[1]

    assert first() == b"abcd"
    monkeypatch.setenv(VARIABLE, "1000")
    with pytest.raises(tf.errors.DataLossError, match=str(path)):
        first()


def test_a_limit_that_is_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "64 MB")
    with pytest.raises(tf.errors.InvalidArgumentError, match=VARIABLE):
        unpack(b"", "GZIP")
