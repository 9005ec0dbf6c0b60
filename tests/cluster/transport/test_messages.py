"""The wire format: what goes in comes out, and nothing else comes in."""

import struct

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from dataflow.cluster.transport import messages
from dataflow.cluster.transport.messages import HEADER, Kind, ProtocolError


def decode(buffers):
    """Read one frame from its buffers, as a connection does."""
    data = b"".join(bytes(memoryview(part)) for part in buffers)
    kind, flags, tag, id, count, meta_bytes, payload_bytes = messages.check_header(data, 0, 1 << 30)
    at = HEADER.size + meta_bytes
    descriptors, head = messages.parse_meta(data[HEADER.size : at], count, payload_bytes)
    tensors = []
    for descriptor in descriptors:
        part = data[at : at + descriptor.num_bytes]
        at += descriptor.num_bytes
        if descriptor.dtype is None:
            tensors.append(messages.unpack_strings(part, descriptor.shape))
        else:
            tensors.append(np.frombuffer(part, descriptor.dtype).reshape(descriptor.shape))
    assert at == len(data)
    return messages.Message(kind, tag, id, tensors, head, flags)


numeric = hnp.arrays(
    dtype=st.sampled_from(messages.DTYPES).map(np.dtype),
    shape=hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
)


@given(
    st.sampled_from(Kind),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**64 - 1),
    st.lists(numeric, max_size=4),
    st.none() | st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5)),
)
def test_round_trip(kind, tag, id, tensors, head):
    message = decode(messages.encode(kind, tag, id, tensors, head))
    assert (message.kind, message.tag, message.id, message.head) == (kind, tag, id, head)
    assert len(message.tensors) == len(tensors)
    for sent, received in zip(tensors, message.tensors, strict=True):
        assert received.dtype == sent.dtype
        assert received.shape == sent.shape
        assert received.tobytes() == sent.tobytes()


def test_scalars_and_views():
    values = [3, 2.5, True, np.float16(1.5), np.arange(6).reshape(2, 3).T, np.arange(9)[::2]]
    received = decode(messages.encode(Kind.DATA, tensors=values)).tensors
    for sent, got in zip(values, received, strict=True):
        np.testing.assert_array_equal(got, sent)
        assert got.dtype == np.asarray(sent).dtype


def test_strings():
    array = np.array([[b"", b"\x00\xff"], ["grün".encode(), b"x" * 1000]], dtype=object)
    (received,) = decode(messages.encode(Kind.DATA, tensors=[array])).tensors
    assert received.dtype == object
    assert received.tolist() == array.tolist()
    scalar = np.array(b"one", dtype=object)
    (received,) = decode(messages.encode(Kind.DATA, tensors=[scalar])).tensors
    assert received.shape == ()
    assert received.item() == b"one"
    (received,) = decode(messages.encode(Kind.DATA, tensors=[np.array(["a", "bc"])])).tensors
    assert received.tolist() == [b"a", b"bc"]


def test_what_cannot_travel_is_said():
    with pytest.raises(TypeError, match="datetime64.* cannot travel between tasks"):
        messages.encode(Kind.DATA, tensors=[np.array(["2016-11-02"], dtype="datetime64[D]")])


@given(st.binary(min_size=HEADER.size, max_size=HEADER.size))
def test_random_headers_are_refused_or_sane(data):
    try:
        *_, count, meta_bytes, payload_bytes = messages.check_header(data, 0, 1 << 20)
    except ProtocolError:
        return
    assert meta_bytes + payload_bytes <= 1 << 20
    assert count <= meta_bytes


@given(st.binary(max_size=80), st.integers(0, 4), st.integers(0, 100))
def test_random_meta_is_refused_or_sane(meta, count, payload_bytes):
    try:
        descriptors, _ = messages.parse_meta(meta, count, payload_bytes)
    except ProtocolError:
        return
    inline = sum(d.num_bytes for d in descriptors if d.place != messages.SHARED)
    assert inline == payload_bytes


def test_a_descriptor_that_lies_about_its_size_is_refused():
    buffers = messages.encode(Kind.DATA, tensors=[np.zeros(4, np.float32)])
    meta = bytearray(buffers[0][HEADER.size :])
    meta[-8:] = struct.pack("<q", 1 << 40)
    with pytest.raises(ProtocolError, match=r"float32 of shape \(1099511627776,\) in 16 bytes"):
        messages.parse_meta(meta, 1, 16)


@pytest.mark.parametrize(
    ("shape", "num_bytes"),
    [
        ((-1,), 0),
        ((6, -1, -1), 24),
        ((-2, -2), 16),  # their product is as many elements as there are
        ((-1, 0), 0),
        ((0, 1 << 62), 0),  # nothing, and NumPy cannot hold it
        ((1 << 62, 0, 1 << 62), 0),
    ],
)
def test_a_shape_that_no_array_has_is_refused(shape, num_bytes):
    meta = messages.DESCRIPTOR.pack(messages.DTYPES.index("float32"), len(shape), 0, 0, num_bytes)
    meta += struct.pack(f"<{len(shape)}q", *shape)
    with pytest.raises(ProtocolError, match="a tensor of shape"):
        messages.parse_meta(meta, 1, num_bytes)


def test_strings_that_lie_about_their_lengths_are_refused():
    _, blob = messages.pack_strings(np.array([b"ab", b"c"], dtype=object))
    with pytest.raises(ProtocolError, match="do not add up"):
        messages.unpack_strings(blob[:-1], (2,))
    with pytest.raises(ProtocolError, match="only 19 bytes"):
        messages.unpack_strings(blob, (1 << 50,))


def test_a_message_above_the_limit_is_refused_before_memory_is_taken():
    header = HEADER.pack(messages.MAGIC, Kind.DATA, 0, 0, 0, 0, 0, 1 << 50)
    with pytest.raises(ProtocolError, match="above the limit of 1000 .*DATAFLOW_MAX_MESSAGE_BYTES"):
        messages.check_header(header, 0, 1000)
