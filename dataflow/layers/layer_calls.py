"""The calls of a layer: what went in, what came out, and which losses and updates hang on it."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterable, Sequence, Set
from types import FunctionType
from typing import Any

from dataflow.graph import nest
from dataflow.graph.operation import Operation


class Number(float):
    """A number that a program adds to a layer as a loss or an update: as it is, and what it is of."""

    extras: dict[str, Any] | None = None


#: What `arguments_of` has found, by the function of a method.
_arguments: weakref.WeakKeyDictionary[Any, tuple[Set[str], bool]] = weakref.WeakKeyDictionary()


def arguments_of(method: Callable[..., Any]) -> tuple[Set[str], bool]:
    """The names of a method's arguments, and whether it takes any other by name.

    Found once for the methods of a class, as layers ask at each call.
    """
    function = getattr(method, "__func__", None)
    found = _arguments.get(function) if type(function) is FunctionType else None
    if found is None:
        parameters = inspect.signature(method).parameters
        takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        found = frozenset(parameters), takes_any
        if type(function) is FunctionType:
            _arguments[function] = found
    return found


def by_name(method: Callable[..., Any], given: Sequence[Any]) -> dict[str, Any]:
    """The arguments after the first one, as a call has them by position, by their names in ``method``."""
    if not given:
        return {}
    parameters = list(inspect.signature(method).parameters.values())[1:]
    named = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    return dict(zip(named, given, strict=False))


class LayerCalls:
    """A layer's side that remembers its calls. ``name``, ``losses`` and ``updates`` are the layer's."""

    name: Any
    losses: Any
    updates: Any

    #: Whether a layer keeps states between batches: those that do say so.
    stateful = False

    @property
    def dynamic(self) -> bool:
        """Whether a layer runs only eagerly: those that do say so."""
        return False

    def __init__(self) -> None:
        self._calls: list[tuple[Any, Any]] = []

    def remember_call(self, inputs: Any, outputs: Any) -> None:
        """Notes what a call was given and what it returned."""
        self._calls.append((inputs, outputs))

    def _drop_training(self, kwargs: dict[str, Any]) -> None:
        """Takes ``training`` out where `call` does not ask for it, so that all layers may be told."""
        if "training" in kwargs:
            asked, takes_any = arguments_of(self.call)  # type: ignore[attr-defined]
            if "training" not in asked and not takes_any:
                del kwargs["training"]

    def _call_at(self, index: int, part: int) -> Any:
        if not self._calls:
            what = "output" if part else "input"
            raise AttributeError(f"Layer {self.name} is not connected: it has no {what} to return.")
        if not -len(self._calls) <= index < len(self._calls):
            raise ValueError(
                f"Layer {self.name} has been called {len(self._calls)} times, there is no call {index}."
            )
        return self._calls[index][part]

    def _common_shape(self, part: int) -> Any:
        self._call_at(0, part)
        shapes = [shapes_of(call[part]) for call in self._calls]
        if any(shape != shapes[0] for shape in shapes):
            which = "output" if part else "input"
            raise AttributeError(
                f"Layer {self.name} was called with inputs of several shapes, so that it has no one "
                f"{which} shape; use get_{which}_shape_at(index)."
            )
        return shapes[0]

    @property
    def input(self) -> Any:
        """The tensors of the first call; raises `AttributeError` before it."""
        return self._call_at(0, 0)

    @property
    def output(self) -> Any:
        """What the first call returned; raises `AttributeError` before it."""
        return self._call_at(0, 1)

    @property
    def input_shape(self) -> Any:
        """The shape of `input`, a tuple with None where unknown; `AttributeError` where calls differ."""
        return self._common_shape(0)

    @property
    def output_shape(self) -> Any:
        """The shape of `output`, a tuple with None where unknown; `AttributeError` where calls differ."""
        return self._common_shape(1)

    def get_input_at(self, node_index: int) -> Any:
        """The tensors of call ``node_index``; raises `ValueError` where there was none."""
        return self._call_at(node_index, 0)

    def get_output_at(self, node_index: int) -> Any:
        """What call ``node_index`` returned; raises `ValueError` where there was none."""
        return self._call_at(node_index, 1)

    def get_input_shape_at(self, node_index: int) -> Any:
        """The shape of `get_input_at`."""
        return shapes_of(self.get_input_at(node_index))

    def get_output_shape_at(self, node_index: int) -> Any:
        """The shape of `get_output_at`."""
        return shapes_of(self.get_output_at(node_index))

    def get_losses_for(self, inputs: Any) -> list[Any]:
        """The losses that are computed from ``inputs``; with None, those that need no input at all."""
        return self._among(self.losses, inputs)

    def get_updates_for(self, inputs: Any) -> list[Any]:
        """The updates that are computed from ``inputs``; with None, those that need no input at all."""
        return self._among(self.updates, inputs)

    def _all_inputs(self) -> list[Any]:
        """What all calls were given."""
        return [tensor for call in self._calls for tensor in nest.flatten(call[0])]

    def _among(self, found: Iterable[Any], inputs: Any) -> list[Any]:
        if inputs is None:
            sources = {id(t) for t in self._all_inputs()}
            return [item for item in found if not (_said(item) or _needs(item, sources))]
        sources = {id(t) for t in nest.flatten(inputs)}
        sources |= {id(t.handle) for t in nest.flatten(inputs) if hasattr(t, "handle")}
        return [item for item in found if _said(item) & sources or _needs(item, sources)]


def shapes_of(tensors: Sequence[Any]) -> Any:
    """The static shapes of a nesting of tensors, as tuples; None where the rank is unknown."""
    return nest.map_structure(
        lambda t: None if t.shape.ndims is None else tuple(t.shape.as_list()), tensors
    )


def _said(item: Any) -> set[int]:
    """The ids of the inputs that a loss or an update was added with."""
    return set(map(id, (getattr(item, "extras", None) or {}).get("inputs") or ()))


def _needs(item: Any, sources: set[int]) -> bool:
    """Whether an op or tensor is computed from a tensor whose id is among the ``sources``."""
    if id(item) in sources:
        return True
    if isinstance(item, Number):
        return False
    waiting: list[Operation] = [item if isinstance(item, Operation) else item.op]
    seen = set(map(id, waiting))
    while waiting:
        op = waiting.pop()
        if any(id(tensor) in sources for tensor in op.inputs):
            return True
        # A variable that is read after its assignment has it as a control input.
        for before in (*(tensor.op for tensor in op.inputs), *op.control_inputs):
            if id(before) not in seen:
                seen.add(id(before))
                waiting.append(before)
    return False
