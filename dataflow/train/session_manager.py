"""`SessionManager`: makes sessions that are ready: initialized, or restored from a checkpoint."""

from __future__ import annotations

import logging
import time
from typing import Any

import numpy as np

from dataflow.errors import DeadlineExceededError, FailedPreconditionError
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph
from dataflow.runtime.cooperative import sleep
from dataflow.runtime.session import Session
from dataflow.train.checkpoint_management import get_checkpoint_state

log = logging.getLogger("tensorflow")


class SessionManager:
    """Makes sessions in which the model is ready to train.

    Args:
        local_init_op: run in each new session, after variables are initialized or restored.
        ready_op: a vector of strings that is empty once the model is ready (see
            `report_uninitialized_variables`).
        ready_for_local_init_op: likewise, for when ``local_init_op`` may run.
        graph: by default the current one.
        recovery_wait_secs: how long to wait between attempts at most. The first follow each other
            soon, so that a worker begins when the chief has made the model ready, and not half a
            minute later.
        local_init_run_options: options for running ``local_init_op``.
        local_init_feed_dict: what to feed then.
    """

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: Graph | None = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: Any = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = default_graph() if graph is None else graph
        self._recovery_wait_secs = recovery_wait_secs
        self._local_init_run_options = local_init_run_options
        self._local_init_feed_dict = local_init_feed_dict
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op, "
                f"ready_for_local_init_op [{ready_for_local_init_op}]"
            )

    def prepare_session(
        self,
        master: str,
        init_op: Any = None,
        saver: Any = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
        init_feed_dict: Any = None,
        init_fn: Any = None,
    ) -> Session:
        """A ready session: restored from the latest checkpoint if there is one, else initialized.

        Raises `RuntimeError` where the model is not ready after that.
        """
        session, restored = self._restore_checkpoint(
            master,
            saver,
            checkpoint_dir,
            checkpoint_filename_with_path,
            wait_for_checkpoint,
            max_wait_secs,
            config,
        )
        try:
            if not restored:
                if init_op is None and not init_fn and self._local_init_op is None:
                    raise RuntimeError(
                        "Model is not initialized and no init_op or init_fn or local_init_op was "
                        "given"
                    )
                if init_op is not None:
                    session.run(init_op, feed_dict=init_feed_dict)
                if init_fn:
                    init_fn(session)
            done, message = self._try_run_local_init_op(session)
            if not done:
                raise RuntimeError(
                    "Init operations did not make model ready for local_init.  "
                    f"Init op: {_name(init_op)}, init fn: {init_fn}, "
                    f"local_init_op: {_name(self._local_init_op)}, error: {message}"
                )
            ready, message = self._ready(self._ready_op, session)
            if not ready:
                raise RuntimeError(
                    f"Init operations did not make model ready.  Init op: {_name(init_op)}, "
                    f"init fn: {init_fn}, local_init_op: {_name(self._local_init_op)}, "
                    f"error: {message}"
                )
        except BaseException:
            session.close()
            raise
        return session

    def recover_session(
        self,
        master: str,
        saver: Any = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
    ) -> tuple[Session, bool]:
        """A session, and whether it could be restored and is ready."""
        session, restored = self._restore_checkpoint(
            master,
            saver,
            checkpoint_dir,
            checkpoint_filename_with_path,
            wait_for_checkpoint,
            max_wait_secs,
            config,
        )
        done, message = self._try_run_local_init_op(session)
        if not restored:
            return session, False
        if done:
            done, message = self._ready(self._ready_op, session)
        if not done:
            log.info("Restoring model did not make it ready: %s", message)
            return session, False
        return session, True

    def wait_for_session(
        self, master: str, config: Any = None, max_wait_secs: float = float("inf")
    ) -> Session:
        """A session in which somebody else (the chief) has made the model ready.

        Raises `DeadlineExceededError` when it is not after ``max_wait_secs``.
        """
        started = time.monotonic()
        deadline = started + max_wait_secs
        while True:
            session = Session(master, graph=self._graph, config=config)
            try:
                ready, message = self._try_run_local_init_op(session)
                if ready:
                    ready, message = self._ready(self._ready_op, session)
            except BaseException:
                session.close()
                raise
            if ready:
                return session
            session.close()
            pause = self._pause(started)
            if time.monotonic() + pause > deadline:
                raise DeadlineExceededError(
                    None,
                    None,
                    f"Session was not ready after waiting {max_wait_secs} secs: {message}",
                )
            sleep(pause)

    def _pause(self, started: float) -> float:
        """A quarter of the seconds that have been waited already."""
        return min(self._recovery_wait_secs, max(0.05, (time.monotonic() - started) / 4))

    def _restore_checkpoint(
        self,
        master: str,
        saver: Any,
        checkpoint_dir: Any,
        checkpoint_filename_with_path: Any,
        wait_for_checkpoint: bool,
        max_wait_secs: float,
        config: Any,
    ) -> tuple[Session, bool]:
        if checkpoint_dir and checkpoint_filename_with_path:
            raise ValueError(
                "Can not provide both checkpoint_dir and checkpoint_filename_with_path."
            )
        session = Session(master, graph=self._graph, config=config)
        try:
            if not saver or not (checkpoint_dir or checkpoint_filename_with_path):
                return session, False
            if checkpoint_filename_with_path:
                saver.restore(session, checkpoint_filename_with_path)
                return session, True
            started = time.monotonic()
            deadline = started + max_wait_secs
            state = get_checkpoint_state(checkpoint_dir)
            while state is None:
                if not wait_for_checkpoint or time.monotonic() > deadline:
                    return session, False
                log.info("Waiting for checkpoint to be available.")
                sleep(self._pause(started))
                state = get_checkpoint_state(checkpoint_dir)
            saver.restore(session, state.model_checkpoint_path)
            saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
            return session, True
        except BaseException:
            session.close()
            raise

    def _try_run_local_init_op(self, session: Session) -> tuple[bool, str | None]:
        if self._local_init_op is None:
            return True, None
        ready, message = self._ready(self._ready_for_local_init_op, session)
        if not ready:
            return False, message
        log.info("Running local_init_op.")
        session.run(
            self._local_init_op,
            feed_dict=self._local_init_feed_dict,
            options=self._local_init_run_options,
        )
        log.info("Done running local_init_op.")
        return True, None

    @staticmethod
    def _ready(op: Any, session: Session) -> tuple[bool, str | None]:
        if op is None:
            return True, None
        try:
            value = session.run(op)
        except FailedPreconditionError as error:
            if "uninitialized" not in str(error):
                raise
            return False, str(error)
        if value is None or np.asarray(value).dtype == np.int32 or np.size(value) == 0:
            return True, None
        names = [v.decode() if isinstance(v, bytes) else str(v) for v in np.reshape(value, -1)]
        return False, f"Variables not initialized: {', '.join(names)}"


def _name(op: Any) -> str:
    return getattr(op, "name", "None") if op is not None else "None"
