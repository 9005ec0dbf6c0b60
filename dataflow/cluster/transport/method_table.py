"""The calls that a task answers: its services mark methods, and one table finds them by name.

A call is a message with a name, a JSON head and arrays; see `execution.master.call`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from dataflow.cluster.transport.connection import Connection
from dataflow.errors import NotFoundError

#: ``method(connection, head, arrays)`` returns the reply's head, a pair of that and arrays, or ``None``.
Method = Callable[[Connection, dict[str, Any], list[Any]], Any]
#: Returned by a method that answers the caller later, by itself.
LATER = object()
Function = TypeVar("Function", bound=Callable[..., Any])


def answers(name: str) -> Callable[[Function], Function]:
    """Marks a method of a service: it answers the calls of that name."""

    def mark(function: Function) -> Function:
        function.answers = name  # type: ignore[attr-defined]
        return function

    return mark


class MethodTable:
    """The methods of all services of a task, by the name of the call."""

    def __init__(self, task: str, services: Iterable[object]) -> None:
        """Raises ValueError if two methods answer the same calls."""
        self._task = task
        self._methods: dict[str, Method] = {}
        for service in services:
            for attribute, member in _marked(type(service)):
                if member.answers in self._methods:
                    raise ValueError(f"{task}: two methods answer {member.answers!r}.")
                self._methods[member.answers] = getattr(service, attribute)

    @property
    def names(self) -> list[str]:
        """The names of all calls, sorted."""
        return sorted(self._methods)

    def find(self, name: str) -> Method:
        """The method that answers ``name``. Raises NotFoundError if there is none."""
        found = self._methods.get(name)
        if found is None:
            raise NotFoundError(
                None,
                None,
                f"{self._task} has no method {name!r}; it has {', '.join(self.names)}.\n"
                "Its dataflow may be of another version than yours.",
            )
        return found


def _marked(kind: type) -> list[tuple[str, Any]]:
    members = {
        name: member for base in reversed(kind.__mro__) for name, member in vars(base).items()
    }
    return [(name, member) for name, member in members.items() if hasattr(member, "answers")]
