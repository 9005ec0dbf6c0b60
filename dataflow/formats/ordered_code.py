"""Keys of the slices in the index of a TensorFlow checkpoint: values as bytes that sort as the values do.

Source: the comments of TensorFlow's ordered_code.cc.
"""

from __future__ import annotations

#: One dimension of a slice: its first index, and its length (None for the whole dimension).
Extent = tuple[int, int | None]


def slice_key(name: str, extents: tuple[Extent, ...]) -> bytes:
    """The key of one part: 0, the name, the rank, and (start, length) of each dimension.

    Bytes, numbers and all, sort as the values do.
    """
    escaped = name.encode().replace(b"\0", b"\0\xff").replace(b"\xff", b"\xff\0")
    key = ordered_unsigned(0) + escaped + b"\0\1" + ordered_unsigned(len(extents))
    for start, length in extents:
        key += ordered_signed(start) + ordered_signed(-1 if length is None else length)
    return key


def ordered_unsigned(value: int) -> bytes:
    """The number of bytes, then the bytes, big-endian, without leading zeros."""
    num_bytes = (value.bit_length() + 7) // 8
    return bytes([num_bytes]) + value.to_bytes(num_bytes, "big")


def ordered_signed(value: int) -> bytes:
    """Big-endian in the fewest n bytes of 7 n bits, sign included, the first n bits flipped.

    Flipping the sign makes negative numbers sort before positive ones.
    """
    magnitude = ~value if value < 0 else value
    num_bytes = magnitude.bit_length() // 7 + 1
    bits = 8 * num_bytes
    header = ((1 << num_bytes) - 1) << (bits - num_bytes)
    return ((value & ((1 << bits) - 1)) ^ header).to_bytes(num_bytes, "big")
