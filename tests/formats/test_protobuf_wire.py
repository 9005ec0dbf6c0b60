"""The wire format against the protobuf package."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dataflow.formats.protobuf_wire import (
    BYTES,
    FIXED32,
    FIXED64,
    VARINT,
    WireError,
    fields,
    packed_int64,
    read_varint,
    signed,
)

INT64 = st.integers(-(2**63), 2**63 - 1)


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


@given(INT64)
def test_varint(value: int) -> None:
    data = b"\x00" + varint(value)
    unsigned, position = read_varint(data, 1)
    assert signed(unsigned) == value
    assert position == len(data)


@given(st.lists(INT64, max_size=20))
def test_packed_int64(values: list[int]) -> None:
    array = packed_int64(b"".join(map(varint, values)))
    assert array.dtype == np.int64
    assert array.tolist() == values


@pytest.mark.parametrize("data", [b"\x80", b"\x01\xff", b"\xff" * 10 + b"\x01"])
def test_damaged_packed_int64(data: bytes) -> None:
    with pytest.raises(WireError):
        packed_int64(data)


def test_fields() -> None:
    data = b"\x08\x96\x01" + b"\x15\x01\x00\x00\x00" + b"\x1a\x02hi" + b"\x21" + b"\xff" * 8
    assert [(n, k, bytes(v) if k == BYTES else v) for n, k, v in fields(data)] == [
        (1, VARINT, 150),
        (2, FIXED32, 1),
        (3, BYTES, b"hi"),
        (4, FIXED64, 2**64 - 1),
    ]
    for size in (1, 2, 4, 9, 11, 13):
        with pytest.raises(WireError):
            list(fields(data[:size]))


def test_groups_are_refused() -> None:
    with pytest.raises(WireError, match="wire type 3"):
        list(fields(b"\x0b"))
