"""``tensorflow.python.training.tracking.{base data_structures}``: what objects that are saved hold."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from dataflow.ops.trackable import AutoTrackable, TrackableReference as TrackableReference

__all__ = [
    "AutoTrackable",
    "NoDependency",
    "Trackable",
    "TrackableReference",
    "no_automatic_dependency_tracking",
    "no_automatic_dependency_tracking_scope",
]

Trackable = AutoTrackable
_Method = TypeVar("_Method", bound=Callable[..., Any])


class NoDependency:
    """``self.x = NoDependency(value)``: the attribute is ``value``.

    Attributes are not wrapped here, so there is nothing to keep from being wrapped.
    """

    def __new__(cls, value: Any) -> Any:
        return value


def no_automatic_dependency_tracking(method: _Method) -> _Method:
    """``method`` as it is: attributes are looked for when a checkpoint is written, not when they are set."""
    return method


@contextlib.contextmanager
def no_automatic_dependency_tracking_scope(obj: Any) -> Iterator[None]:
    """A block in which attributes of ``obj`` are set; they stay what they are, as ever."""
    yield
