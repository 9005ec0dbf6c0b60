"""Sequences of one length."""

from __future__ import annotations

from typing import Any

import numpy as np


def pad_sequences(
    sequences: Any,
    maxlen: int | None = None,
    dtype: Any = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: Any = 0.0,
) -> Any:
    """Lists of numbers as one array [len(sequences), maxlen], filled with ``value``.

    ``padding`` and ``truncating`` say which side: "pre" or "post".
    """
    for name, side in (("padding", padding), ("truncating", truncating)):
        if side not in ("pre", "post"):
            raise ValueError(f"pad_sequences: {name} is 'pre' or 'post', got {side!r}.")
    if maxlen is None:
        maxlen = max((len(s) for s in sequences), default=0)
    result = np.full((len(sequences), maxlen), value, dtype)
    for row, sequence in zip(result, sequences, strict=True):
        kept = list(sequence)
        if len(kept) > maxlen:
            kept = kept[len(kept) - maxlen :] if truncating == "pre" else kept[:maxlen]
        if not kept:
            continue
        if padding == "pre":
            row[maxlen - len(kept) :] = kept
        else:
            row[: len(kept)] = kept
    return result
