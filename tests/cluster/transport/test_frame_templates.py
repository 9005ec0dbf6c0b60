"""Frames like earlier ones: in one piece, and only where the tensors are as before."""

import numpy as np
import pytest

from dataflow.cluster.transport import messages
from dataflow.cluster.transport.frame_templates import WHOLE_BYTES, sent_template
from dataflow.cluster.transport.messages import Kind


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


def test_large_frames_stay_in_pieces():
    tensors = [np.zeros(WHOLE_BYTES, np.uint8)]
    form = used_often(tensors)
    form.buffers(1, tensors)
    assert form.whole is None
