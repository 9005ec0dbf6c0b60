"""`tf.GradientTape`: derivatives of what is computed in a block.

In a graph the graph itself is the tape; in the graph of a function a tape is a part of it (`graph_tape`). With eager execution the tape records what is computed
from what it watches, and joins it to a graph for the time in which `gradients` walks back through it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from dataflow import logging
from dataflow.autodiff.gradients import UnconnectedGradients, gives_zeros, gradients
from dataflow.autodiff.graph_tape import GraphTape
from dataflow.autodiff.tape_plans import recorded_gradients
from dataflow.dtypes import string
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.nest import flatten, map_structure
from dataflow.graph.tape import Tape, recording
from dataflow.graph.tensor import Tensor
from dataflow.graph.traced_graph import TracedGraph
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.variables import Variable


class GradientTape:
    """Records what is computed in its block, and gives derivatives of it (`gradient`, `jacobian`).

    ``watch_accessed_variables``: trainable variables that are read in the block are watched;
    tensors are where `watch` says so. ``persistent``: more than one gradient can be asked for.

    In a graph every tensor can be differentiated by: there the tape is `tf.gradients` by another
    name, and a second `gradient` without ``persistent`` is a `RuntimeError`, as in TensorFlow.
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = persistent
        self._watch_variables = watch_accessed_variables
        self._watched: list[Any] = []
        self._first: int | None = None
        self._last: int | None = None
        self._used = False
        self._tape: Tape | None = None  # with eager execution
        self._graph_tape: GraphTape | None = None  # in the graph of a function
        self._recording = False

    def __enter__(self) -> GradientTape:
        graph = default_graph()
        self._first = graph.version
        if graph.is_of_calls:
            if self._recording:
                raise ValueError("Tape is already recording.")
            if isinstance(graph, TracedGraph):
                if self._graph_tape is None:
                    self._graph_tape = GraphTape(graph, self._watch_variables)
            elif self._tape is None:
                self._tape = Tape(self._watch_variables)
            self._start()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._last = default_graph().version
        if self._recording:
            self._stop()

    def _start(self) -> None:
        if self._graph_tape is not None:
            self._graph_tape.start()
        elif self._tape is not None:
            recording.tapes.append(self._tape)
        self._recording = True

    def _stop(self) -> None:
        if self._graph_tape is not None:
            self._graph_tape.stop()
        elif self._tape is not None:
            recording.tapes.remove(self._tape)
        self._recording = False

    def watch(self, tensor: Any) -> None:
        """Makes derivatives by ``tensor`` (or each of a structure) possible.

        With eager execution, derivatives by integers are always None.
        """
        for item in flatten(tensor):
            if self._graph_tape is not None and isinstance(item, (Variable, Tensor)):
                self._graph_tape.watch(item)
            elif self._tape is None:
                self._watched.append(item)
            elif isinstance(item, Variable):
                self._tape.watch_variable(item, item._ref())
            elif isinstance(item, IndexedSlices):
                self.watch([item.values, item.indices])
            elif not isinstance(item, Tensor):
                raise ValueError(f"Passed in object of type {type(item)}, not tf.Tensor")
            else:
                if not (item.dtype.is_floating or item.dtype.is_complex):
                    logging.log_first_n(
                        logging.WARN,
                        "The dtype of the watched tensor must be floating (e.g. tf.float32), got %r",
                        5,
                        item.dtype,
                    )
                self._tape.watched.add(item)

    def watched_variables(self) -> tuple[Any, ...]:
        """The variables that were watched, and those that can be trained and were used in the block."""
        if self._tape is not None:
            return tuple(self._tape.variables.values())
        if self._graph_tape is not None:
            return tuple(self._graph_tape.variables())
        found = [v for v in self._watched if isinstance(v, Variable)]
        if self._watch_variables and self._first is not None:
            graph = default_graph()
            sources = {t.op for op in graph.operations[self._first : self._last] for t in op.inputs}
            # A variable is read by a node of its own, which may be older than the block.
            sources |= {t.op for op in sources if op.type == "Identity" for t in op.inputs}
            for v in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES):
                if v.op in sources and not any(v is w for w in found):
                    found.append(v)
        return tuple(found)

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """A block of which nothing is recorded. (In a graph it is told apart by nothing.)

        Raises `RuntimeError` where the tape does not record.
        """
        if self._tape is None and not default_graph().is_of_calls:
            yield
            return
        if not self._recording:
            raise RuntimeError("Trying to stop recording a tape which is not recording.")
        self._stop()
        try:
            yield
        finally:
            self._start()

    def reset(self) -> None:
        """Forgets what was recorded and watched."""
        self._watched = []
        was_recording = self._recording
        if was_recording:
            self._stop()
        if self._tape is not None:
            self._tape = Tape(self._watch_variables)
        if self._graph_tape is not None:
            self._graph_tape = GraphTape(self._graph_tape.graph, self._watch_variables)
        if was_recording:
            self._start()

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
    ) -> Any:
        """The derivatives of the sum of ``target`` by each of ``sources``, in their structure.

        ``output_gradients``: what arrives at each target, by default ones. A source that was not
        watched, or that no target depends on, has None (zeros with
        ``unconnected_gradients="zero"``).
        """
        ys, xs = flatten(target), flatten(sources)
        grad_ys = None if output_gradients is None else flatten(output_gradients)
        tape = self._begin_gradient("gradient")
        found = _derivatives(tape, ys, xs, grad_ys, unconnected_gradients)
        made = iter(found)
        return map_structure(lambda source: next(made), sources)

    def _begin_gradient(self, what: str) -> Tape | GraphTape | None:
        """The tape of eager code or of a function, None in a graph; ends the recording of one that is used once."""
        if self._first is None:
            raise RuntimeError(f"GradientTape.{what} was called before the tape was entered.")
        if self._used and not self._persistent:
            raise RuntimeError(
                f"GradientTape.{what} can only be called once on non-persistent tapes: pass "
                "persistent=True to the tape."
            )
        self._used = True
        tape = self._tape or self._graph_tape
        if tape is not None and not self._persistent:
            if self._recording:
                self._stop()
            self._tape = self._graph_tape = None
        return tape

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The derivatives of each element of ``target`` by each of ``sources``.

        For a target of shape S and a source of shape R a tensor of shape S + R. Both last arguments
        change nothing here.
        """
        del parallel_iterations, experimental_use_pfor
        from dataflow.ops.array import reshape, stack

        xs = flatten(sources)
        rows = self._rows(target, xs, unconnected_gradients, "jacobian")
        found: list[Any] = []
        for x, column in zip(xs, zip(*rows, strict=True), strict=True):
            if column[0] is None:
                found.append(None)
                continue
            dense = [convert_to_tensor(row) for row in column]
            found.append(reshape(stack(dense), [*target.shape.as_list(), *x.shape.as_list()]))
        made = iter(found)
        return map_structure(lambda source: next(made), sources)

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The derivatives of ``target[i]``, [batch, ...], by ``source[i]``, for each i of a batch.

        For shapes [b, *S] and [b, *R] a tensor of shape [b, *S, *R]. Row i of the target must depend
        on row i of the source alone.
        """
        del parallel_iterations, experimental_use_pfor
        from dataflow.ops.array import reshape, stack, zeros_like

        target.shape.with_rank_at_least(2)
        batch = target.shape.as_list()[0]
        if source.shape.as_list()[0] != batch:
            raise ValueError(
                f"Need first dimension of target shape ({target.shape}) and source shape "
                f"({source.shape}) to match."
            )
        rows = self._rows(
            target, [source], unconnected_gradients, "batch_jacobian", by_example=True
        )
        if not rows or rows[0][0] is None:
            return None if not rows else zeros_like(target)
        columns = stack([convert_to_tensor(row[0]) for row in rows], axis=1)
        return reshape(columns, [*target.shape.as_list(), *source.shape.as_list()[1:]])

    def _rows(
        self, target: Any, xs: list[Any], unconnected: Any, what: str, by_example: bool = False
    ) -> list[list[Any]]:
        """The gradients of the elements of ``target``, one after the other, by ``xs``.

        ``by_example``: of the sums of the elements at each place of the examples of a batch.
        """
        import numpy as np

        dims = target.shape.as_list()
        if None in dims:
            raise ValueError(f"{what} needs a target whose shape is known, got {target.shape}.")
        places = dims[1:] if by_example else dims
        tape = self._begin_gradient(what)
        rows = []
        for place in np.ndindex(*places):
            one = np.zeros(dims, target.dtype.numpy)
            one[(slice(None), *place) if by_example else place] = 1
            grad = [convert_to_tensor(one)]
            rows.append(_derivatives(tape, [target], xs, grad, unconnected))
        return rows


def _derivatives(
    tape: Tape | GraphTape | None,
    targets: list[Any],
    sources: list[Any],
    grad_ys: list[Any] | None,
    unconnected: Any,
) -> list[Any]:
    """`gradients` along what a tape has recorded; along all of the graph where there is none."""
    if tape is None:
        return gradients(targets, sources, grad_ys, unconnected_gradients=unconnected)
    if isinstance(tape, Tape):
        found = _recorded(tape, targets, sources, grad_ys)
    else:
        found = tape.gradients(targets, sources, grad_ys)
    if gives_zeros(unconnected):
        from dataflow.ops.array import zeros_like

        return [zeros_like(s) if g is None else g for g, s in zip(found, sources, strict=True)]
    return found


def _recorded(tape: Tape, targets: list[Any], sources: list[Any], grad_ys: Any) -> list[Any]:
    """`gradients` along what a tape has recorded in eager code."""
    ys = [y._ref() if isinstance(y, Variable) else y for y in targets]
    xs = [x._ref() if isinstance(x, Variable) else x for x in sources]
    kept = [i for i, y in enumerate(ys) if y is not None and y in tape.watched and _counts(y)]
    known = [x for x in dict.fromkeys(xs) if x in tape.watched and _counts(x)]
    found: dict[Any, Any] = {}
    for i in [i for i in kept if isinstance(targets[i], Variable) and ys[i].dtype.is_handle]:
        kept.remove(i)  # nothing computed it: it changes as the variable does
        of_itself = _ones_like(targets[i]) if grad_ys is None else convert_to_tensor(grad_ys[i])
        found[ys[i]] = of_itself if ys[i] not in found else found[ys[i]] + of_itself
    if kept and known:
        given = None if grad_ys is None else [grad_ys[i] for i in kept]
        parts = recorded_gradients(tape, [ys[i] for i in kept], known, given)
        for x, part in zip(known, parts, strict=True):
            found[x] = part if x not in found else found[x] if part is None else found[x] + part
    return [found.get(x) for x in xs]


def _ones_like(variable: Variable) -> Any:
    from dataflow.ops.array import ones_like

    return ones_like(variable.read_value())


def _counts(tensor: Any) -> bool:
    """False for texts, which have no derivatives."""
    return tensor.dtype.base_dtype is not string
