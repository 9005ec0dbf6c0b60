"""What a supervisor does every so many seconds: summaries, steps per second, checkpoints."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from dataflow.formats.summary_protos import scalar_summary
from dataflow.train.coordinator import LooperThread
from dataflow.train.global_step import global_step as global_step_value

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession
    from dataflow.train.supervisor import Supervisor

log = logging.getLogger("tensorflow")


class SVSummaryThread(LooperThread):
    """Writes the summaries."""

    def __init__(self, sv: Supervisor, sess: BaseSession) -> None:
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv = sv
        self._sess = sess

    def run_loop(self) -> None:
        """One summary."""
        step = None
        if self._sv.global_step is not None:
            summary, step = self._sess.run([self._sv.summary_op, self._sv.global_step])
        else:
            summary = self._sess.run(self._sv.summary_op)
        if self._sv.summary_writer is not None:
            log.info("Recording summary at step %s.", step)
            self._sv.summary_writer.add_summary(summary, step)


class SVStepCounterThread(LooperThread):
    """Writes the steps per second."""

    def __init__(self, sv: Supervisor, sess: BaseSession, step_counter: Any = None) -> None:
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv = sv
        self._sess = sess
        self._step_counter = sv.global_step if step_counter is None else step_counter
        self._summary_tag = f"{self._step_counter.op.name}/sec"
        self._last_time = 0.0
        self._last_step = 0

    def start_loop(self) -> None:
        """Notes where it starts."""
        self._last_time = time.time()
        self._last_step = global_step_value(self._sess, self._step_counter)

    def run_loop(self) -> None:
        """One rate."""
        step = global_step_value(self._sess, self._step_counter)
        now = time.time()
        seconds = now - self._last_time
        rate = (step - self._last_step) / seconds if seconds > 0 else float("inf")
        self._last_time, self._last_step = now, step
        if self._sv.summary_writer is not None:
            self._sv.summary_writer.add_summary(scalar_summary(self._summary_tag, rate), step)
        log.info("%s: %g", self._summary_tag, rate)


class SVTimerCheckpointThread(LooperThread):
    """Saves checkpoints."""

    def __init__(self, sv: Supervisor, sess: BaseSession) -> None:
        super().__init__(sv.coord, sv.save_model_secs)
        self._sv = sv
        self._sess = sess

    def run_loop(self) -> None:
        """One checkpoint."""
        log.info("Saving checkpoint to path %s", self._sv.save_path)
        self._sv.saver.save(self._sess, self._sv.save_path, global_step=self._sv.global_step)
        if self._sv.summary_writer is not None and self._sv.global_step is not None:
            from tensorboard.compat.proto.event_pb2 import SessionLog

            step = global_step_value(self._sess, self._sv.global_step)
            session_log = SessionLog(
                status=SessionLog.CHECKPOINT, checkpoint_path=self._sv.save_path
            )
            self._sv.summary_writer.add_session_log(session_log, step)
