"""Kernels of datasets that take, join and group the elements of others."""

from __future__ import annotations

import collections
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dataflow.errors import DataLossError, FailedPreconditionError, InvalidArgumentError, OpError
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.dataset.blocks import Blocks, batches, rows_between
from dataflow.kernels.dataset.elements import (
    END,
    INFINITE,
    UNKNOWN,
    Element,
    FromFunction,
    Rows,
    as_array,
    flattened,
    limited,
    pulled,
    same_kind,
    stack,
    with_errors,
)
from dataflow.kernels.registry import kernel


@kernel("ZipDataset", cpu_only="datasets live on the host")
def zip_dataset_kernel(xp: Module, input_datasets: list[Any]) -> Any:
    def pull(sources: list[Iterator[tuple[Element | None, Exception | None]]]) -> Any:
        pairs = [next(source, None) for source in sources]  # all go on, also beside an error
        parts: list[Any] = []
        for pair in pairs:
            if pair is None:
                return END
            parts.extend(pair[0] or ())
        for _, error in pairs:  # type: ignore[misc]
            if error is not None:
                raise error
        return tuple(parts)

    counts = [dataset.num_elements for dataset in input_datasets]
    finite = [count for count in counts if count != INFINITE]
    return FromFunction(
        lambda: pulled(functools.partial(pull, [with_errors(d.iterate()) for d in input_datasets])),
        UNKNOWN if UNKNOWN in counts else min(finite, default=INFINITE),
    )


@kernel("ConcatenateDataset", cpu_only="datasets live on the host")
def concatenate_dataset_kernel(xp: Module, input_dataset: Any, another_dataset: Any) -> Any:
    counts = (input_dataset.num_elements, another_dataset.num_elements)
    return FromFunction(
        lambda: itertools.chain(input_dataset.iterate(), another_dataset.iterate()),
        INFINITE if INFINITE in counts else UNKNOWN if UNKNOWN in counts else sum(counts),
    )


@kernel("BatchDatasetV2", cpu_only="datasets live on the host")
def batch_dataset_kernel(
    xp: Module, input_dataset: Any, batch_size: Array, drop_remainder: Array
) -> Any:
    size, drop = int(batch_size), bool(drop_remainder)
    if size < 1:
        raise InvalidArgumentError(None, None, f"batch_size must be greater than zero, got {size}")

    def start() -> Iterator[Element]:
        if isinstance(input_dataset, Blocks):
            return batches(input_dataset.blocks(), size, drop)
        rows = input_dataset.rows()
        if rows is not None:
            return pulled(functools.partial(gathered, *rows))
        return pulled(functools.partial(stacked, input_dataset.iterate()))

    def gathered(arrays: tuple[Any, ...], numbers: Iterator[int]) -> Any:
        chosen = list(itertools.islice(numbers, size))
        if not chosen or (drop and len(chosen) < size):
            return END
        first, last = chosen[0], chosen[-1]
        if last - first == len(chosen) - 1 and chosen == list(range(first, last + 1)):
            return tuple([a[first : last + 1].copy() for a in arrays])
        return tuple([a[chosen] for a in arrays])

    def stacked(elements: Iterator[Element]) -> Any:
        group = list(itertools.islice(elements, size))
        if not group or (drop and len(group) < size):
            return END
        columns = enumerate(zip(*group, strict=True))
        return tuple([stack(list(column), i) for i, column in columns])

    return FromFunction(start, _num_batches(input_dataset, size, drop))


def _num_batches(dataset: Any, size: int, drop: bool) -> int:
    count: int = dataset.num_elements
    if count < 0:
        return count
    return count // size if drop else -(-count // size)


@kernel("PaddedBatchDatasetV2", cpu_only="datasets live on the host")
def padded_batch_dataset_kernel(
    xp: Module,
    input_dataset: Any,
    batch_size: Array,
    padded_shapes: list[Any],
    padding_values: list[Any],
    drop_remainder: Array,
) -> Any:
    size, drop = int(batch_size), bool(drop_remainder)
    wanted = [np.asarray(s).tolist() for s in padded_shapes]
    fillers = [_scalar(v) for v in padding_values]

    def pad(parts: list[Any], shape: list[int], filler: Any) -> Any:
        arrays = [as_array(p) for p in parts]
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
            where: Any = (i, *[slice(0, n) for n in array.shape], ...)  # a text itself, no array
            out[where] = array
        return out

    def padded(elements: Iterator[Element]) -> Any:
        group = list(itertools.islice(elements, size))
        if not group or (drop and len(group) < size):
            return END
        columns = zip(*group, strict=True)
        return tuple([pad(list(c), s, f) for c, s, f in zip(columns, wanted, fillers, strict=True)])

    return FromFunction(
        lambda: pulled(functools.partial(padded, input_dataset.iterate())),
        _num_batches(input_dataset, size, drop),
    )


def _scalar(value: Any) -> Any:
    return value.reshape(-1)[0] if isinstance(value, np.ndarray) else value


@kernel("RepeatDataset", cpu_only="datasets live on the host")
def repeat_dataset_kernel(xp: Module, input_dataset: Any, count: Array) -> Any:
    times = int(count)

    # Of elements, of their numbers, or of blocks of them.
    def again(start: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        current: Iterator[Any] = iter(())
        num_started = 0
        found = True

        def pull() -> Any:
            nonlocal current, num_started, found
            while True:
                element = next(current, END)
                if element is not END:
                    found = True
                    return element
                # An empty dataset stays empty, however often it is repeated.
                if num_started == times or (times < 0 and not found):
                    return END
                current, num_started, found = start(), num_started + 1, False

        return pulled(pull)

    num_elements: int = input_dataset.num_elements
    if times < 0:
        num_elements = INFINITE if num_elements else 0
    elif not times or num_elements > 0:
        num_elements *= times
    shuffling = input_dataset.shuffling
    if shuffling is not None and shuffling.is_anew:
        return shuffling.repeated(times, num_elements)
    if isinstance(input_dataset, Rows):
        return Rows(input_dataset.arrays, lambda: again(input_dataset.numbers), num_elements)
    if isinstance(input_dataset, Blocks):
        return Blocks(lambda: again(input_dataset.blocks), num_elements)
    return FromFunction(lambda: again(input_dataset.iterate), num_elements)


@kernel("TakeDataset", cpu_only="datasets live on the host")
def take_dataset_kernel(xp: Module, input_dataset: Any, count: Array) -> Any:
    number = None if int(count) < 0 else int(count)
    there: int = input_dataset.num_elements
    if number is not None and there != UNKNOWN:
        there = number if there == INFINITE else min(number, there)
    if isinstance(input_dataset, Blocks):
        return Blocks(lambda: rows_between(input_dataset.blocks(), 0, number), there)
    return same_kind(input_dataset, lambda elements: limited(elements, 0, number), there)


@kernel("SkipDataset", cpu_only="datasets live on the host")
def skip_dataset_kernel(xp: Module, input_dataset: Any, count: Array) -> Any:
    number = int(count)
    if number < 0:
        return FromFunction(lambda: iter(()), 0)
    there: int = input_dataset.num_elements
    left = there if there < 0 else max(there - number, 0)
    if isinstance(input_dataset, Blocks):
        return Blocks(lambda: rows_between(input_dataset.blocks(), number, None), left)
    return same_kind(input_dataset, lambda elements: limited(elements, number, None), left)


@kernel("ShardDataset", cpu_only="datasets live on the host")
def shard_dataset_kernel(xp: Module, input_dataset: Any, num_shards: Array, index: Array) -> Any:
    shards, start = int(num_shards), int(index)
    if not 0 <= start < shards:
        raise InvalidArgumentError(
            None, None, f"index must be between 0 and {shards - 1} (num_shards - 1), got {start}"
        )
    there: int = input_dataset.num_elements
    own = there if there < 0 else len(range(start, there, shards))
    return same_kind(input_dataset, lambda elements: limited(elements, start, None, shards), own)


@kernel("UnbatchDataset", cpu_only="datasets live on the host")
def unbatch_dataset_kernel(xp: Module, input_dataset: Any) -> Any:
    def rows(element: Element) -> Iterator[Any]:
        shapes = [() if isinstance(part, bytes) else np.shape(part) for part in element]
        if () in shapes or len({shape[0] for shape in shapes}) > 1:
            raise InvalidArgumentError(
                None,
                None,
                "Input element must have the same batch size in each component, and no scalar: got "
                f"shapes {', '.join(str(list(shape)) for shape in shapes)}.",
            )
        return zip(*element, strict=True)

    return FromFunction(lambda: flattened(map(rows, input_dataset.iterate())))


@kernel("IgnoreErrorsDataset", cpu_only="datasets live on the host")
def ignore_errors_dataset_kernel(xp: Module, input_dataset: Any) -> Any:
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

    return FromFunction(start, input_dataset.num_elements)


@kernel("WindowDataset", cpu_only="datasets live on the host")
def window_dataset_kernel(
    xp: Module, input_dataset: Any, size: Array, shift: Array, stride: Array, drop_remainder: Array
) -> Any:
    length, step, gap, drop = int(size), int(shift), int(stride), bool(drop_remainder)
    for what, number in (("size", length), ("shift", step), ("stride", gap)):
        if number <= 0:
            raise InvalidArgumentError(
                None, None, f"Window {what} must be greater than zero, got {number}."
            )
    span = (length - 1) * gap + 1

    def windows() -> Iterator[Element]:
        elements = with_errors(input_dataset.iterate())
        held: collections.deque[Any] = collections.deque()
        surplus = 0  # elements between two windows, when they do not touch

        def pull() -> Any:
            nonlocal surplus
            for _ in range(surplus):
                next(elements, None)
            held.extend(itertools.islice(elements, span - len(held)))
            chosen = list(held)[:span:gap]
            if not chosen or (drop and len(chosen) < length):
                return END
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

    there: int = input_dataset.num_elements
    if there >= 0:
        there = len(range(0, there - span + 1 if drop else there, step))
    return FromFunction(windows, there)


@kernel("UniqueDataset", cpu_only="datasets live on the host")
def unique_dataset_kernel(xp: Module, input_dataset: Any) -> Any:
    def start() -> Iterator[Element]:
        elements = input_dataset.iterate()
        met: set[Any] = set()

        def pull() -> Any:
            while (element := next(elements, END)) is not END:
                value = element[0].item() if hasattr(element[0], "item") else element[0]
                if value not in met:
                    met.add(value)
                    return element
            return END

        return pulled(pull)

    return FromFunction(start)


@kernel("DirectedInterleaveDataset", cpu_only="datasets live on the host")
def directed_interleave_dataset_kernel(
    xp: Module,
    selector_input_dataset: Any,
    data_input_datasets: list[Any],
    *,
    stop_on_empty_dataset: bool,
) -> Any:
    def start() -> Iterator[Element]:
        numbers = selector_input_dataset.iterate()
        sources: list[Any] = [dataset.iterate() for dataset in data_input_datasets]

        def pull() -> Any:
            while any(source is not None for source in sources):
                chosen = next(numbers, END)
                if chosen is END:
                    return END
                number = int(chosen[0])
                if not 0 <= number < len(sources):
                    raise InvalidArgumentError(
                        None,
                        None,
                        f"Selector index out of range: {number} of {len(sources)} datasets.",
                    )
                element = END if sources[number] is None else next(sources[number], END)
                if element is not END:
                    return element
                if stop_on_empty_dataset:
                    return END
                sources[number] = None
            return END

        return pulled(pull)

    return FromFunction(start)


@kernel("DatasetCardinality", cpu_only="datasets live on the host")
def dataset_cardinality_kernel(xp: Module, input_dataset: Any) -> Any:
    return np.int64(input_dataset.num_elements)


@kernel("AssertCardinalityDataset", cpu_only="datasets live on the host")
def assert_cardinality_dataset_kernel(xp: Module, input_dataset: Any, cardinality: Array) -> Any:
    wanted = int(cardinality)

    def start() -> Iterator[Element]:
        elements = input_dataset.iterate()
        given = 0

        def pull() -> Any:
            nonlocal given
            element = next(elements, END)
            given += element is not END
            fits = wanted == INFINITE or given <= wanted
            if (fits and element is not END) or given == wanted:
                return element
            there = f"at least {given}" if element is not END else f"only {given}"
            asked = "an infinite number of" if wanted == INFINITE else wanted
            raise FailedPreconditionError(
                None,
                None,
                f"Input dataset was expected to contain {asked} elements but contained {there} elements.",
            )

        return pulled(pull)

    return FromFunction(start, wanted)
