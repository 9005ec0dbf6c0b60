"""Vectors in memory that two tasks share, sent in parts: each part is the peer's until it lets go of it."""

import os
import socket

import numpy as np
import pytest

from dataflow.cluster.transport import messages, shm_vector
from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.messages import Kind, ProtocolError

pytestmark = pytest.mark.skipif(
    not hasattr(socket, "AF_UNIX") or not hasattr(os, "memfd_create"),
    reason="this system has no shared memory between processes",
)
LENGTH = 40_000


@pytest.fixture
def ends():
    """The two ends of a connection within this process."""
    ends = [
        Connection(sock, "the other end", 1 << 30) for sock in socket.socketpair(socket.AF_UNIX)
    ]
    for end in ends:
        end.share_memory_with(os.getpid())
    yield ends
    for end in ends:
        end.close()


def vector(ends):
    found = ends[0].allocate_vector(np.dtype(np.float32), LENGTH)
    found[...] = np.arange(LENGTH)
    return found


def pass_on(ends, part, id=0):
    ends[0].send_part(Kind.COLLECTIVE, 7, id, part)
    message = ends[1].receive()
    assert (message.kind, message.tag, message.id) == (Kind.COLLECTIVE, 7, id)
    (got,) = message.tensors
    return got


def address(array):
    return array.__array_interface__["data"][0]


def test_a_part_is_read_where_it_lies(ends):
    whole = vector(ends)
    for id, (start, stop) in enumerate([(0, 10), (30_000, LENGTH), (5, 6), (0, 10)]):
        got = pass_on(ends, whole[start:stop], id)
        assert got.tolist() == list(range(start, stop))
        assert not got.flags.writeable
        whole[start] = -1.0
        assert got[0] == -1.0
        whole[start] = start
    assert ends[0].shared_bytes_sent == 4 * (10 + 10_000 + 1 + 10)
    assert ends[1].shared_bytes_received == ends[0].shared_bytes_sent


def test_the_memory_is_used_again_when_all_parts_are_read_and_the_vector_is_gone(ends):
    whole = vector(ends)
    place = address(whole)
    kept = pass_on(ends, whole[:100])
    passing = pass_on(ends, whole[100:200])
    assert address(vector(ends)) != place  # this process has it yet
    view = whole[50:60]
    del whole, passing
    other = vector(ends)
    assert address(other) != place  # and this
    del view
    other = vector(ends)
    assert address(other) != place  # the peer has a part
    assert kept.tolist() == list(range(100))
    del kept
    assert address(vector(ends)) == place
    del other
    assert len(ends[0]._outgoing._segments) <= 3


def test_an_unsent_vector_leaves_its_memory_at_once(ends):
    whole = vector(ends)
    place = address(whole)
    del whole
    assert address(vector(ends)) == place


def test_more_parts_than_there_are_flags_are_copied(ends):
    whole = vector(ends)
    kept = [pass_on(ends, whole[i : i + 1], i) for i in range(shm_vector.MOST_PARTS + 2)]
    whole[...] = -1.0
    read = [float(part[0]) for part in kept]
    assert read == [-1.0] * shm_vector.MOST_PARTS + [63.0, 64.0]


def test_a_vector_and_whole_tensors_never_share_a_segment(ends):
    whole = vector(ends)
    ends[0].send(Kind.DATA, 5, 1, [np.zeros(LENGTH, np.float32)])
    (got,) = ends[1].receive().tensors
    assert whole[1] == 1.0
    del whole, got
    ends[0].send(Kind.DATA, 5, 2, [np.ones(LENGTH, np.float32)])
    (got,) = ends[1].receive().tensors
    assert got.min() == 1.0


@pytest.mark.parametrize(
    ("offset", "flag", "says"),
    [(0, 64, "with the flag 64"), (1 << 40, 1, "not announced"), (170_000, 1, "not announced")],
)
def test_a_part_outside_of_its_segment_ends_the_connection(ends, offset, flag, says):
    pass_on(ends, vector(ends)[:10])
    part = np.zeros(LENGTH // 2, np.float32)
    ends[0].sock.sendall(messages.encode_part(Kind.COLLECTIVE, 1, 2, part, 0, offset, flag))
    with pytest.raises(ProtocolError, match=says):
        ends[1].receive()
    assert ends[1].closed


def test_a_cut_off_part_is_refused():
    frame = messages.encode_part(Kind.COLLECTIVE, 1, 2, np.zeros(3, np.float32), 0, 0, 1)
    meta = frame[messages.HEADER.size :]
    assert messages.parse_meta(meta, 1, 0)[0][0].flag == 1
    with pytest.raises(ProtocolError, match="cut-off"):
        messages.parse_meta(meta[:-4], 1, 0)
