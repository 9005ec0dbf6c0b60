"""Kernels of encoded text and of n-grams."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.kernels.registry import kernel
from dataflow.kernels.string import strings, text_array

_REASON = "strings live in the host's memory"


@kernel("UnicodeDecode", cpu_only=_REASON)
def unicode_decode_kernel(
    xp: Any,
    x: Any,
    *,
    input_encoding: str,
    errors: str,
    replacement_char: int,
    replace_control_characters: bool,
    Tsplits: DType,
) -> Any:
    rows: list[list[int]] = []
    for text in strings(x).tolist():
        try:
            points = [ord(c) for c in text.decode(input_encoding, errors)]
        except LookupError:
            raise ValueError(f"there is no encoding {input_encoding!r}") from None
        except UnicodeDecodeError:
            raise ValueError("Invalid formatting on input string") from None
        if errors == "replace":
            points = [replacement_char if p == 0xFFFD else p for p in points]
        if replace_control_characters:
            points = [replacement_char if p < 32 or 127 <= p < 160 else p for p in points]
        rows.append(points)
    splits = np.cumsum([0, *map(len, rows)]).astype(Tsplits.numpy)
    return splits, np.array([p for row in rows for p in row], np.int32)


@kernel("StringNGrams", cpu_only=_REASON)
def string_ngrams_kernel(
    xp: Any,
    data: Any,
    splits: Any,
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
