"""State that outlives a run: variables and other resources, by container and name."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Hashable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.capabilities import THREADS
from dataflow.dtypes import DType
from dataflow.errors import CancelledError, DeadlineExceededError, FailedPreconditionError
from dataflow.kernels.large_arrays import owns_memory
from dataflow.kernels.mutex import holder
from dataflow.kernels.would_block import WouldBlock
from dataflow.runtime.cooperative import Suspended, Wait, belongs_to_thread, scheduler

if TYPE_CHECKING:
    from dataflow.kernels.observable_condition import WatchedCondition
    from dataflow.runtime.base_session import BaseSession


#: How long an op waits before another thread continues its step (see `runtime.waiting`).
GRACE_SECONDS = 0.001


class VariableResource:
    """The value of one variable: ``array`` is ``None`` until it is assigned.

    Copy on write: the array is updated in place only when nothing else refers to it (`exclusive`), so
    earlier readers of the variable keep the value that they saw.
    """

    __slots__ = ("__weakref__", "array", "by_handle", "dtype", "lock", "name")

    def __init__(self, name: str, dtype: DType, by_handle: bool = False) -> None:
        self.name = name
        self.dtype = dtype
        #: Whether it is a resource variable: messages speak of those in TensorFlow's other words.
        self.by_handle = by_handle
        self.array: Any = None
        self.lock = threading.RLock()

    def read(self) -> Any:
        """The array; raises `FailedPreconditionError` when there is none yet."""
        array = self.array
        if array is None:
            raise self.uninitialized()
        return array

    def uninitialized(self) -> FailedPreconditionError:
        """The error for a variable that is read before it has a value."""
        if self.by_handle:
            what = (
                f"Error while reading resource variable {self.name} from Container: localhost. This "
                "could mean that the variable was uninitialized. Not found: Resource "
                f"localhost/{self.name} does not exist"
            )
        else:
            what = f"Attempting to use uninitialized value {self.name}"
        return FailedPreconditionError(
            None,
            None,
            f"{what}: the variable has no value in this session yet. Run its initializer first: "
            "sess.run(tf.global_variables_initializer()).",
        )

    def exclusive(self) -> Any:
        """The array, for a change in place; replaced by a copy first if anything else refers to it."""
        array = self.array
        if array is None:
            raise self.uninitialized()
        # References: self.array, the local, the argument of getrefcount.
        if isinstance(array, np.generic):
            array = self.array = np.array(array)
            return array
        host = type(array) is np.ndarray
        if (
            sys.getrefcount(array) > 3
            or (not owns_memory(array) if host else array.base is not None)
            or (host and not array.flags.writeable)
        ):
            array = self.array = array.copy()
        return array


class Cancellation:
    """Wakes blocked ops when their session is closed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: dict[int, Callable[[], object]] = {}
        self._next = 0
        self.cancelled = False

    #: Whether it belongs to one step and is cancelled when the step fails.
    of_one_step = False

    @property
    def holder(self) -> Hashable:
        """The holder of a lock that a kernel takes now: the calling thread, whose runs do not overlap."""
        return holder()

    def register(self, callback: Callable[[], object]) -> int:
        """``callback`` is called at cancellation (at once when it has happened already)."""
        with self._lock:
            if not self.cancelled:
                self._next += 1
                self._callbacks[self._next] = callback
                return self._next
        callback()
        return 0

    def unregister(self, token: int) -> None:
        """Undoes `register`."""
        with self._lock:
            self._callbacks.pop(token, None)

    def cancel(self) -> None:
        """Cancels: calls every callback once; later registrations are called at once."""
        with self._lock:
            self.cancelled = True
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
        for callback in callbacks:
            callback()


class Postponed(BaseException):
    """A kernel would have waited on a thread that must not wait; nothing has happened yet.

    it waits for ``condition``: the thread's callback is called when that changes and
    ``ready()`` is true. Without one the kernel must be called again on a thread that may wait.
    """

    def __init__(self, condition: WatchedCondition | None, ready: Callable[[], bool]) -> None:
        super().__init__("a kernel was postponed")
        self.condition = condition
        self.ready = ready


class Postponing(threading.local):
    """``callback`` is set on a thread while kernels may not wait on it."""

    callback: Callable[[], None] | None = None


postponing = Postponing()


class Waiter:
    """The op that a thread computes, if other ops of its step need not wait for it."""

    __slots__ = ()
    #: The step's, once another thread continues it.
    cancellation: Cancellation | None

    def go_on(self) -> None:
        """Lets another thread continue the step, unless one already does."""
        raise NotImplementedError


class _Here(threading.local):
    """The work of the current thread: see `runtime.waiting`."""

    waiter: Waiter | None = None
    #: When ops that wait give up, as `time.monotonic` counts; ``None`` for never.
    deadline: float | None = None
    #: Without threads: whether the kernel that runs is left by `WouldBlock` where it would wait.
    may_leave: bool = False
    #: State that the kernel kept when it was called before, in this step (`KernelContext.carried`).
    kept: dict[Any, Any] | None = None


here = _Here()


def _swap_here(other: tuple[Any, ...] | None) -> tuple[Any, ...]:
    former = here.waiter, here.deadline, here.may_leave, here.kept
    here.waiter, here.deadline, here.may_leave, here.kept = other or (None, None, False, None)
    return former


belongs_to_thread(_swap_here)


def wait_for(
    condition: threading.Condition,
    ready: Callable[[], bool],
    cancellation: Cancellation,
    op_name: str,
    timeout_seconds: float | None = None,
) -> bool:
    """As `KernelContext.wait`, for the op of this name in a session with this ``cancellation``."""
    if ready():
        return True
    waiter, deadline = here.waiter, here.deadline

    def wake() -> None:
        with condition:
            condition.notify_all()

    tokens = [(cancellation, cancellation.register(wake))]
    end = None if timeout_seconds is None else time.monotonic() + timeout_seconds
    if deadline is not None:
        end = deadline if end is None else min(end, deadline)

    def left(limit: float | None = None) -> float | None:
        remaining = None if end is None else max(0.0, end - time.monotonic())
        return remaining if limit is None else min(limit, limit if remaining is None else remaining)

    def over() -> bool:
        return any(c.cancelled for c, _ in tokens) or ready()

    try:
        if waiter is not None and not condition.wait_for(over, left(GRACE_SECONDS)):
            waiter.go_on()
            if waiter.cancellation is not None:
                tokens.append((waiter.cancellation, waiter.cancellation.register(wake)))
        condition.wait_for(over, left())
        if ready():
            return True
        if len(tokens) > 1 and tokens[1][0].cancelled and not cancellation.cancelled:
            raise CancelledError(
                None, None, f"{op_name!r} was waiting when another op of its step failed."
            )
        _check_not_over(cancellation, op_name, deadline)
        return False
    finally:
        for owner, token in tokens:
            owner.unregister(token)


def wait_without_threads(
    condition: threading.Condition,
    ready: Callable[[], bool],
    cancellation: Cancellation,
    op_name: str,
    timeout_seconds: float | None = None,
    again: Callable[[], bool] | None = None,
    withdraw: Callable[[], Exception | None] | None = None,
    in_line: bool = False,
) -> bool:
    """As `wait_for`, by `runtime.cooperative`; raises `WouldBlock` or `Suspended` where it may.

    Returns False, too, when the step goes on and `cooperative.finish` calls ``withdraw``.
    """
    deadline = here.deadline
    _check_not_over(cancellation, op_name, deadline)
    what = getattr(condition, "what", None)
    wait = Wait(
        f"op {op_name!r}" + (f", which waits for {what()}" if what is not None else ""),
        lambda: cancellation.cancelled or ready(),
        deadline,
    )
    if timeout_seconds is None:
        step = scheduler.step
        if here.may_leave:
            raise WouldBlock(wait, withdraw, in_line)
        if step is not None and in_line:
            step.parked.append(WouldBlock(wait, withdraw, in_line))
            return False
        if step is not None and step.resumable and scheduler.depth == 1:
            if again is not None:
                wait.ready = lambda: cancellation.cancelled or again()
            raise Suspended(wait)
    else:
        end = time.monotonic() + timeout_seconds
        wait.until = end if deadline is None else min(end, deadline)
    scheduler.wait(wait)
    if ready():
        return True
    _check_not_over(cancellation, op_name, deadline, wait.until)
    return False


def _check_not_over(
    cancellation: Cancellation,
    op_name: str,
    deadline: float | None,
    given_up: float | None = None,
) -> None:
    """Raises for an op that must not wait any longer."""
    if cancellation.cancelled:
        raise CancelledError(None, None, f"{op_name!r} was cancelled: its session was closed.")
    if deadline is not None and (given_up == deadline or time.monotonic() >= deadline):
        raise DeadlineExceededError(
            None, None, f"{op_name!r} was still waiting when the time of its run was up."
        )


class ResourceManager:
    """Resources by (container, kind, name). Shared by all sessions on one server target."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._resources: dict[tuple[str, str, str], Any] = {}
        #: Counts replaced and dropped resources: a resource found earlier may be outdated.
        self.changes = 0

    def get_or_create(self, container: str, kind: str, name: str, create: Callable[[], Any]) -> Any:
        """The resource; ``create()`` makes it if it does not exist."""
        key = (container, kind, name)
        found = self._resources.get(key)
        if found is None:
            with self._lock:
                found = self._resources.get(key)
                if found is None:
                    found = self._resources[key] = create()
        return found

    def get(self, container: str, kind: str, name: str) -> Any:
        """The resource or ``None``."""
        return self._resources.get((container, kind, name))

    def put(self, container: str, kind: str, name: str, value: object) -> None:
        """Stores a resource, replacing an older one."""
        with self._lock:
            self._resources[(container, kind, name)] = value
            self.changes += 1

    def remove(self, container: str, kind: str, name: str) -> Any:
        """Removes a resource and returns it, or ``None``."""
        with self._lock:
            found = self._resources.pop((container, kind, name), None)
            self.changes += 1
            return found

    def variable(
        self, container: str, name: str, dtype: DType, by_handle: bool = False
    ) -> VariableResource:
        """The variable of this name, created empty if it does not exist."""
        found = self.get_or_create(
            container, "variable", name, lambda: VariableResource(name, dtype, by_handle)
        )
        return found  # type: ignore[no-any-return]

    def items(self, kind: str) -> list[tuple[str, Any]]:
        """(name, resource) of every resource of a kind."""
        with self._lock:
            return [(n, r) for (_, k, n), r in self._resources.items() if k == kind]

    def clear(self, containers: list[str] | None = None) -> None:
        """Drops all resources, or those of the given containers."""
        with self._lock:
            if containers is None:
                self._resources.clear()
            else:
                wanted = set(containers)
                for key in [k for k in self._resources if k[0] in wanted]:
                    del self._resources[key]
            self.changes += 1


class KernelContext:
    """The environment of a stateful kernel.

    ``xp`` array library; ``op_name``; ``attrs``; ``resources`` of the session or server;
    ``cancellation`` of the session; ``state`` a dict that this op keeps for the session's life;
    ``device`` "cpu" or "gpu"; ``op_device`` what the node asks for, such as "/device:CPU:1".
    """

    __slots__ = (
        "_found",
        "attrs",
        "cancellation",
        "device",
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
        self._found: tuple[str, int, Any] = ("", 0, None)

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
        found_kind, changes, found = self._found
        if found_kind is kind and changes == resources.changes:
            return found
        attrs, changes = self.attrs, resources.changes
        name = attrs.get("shared_name") or self.op_name
        found = resources.get_or_create(attrs.get("container") or "", kind, name, create)
        if check is not None:
            check(found)
        self._found = kind, changes, found
        return found

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
