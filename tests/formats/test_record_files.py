"""TFRecord files: there and back, TensorFlow's own, and damaged ones."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from dataflow.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
)
from dataflow.formats.crc32c import masked_crc32c
from dataflow.formats.record_files import (
    TFRecordCompressionType,
    TFRecordOptions,
    TFRecordWriter,
    compression_name,
    tf_record_iterator,
)

COMPRESSIONS = ("", "GZIP", "ZLIB")
# As tests/oracle/file_formats_program.py wrote them with TensorFlow.
THEIRS = Path(__file__).with_name("tensorflow_files")
RECORDS = [b"", b"first", bytes(range(256)) * 3, b"\xff" * 1000]


def write(path: Path, records: list[bytes], options: object = None) -> Path:
    with TFRecordWriter(path, options) as writer:
        for record in records:
            writer.write(record)
    return path


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_reads_what_tensorflow_wrote(compression: str) -> None:
    path = THEIRS / f"records{compression.lower()}.tfrecord"
    assert list(tf_record_iterator(path, compression)) == RECORDS


def test_plain_file_has_tensorflows_bytes(tmp_path: Path) -> None:
    ours = write(tmp_path / "records", RECORDS)
    assert ours.read_bytes() == (THEIRS / "records.tfrecord").read_bytes()


@pytest.mark.parametrize("compression", COMPRESSIONS)
@given(records=st.lists(st.binary(max_size=300), max_size=5))
def test_there_and_back(
    tmp_path_factory: pytest.TempPathFactory, compression: str, records: list[bytes]
) -> None:
    path = write(tmp_path_factory.mktemp("records") / "r", records, compression)
    assert list(tf_record_iterator(path, compression)) == records


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_flushed_records_can_be_read_before_close(tmp_path: Path, compression: str) -> None:
    path = tmp_path / "records"
    writer = TFRecordWriter(path, compression)
    writer.write(b"one")
    writer.flush()
    assert next(tf_record_iterator(path, compression)) == b"one"
    writer.write(b"two")
    writer.close()
    writer.close()
    assert list(tf_record_iterator(path, compression)) == [b"one", b"two"]
    with pytest.raises(FailedPreconditionError, match="the writer is closed"):
        writer.write(b"three")


def test_options() -> None:
    for value, name in (
        (None, ""),
        ("GZIP", "GZIP"),
        (TFRecordCompressionType.ZLIB, "ZLIB"),
        (TFRecordOptions(TFRecordCompressionType.GZIP), "GZIP"),
        (TFRecordOptions(), ""),
    ):
        assert compression_name(value) == name
        assert TFRecordOptions.get_compression_type_string(value) == name
    with pytest.raises(InvalidArgumentError, match="'', 'ZLIB' or 'GZIP'.*'gzip'"):
        compression_name("gzip")
    with pytest.raises(ValueError, match="got 'gzip'"):
        TFRecordOptions("gzip")
    assert TFRecordOptions(TFRecordCompressionType.ZLIB).compression_type == 1


def test_compression_level(tmp_path: Path) -> None:
    records = [bytes(10_000)]
    for name in ("GZIP", "ZLIB"):
        none, best = (
            write(
                tmp_path / f"{name}{level}", records, TFRecordOptions(name, compression_level=level)
            )
            for level in (0, 9)
        )
        assert best.stat().st_size < 200 < 10_000 < none.stat().st_size


@pytest.mark.parametrize(
    ("position", "message"),
    [
        (0, "record 0 at byte 0: the CRC of its length .*Is this a TFRecord file"),
        (12, "record 0 at byte 0: the CRC of its data"),
        (21 + 12 + 1, "record 1 at byte 21: the CRC of its data is 0x.*stored is 0x"),
        (21 + 8, "record 1 at byte 21: the CRC of its length"),
    ],
)
def test_flipped_bit_names_file_and_record(tmp_path: Path, position: int, message: str) -> None:
    path = write(tmp_path / "records", [b"first", b"second"])
    raw = bytearray(path.read_bytes())
    raw[position] ^= 4
    path.write_bytes(raw)
    got = []
    with pytest.raises(DataLossError, match=message) as caught:
        for record in tf_record_iterator(path):
            got.append(record)
    assert str(path) in str(caught.value)
    assert got == ([] if position < 21 else [b"first"])


def test_every_truncation_is_found(tmp_path: Path) -> None:
    raw = write(tmp_path / "records", [b"first", b"second"]).read_bytes()
    cut = tmp_path / "cut"
    for size in range(len(raw)):
        cut.write_bytes(raw[:size])
        if size in (0, 21):
            assert len(list(tf_record_iterator(cut))) == size // 21
            continue
        with pytest.raises(DataLossError, match="ends inside the (length|data|checksum)"):
            list(tf_record_iterator(cut))


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB"])
def test_every_truncation_of_a_compressed_file_is_found(tmp_path: Path, compression: str) -> None:
    raw = write(tmp_path / "records", [b"first", b"second"], compression).read_bytes()
    cut = tmp_path / "cut"
    # An empty file is an empty gzip file.
    for size in range(1 if compression == "GZIP" else 0, len(raw)):
        cut.write_bytes(raw[:size])
        with pytest.raises(DataLossError, match=compression):
            list(tf_record_iterator(cut, compression))


def test_wrong_compression(tmp_path: Path) -> None:
    path = write(tmp_path / "records", [b"x"], "GZIP")
    with pytest.raises(DataLossError, match="is its compression none"):
        list(tf_record_iterator(path))
    for compression in ("GZIP", "ZLIB"):
        plain = write(tmp_path / "plain", [b"x"])
        with pytest.raises(DataLossError, match=f"cannot be read as {compression}"):
            list(tf_record_iterator(plain, compression))


def test_a_length_of_petabytes_is_refused_without_asking_for_the_memory(tmp_path: Path) -> None:
    length = struct.pack("<Q", 1 << 60)
    path = tmp_path / "records"
    path.write_bytes(length + struct.pack("<I", masked_crc32c(length)) + b"short")
    with pytest.raises(DataLossError, match="5 of 1152921504606846976 bytes are there"):
        list(tf_record_iterator(path))


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no such file"):
        list(tf_record_iterator(tmp_path / "absent"))
    with pytest.raises(NotFoundError, match="folder does not exist"):
        TFRecordWriter(tmp_path / "absent" / "file")


def test_text_is_refused(tmp_path: Path) -> None:
    with TFRecordWriter(tmp_path / "records") as writer:
        with pytest.raises(TypeError, match="must be bytes, got str"):
            writer.write("text")  # type: ignore[arg-type]
        writer.write(b"bytes")
    assert list(tf_record_iterator(tmp_path / "records")) == [b"bytes"]


def test_settings_of_zlib(tmp_path: Path) -> None:
    records = [bytes(range(256)) * 40] * 20
    sizes = {}
    for bits, memory, strategy in ((None, None, None), (9, 1, 0), (15, 9, 2)):
        options = TFRecordOptions(
            "ZLIB", window_bits=bits, mem_level=memory, compression_strategy=strategy
        )
        path = write(tmp_path / f"{bits}", records, options)
        assert list(tf_record_iterator(path, "ZLIB")) == records
        sizes[bits] = path.stat().st_size
    assert sizes[None] < min(sizes[9], sizes[15])  # a shorter memory; Huffman codes only
