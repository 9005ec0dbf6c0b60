"""In a lesson's kernel: each graph that trains takes a few steps on a GPU as well, and on the CPU in
double precision, and what the steps did to the variables is compared.

From the values that the variables have when the lesson first runs it, on what the lesson feeds; what
is drawn or read anew in each run (a random op, an iterator) is the same for both. On the GPU the
plan is rewritten, and captured as a CUDA graph where it can be, from the first step on. It is a
pretend GPU where there is no other.
"""

from __future__ import annotations

import collections
import contextlib
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

import dataflow as tf
from dataflow.cluster.execution.client import RemoteSession
from dataflow.errors import OpError
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.kernels.xp import array_module, gpus, pretend_gpus, to_host
from dataflow.placement.transfers import CPU, short_name
from dataflow.rewrites.prune import needed_operations
from dataflow.runtime import cuda_graph
from dataflow.runtime.devices import show_gpus
from dataflow.runtime.feeds import flatten_feeds, make_feed_converter
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.plan import Plan
from tests.gpu.double import Copied, in_double, widen

STEPS = 3
#: Of the change that the steps made to a variable, in the Euclidean norm. Single numbers may be off
#: by more: Adam divides a gradient that is only rounding by its own size.
TOLERANCE_OF_CHANGE = 1e-2
#: Of the variable itself, a step: what float32 cannot hold of a small change to a large number.
ROUNDING = 1e-7
TOLERANCE_OF_VALUES = 1e-3

#: Stateful ops that give the same again.
_REPEATED_ON_A_CLUSTER = {"Assert", "AssignSub", "AssignAdd"}


def _is_repeated(op: Operation) -> bool:
    return op.op_def.is_variable or op.type in _REPEATED_ON_A_CLUSTER


num_graphs = num_captured = 0
seconds = 0.0
skipped: collections.Counter[str] = collections.Counter()
differences: list[str] = []
_forms: set[int] = set()
_seen_remote: weakref.WeakKeyDictionary[RemoteSession, set[Any]] = weakref.WeakKeyDictionary()
_run_remotely = RemoteSession.run


def trains(ops: Sequence[Operation]) -> bool:
    """Whether variables are changed by what gradients say."""
    if any(op.type.startswith(("Apply", "SparseApply")) for op in ops):
        return True
    changes = any(op.type.startswith(("AssignSub", "AssignAdd", "ScatterSub")) for op in ops)
    return changes and any("gradients" in op.name for op in ops)


def compare(
    ops: Sequence[Operation],
    wanted: Sequence[Tensor | Operation],
    feeds: dict[Tensor, Any],
    variables: dict[str, Any],
    unpinned: bool = False,
) -> None:
    """Trains ``wanted`` on both; ``ops`` are what it needs, in an order in which they can run.

    ``variables`` are the values to begin with, by name. ``unpinned``: the devices that the graph
    asks for are another process's, and left out.
    """
    global num_graphs, num_captured, seconds
    began = time.perf_counter()
    form = hash(tuple((op.type, *(str(t.shape) for t in op.outputs)) for op in ops))
    if form in _forms:
        return  # an estimator builds its graph anew each time
    _forms.add(form)
    try:
        if unpinned:
            copied = in_double(ops, feeds, double=False)
            mine = [_copy_of(w, copied) for w in wanted]
            given = {copied.tensors[t]: value for t, value in feeds.items()}
            plan, values, after = _on_gpu(copied.graph, mine, given, variables)
        else:
            graph = ops[0].graph
            plan, values, after = _on_gpu(graph, wanted, feeds, variables)
        expected, expected_after = _in_double(ops, wanted, feeds, variables)
    except (NotImplementedError, OpError, TypeError, ValueError) as e:
        skipped[f"{type(e).__name__}: {str(e).splitlines()[0]}"] += 1
        return
    finally:
        seconds += time.perf_counter() - began
    num_graphs += 1
    num_captured += bool(plan.cuda_graphs is not None and plan.cuda_graphs._graphs)
    tensors = [t for t in wanted if isinstance(t, Tensor)]
    for tensor, value, want in zip(tensors, values, expected, strict=True):
        _differ_in_value(tensor.name, value, want)
    for name, value in after.items():
        _differ_in_change(name, variables[name], value, expected_after[name])


def _copy_of(wanted: Tensor | Operation, copied: Copied) -> Tensor | Operation:
    if isinstance(wanted, Tensor):
        return copied.tensors[wanted]
    return copied.operations[wanted]


def _on_gpu(
    graph: Any, wanted: Sequence[Any], feeds: dict[Tensor, Any], variables: dict[str, Any]
) -> tuple[Plan, list[Any], dict[str, Any]]:
    config = tf.ConfigProto(allow_soft_placement=True)
    before = cuda_graph._RUNS_BEFORE_CAPTURE
    cuda_graph._RUNS_BEFORE_CAPTURE = 0
    shown = show_gpus(None)  # a lesson may have hidden them
    try:
        with contextlib.nullcontext() if gpus() else pretend_gpus(1):
            with tf.Session(graph=graph, config=config) as session:
                plan = Plan(session, FetchPlan(graph, list(wanted), session), list(feeds))
                if not plan.kernel_devices:
                    raise NotImplementedError("nothing of it runs on a GPU")
                held = {}
                for op in plan.compiled_ops:
                    if op.op_def.is_variable:
                        resource = plan.bind_variable(op)
                        place = short_name(op.device)
                        value = np.array(variables[resource.name])
                        if place != CPU:
                            value = array_module(place).asarray(value)
                        resource.array, held[resource.name] = value, resource
                        del value  # whoever held it would make each update copy it first
                plan.rewrite()
                for _ in range(STEPS):
                    results = plan.run_flat(plan.convert_feeds(feeds.values()))
                return plan, results, {n: to_host(v.array) for n, v in held.items()}
    finally:
        show_gpus(shown)
        cuda_graph._RUNS_BEFORE_CAPTURE = before


def _in_double(
    ops: Sequence[Operation],
    wanted: Sequence[Any],
    feeds: dict[Tensor, Any],
    variables: dict[str, Any],
) -> tuple[list[Any], dict[str, Any]]:
    doubled = in_double(ops, feeds)
    fetches = [_copy_of(w, doubled) for w in wanted]
    config = tf.ConfigProto(device_count={"GPU": 0})
    with tf.Session(graph=doubled.graph, config=config) as session:
        for name, value in variables.items():
            wide = np.array(widen(value))
            session.resources.variable("", name, tf.as_dtype(wide.dtype)).array = wide
        given = {doubled.tensors[t]: widen(v) for t, v in feeds.items()}
        for _ in range(STEPS):
            results = session.run(fetches, given)
        after = {name: v.array for name, v in session.resources.items("variable")}
    return [r for r, w in zip(results, wanted, strict=True) if isinstance(w, Tensor)], after


def _differ_in_value(what: str, value: Any, want: Any) -> None:
    value, want = np.asarray(value), np.asarray(want)
    if want.dtype.kind != "f":
        return  # a count of right answers may turn on the last bit
    scale = float(np.max(np.abs(want[np.isfinite(want)]), initial=1e-6))
    if value.shape != want.shape or not np.allclose(
        value, want, TOLERANCE_OF_VALUES, TOLERANCE_OF_VALUES * scale, equal_nan=True
    ):
        differences.append(f"{what}: {value.ravel()[:3]} on the GPU, {want.ravel()[:3]} needed")


def _differ_in_change(name: str, before: Any, value: Any, want: Any) -> None:
    before, value, want = (np.asarray(v) for v in (before, value, want))
    if want.dtype.kind != "f":
        if not np.array_equal(value, want):
            differences.append(f"variable {name}: {value} on the GPU, {want} needed")
        return
    norm = np.linalg.norm
    changed = float(norm((want - before).ravel()))
    error = float(norm((value - want).ravel()))
    size = float(norm(before.ravel().astype(np.float64))) + changed
    if not error <= TOLERANCE_OF_CHANGE * changed + STEPS * ROUNDING * size:
        differences.append(
            f"variable {name}: changed by {changed:.3g}, and on the GPU is {error:.3g} off"
        )


def compare_remote_run(remote: RemoteSession, fetches: Any, feed_dict: Any) -> None:
    """Compares a session's first run of a combination on a cluster, where it trains."""
    plan = FetchPlan(remote.graph, fetches)
    feeds = flatten_feeds(remote.graph, feed_dict) if feed_dict else {}
    ops = needed_operations(plan.tensors, plan.operations, feeds)
    key = (tuple(plan.names), tuple(t.name for t in feeds))
    seen = _seen_remote.setdefault(remote, set())
    if key in seen or not trains(ops):
        return
    seen.add(key)
    if any(op.op_def.stateful and not _is_repeated(op) for op in ops):
        skipped["draws or waits on a cluster"] += 1
        return
    held = [op for op in ops if op.op_def.is_variable]
    values = _run_remotely(remote, [op.outputs[0] for op in held])[0]
    variables = dict(zip([op.name for op in held], values, strict=True))
    given = {t: make_feed_converter(t)(value) for t, value in feeds.items()}
    compare(ops, [*plan.tensors, *plan.operations], given, variables, unpinned=True)


def is_of_a_task() -> bool:
    """Whether this may be a task that is a thread of this process: they wait for each other in a run."""
    tasks = "dataflow.cluster.management.thread_backend" in sys.modules
    return tasks and threading.current_thread() is not threading.main_thread()


def _compared_run(remote: RemoteSession, fetches: Any, feed_dict: Any = None, *rest: Any) -> Any:
    if not is_of_a_task():
        compare_remote_run(remote, fetches, feed_dict)
    return _run_remotely(remote, fetches, feed_dict, *rest)


def install() -> None:
    """From now on, in this process, for sessions on clusters; `compare_rewrites` calls for others."""
    RemoteSession.run = _compared_run  # type: ignore[method-assign]


def report() -> dict[str, Any]:
    """What was compared."""
    return {
        "graphs": num_graphs,
        "captured": num_captured,
        "seconds": round(seconds, 1),
        "skipped": skipped,
        "differences": differences,
    }
