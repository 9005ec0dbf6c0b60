"""`Supervisor`: initializes, restores, saves and summarizes around a training loop of one's own."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dataflow.errors import AbortedError
from dataflow.formats.local_paths import local_path
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph
from dataflow.graph.serialize import write_graph
from dataflow.ops.control_flow import group
from dataflow.ops.lookup_tables import tables_initializer
from dataflow.ops.summary import merge_all
from dataflow.ops.variable_lists import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from dataflow.summary.file_writer import FileWriter
from dataflow.train.coordinator import Coordinator, LooperThread
from dataflow.train.global_step import assert_global_step, global_step as global_step_value
from dataflow.train.meta_graph import export_meta_graph
from dataflow.train.saver import Saver
from dataflow.train.scaffold import InitializationOps
from dataflow.train.session_manager import SessionManager
from dataflow.train.supervisor_threads import (
    SVStepCounterThread,
    SVSummaryThread,
    SVTimerCheckpointThread,
)

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession

log = logging.getLogger("tensorflow")


class Supervisor(InitializationOps):
    """Keeps a training program going: a session that is ready, and threads that save.

    The chief initializes the model, or restores it from ``logdir``, and every
    ``save_model_secs`` and ``save_summaries_secs`` (0: never) saves there; other workers wait for
    it. The graph is finalized. Parts that are not given are made; ``None`` means none.

    Raises `ValueError`, in a worker, for a variable without a device.
    """

    USE_DEFAULT = 0

    def __init__(
        self,
        graph: Graph | None = None,
        ready_op: Any = USE_DEFAULT,
        ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True,
        init_op: Any = USE_DEFAULT,
        init_feed_dict: Any = None,
        local_init_op: Any = USE_DEFAULT,
        logdir: Any = None,
        summary_op: Any = USE_DEFAULT,
        saver: Any = USE_DEFAULT,
        global_step: Any = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: Any = None,
        summary_writer: Any = USE_DEFAULT,
        init_fn: Any = None,
        local_init_run_options: Any = None,
    ) -> None:
        self._graph = default_graph() if graph is None else graph
        self._is_chief = is_chief
        self._coord = Coordinator()
        self._recovery_wait_secs = recovery_wait_secs
        self._stop_grace_secs = stop_grace_secs
        self._init_fn = init_fn
        self._init_feed_dict = init_feed_dict
        self._local_init_run_options = local_init_run_options
        self._logdir = None if logdir is None else local_path(logdir)
        self._save_summaries_secs = save_summaries_secs
        self._save_model_secs = save_model_secs
        self._graph_added_to_summary = False
        with self._graph.as_default():
            pick = self._pick
            self._ready_op = pick(ready_op, GraphKeys.READY_OP, report_uninitialized_variables)
            self._ready_for_local_init_op = pick(
                ready_for_local_init_op, GraphKeys.READY_FOR_LOCAL_INIT_OP, lambda: None
            )
            self._init_op = pick(init_op, GraphKeys.INIT_OP, global_variables_initializer)
            self._local_init_op = pick(
                local_init_op,
                GraphKeys.LOCAL_INIT_OP,
                lambda: group(local_variables_initializer(), tables_initializer()),
            )
            self._saver = pick(
                saver, GraphKeys.SAVERS, lambda: Saver() if global_variables() else None
            )
            self._summary_op = pick(summary_op, GraphKeys.SUMMARY_OP, merge_all)
            self._global_step = pick(global_step, GraphKeys.GLOBAL_STEP, self._default_global_step)
        self._save_path: str | None = None
        self._summary_writer: Any = None
        if self._is_chief:
            if self._logdir:
                self._save_path = os.path.join(self._logdir, checkpoint_basename)
            if summary_writer is not Supervisor.USE_DEFAULT:
                self._summary_writer = summary_writer
            elif self._logdir:
                self._summary_writer = FileWriter(self._logdir)
        self._session_manager = session_manager or SessionManager(
            local_init_op=self._local_init_op,
            ready_op=self._ready_op,
            ready_for_local_init_op=self._ready_for_local_init_op,
            graph=self._graph,
            recovery_wait_secs=recovery_wait_secs,
            local_init_run_options=local_init_run_options,
        )
        self._verify_setup()
        self._graph.finalize()

    def _pick(self, given: Any, key: str, make: Any) -> Any:
        """What was given, else the first of a collection, else a new one, which is added."""
        if given is not Supervisor.USE_DEFAULT:
            return given
        found = self._graph.get_collection(key)
        if found:
            if len(found) > 1:
                log.info("Found %d %s operations. Returning the first one.", len(found), key)
            return found[0]
        made = make()
        if made is not None and key != GraphKeys.GLOBAL_STEP:
            self._graph.add_to_collection(key, made)
        return made

    def _default_global_step(self) -> Any:
        try:
            step = self._graph.get_tensor_by_name("global_step:0")
            assert_global_step(step)
        except (KeyError, TypeError):
            return None
        return step

    def _verify_setup(self) -> None:
        if self._is_chief:
            return
        for op in self._graph.get_operations():
            if op.op_def.is_variable and not op.device:
                raise ValueError(
                    f"When using replicas, all Variables must have their device set: {op.name}. "
                    "Build the model under tf.device(tf.train.replica_device_setter(...))."
                )

    # ---- parts ----------------------------------------------------------------------------

    @property
    def is_chief(self) -> bool:
        """Whether this process initializes and saves."""
        return self._is_chief

    @property
    def session_manager(self) -> Any:
        """The `SessionManager`."""
        return self._session_manager

    @property
    def coord(self) -> Coordinator:
        """The `Coordinator` of the threads."""
        return self._coord

    @property
    def summary_writer(self) -> Any:
        """The `FileWriter`, in the chief."""
        return self._summary_writer

    @property
    def save_summaries_secs(self) -> float:
        """Seconds between summaries."""
        return self._save_summaries_secs

    @property
    def global_step(self) -> Any:
        """The global step, or ``None``."""
        return self._global_step

    @property
    def save_model_secs(self) -> float:
        """Seconds between checkpoints."""
        return self._save_model_secs

    @property
    def save_path(self) -> str | None:
        """The prefix of checkpoints, without the step."""
        return self._save_path

    # ---- sessions -------------------------------------------------------------------------

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Any:
        """A session that is ready; queue threads, and in the chief the services, are started."""
        self._coord.clear_stop()
        if self._summary_writer is not None:
            self._summary_writer.reopen()
        if self._is_chief:
            session = self._session_manager.prepare_session(
                master,
                init_op=self._init_op,
                saver=self._saver,
                checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self._init_feed_dict,
                init_fn=self._init_fn,
            )
            self._write_graph()
            if start_standard_services:
                self.start_standard_services(session)
        else:
            session = self._session_manager.wait_for_session(
                master, config=config, max_wait_secs=max_wait_secs
            )
        if start_standard_services:
            self.start_queue_runners(session)
        return session

    @contextlib.contextmanager
    def managed_session(
        self,
        master: str = "",
        config: Any = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Any]:
        """``with sv.managed_session() as sess:`` stops everything at the end of the block.

        Errors of the block and of threads are raised, after all threads have ended; the end of the
        input (`OutOfRangeError`) is a normal end.
        """
        session = None
        try:
            session = self.prepare_or_wait_for_session(
                master=master, config=config, start_standard_services=start_standard_services
            )
            yield session
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if session is not None:
                    with contextlib.suppress(Exception):
                        session.close()

    def _write_graph(self) -> None:
        if self._logdir:
            write_graph(self._graph, self._logdir, "graph.pbtxt")
        if self._summary_writer is not None and not self._graph_added_to_summary:
            self._summary_writer.add_graph(self._graph)
            saver = None if self._saver is None else self._saver.as_saver_def()
            self._summary_writer.add_meta_graph(
                export_meta_graph(graph=self._graph, saver_def=saver)
            )
            self._graph_added_to_summary = True

    def start_standard_services(self, sess: BaseSession) -> list[Any] | None:
        """Starts the threads that save checkpoints and summaries; returns them.

        Raises `RuntimeError` in a worker that is not the chief.
        """
        if not self._is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief supervisors "
                "can write events."
            )
        if not self._logdir:
            log.warning(
                "Standard services need a 'logdir' passed to the Supervisor; none are started."
            )
            return None
        if self._global_step is not None and self._summary_writer is not None:
            from tensorboard.compat.proto.event_pb2 import SessionLog

            step = global_step_value(sess, self._global_step)
            self._summary_writer.add_session_log(SessionLog(status=SessionLog.START), step)
        threads: list[Any] = []
        if self._save_summaries_secs and self._summary_writer is not None:
            if self._summary_op is not None:
                threads.append(SVSummaryThread(self, sess))
            if self._global_step is not None:
                threads.append(SVStepCounterThread(self, sess))
        if self._saver is not None and self._save_model_secs:
            threads.append(SVTimerCheckpointThread(self, sess))
        for thread in threads:
            thread.start()
        return threads

    def start_queue_runners(self, sess: BaseSession, queue_runners: Any = None) -> list[Any]:
        """Starts the threads that fill queues; returns them."""
        if queue_runners is None:
            queue_runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        threads = []
        for runner in queue_runners:
            threads.extend(runner.create_threads(sess, coord=self._coord, daemon=True, start=True))
        return threads

    # ---- stopping -------------------------------------------------------------------------

    def loop(
        self, timer_interval_secs: float | None, target: Any, args: Any = None, kwargs: Any = None
    ) -> LooperThread:
        """Starts a thread that calls ``target`` every so many seconds until stopped."""
        looper = LooperThread(
            self._coord, timer_interval_secs, target=target, args=args, kwargs=kwargs
        )
        looper.start()
        return looper

    def stop(
        self,
        threads: Any = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stops all threads and waits for them; raises what went wrong in one."""
        self._coord.request_stop()
        try:
            self._coord.join(
                threads,
                stop_grace_period_secs=self._stop_grace_secs,
                ignore_live_threads=ignore_live_threads,
            )
        finally:
            if close_summary_writer and self._summary_writer is not None:
                from tensorboard.compat.proto.event_pb2 import SessionLog

                self._summary_writer.add_session_log(SessionLog(status=SessionLog.STOP))
                self._summary_writer.close()
                self._graph_added_to_summary = False

    def request_stop(self, ex: Any = None) -> None:
        """Asks all threads to stop; ``ex`` is raised by `stop`."""
        self._coord.request_stop(ex=ex)

    def should_stop(self) -> bool:
        """Whether somebody asked to stop."""
        return self._coord.should_stop()

    def stop_on_exception(self) -> Any:
        """``with sv.stop_on_exception():`` an error in the block stops all threads."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Waits until somebody asks to stop."""
        self._coord.wait_for_stop()

    def summary_computed(self, sess: Any, summary: Any, global_step: Any = None) -> None:
        """Writes a summary. Raises `RuntimeError` where there is no writer."""
        if self._summary_writer is None:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self._global_step is not None:
            global_step = global_step_value(sess, self._global_step)
        self._summary_writer.add_summary(summary, global_step)

    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop = stop
    RequestStop = request_stop
    Loop = loop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed


def basic_train_loop(
    supervisor: Supervisor,
    train_step_fn: Any,
    args: Any = None,
    kwargs: Any = None,
    master: str = "",
) -> None:
    """Calls ``train_step_fn(session, *args, **kwargs)`` until the supervisor should stop.

    After an `AbortedError`, as when a server was restarted, it goes on with a new session.
    """
    while True:
        try:
            with supervisor.managed_session(master) as session:
                while not supervisor.should_stop():
                    train_step_fn(session, *(args or ()), **(kwargs or {}))
            return
        except AbortedError:
            continue
