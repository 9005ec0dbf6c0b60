"""Bytes of every kind where a task expects frames: read, or refused; never a crash, never a wait."""

import os
import random
import socket
import struct
from collections import Counter

import numpy as np

from dataflow.cluster.transport import messages
from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.connection_errors import TooLong
from dataflow.cluster.transport.messages import DESCRIPTOR, HEADER, Kind, ProtocolError
from dataflow.cluster.transport.shm_receive import make_memory
from dataflow.errors import UnavailableError
from tests.hostile.inputs import Rule, num_inputs
from tests.open_files import open_files

NUMBERS = [
    0,
    1,
    2,
    7,
    8,
    255,
    1 << 15,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 62,
    (1 << 63) - 1,
]


def valid_frames(memory):
    """Frames of all kinds, as bytes."""
    made = [
        messages.encode(Kind.PING, 3, 7),
        messages.encode(Kind.HELLO, head={"protocol": 2, "nonce": "0" * 32, "task": "x"}),
        messages.encode(Kind.CALL, 1, 2, [np.arange(6.0).reshape(2, 3)], {"method": "status"}),
        messages.encode(Kind.DATA, 1, 2, [np.ones(3, np.int32), np.array(True), np.zeros((0, 4))]),
        messages.encode(Kind.DATA, 1, 2, [np.array([[b"some", b""], ["text", b"x"]], object)]),
        messages.encode(Kind.DATA, 1, 2, [np.zeros(30_000, np.float32)]),
        messages.encode(Kind.SEGMENT, head={"number": 0, "fd": memory, "size": 4096}),
    ]
    return [b"".join(bytes(memoryview(part)) for part in frame) for frame in made]


def any_number(draw):
    return draw.choice([draw.choice(NUMBERS), draw.randrange(100), draw.getrandbits(32)])


def flipped(draw, data):
    data = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        data[draw.randrange(len(data))] = draw.randrange(256)
    return bytes(data)


def cut_off(draw, data):
    return data[: draw.randrange(len(data))]


def joined(draw, data):
    at = draw.randrange(len(data))
    return data[:at] + draw.randbytes(draw.randrange(40)) + data[at:]


def other_header(draw, data):
    """Some of the header's fields are any numbers."""
    fields = list(HEADER.unpack_from(data))
    limits = [0, 8, 8, 32, 64, 32, 32, 64]
    for _ in range(draw.randint(1, 2)):
        field = draw.randrange(1, 8)
        fields[field] = any_number(draw) % (1 << limits[field])
    return HEADER.pack(*fields) + data[HEADER.size :]


def other_tensors(draw, data):
    """A header that fits, over descriptors that nobody would write."""
    count = draw.randint(1, 3)
    meta, total = b"", 0
    for _ in range(count):
        rank = draw.randrange(5)
        dims = [draw.choice([-2, -1, 0, 1, 2, 3, 1 << 33, 1 << 62]) for _ in range(rank)]
        code = draw.choice([*range(len(messages.DTYPES)), 200, messages.STRING_CODE])
        size = draw.choice([8, 16, abs(int(np.prod(dims, dtype=object))) * 4, any_number(draw)])
        size %= 1 << 64
        total = (total + size) % (1 << 64)
        place = draw.choice([0, 0, 1, 2, 2, 9])
        rank = draw.choice([rank, rank, rank, 33, 255])
        meta += DESCRIPTOR.pack(code, rank, place, draw.randrange(3), size)
        meta += struct.pack(f"<{len(dims)}q", *dims)
    head = draw.choice([b"", b"{}", b"[1]", b"{" * 2000, b'{"a":' * 900 + b"1" + b"}" * 900])
    size = draw.choice([total, total, draw.randrange(64)])
    header = HEADER.pack(b"DF", Kind.DATA, 0, 0, 0, count, len(meta + head), size)
    return header + meta + head + draw.randbytes(min(size, 5000))


def other_segment(draw, data):
    """A segment that is no memory of the sender's."""
    head = {
        "number": draw.choice([0, 5, "1", None, 1.5, 1 << 70]),
        "fd": draw.choice([0, 1, 2, draw.randrange(30), -1, 1 << 40, "x", 1e400]),
        "size": draw.choice([0, 1, 4096, -1, -65, 1 << 40, 1 << 70, "x"]),
    }
    return messages.encode(Kind.SEGMENT, head=head)[0]


def arbitrary(draw, data):
    return draw.randbytes(draw.randrange(200))


CHANGES = [
    *[lambda draw, data: data] * 4,
    flipped,
    cut_off,
    joined,
    other_header,
    other_tensors,
    other_segment,
    arbitrary,
]


def read_all(data, limit_bytes, ahead):
    """Receive what these bytes are, up to the end of the connection.

    ``ahead``: as the thread that receives for many connections, which takes what is whole.
    """
    left, right = socket.socketpair(socket.AF_UNIX)
    connection = Connection(left, "a stranger", limit_bytes)
    connection.share_memory_with(os.getpid())
    num_frames = 0
    try:
        right.setblocking(False)
        right.send(data)
        right.shutdown(socket.SHUT_WR)
        while True:
            if ahead:
                try:
                    if connection.receive_ready() is not None:
                        num_frames += 1
                        continue
                except TooLong:
                    pass
            connection.receive()
            num_frames += 1
    except UnavailableError:
        if not num_frames:
            raise
    finally:
        connection.close()
        right.close()


def test_any_bytes():
    rule = Rule("frames", ProtocolError, UnavailableError)
    draw = random.Random(20)
    memory = make_memory(64 + 4096)
    frames = valid_frames(memory)
    before = Counter(open_files())
    for number in range(num_inputs()):
        parts = [draw.choice(CHANGES)(draw, draw.choice(frames)) for _ in range(draw.randint(1, 3))]
        data = b"".join(parts)[:150_000]
        limit_bytes = draw.choice([4096, 1 << 20, messages.DEFAULT_MAX_MESSAGE_BYTES])
        rule.try_one(
            (number, data[:200]),
            lambda data=data, limit=limit_bytes: read_all(data, limit, draw.random() < 0.5),
        )
    os.close(memory)
    left = Counter(open_files()) - before
    assert not left, left
    rule.report()
