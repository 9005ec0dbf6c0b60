"""Summaries of arrays, small enough to send with every step of a trace.

A summary is JSON-safe: the numbers themselves when they are few, else a coarse grid of means (one
byte per cell), a histogram and the extremes. NaN and infinities are the strings "nan", "inf" and
"-inf".
"""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

TABLE_SIZE = 64  # up to this many values are sent as numbers
GRID_ROWS, GRID_COLUMNS = 32, 48
IMAGE_SIDE, MAX_IMAGES = 48, 4
SAMPLE_SIZE = 20_000  # a histogram of more values counts an even sample of them
GRID_SIZE = 100_000  # a grid of more values is made of evenly chosen rows
_LEVELS = 250  # grid bytes 0..250 are values from lo to hi, the rest are the codes below
_NAN, _INF, _NEGATIVE_INF = 255, 254, 253


def summarize(value: Any) -> dict[str, Any] | None:
    """A summary of one output; None for an output without a value (an operation's)."""
    if value is None:
        return None
    if hasattr(value, "is_whole"):
        return summarize_sample(value)
    if hasattr(value, "get") and not isinstance(value, np.ndarray):
        value = value.get()  # an array on a GPU
    array = np.asarray(value)
    summary: dict[str, Any] = {
        "dtype": _dtype_name(array),
        "shape": list(array.shape),
        "shape_text": shape_text(array.shape),
        "size": int(array.size),
        "bytes": int(array.nbytes),
    }
    array = _as_numpys(array)
    if array.dtype.kind in "OSU":
        flat = [_as_text(v) for v in array.reshape(-1)[:20]]
        return summary | {"kind": "text", "data": flat, "more": array.size > 20}
    if array.dtype.kind in "cVmM":
        flat = [str(v) for v in array.reshape(-1)[:20]]
        return summary | {"kind": "text", "data": flat, "more": array.size > 20}
    if array.ndim == 0:
        return summary | {"kind": "scalar", "data": [plain(array.item())]}
    if array.dtype.kind not in "b":
        summary["stats"] = statistics(array)
    if looks_like_images(array):
        return summary | {"kind": "image", "images": images(array), "histogram": histogram(array)}
    grid_shaped = array.reshape(_two_dimensional(array.shape))
    if array.size <= TABLE_SIZE and grid_shaped.shape[1] <= 16:
        rows, columns = grid_shaped.shape
        data = [plain(v) for v in array.reshape(-1).tolist()]
        return summary | {"kind": "table", "rows": rows, "columns": columns, "data": data}
    return summary | {
        "kind": "heat",
        "grid": grid(grid_shaped),
        "histogram": histogram(array),
        "more": True,
    }


def summarize_sample(kept: Any) -> dict[str, Any]:
    """A summary of a `dataflow.runtime.value_sample.ValueSample`."""
    if kept.is_whole:
        return summarize(kept.sample) or {}
    summary: dict[str, Any] = {
        "dtype": str(kept.dtype),
        "shape": list(kept.shape),
        "shape_text": shape_text(kept.shape),
        "size": kept.size,
        "bytes": int(kept.nbytes),
    }
    sample = None if kept.sample is None else _as_numpys(kept.sample)
    if sample is None or sample.dtype.kind not in "biuf":
        return summary | {"kind": "text", "data": [], "more": False}
    if sample.dtype.kind != "b":
        found = {"nan": int(kept.num_nan), "inf": int(kept.num_inf), "of": int(sample.size)}
        summary["stats"] = statistics(sample) | found
    cells = grid(sample)
    cells["note"] = f"{sample.size} of {kept.size} values, evenly chosen"
    return summary | {"kind": "heat", "grid": cells, "histogram": histogram(sample)}


def shape_text(shape: tuple[int, ...]) -> str:
    """``"()"``, ``"(3,)"``, ``"(2, 3)"``."""
    return str(tuple(int(d) for d in shape))


def plain(value: Any) -> Any:
    """A number as JSON can hold it, rounded to seven significant digits."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int):
        # JavaScript holds integers exactly up to 2**53 only.
        return value if abs(value) <= 2**53 else str(value)
    value = float(value)
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return float(f"{value:.7g}")


def statistics(array: np.ndarray) -> dict[str, Any]:
    """Extremes, mean and standard deviation of the finite values; how many are not finite.

    The deviation is that of an even sample where there are many values.
    """
    if not array.size:
        return {"nan": 0, "inf": 0}
    # Extremes tell whether anything is not finite: a NaN makes both of them NaN.
    lo, hi = array.min(), array.max()
    if np.isfinite(lo) and np.isfinite(hi):
        with np.errstate(over="ignore", invalid="ignore"):  # extremes of float64 overflow the sum
            mean = array.sum(dtype=np.float64) / array.size
            sample = array.reshape(-1)[:: max(1, array.size // SAMPLE_SIZE)]
            spread = ((sample.astype(np.float64) - mean) ** 2).mean() ** 0.5
        found = {"min": plain(lo), "max": plain(hi), "mean": plain(mean), "std": plain(spread)}
        return {"nan": 0, "inf": 0} | found
    finite = array[np.isfinite(array)]
    result: dict[str, Any] = {
        "nan": int(np.isnan(array).sum()),
        "inf": int(np.isinf(array).sum()),
    }
    return statistics(finite) | result if finite.size else result


def histogram(array: np.ndarray, bins: int = 24) -> dict[str, Any] | None:
    """Counts in equal bins of the finite values (of an even sample of them, where they are many).

    None when there is no spread to show.
    """
    flat = array.reshape(-1)
    sample = flat[:: max(1, flat.size // SAMPLE_SIZE)].astype(np.float64)
    finite = sample[np.isfinite(sample)]
    with np.errstate(over="ignore"):
        if not finite.size or not np.isfinite(finite.max() - finite.min()):
            return None
    counts, edges = np.histogram(finite, bins=bins)
    return {"counts": counts.tolist(), "lo": plain(edges[0]), "hi": plain(edges[-1])}


def looks_like_images(array: np.ndarray) -> bool:
    """True for (height, width, channels) or a batch of it, with 1, 3 or 4 channels and room to
    see."""
    if array.ndim not in (3, 4) or array.shape[-1] not in (1, 3, 4) or not array.size:
        return False
    height, width = array.shape[-3:-1]
    return bool(8 <= height <= 4096 and 8 <= width <= 4096)


def images(array: np.ndarray) -> dict[str, Any]:
    """The first few images as bytes, scaled from the range of the values, at most 48 px a side."""
    batch = array if array.ndim == 4 else array[None]
    step = max(1, math.ceil(max(batch.shape[1:3]) / IMAGE_SIDE))
    shown = batch[:MAX_IMAGES, ::step, ::step].astype(np.float64)
    shown = np.nan_to_num(shown, nan=0.0, posinf=0.0, neginf=0.0)
    lo, hi = float(shown.min()), float(shown.max())
    scaled = (shown - lo) / (hi - lo) * 255 if hi > lo else np.zeros_like(shown)
    return {
        "count": int(batch.shape[0]),
        "shown": int(shown.shape[0]),
        "height": int(shown.shape[1]),
        "width": int(shown.shape[2]),
        "channels": int(shown.shape[3]),
        "bytes": base64.b64encode(np.rint(scaled).astype(np.uint8).tobytes()).decode(),
    }


def _two_dimensional(shape: tuple[int, ...]) -> tuple[int, int]:
    """How a tensor is laid out as a grid: the last dimension across, the others stacked."""
    longer = [d for d in shape if d != 1]
    if not longer:
        return (1, math.prod(shape))
    if len(longer) == 1:
        n = longer[0]
        if shape[-1] == 1 and len(shape) == 2:
            return (n, 1)
        return (1, n)
    return (math.prod(longer[:-1]), longer[-1])


def grid(array: np.ndarray) -> dict[str, Any]:
    """``array`` (2-D) as at most 32 x 48 cells, each the mean of a block, one byte per cell."""
    rows, columns = array.shape
    note = ""
    if rows == 1 and columns > GRID_COLUMNS:
        # A long vector: written row under row, like text.
        width = GRID_COLUMNS
        padded = np.full(math.ceil(columns / width) * width, np.nan)
        padded[:columns] = array.reshape(-1)
        array = padded.reshape(-1, width)
        note = f"{columns} values, row under row"
        rows, columns = array.shape
    if array.size > GRID_SIZE and rows > GRID_ROWS:
        step = max(1, min(rows // GRID_ROWS, array.size // GRID_SIZE))
        array = array[::step]
        note = f"every {step}th row of {rows}" if step > 1 else note
        rows = array.shape[0]
    values = array.astype(np.float64)
    row_blocks = _edges(rows, GRID_ROWS)
    column_blocks = _edges(columns, GRID_COLUMNS)
    if len(row_blocks) < rows or len(column_blocks) < columns:
        with np.errstate(invalid="ignore", over="ignore"):
            sums = np.add.reduceat(
                np.add.reduceat(values, row_blocks, axis=0), column_blocks, axis=1
            )
        heights = np.diff([*row_blocks, rows])[:, None]
        widths = np.diff([*column_blocks, columns])[None, :]
        values = sums / (heights * widths)
        blocks = f"each cell is the mean of {heights.max()} x {widths.max()} values"
        note = f"{note}; {blocks}" if note else blocks
    finite = values[np.isfinite(values)]
    lo, hi = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    codes = np.zeros(values.shape, np.uint8)
    span = hi - lo
    if span > 0:
        with np.errstate(invalid="ignore", over="ignore"):
            codes = np.nan_to_num(np.rint((values - lo) / span * _LEVELS), nan=0.0)
            codes = np.clip(codes, 0, _LEVELS).astype(np.uint8)
    codes[np.isnan(values)] = _NAN
    codes[np.isposinf(values)] = _INF
    codes[np.isneginf(values)] = _NEGATIVE_INF
    return {
        "rows": int(values.shape[0]),
        "columns": int(values.shape[1]),
        "levels": base64.b64encode(codes.tobytes()).decode(),
        "lo": plain(lo),
        "hi": plain(hi),
        "note": note,
    }


def _edges(length: int, limit: int) -> list[int]:
    count = min(length, limit)
    return [i * length // count for i in range(count)]


def _dtype_name(array: np.ndarray) -> str:
    if array.dtype.kind in "OSU":
        return "string"
    return str(array.dtype)


def _as_numpys(array: np.ndarray) -> np.ndarray:
    """bfloat16, with which few of NumPy's functions can do anything, as float32: the same numbers."""
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def _as_text(value: Any) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return text if len(text) <= 500 else text[:499] + "…"
