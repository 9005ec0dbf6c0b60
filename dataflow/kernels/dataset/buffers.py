"""Kernels of datasets that hold elements back: shuffling, caching and prefetching."""

from __future__ import annotations

import functools
import itertools
import os
import queue
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.capabilities import THREADS
from dataflow.errors import InvalidArgumentError
from dataflow.formats.local_paths import local_path
from dataflow.formats.object_arrays import object_array
from dataflow.kernels.array_types import Array
from dataflow.kernels.dataset.elements import (
    END,
    Element,
    FromFunction,
    as_array,
    by_chance,
    pulled,
    same_kind,
)
from dataflow.kernels.dataset.tensorflow_shuffle import Shuffling
from dataflow.kernels.dataset.transformations import repeat_dataset_kernel
from dataflow.kernels.registry import kernel
from dataflow.kernels.text_decoding import text
from dataflow.tensorflow_numbers import draws_as_tensorflow

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext

_MASK = (1 << 63) - 1


@kernel("ShuffleDataset", stateful=True, cpu_only="datasets live on the host")
def shuffle_dataset_kernel(
    ctx: KernelContext,
    input_dataset: Any,
    buffer_size: Array,
    seed: Array,
    seed2: Array,
    *,
    reshuffle_each_iteration: bool,
) -> Any:
    size = int(buffer_size)
    if size < 1:
        raise InvalidArgumentError(None, None, f"buffer_size must be greater than zero, got {size}")
    first, second = int(seed), int(seed2)
    if draws_as_tensorflow() and (first or second):
        shuffling = Shuffling(input_dataset, size, (first, second), reshuffle_each_iteration)
        dataset = shuffling.once()
        dataset.shuffling = shuffling
        return dataset
    if not first and not second:
        first = by_chance()
    rounds = itertools.count()

    def shuffled(elements: Iterator[Any]) -> Iterator[Any]:
        number = next(rounds) if reshuffle_each_iteration else 0
        generator = np.random.Generator(
            np.random.Philox(np.random.SeedSequence([first & _MASK, second & _MASK, number]))
        )
        buffer: list[Any] = []
        draws: list[float] = []
        free: int | None = None  # the place in the buffer of what was given last

        def pull() -> Any:
            nonlocal free, draws, elements
            while free is not None or len(buffer) < size:
                element = next(elements, END)
                if element is END:
                    elements = iter(())
                    if free is not None:
                        buffer[free] = buffer[-1]
                        buffer.pop()
                        free = None
                    break
                if free is None:
                    buffer.append(element)
                else:
                    buffer[free] = element
                    free = None
            if not buffer:
                return END
            if not draws:
                draws = generator.random(1024)[::-1].tolist()
            free = int(draws.pop() * len(buffer))
            return buffer[free]

        return pulled(pull)

    return same_kind(input_dataset, shuffled, input_dataset.num_elements)


@kernel("ShuffleAndRepeatDataset", stateful=True, cpu_only="datasets live on the host")
def shuffle_and_repeat_dataset_kernel(
    ctx: KernelContext,
    input_dataset: Any,
    buffer_size: Array,
    seed: Array,
    seed2: Array,
    count: Array,
) -> Any:
    shuffled = shuffle_dataset_kernel(
        ctx, input_dataset, buffer_size, seed, seed2, reshuffle_each_iteration=True
    )
    return repeat_dataset_kernel(np, shuffled, count)


@kernel("CacheDataset", stateful=True, cpu_only="datasets live on the host")
def cache_dataset_kernel(ctx: KernelContext, input_dataset: Any, filename: Array) -> Any:
    path = local_path(text(filename))
    lock = threading.Lock()
    kept: list[Element] = []
    is_full = False

    def start() -> Iterator[Element]:
        nonlocal is_full, kept
        if not is_full and path and os.path.exists(path + ".npz"):
            with np.load(path + ".npz", allow_pickle=False) as stored:
                count = int(stored["count"])
                width = int(stored["width"])
                loaded = [
                    tuple(_from_storage(stored, f"{i}_{j}") for j in range(width))
                    for i in range(count)
                ]
            with lock:
                kept, is_full = loaded, True
        if is_full:
            return iter(kept)
        return pulled(functools.partial(pull, input_dataset.iterate(), []))

    def pull(elements: Iterator[Element], seen: list[Element]) -> Any:
        nonlocal is_full, kept
        element = next(elements, END)
        if element is not END:
            seen.append(element)
            return element
        with lock:
            if not is_full:
                kept, is_full = seen, True
                if path:
                    _store(path + ".npz", seen)
        return END

    return FromFunction(start, input_dataset.num_elements)


def _from_storage(stored: Any, name: str) -> Any:
    array = stored[name]
    if f"{name}_lengths" not in stored:
        return array
    lengths = stored[f"{name}_lengths"]
    data, ends = array.tobytes(), np.cumsum(lengths).tolist()
    return object_array([data[b:e] for b, e in zip([0, *ends], ends, strict=False)], lengths.shape)


def _store(path: str, elements: list[Element]) -> None:
    arrays: dict[str, Any] = {"count": len(elements), "width": len(elements[0]) if elements else 0}
    for i, element in enumerate(elements):
        for j, part in enumerate(element):
            array = as_array(part)
            if array.dtype == object:
                # Joined, with their lengths: NumPy's own type of bytes drops zeros at the end.
                texts = array.ravel().tolist()
                lengths = np.array([len(t) for t in texts], np.int64)
                arrays[f"{i}_{j}_lengths"] = lengths.reshape(array.shape)
                array = np.frombuffer(b"".join(texts), np.uint8)
            arrays[f"{i}_{j}"] = array

    from dataflow.formats.atomic_files import replace_with

    def write(temporary: str) -> None:
        with open(temporary, "wb") as opened:
            np.savez(opened, **arrays)

    replace_with(path, write, durable=False)


@kernel("ModelDataset", "OptimizeDataset", cpu_only="datasets live on the host")
def same_dataset_kernel(xp: Any, input_dataset: Any, optimizations: Any = None) -> Any:
    return input_dataset


@kernel("PrefetchDataset", stateful=True, cpu_only="datasets live on the host")
def prefetch_dataset_kernel(ctx: KernelContext, input_dataset: Any, buffer_size: Array) -> Any:
    size = int(buffer_size)
    if size < 0:
        size = 2  # AUTOTUNE
    if size == 0 or not THREADS:  # elements are made when they are asked for
        return input_dataset

    return FromFunction(lambda: _Ahead(input_dataset.iterate, size), input_dataset.num_elements)


class _Ahead:
    """Makes elements in a thread, at most ``size`` ahead; the thread ends with its consumer."""

    def __init__(self, start: Callable[[], Iterator[Any]], size: int) -> None:
        self._ready: queue.Queue[Any] = queue.Queue(size)
        self._stopped = threading.Event()
        self._ended = False
        # The thread does not hold this object, which is deleted when nobody reads on.
        arguments = (start, self._ready, self._stopped)
        threading.Thread(target=_make_ahead, args=arguments, name="prefetch", daemon=True).start()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._ended:
            raise StopIteration
        element, error = self._ready.get()
        if element is END:
            self._ended = True
        if error is not None:
            raise error
        if self._ended:
            raise StopIteration
        return element

    def close(self) -> None:
        """Ends the thread."""
        self._stopped.set()

    __del__ = close


def _make_ahead(
    start: Callable[[], Iterator[Any]], ready: queue.Queue[Any], stopped: threading.Event
) -> None:
    def put(element: Any, error: BaseException | None) -> None:
        while not stopped.is_set():
            try:
                ready.put((element, error), timeout=0.2)
                return
            except queue.Full:
                continue

    try:
        elements = start()
        while not stopped.is_set():
            try:
                element = next(elements, END)
            except Exception as e:
                put(None, e)
                continue
            put(element, None)
            if element is END:
                return
    except BaseException as e:
        put(END, e)
