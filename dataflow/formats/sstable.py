"""Read LevelDB-style sorted tables, the format of a TensorFlow checkpoint's ``.index`` file.

Layout: data blocks, an index block, and a footer of 48 bytes that says where the index block is.
A block holds (key, value) entries whose keys share prefixes with the key before, then the offsets
at which a key is whole ("restarts"), their number, one byte of compression, and a masked CRC-32C.
Source: LevelDB, doc/table_format.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from dataflow.errors import DataLossError, UnimplementedError
from dataflow.formats.crc32c import masked_crc32c
from dataflow.formats.protobuf_wire import WireError, read_varint

_FOOTER_BYTES = 48
MAGIC = 0xDB4775248B80FB57
_TRAILER_BYTES = 5


def read_table(path: str) -> dict[bytes, bytes]:
    """All entries of the table in the file ``path``, in the order of their keys.

    Raises:
        DataLossError: the file is no table, is cut short, or a checksum is wrong.
        UnimplementedError: a block is compressed (TensorFlow does not compress checkpoints).
    """
    with open(path, "rb") as opened:
        data = opened.read()
    if len(data) < _FOOTER_BYTES:
        raise DataLossError(
            message=f"{path}: not a checkpoint index: {len(data)} bytes, needed {_FOOTER_BYTES} or "
            "more. It was truncated, or is another kind of file."
        )
    footer = data[-_FOOTER_BYTES:]
    magic = int.from_bytes(footer[-8:], "little")
    if magic != MAGIC:
        raise DataLossError(
            message=f"{path}: not a checkpoint index: it ends in 0x{magic:016x}, needed "
            f"0x{MAGIC:016x}. It was truncated, or is another kind of file (a checkpoint of "
            "TensorFlow before 0.12 is one file without .index and cannot be read)."
        )
    try:
        _, position = read_varint(footer, 0)  # the metaindex block, which holds nothing here
        _, position = read_varint(footer, position)
        index = _block(path, data, *_handle(footer, position))
        return {
            key: value
            for _, handle in _entries(index)
            for key, value in _entries(_block(path, data, *_handle(handle, 0)))
        }
    except WireError as error:
        raise DataLossError(message=f"{path}: the index is damaged: {error}.") from error


def _handle(data: bytes, position: int) -> tuple[int, int]:
    offset, position = read_varint(data, position)
    size, _ = read_varint(data, position)
    return offset, size


def _block(path: str, data: bytes, offset: int, size: int) -> bytes:
    end = offset + size
    if end + _TRAILER_BYTES > len(data):
        raise DataLossError(
            message=f"{path}: a block ends at byte {end}, but the file has {len(data)} bytes."
        )
    stored = int.from_bytes(data[end + 1 : end + _TRAILER_BYTES], "little")
    got = masked_crc32c(data[offset : end + 1])
    if got != stored:
        raise DataLossError(
            message=f"{path}: the block at byte {offset} is damaged: its CRC is 0x{got:08x}, "
            f"stored is 0x{stored:08x}."
        )
    if data[end] != 0:
        raise UnimplementedError(
            message=f"{path}: the block at byte {offset} is compressed (type {data[end]}), which "
            "cannot be read. TensorFlow's Saver writes uncompressed indexes."
        )
    return data[offset:end]


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    if len(block) < 4:
        raise WireError("a block is shorter than its own trailer")
    end = len(block) - 4 - 4 * int.from_bytes(block[-4:], "little")
    if end < 0:
        raise WireError("a block has more restarts than bytes")
    position, key = 0, b""
    while position < end:
        shared, position = read_varint(block, position)
        num_new, position = read_varint(block, position)
        num_value, position = read_varint(block, position)
        if shared > len(key) or position + num_new + num_value > end:
            raise WireError("an entry runs over the end of its block")
        key = key[:shared] + block[position : position + num_new]
        position += num_new
        yield key, block[position : position + num_value]
        position += num_value
