"""Datasets at run time: objects that can be iterated again and again.

An iteration goes on after an element that could not be computed: its error is raised once, and the
next element follows. A Python generator ends with the error that leaves it, so iterations are made
of `pulled` functions where an error may come from below.

An element is a tuple of arrays. A dataset of rows (`Rows`) hands out row numbers as long as it
can: shuffling, repeating and taking move numbers, and a batch gathers its rows in one go.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import itertools
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dataflow.dtypes import as_dtype
from dataflow.errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    OutOfRangeError,
)
from dataflow.kernels.located_lines import text_lines
from dataflow.kernels.registry import kernel
from dataflow.kernels.text_decoding import text, texts

Element = tuple[Any, ...]


class Dataset:
    """A dataset at run time. ``iterate()`` starts anew."""

    def iterate(self) -> Iterator[Element]:
        """An iterator over the elements."""
        raise NotImplementedError

    def rows(self) -> tuple[tuple[Any, ...], Iterator[int]] | None:
        """Arrays and an iterator over row numbers, where the elements are rows; else ``None``."""
        return None


class FromFunction(Dataset):
    """A dataset given by a function that starts an iteration."""

    def __init__(self, start: Callable[[], Iterator[Element]]) -> None:
        self.iterate = start  # type: ignore[method-assign]


class Rows(Dataset):
    """Rows of arrays, in the order of a function that starts an iteration over their numbers."""

    def __init__(self, arrays: tuple[Any, ...], numbers: Callable[[], Iterator[int]]) -> None:
        self.arrays = arrays
        self.numbers = numbers

    def iterate(self) -> Iterator[Element]:
        arrays = self.arrays
        if len(arrays) == 1:
            (only,) = arrays
            return ((only[i],) for i in self.numbers())
        return (tuple([a[i] for a in arrays]) for i in self.numbers())

    def rows(self) -> tuple[tuple[Any, ...], Iterator[int]] | None:
        return self.arrays, self.numbers()


def _same_kind(source: Dataset, change: Callable[[Iterator[Any]], Iterator[Any]]) -> Dataset:
    """A dataset whose order or choice of elements is changed without looking at them."""
    if isinstance(source, Rows):
        return Rows(source.arrays, lambda: change(source.numbers()))
    return FromFunction(lambda: change(source.iterate()))


_END: Any = object()


def pulled(pull: Callable[[], Any]) -> Iterator[Any]:
    """An iterator over what ``pull()`` returns until that is `_END`; it outlives errors."""
    return iter(pull, _END)


def _limited(elements: Iterator[Any], skip: int, count: int | None, step: int = 1) -> Iterator[Any]:
    """`itertools.islice` that outlives errors: ``count`` elements after ``skip``, each ``step``-th."""
    left = skip
    done = 0

    def pull() -> Any:
        nonlocal left, done
        if count is not None and done >= count:
            return _END
        while left:
            left -= 1
            if next(elements, _END) is _END:
                return _END
        element = next(elements, _END)
        done += 1
        left = step - 1
        return element

    return pulled(pull)


def _scalar(value: Any) -> Any:
    return value.reshape(-1)[0] if isinstance(value, np.ndarray) else value


# ---- sources ---------------------------------------------------------------------------------


@kernel("TensorDataset", stateful=True, cpu_only="datasets live on the host")
def tensor_dataset_kernel(ctx: Any, components: list[Any]) -> Any:
    element = tuple(components)
    return FromFunction(lambda: iter((element,)))


@kernel("TensorSliceDataset", stateful=True, cpu_only="datasets live on the host")
def tensor_slice_dataset_kernel(ctx: Any, components: list[Any]) -> Any:
    arrays = tuple(np.asarray(c) for c in components)
    lengths = {len(a) for a in arrays}
    if len(lengths) > 1:
        raise InvalidArgumentError(
            None, None, f"all components must have the same length, got {[len(a) for a in arrays]}"
        )
    size = lengths.pop() if lengths else 0
    return Rows(arrays, lambda: iter(range(size)))


@kernel("GeneratorDataset", stateful=True, cpu_only="the generator is a Python function")
def generator_dataset_kernel(ctx: Any, init_args: list[Any], *, generator: Any) -> Any:
    arguments = [np.asarray(value) for value in init_args]
    return FromFunction(lambda: iter(generator(*arguments)))


@kernel("RangeDataset", stateful=True, cpu_only="datasets live on the host")
def range_dataset_kernel(ctx: Any, start: Any, stop: Any, step: Any, *, output_types: Any) -> Any:
    dtype = output_types[0].numpy.type
    numbers = range(int(start), int(stop), int(step))
    return FromFunction(lambda: ((dtype(i),) for i in numbers))


def _open(path: str, compression: str = "") -> Any:
    from dataflow.formats.compression import unpacked_file

    try:
        return unpacked_file(open(path, "rb"), compression)
    except FileNotFoundError as e:
        raise NotFoundError(None, None, f"{path}; No such file or directory") from e


@kernel("TextLineDataset", stateful=True, cpu_only="files are read by the host")
def text_line_dataset_kernel(
    ctx: Any, filenames: Any, compression_type: Any, buffer_size: Any
) -> Any:
    from dataflow.formats.compression import lines
    from dataflow.formats.record_files import compression_name

    paths, compression = texts(filenames), compression_name(text(compression_type).upper())

    def start() -> Iterator[Element]:
        for path in paths:
            with _open(path, compression) as file:
                for line in text_lines(path, lines(path, file, compression)):
                    yield (np.array(line, dtype=object),)

    return FromFunction(start)


@kernel("TFRecordDataset", stateful=True, cpu_only="files are read by the host")
def tf_record_dataset_kernel(
    ctx: Any, filenames: Any, compression_type: Any, buffer_size: Any
) -> Any:
    from dataflow.formats.record_files import TFRecordOptions, tf_record_iterator

    paths, compression = texts(filenames), text(compression_type)

    def start() -> Iterator[Element]:
        for path in paths:
            if not os.path.exists(path):
                raise NotFoundError(None, None, f"{path}; No such file or directory")
            for record in tf_record_iterator(path, TFRecordOptions(compression)):
                yield (np.array(record, dtype=object),)

    return FromFunction(start)


@kernel("FixedLengthRecordDatasetV2", stateful=True, cpu_only="files are read by the host")
def fixed_length_record_dataset_kernel(
    ctx: Any,
    filenames: Any,
    header_bytes: Any,
    record_bytes: Any,
    footer_bytes: Any,
    buffer_size: Any,
    compression_type: Any,
) -> Any:
    from dataflow.formats.record_files import compression_name

    compression = compression_name(text(compression_type).upper())
    paths, size = texts(filenames), int(record_bytes)
    header, footer = int(header_bytes), int(footer_bytes)

    def start() -> Iterator[Element]:
        for path in paths:
            with _open(path, compression) as file:
                data = file.read()
            body = data[header : len(data) - footer]
            if len(body) % size:
                raise InvalidArgumentError(
                    None,
                    None,
                    f"{path}: {len(body)} bytes of records are no multiple of {size} bytes",
                )
            for at in range(0, len(body), size):
                yield (np.array(body[at : at + size], dtype=object),)

    return FromFunction(start)


# ---- combinations ----------------------------------------------------------------------------


@kernel("ZipDataset", cpu_only="datasets live on the host")
def zip_dataset_kernel(xp: Any, input_datasets: list[Any]) -> Any:
    def pull(sources: list[Iterator[tuple[Element | None, Exception | None]]]) -> Any:
        pairs = [next(source, None) for source in sources]  # all go on, also beside an error
        parts: list[Any] = []
        for pair in pairs:
            if pair is None:
                return _END
            parts.extend(pair[0] or ())
        for _, error in pairs:  # type: ignore[misc]
            if error is not None:
                raise error
        return tuple(parts)

    return FromFunction(
        lambda: pulled(functools.partial(pull, [_with_errors(d.iterate()) for d in input_datasets]))
    )


@kernel("ConcatenateDataset", cpu_only="datasets live on the host")
def concatenate_dataset_kernel(xp: Any, input_dataset: Any, another_dataset: Any) -> Any:
    return FromFunction(lambda: itertools.chain(input_dataset.iterate(), another_dataset.iterate()))


def stack(parts: list[Any]) -> Any:
    """Components of several elements as one array; raises for shapes that differ."""
    first = parts[0]
    if isinstance(first, Dataset):
        raise InvalidArgumentError(None, None, "datasets cannot be batched; use flat_map first")
    if (isinstance(first, np.ndarray) and first.dtype == object) or isinstance(first, bytes):
        shapes = {np.shape(p) for p in parts}
        if len(shapes) == 1:
            out = np.empty((len(parts), *shapes.pop()), dtype=object)
            for i, part in enumerate(parts):
                out[i] = part[()] if isinstance(part, np.ndarray) and not part.ndim else part
            return out
    else:
        try:
            return np.stack(parts) if np.ndim(first) else np.array(parts, dtype=first.dtype)
        except ValueError:
            shapes = {np.shape(p) for p in parts}
    raise InvalidArgumentError(
        None,
        None,
        f"Cannot batch tensors with different shapes: {sorted(shapes, key=str)}. "
        "Use padded_batch, or bring them to one shape in map.",
    )


@kernel("BatchDatasetV2", cpu_only="datasets live on the host")
def batch_dataset_kernel(xp: Any, input_dataset: Any, batch_size: Any, drop_remainder: Any) -> Any:
    size, drop = int(batch_size), bool(drop_remainder)
    if size < 1:
        raise InvalidArgumentError(None, None, f"batch_size must be greater than zero, got {size}")

    def start() -> Iterator[Element]:
        rows = input_dataset.rows()
        if rows is not None:
            return pulled(functools.partial(gathered, *rows))
        return pulled(functools.partial(stacked, input_dataset.iterate()))

    def gathered(arrays: tuple[Any, ...], numbers: Iterator[int]) -> Any:
        chosen = list(itertools.islice(numbers, size))
        if not chosen or (drop and len(chosen) < size):
            return _END
        first, last = chosen[0], chosen[-1]
        if last - first == len(chosen) - 1 and chosen == list(range(first, last + 1)):
            return tuple([a[first : last + 1].copy() for a in arrays])
        return tuple([a[chosen] for a in arrays])

    def stacked(elements: Iterator[Element]) -> Any:
        group = list(itertools.islice(elements, size))
        if not group or (drop and len(group) < size):
            return _END
        return tuple([stack(list(column)) for column in zip(*group, strict=True)])

    return FromFunction(start)


@kernel("PaddedBatchDatasetV2", cpu_only="datasets live on the host")
def padded_batch_dataset_kernel(
    xp: Any,
    input_dataset: Any,
    batch_size: Any,
    padded_shapes: list[Any],
    padding_values: list[Any],
    drop_remainder: Any,
) -> Any:
    size, drop = int(batch_size), bool(drop_remainder)
    wanted = [np.asarray(s).tolist() for s in padded_shapes]
    fillers = [_scalar(v) for v in padding_values]

    def pad(parts: list[Any], shape: list[int], filler: Any) -> Any:
        arrays = [np.asarray(p) for p in parts]
        full = []
        for axis, length in enumerate(shape):
            longest = max(a.shape[axis] for a in arrays)
            if length >= 0 and longest > length:
                raise DataLossError(
                    None,
                    None,
                    f"Attempted to pad to a smaller size than the input element: axis {axis} of an "
                    f"element has size {longest}, padded_shapes says {length}.",
                )
            full.append(length if length >= 0 else longest)
        out = np.full((len(arrays), *full), filler, dtype=arrays[0].dtype)
        for i, array in enumerate(arrays):
            where: Any = (i, *[slice(0, n) for n in array.shape])
            out[where] = array
        return out

    def padded(elements: Iterator[Element]) -> Any:
        group = list(itertools.islice(elements, size))
        if not group or (drop and len(group) < size):
            return _END
        columns = zip(*group, strict=True)
        return tuple([pad(list(c), s, f) for c, s, f in zip(columns, wanted, fillers, strict=True)])

    return FromFunction(lambda: pulled(functools.partial(padded, input_dataset.iterate())))


@kernel("RepeatDataset", cpu_only="datasets live on the host")
def repeat_dataset_kernel(xp: Any, input_dataset: Any, count: Any) -> Any:
    times = int(count)

    def again(start: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        current: Iterator[Any] = iter(())
        num_started = 0
        found = True

        def pull() -> Any:
            nonlocal current, num_started, found
            while True:
                element = next(current, _END)
                if element is not _END:
                    found = True
                    return element
                # An empty dataset stays empty, however often it is repeated.
                if num_started == times or (times < 0 and not found):
                    return _END
                current, num_started, found = start(), num_started + 1, False

        return pulled(pull)

    if isinstance(input_dataset, Rows):
        return Rows(input_dataset.arrays, lambda: again(input_dataset.numbers))
    return FromFunction(lambda: again(input_dataset.iterate))


@kernel("TakeDataset", cpu_only="datasets live on the host")
def take_dataset_kernel(xp: Any, input_dataset: Any, count: Any) -> Any:
    number = None if int(count) < 0 else int(count)
    return _same_kind(input_dataset, lambda elements: _limited(elements, 0, number))


@kernel("SkipDataset", cpu_only="datasets live on the host")
def skip_dataset_kernel(xp: Any, input_dataset: Any, count: Any) -> Any:
    number = int(count)
    if number < 0:
        return FromFunction(lambda: iter(()))
    return _same_kind(input_dataset, lambda elements: _limited(elements, number, None))


@kernel("ShardDataset", cpu_only="datasets live on the host")
def shard_dataset_kernel(xp: Any, input_dataset: Any, num_shards: Any, index: Any) -> Any:
    shards, start = int(num_shards), int(index)
    if not 0 <= start < shards:
        raise InvalidArgumentError(
            None, None, f"index must be between 0 and {shards - 1} (num_shards - 1), got {start}"
        )
    return _same_kind(input_dataset, lambda elements: _limited(elements, start, None, shards))


@kernel("ShuffleDataset", stateful=True, cpu_only="datasets live on the host")
def shuffle_dataset_kernel(
    ctx: Any,
    input_dataset: Any,
    buffer_size: Any,
    seed: Any,
    seed2: Any,
    *,
    reshuffle_each_iteration: bool,
) -> Any:
    size = int(buffer_size)
    if size < 1:
        raise InvalidArgumentError(None, None, f"buffer_size must be greater than zero, got {size}")
    first, second = int(seed), int(seed2)
    if not first and not second:
        first = int.from_bytes(os.urandom(7), "little")
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
                element = next(elements, _END)
                if element is _END:
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
                return _END
            if not draws:
                draws = generator.random(1024)[::-1].tolist()
            free = int(draws.pop() * len(buffer))
            return buffer[free]

        return pulled(pull)

    return _same_kind(input_dataset, shuffled)


_MASK = (1 << 63) - 1


@kernel("CacheDataset", stateful=True, cpu_only="datasets live on the host")
def cache_dataset_kernel(ctx: Any, input_dataset: Any, filename: Any) -> Any:
    path = text(filename)
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
                    tuple(_from_storage(stored[f"{i}_{j}"]) for j in range(width))
                    for i in range(count)
                ]
            with lock:
                kept, is_full = loaded, True
        if is_full:
            return iter(kept)
        return pulled(functools.partial(pull, input_dataset.iterate(), []))

    def pull(elements: Iterator[Element], seen: list[Element]) -> Any:
        nonlocal is_full, kept
        element = next(elements, _END)
        if element is not _END:
            seen.append(element)
            return element
        with lock:
            if not is_full:
                kept, is_full = seen, True
                if path:
                    _store(path + ".npz", seen)
        return _END

    return FromFunction(start)


def _from_storage(array: Any) -> Any:
    return array.astype(object) if array.dtype.kind == "S" else array


def _store(path: str, elements: list[Element]) -> None:
    arrays: dict[str, Any] = {"count": len(elements), "width": len(elements[0]) if elements else 0}
    for i, element in enumerate(elements):
        for j, part in enumerate(element):
            array = np.asarray(part)
            arrays[f"{i}_{j}"] = array.astype("S") if array.dtype == object else array

    from dataflow.formats.atomic_files import replace_with

    def write(temporary: str) -> None:
        with open(temporary, "wb") as opened:
            np.savez(opened, **arrays)

    replace_with(path, write, durable=False)


@kernel("PrefetchDataset", stateful=True, cpu_only="datasets live on the host")
def prefetch_dataset_kernel(ctx: Any, input_dataset: Any, buffer_size: Any) -> Any:
    size = int(buffer_size)
    if size < 0:
        size = 2  # AUTOTUNE
    if size == 0:
        return input_dataset

    return FromFunction(lambda: _Ahead(input_dataset.iterate, size))


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
        if element is _END:
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
                element = next(elements, _END)
            except Exception as e:
                put(None, e)
                continue
            put(element, None)
            if element is _END:
                return
    except BaseException as e:
        put(_END, e)


@kernel("UnbatchDataset", cpu_only="datasets live on the host")
def unbatch_dataset_kernel(xp: Any, input_dataset: Any) -> Any:
    def rows(element: Element) -> Iterator[Any]:
        return zip(*element, strict=True)

    return FromFunction(lambda: _flattened(map(rows, input_dataset.iterate())))


def _flattened(iterators: Iterator[Iterator[Any]]) -> Iterator[Any]:
    """The elements of one iterator after the other; `itertools.chain` that outlives errors."""
    current: Iterator[Any] = iter(())

    def pull() -> Any:
        nonlocal current
        while True:
            element = next(current, _END)
            if element is not _END:
                return element
            following = next(iterators, _END)
            if following is _END:
                return _END
            current = following

    return pulled(pull)


@kernel("IgnoreErrorsDataset", cpu_only="datasets live on the host")
def ignore_errors_dataset_kernel(xp: Any, input_dataset: Any) -> Any:
    def start() -> Iterator[Element]:
        elements = input_dataset.iterate()
        while True:
            try:
                element = next(elements)
            except StopIteration:
                return
            except (OpError, ValueError):
                continue
            yield element

    return FromFunction(start)


@kernel("WindowDataset", cpu_only="datasets live on the host")
def window_dataset_kernel(
    xp: Any, input_dataset: Any, size: Any, shift: Any, stride: Any, drop_remainder: Any
) -> Any:
    length, step, gap, drop = int(size), int(shift), int(stride), bool(drop_remainder)
    span = (length - 1) * gap + 1

    def windows() -> Iterator[Element]:
        elements = _with_errors(input_dataset.iterate())
        held: collections.deque[Any] = collections.deque()
        surplus = 0  # elements between two windows, when they do not touch

        def pull() -> Any:
            nonlocal surplus
            for _ in range(surplus):
                next(elements, None)
            held.extend(itertools.islice(elements, span - len(held)))
            chosen = list(held)[:span:gap]
            if not chosen or (drop and len(chosen) < length):
                return _END
            surplus = max(step - len(held), 0)
            for _ in range(min(step, len(held))):
                held.popleft()
            for _, error in chosen:
                if error is not None:
                    raise error
            columns = zip(*[element for element, _ in chosen], strict=True)
            return tuple(
                FromFunction(lambda c=column: ((value,) for value in c))  # type: ignore[misc]
                for column in columns
            )

        return pulled(pull)

    return FromFunction(windows)


def _with_errors(elements: Iterator[Any]) -> Iterator[tuple[Any, Exception | None]]:
    """Pairs of an element and None, or of None and the error that came in its place."""

    def pull() -> Any:
        try:
            element = next(elements, _END)
        except Exception as e:
            return None, e
        return _END if element is _END else (element, None)

    return pulled(pull)


# ---- functions -------------------------------------------------------------------------------


@kernel("MapDataset", stateful=True, cpu_only="the function's own nodes are placed by themselves")
def map_dataset_kernel(
    ctx: Any, input_dataset: Any, other_arguments: list[Any], *, f: Any, num_parallel_calls: int
) -> Any:
    function = f.bind(ctx, other_arguments)
    threads = num_parallel_calls if num_parallel_calls >= 0 else 2
    if threads <= 1:
        return FromFunction(lambda: itertools.starmap(function, input_dataset.iterate()))

    return FromFunction(lambda: _ParallelMap(function, input_dataset.iterate(), threads))


#: Seconds below which a function is called by the consumer itself: to hand an element to a thread
#: and to wait for it takes about 80 us.
_QUICK_CALL = 200e-6


class _ParallelMap:
    """``function`` of the elements in order, ``threads`` at a time while that takes long."""

    def __init__(
        self, function: Callable[..., Element], elements: Iterator[Element], threads: int
    ) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._elements = _with_errors(elements)
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads)
        self._waiting: collections.deque[Any] = collections.deque()
        self._took = took = [_QUICK_CALL]  # of the last call, in seconds

        def timed(element: Element, error: Exception | None) -> Element:
            if error is not None:
                raise error
            began = time.perf_counter()
            result = function(*element)
            took[0] = time.perf_counter() - began
            return result

        self._timed = timed

    def __iter__(self) -> Iterator[Element]:
        return self

    def __next__(self) -> Element:
        waiting = self._waiting
        while len(waiting) < self._threads:
            is_quick = self._took[0] < _QUICK_CALL
            if is_quick and waiting:
                break
            pair = next(self._elements, None)
            if pair is None:
                break
            if is_quick:
                return self._timed(*pair)
            waiting.append(self._pool.submit(self._timed, *pair))
        if not waiting:
            self.close()
            raise StopIteration
        return waiting.popleft().result()  # type: ignore[no-any-return]

    def close(self) -> None:
        """Ends the threads; calls that have begun come to their end."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    __del__ = close


@kernel(
    "FilterDataset", stateful=True, cpu_only="the function's own nodes are placed by themselves"
)
def filter_dataset_kernel(
    ctx: Any, input_dataset: Any, other_arguments: list[Any], *, predicate: Any
) -> Any:
    function = predicate.bind(ctx, other_arguments)
    return FromFunction(lambda: filter(lambda e: bool(function(*e)[0]), input_dataset.iterate()))


@kernel(
    "FlatMapDataset", stateful=True, cpu_only="the function's own nodes are placed by themselves"
)
def flat_map_dataset_kernel(
    ctx: Any, input_dataset: Any, other_arguments: list[Any], *, f: Any
) -> Any:
    function = f.bind(ctx, other_arguments)

    def inner(element: Element) -> Iterator[Element]:
        return function(*element)[0].iterate()  # type: ignore[no-any-return]

    return FromFunction(lambda: _flattened(map(inner, input_dataset.iterate())))


@kernel(
    "InterleaveDataset", stateful=True, cpu_only="the function's own nodes are placed by themselves"
)
def interleave_dataset_kernel(
    ctx: Any,
    input_dataset: Any,
    other_arguments: list[Any],
    cycle_length: Any,
    block_length: Any,
    *,
    f: Any,
) -> Any:
    function = f.bind(ctx, other_arguments)
    cycle, block = int(cycle_length), int(block_length)

    def start() -> Iterator[Element]:
        elements = input_dataset.iterate()
        slots: list[Iterator[Element] | None] = [None] * cycle
        at = num_given = 0  # the slot, and what it has given of its block
        ended = False

        def go_on() -> None:
            nonlocal at, num_given
            at, num_given = (at + 1) % cycle, 0

        def pull() -> Any:
            nonlocal num_given, ended
            while True:
                source = slots[at]
                if source is None:
                    following = _END if ended else next(elements, _END)
                    if following is _END:
                        ended = True
                        if all(s is None for s in slots):
                            return _END
                        go_on()
                    else:
                        slots[at] = function(*following)[0].iterate()
                    continue
                item = next(source, _END)
                if item is _END:
                    slots[at] = None
                    go_on()
                    continue
                num_given += 1
                if num_given == block:
                    go_on()
                return item

        return pulled(pull)

    return FromFunction(start)


@kernel("ScanDataset", stateful=True, cpu_only="the function's own nodes are placed by themselves")
def scan_dataset_kernel(
    ctx: Any,
    input_dataset: Any,
    initial_state: list[Any],
    other_arguments: list[Any],
    *,
    f: Any,
) -> Any:
    function = f.bind(ctx, other_arguments)
    width = len(initial_state)

    def start() -> Iterator[Element]:
        state = list(initial_state)

        def step(element: Element) -> Element:
            results = function(*state, *element)
            state[:] = results[:width]
            return tuple(results[width:])

        return map(step, input_dataset.iterate())

    return FromFunction(start)


@kernel(
    "ReduceDataset", stateful=True, cpu_only="the function's own nodes are placed by themselves"
)
def reduce_dataset_kernel(
    ctx: Any,
    input_dataset: Any,
    initial_state: list[Any],
    other_arguments: list[Any],
    *,
    f: Any,
) -> Any:
    function = f.bind(ctx, other_arguments)
    state = tuple(initial_state)
    for element in input_dataset.iterate():
        state = tuple(function(*state, *element))
    return state


# ---- iterators -------------------------------------------------------------------------------


class IteratorResource:
    """An iterator that sessions share: one element at a time, whichever thread asks."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lock = threading.Lock()
        self.elements: Iterator[Element] | None = None

    def next(self) -> Element:
        """The next element; `OutOfRangeError` at the end."""
        with self.lock:
            if self.elements is None:
                from dataflow.errors import FailedPreconditionError

                raise FailedPreconditionError(
                    None,
                    None,
                    f"GetNext() failed because the iterator {self.name!r} has not been initialized. "
                    "Ensure that you have run the initializer operation for this iterator before "
                    "getting the next element.",
                )
            element = next(self.elements, _END)
            if element is _END:
                raise OutOfRangeError(None, None, "End of sequence")
            return element


@kernel("IteratorV2", stateful=True, cpu_only="datasets live on the host")
def iterator_kernel(ctx: Any) -> Any:
    return ctx.resource("iterator", lambda: IteratorResource(ctx.resource_name))


@kernel("MakeIterator", stateful=True, cpu_only="datasets live on the host")
def make_iterator_kernel(ctx: Any, dataset: Any, iterator: Any) -> None:
    started = dataset.iterate()
    with iterator.lock:
        old, iterator.elements = iterator.elements, started
    if hasattr(old, "close"):
        with contextlib.suppress(ValueError):
            old.close()


@kernel("OneShotIterator", stateful=True, cpu_only="datasets live on the host")
def one_shot_iterator_kernel(ctx: Any, other_arguments: list[Any], *, dataset_factory: Any) -> Any:
    found = ctx.resources.get(ctx.container, "iterator", ctx.resource_name)
    if found is not None:
        return found

    def create() -> IteratorResource:
        resource = IteratorResource(ctx.resource_name)
        (dataset,) = dataset_factory.bind(ctx, other_arguments)()
        resource.elements = dataset.iterate()
        return resource

    return ctx.resource("iterator", create)


@kernel("IteratorGetNext", stateful=True, cpu_only="datasets live on the host")
def iterator_get_next_kernel(ctx: Any, iterator: Any, *, output_types: Any) -> Any:
    element = iterator.next()
    if len(element) == 1 and len(output_types) == 1:
        return element
    return tuple(element)


@kernel("IteratorToStringHandle", stateful=True, cpu_only="datasets live on the host")
def iterator_to_string_handle_kernel(ctx: Any, resource_handle: Any) -> Any:
    ctx.resources.put("", "iterator_handle", resource_handle.name, resource_handle)
    return np.array(resource_handle.name.encode(), dtype=object)


@kernel("IteratorFromStringHandleV2", stateful=True, cpu_only="datasets live on the host")
def iterator_from_string_handle_kernel(ctx: Any, string_handle: Any) -> Any:
    name = text(string_handle)
    found = ctx.resources.get("", "iterator_handle", name)
    if found is None:
        raise InvalidArgumentError(
            None,
            None,
            f"no iterator is called {name!r}: feed the value of iterator.string_handle(), taken in "
            "this session.",
        )
    return found


def as_element_array(value: Any, dtype: Any) -> Any:
    """A Python value that a generator yielded, as an array of ``dtype``."""
    dtype = as_dtype(dtype)
    if dtype.kind == "S":
        array = np.asarray(value, dtype=object)
        flat = [v.encode() if isinstance(v, str) else v for v in array.reshape(-1).tolist()]
        out = np.empty(len(flat), dtype=object)
        out[:] = flat
        return out.reshape(array.shape)
    return np.asarray(value, dtype=dtype.numpy)[()]
