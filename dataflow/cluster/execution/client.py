"""What `tf.Session` delegates to when its target is a server.

If the target's server lives in this process, its master is called directly and works on this very
graph. Otherwise the graph is sent to the master as it grows, fetches and feeds are prepared once,
and a run is one message there and one back.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from dataflow.cluster.execution.master import call, held
from dataflow.cluster.execution.prefetch import note_run
from dataflow.cluster.execution.step_tracer import StepTracer, merge
from dataflow.cluster.partition import graph_codec
from dataflow.cluster.transport import registry
from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.connection_pool import ConnectionPool
from dataflow.cluster.transport.messages import Kind
from dataflow.cluster.transport.remote_errors import restore_error, with_restart
from dataflow.errors import CancelledError, OpError
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.placement.placer import log_placement
from dataflow.rewrites.options import RewriteOptions
from dataflow.runtime.config import ConfigProto
from dataflow.runtime.devices import DeviceAttributes
from dataflow.runtime.feeds import flatten_feeds, make_feed_converter
from dataflow.runtime.fetches import FetchPlan, cache_key
from dataflow.runtime.ownership import detach
from dataflow.runtime.stepper import Trace

#: How long after a step's end its master may say what became of it: it knows which task was slow.
_MASTER_SECONDS = 0.3
#: How long the end of a session may take; the master ends it too when the connection ends.
_CLOSE_SECONDS = 2.0


class _Combination:
    """What a session knows of one combination of fetches and feeds."""

    def __init__(self, fetches: FetchPlan, feeds: list[Tensor], traced: bool = False) -> None:
        self.fetches = fetches
        self.traced = traced
        self.feeds = feeds
        self.feed_names = [t.name for t in feeds]
        self.converters = [make_feed_converter(t) for t in feeds]
        self.prepared: Any = None
        self.needed: frozenset[str] = frozenset()
        self.generation = -1


class RemotePlan(NamedTuple):
    """A combination of fetches and feeds, as a session keeps it."""

    run_combination: Callable[[_Combination, Iterable[Any]], Any]
    combination: _Combination

    def run(self, values: Iterable[Any]) -> Any:
        """Run with the fed values; return what was fetched, in the structure asked for."""
        return self.run_combination(self.combination, values)


class RemoteSession:
    """A session on a cluster. `run` gives the values, and what pruning left for the widgets."""

    def __init__(self, backend: LocalMaster | RemoteMaster, graph: Any, config: Any) -> None:
        self.backend = backend
        self.graph = graph
        self._timeout_seconds = _timeout_of(config)
        self._log_placement = bool(getattr(config, "log_device_placement", False))
        self._combinations: dict[Any, _Combination] = {}
        self._seen_mutations = graph.num_mutations
        self._lock = threading.Lock()

    def run(
        self,
        fetches: Any,
        feed_dict: Any = None,
        timeout_seconds: float | None = None,
        until: Callable[[], bool] | None = None,
    ) -> tuple[Any, frozenset[str], list[str], list[str]]:
        """Return (result, names of the needed nodes, names of fetches, names of fed tensors).

        With ``until`` it may be run many times before this returns, as of `MasterSession.run`.
        """
        combination, values = self._combination(fetches, feed_dict)
        return (
            self._run(combination, values, timeout_seconds, until),
            combination.needed,
            combination.fetches.names,
            combination.feed_names,
        )

    def again(self, fetches: Any, feed_dict: Any = None) -> RemotePlan | None:
        """What `run` does with such fetches and feeds, found out once.

        ``None`` where a value stands for several tensors, and has to be taken apart each time.
        """
        combination, _ = self._combination(fetches, feed_dict)
        if len(combination.feeds) != len(feed_dict or ()):
            return None
        return RemotePlan(self._run, combination)

    def _combination(
        self, fetches: Any, feed_dict: Any, traced: bool = False
    ) -> tuple[_Combination, list[Any]]:
        """The combination, kept from an earlier run where there was one, and the values to feed."""
        combination = None
        if self.graph.num_mutations != self._seen_mutations:
            self._combinations.clear()
            self._seen_mutations = self.graph.num_mutations
        try:
            key = (cache_key(fetches), tuple(feed_dict) if feed_dict else (), traced)
            combination = self._combinations.get(key)
        except TypeError:
            key = None
        if combination is None:
            feeds = flatten_feeds(self.graph, feed_dict) if feed_dict else {}
            combination = _Combination(FetchPlan(self.graph, fetches), list(feeds), traced)
            values = list(feeds.values())
            if key is not None and len(feeds) == len(key[1]):
                self._combinations[key] = combination
        else:
            values = list(feed_dict.values()) if feed_dict else []
        return combination, values

    def _run(
        self,
        combination: _Combination,
        values: Iterable[Any],
        timeout_seconds: float | None = None,
        until: Callable[[], bool] | None = None,
    ) -> Any:
        backend = self.backend
        seconds = timeout_seconds or self._timeout_seconds
        arrays = [convert(v) for convert, v in zip(combination.converters, values, strict=True)]
        if combination.generation != backend.generation:
            seconds = self._prepare(combination, seconds)
        try:
            results = backend.run(combination, arrays, seconds, until=until)
        except OpError as error:
            raise self._with_node(error) from None
        return combination.fetches.rebuild([detach(value) for value in results])

    def _prepare(self, combination: _Combination, seconds: float | None) -> float | None:
        """Have the tasks prepare a step; return how much of its time is left then."""
        deadline = _deadline(seconds)
        with held(self._lock, deadline):
            self.backend.prepare(combination, deadline)
            if self._log_placement and combination.generation < 0:
                log_placement(self._devices_of(combination))
            combination.generation = self.backend.generation
        return None if deadline is None else max(0.001, deadline - time.monotonic())

    def _with_node(self, error: OpError) -> OpError:
        """The error with the node of this graph, where it came with a name only."""
        found = re.match(r"\S+ '([^']+)'", error.message) if error.op is None else None
        if found is not None and found[1] in self.graph.op_by_name:
            op = self.graph.op_by_name[found[1]]
            error._op, error._node_def = op, op
        elif error.op is not None and error.op.graph is not self.graph:
            error._op = error._node_def = self.graph.op_by_name.get(error.op.name)
        return error

    def record(
        self, fetches: Any, feed_dict: Any = None, values: bool = True, catch: bool = False
    ) -> Trace:
        """Run once and return what every node did, with its task as its device.

        As `dataflow.runtime.stepper.record`. Nodes are in the order in which they began.
        """
        combination, given = self._combination(fetches, feed_dict, traced=True)
        arrays = [convert(v) for convert, v in zip(combination.converters, given, strict=True)]
        if combination.generation != self.backend.generation:
            self._prepare(combination, self._timeout_seconds)
        tracers: dict[str, StepTracer] = {}
        result = error = None
        started = time.time()
        try:
            flat = self.backend.run(
                combination, arrays, self._timeout_seconds, tracers, keep_values=values
            )
            result = combination.fetches.rebuild([detach(value) for value in flat])
        except OpError as found:
            error = self._with_node(found)
            if not catch:
                raise error from None
        steps, copies, inputs = merge(tracers, self.graph, started)
        everything = {op.name for op in self.graph.get_operations()}
        return Trace(
            self.graph,
            steps,
            result,
            combination.fetches.names,
            combination.feed_names,
            dict(zip(combination.feed_names, arrays, strict=True)),
            combination.needed,
            frozenset(everything - combination.needed),
            error,
            copies,
            inputs,
        )

    def explain(self, fetches: Any, feeds: list[Tensor]) -> dict[str, Any]:
        """Return what each task would do in a run, as plain data, without running it.

        ``{"fetches": names, "feeds": names, "tasks": {task: parts}}``; of the parts says
        `introspect.explain_tasks.Part`.
        """
        combination = _Combination(FetchPlan(self.graph, fetches), feeds)
        return {
            "fetches": combination.fetches.names,
            "feeds": combination.feed_names,
            "tasks": self.backend.explain(combination, _deadline(self._timeout_seconds)),
        }

    def _devices_of(self, combination: _Combination) -> dict[Operation, str]:
        """Return the full name of the device of each needed node."""
        on_gpus = self.backend.on_gpus(combination)
        by_name = self.graph.op_by_name
        return {
            by_name[name]: f"{task.replace('/task:', '/replica:0/task:')}/device:"
            + on_gpus.get(name, "CPU:0")
            for name, task in self.backend.placement(combination).items()
            if name in by_name
        }

    def tasks(self, fetches: Any, feed_dict: Any = None) -> dict[str, str]:
        """Return the task of every node that a run would need, by name."""
        feeds = flatten_feeds(self.graph, feed_dict) if feed_dict else {}
        combination = _Combination(FetchPlan(self.graph, fetches), list(feeds))
        self.backend.prepare(combination, _deadline(self._timeout_seconds))
        return self.backend.placement(combination)

    def tasks_of_run(self, fetches: list[str], feeds: list[str]) -> dict[str, str]:
        """Return the task of every node that a run which was made needed, by the run's names.

        Empty for a run that this session did not make, or no longer knows.
        """
        for combination in list(self._combinations.values()):
            if combination.fetches.names == fetches and combination.feed_names == feeds:
                with self._lock:
                    return self.backend.placement(combination)
        return {}

    def list_devices(self) -> list[DeviceAttributes]:
        """Return the devices of every task that this session sees.

        A task that does not answer has its CPU, and says so in ``physical_device_desc``.
        """
        return [DeviceAttributes(*fields) for fields in self.backend.list_devices()]

    def close(self) -> None:
        """Let the tasks drop what this session registered; variables stay."""
        self._combinations.clear()
        self.backend.close()


def _deadline(seconds: float | None) -> float | None:
    return None if seconds is None else time.monotonic() + seconds


class LocalMaster:
    """The target's server lives in this process: its master works on this very graph."""

    #: What was prepared stays good as long as the server lives.
    generation = 0

    def __init__(self, server: Any, graph: Any, config: Any) -> None:
        self.server = server
        self.master = server.new_master_session(config, _rewrite_options_of(config))

    def prepare(self, combination: _Combination, deadline: float | None) -> None:
        """Cut the graph and register the partitions; see `MasterSession.prepare`."""
        fetches = combination.fetches
        prepared = self.master.prepare(
            fetches.tensors, fetches.operations, combination.feeds, deadline, combination.traced
        )
        combination.prepared = prepared
        combination.needed = prepared.needed

    def run(
        self,
        combination: _Combination,
        values: Sequence[Any],
        timeout_seconds: float | None,
        tracers: dict[str, StepTracer] | None = None,
        keep_values: bool = True,
        until: Callable[[], bool] | None = None,
    ) -> list[Any]:
        """Run a prepared step."""
        results: list[Any] = self.master.run(
            combination.prepared, values, timeout_seconds, None, tracers, keep_values, until
        )
        return results

    def explain(self, combination: _Combination, deadline: float | None) -> dict[str, Any]:
        """Have each task say what it would do."""
        fetches = combination.fetches
        return dict(
            self.master.explain(fetches.tensors, fetches.operations, combination.feeds, deadline)
        )

    def placement(self, combination: _Combination) -> dict[str, str]:
        """Return the task of each needed node."""
        return dict(combination.prepared.task_of)

    def on_gpus(self, combination: _Combination) -> dict[str, str]:
        """Return the task's GPU of each node that is placed on one."""
        return dict(combination.prepared.on_gpus)

    def list_devices(self) -> list[Sequence[Any]]:
        """Return the fields of the visible tasks' devices."""
        return self.server.devices_of(self.master)  # type: ignore[no-any-return]

    def close(self) -> None:
        """End the master's session."""
        self.server.end_master_session(self.master)


class RemoteMaster:
    """The target's server is another process: the graph goes there as it grows."""

    def __init__(self, target: str, graph: Any, config: Any) -> None:
        self.target = target
        self.graph = graph
        self.address = target.removeprefix("grpc://")
        self.pool = ConnectionPool(registry.key_for(self.address), "a client")
        self.task = ""  # that the master belongs to; known when it has answered
        #: Grows when the server was restarted: what was prepared there is gone.
        self.generation = 0
        self.session = ""
        #: The server's life that knows the session, and whether there was another before it.
        self._incarnation = ""
        self._was_restarted = False
        self._num_sent = 0
        self._seen_mutations = graph.num_mutations
        self._options = {
            "device_filters": list(getattr(config, "device_filters", ()) or ()),
            "allow_soft_placement": bool(getattr(config, "allow_soft_placement", False)),
            "rewrites": _rewrite_options_of(config),
        }
        self._timeout_seconds = _timeout_of(config)
        self._control: Connection | None = None
        self._closed = False
        self._lock = threading.RLock()
        try:
            self._create(_deadline(self._timeout_seconds))
        except BaseException:
            self.pool.close()
            raise

    def _create(self, deadline: float | None) -> None:
        """Open the session; its life is that of the control connection."""
        control = self._take(deadline)
        self.task = control.peer = control.greeting["task"]
        incarnation = control.greeting["incarnation"]
        self._was_restarted |= self._incarnation not in ("", incarnation)
        self._incarnation = incarnation
        self._control = control
        self.session = str(self._ask("session.create", self._options, deadline)["session"])
        self._num_sent = 0

    def _take(self, deadline: float | None) -> Connection:
        task = self.task or f"the master at {self.target}"
        return self.pool.take(self.address, task, deadline=deadline)

    def _ask(
        self,
        method: str,
        head: dict[str, Any],
        deadline: float | None,
        arrays: Sequence[Any] = (),
    ) -> dict[str, Any]:
        """Call a method of the master on the control connection; it hears how much time there is."""
        control = self._control
        assert control is not None
        if deadline is not None:
            head = {**head, "timeout": max(0.001, deadline - time.monotonic())}
            control.deadline = deadline + _MASTER_SECONDS
        try:
            return call(control, method, head, arrays).head or {}
        finally:
            control.deadline = None

    def _ensure_session(self, deadline: float | None) -> None:
        if self._closed:  # while another thread was about to prepare a step
            raise CancelledError(None, None, "The session was closed during the step.")
        if self._control is None or not self._control.is_quiet():
            if self._control is not None:
                self._control.close()
            self.generation += 1
            self._create(deadline)

    def prepare(self, combination: _Combination, deadline: float | None) -> None:
        """Send what is new of the graph; have the step cut and registered."""
        with held(self._lock, deadline):
            reply = self._ask_about("session.prepare", combination, deadline)
            combination.prepared = (self.session, reply["handle"])
            combination.needed = frozenset(reply["needed"])

    def _prepare_again(self, combination: _Combination, deadline: float | None) -> tuple[str, int]:
        """Prepare a step that the server's present life does not know; its session and number."""
        with held(self._lock, deadline):
            self._ensure_session(deadline)
            if combination.prepared[0] != self.session:
                self.prepare(combination, deadline)
            return combination.prepared  # type: ignore[no-any-return]

    def explain(self, combination: _Combination, deadline: float | None) -> dict[str, Any]:
        """Have each task say what it would do."""
        with held(self._lock, deadline):
            return dict(self._ask_about("session.explain", combination, deadline)["tasks"])

    def _ask_about(
        self, method: str, combination: _Combination, deadline: float | None
    ) -> dict[str, Any]:
        """Send what is new of the graph, and call a method with the names of fetches and feeds."""
        self._ensure_session(deadline)
        ops = self.graph.get_operations()
        replace = self.graph.num_mutations != self._seen_mutations
        first = 0 if replace else self._num_sent
        self._seen_mutations = self.graph.num_mutations
        encoded, arrays = _encode_what_can_travel(ops[first:])
        head = {"session": self.session, "ops": encoded, "replace": replace}
        self._ask("session.extend", head, deadline, arrays)
        self._num_sent = len(ops)
        head = {
            "session": self.session,
            "fetches": [t.name for t in combination.fetches.tensors],
            "targets": [op.name for op in combination.fetches.operations],
            "feeds": combination.feed_names,
            "traced": combination.traced,
        }
        return self._ask(method, head, deadline)

    def run(
        self,
        combination: _Combination,
        values: Sequence[Any],
        timeout_seconds: float | None,
        tracers: dict[str, StepTracer] | None = None,
        keep_values: bool = True,
        until: Callable[[], bool] | None = None,
    ) -> list[Any]:
        """Run a prepared step: one message there, one back; once, whatever ``until`` says."""
        note_run()
        deadline = _deadline(timeout_seconds)
        connection = self._take(deadline)
        try:
            session, step = combination.prepared
            if session != self.session or connection.greeting["incarnation"] != self._incarnation:
                session, step = self._prepare_again(combination, deadline)
            head = {"method": "session.run", "session": session, "step": step}
            if deadline is not None:
                head["timeout"] = max(0.001, deadline - time.monotonic())
                connection.deadline = deadline + _MASTER_SECONDS
            if tracers is not None:
                head["trace"] = "values" if keep_values else "times"
            connection.send(Kind.CALL, 0, 0, values, head)
            reply = connection.receive()
        except BaseException:
            connection.close()  # an interrupted cell: the end of the connection cancels the step
            raise
        self.pool.give(connection)
        if reply.head is not None and "code" in reply.head:
            error = restore_error(reply.head, self.graph)
            if self._was_restarted:
                error = with_restart(error, self.task)
            raise error
        if tracers is not None and reply.head is not None:
            num_fetches = int(reply.head["num_fetches"])
            arrays = reply.tensors[num_fetches:]
            for task, trace in reply.head["traces"].items():
                tracers[task] = StepTracer(True)
                tracers[task].decode(trace, arrays[: trace["num_arrays"]])
                arrays = arrays[trace["num_arrays"] :]
            return reply.tensors[:num_fetches]
        return reply.tensors

    def placement(self, combination: _Combination) -> dict[str, str]:
        """Return the task of each needed node."""
        return dict(self._placement(combination)["tasks"])

    def on_gpus(self, combination: _Combination) -> dict[str, str]:
        """Return the task's GPU of each node that is placed on one."""
        return dict(self._placement(combination)["on_gpus"])

    def _placement(self, combination: _Combination) -> dict[str, Any]:
        session, step = combination.prepared
        head = {"session": session, "step": step}
        return self._ask("session.placement", head, _deadline(self._timeout_seconds))

    def list_devices(self) -> list[Sequence[Any]]:
        """Return the fields of the visible tasks' devices."""
        deadline = _deadline(self._timeout_seconds)
        with held(self._lock, deadline):
            self._ensure_session(deadline)
            head = self._ask("session.devices", {"session": self.session}, deadline)
        return list(head["devices"])

    def close(self) -> None:
        """End the session at the master."""
        self._closed = True
        if not self._lock.acquire(timeout=_CLOSE_SECONDS):
            if self._control is not None:
                self._control.wake()  # another thread waits there for a master that is stopped
            self._lock.acquire()
        control, self._control = self._control, None
        self._lock.release()
        if control is not None:
            with contextlib.suppress(OpError):
                control.deadline = time.monotonic() + _CLOSE_SECONDS
                call(control, "session.close", {"session": self.session})
            control.close()
        self.pool.close()


def _timeout_of(config: Any) -> float | None:
    milliseconds = getattr(config, "operation_timeout_in_ms", 0) or 0
    return milliseconds / 1000 or None


def _rewrite_options_of(config: Any) -> RewriteOptions | None:
    return RewriteOptions.from_config(config if config is not None else ConfigProto())


def _encode_what_can_travel(ops: Sequence[Any]) -> tuple[list[dict[str, Any]], list[Any]]:
    """Encode operations; one that cannot travel goes as a stub whose use says why."""
    try:
        return graph_codec.encode_operations(ops)
    except OpError:
        pass
    encoded: list[dict[str, Any]] = []
    arrays: list[Any] = []
    for op in ops:
        before = len(arrays)
        try:
            encoded.append(graph_codec.encode_operation(op, arrays))
        except OpError as error:
            del arrays[before:]
            encoded.append({**graph_codec.encode_stub(op), "why": error.message})
    return encoded, arrays


def connect(target: str, graph: Any, config: Any = None) -> RemoteSession:
    """Return the session of ``graph`` on the server at ``target`` (``grpc://host:port``).

    Raises UnavailableError that says which address was tried, ValueError for no address.
    """
    server = registry.server_at(target)
    backend: LocalMaster | RemoteMaster
    if server is not None:
        backend = LocalMaster(server, graph, config)
    else:
        backend = RemoteMaster(target, graph, config)
    return RemoteSession(backend, graph, config)


def reset(target: str, containers: Sequence[str] | None = None, config: Any = None) -> None:
    """Clear the variables and queues of all tasks of the cluster, or those of some containers."""
    if not target:
        return
    note_run()
    address = target.removeprefix("grpc://")
    pool = ConnectionPool(registry.key_for(address), "a client")
    try:
        connection = pool.take(address, f"the master at {target}")
        call(connection, "cluster.reset", {"containers": list(containers or ())})
        connection.close()
    finally:
        pool.close()
