"""Small parts of ``tensorflow.python.framework``, ``util`` and ``platform`` that programs import."""

from __future__ import annotations

import contextlib
import functools
import traceback
from collections.abc import Callable, Iterator, KeysView
from typing import Any

from dataflow.graph.default_stacks import default_graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import get_op
from dataflow.graph.tape import recording
from dataflow.ops.effects import in_order
from dataflow.ops.identity import identity

__all__ = [
    "IS_IN_GRAPH_MODE",
    "AutomaticControlDependencies",
    "OpDefLibrary",
    "Registry",
    "apply_op",
    "is_cuda_build",
    "is_rocm_build",
    "keyword_args_only",
    "stop_recording",
]

#: Of ``platform.build_info``: this engine is built for no kind of GPU; CuPy is found when it is there.
is_cuda_build = False
is_rocm_build = False


def IS_IN_GRAPH_MODE() -> bool:
    """Whether operations become nodes of a graph."""
    return not default_graph().executes_eagerly


class Registry:
    """Objects by name, each once: ``registry.register(candidate, name)``, ``registry.lookup(name)``."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._found: dict[str, tuple[Any, str]] = {}

    def register(self, candidate: Any, name: str | None = None) -> None:
        """Keeps ``candidate`` under ``name``, its own by default; raises `KeyError` where one is there."""
        name = name or candidate.__name__
        if name in self._found:
            raise KeyError(
                f"Registering two {self._name} with name {name!r}! "
                f"(Previous registration was in {self._found[name][1]})"
            )
        caller = traceback.extract_stack(limit=2)[0]
        self._found[name] = candidate, f"{caller.name} {caller.filename}:{caller.lineno}"

    def list(self) -> KeysView[str]:
        """The names."""
        return self._found.keys()

    def lookup(self, name: str | bytes) -> Any:
        """What was registered under ``name``; raises `LookupError` where nothing was."""
        name = name.decode() if isinstance(name, bytes) else name
        if name not in self._found:
            raise LookupError(f"{self._name} registry has no entry for: {name}")
        return self._found[name][0]


def keyword_args_only(func: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator: the function takes keyword arguments alone.

    A call with others raises `ValueError`, and so does decorating what is not callable.
    """
    if not callable(func):
        raise ValueError(f"{func!r} is not a function: keyword_args_only decorates functions.")

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        if args:
            raise ValueError(f"Must use keyword args to call {func.__name__}.")
        return func(**kwargs)

    return call


@contextlib.contextmanager
def stop_recording() -> Iterator[None]:
    """A block of eager code of which no tape records anything."""
    before, recording.tapes = recording.tapes, []
    try:
        yield
    finally:
        recording.tapes = before


class AutomaticControlDependencies:
    """A block whose effects come in the order of its lines, all before what it returns.

    ``with AutomaticControlDependencies() as c: v.assign(2.0); result = c.mark_as_return(v + 1.0)``
    """

    def __init__(self) -> None:
        self._returned: list[Any] = []

    def mark_as_return(self, tensor: Any) -> Any:
        """The tensor, available when the effects of the block have happened."""
        found = identity(tensor)
        self._returned.append(found)
        return found

    def __enter__(self) -> AutomaticControlDependencies:
        graph = default_graph()
        self._ordering = contextlib.nullcontext() if graph.executes_eagerly else in_order(graph)
        self._made: Callable[[], list[Operation]] | None = self._ordering.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._ordering.__exit__(*error)
        if error[0] is None and self._made is not None:
            effects = self._made()
            for tensor in self._returned:
                tensor.op._add_control_inputs([op for op in effects if op is not tensor.op])


def apply_op(op_type_name: str, name: str | None = None, **keywords: Any) -> Any:
    """Adds a node of an op by its type, with its inputs and attributes by name.

    Raises `RuntimeError` for a type that is not known.
    """
    try:
        found = get_op(op_type_name)
    except KeyError:
        raise RuntimeError(f"Unrecognized Op name {op_type_name}") from None
    given = {key: value for key, value in keywords.items() if value is not None}
    return found(name=name, **given)


class OpDefLibrary:
    """``op_def_library.OpDefLibrary``: its `apply_op` knows every op that there is."""

    def add_op(self, op_def: Any) -> None:
        """Nothing to do: an op of a program's own is made with `define_op`."""

    add_op_list = add_op
    apply_op = staticmethod(apply_op)
