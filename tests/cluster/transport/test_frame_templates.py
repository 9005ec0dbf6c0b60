"""Frames like earlier ones: in one piece, and only where the tensors are as before."""

import numpy as np
import pytest

from dataflow.cluster.transport import messages
from dataflow.cluster.transport.frame_templates import (
    WHOLE_BYTES,
    received_template,
    sent_template,
)
from dataflow.cluster.transport.messages import HEADER, Kind, Message, parse_meta
from dataflow.cluster.transport.shm_send import SHARE_FROM_BYTES, OutgoingSegments


def encoded(id, tensors):
    return messages.encode(Kind.DATA, 3, id, tensors, None, 1, None)


def joined(id, tensors):
    return b"".join(
        bytes(part.tobytes() if hasattr(part, "tobytes") else part) for part in encoded(id, tensors)
    )


def used_often(tensors):
    """The template of frames with such tensors, after so many that they are joined by one function."""
    size = len(joined(0, tensors))
    form = sent_template(encoded(0, tensors), tensors, size, size, None)
    for id in range(16):
        assert form.whole is None
        parts = form.buffers(id, tensors)
        assert b"".join(bytes(memoryview(part).cast("B")) for part in parts) == joined(id, tensors)
    return form


ARRAY = np.arange(6, dtype=np.float32).reshape(2, 3)
KINDS = {
    "none": [],
    "number": [np.int64(7)],
    "array": [ARRAY],
    "array of rank 0": [np.array(2.5)],
    "one element": [np.ones((1, 1), np.float16)],
    "several": [np.float32(1), ARRAY, np.bool_(True)],
    "frames of some kilobytes": [np.arange(7840, dtype=np.float32)],
}


@pytest.mark.parametrize("tensors", KINDS.values(), ids=KINDS)
def test_a_frame_in_one_piece_has_the_bytes_of_any_other(tensors):
    form = used_often(tensors)
    for id in (0, 1, 2**64 - 1):
        assert form.whole(id, tensors) == joined(id, tensors)


@pytest.mark.parametrize(
    "others",
    [
        [ARRAY],
        [np.float32(1), ARRAY, ARRAY],
        [np.float64(1), ARRAY],
        [1.0, ARRAY],
        [np.float32(1), ARRAY.astype(np.float64)],
        [np.float32(1), ARRAY.T],
        [np.float32(1), ARRAY.reshape(3, 2)],
        [np.float32(1), ARRAY[:, ::-1]],
        [np.float32(1), ARRAY.astype(">f4")],
        [np.float32(1), np.float32(2)],
    ],
)
def test_tensors_that_differ_do_not_fit_a_template(others):
    form = used_often([np.float32(1), ARRAY])
    assert form.whole(1, others) is None
    assert form.buffers(1, others) is None


@pytest.mark.parametrize(
    "tensors",
    [
        [],
        [np.int64(-(2**63)), ARRAY],
        [np.int32(2**31 - 1), np.float32(1.5), np.array(7)],
        [np.zeros((0, 3)), np.full((1, 1), -1), np.complex64(1 + 2j)],
    ],
)
def test_a_frame_is_read_alike_however_often_its_template_was_used(tensors):
    frame = joined(5, tensors)
    begins = bytes(encoded(5, tensors)[0])
    descriptors, _ = parse_meta(begins[HEADER.size :], len(tensors), len(frame) - len(begins))
    message = Message(Kind.DATA, 3, 5, [], None, 1)
    form = received_template(message, begins, descriptors, len(frame), None)
    buffer = bytearray(b"..." + frame)
    slow = form.read
    for use in range(20):
        read = form.read(buffer, 3)
        assert (form.read == slow) == (use < 15)
        assert [(x.shape, x.dtype) for x in read] == [(x.shape, x.dtype) for x in tensors]
        assert all(np.array_equal(x, y) for x, y in zip(read, tensors, strict=True))
    buffer[:] = bytes(len(buffer))
    assert all(np.array_equal(x, y) for x, y in zip(read, tensors, strict=True)), "its own memory"


def test_large_frames_stay_in_pieces():
    tensors = [np.zeros(WHOLE_BYTES, np.uint8)]
    form = used_often(tensors)
    form.buffers(1, tensors)
    assert form.whole is None


LARGE = [np.arange(10_000, dtype=np.float32), np.full((100, 100), 2.5, np.float32)]


@pytest.fixture
def outgoing():
    segments = OutgoingSegments(1 << 20)
    yield segments
    segments.close()


def frame_in_shared_memory(outgoing, tensors):
    """A frame, the arrays of which lie in shared memory from some size on, and the places that they took."""
    taken = []

    def share(array):
        if array.nbytes < SHARE_FROM_BYTES:
            return None
        taken.append(outgoing.put(array))
        return taken[-1].descriptor

    return messages.encode(Kind.DATA, 3, 0, tensors, None, 1, share), taken


def test_a_frame_with_arrays_in_shared_memory_is_made_in_one_piece_too(outgoing):
    tensors = [LARGE[0], np.int64(7), LARGE[1], ARRAY]
    buffers, taken = frame_in_shared_memory(outgoing, tensors)
    size = sum(len(bytes(memoryview(part))) for part in buffers)
    form = sent_template(buffers, tensors, size, LARGE[0].nbytes, outgoing)
    for id in range(16):
        for place in taken:
            place.give_back()  # as the peer does that has read it
        parts = form.buffers(id, tensors)
    pieces = b"".join(memoryview(part).cast("B") for part in parts)
    for place in taken:
        place.give_back()
        place.array[...] = 0
    assert form.whole(15, tensors) == pieces and len(pieces) == size
    for place, array in zip(taken, LARGE, strict=True):
        np.testing.assert_array_equal(place.array.ravel(), array.ravel())


def test_without_room_for_all_arrays_none_takes_room(outgoing):
    tensors = LARGE[:1] * 2
    buffers, taken = frame_in_shared_memory(outgoing, tensors)
    form = sent_template(buffers, tensors, len(buffers[0]), LARGE[0].nbytes, outgoing)
    for id in range(16):
        for place in taken:
            place.give_back()
        assert form.buffers(id, tensors) is not None
    taken[0].give_back()  # the peer still reads the other
    assert form.whole(1, tensors) is None
    assert form.buffers(1, tensors) is None
    taken[1].give_back()
    assert form.whole(1, tensors) is not None
