"""CRC-32C (Castagnoli), the checksum of TFRecord files, event files and TensorFlow checkpoints.

The package google-crc32c (the extra ``fast``) computes it with the processor's own instruction. Where
it is not installed, NumPy does:

The remainder register is a linear function over GF(2) of the bytes that went through it. So the
register after a block is the exclusive or of what each byte alone, followed by zeros, leaves in it:
one table look-up per byte, which NumPy does for a whole block at once. Two neighboring blocks join
by pushing the left one's register through as many zero bytes as the right one has.

Source: RFC 3720, appendix B.4 (polynomial 0x1EDC6F41, reflected); the mask is TensorFlow's and
LevelDB's, so that a checksum of data that holds checksums stays sound.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

_REFLECTED_POLYNOMIAL = 0x82F63B78
_MASK_DELTA = 0xA282EAD8
_BLOCK_BYTES = 512
_CHUNK_BYTES = 1 << 20
# Below this many bytes a Python loop is quicker than setting up NumPy.
_SHORT_BYTES = 48

Bytes = bytes | bytearray | memoryview
_Array = np.ndarray[Any, Any]


def crc32c(data: Bytes | _Array, crc: int = 0) -> int:
    """The CRC-32C of ``data``; with ``crc``, of what gave that checksum followed by ``data``."""
    extend = _extend()
    if extend is None:
        return by_numpy(data, crc)
    if type(data) is not bytes:
        if isinstance(data, np.ndarray):
            array = np.ascontiguousarray(data).view(np.uint8).reshape(-1)
        else:
            array = np.frombuffer(memoryview(data).cast("B"), np.uint8)
        array.flags.writeable = False  # of this view of the bytes: the package takes nothing else
        data = array
    return extend(crc, data)


@functools.cache
def _extend() -> Callable[[int, Any], int] | None:
    """``extend(crc, data)`` of google-crc32c; ``None`` without it, or where it is Python alone."""
    try:
        import google_crc32c
    except ImportError:
        return None
    return google_crc32c.extend if google_crc32c.implementation == "c" else None


def by_numpy(data: Bytes | _Array, crc: int = 0) -> int:
    """As `crc32c`, with NumPy alone."""
    if isinstance(data, np.ndarray):
        data = np.ascontiguousarray(data).view(np.uint8).reshape(-1).data
    view = memoryview(data).cast("B")
    register = crc ^ 0xFFFFFFFF
    if len(view) < _SHORT_BYTES:
        table = _short_table()
        for byte in view:
            register = table[(register ^ byte) & 0xFF] ^ (register >> 8)
        return register ^ 0xFFFFFFFF
    if len(view) <= _BLOCK_BYTES and not crc:
        places = np.frombuffer(view, np.uint8) + _row_starts()[-len(view) :]
        left = np.bitwise_xor.reduce(_block_table().take(places))
        return int(left) ^ _ones_after(len(view)) ^ 0xFFFFFFFF
    start = 0
    while start < len(view):
        # The last chunk must not be shorter than the register that is folded into its first bytes.
        rest = len(view) - start
        size = _CHUNK_BYTES if rest >= _CHUNK_BYTES + 4 else rest
        register = _chunk_register(view[start : start + size], register)
        start += size
    return register ^ 0xFFFFFFFF


def masked_crc32c(data: Bytes | _Array) -> int:
    """The checksum as it is stored: rotated right by 15 bits, plus a constant."""
    return mask(crc32c(data))


def mask(crc: int) -> int:
    """The stored form of a checksum."""
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def _chunk_register(chunk: memoryview, register: int) -> int:
    """The register after ``chunk`` (four bytes or more), having been ``register`` before."""
    num_blocks = -(-len(chunk) // _BLOCK_BYTES)
    num_blocks = 1 << (num_blocks - 1).bit_length()
    padded = np.zeros(num_blocks * _BLOCK_BYTES, np.uint8)
    # Zeros in front leave an empty register empty, so padding there changes nothing.
    start = len(padded) - len(chunk)
    padded[start:] = np.frombuffer(chunk, np.uint8)
    padded[start : start + 4] ^= np.frombuffer(register.to_bytes(4, "little"), np.uint8)
    indices = padded.reshape(num_blocks, _BLOCK_BYTES) + _row_starts()
    registers = np.bitwise_xor.reduce(_block_table().take(indices), axis=1)
    zeros = _BLOCK_BYTES
    while len(registers) > 1:
        registers = _push_zeros(registers[0::2], _zeros_table(zeros)) ^ registers[1::2]
        zeros *= 2
    return int(registers[0])


@functools.cache
def _byte_table() -> _Array:
    """The register that each byte value leaves in an empty register."""
    table: _Array = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        odd = table & 1
        table = (table >> np.uint32(1)) ^ (odd * np.uint32(_REFLECTED_POLYNOMIAL))
    return table


@functools.cache
def _short_table() -> list[int]:
    return [int(value) for value in _byte_table()]


@functools.cache
def _block_table() -> _Array:
    """Flat ``[block bytes, 256]``: what a byte at each place leaves at the end of the block."""
    bytes_table = _byte_table()
    table = np.empty((_BLOCK_BYTES, 256), np.uint32)
    table[-1] = bytes_table
    for place in range(_BLOCK_BYTES - 2, -1, -1):
        later = table[place + 1]
        table[place] = bytes_table[later & 0xFF] ^ (later >> np.uint32(8))
    return table.reshape(-1)


@functools.cache
def _ones_after(num_zeros: int) -> int:
    """The register after so many zero bytes (four or more), having been all ones before."""
    return _chunk_register(memoryview(bytes(num_zeros)), 0xFFFFFFFF)


@functools.cache
def _row_starts() -> _Array:
    return np.arange(0, _BLOCK_BYTES * 256, 256, dtype=np.int32)


@functools.cache
def _zeros_table(num_zeros: int) -> _Array:
    """``[4, 256]``: what each byte of a register becomes after ``num_zeros`` (a power of 2)."""
    if num_zeros == 1:
        values = np.arange(256, dtype=np.uint32)
        registers = np.stack([values << np.uint32(8 * place) for place in range(4)])
        table: _Array = _byte_table()[registers & 0xFF] ^ (registers >> np.uint32(8))
        return table
    half = _zeros_table(num_zeros // 2)
    return _push_zeros(half, half)


def _push_zeros(registers: _Array, table: _Array) -> _Array:
    pushed: _Array = (
        table[0][registers & 0xFF]
        ^ table[1][(registers >> np.uint32(8)) & 0xFF]
        ^ table[2][(registers >> np.uint32(16)) & 0xFF]
        ^ table[3][registers >> np.uint32(24)]
    )
    return pushed
