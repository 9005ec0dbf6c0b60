"""Kernels of iterators over datasets."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError
from dataflow.kernels.array_types import Array
from dataflow.kernels.dataset.elements import END, Element, chance_from
from dataflow.kernels.optional import OptionalValue
from dataflow.kernels.registry import kernel
from dataflow.kernels.text_decoding import text
from dataflow.shapes import compatible

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext


class IteratorResource:
    """An iterator that sessions share: one element at a time, whichever thread asks."""

    def __init__(self, name: str, dtypes: list[Any], shapes: list[Any]) -> None:
        self.name = name
        self.dtypes = dtypes
        self.shapes = shapes
        self.lock = threading.Lock()
        self.elements: Iterator[Element] | None = None
        #: How many elements were taken, those that failed as well.
        self.num_taken = 0
        #: Makes the dataset anew, where the iterator can; and the chance that it was made with.
        self.begin: Callable[[], Iterator[Element]] | None = None
        self.chance = 0

    def start(self, elements: Iterator[Element]) -> None:
        """Goes on with these elements, from the first."""
        with self.lock:
            old, self.elements, self.num_taken = self.elements, elements, 0
        if hasattr(old, "close"):
            with contextlib.suppress(ValueError):
                old.close()  # type: ignore[union-attr]

    def begin_by_chance(self, chance: int) -> None:
        """Starts with a dataset that is made anew, whose unseeded parts follow from ``chance``."""
        assert self.begin is not None
        self.chance = chance
        with chance_from(chance):
            elements = self.begin()
        self.start(elements)

    def position(self) -> bytes:
        """What `go_to` needs to come here again; raises `FailedPreconditionError` before the start."""
        self._check_started()
        return json.dumps({"num_taken": self.num_taken, "chance": self.chance}).encode()

    def go_to(self, position: bytes) -> None:
        """Begins again and leaves out as many elements as had been taken at ``position``."""
        stored = json.loads(position)
        if self.begin is not None:
            self.begin_by_chance(stored["chance"])
        self._check_started()
        if self.num_taken:
            raise FailedPreconditionError(
                None,
                None,
                f"the iterator {self.name!r} has given elements, and its dataset depends on what is fed: "
                "run its initializer right before it is restored.",
            )
        for _ in range(stored["num_taken"]):
            with contextlib.suppress(Exception):  # it was given as an error
                self.next()

    def _check_started(self) -> None:
        if self.elements is None:
            raise FailedPreconditionError(
                None, None, f"run the initializer of the iterator {self.name!r} first."
            )

    def next(self) -> Element:
        """The next element; `OutOfRangeError` at the end."""
        with self.lock:
            if self.elements is None:
                raise FailedPreconditionError(
                    None,
                    None,
                    "GetNext() failed because the iterator has not been initialized: run the "
                    f"initializer operation of {self.name!r} before getting the next element.",
                )
            self.num_taken += 1
            element = next(self.elements, END)
            if element is END:
                raise OutOfRangeError(
                    None,
                    None,
                    "End of sequence: the dataset has no more elements. A loop over it ends at "
                    "tf.errors.OutOfRangeError; dataset.repeat() begins again.",
                )
            return element


@kernel("IteratorV2", stateful=True, cpu_only="datasets live on the host")
def iterator_kernel(ctx: KernelContext, *, output_types: Any, output_shapes: Any) -> Any:
    return ctx.resource(
        "iterator", lambda: IteratorResource(ctx.resource_name, output_types, output_shapes)
    )


@kernel("MakeIterator", stateful=True, cpu_only="datasets live on the host")
def make_iterator_kernel(ctx: KernelContext, dataset: Any, iterator: Any) -> None:
    iterator.start(dataset.iterate())


@kernel("OneShotIterator", stateful=True, cpu_only="datasets live on the host")
def one_shot_iterator_kernel(
    ctx: KernelContext,
    other_arguments: list[Any],
    *,
    dataset_factory: Any,
    output_types: Any,
    output_shapes: Any,
) -> Any:
    found = ctx.resources.get(ctx.container, "iterator", ctx.resource_name)
    if found is not None:
        return found

    def create() -> IteratorResource:
        resource = IteratorResource(ctx.resource_name, output_types, output_shapes)
        resource.begin = lambda: dataset_factory.bind(ctx, other_arguments)()[0].iterate()
        resource.begin_by_chance(int.from_bytes(os.urandom(7), "little"))
        return resource

    return ctx.resource("iterator", create)


@kernel("IteratorGetNext", stateful=True, cpu_only="datasets live on the host")
def iterator_get_next_kernel(ctx: KernelContext, iterator: Any, *, output_types: Any) -> Any:
    element = iterator.next()
    if len(element) == 1 and len(output_types) == 1:
        return element
    return tuple(element)


@kernel("IteratorGetNextAsOptional", stateful=True, cpu_only="datasets live on the host")
def iterator_get_next_as_optional_kernel(ctx: KernelContext, iterator: Any) -> OptionalValue:
    try:
        return OptionalValue(tuple(iterator.next()))
    except OutOfRangeError:
        return OptionalValue(None)


@kernel("IteratorToStringHandle", stateful=True, cpu_only="datasets live on the host")
def iterator_to_string_handle_kernel(ctx: KernelContext, resource_handle: Any) -> Any:
    ctx.resources.put("", "iterator_handle", resource_handle.name, resource_handle)
    return np.array(resource_handle.name.encode(), dtype=object)


@kernel("SerializeIterator", stateful=True, cpu_only="datasets live on the host")
def serialize_iterator_kernel(ctx: KernelContext, resource_handle: Any) -> Any:
    return np.array(resource_handle.position(), dtype=object)


@kernel("DeserializeIterator", stateful=True, cpu_only="datasets live on the host")
def deserialize_iterator_kernel(
    ctx: KernelContext, resource_handle: Any, serialized: Array
) -> None:
    resource_handle.go_to(text(serialized).encode())


@kernel("IteratorFromStringHandleV2", stateful=True, cpu_only="datasets live on the host")
def iterator_from_string_handle_kernel(
    ctx: KernelContext, string_handle: Array, *, output_types: Any, output_shapes: Any
) -> Any:
    name = text(string_handle)
    found = ctx.resources.get("", "iterator_handle", name)
    if found is None:
        raise InvalidArgumentError(
            None,
            None,
            f"no iterator is called {name!r}: feed the value of iterator.string_handle(), taken in "
            "this session.",
        )
    known = [s for s in (output_shapes, found.shapes) if s]
    fits = [d.name for d in output_types] == [d.name for d in found.dtypes] and (
        len(known) < 2 or all(compatible(a, b) for a, b in zip(*known, strict=True))
    )
    if not fits:
        raise InvalidArgumentError(
            None,
            None,
            f"the iterator {name!r} gives {_kinds(found.dtypes, found.shapes)}, and is read as "
            f"{_kinds(output_types, output_shapes)}: from_string_handle needs its types and shapes.",
        )
    return found


def _kinds(dtypes: Any, shapes: Any) -> str:
    dims = shapes or [None] * len(dtypes)
    return ", ".join(
        f"{d.name} {'?' if s is None else list(s)}" for d, s in zip(dtypes, dims, strict=True)
    )
