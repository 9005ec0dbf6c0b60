"""Hash functions of strings, bit by bit those of TensorFlow."""

from __future__ import annotations

import functools
from typing import Any

_MASK = 0xFFFFFFFFFFFFFFFF
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def _rotate(value: int, by: int) -> int:
    value &= _MASK
    return ((value >> by) | (value << (64 - by))) & _MASK


def _shift_mix(value: int) -> int:
    value &= _MASK
    return value ^ (value >> 47)


def _word(text: bytes, at: int) -> int:
    return int.from_bytes(text[at : at + 8], "little")


def _mix(u: int, v: int, mul: int) -> int:
    a = _shift_mix((u ^ v) * mul)
    b = _shift_mix(((v ^ a) & _MASK) * mul)
    return (b * mul) & _MASK


def _weak(text: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    w, x, y, z = (_word(text, at + i) for i in (0, 8, 16, 24))
    a = (a + w) & _MASK
    b = _rotate(b + a + z, 21)
    c = a
    a = (a + x + y) & _MASK
    b = (b + _rotate(a, 44)) & _MASK
    return (a + z) & _MASK, (b + c) & _MASK


@functools.lru_cache(maxsize=1 << 16)
def fingerprint64(text: bytes) -> int:
    """FarmHash's Fingerprint64 (its `farmhashna::Hash64`; Pike, Google, 2014), unsigned."""
    n = len(text)
    if n <= 16:
        return _short(text, n)
    mul = _K2 + n * 2
    if n <= 32:
        a, b = _word(text, 0) * _K1 & _MASK, _word(text, 8)
        c, d = _word(text, n - 8) * mul & _MASK, _word(text, n - 16) * _K2 & _MASK
        left = (_rotate(a + b, 43) + _rotate(c, 30) + d) & _MASK
        return _mix(left, (a + _rotate(b + _K2, 18) + c) & _MASK, mul & _MASK)
    if n <= 64:
        return _medium(text, n, mul & _MASK)
    return _long(text, n)


def _short(text: bytes, n: int) -> int:
    if n >= 8:
        mul = (_K2 + n * 2) & _MASK
        a, b = (_word(text, 0) + _K2) & _MASK, _word(text, n - 8)
        c = (_rotate(b, 37) * mul + a) & _MASK
        d = ((_rotate(a, 25) + b) * mul) & _MASK
        return _mix(c, d, mul)
    if n >= 4:
        mul = (_K2 + n * 2) & _MASK
        first = int.from_bytes(text[:4], "little")
        last = int.from_bytes(text[n - 4 :], "little")
        return _mix((n + (first << 3)) & _MASK, last, mul)
    if n > 0:
        y = text[0] + (text[n >> 1] << 8)
        z = n + (text[n - 1] << 2)
        return (_shift_mix((y * _K2 ^ z * _K0) & _MASK) * _K2) & _MASK
    return _K2


def _medium(text: bytes, n: int, mul: int) -> int:
    a, b = _word(text, 0) * _K2 & _MASK, _word(text, 8)
    c, d = _word(text, n - 8) * mul & _MASK, _word(text, n - 16) * _K2 & _MASK
    y = (_rotate(a + b, 43) + _rotate(c, 30) + d) & _MASK
    z = _mix(y, (a + _rotate(b + _K2, 18) + c) & _MASK, mul)
    e, f = _word(text, 16) * mul & _MASK, _word(text, 24)
    g = ((y + _word(text, n - 32)) * mul) & _MASK
    h = ((z + _word(text, n - 24)) * mul) & _MASK
    left = (_rotate(e + f, 43) + _rotate(g, 30) + h) & _MASK
    return _mix(left, (e + _rotate(f + a, 18) + g) & _MASK, mul)


def _long(text: bytes, n: int) -> int:
    seed = 81
    x, y = seed, (seed * _K1 + 113) & _MASK
    z = (_shift_mix((y * _K2 + 113) & _MASK) * _K2) & _MASK
    v = w = (0, 0)
    x = (x * _K2 + _word(text, 0)) & _MASK
    end = ((n - 1) // 64) * 64
    last = end + ((n - 1) & 63) - 63
    at = 0
    while True:
        x, y, z, v, w = _round(text, at, x, y, z, v, w, _K1, 1)
        at += 64
        if at == end:
            break
    mul = (_K1 + ((z & 0xFF) << 1)) & _MASK
    w = ((w[0] + ((n - 1) & 63)) & _MASK, w[1])
    v = ((v[0] + w[0]) & _MASK, v[1])
    w = ((w[0] + v[0]) & _MASK, w[1])
    x, y, z, v, w = _round(text, last, x, y, z, v, w, mul, 9)
    left = (_mix(v[0], w[0], mul) + _shift_mix(y) * _K0 + z) & _MASK
    return _mix(left, (_mix(v[1], w[1], mul) + x) & _MASK, mul)


def _round(
    text: bytes,
    at: int,
    x: int,
    y: int,
    z: int,
    v: tuple[int, int],
    w: tuple[int, int],
    mul: int,
    factor: int,
) -> Any:
    """64 bytes; the last round weighs two terms with ``factor`` 9."""
    x = _rotate(x + y + v[0] + _word(text, at + 8), 37) * mul & _MASK
    y = _rotate(y + v[1] + _word(text, at + 48), 42) * mul & _MASK
    x ^= w[1] * factor & _MASK
    y = (y + v[0] * factor + _word(text, at + 40)) & _MASK
    z = _rotate(z + w[0], 33) * mul & _MASK
    v = _weak(text, at, v[1] * mul & _MASK, (x + w[0]) & _MASK)
    w = _weak(text, at + 32, (z + w[1]) & _MASK, (y + _word(text, at + 16)) & _MASK)
    return z, y, x, v, w


def _mix_pair(u: int, v: int) -> int:
    """CityHash's Hash128to64."""
    return _mix(u, v, 0x9DDFEA08EB382D69)


def fingerprint128(text: bytes) -> tuple[int, int]:
    """FarmHash's Fingerprint128 (CityHash128; Pike, Alakuijala, 2011): its lower and its upper half, unsigned."""
    if len(text) >= 16:
        first = (_word(text, 0), (_word(text, 8) + _K0) & _MASK)
        text = text[16:]
    else:
        first = (_K0, _K1)
    return _city_long(text, *first) if len(text) >= 128 else _city_short(text, *first)


def _city_short(text: bytes, a: int, b: int) -> tuple[int, int]:
    n = len(text)
    if n <= 16:
        a = _shift_mix(a * _K1) * _K1 & _MASK
        c = (b * _K1 + _short(text, n)) & _MASK
        d = _shift_mix(a + (_word(text, 0) if n >= 8 else c))
    else:
        c = _mix_pair((_word(text, n - 8) + _K1) & _MASK, a)
        d = _mix_pair((b + n) & _MASK, (c + _word(text, n - 16)) & _MASK)
        a = (a + d) & _MASK
        for at in range(0, n - 16, 16):
            a = (a ^ _shift_mix(_word(text, at) * _K1) * _K1 & _MASK) * _K1 & _MASK
            b ^= a
            c = (c ^ _shift_mix(_word(text, at + 8) * _K1) * _K1 & _MASK) * _K1 & _MASK
            d ^= c
    a, b = _mix_pair(a, c), _mix_pair(d, b)
    return a ^ b, _mix_pair(b, a)


def _city_long(text: bytes, x: int, y: int) -> tuple[int, int]:
    n = len(text)
    z = n * _K1 & _MASK
    first = (_rotate(y ^ _K1, 49) * _K1 + _word(text, 0)) & _MASK
    v = (first, (_rotate(first, 42) * _K1 + _word(text, 8)) & _MASK)
    w = (
        (_rotate(y + z, 35) * _K1 + x) & _MASK,
        _rotate(x + _word(text, 88), 53) * _K1 & _MASK,
    )
    whole = n - n % 128
    for at in range(0, whole, 64):
        x, y, z, v, w = _round(text, at, x, y, z, v, w, _K1, 1)
    x = (x + _rotate(v[0] + z, 49) * _K0) & _MASK
    y = (y * _K0 + _rotate(w[1], 37)) & _MASK
    z = (z * _K0 + _rotate(w[0], 27)) & _MASK
    w, v = (w[0] * 9 & _MASK, w[1]), (v[0] * _K0 & _MASK, v[1])
    for done in range(32, n % 128 + 32, 32):  # the last 32 bytes first
        at = n - done
        y = (_rotate(x + y, 42) * _K0 + v[1]) & _MASK
        w = ((w[0] + _word(text, at + 16)) & _MASK, w[1])
        x = (x * _K0 + w[0]) & _MASK
        z = (z + w[1] + _word(text, at)) & _MASK
        w = (w[0], (w[1] + v[0]) & _MASK)
        v = _weak(text, at, (v[0] + z) & _MASK, v[1])
        v = (v[0] * _K0 & _MASK, v[1])
    x = _mix_pair(x, v[0])
    y = _mix_pair((y + z) & _MASK, w[0])
    low = _mix_pair((x + v[1]) & _MASK, w[1]) + y
    return low & _MASK, _mix_pair((x + w[1]) & _MASK, (y + v[1]) & _MASK)


@functools.lru_cache(maxsize=1 << 16)
def hash64(text: bytes) -> int:
    """TensorFlow's older string hash: MurmurHash64A (Appleby) with its seed."""
    m, n = 0xC6A4A7935BD1E995, len(text)
    h = 0xDECAFCAFFE ^ (n * m & _MASK)
    whole = n - n % 8
    for at in range(0, whole, 8):
        k = _word(text, at) * m & _MASK
        k ^= k >> 47
        h = ((h ^ (k * m & _MASK)) * m) & _MASK
    if n % 8:
        h = ((h ^ int.from_bytes(text[whole:], "little")) * m) & _MASK
    h ^= h >> 47
    h = h * m & _MASK
    return h ^ (h >> 47)


@functools.lru_cache(maxsize=1 << 16)
def sip_hash(first: int, second: int, text: bytes) -> int:
    """SipHash-2-4 (Aumasson, Bernstein, 2012) under a key of two 64-bit numbers."""
    k0, k1 = first & _MASK, second & _MASK
    v0, v1 = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D
    v2, v3 = k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573

    def rounds(count: int) -> None:
        nonlocal v0, v1, v2, v3
        for _ in range(count):
            v0 = (v0 + v1) & _MASK
            v1 = _rotate(v1, 51) ^ v0
            v0 = _rotate(v0, 32)
            v2 = (v2 + v3) & _MASK
            v3 = _rotate(v3, 48) ^ v2
            v0 = (v0 + v3) & _MASK
            v3 = _rotate(v3, 43) ^ v0
            v2 = (v2 + v1) & _MASK
            v1 = _rotate(v1, 47) ^ v2
            v2 = _rotate(v2, 32)

    n = len(text)
    whole = n - n % 8
    words = [_word(text, at) for at in range(0, whole, 8)]
    words.append(int.from_bytes(text[whole:], "little") | ((n & 0xFF) << 56))
    for word in words:
        v3 ^= word
        rounds(2)
        v0 ^= word
    v2 ^= 0xFF
    rounds(4)
    return v0 ^ v1 ^ v2 ^ v3
