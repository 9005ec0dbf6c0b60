"""One model on several workers: pipelines, layers cut in parts, and `Training`'s mode "model parallel".

In that mode worker 0 runs a step of all workers together, as one graph: each variable and what is
computed with it is where the model puts it with `on_worker`. Micro-batches need no scheduler of their own:
a worker computes what has arrived, and sends a result on as soon as it has it (`partition.pipeline`).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from dataflow.cluster.management.training_options import (
    COPY_SECONDS,
    LOOK_SECONDS,
    Progress,
    container_of,
    copy_values,
    loss_of,
    optimizer_of,
    paced,
)
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.graph import Graph
from dataflow.graph.tensor import Tensor
from dataflow.ops.concat_split import split
from dataflow.ops.graph_functions import device as device_scope
from dataflow.ops.sums import add_n
from dataflow.ops.variable_lists import global_variables, variables_initializer
from dataflow.ops.variable_scope import variable_scope
from dataflow.ops.variables import Variable
from dataflow.runtime.session import Session
from dataflow.train.global_step import get_or_create_global_step

if TYPE_CHECKING:
    from dataflow.cluster.management.server import Server

#: The number of workers of the model-parallel training that builds its graph now; 0 elsewhere.
_num_workers: ContextVar[int] = ContextVar("num_workers", default=0)


@contextlib.contextmanager
def on_worker(index: int) -> Iterator[None]:
    """Place the nodes built in this block on a worker, modulo the number of workers.

    That is so while a `Training` in the mode "model parallel" builds its model; anywhere else the block
    changes nothing, so that the same model runs on one machine.
    """
    count = _num_workers.get()
    with device_scope(f"/job:worker/task:{index % count}") if count else contextlib.nullcontext():
        yield


def pipeline(
    stages: Sequence[Callable[..., Any]], inputs: Any, num_micro_batches: int, targets: Any = None
) -> list[Tensor]:
    """Build a pipeline: stage k, ``stages[k](value)``, on worker k, for each micro-batch.

    The rows of ``inputs`` are divided among ``num_micro_batches`` equal micro-batches; the first stage is
    called with one, the others with what the stage before returned, the last also with the micro-batch of
    ``targets`` if there are any: ``stages[-1](value, target)``. Variables of stage k are in the variable
    scope ``stage_<k>``, and shared by all micro-batches. Returns the last stage's result of each.

    Raises ValueError for no stages, and where the rows cannot be divided.
    """
    if not stages:
        raise ValueError("pipeline: there must be at least one stage, got none.")
    with on_worker(0):
        given = [_pieces(inputs, num_micro_batches, "inputs")]
    if targets is not None:
        with on_worker(len(stages) - 1):
            given.append(_pieces(targets, num_micro_batches, "targets"))
    results = []
    for number, (value, *target) in enumerate(zip(*given, strict=True)):
        for k, stage in enumerate(stages):
            last = target if k == len(stages) - 1 else []
            with on_worker(k), variable_scope(f"stage_{k}", reuse=number > 0):
                value = stage(value, *last)
        results.append(convert_to_tensor(value))
    return results


def _pieces(value: Any, count: int, name: str) -> list[Tensor]:
    tensor = convert_to_tensor(value)
    rows = tensor.dims[0] if tensor.dims else None
    if count < 1 or rows is None or rows % count:
        raise ValueError(
            f"pipeline: the rows of {name}, of shape {tensor.shape}, cannot be divided among "
            f"{count} micro-batches; the number of rows must be known, and a multiple of that."
        )
    return split(tensor, count, 0)


def tensor_parallel(function: Callable[[int, int], Any], num_parts: int) -> Tensor:
    """Build ``function(k, num_parts)`` on worker k for each k, and add the results up on worker 0.

    Of a pair of layers cut by columns and then by rows, ``relu(x @ A[:, k]) @ B[k]``, the sum is all that
    travels (Shoeybi and others, 2019). Variables of part k are in the variable scope ``part_<k>``.
    Raises ValueError for a ``num_parts`` below 1.
    """
    if num_parts < 1:
        raise ValueError(f"tensor_parallel: num_parts must be at least 1, got {num_parts}.")
    parts = []
    for k in range(num_parts):
        with on_worker(k), variable_scope(f"part_{k}"):
            parts.append(function(k, num_parts))
    with on_worker(0):
        return add_n(parts)


class ModelParallelGraph:
    """The graph that worker 0 builds for all: ``fetches`` (loss, the step); ``initialize`` runs first."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.graph = Graph()
        token = _num_workers.set(options["num_workers"])
        container = self.graph.container(container_of(options["number"]))
        try:
            # Without `on_worker` a node is on worker 0.
            where = self.graph.device("/job:worker/task:0")
            with self.graph.as_default(), where, container:
                step = get_or_create_global_step()
                loss = loss_of(options, 0, 1)
                optimizer = optimizer_of(options)
                pairs = optimizer.compute_gradients(loss, colocate_gradients_with_ops=True)
                train = optimizer.apply_gradients(pairs, global_step=step)
                self.variables: dict[str, Variable] = {v.op.name: v for v in global_variables()}
                self.fetches = [loss, getattr(train, "op", train)]
                self.initialize = variables_initializer(global_variables())
        finally:
            _num_workers.reset(token)


def work_on_all(
    server: Server,
    options: dict[str, Any],
    kept: Session,
    number: Any,
    variables: dict[str, Any],
) -> int:
    """Step until the mode ends; returns the number of steps. Workers but 0 only look on.

    ``kept`` is the session at the parameter servers, with ``variables`` by name and the ``number`` of the
    mode that is on; they get a copy of the values twice a second, and at the end.
    """
    if options["index"]:
        while abs(int(kept.run(number))) == options["number"]:
            time.sleep(LOOK_SECONDS)
        return 0
    built = ModelParallelGraph(options)
    steps = 0
    with Session(server.target, graph=built.graph) as session:
        session.run(built.initialize)
        mirrored = {name: v for name, v in built.variables.items() if name in variables}
        for name, value in kept.run({name: variables[name] for name in mirrored}).items():
            mirrored[name].load(value, session)
        asked = copied = time.monotonic()
        progress = Progress(server.say)
        for now in paced(options["most"]):
            if now - asked >= LOOK_SECONDS:
                asked = now
                if abs(int(kept.run(number))) != options["number"]:
                    break
            loss = session.run(built.fetches)[0]
            steps += 1
            if now - copied >= COPY_SECONDS:
                copied = now
                copy_values(session, mirrored, kept, variables)
            progress.step(now, steps, loss)
        copy_values(session, mirrored, kept, variables)
    return steps
