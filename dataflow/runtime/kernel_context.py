"""What a stateful kernel gets of its session: resources, random numbers, and how to wait."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dataflow.capabilities import THREADS
from dataflow.kernels.would_block import WouldBlock
from dataflow.runtime.cancellation import (
    Cancellation,
    Postponed,
    here,
    postponing,
    wait_for,
    wait_without_threads,
)
from dataflow.runtime.cooperative import scheduler
from dataflow.runtime.resources import ResourceManager

if TYPE_CHECKING:
    from dataflow.kernels.observable_condition import WatchedCondition
    from dataflow.runtime.base_session import BaseSession


class KernelContext:
    """The environment of a stateful kernel.

    ``xp`` array library; ``op_name``; ``attrs``; ``resources`` of the session or server;
    ``cancellation`` of the session; ``state`` a dict that this op keeps for the session's life;
    ``device`` "cpu" or "gpu"; ``op_device`` what the node asks for, such as "/device:CPU:1".
    """

    __slots__ = (
        "attrs",
        "cancellation",
        "device",
        "found",
        "op_device",
        "op_name",
        "resources",
        "session",
        "state",
        "xp",
    )

    def __init__(
        self,
        xp: ModuleType,
        op_name: str,
        attrs: dict[str, Any],
        resources: ResourceManager,
        cancellation: Cancellation,
        state: dict[str, Any],
        session: BaseSession | None = None,
        device: str = "",
        op_device: str = "",
    ) -> None:
        self.xp = xp
        self.op_name = op_name
        self.attrs = attrs
        self.resources = resources
        self.cancellation = cancellation
        self.state = state
        self.session = session
        self.device = device
        self.op_device = op_device
        #: What `resource` last found, its kind, and the resources' count of changes then: as long as they
        #: count as many, a kernel of one kind need not ask again.
        self.found: tuple[int, Any, str] = (-1, None, "")

    @property
    def container(self) -> str:
        """The container of this op's resource."""
        return self.attrs.get("container", "") or ""

    @property
    def resource_name(self) -> str:
        """The name of this op's resource: ``shared_name``, else the op's own name."""
        return self.attrs.get("shared_name", "") or self.op_name

    def resource(
        self, kind: str, create: Callable[[], Any], check: Callable[[Any], None] | None = None
    ) -> Any:
        """This op's resource, created if it does not exist.

        ``check`` may raise for one that is not of the kind the op needs.
        """
        resources = self.resources
        changes, found, found_kind = self.found
        if found_kind is kind and changes == resources.changes:
            return found
        attrs, changes = self.attrs, resources.changes
        name = attrs.get("shared_name") or self.op_name
        found = resources.get_or_create(attrs.get("container") or "", kind, name, create)
        if check is not None:
            check(found)
        self.found = changes, found, kind
        return found

    def found_or(self, look_up: Callable[[], Any]) -> Callable[[], Any]:
        """A function that returns what `resource` last found, or ``look_up()`` where that may be outdated."""
        resources = self.resources

        def find() -> Any:
            changes, found, _ = self.found
            return found if changes == resources.changes else look_up()

        return find

    def postpone_unless(
        self, condition: WatchedCondition, ready: Callable[[], bool], again: bool = True
    ) -> None:
        """Raise `Postponed` where this thread may not wait and the kernel is not ``ready()``.

        The kernel holds ``condition`` (a `WatchedCondition`) and has done nothing yet. ``again``
        says that it can simply be called again when it is ready. ``ready`` depends only on the
        kernel's inputs, and is valid for a later call with the same inputs.
        """
        callback = postponing.callback
        if callback is None or ready():
            return
        if again:
            condition.watch(callback, ready)
        raise Postponed(condition if again else None, ready)

    def wait(
        self,
        condition: threading.Condition,
        ready: Callable[[], bool],
        timeout_seconds: float | None = None,
        again: Callable[[], bool] | None = None,
        withdraw: Callable[[], None] | None = None,
    ) -> bool:
        """Waits, holding ``condition``, until ``ready()``; sleeps in between.

        Returns False when the time is up. Raises `CancelledError` when the session is closed or the
        step failed elsewhere, `DeadlineExceededError` when the time of the run is up.

        Where there are no threads the kernel may be left here by `WouldBlock`, and called again; one
        that has done something before says how it is undone: ``withdraw`` and `carried`. ``again()``
        is true when a kernel that starts over need not wait; it is ``ready`` if None.
        """
        if not THREADS and not ready():
            return wait_without_threads(
                condition,
                ready,
                self.cancellation,
                self.op_name,
                timeout_seconds,
                again,
                withdraw,
            )
        return wait_for(condition, ready, self.cancellation, self.op_name, timeout_seconds)

    def wait_in_line(
        self,
        condition: threading.Condition,
        ready: Callable[[], bool],
        withdraw: Callable[[], Exception | None],
    ) -> None:
        """As `wait`, for a kernel that has done its part and stands in line; then ``withdraw()``.

        ``withdraw`` leaves the line, and returns the error if the turn had not come. Where there are
        no threads the step may go on before (`runtime.cooperative`).
        """
        try:
            if THREADS:
                wait_for(condition, ready, self.cancellation, self.op_name)
            elif not ready() and not wait_without_threads(
                condition,
                ready,
                self.cancellation,
                self.op_name,
                withdraw=withdraw,
                in_line=True,
            ):
                return
        except WouldBlock:
            raise
        except BaseException:
            withdraw()
            raise
        error = withdraw()
        if error is not None:
            raise error

    def carried(self, make: Callable[[], Any]) -> Any:
        """State that the kernel kept when `WouldBlock` left it in this step, else ``make()``."""
        kept = here.kept
        if kept is None:
            return make()
        if make not in kept:
            kept[make] = make()
        return kept[make]

    def will_undo(self, undo: Callable[[], None]) -> None:
        """``undo()`` takes back what the kernel did, if its run has to begin again.

        Only runs without threads ever do (`runtime.cooperative`).
        """
        step = scheduler.step
        if step is not None and step.resumable and scheduler.depth == 1:
            step.undo.append(undo)
