"""Of ``tensorflow.python.training.tracking.tracking``: values kept for each object, and objects that hold resources."""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from dataflow.ops.graph_functions import device
from dataflow.ops.trackable import AutoTrackable
from dataflow.saved_model.assets import TrackableAsset as TrackableAsset

#: Its name before TensorFlow 1.14.
Asset = TrackableAsset

__all__ = [
    "Asset",
    "CapturableResource",
    "CapturableResourceDeleter",
    "NotTrackable",
    "ResourceTracker",
    "TrackableAsset",
    "TrackableResource",
    "cached_per_instance",
    "resource_tracker_scope",
]

_trackers: list[ResourceTracker] = []


class NotTrackable:
    """A mark on classes whose objects no checkpoint holds: saving one raises `NotImplementedError`."""

    is_in_no_checkpoint = True


class ResourceTracker:
    """Lists the resources that are made within `resource_tracker_scope`."""

    def __init__(self) -> None:
        self._resources: list[Any] = []

    @property
    def resources(self) -> list[Any]:
        """Those seen, in the order in which they were made."""
        return self._resources

    def add_resource(self, resource: Any) -> None:
        """Adds one."""
        self._resources.append(resource)


@contextlib.contextmanager
def resource_tracker_scope(resource_tracker: ResourceTracker) -> Iterator[None]:
    """A block whose resources ``resource_tracker`` lists, and those around it, too."""
    _trackers.append(resource_tracker)
    try:
        yield
    finally:
        _trackers.pop()


class CapturableResourceDeleter:
    """Calls a function when a resource is gone."""

    def __init__(self, destroy_resource_fn: Callable[[], Any] | None = None) -> None:
        self._destroy = destroy_resource_fn

    def destroy_resource(self) -> Any:
        """Calls it, if there is one."""
        return self._destroy() if self._destroy is not None else None


class CapturableResource(AutoTrackable):
    """An object with a resource that is made at first use, by ``_create_resource()`` of a subclass."""

    def __init__(self, device: str = "", deleter: CapturableResourceDeleter | None = None) -> None:
        self._handle: Any = None
        self._resource_device = device
        self._resource_deleter = deleter or CapturableResourceDeleter()

    def _create_resource(self) -> Any:
        raise NotImplementedError("TrackableResource._create_resource not implemented.")

    def _initialize(self) -> Any:
        """What fills the resource; nothing here."""

    @property
    def resource_handle(self) -> Any:
        """What ``_create_resource`` gave."""
        if self._handle is None:
            with device(self._resource_device or None):
                self._handle = self._create_resource()
        return self._handle


class TrackableResource(CapturableResource):
    """A resource that the trackers around it list."""

    def __init__(self, device: str = "", deleter: CapturableResourceDeleter | None = None) -> None:
        for tracker in _trackers:
            tracker.add_resource(self)
        super().__init__(device=device, deleter=deleter)


def cached_per_instance(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A decorator for a property's function: what it returned is kept for each object, as long as that lives.

    Nothing is put into the object, so that a class with a ``__setattr__`` of its own does not notice.
    """
    kept: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    @functools.wraps(f)
    def cached(item: Any) -> Any:
        if item in kept:
            return kept[item]
        kept[item] = found = f(item)
        return found

    return cached
