"""Kernels of strings: object arrays whose elements are ``bytes``."""

from __future__ import annotations

import base64
import binascii
import functools
import itertools
import math
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.formats.object_arrays import object_array
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.logging_ops import formatted
from dataflow.kernels.registry import kernel
from dataflow.kernels.regular_expressions import compiled

_REASON = "strings live in the host's memory"


def strings(value: Any) -> Any:
    """A string value as an object array, also where it is one ``bytes`` object."""
    return value if isinstance(value, np.ndarray) else np.asarray(value, object)


def one(value: Any) -> bytes:
    """The only element of a scalar string. Raises `ValueError` for more than a scalar."""
    if isinstance(value, bytes):
        return value
    array = strings(value)
    if array.ndim:
        raise ValueError(f"one string (a scalar) is needed, got shape {array.shape}")
    return array.item()  # type: ignore[no-any-return]


def text_array(items: Iterable[bytes], shape: Any) -> Any:
    """Strings as an object array of ``shape``."""
    return object_array(list(items), shape)


def each(function: Callable[[bytes], Any], value: Any, dtype: Any = None) -> Any:
    """``function`` of every element; strings again, or numbers of ``dtype``."""
    array = strings(value)
    flat = array.reshape(-1).tolist()
    if dtype is None:
        return text_array(map(function, flat), array.shape)
    return np.fromiter(map(function, flat), dtype, len(flat)).reshape(array.shape)


@kernel("StringJoin", cpu_only=_REASON)
def string_join_kernel(xp: Module, inputs: list[Array], *, separator: str) -> Any:
    between = separator.encode()
    arrays = np.broadcast_arrays(*[strings(v) for v in inputs]) if inputs else []
    if not arrays:
        return text_array([b""], ())
    columns = [a.reshape(-1).tolist() for a in arrays]
    return text_array(map(between.join, zip(*columns, strict=True)), arrays[0].shape)


def reduced_axes(axes: list[int], rank: int) -> list[int]:
    """``axes`` from 0 on. Raises `ValueError` for one that is not there or is named twice."""
    order = []
    for axis in axes:
        if not -rank <= axis < rank:
            raise ValueError(
                f"Invalid reduction dimension {axis} for input with {rank} dimension(s)"
            )
        if axis % rank in order:
            raise ValueError(f"Duplicate reduction dimension {axis % rank}")
        order.append(axis % rank)
    return order


@kernel("ReduceJoin", cpu_only=_REASON)
def reduce_join_kernel(
    xp: Module, x: Array, axes: Array, *, keep_dims: bool, separator: str
) -> Any:
    x = strings(x)
    order = reduced_axes(np.reshape(axes, -1).tolist(), x.ndim)
    kept = [i for i in range(x.ndim) if i not in order]
    sizes = [x.shape[i] for i in kept]
    count = int(np.prod([x.shape[i] for i in order], dtype=np.int64))
    number = int(np.prod([x.shape[i] for i in kept], dtype=np.int64))
    rows = x.transpose(*kept, *reversed(order)).reshape(number, count)  # () is one row of one
    between = separator.encode()
    if keep_dims:
        sizes = [1 if i in order else d for i, d in enumerate(x.shape)]
    return text_array((between.join(row) for row in rows.tolist()), sizes)


@kernel("UnsortedSegmentJoin", cpu_only=_REASON)
def unsorted_segment_join_kernel(
    xp: Module, x: Array, segment_ids: Array, num_segments: Array, *, separator: str
) -> Any:
    rest = x.shape[np.ndim(segment_ids) :]
    if x.shape[: np.ndim(segment_ids)] != np.shape(segment_ids):
        raise ValueError(
            f"the shape of segment_ids must be a prefix of that of inputs, {list(x.shape)}; "
            f"got {list(np.shape(segment_ids))}"
        )
    wrong = [n for n in np.reshape(segment_ids, -1).tolist() if not 0 <= n < int(num_segments)]
    if wrong:
        raise ValueError(
            f"segment_ids are from 0 up to num_segments, {int(num_segments)}; got {wrong[0]}"
        )
    rows = x.reshape(np.size(segment_ids), math.prod(rest))
    parts: list[list[list[bytes]]] = [
        [[] for _ in range(rows.shape[1])] for _ in range(int(num_segments))
    ]
    for number, row in zip(np.reshape(segment_ids, -1).tolist(), rows.tolist(), strict=True):
        for place, text in zip(parts[number], row, strict=True):
            place.append(text)
    between = separator.encode()
    flat = [between.join(place) for segment in parts for place in segment]
    return text_array(flat, (int(num_segments), *rest))


def _sparse_words(rows: list[list[bytes]]) -> tuple[Any, Any, Any]:
    lengths = np.fromiter(map(len, rows), np.intp, len(rows))
    total = int(lengths.sum())
    if len(rows) == 1:
        indices = np.zeros((total, 2), np.int64)
        indices[:, 1] = np.arange(total)
        return indices, text_array(rows[0], (total,)), np.array([1, total], np.int64)
    indices = np.empty((total, 2), np.int64)
    indices[:, 0] = np.repeat(np.arange(len(rows)), lengths)
    starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    indices[:, 1] = np.arange(total) - starts
    values = text_array(itertools.chain.from_iterable(rows), (total,))
    return indices, values, np.array([len(rows), lengths.max(initial=0)], np.int64)


@kernel("StringSplit", cpu_only=_REASON)
def string_split_kernel(xp: Module, x: Array, delimiter: Array, *, skip_empty: bool) -> Any:
    characters = one(delimiter)
    rows: list[list[bytes]] = []
    pattern = re.compile(b"[" + re.escape(characters) + b"]") if len(characters) > 1 else None
    for text in strings(x).tolist():
        if not characters:
            words = [text[i : i + 1] for i in range(len(text))]
        elif pattern is None:
            words = text.split(characters)
        else:
            words = pattern.split(text)
        rows.append(list(filter(None, words)) if skip_empty and b"" in words else words)
    return _sparse_words(rows)


@kernel("StringSplitV2", cpu_only=_REASON)
def string_split_v2_kernel(xp: Module, x: Array, sep: Array, *, maxsplit: int) -> Any:
    by = one(sep) or None
    limit = -1 if maxsplit <= 0 else maxsplit
    return _sparse_words([text.split(by, limit) for text in strings(x).tolist()])


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _count(length: int) -> int:
    """How many bytes ``length`` takes: a negative one all that there are, as in TensorFlow."""
    return length if length >= 0 else sys.maxsize


@kernel("Substr", cpu_only=_REASON)
def substr_kernel(xp: Module, x: Array, pos: Array, length: Array, *, unit: str) -> Any:
    if np.shape(pos) != np.shape(length):
        raise ValueError(f"pos {np.shape(pos)} and len {np.shape(length)} must have the same shape")
    if unit == "BYTE" and np.ndim(pos) == 0:
        array, start, count = strings(x), int(pos), _count(int(length))
        flat = array.reshape(-1).tolist()
        if not start or abs(start) <= min(map(len, flat), default=0):
            # A part that begins before the end of the string and would reach beyond it stops there.
            stop = start + count if start >= 0 or start + count < 0 else None
            return text_array([text[start:stop] for text in flat], array.shape)
    texts, starts, lengths = np.broadcast_arrays(strings(x), pos, length)
    out = []
    for i, (text, start, count) in enumerate(
        zip(
            texts.reshape(-1).tolist(),
            starts.reshape(-1).tolist(),
            lengths.reshape(-1).tolist(),
            strict=True,
        )
    ):
        source = _decode(text) if unit == "UTF8_CHAR" else text
        size = len(source)
        if not -size <= start <= size:
            raise ValueError(f"pos {start} out of range for string {text!r} at index {i}")
        first = start if start >= 0 else size + start
        part = source[first : first + (_count(count) if source is text else max(count, 0))]
        out.append(part.encode() if isinstance(part, str) else part)
    return text_array(out, texts.shape)


@kernel("StringLength", cpu_only=_REASON)
def string_length_kernel(xp: Module, x: Array, *, unit: str) -> Any:
    if unit == "BYTE":
        return each(len, x, np.int32)
    return each(lambda text: sum(1 for b in text if b & 0xC0 != 0x80), x, np.int32)


@kernel("StringLower", cpu_only=_REASON)
def string_lower_kernel(xp: Module, x: Array, *, encoding: str) -> Any:
    if encoding.lower() == "utf-8":
        return each(lambda text: _decode(text).lower().encode(), x)
    return each(bytes.lower, x)


@kernel("StringUpper", cpu_only=_REASON)
def string_upper_kernel(xp: Module, x: Array, *, encoding: str) -> Any:
    if encoding.lower() == "utf-8":
        return each(lambda text: _decode(text).upper().encode(), x)
    return each(bytes.upper, x)


@kernel("StringStrip", cpu_only=_REASON)
def string_strip_kernel(xp: Module, x: Array) -> Any:
    return each(bytes.strip, x)


def _replace(x: Array, pattern: bytes, rewrite: bytes, replace_global: bool) -> Any:
    expression = compiled(pattern)
    return each(lambda text: expression.replace(text, rewrite, replace_global), x)


def _matches(x: Array, pattern: bytes) -> Any:
    return each(compiled(pattern).matches_whole, x, bool)


@kernel("RegexReplace", cpu_only=_REASON)
def regex_replace_kernel(
    xp: Module, x: Array, pattern: Array, rewrite: Array, *, replace_global: bool
) -> Any:
    return _replace(x, one(pattern), one(rewrite), replace_global)


@kernel("StaticRegexReplace", cpu_only=_REASON)
def static_regex_replace_kernel(
    xp: Module, x: Array, *, pattern: str, rewrite: str, replace_global: bool
) -> Any:
    return _replace(x, pattern.encode(), rewrite.encode(), replace_global)


@kernel("RegexFullMatch", cpu_only=_REASON)
def regex_full_match_kernel(xp: Module, x: Array, pattern: Array) -> Any:
    return _matches(x, one(pattern))


@kernel("StaticRegexFullMatch", cpu_only=_REASON)
def static_regex_full_match_kernel(xp: Module, x: Array, *, pattern: str) -> Any:
    return _matches(x, pattern.encode())


@functools.cache
def _range(dtype: Any) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def parse_number(text: bytes, dtype: Any) -> Any:
    """One number; `ValueError` for anything that is not exactly one, or does not fit.

    Blanks alone are 0.0 where a float is wanted, as in TensorFlow; an empty text is no number.
    """
    try:
        if b"_" in text:
            raise ValueError
        if dtype.kind == "f":
            try:
                return float(text)
            except ValueError:
                if text.isspace():
                    return 0.0
                if not text.strip().lower().lstrip(b"+-").startswith(b"0x"):
                    raise
                return float(int(text, 16))
        number = int(text)
        least, most = _range(dtype)
        if not least <= number <= most:
            raise ValueError
        return number
    except ValueError:
        raise ValueError(
            f"StringToNumberOp could not correctly convert string: {text.decode('utf-8', 'replace')}"
            f"\n  It is no {dtype.name}."
        ) from None


def parse_numbers(texts: Sequence[bytes], dtype: Any) -> Any:
    """`parse_number` of each as a vector; ``None`` where one of them is none, or does not fit."""
    try:
        if len(texts) == 1:
            return np.array([parse_number(texts[0], dtype)], dtype)
        if b"_" in b"".join(texts):
            return None
        if dtype.kind == "f":
            return np.fromiter(map(float, texts), dtype, len(texts))
        wide = np.fromiter(map(int, texts), np.int64, len(texts))
    except (ValueError, OverflowError):
        return None
    numbers = wide.astype(dtype)
    return numbers if (numbers == wide).all() else None


@kernel("StringToNumber", cpu_only=_REASON)
def string_to_number_kernel(xp: Module, x: Array, *, out_type: DType) -> Any:
    dtype = out_type.numpy
    array = strings(x)
    numbers = parse_numbers(array.reshape(-1).tolist(), dtype)
    if numbers is None:  # one after the other, to say which
        return each(lambda text: parse_number(text, dtype), x, dtype)
    return numbers.reshape(array.shape)


@kernel("AsString", cpu_only=_REASON)
def as_string_kernel(
    xp: Module, x: Array, *, precision: int, scientific: bool, shortest: bool, width: int, fill: str
) -> Any:
    array = np.asarray(x)
    kind = array.dtype.kind
    pad = f"{fill}{width}" if width >= 0 else ""
    if kind == "O":
        return array.copy()
    if kind == "b":
        return text_array(
            (b"true" if v else b"false" for v in array.reshape(-1).tolist()), array.shape
        )
    if kind in "iu":
        form = f"%{pad}d"
        return text_array(((form % v).encode() for v in array.reshape(-1).tolist()), array.shape)
    digits = f".{precision}" if precision >= 0 else ""
    form = f"%{pad}{digits}{'e' if scientific else 'g' if shortest else 'f'}"
    values = array.reshape(-1).tolist()
    if kind == "c":
        return text_array(
            (f"({form % v.real},{form % v.imag})".encode() for v in values), array.shape
        )
    return text_array(((form % v).encode() for v in values), array.shape)


@kernel("StringFormat", cpu_only=_REASON)
def string_format_kernel(
    xp: Module, inputs: list[Array], *, template: str, placeholder: str, summarize: int
) -> Any:
    parts = template.split(placeholder)
    out = parts[0]
    for value, part in zip(inputs, parts[1:], strict=True):
        out += formatted(value, summarize) + part
    return text_array([out.encode()], ())


@kernel("EncodeBase64", cpu_only=_REASON)
def encode_base64_kernel(xp: Module, x: Array, *, pad: bool) -> Any:
    def encode(text: bytes) -> bytes:
        out = base64.urlsafe_b64encode(text)
        return out if pad else out.rstrip(b"=")

    return each(encode, x)


_BASE64 = re.compile(rb"[A-Za-z0-9_-]*={0,2}")


@kernel("DecodeBase64", cpu_only=_REASON)
def decode_base64_kernel(xp: Module, x: Array) -> Any:
    def decode(text: bytes) -> bytes:
        bare = text.rstrip(b"=")
        if not _BASE64.fullmatch(text) or len(bare) % 4 == 1:
            raise ValueError(f"Invalid character found in base64: {text!r}")
        try:
            return base64.urlsafe_b64decode(bare + b"=" * (-len(bare) % 4))
        except binascii.Error as e:
            raise ValueError(f"{text!r} is not base64: {e}") from e

    return each(decode, x)
