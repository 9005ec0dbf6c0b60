"""`EagerIterator`: iterates over a dataset with eager execution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.data.component_tensors import put_together, taken_apart
from dataflow.data.iterators import Iterator
from dataflow.data.structure import Structured
from dataflow.dtypes import bool_
from dataflow.errors import OutOfRangeError
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.eager import eager_graph
from dataflow.graph.graph import Graph
from dataflow.ops.script_ops import py_func
from dataflow.providers import provided


class EagerIterator(Structured):
    """Iterates over a dataset once: ``for x in iterator``, or `get_next`.

    The dataset's nodes live in a graph of their own, run by the iterator's own session.
    """

    def __init__(self, dataset: Any) -> None:
        self._structure = dataset.structure
        graph = Graph()
        with graph.as_default():
            iterator: Iterator = dataset.iterator_here()
            flat = iterator.next_components()
            pairs = zip(self._structure.specs, flat, strict=True)
            self._parts = [taken_apart(spec, tensor) for spec, tensor in pairs]
        flat = [tensor for parts in self._parts for tensor in parts]
        self._dtypes = [tensor.dtype for tensor in flat]
        self._dims = [tensor.dims for tensor in flat]
        self._session = provided("session")(graph=graph)
        self._session.run(iterator.initializer)
        self._next = self._session.make_callable(flat)

    def __iter__(self) -> EagerIterator:
        if default_graph().traces_function:
            raise TypeError(
                "an eager iterator has no end while a function is traced: loop over it with `for` in a "
                "function with autograph=True, or loop over its dataset."
            )
        return self

    def __next__(self) -> Any:
        if default_graph().building_function:  # of `Dataset.map`, too
            return self._next_in_function()
        try:
            values = self._next()
        except OutOfRangeError:
            raise StopIteration from None
        graph = eager_graph()
        with graph.as_default():
            tensors = [
                graph.constant(value, dtype)
                for value, dtype in zip(values, self._dtypes, strict=True)
            ]
            return self._element(tensors)

    def _element(self, tensors: list[Any]) -> Any:
        """The element whose components these are the parts of."""
        rest = iter(tensors)
        return self._structure.pack(
            [
                put_together(spec, [next(rest) for _ in parts])
                for spec, parts in zip(self._structure.specs, self._parts, strict=True)
            ]
        )

    def _next_in_function(self) -> Any:
        """The next element at each call of the function that is being traced."""
        made = py_func(self._next, [], self._dtypes, name="IteratorGetNext")
        return self._element(self._shaped(made))

    def _shaped(self, tensors: list[Any]) -> list[Any]:
        for tensor, dims in zip(tensors, self._dims, strict=True):
            tensor.set_shape(dims)
        return tensors

    def in_loop(self) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
        """`Iterator.in_loop`, from the element on that comes next."""
        found: list[Any] = []

        def one_more() -> list[Any]:
            try:
                return [True, *self._next()]
            except OutOfRangeError:
                empty = [
                    np.zeros([d or 0 for d in dims or ()], dtype.numpy)
                    for dims, dtype in zip(self._dims, self._dtypes, strict=True)
                ]
                return [False, *empty]

        def more(index: Any) -> Any:
            flag, *found[:] = py_func(one_more, [], [bool_, *self._dtypes])
            flag.set_shape([])
            return flag

        def item(index: Any) -> Any:
            return self._element(self._shaped(found))

        return more, item

    next = __next__

    def get_next(self, name: str | None = None) -> Any:
        """The next element; `OutOfRangeError` at the end."""
        try:
            return self.__next__()
        except StopIteration:
            raise OutOfRangeError(None, None, "End of sequence") from None
