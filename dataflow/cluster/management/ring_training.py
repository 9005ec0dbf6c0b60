"""A worker's side of `Training` in the modes "all-reduce" and "ZeRO": its own copy of the variables.

Each worker keeps all variables, and all slots or those of its share. The gradients, the loss and the
wish to stop travel in one exchange a step, so all workers end after the same step. The parameter
servers take no part in steps: worker 0 leaves a copy of the variables there, twice a second and at the
end, from which the next mode begins, or this one after a worker was lost.
"""

from __future__ import annotations

import time
import zlib
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
from dataflow.ops.casts import cast
from dataflow.ops.collective import (
    all_gather,
    all_reduce,
    broadcast_recv,
    broadcast_send,
    reduce_scatter,
)
from dataflow.ops.concat_split import concat, split
from dataflow.ops.control_flow import group
from dataflow.ops.fills import zeros
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.reshape import reshape
from dataflow.ops.sources import placeholder
from dataflow.ops.state import assign
from dataflow.ops.tile import tile
from dataflow.ops.variable_lists import global_variables, variables_initializer
from dataflow.ops.variables import Variable
from dataflow.runtime.config import ConfigProto
from dataflow.runtime.session import Session
from dataflow.train.global_step import get_or_create_global_step

if TYPE_CHECKING:
    from dataflow.cluster.management.server import Server


#: A step that takes longer fails, and names the workers that are missing; it is then restarted.
_STEP_SECONDS = 30
#: Instances of the group: the gradients are 0, the parts of the parameters 1.
_FIRST_BROADCAST = 2


class RingGraph:
    """The graph of a worker: ``fetches`` (loss, whether to stop, the step), fed with ``stop``.

    ``initialize`` and ``broadcast`` run first, and then ``begin``. ``slot_bytes`` is what the optimizer's
    slots take on this worker, ``whole_slot_bytes`` what they take undivided.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._index, self._size = options["index"], options["num_workers"]
        self._key = zlib.crc32(container_of(options["number"]).encode()) >> 1
        self.graph = Graph()
        container = container_of(options["number"])
        # The graph's own scope: the default graph is that of the thread, not yet this one.
        where = self.graph.device(f"/job:worker/task:{self._index}")
        with self.graph.as_default(), where, self.graph.container(container):
            step = get_or_create_global_step()
            loss = loss_of(options, self._index, self._size)
            self._dtype = loss.dtype.base_dtype
            self.stop = placeholder(self._dtype, [], name="stop")
            self._shared = global_variables()
            optimizer = optimizer_of(options)
            pairs = [(g, v) for g, v in optimizer.compute_gradients(loss) if g is not None]
            # The ring carries no sparse ones.
            gradients = [convert_to_tensor(g) for g, _ in pairs]
            trained = [v for _, v in pairs]
            self.begin = group()
            if options["divided"]:
                self.fetches = self._divided(optimizer, gradients, trained, loss, step)
            else:
                self.fetches = self._whole(optimizer, gradients, trained, loss, step)
            self.variables: dict[str, Variable] = {v.op.name: v for v in global_variables()}
            self.initialize = variables_initializer(global_variables())
            shared = self._shared if self._size > 1 else []
            self.broadcast = group(
                *[
                    _broadcast(v, self._index, self._size, self._key, _FIRST_BROADCAST + n)
                    for n, v in enumerate(shared)
                ]
            )

    def _flat(self, values: list[Any]) -> list[Any]:
        return [cast(reshape(value, [-1]), self._dtype) for value in values]

    def _whole(
        self, optimizer: Any, gradients: list[Any], trained: list[Any], loss: Any, step: Any
    ) -> list[Any]:
        """Gradients, loss and the wish to stop are averaged in one exchange; all make the same update."""
        flat = self._flat([*gradients, loss, self.stop])
        averaged = all_reduce(concat(flat, 0), self._size, self._key, 0) / self._size
        parts = split(averaged, [t.shape.num_elements() for t in flat], 0)
        reduced = [
            cast(reshape(part, g.shape), g.dtype) for part, g in zip(parts, gradients, strict=False)
        ]
        pairs = list(zip(reduced, trained, strict=True))
        train = optimizer.apply_gradients(pairs, global_step=step)
        self.slot_bytes = self.whole_slot_bytes = _slot_bytes(optimizer, trained)
        self._shared = global_variables()
        return [parts[-2][0], parts[-1][0], getattr(train, "op", train)]

    def _divided(
        self, optimizer: Any, gradients: list[Any], trained: list[Any], loss: Any, step: Any
    ) -> list[Any]:
        """The worker of rank r updates the r-th part of all parameters, laid in a row; then all collect
        the others' parts. With the gradients of each part travel the loss and the wish to stop."""
        size, total = self._size, sum(v.shape.num_elements() for v in trained)
        length = -(-total // size)
        rows = [reshape(self._padded(gradients, length * size - total), [size, length])]
        rows += [tile(reshape(t, [1, 1]), [size, 1]) for t in self._flat([loss, self.stop])]
        summed = reduce_scatter(concat(rows, 1), size, self._key, 0)
        own, told, stopped = split(reshape(summed, [-1]) / size, [length, 1, 1], 0)
        part = Variable(zeros([length], self._dtype), trainable=False, name="part_of_parameters")
        values = self._padded([v.read_value() for v in trained], length * size - total)
        self.begin = assign(part, values[self._index * length : (self._index + 1) * length]).op
        train = optimizer.apply_gradients([(own, part)], global_step=step)
        self.slot_bytes = _slot_bytes(optimizer, [part])
        self.whole_slot_bytes = self.slot_bytes * total // length
        with control_dependencies([getattr(train, "op", train)]):
            gathered = all_gather(part.read_value(), size, self._key, 1)
        counts = [v.shape.num_elements() for v in trained]
        parts = split(gathered, [*counts, length * size - total], 0)
        assigned = [
            assign(v, cast(reshape(new, v.shape), v.dtype.base_dtype)).op
            for new, v in zip(parts, trained, strict=False)
        ]
        return [told[0], stopped[0], group(*assigned)]

    def _padded(self, values: list[Any], missing: int) -> Any:
        return concat([*self._flat(values), zeros([missing], self._dtype)], 0)


def _slot_bytes(optimizer: Any, variables: list[Any]) -> int:
    slots = [optimizer.get_slot(v, n) for v in variables for n in optimizer.get_slot_names()]
    return sum(s.shape.num_elements() * s.dtype.base_dtype.size for s in slots if s is not None)


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
    mode that is on. Raises the errors of a step, such as UnavailableError that names a lost worker.
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
            session.run(built.begin)
            asked = copied = time.monotonic()
            progress = Progress(server.say)
            stop = 0.0
            for now in paced(options["most"]):
                if is_chief and now - asked >= LOOK_SECONDS:
                    asked = now
                    stop = float(abs(int(kept.run(number))) != options["number"])
                loss, stopped = session.run(built.fetches, {built.stop: stop})[:2]
                steps += 1
                if stopped > 0:
                    break
                if is_chief and now - copied >= COPY_SECONDS:
                    copied = now
                    copy_values(session, mirrored, kept, variables)
                progress.step(now, steps, loss)
            if is_chief:
                copy_values(session, mirrored, kept, variables)
    finally:
        server.resources.clear([container_of(options["number"])])
    return steps
