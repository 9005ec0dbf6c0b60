"""Kernels of encoded text and of n-grams."""

from __future__ import annotations

import codecs
import re
from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel
from dataflow.kernels.string import each, strings, text_array

_REASON = "strings live in the host's memory"
_CONTROLS = re.compile("[\x00-\x1f]")
_BYTE_ORDER_MARKS = {
    "utf-16": ((codecs.BOM_UTF16_BE, "utf-16-be"), (codecs.BOM_UTF16_LE, "utf-16-le")),
    "utf-32": ((codecs.BOM_UTF32_BE, "utf-32-be"), (codecs.BOM_UTF32_LE, "utf-32-le")),
}


def _decoded(text: bytes, encoding: str, bad: str | None) -> str:
    """``text`` as characters, each malformed part as ``bad``; `ValueError` where that is None.

    Without a mark of their byte order, UTF-16 and UTF-32 have the high byte first.
    """
    for mark, ordered in _BYTE_ORDER_MARKS.get(encoding.lower(), ()):
        if text.startswith(mark):
            text, encoding = text[len(mark) :], ordered
            break
    else:
        if encoding.lower() in _BYTE_ORDER_MARKS:
            encoding += "-be"
    parts: list[str] = []
    while True:
        try:
            return "".join((*parts, text.decode(encoding)))
        except LookupError:
            raise ValueError(f"Could not create converter for input encoding: {encoding}") from None
        except UnicodeDecodeError as error:
            if bad is None:
                raise ValueError("Invalid formatting on input string") from None
            parts += [text[: error.start].decode(encoding), bad]
            text = text[error.end :]


@kernel("UnicodeTranscode", cpu_only=_REASON)
def unicode_transcode_kernel(
    xp: Module,
    x: Array,
    *,
    input_encoding: str,
    output_encoding: str,
    errors: str,
    replacement_char: int,
    replace_control_characters: bool,
) -> Any:
    _check_replacement(replacement_char)
    target = output_encoding.lower()
    bad = {"replace": chr(replacement_char), "ignore": ""}.get(errors)

    def transcode(text: bytes) -> bytes:
        decoded = _decoded(text, input_encoding, bad)
        if replace_control_characters and (found := _CONTROLS.search(decoded)):
            if bad is None:
                raise ValueError(f"Invalid formatting on input string: it has {found[0]!r}")
            decoded = _CONTROLS.sub(lambda _: bad, decoded)
        return decoded.encode(target, "replace")

    return each(transcode, x)


@kernel("UnicodeDecode", cpu_only=_REASON)
def unicode_decode_kernel(
    xp: Module,
    x: Array,
    *,
    input_encoding: str,
    errors: str,
    replacement_char: int,
    replace_control_characters: bool,
    Tsplits: DType,
) -> Any:
    rows = _points_and_starts(
        x, input_encoding, errors, replacement_char, replace_control_characters
    )
    return _splits(rows, Tsplits), np.array([p for row in rows for p, _ in row], np.int32)


@kernel("UnicodeDecodeWithOffsets", cpu_only=_REASON)
def unicode_decode_with_offsets_kernel(
    xp: Module,
    x: Array,
    *,
    input_encoding: str,
    errors: str,
    replacement_char: int,
    replace_control_characters: bool,
    Tsplits: DType,
) -> Any:
    rows = _points_and_starts(
        x, input_encoding, errors, replacement_char, replace_control_characters
    )
    points = np.array([p for row in rows for p, _ in row], np.int32)
    starts = np.array([start for row in rows for _, start in row], np.int64)
    return _splits(rows, Tsplits), points, starts


def _splits(rows: list[Any], dtype: DType) -> Any:
    return np.cumsum([0, *map(len, rows)]).astype(dtype.numpy)


def _check_replacement(point: int) -> None:
    if not 0 <= point <= 0x10FFFF:
        raise ValueError(f"replacement_char out of unicode codepoint range: {point}")


def _points_and_starts(
    x: Array, encoding: str, errors: str, replacement: int, controls: bool
) -> list[list[tuple[int, int]]]:
    """Of each string, the code points and the bytes at which they begin."""
    _check_replacement(replacement)
    try:
        codec = codecs.lookup(encoding).name
    except LookupError:
        raise ValueError(f"there is no encoding {encoding!r}") from None
    rows = []
    for text in strings(x).tolist():
        row: list[tuple[int, int]] = []
        start = 0
        while start < len(text):
            try:
                good, bad = text[start:].decode(codec), 0
            except UnicodeDecodeError as e:
                if errors == "strict":
                    raise ValueError("Invalid formatting on input string") from None
                good, bad = text[start : start + e.start].decode(codec), e.end - e.start
            for character in good:
                row.append((ord(character), start))
                start += len(character.encode(codec))
            if bad and errors == "replace":
                row.append((replacement, start))
            start += bad
        if controls:
            row = [(replacement if p < 32 or 127 <= p < 160 else p, at) for p, at in row]
        rows.append(row)
    return rows


@kernel("UnicodeEncode", cpu_only=_REASON)
def unicode_encode_kernel(
    xp: Any, values: Any, splits: Any, *, output_encoding: str, errors: str, replacement_char: int
) -> Any:
    _check_replacement(replacement_char)
    out = []
    for start, end in zip(splits[:-1].tolist(), splits[1:].tolist(), strict=True):
        text = []
        for point in values[start:end].tolist():
            if 0 <= point <= 0x10FFFF and not 0xD800 <= point < 0xE000:
                text.append(chr(point))
            elif errors == "strict":
                raise ValueError(f"Code point is out of range for Unicode: {point}")
            elif errors == "replace":
                text.append(chr(replacement_char))
        out.append("".join(text).encode(output_encoding))
    return text_array(out, (len(out),))


@kernel("StringNGrams", cpu_only=_REASON)
def string_ngrams_kernel(
    xp: Module,
    data: Array,
    splits: Array,
    *,
    separator: str,
    ngram_widths: Any,
    left_pad: str,
    right_pad: str,
    pad_width: int,
    preserve_short_sequences: bool,
) -> Any:
    between, left, right = separator.encode(), left_pad.encode(), right_pad.encode()
    words = strings(data).tolist()
    out: list[bytes] = []
    ends = [0]
    for start, end in zip(splits[:-1].tolist(), splits[1:].tolist(), strict=True):
        row: list[bytes] = []
        for width in ngram_widths:
            padding = width - 1 if pad_width < 0 else min(pad_width, width - 1)
            padded = [left] * padding + words[start:end] + [right] * padding
            grams = [padded[i : i + width] for i in range(len(padded) - width + 1)]
            row.extend(between.join(gram) for gram in grams)
        if preserve_short_sequences and not row and end > start:
            row.append(between.join(words[start:end]))
        out.extend(row)
        ends.append(len(out))
    return text_array(out, (len(out),)), np.array(ends, splits.dtype)
