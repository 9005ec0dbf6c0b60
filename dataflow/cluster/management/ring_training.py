"""A worker's side of `Training` in the mode "all-reduce": its own copy of the variables, and the ring.

Each worker keeps all variables and slots. The gradients, the loss and the wish to stop travel in one
`all_reduce` a step, so all workers make the same update and end after the same step. The parameter
servers take no part in steps: worker 0 leaves a copy of the variables there, twice a second and at the
end, from which the next mode begins, or this one after a worker was lost.
"""

from __future__ import annotations

import time
import zlib
from typing import TYPE_CHECKING, Any

from dataflow.cluster.management.training_options import container_of, optimizer_of, paced
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.graph import Graph
from dataflow.ops.array_basics import reshape
from dataflow.ops.casts import cast
from dataflow.ops.collective import all_reduce, broadcast_recv, broadcast_send
from dataflow.ops.concat_split import concat, split
from dataflow.ops.control_flow import group
from dataflow.ops.graph_functions import device as device_scope
from dataflow.ops.sources import placeholder
from dataflow.ops.state import assign
from dataflow.ops.variable_lists import global_variables, variables_initializer
from dataflow.ops.variables import Variable
from dataflow.runtime.config import ConfigProto
from dataflow.runtime.session import Session
from dataflow.train.global_step import get_or_create_global_step

if TYPE_CHECKING:
    from dataflow.cluster.management.server import Server


#: Worker 0 asks the parameter server so often whether the mode goes on, and so often leaves its values.
_ASK_SECONDS, _COPY_SECONDS = 0.1, 0.5
#: A step that takes longer fails, and names the workers that are missing; it is begun anew then.
_STEP_SECONDS = 30


class RingGraph:
    """What a worker builds: ``fetches`` (loss, whether to stop, the step), fed with ``stop``."""

    def __init__(self, options: dict[str, Any]) -> None:
        index, size = options["index"], options["num_workers"]
        key = zlib.crc32(container_of(options["number"]).encode()) >> 1
        self.graph = Graph()
        where = device_scope(f"/job:worker/task:{index}")
        with self.graph.as_default(), where, self.graph.container(container_of(options["number"])):
            step = get_or_create_global_step()
            loss = options["model"](index, size)
            self.stop = placeholder(loss.dtype.base_dtype, [], name="stop")
            optimizer = optimizer_of(options)
            pairs = [(g, v) for g, v in optimizer.compute_gradients(loss) if g is not None]
            gradients = [convert_to_tensor(g) for g, _ in pairs]  # the ring carries no sparse ones
            flat = [
                cast(reshape(t, [-1]), loss.dtype.base_dtype) for t in (*gradients, loss, self.stop)
            ]
            averaged = all_reduce(concat(flat, 0), size, key, 0) / size
            parts = split(averaged, [t.shape.num_elements() for t in flat], 0)
            reduced = [
                cast(reshape(part, g.shape), g.dtype)
                for part, g in zip(parts, gradients, strict=False)
            ]
            train = optimizer.apply_gradients(
                [(g, v) for g, (_, v) in zip(reduced, pairs, strict=True)], global_step=step
            )
            self.variables: dict[str, Variable] = {v.op.name: v for v in global_variables()}
            self.fetches = [parts[-2][0], parts[-1][0], getattr(train, "op", train)]
            self.initialize = variables_initializer(global_variables())
            shared = global_variables() if size > 1 else []
            self.broadcast = group(
                *[_broadcast(v, index, size, key, 1 + n) for n, v in enumerate(shared)]
            )


def _broadcast(variable: Variable, index: int, size: int, key: int, instance: int) -> Any:
    dtype = variable.dtype.base_dtype
    if index == 0:
        return broadcast_send(variable.read_value(), variable.shape, dtype, size, key, instance).op
    return assign(variable, broadcast_recv(variable.shape, dtype, size, key, instance)).op


def work_in_ring(
    server: Server,
    options: dict[str, Any],
    kept: Session,
    number: Any,
    variables: dict[str, Any],
) -> int:
    """Step until the mode ends; returns the number of steps.

    ``kept`` is the session at the parameter servers, with ``variables`` by name and the ``number`` of the
    mode that is on. Raises what a step raises, such as UnavailableError that names a lost worker.
    """
    built = RingGraph(options)
    is_chief = options["index"] == 0
    config = ConfigProto(operation_timeout_in_ms=1000 * _STEP_SECONDS)
    steps = 0
    try:
        with Session(server.target, graph=built.graph, config=config) as session:
            session.run(built.initialize)
            mirrored = {name: v for name, v in built.variables.items() if name in variables}
            if is_chief:
                for name, value in kept.run({name: variables[name] for name in mirrored}).items():
                    mirrored[name].load(value, session)
            session.run(built.broadcast)
            asked = copied = said = time.monotonic()
            stop = 0.0
            for now in paced(options["most"]):
                if is_chief and now - asked >= _ASK_SECONDS:
                    asked = now
                    stop = float(abs(int(kept.run(number))) != options["number"])
                loss, stopped = session.run(built.fetches, {built.stop: stop})[:2]
                steps += 1
                if stopped > 0:
                    break
                if is_chief and now - copied >= _COPY_SECONDS:
                    copied = now
                    _copy(session, mirrored, kept, variables)
                if now - said >= 1.0 or steps == 1:
                    said = now
                    print(f"step {steps}, loss {float(loss):.4f}")
            if is_chief:
                _copy(session, mirrored, kept, variables)
    finally:
        server.resources.clear([container_of(options["number"])])
    return steps


def _copy(
    session: Session, mirrored: dict[str, Any], kept: Session, variables: dict[str, Any]
) -> None:
    """Leave the values at the parameter servers."""
    for name, value in session.run(mirrored).items():
        variables[name].load(value, kept)
