"""The wire format between tasks: a fixed header, tensor descriptors, a JSON head, raw bytes.

A frame is ``header | descriptors | head | payload``. A tensor travels as dtype, shape and bytes, so
that nothing a peer sends is ever executed: there is no pickle on this channel. A large tensor may
lie in a shared-memory segment instead (`dataflow.cluster.transport.shm_receive`); its descriptor then names
the segment, and the payload holds nothing for it.

Every length in a frame is checked against the others and against a limit before memory is taken.
"""

from __future__ import annotations

import enum
import json
import math
import os
import struct
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dataflow.dtypes import bfloat16

MAGIC = b"DF"
#: Grows with each change of what goes over the wire.
PROTOCOL_VERSION = 4

#: magic, kind, flags, tag, id, number of tensors, meta bytes, payload bytes
HEADER = struct.Struct("<2sBBIQIIQ")
#: The last two of these, at `LENGTHS_AT`: the lengths of what follows the header.
LENGTHS = struct.Struct("<IQ")
LENGTHS_AT = HEADER.size - LENGTHS.size
#: dtype code, rank, place, padding, segment number, payload bytes (or the segment's)
DESCRIPTOR = struct.Struct("<BBBxIQ")
#: After the shape of a part of a segment: its first byte, and which byte of the segment's head it has.
_PART = struct.Struct("<QI")

DEFAULT_MAX_MESSAGE_BYTES = 4 << 30
MAX_RANK = 32
#: The most elements of the largest dtype that can be addressed.
_MOST_ELEMENTS = sys.maxsize // 16
#: `socket.sendmsg` takes at most IOV_MAX (1024 on Linux) buffers.
MAX_BUFFERS = 512

INLINE, SHARED, STRINGS, PART = 0, 1, 2, 3


class Kind(enum.IntEnum):
    """The purpose of a frame. ``tag`` and ``id`` mean what the comment says."""

    HELLO = 1  # first frame of either side, before authentication
    WELCOME = 3  # the peer has proved that it may speak
    REFUSED = 4  # why the peer may not speak
    CALL = 5  # tag: 0, id: request; head: {"method": ..., ...}
    REPLY = 6  # id: request
    ERROR = 7  # id: request or step; head: {"code", "message", ...}
    RUN = 8  # tag: partition, id: step; tensors: feeds
    DATA = 9  # tag: channel of the partition, id: step; tensors: what crosses
    DONE = 10  # tag: partition, id: step; tensors: fetches
    CANCEL = 11  # id: step
    SEGMENT = 12  # tag: segment; head: where to map it
    LOG = 13  # head: lines a task printed
    PING = 14
    PONG = 15
    COLLECTIVE = 16  # tag: receiver's rank and a count, id: exchange; tensors: a part of it


KINDS = frozenset(int(kind) for kind in Kind)

#: Position is the code on the wire: append only.
DTYPES = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
_CODE_OF_DTYPE = {np.dtype(name): code for code, name in enumerate(DTYPES)}
_DTYPE_OF_CODE = tuple(np.dtype(name) for name in DTYPES)
#: The code of bfloat16, whose dtype is looked up only when such a tensor arrives.
_BFLOAT16_CODE = 254
STRING_CODE = 255


def max_message_bytes() -> int:
    """Return the limit of one message in bytes (DATAFLOW_MAX_MESSAGE_BYTES, 4 GB unless set)."""
    return int(os.environ.get("DATAFLOW_MAX_MESSAGE_BYTES", DEFAULT_MAX_MESSAGE_BYTES))


class ProtocolError(Exception):
    """A peer sent something that is not a frame, or a frame that breaks a limit."""


class Message(NamedTuple):
    """One frame, decoded."""

    kind: int
    tag: int
    id: int
    tensors: list[np.ndarray]
    head: dict[str, Any] | None = None
    flags: int = 0


_descriptor_cache: dict[tuple[Any, tuple[int, ...]], bytes] = {}


def describe(array: np.ndarray) -> bytes:
    """Return the descriptor of a numeric array whose bytes follow in the payload."""
    key = (array.dtype, array.shape)
    found = _descriptor_cache.get(key)
    if found is None:
        code = _CODE_OF_DTYPE.get(array.dtype)
        if array.dtype.name == "bfloat16":
            code = _BFLOAT16_CODE
        if code is None:
            raise TypeError(
                f"A tensor of dtype {array.dtype} cannot travel between tasks; "
                f"these can: {', '.join(DTYPES)}, bfloat16 and string."
            )
        found = DESCRIPTOR.pack(code, array.ndim, INLINE, 0, array.nbytes)
        found += struct.pack(f"<{array.ndim}q", *array.shape)
        if len(_descriptor_cache) > 4096:
            _descriptor_cache.clear()
        _descriptor_cache[key] = found
    return found


_shared_cache: dict[tuple[Any, tuple[int, ...], int], bytes] = {}


def describe_shared(array: np.ndarray, segment: int) -> bytes:
    """Return the descriptor of an array that was copied into a shared-memory segment."""
    key = (array.dtype, array.shape, segment)
    found = _shared_cache.get(key)
    if found is None:
        plain = describe(array)
        code, rank, _, _, nbytes = DESCRIPTOR.unpack_from(plain)
        found = DESCRIPTOR.pack(code, rank, SHARED, segment, nbytes) + plain[DESCRIPTOR.size :]
        if len(_shared_cache) > 4096:
            _shared_cache.clear()
        _shared_cache[key] = found
    return found


def encode_part(
    kind: int, tag: int, id: int, array: np.ndarray, segment: int, offset: int, flag: int
) -> bytes:
    """Return the frame of one array that lies in a segment ``offset`` bytes from its data's beginning.

    ``flag`` is the byte of the segment's head that the receiver clears.
    """
    code, rank, _, _, nbytes = DESCRIPTOR.unpack_from(describe(array))
    meta = DESCRIPTOR.pack(code, rank, PART, segment, nbytes)
    meta += struct.pack(f"<{rank}q", *array.shape) + _PART.pack(offset, flag)
    return HEADER.pack(MAGIC, kind, 0, tag, id, 1, len(meta), 0) + meta


def pack_strings(array: np.ndarray) -> tuple[bytes, bytes]:
    """Return the descriptor and the bytes of an array of strings.

    The bytes are one little-endian int64 length per element, then the elements one after another.
    """
    elements = [
        item.encode() if isinstance(item, str) else bytes(item) for item in array.reshape(-1)
    ]
    blob = struct.pack(f"<{len(elements)}q", *map(len, elements)) + b"".join(elements)
    descriptor = DESCRIPTOR.pack(STRING_CODE, array.ndim, STRINGS, 0, len(blob))
    return descriptor + struct.pack(f"<{array.ndim}q", *array.shape), blob


def unpack_strings(blob: bytes | bytearray | memoryview, shape: tuple[int, ...]) -> np.ndarray:
    """Return the object array of ``bytes`` that `pack_strings` wrote."""
    count = math.prod(shape)
    if count * 8 > len(blob):
        raise ProtocolError(f"a string tensor of shape {shape} in only {len(blob)} bytes")
    lengths = struct.unpack_from(f"<{count}q", blob)
    if min(lengths, default=0) < 0 or 8 * count + sum(lengths) != len(blob):
        raise ProtocolError(f"a string tensor of shape {shape} whose lengths do not add up")
    array = np.empty(count, dtype=object)
    start = 8 * count
    for index, length in enumerate(lengths):
        array[index] = bytes(blob[start : start + length])
        start += length
    return array.reshape(shape)


def is_string(array: np.ndarray) -> bool:
    """Whether the array holds strings: Python objects, or NumPy's fixed-width bytes or text."""
    return array.dtype.kind in "OSU"


def as_array(value: Any) -> np.ndarray:
    """Return ``value`` as a contiguous NumPy array, copied from the accelerator if it is there."""
    if type(value) is not np.ndarray:
        value = value.get() if hasattr(value, "__cuda_array_interface__") else np.asarray(value)
    return value if value.flags.c_contiguous else np.ascontiguousarray(value).reshape(value.shape)


def encode(
    kind: int,
    tag: int = 0,
    id: int = 0,
    tensors: Sequence[Any] = (),
    head: dict[str, Any] | None = None,
    flags: int = 0,
    share: Any = None,
) -> list[Any]:
    """Return the buffers of one frame, ready for `socket.sendmsg`.

    ``share(array)`` may place a large array in shared memory; it returns the descriptor, or
    ``None`` when the bytes are to travel in the frame.
    """
    meta = []
    payload: list[Any] = []
    payload_bytes = 0
    for value in tensors:
        array = as_array(value)
        if array.dtype.kind in "OSU":
            descriptor, blob = pack_strings(array)
            payload.append(blob)
            payload_bytes += len(blob)
        else:
            is_numpy_number = array.dtype.kind != "V"  # which bfloat16 is not
            shared = share(array) if share is not None and is_numpy_number else None
            if shared is not None:
                descriptor = shared
            else:
                descriptor = describe(array)
                if array.nbytes:
                    payload.append(array if is_numpy_number else array.view(np.uint16))
                    payload_bytes += array.nbytes
        meta.append(descriptor)
    if head is not None:
        meta.append(json.dumps(head, separators=(",", ":")).encode())
    meta_bytes = b"".join(meta)
    header = HEADER.pack(MAGIC, kind, flags, tag, id, len(tensors), len(meta_bytes), payload_bytes)
    return [header + meta_bytes, *payload]


class Descriptor(NamedTuple):
    """One tensor's header in a frame."""

    dtype: np.dtype | None
    shape: tuple[int, ...]
    place: int
    segment: int
    num_bytes: int
    #: Of an array in a segment: where it begins there, and the byte of the segment's head that it has.
    offset: int = 0
    flag: int = 0


def check_header(
    data: bytes | bytearray | memoryview, at: int, max_message_bytes: int
) -> tuple[int, int, int, int, int, int, int]:
    """Unpack and check the header at an offset of ``data``: kind, flags, tag, id, num_tensors, meta and payload bytes."""
    magic, kind, flags, tag, id, num_tensors, meta_bytes, payload_bytes = HEADER.unpack_from(
        data, at
    )
    if magic != MAGIC:
        raise ProtocolError(
            f"the first bytes are {bytes(data[at : at + 8])!r}, and no frame of this protocol"
        )
    if kind not in KINDS:
        raise ProtocolError(f"message kind {kind} is unknown")
    if meta_bytes + payload_bytes > max_message_bytes:
        raise ProtocolError(
            f"a message of {meta_bytes + payload_bytes} bytes, above the limit of "
            f"{max_message_bytes} (DATAFLOW_MAX_MESSAGE_BYTES raises it)"
        )
    if num_tensors * DESCRIPTOR.size > meta_bytes:
        raise ProtocolError(f"{num_tensors} tensors described in {meta_bytes} bytes")
    return kind, flags, tag, id, num_tensors, meta_bytes, payload_bytes


_meta_cache: dict[tuple[bytes, int, int], tuple[list[Descriptor], dict[str, Any] | None]] = {}


def parse_meta_again(
    meta: bytes, num_tensors: int, payload_bytes: int
) -> tuple[list[Descriptor], dict[str, Any] | None]:
    """Return what `parse_meta` does; results are cached, as the frames of a step are alike."""
    key = (meta, num_tensors, payload_bytes)
    found = _meta_cache.get(key)
    if found is None:
        found = parse_meta(meta, num_tensors, payload_bytes)
        if found[1] is None and len(meta) <= 1024:  # with a head frames differ
            if len(_meta_cache) > 4096:
                _meta_cache.clear()
            _meta_cache[key] = found
    return found


def parse_meta(
    meta: bytes | bytearray | memoryview, num_tensors: int, payload_bytes: int
) -> tuple[list[Descriptor], dict[str, Any] | None]:
    """Return the descriptors and the head, having checked that they describe the payload."""
    descriptors = []
    at = 0
    inline_bytes = 0
    for _ in range(num_tensors):
        try:
            code, rank, place, segment, num_bytes = DESCRIPTOR.unpack_from(meta, at)
            at += DESCRIPTOR.size
            if rank > MAX_RANK:
                raise ProtocolError(f"a tensor of rank {rank}, above {MAX_RANK}")
            shape = struct.unpack_from(f"<{rank}q", meta, at)
        except struct.error as error:
            raise ProtocolError(f"a cut-off tensor descriptor ({error})") from None
        at += 8 * rank
        offset = flag = 0
        if place == PART:
            if len(meta) < at + _PART.size:
                raise ProtocolError("a cut-off descriptor of a part of a segment")
            offset, flag = _PART.unpack_from(meta, at)
            at += _PART.size
        # Without its zeros too, as NumPy has no empty array of more than that.
        if rank and (min(shape) < 0 or math.prod(n or 1 for n in shape) > _MOST_ELEMENTS):
            raise ProtocolError(f"a tensor of shape {shape}")
        if code == STRING_CODE and place == STRINGS:
            dtype = None
        elif (code < len(_DTYPE_OF_CODE) and place in (INLINE, SHARED, PART)) or (
            code == _BFLOAT16_CODE and place == INLINE
        ):
            dtype = bfloat16.numpy if code == _BFLOAT16_CODE else _DTYPE_OF_CODE[code]
            if math.prod(shape) * dtype.itemsize != num_bytes:
                raise ProtocolError(f"{dtype} of shape {shape} in {num_bytes} bytes")
        else:
            raise ProtocolError(f"a tensor of dtype code {code} in place {place}")
        if place == PART:
            place = SHARED
        if place != SHARED:
            inline_bytes += num_bytes
        descriptors.append(Descriptor(dtype, shape, place, segment, num_bytes, offset, flag))
    if inline_bytes != payload_bytes:
        raise ProtocolError(
            f"the tensors take {inline_bytes} bytes, the payload has {payload_bytes}"
        )
    if at == len(meta):
        return descriptors, None
    try:
        head = json.loads(bytes(meta[at:]))
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a head that is no JSON ({error})") from None
    if not isinstance(head, dict):
        raise ProtocolError(f"a head that is a JSON {type(head).__name__}, not an object")
    return descriptors, head
