"""`QueueRunner`: threads that fill a queue while the graph is used."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from dataflow import errors
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph, default_session
from dataflow.runtime.cooperative import Task, Wait, finish
from dataflow.train.coordinator import Coordinator

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession


class QueueRunner:
    """Runs enqueue operations, each in a thread of its own, until they end.

    ``enqueue_ops``: one thread for each. ``close_op`` closes the queue when all have ended;
    ``cancel_op`` also cancels what is waiting, when the coordinator asks to stop. Errors of
    ``queue_closed_exception_types`` (`OutOfRangeError` by default) mean that the input is used up.
    """

    #: Whether what a thread calls is one run of a session and nothing else.
    _resumable = True

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Any = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: Any = None,
        queue_runner_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if queue_runner_def is not None:
            if queue or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._init_from_proto(queue_runner_def, import_scope)
        else:
            if not queue or not enqueue_ops:
                raise ValueError("Must provide queue and enqueue_ops.")
            self._queue = queue
            self._enqueue_ops = list(enqueue_ops)
            self._close_op = close_op if close_op is not None else queue.close()
            self._cancel_op = (
                cancel_op if cancel_op is not None else queue.close(cancel_pending_enqueues=True)
            )
            kinds = queue_closed_exception_types or (errors.OutOfRangeError,)
            if not isinstance(kinds, tuple) or not all(
                isinstance(t, type) and issubclass(t, errors.OpError) for t in kinds
            ):
                raise TypeError(
                    "queue_closed_exception_types, when provided, must be a tuple of tf.error types"
                )
            self._queue_closed_exception_types = kinds
        self._lock = threading.Lock()
        self._runs: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._exceptions_raised: list[BaseException] = []

    def _init_from_proto(self, proto: Any, import_scope: str | None) -> None:
        graph = default_graph()

        def find(name: str) -> Any:
            full = f"{import_scope}/{name}" if import_scope else name
            return graph.as_graph_element(full)

        from dataflow.ops.queues import QueueBase

        name = proto.queue_name if ":" in proto.queue_name else proto.queue_name + ":0"
        ref = find(name)
        types = ref.op.attrs.get("component_types", [])
        self._queue = QueueBase(types, None, None, ref)
        self._enqueue_ops = [find(n) for n in proto.enqueue_op_name]
        self._close_op = find(proto.close_op_name)
        self._cancel_op = find(proto.cancel_op_name)
        kinds = tuple(
            errors.exception_type_from_error_code(c) for c in proto.queue_closed_exception_types
        )
        self._queue_closed_exception_types = kinds or (errors.OutOfRangeError,)

    @property
    def queue(self) -> Any:
        """The queue."""
        return self._queue

    @property
    def enqueue_ops(self) -> list[Any]:
        """The operations, one thread for each."""
        return self._enqueue_ops

    @property
    def close_op(self) -> Any:
        """Closes the queue."""
        return self._close_op

    @property
    def cancel_op(self) -> Any:
        """Closes the queue and cancels what waits."""
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> Any:
        """Errors that mean the end of the input."""
        return self._queue_closed_exception_types

    @property
    def exceptions_raised(self) -> list[BaseException]:
        """Errors of threads that had no coordinator to report to."""
        return self._exceptions_raised

    @property
    def name(self) -> str:
        """The name of the queue's operation."""
        # What is filled may be no queue, but a thing that is closed as one is.
        ref = getattr(self._queue, "queue_ref", None)
        return str(self._queue.name if ref is None else ref.op.name)

    def _repeated(
        self, session: BaseSession, enqueue_op: Any, stopped: Callable[[], bool]
    ) -> Callable[[], Any]:
        """What a thread calls again and again."""
        return session.make_repeated_callable(enqueue_op, stopped)

    def _run(
        self, session: BaseSession, enqueue_op: Any, coord: Coordinator | None
    ) -> Iterator[Wait | None]:
        decremented = False

        def stopped() -> bool:
            return coord is not None and coord.should_stop()

        try:
            run = self._repeated(session, enqueue_op, stopped)
            while not stopped():
                try:
                    yield from finish(run, self._resumable)
                    yield None
                except self._queue_closed_exception_types:
                    with self._lock:
                        self._runs[session] -= 1
                        decremented = True
                        last = self._runs[session] == 0
                    if last:
                        try:
                            session.run(self._close_op)
                        except Exception as e:  # the queue may be gone with the session
                            from dataflow import logging

                            logging.vlog(1, "Ignored exception: %s", e)
                    return
        except Exception as e:
            if coord is not None:
                coord.request_stop(e)
            elif not (isinstance(e, RuntimeError) and "closed" in str(e)) and not isinstance(
                e, errors.CancelledError
            ):
                with self._lock:
                    self._exceptions_raised.append(e)
        finally:
            # At the end of the process the session has been forgotten.
            if not decremented and session in self._runs:
                with self._lock:
                    self._runs[session] -= 1

    def _close_on_stop(self, session: BaseSession, coord: Coordinator) -> Iterator[Wait | None]:
        """Waits for the coordinator, then wakes the threads that wait at the queue."""
        yield coord._wait()
        try:
            session.run(self._cancel_op)
        except Exception as e:  # nothing is left to cancel when the session is closed
            from dataflow import logging

            logging.vlog(1, "Ignored exception: %s", e)

    def create_threads(
        self,
        sess: BaseSession,
        coord: Coordinator | None = None,
        daemon: bool = False,
        start: bool = False,
    ) -> list[threading.Thread]:
        """Threads that run the enqueue operations in ``sess``; none if they run there already.

        With ``coord``, they stop when it asks, report errors to it, and are registered with it.
        """
        with self._lock:
            if self._runs.get(sess, 0) > 0:
                return []
            self._runs[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
        threads: list[threading.Thread] = [
            Task(
                self._run,
                args=(sess, op, coord),
                name=f"QueueRunnerThread-{self.name}-{op.name}",
            )
            for op in self._enqueue_ops
        ]
        if coord is not None:
            threads.append(
                Task(
                    self._close_on_stop,
                    args=(sess, coord),
                    name=f"QueueRunnerThread-{self.name}-close_on_stop",
                )
            )
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            thread.daemon = daemon
            if start:
                thread.start()
        return threads

    def to_proto(self, export_scope: str | None = None) -> Any:
        """This runner as a ``QueueRunnerDef``; ``None`` where it is outside of ``export_scope``."""
        from dataflow.train.queue_runner_def import queue_runner_def_class

        if export_scope and not self.name.startswith(export_scope):
            return None
        strip = len(export_scope) + 1 if export_scope else 0
        return queue_runner_def_class()(
            queue_name=self.name[strip:],
            enqueue_op_name=[op.name[strip:] for op in self._enqueue_ops],
            close_op_name=self._close_op.name[strip:],
            cancel_op_name=self._cancel_op.name[strip:],
            queue_closed_exception_types=[
                kind.error_code for kind in self._queue_closed_exception_types
            ],
        )

    @staticmethod
    def from_proto(queue_runner_def: Any, import_scope: str | None = None) -> QueueRunner:
        """The runner that a ``QueueRunnerDef`` (or its serialized bytes) describes."""
        if isinstance(queue_runner_def, bytes):
            from dataflow.train.queue_runner_def import queue_runner_def_class

            queue_runner_def = queue_runner_def_class().FromString(queue_runner_def)
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Adds ``qr`` to a collection of the default graph, for `start_queue_runners`."""
    default_graph().add_to_collection(collection, qr)


def start_queue_runners(
    sess: Any = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Starts the threads of all queue runners of the graph; returns them.

    Uses ``sess`` or the default session. Call it after the variables are initialized, local ones
    too where ``num_epochs`` is used. A `MonitoredSession` has started them by itself: nothing is
    done then. Raises `ValueError` without a session.
    """
    if sess is None:
        sess = default_session()
        if sess is None:
            raise ValueError(
                "Cannot start queue runners: No default session is registered. Use `with "
                "sess.as_default()` or pass an explicit session to tf.start_queue_runners(sess=sess)"
            )
    if type(sess).__name__ in ("MonitoredSession", "SingularMonitoredSession"):
        return []
    if not hasattr(sess, "run") or not hasattr(sess, "graph"):
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(sess)}")
    threads = []
    for runner in sess.graph.get_collection(collection):
        threads.extend(runner.create_threads(sess, coord=coord, daemon=daemon, start=start))
    return threads
