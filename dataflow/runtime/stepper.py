"""Recording a run node by node: the same plan, with a hook after every node."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from dataflow.runtime.codegen import DEAD, Generator
from dataflow.runtime.feeds import flatten_feeds
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.plan import Plan, explain_error, own


class Step(NamedTuple):
    """One node's turn: when it ran and what it produced.

    ``seconds`` is the time since the node before it was done; ``outputs`` holds an array for each
    output (``None`` for resources and for what a branch not taken left unset).
    """

    op_name: str
    op_type: str
    device: str
    start_seconds: float
    seconds: float
    outputs: list[Any]


class Trace(NamedTuple):
    """A recorded run, by names. ``result`` is what `Session.run` returns."""

    graph: Any
    steps: list[Step]
    result: Any
    fetches: list[str]
    feeds: list[str]
    feed_values: dict[str, Any]
    needed: frozenset[str]
    pruned: frozenset[str]
    error: Exception | None = None


def record(
    session: Any, fetches: Any, feed_dict: Any = None, values: bool = True, catch: bool = False
) -> Trace:
    """Runs ``fetches`` once and keeps every node's outputs, in the order they were computed.

    State changes as in `Session.run`. With ``values=False`` only the times are kept. With
    ``catch=True`` an error of a node ends the recording and is kept in ``Trace.error``; else it is
    raised as `Session.run` would.
    """
    session._check_open()
    graph = session.graph
    if session._remote is not None:
        return session._remote.record(fetches, feed_dict, values, catch)  # type: ignore[no-any-return]
    feeds = flatten_feeds(graph, feed_dict) if feed_dict else {}
    plan = Plan(session, FetchPlan(graph, fetches), list(feeds))
    generated = Generator(
        plan.ops, plan.fetches.tensors, plan.feeds, plan.bind_kernel, plan.bind_variable, trace=True
    ).generate()
    arguments = plan.convert_feeds(feeds.values())
    steps: list[Step] = []
    clock = time.perf_counter
    started = last = clock()

    def hook(number: int, outputs: tuple[Any, ...]) -> None:
        nonlocal last
        now = clock()
        op = plan.ops[number]
        kept = [_keep(v) for v in outputs] if values else []
        steps.append(Step(op.name, op.type, op.device, last - started, now - last, kept))
        last = clock()

    result: Any = None
    error: Exception | None = None
    try:
        with np.errstate(all="ignore"):
            flat = generated.function(hook, *arguments)
        result = plan.fetches.rebuild([own(v) for v in flat])
    except Exception as e:
        error = explain_error(e, generated)
        if not catch:
            raise error from e
    everything = {op.name for op in graph.get_operations()}
    return Trace(
        graph,
        steps,
        result,
        plan.fetches.names,
        [t.name for t in plan.feeds],
        {t.name: v for t, v in zip(plan.feeds, arguments, strict=True)},
        plan.needed,
        frozenset(everything - plan.needed),
        error,
    )


def _keep(value: Any) -> Any:
    if value is None or value is DEAD:
        return None
    if isinstance(value, np.ndarray):
        return value.copy()  # a later node may change a variable's buffer
    if isinstance(value, np.generic):
        return np.asarray(value)
    get = getattr(value, "get", None)
    if get is not None and type(value).__module__.startswith("cupy"):
        return get()
    if isinstance(value, (bytes, str)):
        return np.asarray(value, dtype=object)
    return None
