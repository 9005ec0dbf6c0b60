"""Building one function once for each replica, in threads of which exactly one runs at a time.

A replica may ask for all replicas to meet (`ReplicaContext.merge_call`): then each waits where it is,
and what follows is built once, from the values of all. That is what threads are needed for.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from dataflow.distribute.values import regroup, select
from dataflow.graph import nest
from dataflow.graph.default_stacks import default_graph, default_session
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.replicas import state
from dataflow.ops.sources import constant
from dataflow.ops.variable_scope import get_variable_scope, variable_scope
from dataflow.ops.variable_store import variable_store


class ReplicaContext:
    """What a function that a strategy runs sees of its replica."""

    def __init__(self, strategy: Any, replica_id_in_sync_group: Any, index: int = 0) -> None:
        self._strategy, self._id, self.index = strategy, replica_id_in_sync_group, index
        self._meet: Callable[..., Any] | None = None
        self.thread: Any = None

    @property
    def strategy(self) -> Any:
        """The strategy."""
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        return self._strategy.num_replicas_in_sync  # type: ignore[no-any-return]

    @property
    def replica_id_in_sync_group(self) -> Any:
        """The number of this replica, a scalar int32 tensor."""
        if isinstance(self._id, int):
            return constant(self._id, "int32")
        return self._id

    @property
    def devices(self) -> tuple[str, ...]:
        """The device of this replica, alone."""
        return (self._strategy.extended.worker_devices[self.index],)

    def merge_call(self, merge_fn: Any, args: Any = (), kwargs: Any = None) -> Any:
        """``merge_fn(strategy, *args, **kwargs)``, called once with the values of all replicas.

        Returns this replica's part of the result. Every replica has to call it.
        """
        if self._meet is None:
            with outside_of_replicas(self._strategy):
                return select(merge_fn(self._strategy, *args, **(kwargs or {})), 0)
        return self._meet(merge_fn, args, kwargs or {})

    def all_reduce(self, reduce_op: Any, value: Any) -> Any:
        """The sum or mean of ``value`` (a tensor, or a structure of them) over the replicas."""
        from dataflow.distribute.reduction import reduce_values

        def merge(strategy: Any, given: Any) -> Any:
            devices = list(strategy.extended.worker_devices)
            return nest.map_structure(
                lambda t: strategy.extended.broadcast_to(t, devices),
                reduce_values(reduce_op, given),
            )

        return self.merge_call(merge, args=(value,))

    def __enter__(self) -> ReplicaContext:
        self._before = (state.strategy, state.replica)
        state.strategy, state.replica = self._strategy, self
        return self

    def __exit__(self, *exc: Any) -> None:
        state.strategy, state.replica = self._before


@contextlib.contextmanager
def outside_of_replicas(strategy: Any) -> Iterator[None]:
    """A block that belongs to the strategy and to none of its replicas."""
    before = (state.strategy, state.replica)
    state.strategy, state.replica = strategy, None
    try:
        yield
    finally:
        state.strategy, state.replica = before


class _Replica(threading.Thread):
    """A thread that builds one replica, and stops where the replicas meet."""

    def __init__(self, run: _Run, index: int, call: Callable[[], Any]) -> None:
        super().__init__(daemon=True, name=f"replica {index}")
        self.index, self._run_of, self._call = index, run, call
        self.turn, self.paused = threading.Event(), threading.Event()
        self.wanted: Any = None
        self.result: Any = None
        self.error: BaseException | None = None
        self.ended = self.started = False
        # Layers without a name are numbered alike in each replica.
        self.counts = dict(run.store.scope_counts)
        self.variables_made: dict[str, int] = {}

    def run(self) -> None:
        self.turn.wait()
        self.turn.clear()
        try:
            self.result = self._call()
        except BaseException as error:
            self.error = error
        self.ended = True
        self.paused.set()

    def step(self) -> None:
        """Lets the thread build up to where it meets the others, or to its end."""
        store = self._run_of.store
        counts, store.scope_counts = store.scope_counts, self.counts
        self.paused.clear()
        self.turn.set()
        if not self.started:
            self.started = True
            self.start()
        self.paused.wait()
        self.counts, store.scope_counts = store.scope_counts, counts

    def meet(self, merge_fn: Any, args: Any, kwargs: Any) -> Any:
        self.wanted = (merge_fn, args, kwargs)
        self.paused.set()
        self.turn.wait()
        self.turn.clear()
        if self._run_of.given_up:
            raise SystemExit
        return select(self.result, self.index)

    def share_variable(self, key: str, variable: Any) -> None:
        """Keeps what the first replica made for the others."""
        self._run_of.variables.setdefault(key, []).append(variable)

    def shared_variable(self, key: str) -> Any:
        """The variable that the first replica made at this place.

        Raises `RuntimeError` where it made none.
        """
        number = self.variables_made.get(key, 0)
        made = self._run_of.variables.get(key, [])
        if number >= len(made):
            raise RuntimeError(
                f"Tried to create variable {key.strip('/')!r} in replica {self.index}, and the first "
                "replica did not: all replicas must make the same variables, in the same order."
            )
        self.variables_made[key] = number + 1
        return made[number]


class _Run:
    """One call of a function by all replicas."""

    def __init__(self, strategy: Any) -> None:
        self.strategy = strategy
        self.given_up = False
        self.store = variable_store()
        #: Made by the first replica and shared by the others, by name.
        self.variables: dict[str, list[Any]] = {}


def call_for_each_replica(strategy: Any, fn: Any, args: Any = (), kwargs: Any = None) -> Any:
    """``fn`` built once for each replica, on its device; the results as `PerReplica` values."""
    graph = default_graph()
    devices = strategy.extended.worker_devices
    if len(devices) == 1:
        with ReplicaContext(strategy, 0), graph.device(devices[0]):
            return regroup([fn(*select(args, 0), **select(kwargs or {}, 0))])
    graph.switch_to_thread_local()
    run = _Run(strategy)
    scope, session = get_variable_scope(), default_session()
    prefix = graph.get_name_scope()
    threads: list[_Replica] = []

    def made(index: int) -> Callable[[], Any]:
        def call() -> Any:
            context = ReplicaContext(strategy, index, index)
            context._meet = threads[index].meet
            context.thread = threads[index]
            parts = [p for p in (prefix, f"replica_{index}" if index else "") if p]
            with (
                graph.as_default(),
                session.as_default() if session is not None else contextlib.nullcontext(),
                graph.device(devices[index]),
                name_scope("/".join(parts) + "/" if parts else None),
                variable_scope(scope, reuse=index > 0 or None, auxiliary_name_scope=False),
                context,
            ):
                return fn(*select(args, index), **select(kwargs or {}, index))

        return call

    threads += [_Replica(run, i, made(i)) for i in range(len(devices))]
    try:
        return _meetings(strategy, run, threads)
    finally:
        run.given_up = True
        for thread in threads:
            if thread.is_alive() and not thread.ended:
                thread.turn.set()
                thread.join()


def _meetings(strategy: Any, run: _Run, threads: list[_Replica]) -> Any:
    while True:
        for thread in threads:
            thread.step()
            if thread.error is not None:
                raise thread.error
        if all(thread.ended for thread in threads):
            run.store.scope_counts = threads[0].counts
            return regroup([thread.result for thread in threads])
        if any(thread.ended for thread in threads):
            raise RuntimeError(
                "Some replicas called merge_call (an optimizer's apply_gradients does) and others "
                "did not; every replica must call it, and as many times."
            )
        merge_fn = threads[0].wanted[0]
        args = regroup([t.wanted[1] for t in threads])
        kwargs = regroup([t.wanted[2] for t in threads])
        with outside_of_replicas(strategy):
            merged = merge_fn(strategy, *args, **kwargs)
        for thread in threads:
            thread.result = merged
