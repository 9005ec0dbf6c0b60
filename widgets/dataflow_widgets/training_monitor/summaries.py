"""Histograms over time, confusion matrices and sample predictions, each small enough to send."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dataflow_widgets.values import SAMPLE_SIZE

BINS = 32
MAX_SLICES = 40
SLICE_LENGTH = 4 + BINS  # step, lo, hi, how many are not finite, counts
MAX_CLASSES = 100
MAX_SAMPLES = 24
SAMPLE_SIDE = 64


class Distribution:
    """Histograms of one array over time, at most 40; beyond that every other one is dropped."""

    def __init__(self) -> None:
        self._slices: list[np.ndarray] = []
        self._stride = 1
        self._skipped = 0
        self.changed = True

    def append(self, step: float, value: Any) -> None:
        """Adds the histogram of ``value``; of a large array, of an even sample of it."""
        piece = _slice(step, value)
        if self._skipped and self._slices:
            self._slices[-1] = piece  # the newest is always shown
        else:
            self._slices.append(piece)
        self._skipped = (self._skipped + 1) % self._stride
        if len(self._slices) > MAX_SLICES:
            self._slices = self._slices[::2]
            self._stride *= 2
            self._skipped = 1 % self._stride
        self.changed = True

    def table(self) -> np.ndarray:
        """float64 (n, 36): step, lowest, highest, number of values not finite, 32 counts."""
        return np.stack(self._slices) if self._slices else np.zeros((0, SLICE_LENGTH))

    def __len__(self) -> int:
        return len(self._slices)


def _slice(step: float, value: Any) -> np.ndarray:
    flat = np.asarray(value).reshape(-1)
    flat = flat[:: max(1, flat.size // SAMPLE_SIZE)].astype(np.float64)
    finite = flat[np.isfinite(flat)]
    piece = np.zeros(SLICE_LENGTH)
    piece[0], piece[3] = step, flat.size - finite.size
    if finite.size:
        lo, hi = float(finite.min()), float(finite.max())
        piece[1:3] = lo, hi
        if hi > lo and math.isfinite(hi - lo):
            piece[4:] = np.histogram(finite, bins=BINS, range=(lo, hi))[0]
        else:
            piece[4 + BINS // 2] = finite.size
    else:
        piece[1:3] = np.nan
    return piece


class Confusion(NamedTuple):
    """How often each true class (row) was predicted as each class (column)."""

    step: float | None
    counts: np.ndarray
    names: list[str]

    @property
    def accuracy(self) -> float:
        """The share on the diagonal; NaN without examples."""
        total = int(self.counts.sum())
        return float(np.trace(self.counts)) / total if total else math.nan

    def confused(self, limit: int = 5) -> list[tuple[str, str, int]]:
        """The most frequent mistakes: true class, predicted class, how often."""
        off = self.counts.copy()
        np.fill_diagonal(off, 0)
        order = np.argsort(-off, axis=None, kind="stable")[:limit]
        pairs = [divmod(int(i), off.shape[1]) for i in order]
        return [(self.names[r], self.names[c], int(off[r, c])) for r, c in pairs if off[r, c]]


def confusion(
    true: Any, predicted: Any, names: Sequence[Any] | None, step: float | None
) -> Confusion:
    """Counts of ``true`` and ``predicted``: class numbers, or scores per class (their largest)."""
    labels, guesses = _classes("true", true), _classes("predicted", predicted)
    if labels.size != guesses.size:
        raise ValueError(
            f"true has {labels.size} labels, but predicted has {guesses.size}: one each is needed"
        )
    if not labels.size:
        raise ValueError("a confusion matrix needs at least one example, got none")
    num = int(max(labels.max(), guesses.max())) + 1
    if names is not None:
        if len(names) < num:
            raise ValueError(f"class {num - 1} was seen, but class_names has {len(names)} names")
        num = len(names)
    if num > MAX_CLASSES:
        raise ValueError(
            f"{num} classes are too many to show (at most {MAX_CLASSES}). Group them first."
        )
    counts = np.zeros((num, num), np.int64)
    np.add.at(counts, (labels, guesses), 1)
    return Confusion(step, counts, class_names(names, num))


def class_names(names: Sequence[Any] | None, num: int) -> list[str]:
    """The names as text, or the numbers."""
    return [as_text(name) for name in names] if names is not None else [str(i) for i in range(num)]


def as_text(value: Any) -> str:
    """Any label as text; bytes are decoded."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _classes(what: str, given: Any) -> np.ndarray:
    array = np.asarray(given)
    if array.ndim == 2 and array.shape[1] > 1:
        array = array.argmax(axis=1)
    array = array.reshape(-1)
    if array.dtype.kind not in "iub" and not (
        array.dtype.kind == "f" and np.all(array == np.floor(array))
    ):
        raise TypeError(
            f"{what} must be class numbers (n,) or scores (n, classes), got {array.dtype} "
            f"{array.shape}"
        )
    array = array.astype(np.int64)
    if array.size and array.min() < 0:
        raise ValueError(f"{what} holds the negative class {array.min()}")
    return array


class Samples(NamedTuple):
    """Some inputs with what was predicted and what is true."""

    step: float | None
    predicted: list[str]
    true: list[str] | None
    texts: list[str] | None
    images: np.ndarray | None  # uint8 (n, height, width, channels)


def samples(
    inputs: Any,
    predicted: Any,
    true: Any,
    names: Sequence[Any] | None,
    image_shape: Sequence[int] | None,
    step: float | None,
) -> Samples:
    """At most 24 of ``inputs``: texts, or images (n, h, w) or (n, h, w, channels)."""
    array = np.asarray(inputs)
    count = min(len(array) if array.ndim else 0, MAX_SAMPLES)
    if not count:
        raise ValueError(f"samples needs at least one input, got shape {array.shape}")
    guesses = _names_of("predicted", predicted, names, len(array))[:count]
    truths = None if true is None else _names_of("true", true, names, len(array))[:count]
    if array.dtype.kind in "OSU":
        texts = [as_text(v)[:300] for v in array[:count].reshape(count, -1)[:, 0]]
        return Samples(step, guesses, truths, texts, None)
    if image_shape is not None:
        array = array.reshape(len(array), *image_shape)
    if array.ndim == 3:
        array = array[..., None]
    if array.ndim != 4 or array.shape[-1] not in (1, 3, 4):
        raise ValueError(
            f"images must be (n, height, width) or (n, height, width, 1, 3 or 4); got "
            f"{np.shape(inputs)}. Flat images need image_shape=(height, width)."
        )
    return Samples(step, guesses, truths, None, _pixels(array[:count]))


def _names_of(what: str, given: Any, names: Sequence[Any] | None, count: int) -> list[str]:
    array = np.asarray(given)
    if len(array) != count:
        raise ValueError(f"{what} has {len(array)} labels for {count} inputs")
    if array.dtype.kind in "OSU":
        return [as_text(v) for v in array]
    numbers = _classes(what, array)
    if names is None:
        return [str(n) for n in numbers]
    if int(numbers.max()) >= len(names):
        raise ValueError(f"{what} holds class {numbers.max()}, class_names has {len(names)} names")
    return [as_text(names[n]) for n in numbers]


def _pixels(images: np.ndarray) -> np.ndarray:
    step = max(1, math.ceil(max(images.shape[1:3]) / SAMPLE_SIDE))
    shown = images[:, ::step, ::step]
    if shown.dtype == np.uint8:
        return np.ascontiguousarray(shown)
    values = np.nan_to_num(shown.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    lo, hi = float(values.min()), float(values.max())
    if lo >= 0 and hi <= 1:
        lo, hi = 0.0, 1.0  # already a brightness
    scaled = (values - lo) / (hi - lo) * 255 if hi > lo else np.zeros_like(values)
    return np.rint(scaled).astype(np.uint8)
