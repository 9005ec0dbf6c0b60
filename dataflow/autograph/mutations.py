"""Lists and dictionaries that change while a branch or loop on tensors is traced."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

from dataflow.graph.nest import flatten
from dataflow.graph.tensor import Tensor


class Watch:
    """Refuses that the block puts tensors into a list, dict or set that a function can reach, or takes
    parts out of one: that would happen once, when the graph is built, whatever the condition is.

    Raises `NotImplementedError` at the block's end.
    """

    def __init__(self, function: Callable[..., Any], where: str) -> None:
        self._where = where
        self._before = [(c, _parts(c)) for c in _containers(function)]

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, *exc: Any) -> None:
        if kind is not None:
            return
        for container, before in self._before:
            now = _parts(container)
            old = {id(p) for p in before}
            added = [p for p in now if id(p) not in old]
            gone = len(now) < len(before)
            if gone or any(isinstance(t, Tensor) for part in added for t in flatten(part)):
                raise NotImplementedError(
                    f"a {type(container).__name__} changes within {self._where}, which depends on a "
                    "tensor: it would change once, when the graph is built. Keep the values in a "
                    "tf.TensorArray (a = a.write(i, x)), or assign a tensor to a variable."
                )


def _parts(container: Any) -> list[Any]:
    return list(container.values()) if isinstance(container, dict) else list(container)


def _containers(function: Callable[..., Any]) -> list[Any]:
    """Lists, dicts and sets among the variables of the function around it."""
    code: CodeType = function.__code__
    names = {n for n in code.co_freevars if n != "ag__"}
    found = []
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # assigned later
            continue
        if name in names and isinstance(value, (list, dict, set)):
            found.append(value)
    return found
