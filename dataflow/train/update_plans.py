"""Steps of optimizers in eager code, compiled once.

A training loop of eager code changes the same variables by gradients of the same shapes again and again.
The first step does so operation by operation, and makes the slots. At the second one the updates of all
variables are built as a graph and compiled; from then on a step hands its gradients to that plan, with
those settings of the optimizer that are tensors: they are read at each step, as the learning rate.

What runs code of a program's own (its optimizer, a constraint), and what a tape records, stays as it is.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from dataflow.graph import eager
from dataflow.graph.eager_tensor import EagerTensor
from dataflow.graph.tape import recording
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.resource_variables import ResourceVariable
from dataflow.ops.sources import placeholder

#: Kinds of steps that an optimizer keeps, and plans of a kind that differ in their settings.
_MOST_KINDS, _MOST_PLANS = 32, 8
#: Where the engine's own optimizers are, whose updates do the same each time.
_OWN = ("dataflow.train.", "dataflow.keras.")
_MISSING = object()
_lock = threading.RLock()


class Settings:
    """What the updates of an optimizer depend on beside gradients and variables, at one step."""

    __slots__ = ("key", "owner", "tensors")

    def __init__(self, owner: Any, tensors: dict[str, Any], key: tuple[Any, ...] = ()) -> None:
        #: Its attributes are noted where the updates read them.
        self.owner = owner
        #: Those that a plan is given anew at each step.
        self.tensors = tensors
        self.key = key


class _Plan:
    """A compiled step, for settings like those that it was made with."""

    __slots__ = ("call", "key", "read", "tensors")

    def __init__(self, call: Callable[..., Any], settings: Settings, read: dict[str, Any]) -> None:
        self.call = call
        self.key = settings.key
        self.tensors = _kinds_of(settings)
        self.read = read

    def fits(self, settings: Settings, tensors: tuple[Any, ...]) -> bool:
        """Whether the step of these settings is this one, but for the values of tensors."""
        if self.key != settings.key or self.tensors != tensors:
            return False
        now = vars(settings.owner)
        for name, value in self.read.items():
            other = now.get(name, _MISSING)
            if other is not value and (type(other) not in (float, int) or other != value):
                return False
        return True


def _kinds_of(settings: Settings) -> tuple[Any, ...]:
    return tuple([(name, t.dtype, t.dims) for name, t in settings.tensors.items()])


class StepKind:
    """Steps that change the same variables by gradients of the same shapes and dtypes."""

    def __init__(self) -> None:
        #: Whether slots are still to be made.
        self.is_new = True
        self._plans: list[_Plan] = []
        self._watched: list[weakref.ref[Any]] = []
        self._left = _MOST_PLANS

    def run(self, optimizer: Any, pairs: list[Any], step: Any) -> bool:
        """Makes a step by a plan. False where it was not made: at the first, and where none can be."""
        if self.is_new or not self._left:
            return False
        settings = optimizer._settings()
        if settings is None:
            self._left = 0
            return False
        tensors = _kinds_of(settings)
        plan = next((p for p in self._plans if p.fits(settings, tensors)), None)
        if plan is None:
            with _lock:
                plan = self._build(optimizer, pairs, step, settings)
                if plan is None:
                    return False
        values: list[Any] = []
        for grad, _ in pairs:
            values += [part.known_value for part in _parts(grad)]
        values += [tensor.known_value for tensor in settings.tensors.values()]
        plan.call(*values)
        return True

    def watch(self, variables: list[Any], forget: Callable[[Any], None]) -> None:
        """Calls ``forget`` when one of the variables goes."""
        self._watched = [weakref.ref(variable, forget) for variable in variables]

    def _build(
        self, optimizer: Any, pairs: list[Any], step: Any, settings: Settings
    ) -> _Plan | None:
        self._left -= 1
        if not self._left:  # they differ each time
            self._plans.clear()
            return None
        try:
            plan = _build(optimizer, pairs, step, settings)
        except Exception:  # the step itself says what is wrong, where it is
            self._left = 0
            return None
        self._plans.append(plan)
        return plan


_kinds_by_optimizer: weakref.WeakKeyDictionary[Any, dict[Any, StepKind]] = (
    weakref.WeakKeyDictionary()
)


_own: dict[type, bool] = {}


def is_own(kind: type) -> bool:
    """Whether the objects of a class run nothing but the engine's own code."""
    found = _own.get(kind)
    if found is None:
        bases = kind.__mro__
        found = all(base is object or base.__module__.startswith(_OWN) for base in bases)
        if found:  # a class of a program may go
            _own[kind] = found
    return found


def kind_of(optimizer: Any, pairs: list[Any], step: Any) -> StepKind | None:
    """The kind of the step of ``pairs`` (gradient, variable); ``None`` where none can be planned."""
    if recording.tapes or not is_own(type(optimizer)):
        return None
    variables = [variable for _, variable in pairs]
    if step is not None:
        variables.append(step)
    key: list[Any] = []
    for variable in variables:
        if type(variable) is not ResourceVariable or variable.constraint is not None:
            return None
        key.append(variable.handle.op.attrs.get("shared_name"))
    if len(set(key)) < len(key):
        return None  # one after the other
    for grad, _ in pairs:
        for part in _parts(grad):
            if type(part) is not EagerTensor or part.known_value is None:
                return None
            key += (part.dtype, part.dims if part is grad else len(part.dims or ()))
        key.append((grad.values.dims or ())[1:] if isinstance(grad, IndexedSlices) else None)
    kinds = _kinds_by_optimizer.get(optimizer)
    if kinds is None:
        with _lock:
            kinds = _kinds_by_optimizer.setdefault(optimizer, {})
    found = kinds.get(tuple(key))
    return _new_kind(kinds, tuple(key)) if found is None else found


def _new_kind(kinds: dict[Any, StepKind], key: Any) -> StepKind:
    with _lock:
        if len(kinds) >= _MOST_KINDS:
            kinds.pop(next(iter(kinds)))
        return kinds.setdefault(key, StepKind())


def slots_are_made(kind: StepKind, optimizer: Any, pairs: list[Any], slots: list[Any]) -> None:
    """Says that the first step was made; the kind goes with the first of its variables and slots."""
    kinds = _kinds_by_optimizer[optimizer]

    def forget(_: Any) -> None:
        for key in [k for k, v in list(kinds.items()) if v is kind]:
            kinds.pop(key, None)

    kind.watch([*(variable for _, variable in pairs), *slots], forget)
    kind.is_new = False


def _parts(grad: Any) -> list[Any]:
    if not isinstance(grad, IndexedSlices):
        return [grad]
    found = [grad.values, grad.indices, grad.dense_shape]
    return [part for part in found if part is not None]


def _build(optimizer: Any, pairs: list[Any], step: Any, settings: Settings) -> _Plan:
    graph = eager.SymbolicGraph()
    feeds: list[Any] = []

    def stand_in(tensor: Any, dims: Any) -> Any:
        feeds.append(placeholder(tensor.dtype.base_dtype, dims))
        return feeds[-1]

    def gradient(grad: Any) -> Any:
        if not isinstance(grad, IndexedSlices):
            return stand_in(grad, grad.dims)
        values = stand_in(grad.values, (None, *(grad.values.dims or ())[1:]))
        return IndexedSlices(values, *(stand_in(part, (None,)) for part in _parts(grad)[1:]))

    with graph.as_default():
        given = [(gradient(grad), variable) for grad, variable in pairs]
        tensors = {name: stand_in(t, t.dims) for name, t in settings.tensors.items()}
        copy, read = noting_copy(settings.owner)
        traced = optimizer._in_plan(copy, tensors, [variable for _, variable in pairs])
        with graph.name_scope(optimizer.get_name()) as scope:
            done = traced._all_updates(given, step, scope)
    own = vars(settings.owner)
    # Steps of Keras refer to their owner: kept in a plan, they would keep both.
    names = (read & own.keys()) - tensors.keys() - {"_steps"}
    return _Plan(eager.callable_of(graph, done, feeds), settings, {k: own[k] for k in names})


def noting_copy(owner: Any) -> tuple[Any, set[str]]:
    """A copy of an object with the same attributes, and the names of those read from it so far."""
    read: set[str] = set()
    kind: Any = type(owner)

    def getattribute(self: Any, name: str) -> Any:
        read.add(name)
        return kind.__getattribute__(self, name)

    made: Any = object.__new__(type(kind.__name__, (kind,), {"__getattribute__": getattribute}))
    made.__dict__.update(vars(owner))
    read.clear()
    return made, read
