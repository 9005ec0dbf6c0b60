"""The base of all sessions: `run`, and the cache of plans behind it."""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable, Container, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dataflow.errors import InvalidArgumentError, UnimplementedError
from dataflow.graph.default_stacks import default_graph, pop_session, push_session
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.kernels.cuda.memory import limit_memory
from dataflow.missing import unknown_argument
from dataflow.placement.placer import local_devices
from dataflow.providers import provided
from dataflow.rewrites.options import RewriteOptions
from dataflow.rewrites.prune import needed_operations
from dataflow.runtime import events, process_settings
from dataflow.runtime.cancellation import Cancellation
from dataflow.runtime.config import ConfigProto
from dataflow.runtime.cooperative import gives_turns
from dataflow.runtime.devices import num_visible_gpus
from dataflow.runtime.feeds import check_is_feed_dict, flatten_feeds, stands_for_several
from dataflow.runtime.fetches import FetchPlan, cache_key, register_fetch_wrapper
from dataflow.runtime.growing_graph import watch_growth
from dataflow.runtime.plan import Plan
from dataflow.runtime.resources import ResourceManager
from dataflow.runtime.time_limits import LoopEnd, within
from dataflow.runtime.unused_prints import watch_prints

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph
    from dataflow.runtime.config import RunOptions


_MAX_PLANS = 512


RUN_ARGUMENTS = ("fetches", "feed_dict", "options", "run_metadata")


def _session_handle(tensor: Tensor, value: bytes, session: BaseSession) -> Any:
    from dataflow.ops.session_handles import TensorHandle

    return TensorHandle(value.decode(), tensor.op.inputs[0].dtype.base_dtype, session)


register_fetch_wrapper("GetSessionHandle", _session_handle)


class BaseSession:
    """The base of all sessions: fetches and feeds, the cache of plans, opening and closing."""

    def __init__(
        self,
        target: str | bytes = "",
        graph: Graph | None = None,
        config: ConfigProto | None = None,
    ) -> None:
        if graph is None:
            graph = default_graph()
        elif not hasattr(graph, "get_operations"):
            raise TypeError(f"graph must be a tf.Graph, but got {type(graph)}")
        if isinstance(target, bytes):
            target = target.decode()
        if target and not isinstance(target, str):
            raise TypeError(f"target must be a string, but got {type(target)}")
        if config is not None and not isinstance(config, ConfigProto):
            raise TypeError(
                f"config must be a tf.ConfigProto, but got {type(config)}. "
                "Did you mean to pass the target as the first argument?"
            )
        self._graph = graph
        self._target = target
        self.config = config if config is not None else process_settings.new_config()
        self.lock = threading.RLock()
        #: How long the ops of a run may wait, in milliseconds; 0: forever.
        self._timeout_ms: int = self.config.operation_timeout_in_ms or 0
        #: By fetches and fed tensors: a `Plan`, or a remote session's in its place.
        self._plans: dict[Any, Any] = _TimedPlans() if self._timeout_ms and not target else {}
        self._seen_mutations = graph.num_mutations
        self._closed = False
        self.local_devices = local_devices(self.config, num_gpus=num_visible_gpus())
        self.has_gpu = any("GPU" in name for name in self.local_devices)
        if self.has_gpu:
            given: Any = self.config
            limit_memory(given.gpu_options.per_process_gpu_memory_fraction)
        self.resources = ResourceManager()
        self.cancellation = Cancellation()
        self.loop_end = LoopEnd()
        self._states: dict[str, dict[str, Any]] = {}
        self.rewrite_options = RewriteOptions.from_config(self.config)
        self.remote: Any = None
        if target:
            self.remote = provided("cluster").connect(target, graph, self.config)
        self._finalizer = weakref.finalize(self, Cancellation.cancel, self.cancellation)

    # ---- properties -----------------------------------------------------------------------

    @property
    def graph(self) -> Any:
        """The graph that this session runs."""
        return self._graph

    @property
    def _config(self) -> ConfigProto:  # by TensorFlow's private name, for which libraries ask
        return self.config

    @property
    def graph_def(self) -> Any:
        """The graph as a ``GraphDef``."""
        return self._graph.as_graph_def()

    @property
    def sess_str(self) -> str:
        """The target this session is connected to; empty for a local one."""
        return self._target

    def op_state(self, op_name: str) -> dict[str, Any]:
        """State that a stateful op keeps for the life of this session (counters of random ops, ...)."""
        return self._states.setdefault(op_name, {})

    # ---- running --------------------------------------------------------------------------

    @gives_turns
    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: Any = None,
        **misspelled: object,
    ) -> Any:
        """Computes ``fetches`` and returns their values in the same structure.

        ``fetches`` is a tensor, operation or name, or any nesting of lists, tuples, named tuples
        and dicts of them; an operation gives ``None``. ``feed_dict`` maps tensors (not only
        placeholders) to values: numbers, lists, NumPy arrays.

        Raises `RuntimeError` for a closed session, `TypeError` or `ValueError` for fetches and
        feeds that do not fit the graph, and the classes of `tf.errors` for nodes that fail. The
        session stays usable after an error.
        """
        if misspelled:
            raise unknown_argument("Session.run", misspelled, RUN_ARGUMENTS)
        try:
            kind = type(fetches)
            key = fetches if kind is Tensor or kind is Operation else cache_key(fetches)
            if feed_dict:
                plan = self._plans[(key, tuple(feed_dict))]
            else:
                plan = self._plans[key]
        except (KeyError, TypeError):
            plan = None
        if (
            plan is None
            or options is not None
            or run_metadata is not None
            or events.listeners
            or self._graph.num_mutations != self._seen_mutations
        ):
            return self._run_slowly(fetches, feed_dict, options, run_metadata)
        return plan.run(feed_dict.values() if feed_dict else ())

    def _run_slowly(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None,
        options: RunOptions | None,
        run_metadata: Any,
    ) -> Any:
        """The first run of a combination, and observed runs."""
        self.check_open()
        if feed_dict is not None:
            check_is_feed_dict(feed_dict)
        watch_growth(self._graph)
        if run_metadata is not None or options is not None:
            from dataflow.runtime.run_options import run_with_options

            return run_with_options(self, fetches, feed_dict, options, run_metadata)
        if self._timeout_ms and self.remote is None:
            with within(self._timeout_ms / 1000, self.loop_end):
                return self.run_now(fetches, feed_dict)
        return self.run_now(fetches, feed_dict)

    def run_now(self, fetches: Any, feed_dict: Mapping[Any, Any] | None) -> Any:
        if events.listeners and (runner := events.runner_here()) is not None:
            return runner(self, fetches, feed_dict)
        if self.remote is not None:
            result, needed, fetch_names, feed_names = self.remote.run(fetches, feed_dict)
            if events.listeners:
                events.publish(events.RunEvent(self._graph, self, fetch_names, feed_names, needed))
            self._keep_remote(self.remote, fetches, feed_dict)
            return result
        plan, values = self.plan_for(fetches, feed_dict)
        if not events.listeners:
            return plan.run(values)
        feeds = [t.name for t in plan.feeds]
        event = events.RunEvent(self._graph, self, plan.fetches.names, feeds, plan.needed)
        try:
            result = plan.run(values)
        except BaseException as e:
            events.publish(event._replace(error=e))
            raise
        events.publish(event)
        return result

    def _keep_remote(self, remote: Any, fetches: Any, feed_dict: Mapping[Any, Any] | None) -> None:
        """Cache the remote plan for these fetches and feeds, where `run` finds it."""
        with self.lock:
            if self._graph.num_mutations != self._seen_mutations:
                self._plans.clear()
                self._seen_mutations = self._graph.num_mutations
            try:
                key = cache_key(fetches)
                if feed_dict:
                    key = (key, tuple(feed_dict))
                plans = self._plans  # a closed session has others, which stay empty
                if key not in plans and not self._closed and len(plans) < _MAX_PLANS:
                    plan = remote.again(fetches, feed_dict)
                    if plan is not None:
                        plans[key] = plan
            except TypeError:
                pass  # the fetches have no key

    def plan_for(self, fetches: Any, feed_dict: Mapping[Any, Any] | None) -> tuple[Plan, list[Any]]:
        """The plan for a combination, from the cache where possible, and the values to feed."""
        feeds = flatten_feeds(self._graph, feed_dict) if feed_dict else {}
        with self.lock:
            if self._graph.num_mutations != self._seen_mutations:
                self._plans.clear()
                self._seen_mutations = self._graph.num_mutations
            tensors = list(feeds)
            try:
                key = cache_key(fetches)
                full_key = (key, tuple(tensors)) if tensors else key
                plan = self._plans.get(full_key)
            except TypeError:
                full_key, plan = None, None
            if plan is None:
                if self._graph.version == 0:
                    raise RuntimeError(
                        "The Session graph is empty. Add operations to the graph before calling run(). "
                        "If there are some, they are in another graph than the one that was the "
                        "default when this session was made: make it with tf.Session(graph=t.graph)."
                    )
                plan = Plan(self, FetchPlan(self._graph, fetches, self), tensors)
                watch_prints(self._graph, plan.ops)
                if full_key is not None:
                    if len(self._plans) >= _MAX_PLANS:
                        self._plans.pop(next(iter(self._plans)))
                    self._plans[full_key] = plan
                    if (
                        feed_dict
                        and tuple(feed_dict) != tuple(tensors)
                        and len(feeds) == len(feed_dict)
                    ):
                        self._plans[(full_key[0], tuple(feed_dict))] = plan
        return plan, list(feeds.values())

    def make_callable(
        self, fetches: Any, feed_list: Iterable[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """A function that runs ``fetches``, fed by its arguments in the order of ``feed_list``.

        Faster than `run`, which looks up the plan each time. With ``accept_options`` the function takes
        ``options`` and ``run_metadata`` as `run` does.
        """
        self.check_open()
        if feed_list is not None and not isinstance(feed_list, (list, tuple)):
            raise TypeError("Argument `feed_list` must be a list or tuple.")
        elements = list(feed_list or [])
        in_parts = any(map(stands_for_several, elements))
        if not in_parts:
            elements = [self._graph.as_graph_element(f, allow_operation=False) for f in elements]
        if accept_options:
            return lambda *values, options=None, run_metadata=None: self.run(
                fetches, dict(zip(elements, values, strict=True)), options, run_metadata
            )
        if self.remote is not None or self._timeout_ms or in_parts:
            return lambda *values: self.run(fetches, dict(zip(elements, values, strict=True)))
        plan = Plan(self, FetchPlan(self._graph, fetches, self), elements)
        count = len(elements)

        def call(*values: Any) -> Any:
            if self._closed:
                self.check_open()
            if len(values) != count:
                raise TypeError(f"This callable takes {count} values to feed, got {len(values)}.")
            if events.listeners and (runner := events.runner_here()) is not None:
                return runner(self, fetches, dict(zip(elements, values, strict=True)))
            return plan.run(values)

        return call

    def make_repeated_callable(self, fetches: Any, until: Callable[[], bool]) -> Callable[[], Any]:
        """A function as of `make_callable`, for a caller that calls it again until ``until()``.

        On a cluster a single call may repeat the step on the server, if it runs on one task only.
        """
        remote = self.remote
        if remote is None:
            return self.make_callable(fetches)

        def call() -> None:
            self.check_open()
            remote.run(fetches, until=until)

        return call

    def needed(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> set[str]:
        """Names of the nodes that a run would compute, after pruning."""
        plan = FetchPlan(self._graph, fetches)
        feeds = flatten_feeds(self._graph, feed_dict) if feed_dict else {}
        return {op.name for op in needed_operations(plan.tensors, plan.operations, feeds)}

    def explain(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """The plan of a run, without running it: an `introspect.explain.Explanation`.

        It holds the graph before and after the rewrites, the journal of rewrites with their
        equations, the source of the plan and of its fused kernels, the order of the nodes, and for
        each value when it is made, when it is dropped and what its buffer is. ``feed_dict`` says
        which tensors are fed; a list of tensors works as well. Of their values only those of predicates
        are used: with ``{training: True}`` it is the plan of runs that feed ``training`` so.
        ``explain(...).player()`` shows the rewrites one by one in a notebook.

        In a session on a cluster: what each task does, the messages between them, and the code of
        each part, an `introspect.explain_tasks.ClusterExplanation`.

        Raises what `run` raises for fetches and feeds that do not fit.
        """
        self.check_open()
        return provided("explain")(self, fetches, feed_dict)

    def find_nan(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """The first node of a run that makes a NaN, or else an infinity, of finite inputs.

        Returns a `runtime.nonfinite_report.NonFiniteOrigin` with the node's name, type, inputs in short
        (shape, range, how many are not finite) and the line that built it; ``None`` where everything
        that the fetched tensors depend on is finite. A feed, variable or constant that is not finite is
        named as such. The nodes are computed once, with the variables as they are now and the
        random numbers of the next run; neither changes.

        Raises `tf.errors.UnimplementedError` for fetches that depend on an assignment, a queue,
        an iterator or a Python function, which cannot be computed without a change of state, and for
        sessions on a cluster or a GPU; else what `run` raises for fetches and feeds that do not fit.
        """
        self.check_open()
        from dataflow.runtime import nan_origin

        if self.remote is not None or self.has_gpu:
            where = self._target if self.remote is not None else "a GPU"
            raise UnimplementedError(
                None,
                None,
                f"find_nan looks at sessions on this process's CPU, and this one is on {where}. "
                "Restore its variables in a local tf.Session() with device_count={'GPU': 0}, and "
                "ask there.",
            )
        plan, values = self.plan_for(fetches, feed_dict)
        return nan_origin.find(plan, plan.convert_feeds(values))

    def partial_run_setup(self, fetches: Any, feeds: Iterable[Any] | None = None) -> Any:
        """Prepares `partial_run`: one computation whose fetches and feeds are given step by step.

        Each node runs once, each fetch is given once. Raises `RuntimeError` for a closed session.
        """
        self.check_open()
        from dataflow.runtime.partial_run import PartialRun

        return PartialRun(self, fetches, [] if feeds is None else feeds)

    def partial_run(
        self, handle: Any, fetches: Any, feed_dict: Mapping[Any, Any] | None = None
    ) -> Any:
        """Continues a computation prepared by `partial_run_setup`.

        Raises `InvalidArgumentError` for what was not given to the setup or came already, and after a
        step that failed; else what `run` raises.
        """
        self.check_open()
        if not hasattr(handle, "run"):
            raise InvalidArgumentError(
                None,
                None,
                f"{handle!r} is not the handle of a partial run: pass what partial_run_setup returned.",
            )
        return handle.run(self, fetches, feed_dict or {})

    def list_devices(self) -> Any:
        """The devices that this session can use."""
        from dataflow.runtime.devices import session_devices

        return session_devices(self)

    def interrupt_blocked(self) -> None:
        """Wakes ops that are blocked in this session's runs; they end with `CancelledError`."""
        old, self.cancellation = self.cancellation, Cancellation()
        with self.lock:
            self._plans.clear()  # plans refer to the old token
        old.cancel()

    # ---- life -----------------------------------------------------------------------------

    def check_open(self) -> None:
        if self._closed:
            raise RuntimeError(
                "Attempted to use a closed Session.\n  It ended with its `with` block, or with close(), and its "
                "variables with it. Run this inside the block, or make a new session, tf.Session(), and "
                "initialize or restore the variables there."
            )

    def close(self) -> None:
        """Frees what the session holds; runs that wait, or are in a loop, end with `CancelledError`."""
        if self._closed:
            return
        self._closed = True
        self.loop_end.close()
        self.cancellation.cancel()
        self._plans.clear()
        self._plans = _ClosedPlans()
        if self.remote is not None:
            self.remote.close()
        else:
            self.resources.clear()

    def as_default(self) -> Any:
        """``with sess.as_default():`` makes ``eval()`` and ``run()`` use this session."""
        return _AsDefault(self)

    def __repr__(self) -> str:
        where = f" on {self._target}" if self._target else ""
        state = "closed" if self._closed else f"{len(self._plans)} plans"
        return f"<tf.{type(self).__name__}{where}: {self._graph.version} nodes, {state}>"

    def _repr_mimebundle_(
        self, include: Container[str] | None = None, exclude: Container[str] | None = None
    ) -> Any:
        from dataflow.display import mimebundle

        return mimebundle(self, include, exclude)


# Tools that ask for the signature get TensorFlow's.
_signature = inspect.signature(BaseSession.run)


BaseSession.run.__signature__ = _signature.replace(  # type: ignore[attr-defined]
    parameters=[p for p in _signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
)


class _TimedPlans(dict):  # type: ignore[type-arg]
    """The cache of a session whose runs have a time-out, so that `run` takes the path with a clock."""

    def __getitem__(self, key: Any) -> Any:
        raise KeyError(key)


class _ClosedPlans(dict):  # type: ignore[type-arg]
    """The cache of a closed session: always misses, so that `run` takes the checked path."""


class _AsDefault:
    """Makes a session the default; leaving the block does not close it."""

    def __init__(self, session: BaseSession) -> None:
        self._session = session

    def __enter__(self) -> BaseSession:
        push_session(self._session)
        return self._session

    def __exit__(self, *_: object) -> None:
        pop_session(self._session)
