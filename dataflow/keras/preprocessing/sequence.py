"""Sequences of numbers: of one length, as couples of neighbors, as slices of a series."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from dataflow.keras.utils import Sequence


def pad_sequences(
    sequences: Any,
    maxlen: int | None = None,
    dtype: Any = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: Any = 0.0,
) -> Any:
    """Lists of numbers as one array [len(sequences), maxlen], filled with ``value``; lists of vectors too.

    ``padding`` and ``truncating`` say which side: "pre" or "post".
    """
    for name, side in (("padding", padding), ("truncating", truncating)):
        if side not in ("pre", "post"):
            raise ValueError(f"pad_sequences: {name} is 'pre' or 'post', got {side!r}.")
    if maxlen is None:
        maxlen = max((len(s) for s in sequences), default=0)
    first = next((s for s in sequences if len(s)), [0])
    result = np.full((len(sequences), maxlen, *np.shape(first)[1:]), value, dtype)
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


def _remove_long_seq(maxlen: int, seq: Any, label: Any) -> tuple[list[Any], list[Any]]:
    """The sequences shorter than ``maxlen``, and their labels, as loaders of data keep them."""
    kept = [(x, y) for x, y in zip(seq, label, strict=False) if len(x) < maxlen]
    return [x for x, _ in kept], [y for _, y in kept]


def make_sampling_table(size: int, sampling_factor: float = 1e-5) -> Any:
    """The probability of keeping the i-th most frequent word, for `skipgrams` (Mikolov 2013).

    Frequencies are taken from Zipf's law: ``1 / (i (log i + 0.577) + 1/2 - 1/(12 i))``.
    """
    rank = np.arange(size, dtype="float64")
    rank[0] = 1
    share = sampling_factor * (rank * (np.log(rank) + 0.577) + 0.5 - 1.0 / (12.0 * rank))
    return np.minimum(1.0, np.sqrt(share))


def skipgrams(
    sequence: Any,
    vocabulary_size: int,
    window_size: int = 4,
    negative_samples: float = 1.0,
    shuffle: bool = True,
    categorical: bool = False,
    sampling_table: Any = None,
    seed: int | None = None,
) -> tuple[list[list[int]], list[Any]]:
    """``(couples, labels)``: [word, neighbor] with label 1, [word, random word] with label 0.

    Number 0 is no word. ``negative_samples`` says how many random couples there are for each real
    one; ``categorical`` makes labels [0, 1] and [1, 0]; Python's `random` draws.
    """
    couples: list[list[int]] = []
    for i, word in enumerate(sequence):
        if not word or (sampling_table is not None and sampling_table[word] < random.random()):
            continue
        for j in range(max(0, i - window_size), min(len(sequence), i + window_size + 1)):
            if j != i and sequence[j]:
                couples.append([word, sequence[j]])
    right, wrong = ([0, 1], [1, 0]) if categorical else (1, 0)
    labels: list[Any] = [right] * len(couples)
    if negative_samples > 0:
        words = [couple[0] for couple in couples]
        random.shuffle(words)
        count = int(len(couples) * negative_samples)
        couples += [
            [words[i % len(words)], random.randint(1, vocabulary_size - 1)] for i in range(count)
        ]
        labels += [wrong] * count
    if shuffle:
        seed = random.randint(0, 10**7) if seed is None else seed
        random.Random(seed).shuffle(couples)
        random.Random(seed).shuffle(labels)
    return couples, labels


class TimeseriesGenerator(Sequence):
    """Batches of windows of a series, and of the target that follows each.

    A sample is ``data[row - length : row : sampling_rate]``, its target ``targets[row]``; from one
    row to the next it is ``stride``. ``end_index`` is the last row.
    """

    def __init__(
        self,
        data: Any,
        targets: Any,
        length: int,
        sampling_rate: int = 1,
        stride: int = 1,
        start_index: int = 0,
        end_index: int | None = None,
        shuffle: bool = False,
        reverse: bool = False,
        batch_size: int = 128,
    ) -> None:
        if len(data) != len(targets):
            raise ValueError(
                f"Data and targets have to be of same length. Data length is {len(data)} while "
                f"target length is {len(targets)}"
            )
        self.data = data
        self.targets = targets
        self.length = length
        self.sampling_rate = sampling_rate
        self.stride = stride
        self.start_index = start_index + length
        self.end_index = len(data) - 1 if end_index is None else end_index
        self.shuffle = shuffle
        self.reverse = reverse
        self.batch_size = batch_size
        if self.start_index > self.end_index:
            raise ValueError(
                f"`start_index+length={self.start_index} > end_index={self.end_index}` is "
                "disallowed, as no part of the sequence would be left to be used as current step."
            )

    def __len__(self) -> int:
        per_batch = self.batch_size * self.stride
        return (self.end_index - self.start_index + per_batch) // per_batch

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if self.shuffle:
            rows = np.random.randint(self.start_index, self.end_index + 1, self.batch_size)
        else:
            first = self.start_index + self.batch_size * self.stride * index
            last = min(first + self.batch_size * self.stride, self.end_index + 1)
            rows = np.arange(first, last, self.stride)
        samples = np.array([self.data[r - self.length : r : self.sampling_rate] for r in rows])
        targets = np.array([self.targets[r] for r in rows])
        return samples[:, ::-1, ...] if self.reverse else samples, targets
