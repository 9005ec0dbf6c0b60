"""`Scaffold`: the nodes a training session needs besides the model, and who makes the session."""

from __future__ import annotations

import logging
from typing import Any

from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.ops.control_flow import group
from dataflow.ops.lookup_tables import tables_initializer
from dataflow.ops.resources import initialize_resources, local_resources, shared_resources
from dataflow.ops.summary import merge_all
from dataflow.ops.variable_lists import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from dataflow.train.saver import Saver
from dataflow.train.session_manager import SessionManager

log = logging.getLogger("tensorflow")


def _saver_or_default() -> Any:
    """The one saver of the collection, or a new one."""
    graph = default_graph()
    savers = graph.get_collection(GraphKeys.SAVERS)
    if savers:
        if len(savers) > 1:
            raise RuntimeError(
                "More than one item in collection SAVERS. Please indicate which one to use by "
                "passing it to the constructor."
            )
        return savers[0]
    saver = Saver(sharded=True, allow_empty=True)
    graph.add_to_collection(GraphKeys.SAVERS, saver)
    return saver


class InitializationOps:
    """The ops with which a `Scaffold`, or a `Supervisor`, makes a session ready, and what saves it."""

    _init_op: Any
    _ready_op: Any
    _ready_for_local_init_op: Any
    _summary_op: Any
    _saver: Any
    _init_feed_dict: Any

    @property
    def init_op(self) -> Any:
        """Initializes the global variables."""
        return self._init_op

    @property
    def ready_op(self) -> Any:
        """The names of what is not initialized."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        """The names of global variables that are not initialized."""
        return self._ready_for_local_init_op

    @property
    def summary_op(self) -> Any:
        """All summaries, merged."""
        return self._summary_op

    @property
    def saver(self) -> Any:
        """The `Saver`."""
        return self._saver

    @property
    def init_feed_dict(self) -> Any:
        """What to feed to ``init_op``."""
        return self._init_feed_dict


class Scaffold(InitializationOps):
    """Initializers, readiness checks, summaries and saver of a model; what is not given is made.

    `finalize` makes them and closes the graph. ``init_fn(scaffold, session)`` is called after
    ``init_op``, and neither when a checkpoint is restored.
    """

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Any = None,
        init_fn: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Any = None,
        copy_from_scaffold: Scaffold | None = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        self._user_init_fn: Any = init_fn
        if copy_from_scaffold is not None:
            if not isinstance(copy_from_scaffold, Scaffold):
                raise TypeError("copy_from_scaffold is not a Scaffold instance.")
            base = copy_from_scaffold

            def pick(mine: Any, theirs: Any) -> Any:
                return mine if mine is not None else theirs

            init_op = pick(init_op, base.init_op)
            init_feed_dict = pick(init_feed_dict, base.init_feed_dict)
            # The function there has its scaffold bound already.
            self._user_init_fn = pick(init_fn, base._user_init_fn)
            ready_op = pick(ready_op, base.ready_op)
            ready_for_local_init_op = pick(ready_for_local_init_op, base.ready_for_local_init_op)
            local_init_op = pick(local_init_op, base.local_init_op)
            local_init_feed_dict = pick(local_init_feed_dict, base.local_init_feed_dict)
            summary_op = pick(summary_op, base.summary_op)
            saver = pick(saver, base.saver)
        self._init_op = init_op
        self._init_feed_dict = init_feed_dict
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._local_init_op = local_init_op
        self._local_init_feed_dict = local_init_feed_dict
        self._summary_op = summary_op
        self._saver = saver

    def finalize(self) -> Scaffold:
        """Makes what is missing and finalizes the graph."""
        make = self.get_or_default
        if self._init_op is None:
            self._init_op = make("init_op", GraphKeys.INIT_OP, _default_init_op)
        if self._ready_op is None:
            self._ready_op = make("ready_op", GraphKeys.READY_OP, report_uninitialized_variables)
        if self._ready_for_local_init_op is None:
            self._ready_for_local_init_op = make(
                "ready_for_local_init_op",
                GraphKeys.READY_FOR_LOCAL_INIT_OP,
                lambda: report_uninitialized_variables(global_variables()),
            )
        if self._local_init_op is None:
            self._local_init_op = make(
                "local_init_op", GraphKeys.LOCAL_INIT_OP, Scaffold.default_local_init_op
            )
        if self._summary_op is None:
            self._summary_op = make("summary_op", GraphKeys.SUMMARY_OP, merge_all)
        if self._saver is None:
            self._saver = _saver_or_default()
        if hasattr(self._saver, "build"):
            self._saver.build()
        default_graph().finalize()
        log.info("Graph was finalized.")
        return self

    @property
    def init_fn(self) -> Any:
        """The function of the session that is called after ``init_op``, or ``None``."""
        function = self._user_init_fn
        return None if function is None else (lambda session: function(self, session))

    @property
    def local_init_op(self) -> Any:
        """Initializes local variables and tables."""
        return self._local_init_op

    @property
    def local_init_feed_dict(self) -> Any:
        """What to feed to ``local_init_op``."""
        return self._local_init_feed_dict

    @staticmethod
    def get_or_default(arg_name: str, collection_key: str, default_constructor: Any) -> Any:
        """The one item of a collection, else what ``default_constructor`` makes, which is added."""
        graph = default_graph()
        elements = graph.get_collection(collection_key)
        if elements:
            if len(elements) > 1:
                raise RuntimeError(
                    f"More than one item in the collection {collection_key!r}. Please indicate "
                    f"which one to use by passing it to the tf.Scaffold constructor as: "
                    f"tf.Scaffold({arg_name}=item to use)"
                )
            return elements[0]
        made = default_constructor()
        if made is not None:
            graph.add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op() -> Any:
        """Local variables, tables and what else is of this process alone."""
        return group(
            local_variables_initializer(),
            tables_initializer(),
            initialize_resources(local_resources()),
        )


def _default_init_op() -> Any:
    return group(global_variables_initializer(), initialize_resources(shared_resources()))


class SessionCreator:
    """Makes a session; see `ChiefSessionCreator`."""

    def create_session(self) -> Any:
        """The session."""
        raise NotImplementedError(f"create_session is not implemented for {self}.")


class ChiefSessionCreator(SessionCreator):
    """Makes a session that initializes the model, or restores it from ``checkpoint_dir``."""

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
    ) -> None:
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint_filename_with_path = checkpoint_filename_with_path
        self._scaffold = scaffold or Scaffold()
        self._session_manager: SessionManager | None = None
        self._master = master
        self._config = config

    def create_session(self) -> Any:
        """Finalizes the graph and prepares a session."""
        self._scaffold.finalize()
        if self._session_manager is None:
            self._session_manager = _session_manager(self._scaffold)
        return self._session_manager.prepare_session(
            self._master,
            saver=self._scaffold.saver,
            checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint_filename_with_path,
            config=self._config,
            init_op=self._scaffold.init_op,
            init_feed_dict=self._scaffold.init_feed_dict,
            init_fn=self._scaffold.init_fn,
        )


class WorkerSessionCreator(SessionCreator):
    """Makes a session once the chief has made the model ready."""

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        max_wait_secs: float = 30 * 60,
    ) -> None:
        self._scaffold = scaffold or Scaffold()
        self._session_manager: SessionManager | None = None
        self._master = master
        self._config = config
        self._max_wait_secs = max_wait_secs

    def create_session(self) -> Any:
        """Finalizes the graph and waits."""
        self._scaffold.finalize()
        if self._session_manager is None:
            self._session_manager = _session_manager(self._scaffold)
        return self._session_manager.wait_for_session(
            self._master, config=self._config, max_wait_secs=self._max_wait_secs
        )


def _session_manager(scaffold: Scaffold) -> SessionManager:
    return SessionManager(
        local_init_op=scaffold.local_init_op,
        local_init_feed_dict=scaffold.local_init_feed_dict,
        ready_op=scaffold.ready_op,
        ready_for_local_init_op=scaffold.ready_for_local_init_op,
        graph=default_graph(),
    )
