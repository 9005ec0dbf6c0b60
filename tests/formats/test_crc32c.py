"""CRC-32C against the vectors of RFC 3720 and a bit-by-bit definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from dataflow.formats import crc32c as module
from dataflow.formats.crc32c import by_numpy, crc32c, mask, masked_crc32c

#: NumPy alone, and google-crc32c where it is installed.
either = pytest.mark.parametrize("crc32c", [by_numpy, crc32c], ids=["numpy", "any"])

Crc = Callable[..., Any]


def bit_by_bit(data: bytes) -> int:
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = (register >> 1) ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


@either
@pytest.mark.parametrize(
    ("data", "crc"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
    ],
)
def test_published_values(crc32c: Crc, data: bytes, crc: int) -> None:
    assert crc32c(data) == crc


@either
@pytest.mark.parametrize("size", [47, 48, 49, 150, 511, 512, 513, 1024, 1025, 5000])
def test_sizes_around_the_blocks(crc32c: Crc, size: int) -> None:
    data = np.random.default_rng(size).bytes(size)
    assert crc32c(data) == bit_by_bit(data)


@pytest.mark.parametrize("extra", [-1, 0, 1, 3, 4, 5, 600])
def test_sizes_around_the_chunks(monkeypatch: pytest.MonkeyPatch, extra: int) -> None:
    monkeypatch.setattr(module, "_CHUNK_BYTES", 2048)
    data = np.random.default_rng(0).bytes(3 * 2048 + extra)
    assert by_numpy(data) == bit_by_bit(data)


@either
@given(data=st.binary(max_size=1500), cut=st.integers(0, 1500))
@example(data=bytes(1200), cut=3)
def test_in_two_pieces(crc32c: Crc, data: bytes, cut: int) -> None:
    assert crc32c(data[cut:], crc32c(data[:cut])) == crc32c(data) == bit_by_bit(data)


@either
def test_arrays_are_read_as_their_bytes(crc32c: Crc) -> None:
    array = np.arange(200, dtype=np.float32).reshape(10, 20)
    assert crc32c(array) == bit_by_bit(array.tobytes())
    assert crc32c(array[:, ::2]) == bit_by_bit(array[:, ::2].tobytes())
    assert crc32c(memoryview(array)) == crc32c(array)
    assert crc32c(np.float32(0)) == bit_by_bit(bytes(4))
    assert crc32c(bytearray(b"123456789")) == 0xE3069283
    assert crc32c(np.zeros((0, 3))) == crc32c(b"") == crc32c(bytearray()) == 0
    assert crc32c(array.T) == bit_by_bit(array.T.tobytes())
    assert array.flags.writeable


def test_the_package_is_asked_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    package = pytest.importorskip("google_crc32c", reason="pip install 'dataflow-learn[fast]'")
    module._extend.cache_clear()
    assert (module._extend() is package.extend) == (package.implementation == "c")
    monkeypatch.setattr(package, "implementation", "python")  # slower than NumPy
    module._extend.cache_clear()
    assert module._extend() is None
    module._extend.cache_clear()


def test_masked_value() -> None:
    assert masked_crc32c(b"123456789") == mask(0xE3069283) != 0xE3069283
