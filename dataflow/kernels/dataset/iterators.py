"""Kernels of iterators over datasets."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.errors import InvalidArgumentError, OutOfRangeError
from dataflow.kernels.array_types import Array
from dataflow.kernels.dataset.elements import END, Element
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

    def next(self) -> Element:
        """The next element; `OutOfRangeError` at the end."""
        with self.lock:
            if self.elements is None:
                from dataflow.errors import FailedPreconditionError

                raise FailedPreconditionError(
                    None,
                    None,
                    "GetNext() failed because the iterator has not been initialized: run the "
                    f"initializer operation of {self.name!r} before getting the next element.",
                )
            element = next(self.elements, END)
            if element is END:
                raise OutOfRangeError(None, None, "End of sequence")
            return element


@kernel("IteratorV2", stateful=True, cpu_only="datasets live on the host")
def iterator_kernel(ctx: KernelContext, *, output_types: Any, output_shapes: Any) -> Any:
    return ctx.resource(
        "iterator", lambda: IteratorResource(ctx.resource_name, output_types, output_shapes)
    )


@kernel("MakeIterator", stateful=True, cpu_only="datasets live on the host")
def make_iterator_kernel(ctx: KernelContext, dataset: Any, iterator: Any) -> None:
    started = dataset.iterate()
    with iterator.lock:
        old, iterator.elements = iterator.elements, started
    if hasattr(old, "close"):
        with contextlib.suppress(ValueError):
            old.close()


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
        (dataset,) = dataset_factory.bind(ctx, other_arguments)()
        resource.elements = dataset.iterate()
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
