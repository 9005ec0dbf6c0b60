"""A worker's side of `Training`: the loop that runs in each worker's process, in one mode."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow import dtypes
from dataflow.cluster.management.model_parallel import work_on_all
from dataflow.cluster.management.ring_training import work_in_ring
from dataflow.cluster.management.training_options import Progress, container_of, optimizer_of, paced
from dataflow.cluster_spec import ClusterSpec
from dataflow.errors import OpError
from dataflow.graph.default_stacks import default_graph
from dataflow.ops.graph_functions import device as device_scope
from dataflow.ops.variable_lists import global_variables, report_uninitialized_variables
from dataflow.ops.variable_scope import get_variable
from dataflow.runtime.config import ConfigProto
from dataflow.runtime.session import Session
from dataflow.train.coordinator import Coordinator
from dataflow.train.device_setter import replica_device_setter
from dataflow.train.global_step import get_or_create_global_step
from dataflow.train.sync_replicas import SyncReplicasOptimizer

if TYPE_CHECKING:
    from dataflow.cluster.management.server import Server


#: The variable with the number of the current mode; negative while that has yet to begin.
NUMBER = "training/number"


def work(server: Server, options: dict[str, Any]) -> int:
    """A worker's loop in one mode, in the worker's process; returns its number of steps."""
    index, number = options["index"], options["number"]
    fetches, hook, current, variables, ready = build_worker(options, server.cluster_spec)
    config = ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"])
    steps = 0
    coordinator = Coordinator()
    try:
        with Session(server.target, config=config) as session:
            _initialize(session, options, variables, ready)
            if index != 0 and not _has_begun(session, current, number):
                return 0
            if hook is not None:
                hook.after_create_session(session, coordinator)
            if index == 0:
                if abs(int(session.run(current))) > number:
                    return 0  # another mode is about to begin
                current.load(number, session)
            try:
                if not fetches:  # the variables are on the workers
                    by_name = {v.op.name: v for v in variables}
                    work_so = work_in_ring if options["ring"] else work_on_all
                    return work_so(server, options, session, current, by_name)
                progress = Progress(server.say)
                for now in paced(options["most"]):
                    loss, found = session.run(fetches)[:2]
                    steps += 1
                    if int(found) != number:
                        break
                    progress.step(now, steps, loss)
            except OpError:
                if abs(int(session.run(current))) == number:
                    raise  # this does not end the mode
            coordinator.request_stop()
    finally:
        # The chief's thread ends with the session, in which it waits for gradients.
        coordinator.request_stop()
        coordinator.join(stop_grace_period_secs=5, ignore_live_threads=True)
    return steps


def build_worker(options: dict[str, Any], spec: ClusterSpec) -> tuple[Any, Any, Any, Any, Any]:
    """Build a worker's part: (fetches, hook or None, the number, variables by name, readiness)."""
    index, total, aggregate = options["index"], options["num_workers"], options["aggregate"]
    loss, setter, variables = build_variables(
        options["model"], spec, index, total, options["batch_size"]
    )
    number = variables[NUMBER]
    if options["ring"] or options["spread"]:  # copies of these are trained
        with device_scope(setter):
            ready = report_uninitialized_variables(global_variables())
        return [], None, number, global_variables(), ready
    optimizer = optimizer_of(options)
    graph = default_graph()
    hook = None
    with device_scope(setter), graph.container(container_of(options["number"])):
        if aggregate is not None:
            sync = optimizer = SyncReplicasOptimizer(optimizer, aggregate, total)
        train = optimizer.minimize(loss, global_step=variables["global_step"])
        if aggregate is not None:
            hook = sync.make_session_run_hook(index == 0, num_tokens=0)
            hook.begin()
        ready = report_uninitialized_variables(global_variables())
    return [loss, number, getattr(train, "op", train)], hook, number, global_variables(), ready


def build_variables(
    model: Callable[..., Any],
    spec: ClusterSpec,
    index: int,
    total: int,
    batch_size: int | None = None,
) -> tuple[Any, Any, dict[str, Any]]:
    """The model under the device setter: in the same order everywhere, so at the same places."""
    setter = replica_device_setter(cluster=spec, worker_device=f"/job:worker/task:{index}")
    with device_scope(setter):
        get_variable(NUMBER, initializer=np.int64(-1), dtype=dtypes.int64, trainable=False)
        get_or_create_global_step()
        loss = model(index, total) if batch_size is None else model(index, total, batch_size)
    return loss, setter, {v.op.name: v for v in global_variables()}


def _initialize(session: Session, options: dict[str, Any], variables: Any, ready: Any) -> None:
    """The chief initializes variables that have no value (with their kept values, if there are any);
    the others wait for that."""
    by_name = {v.op.name: v for v in variables}
    while missing := [name.decode() for name in session.run(ready)]:
        if options["index"] != 0:
            time.sleep(0.05)
            continue
        for name in missing:
            session.run(by_name[name].initializer)
            if name in options["kept"]:
                by_name[name].load(options["kept"][name], session)


def _has_begun(session: Session, current: Any, number: int) -> bool:
    """Wait until the chief has begun the mode; False when another one is to begin meanwhile."""
    while (now := int(session.run(current))) != number:
        if abs(now) > number:
            return False
        time.sleep(0.02)
    return True
