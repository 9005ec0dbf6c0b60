"""Sessions around sessions: with hooks, with a coordinator, and made again after a task's death."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

from dataflow.errors import AbortedError, UnavailableError
from dataflow.graph.collections import GraphKeys
from dataflow.runtime.config import RunOptions
from dataflow.train.coordinator import Coordinator
from dataflow.train.queue_runner import start_queue_runners
from dataflow.train.scaffold import SessionCreator
from dataflow.train.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

log = logging.getLogger("tensorflow")

#: A task of the cluster went away or was restarted: worth another try from the last checkpoint.
PREEMPTION_ERRORS = (AbortedError, UnavailableError)


#: How long threads may take to end by themselves before the session is closed under them.
_SECONDS_BEFORE_CANCELLING = 5.0


#: The same for threads that are expected to wait for what comes no more.
_SECONDS_FOR_BLOCKED = 0.3


class StepContext:
    """What `run_step_fn` gives a step function: the plain session, and a run with hooks."""

    def __init__(self, session: Any, run_with_hooks_fn: Any) -> None:
        self._session = session
        self._run_with_hooks_fn = run_with_hooks_fn

    @property
    def session(self) -> Any:
        """The plain session; its runs call no hooks."""
        return self._session

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """A run with hooks."""
        return self._run_with_hooks_fn(*args, **kwargs)

    def request_stop(self) -> None:
        """Ends the training; raises `StopIteration`."""
        raise StopIteration("step_fn has requested the iterations to stop.")


class WrappedSession:
    """A session around another one."""

    def __init__(self, sess: Any) -> None:
        self._sess = sess
        self._wrapped_is_stoppable = isinstance(sess, WrappedSession)

    @property
    def graph(self) -> Any:
        return self._sess.graph

    @property
    def sess_str(self) -> str:
        return self._sess.sess_str  # type: ignore[no-any-return]

    def should_stop(self) -> bool:
        if self._check_stop():
            return True
        if self._sess is None:
            return True
        return self._wrapped_is_stoppable and bool(self._sess.should_stop())

    def _check_stop(self) -> bool:
        return False

    def close(self) -> None:
        if self._sess is not None:
            try:
                self._sess.close()
            except PREEMPTION_ERRORS as error:
                log.error("An error occurred when attempting to close the session: %s", error)
            finally:
                self._sess = None

    def run(self, *args: Any, **kwargs: Any) -> Any:
        return self._sess.run(*args, **kwargs)

    def run_step_fn(self, step_fn: Any, raw_session: Any, run_with_hooks: Any) -> Any:
        run_with_hooks = run_with_hooks or self.run
        return step_fn(StepContext(raw_session(), run_with_hooks))


def _hears(hook: SessionRunHook) -> bool:
    """Whether the hook has a ``before_run`` or an ``after_run`` of its own."""
    return any(
        getattr(getattr(hook, name, None), "__func__", None) is not getattr(SessionRunHook, name)
        for name in ("before_run", "after_run")
    )


class HookedSession(WrappedSession):
    """Calls the hooks around each run."""

    def __init__(self, sess: Any, hooks: list[SessionRunHook]) -> None:
        super().__init__(sess)
        self._hooks = hooks
        self._should_stop = False
        #: Whether a hook takes part in runs; those that only begin and end things do not.
        self._hooks_hear = any(_hears(hook) for hook in hooks)

    def _check_stop(self) -> bool:
        return self._should_stop

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: Any = None,
        run_metadata: Any = None,
    ) -> Any:
        if (self._should_stop or self._wrapped_is_stoppable or self._sess is None) and (
            self.should_stop()
        ):
            raise RuntimeError("Run called even after should_stop requested.")
        if not self._hooks_hear and options is None and run_metadata is None:
            return self._sess.run(fetches, feed_dict)
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._sess)
        requests: dict[Any, Any] = {"caller": fetches}
        feeds = dict(feed_dict) if feed_dict else {}
        fed_by_hooks: set[Any] = set()
        for hook in self._hooks:
            request = hook.before_run(context)
            if request is None:
                continue
            if request.fetches is not None:
                requests[hook] = request.fetches
            if request.feed_dict:
                for tensor in request.feed_dict:
                    if tensor in fed_by_hooks:
                        raise RuntimeError(f"Same tensor is fed by two hooks: {tensor!r}.")
                    if tensor in feeds:
                        raise RuntimeError(
                            f"Same tensor is fed by a SessionRunHook and user: {tensor!r}."
                        )
                fed_by_hooks.update(request.feed_dict)
                feeds.update(request.feed_dict)
            if request.options is not None:
                options = _merged(options, request.options)
        if options is not None and run_metadata is None:
            from tensorboard.compat.proto.config_pb2 import RunMetadata

            run_metadata = RunMetadata()
        outputs: dict[Any, Any]
        if len(requests) == 1:  # the usual step is looked up by what is fetched, as without hooks
            result = self._sess.run(fetches, feeds or None, options, run_metadata)
            outputs = {}
        else:
            outputs = self._sess.run(requests, feeds or None, options, run_metadata)
            result = outputs["caller"]
        for hook in self._hooks:
            hook.after_run(context, SessionRunValues(outputs.get(hook), options, run_metadata))
        self._should_stop = self._should_stop or context.stop_requested
        return result


def _merged(options: Any, more: Any) -> Any:
    """The options that do what both ask for."""
    if options is None:
        return more
    times = [t for t in (options.timeout_in_ms, more.timeout_in_ms) if t]
    both = RunOptions(
        trace_level=max(options.trace_level, more.trace_level),
        timeout_in_ms=max(times, default=0),
        output_partition_graphs=options.output_partition_graphs or more.output_partition_graphs,
    )
    for given in (options, more):
        both.debug_options.MergeFrom(given.debug_options)
    return both


class CoordinatedSession(WrappedSession):
    """Stops with the threads of a coordinator, and raises what went wrong in them."""

    def __init__(self, sess: Any, coord: Coordinator, stop_grace_period_secs: float = 120) -> None:
        super().__init__(sess)
        self._coord = coord
        self._stop_grace_period_secs = stop_grace_period_secs

    def _check_stop(self) -> bool:
        self._coord.raise_requested_exception()
        return self._coord.should_stop()

    def close(self) -> None:
        self._coord.request_stop()
        grace = self._stop_grace_period_secs
        first = min(grace, _SECONDS_BEFORE_CANCELLING)
        blocked = self._coord._blocked_threads
        threads = [*self._coord._registered_threads, *blocked]
        try:
            self._coord.join(stop_grace_period_secs=first, ignore_live_threads=True)
            end = time.monotonic() + min(grace, _SECONDS_FOR_BLOCKED)
            for thread in blocked:
                thread.join(max(0.0, end - time.monotonic()))
        finally:
            # Closing cancels what threads still wait for: a queue that nobody fills any more.
            try:
                super().close()
            except Exception as error:
                # What matters was reported by join.
                log.debug("closing the session: %s", error)
            deadline = time.monotonic() + grace - first
            for thread in threads:
                thread.join(max(0.0, deadline - time.monotonic()))
            blocked.clear()

    def run(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._sess.run(*args, **kwargs)
        except PREEMPTION_ERRORS:
            raise
        except Exception as original:
            # A thread that was preempted may be why this run failed; then that is the error.
            try:
                self._coord.raise_requested_exception()
            except PREEMPTION_ERRORS:
                raise
            except Exception:
                raise original from None
            raise


def _raise_if_for_good(error: Exception) -> None:
    """No session can be made anew on a cluster that this very process has stopped."""
    if getattr(error, "for_good", False):
        raise error


class RecoverableSession(WrappedSession):
    """Makes a new session, from the last checkpoint, after a preemption."""

    def __init__(self, sess_creator: SessionCreator) -> None:
        self._sess_creator = sess_creator
        super().__init__(self._create_session())

    def _create_session(self) -> Any:
        while True:
            try:
                return self._sess_creator.create_session()
            except PREEMPTION_ERRORS as error:
                _raise_if_for_good(error)
                log.info(
                    "An error was raised while a session was being created; it is tried again: %s",
                    error,
                )

    def _check_stop(self) -> bool:
        try:
            return self._sess._check_stop() if self._sess is not None else True
        except PREEMPTION_ERRORS as error:
            _raise_if_for_good(error)
            log.info("A preemption was reported; a new session is made: %s", error)
            self.close()
            self._sess = self._create_session()
            self._wrapped_is_stoppable = True
            return False
        except Exception:
            # `close` raises it.
            return True

    def run(self, *args: Any, **kwargs: Any) -> Any:
        while True:
            try:
                if self._sess is None:
                    self._sess = self._create_session()
                return self._sess.run(*args, **kwargs)
            except PREEMPTION_ERRORS as error:
                self._recover(error)

    def run_step_fn(self, step_fn: Any, raw_session: Any, run_with_hooks: Any) -> Any:
        while True:
            try:
                if self._sess is None:
                    self._sess = self._create_session()
                return self._sess.run_step_fn(step_fn, raw_session, self._sess.run)
            except PREEMPTION_ERRORS as error:
                self._recover(error)

    def _recover(self, error: Exception) -> None:
        _raise_if_for_good(error)
        log.info(
            "A task went away; the session is made anew from the last checkpoint. Error: %s", error
        )
        self.close()
        self._sess = None


class CoordinatedSessionCreator(SessionCreator):
    """Makes the plain session with its queue threads and hooks around it."""

    def __init__(
        self, session_creator: Any, hooks: list[SessionRunHook], stop_grace_period_secs: float
    ) -> None:
        self._session_creator = session_creator
        self._hooks = hooks
        self._stop_grace_period_secs = stop_grace_period_secs
        self.coord: Coordinator | None = None
        self.tf_sess: Any = None

    def create_session(self) -> Any:
        self.tf_sess = self._session_creator.create_session()
        self.coord = Coordinator(clean_stop_exception_types=[])
        if self.tf_sess.graph.get_collection(GraphKeys.QUEUE_RUNNERS):
            start_queue_runners(sess=self.tf_sess, coord=self.coord)
        for hook in self._hooks:
            hook.after_create_session(self.tf_sess, self.coord)
        return CoordinatedSession(
            HookedSession(self.tf_sess, self._hooks), self.coord, self._stop_grace_period_secs
        )
