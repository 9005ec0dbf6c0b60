"""``generator_input_fn``: an input function that draws its examples from a Python generator of dicts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from types import FunctionType, GeneratorType
from typing import Any

import numpy as np

from dataflow.data.dataset import Dataset
from dataflow.dtypes import as_dtype
from dataflow.ops.seeds import get_seed


def _target_keys(target_key: Any, keys: list[str]) -> list[str]:
    if target_key is None:
        return []
    wanted = [target_key] if isinstance(target_key, str) else target_key
    if not isinstance(wanted, Collection) or not all(isinstance(key, str) for key in wanted):
        raise TypeError(f"target_key must be str or Container of str; got {target_key!r}.")
    for key in wanted:
        if key not in keys:
            raise KeyError(f"target_key not in yielded dict. Expected {keys} keys; got {key}")
    return list(wanted)


def _rows(
    x: Callable[[], Iterator[Any]], keys: list[str], batch_size: int, num_epochs: int | None
) -> Iterator[list[Any]]:
    """Examples in the order in which TensorFlow puts them into its queue.

    It takes as many at a time as have ``batch_size`` arrays, and counts epochs between: what it took
    before it saw the generator's end is not the last, so that a part of the next epoch comes, too.
    """
    at_a_time = -(-batch_size // len(keys))
    generator, epoch = x(), 0
    while num_epochs is None or epoch < num_epochs:
        for _ in range(at_a_time):
            try:
                row = next(generator)
            except StopIteration:
                epoch += 1
                generator = x()
                row = next(generator)
            if set(keys) - set(row):
                raise KeyError(
                    f"key mismatch between dicts emitted by GenFunExpected {keys} keys; got {sorted(row)}"
                )
            yield [np.asarray(row[key]) for key in keys]


def _shuffled(rows: Iterator[Any], capacity: int, seed: int) -> Iterator[Any]:
    """``rows`` drawn from a buffer of ``capacity``, filled at first."""
    rng = np.random.default_rng(seed)
    waiting: list[Any] = []
    for row in rows:
        waiting.append(row)
        if len(waiting) >= capacity:
            yield waiting.pop(int(rng.integers(len(waiting))))
    while waiting:
        yield waiting.pop(int(rng.integers(len(waiting))))


def _padded(arrays: list[Any], value: Any) -> Any:
    """Arrays stacked, each filled up at its axes' ends to the largest size there."""
    sizes = np.max([a.shape for a in arrays], axis=0)
    return np.stack(
        [
            np.pad(
                a, [(0, s - n) for n, s in zip(a.shape, sizes, strict=True)], constant_values=value
            )
            for a in arrays
        ]
    )


def _pad_values(pad_value: Any, keys: list[str]) -> list[Any]:
    if isinstance(pad_value, dict):
        return [pad_value[key] for key in keys]
    return [pad_value] * len(keys)


def generator_input_fn(
    x: Callable[[], Iterator[Any]],
    target_key: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool = True,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    pad_value: Any = None,
) -> Callable[[], Any]:
    """An input function of what ``x()`` yields: a dict of arrays for each example, with the same keys.

    It returns batches of the features, a dict of tensors [batch, ...], or with ``target_key`` (features,
    target): a tensor for one key, a dict for several. ``num_epochs=None`` goes on for ever. ``pad_value``
    (a value, or one for each key): examples of different shapes are filled up with it. Raises `TypeError`
    where ``x`` is no generator function or yields no dicts, `KeyError` for a target that is not yielded.
    ``num_threads`` changes nothing here: a generator has one reader.
    """
    if not isinstance(x, FunctionType):
        raise TypeError(f"x must be generator function; got {type(x).__name__}")
    generator = x()
    if not isinstance(generator, GeneratorType):
        raise TypeError(f"x() must be generator; got {type(generator).__name__}")
    first = next(generator)
    if not isinstance(first, dict):
        raise TypeError(f"x() must yield dict; got {type(first).__name__}")
    keys = sorted(first)
    targets = _target_keys(target_key, keys)
    arrays = [np.asarray(first[key]) for key in keys]

    def input_fn() -> Any:
        seed = get_seed(None)[0] if shuffle else None

        def batches() -> Iterator[Any]:
            rows = _rows(x, keys, batch_size, num_epochs)
            if shuffle:
                rows = _shuffled(rows, queue_capacity, seed or 0)
            held: list[Any] = []
            for row in rows:
                held.append(row)
                if len(held) == batch_size:
                    yield stacked(held)
                    held = []
            if held:
                yield stacked(held)

        def stacked(rows: list[Any]) -> tuple[Any, ...]:
            columns = [list(column) for column in zip(*rows, strict=True)]
            if pad_value is None:
                return tuple(np.stack(column) for column in columns)
            pairs = zip(columns, _pad_values(pad_value, keys), strict=True)
            return tuple(_padded(column, value) for column, value in pairs)

        dataset = Dataset.from_generator(
            batches,
            tuple(as_dtype(a.dtype) for a in arrays),
            tuple((None, *(a.shape if pad_value is None else [None] * a.ndim)) for a in arrays),
        )
        found = dict(zip(keys, dataset.make_one_shot_iterator().get_next(), strict=True))
        if not targets:
            return found
        taken = {key: found.pop(key) for key in targets}
        return found, (taken if len(targets) > 1 else taken[targets[0]])

    return input_fn
