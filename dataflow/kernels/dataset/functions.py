"""Kernels of datasets that call a function for each element."""

from __future__ import annotations

import collections
import itertools
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.capabilities import THREADS
from dataflow.errors import InvalidArgumentError, OutOfRangeError
from dataflow.kernels.array_types import Array
from dataflow.kernels.dataset.elements import (
    END,
    Element,
    FromFunction,
    flattened,
    pulled,
    with_errors,
)
from dataflow.kernels.dataset.transformations import batch_dataset_kernel
from dataflow.kernels.registry import kernel

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext


@kernel("MapDataset", stateful=True, cpu_only="the function's own nodes are placed by themselves")
def map_dataset_kernel(
    ctx: KernelContext, input_dataset: Any, other_arguments: list[Any], *, f: Any
) -> Any:
    return parallel_map_dataset_kernel(ctx, input_dataset, other_arguments, 0, f=f)


@kernel(
    "ParallelMapDataset",
    "ParallelMapDatasetV2",
    stateful=True,
    cpu_only="the function's own nodes are placed by themselves",
)
def parallel_map_dataset_kernel(
    ctx: Any, input_dataset: Any, other_arguments: list[Any], num_parallel_calls: Any, *, f: Any
) -> Any:
    function = f.bind(ctx, other_arguments)
    threads = int(num_parallel_calls) if num_parallel_calls >= 0 else 2
    if threads <= 1 or not THREADS:
        return FromFunction(
            lambda: itertools.starmap(function, input_dataset.iterate()), input_dataset.num_elements
        )
    return FromFunction(
        lambda: _ParallelMap(function, input_dataset.iterate(), threads), input_dataset.num_elements
    )


@kernel(
    "MapAndBatchDataset",
    stateful=True,
    cpu_only="the function's own nodes are placed by themselves",
)
def map_and_batch_dataset_kernel(
    ctx: KernelContext,
    input_dataset: Any,
    other_arguments: list[Any],
    batch_size: Array,
    num_parallel_calls: Array,
    drop_remainder: Array,
    *,
    f: Any,
) -> Any:
    mapped = parallel_map_dataset_kernel(
        ctx, input_dataset, other_arguments, num_parallel_calls, f=f
    )
    size = int(batch_size)
    whole = FromFunction(
        lambda: _groups_without_errors(mapped.iterate(), size), input_dataset.num_elements
    )
    return batch_dataset_kernel(np, whole, batch_size, drop_remainder)


def _groups_without_errors(elements: Iterator[Element], size: int) -> Iterator[Element]:
    """The elements, but for groups of ``size`` with errors: each of these is its first error."""
    pairs = with_errors(elements)
    group: collections.deque[Element] = collections.deque()

    def pull() -> Any:
        if not group:
            found = list(itertools.islice(pairs, size))
            error = next((error for _, error in found if error is not None), None)
            if isinstance(error, OutOfRangeError):
                text = f"Function invocation produced OutOfRangeError: {error}"
                raise InvalidArgumentError(None, None, text) from error
            if error is not None:
                raise error
            group.extend(element for element, _ in found)
        return group.popleft() if group else END

    return pulled(pull)


#: Seconds below which a function is called by the consumer itself: to hand an element to a thread
#: and to wait for it takes about 80 us.
_QUICK_CALL = 200e-6
_CALLS_LOOKED_AT = 5


class _ParallelMap:
    """``function`` of the elements in order, ``threads`` at a time while that takes long."""

    def __init__(
        self, function: Callable[..., Element], elements: Iterator[Element], threads: int
    ) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._elements = with_errors(elements)
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads)
        self._waiting: collections.deque[Any] = collections.deque()
        # Seconds of the last calls. The shortest counts: another may have waited for the interpreter.
        self._took = took = collections.deque([_QUICK_CALL], maxlen=_CALLS_LOOKED_AT)

        def timed(element: Element, error: Exception | None) -> Element:
            if error is not None:
                raise error
            began = time.perf_counter()
            result = function(*element)
            took.append(time.perf_counter() - began)
            return result

        self._timed = timed

    def __iter__(self) -> Iterator[Element]:
        return self

    def __next__(self) -> Element:
        waiting = self._waiting
        while len(waiting) < self._threads:
            is_quick = min(self._took) < _QUICK_CALL
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
    ctx: KernelContext, input_dataset: Any, other_arguments: list[Any], *, predicate: Any
) -> Any:
    function = predicate.bind(ctx, other_arguments)
    return FromFunction(lambda: filter(lambda e: bool(function(*e)[0]), input_dataset.iterate()))


@kernel(
    "FlatMapDataset", stateful=True, cpu_only="the function's own nodes are placed by themselves"
)
def flat_map_dataset_kernel(
    ctx: KernelContext, input_dataset: Any, other_arguments: list[Any], *, f: Any
) -> Any:
    function = f.bind(ctx, other_arguments)

    def inner(element: Element) -> Iterator[Element]:
        return function(*element)[0].iterate()  # type: ignore[no-any-return]

    return FromFunction(lambda: flattened(map(inner, input_dataset.iterate())))


@kernel(
    "InterleaveDataset", stateful=True, cpu_only="the function's own nodes are placed by themselves"
)
def interleave_dataset_kernel(
    ctx: KernelContext,
    input_dataset: Any,
    other_arguments: list[Any],
    cycle_length: Array,
    block_length: Array,
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
                    following = END if ended else next(elements, END)
                    if following is END:
                        ended = True
                        if all(s is None for s in slots):
                            return END
                        go_on()
                    else:
                        slots[at] = function(*following)[0].iterate()
                    continue
                item = next(source, END)
                if item is END:
                    slots[at] = None
                    go_on()
                    continue
                num_given += 1
                if num_given == block:
                    go_on()
                return item

        return pulled(pull)

    return FromFunction(start)


@kernel(
    "ParallelInterleaveDataset",
    "ParallelInterleaveDatasetV2",
    stateful=True,
    cpu_only="the function's own nodes are placed by themselves",
)
def parallel_interleave_dataset_kernel(
    ctx: KernelContext,
    input_dataset: Any,
    other_arguments: list[Any],
    cycle_length: Array,
    block_length: Array,
    *how: Array,
    f: Any,
) -> Any:
    return interleave_dataset_kernel(
        ctx, input_dataset, other_arguments, cycle_length, block_length, f=f
    )


@kernel("ScanDataset", stateful=True, cpu_only="the function's own nodes are placed by themselves")
def scan_dataset_kernel(
    ctx: KernelContext,
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
            try:
                results = function(*state, *element)
            except OutOfRangeError as e:  # would be taken for the end of the dataset
                text = f"Function invocation produced OutOfRangeError: {e.message}"
                raise InvalidArgumentError(None, None, text) from e
            state[:] = results[:width]
            return tuple(results[width:])

        return map(step, input_dataset.iterate())

    return FromFunction(start, input_dataset.num_elements)


@kernel(
    "ReduceDataset", stateful=True, cpu_only="the function's own nodes are placed by themselves"
)
def reduce_dataset_kernel(
    ctx: KernelContext,
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


@kernel(
    "TakeWhileDataset", stateful=True, cpu_only="the function's own nodes are placed by themselves"
)
def take_while_dataset_kernel(
    ctx: KernelContext, input_dataset: Any, other_arguments: list[Any], *, predicate: Any
) -> Any:
    function = predicate.bind(ctx, other_arguments)

    def start() -> Iterator[Element]:
        elements = input_dataset.iterate()
        ended = False

        def pull() -> Any:
            nonlocal ended
            element = END if ended else next(elements, END)
            if element is not END and not bool(function(*element)[0]):
                element, ended = END, True
            return element

        return pulled(pull)

    return FromFunction(start)


@kernel(
    "GroupByWindowDataset",
    stateful=True,
    cpu_only="the functions' own nodes are placed by themselves",
)
def group_by_window_dataset_kernel(
    ctx: KernelContext,
    input_dataset: Any,
    key_func_other_arguments: list[Any],
    reduce_func_other_arguments: list[Any],
    window_size_func_other_arguments: list[Any],
    *,
    key_func: Any,
    reduce_func: Any,
    window_size_func: Any,
) -> Any:
    key_of = key_func.bind(ctx, key_func_other_arguments)
    reduced = reduce_func.bind(ctx, reduce_func_other_arguments)
    size_of = window_size_func.bind(ctx, window_size_func_other_arguments)

    def start() -> Iterator[Element]:
        elements = input_dataset.iterate()
        groups: dict[int, tuple[int, list[Element]]] = {}
        given: Iterator[Element] = iter(())  # of the window that is handed out

        def window_of(key: int) -> Iterator[Element]:
            _, gathered = groups.pop(key)
            window = FromFunction(lambda: iter(gathered))
            return reduced(np.int64(key), window)[0].iterate()  # type: ignore[no-any-return]

        def pull() -> Any:
            nonlocal given
            while True:
                item = next(given, END)
                if item is not END:
                    return item
                element = next(elements, END)
                if element is END:
                    if not groups:
                        return END
                    given = window_of(min(groups))
                    continue
                key = int(key_of(*element)[0])
                if key not in groups:
                    size = int(size_of(np.int64(key))[0])
                    if size <= 0:
                        raise InvalidArgumentError(
                            None, None, f"Window size must be greater than zero, but got {size}."
                        )
                    groups[key] = (size, [])
                size, gathered = groups[key]
                gathered.append(element)
                if len(gathered) == size:
                    given = window_of(key)

        return pulled(pull)

    return FromFunction(start)
