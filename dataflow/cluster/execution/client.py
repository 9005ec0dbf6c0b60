"""What `tf.Session` delegates to when its target is a server.

If the target's server lives in this process, its master is called directly and works on this very
graph. Otherwise the graph is sent to the master as it grows, fetches and feeds are prepared once,
and a run is one message there and one back.
"""

from __future__ import annotations

import functools
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dataflow.capabilities import THREADS
from dataflow.cluster.execution.calls import call, held
from dataflow.cluster.execution.combination import Combination, deadline_in, timeout_of
from dataflow.cluster.execution.local_master import LocalMaster
from dataflow.cluster.execution.prefetch import note_run
from dataflow.cluster.execution.remote_master import RemoteMaster
from dataflow.cluster.execution.step_tracer import StepTracer, merge
from dataflow.cluster.transport import registry
from dataflow.cluster.transport.connection_pool import ConnectionPool
from dataflow.errors import NotFoundError, OpError
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.placement.placer import log_placement
from dataflow.runtime.cooperative import Suspended, scheduler
from dataflow.runtime.devices import DeviceAttributes
from dataflow.runtime.feeds import flatten_feeds
from dataflow.runtime.fetches import FetchPlan, cache_key
from dataflow.runtime.ownership import detach
from dataflow.runtime.stepper import Trace

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph
    from dataflow.runtime.config import ConfigProto


class RemotePlan(NamedTuple):
    """A combination of fetches and feeds, as a session keeps it."""

    #: Runs with the fed values; returns what was fetched, in the structure asked for.
    run: Callable[[Iterable[Any]], Any]


class RemoteSession:
    """A session on a cluster. `run` returns the values, and for the widgets the nodes that pruning left."""

    def __init__(
        self, backend: LocalMaster | RemoteMaster, graph: Graph, config: ConfigProto | None
    ) -> None:
        self.backend = backend
        self.graph = graph
        self._timeout_seconds = timeout_of(config)
        self._log_placement = bool(getattr(config, "log_device_placement", False))
        self._combinations: dict[Any, Combination] = {}
        self._seen_mutations = graph.num_mutations
        self._lock = threading.Lock()

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        timeout_seconds: float | None = None,
        until: Callable[[], bool] | None = None,
    ) -> tuple[Any, frozenset[str], list[str], list[str]]:
        """Return (result, names of the needed nodes, names of fetches, names of fed tensors).

        With ``until`` the step may run many times before this returns, as in `MasterSession.run`.
        """
        combination, values = self._combination(fetches, feed_dict)
        return (
            self._run(combination, values, timeout_seconds, until),
            combination.needed,
            combination.fetches.names,
            combination.feed_names,
        )

    def again(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> RemotePlan | None:
        """A plan for runs with these fetches and feeds, so that they are analyzed only once.

        ``None`` if a fed value stands for several tensors and must be unpacked in every run.
        """
        combination, _ = self._combination(fetches, feed_dict)
        if len(combination.feeds) != len(feed_dict or ()):
            return None
        return RemotePlan(functools.partial(self._run, combination))

    def _combination(
        self, fetches: Any, feed_dict: Mapping[Any, Any] | None, traced: bool = False
    ) -> tuple[Combination, list[Any]]:
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
            combination = Combination(FetchPlan(self.graph, fetches), list(feeds), traced)
            values = list(feeds.values())
            if key is not None and len(feeds) == len(key[1]):
                self._combinations[key] = combination
        else:
            values = list(feed_dict.values()) if feed_dict else []
        return combination, values

    def _run(
        self,
        combination: Combination,
        values: Iterable[Any],
        timeout_seconds: float | None = None,
        until: Callable[[], bool] | None = None,
    ) -> Any:
        try:
            backend = self.backend
            seconds = timeout_seconds or self._timeout_seconds
            arrays: Sequence[Any] = ()
            if combination.converters:
                arrays = [
                    convert(v) for convert, v in zip(combination.converters, values, strict=True)
                ]
            if combination.generation != backend.generation:
                seconds = self._prepare(combination, seconds)
            fast = combination.fast
            if fast is not None:
                try:
                    results = fast.run(arrays, seconds)
                except OpError as error:
                    raise self._with_node(error) from None
                if results is not None:
                    return combination.fetches.rebuild([detach(value) for value in results])
            run = functools.partial(backend.run, combination, arrays, seconds, until=until)
            return self._outcome(combination, run)
        finally:
            if not THREADS:
                scheduler.share_time()

    def _outcome(self, combination: Combination, run: Callable[[], list[Any]]) -> Any:
        """What ``run()`` gives, in the structure asked for. A run that is left is resumed here."""
        try:
            results = run()
        except OpError as error:
            raise self._with_node(error) from None
        except Suspended as left:
            resume = left.resume
            assert resume is not None
            left.resume = lambda: self._outcome(combination, resume)
            raise
        return combination.fetches.rebuild([detach(value) for value in results])

    def _prepare(self, combination: Combination, seconds: float | None) -> float | None:
        """Have the tasks prepare a step; return how much of its time is left then."""
        deadline = deadline_in(seconds)
        with held(self._lock, deadline):
            self.backend.prepare(combination, deadline)
            if self._log_placement and combination.generation < 0:
                log_placement(self._devices_of(combination))
            combination.generation = self.backend.generation
        return None if deadline is None else max(0.001, deadline - time.monotonic())

    def _with_node(self, error: OpError) -> OpError:
        """The error with this graph's node, if only the node's name was sent."""
        found = re.match(r"\S+ '([^']+)'", error.message) if error.op is None else None
        if found is not None and found[1] in self.graph.op_by_name:
            op = self.graph.op_by_name[found[1]]
            error._op, error._node_def = op, op
        elif error.op is not None and error.op.graph is not self.graph:
            error._op = error._node_def = self.graph.op_by_name.get(error.op.name)
        return error

    @property
    def task(self) -> str:
        """The task whose master runs the steps."""
        return self.backend.task

    def record(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        values: bool = True,
        catch: bool = False,
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
        merged = merge(tracers, self.graph, started)
        everything = {op.name for op in self.graph.get_operations()}
        return Trace(
            self.graph,
            merged.steps,
            result,
            combination.fetches.names,
            combination.feed_names,
            dict(zip(combination.feed_names, arrays, strict=True)),
            combination.needed,
            frozenset(everything - combination.needed),
            error,
            merged.copies,
            merged.inputs,
            merged.messages,
            started,
            merged.hops,
        )

    def explain(self, fetches: Any, feeds: list[Tensor]) -> dict[str, Any]:
        """Return what each task would do in a run, as plain data, without running it.

        ``{"fetches": names, "feeds": names, "tasks": {task: parts}}``; see
        `introspect.explain_tasks.Part`.
        """
        combination = Combination(FetchPlan(self.graph, fetches), feeds)
        return {
            "fetches": combination.fetches.names,
            "feeds": combination.feed_names,
            "tasks": self.backend.explain(combination, deadline_in(self._timeout_seconds)),
        }

    def _devices_of(self, combination: Combination) -> dict[Operation, str]:
        """Return the full name of the device of each needed node."""
        on_gpus = self.backend.on_gpus(combination)
        by_name = self.graph.op_by_name
        return {
            by_name[name]: f"{task.replace('/task:', '/replica:0/task:')}/device:"
            + on_gpus.get(name, "CPU:0")
            for name, task in self.backend.placement(combination).items()
            if name in by_name
        }

    def tasks(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> dict[str, str]:
        """Return the task of every node that a run would need, by name."""
        feeds = flatten_feeds(self.graph, feed_dict) if feed_dict else {}
        combination = Combination(FetchPlan(self.graph, fetches), list(feeds))
        self.backend.prepare(combination, deadline_in(self._timeout_seconds))
        return self.backend.placement(combination)

    def tasks_of_run(self, fetches: list[str], feeds: list[str]) -> dict[str, str]:
        """Return the task of every node that an earlier run needed, given the names of its fetches and feeds.

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


def connect(target: str, graph: Graph, config: ConfigProto | None = None) -> RemoteSession:
    """Return the session of ``graph`` on the server at ``target`` (``grpc://host:port``).

    Raises UnavailableError that says which address was tried, NotFoundError for a target of another
    kind, ValueError for no address.
    """
    if "://" in target.removeprefix("grpc://") or ":" not in target:
        raise NotFoundError(
            None,
            None,
            f"No session factory registered for the given session options: {{target: {target!r}}}. "
            "A target is empty for this process, or a server's: 'grpc://host:port' "
            "(server.target).",
        )
    server = registry.server_at(target)
    backend: LocalMaster | RemoteMaster
    if server is not None:
        backend = LocalMaster(server, graph, config)
    else:
        backend = RemoteMaster(target, graph, config)
    return RemoteSession(backend, graph, config)


def reset(
    target: str,
    containers: Sequence[str] | None = None,
    config: ConfigProto | None = None,
    end_sessions: bool = True,
) -> None:
    """Clear the variables and queues of all tasks of the cluster, or those of some containers.

    ``end_sessions`` ends the sessions on the target, which would make the variables again.
    """
    if not target:
        return
    note_run()
    address = target.removeprefix("grpc://")
    pool = ConnectionPool(registry.key_for(address), "a client")
    try:
        connection = pool.take(address, f"the master at {target}")
        call(
            connection,
            "cluster.reset",
            {"containers": list(containers or ()), "sessions": end_sessions},
        )
        connection.close()
    finally:
        pool.close()
