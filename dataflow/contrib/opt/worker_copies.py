"""Variables that each worker trains a copy of: getters that make the copies, and what they share.

A getter is the ``custom_getter`` of the `tf.variable_scope` that a model is made in: variables that are
trained become local ones on the worker's device, and for each there are others, as a global one of the
prefix "global_center_variable".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.ops.variable_scope import get_variable
from dataflow.train.session_run_hook import SessionRunHook

CENTER = "global_center_variable"


def _parts(variable: Any, partitioner: Any) -> list[Any]:
    return [variable] if partitioner is None else list(variable)


class WorkerCopies:
    """The ``custom_getter`` of a worker on ``worker_device`` ("/job:worker/task:0/cpu:0")."""

    #: The prefix of further copies on the worker; None for none.
    beside: str | None = None

    def __init__(self, worker_device: str) -> None:
        self._worker_device = worker_device
        self.centers: dict[Any, Any] = {}
        self.besides: dict[Any, Any] = {}

    def __call__(
        self,
        getter: Callable[..., Any],
        name: str,
        trainable: bool,
        collections: Any,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """A variable as `tf.get_variable` makes it, or the worker's copy of one that is trained."""
        graph = default_graph()
        if not trainable:
            on_worker = collections is not None and GraphKeys.LOCAL_VARIABLES in collections
            with graph.device(self._worker_device if on_worker else None):
                return getter(name, *args, trainable=False, collections=collections, **kwargs)
        with graph.device(self._worker_device):
            own = getter(
                name,
                *args,
                trainable=True,
                collections=[GraphKeys.LOCAL_VARIABLES],
                **kwargs,
            )
        partitioner = kwargs.get("partitioner")
        parts = _parts(own, partitioner)
        if parts[0] in self.centers:
            return own
        for part, center in zip(
            parts, self._centers_of(getter, name, own, args, kwargs), strict=True
        ):
            self.centers[part] = center
        if self.beside is not None:
            with graph.device(self._worker_device):
                further = getter(
                    f"{self.beside}/{name}",
                    *args,
                    trainable=False,
                    collections=[GraphKeys.LOCAL_VARIABLES],
                    **kwargs,
                )
            self.besides.update(zip(parts, _parts(further, partitioner), strict=True))
        return own

    def _centers_of(
        self, getter: Callable[..., Any], name: str, own: Any, args: Any, kwargs: Any
    ) -> list[Any]:
        center = getter(
            f"{CENTER}/{name}",
            *args,
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES],
            **kwargs,
        )
        return _parts(center, kwargs.get("partitioner"))


def counter_of_steps() -> Any:
    """A worker's own count of its steps, from 0, int32."""
    return get_variable(
        "local_step", initializer=0, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES]
    )


@contextmanager
def made_local() -> Iterator[None]:
    """Within it, new global variables become local ones: each worker has slots of its own."""
    found = default_graph().get_collection_ref(GraphKeys.GLOBAL_VARIABLES)
    before = list(found)
    yield
    known = {id(variable) for variable in before}
    local = default_graph().get_collection_ref(GraphKeys.LOCAL_VARIABLES)
    local += [variable for variable in found if id(variable) not in known]
    found[:] = before


class FirstValues(SessionRunHook):
    """Runs an operation that gives the worker's copies their first values.

    ``make`` makes it before the session; those that it gives are run one after the other.
    """

    def __init__(self, make: Callable[[], Iterable[Any]]) -> None:
        self._make = make
        self._init_ops: list[Any] = []

    def begin(self) -> None:
        """Make the operations."""
        self._init_ops = list(self._make())

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Run them."""
        del coord
        for init_op in self._init_ops:
            session.run(init_op)
