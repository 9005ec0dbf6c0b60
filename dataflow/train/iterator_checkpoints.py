"""Iterators in checkpoints: a training that goes on continues with the examples that come next.

An iterator is saved as the number of elements that it gave. Restored, it begins again and leaves out as many, so the
dataset must give the same elements in each iteration: one whose functions use state (random numbers without a seed of
their own, variables, tables, Python) is refused when it is saved.
"""

from __future__ import annotations

from collections.abc import Iterator as Iterated
from typing import Any

from dataflow.data.functions import FunctionGraph
from dataflow.data.iterators import GLOBAL_ITERATORS
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.ops import dataset as ops
from dataflow.ops.array import identity
from dataflow.ops.logging_ops import Assert
from dataflow.ops.sources import constant
from dataflow.train.checkpoint_management import latest_checkpoint
from dataflow.train.saveables import SaveableObject, SaveSpec
from dataflow.train.saver import Saver
from dataflow.train.saving_hooks import CheckpointSaverHook
from dataflow.train.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

#: Stateful by name alone: their state is the dataset's own, and begins anew with it.
_OF_DATASETS = ("Dataset", "Iterator", "Optional")
#: They act, and give the same values each time.
_WITHOUT_STATE = {"Placeholder", "Assert", "Print", "PrintV2", "CheckNumerics"}


class IteratorSaveable(SaveableObject):
    """How far an iterator has come."""

    def __init__(self, iterator_resource: Tensor) -> None:
        name = iterator_resource.name
        self._starter = _starter(iterator_resource)
        with default_graph().control_dependencies(self._refusal(iterator_resource)):
            position = ops.serialize_iterator_op(iterator_resource)
        super().__init__(iterator_resource, [SaveSpec(position, "", f"{name}-state")], name)

    def _refusal(self, resource: Tensor) -> list[Operation]:
        """An operation that raises `InvalidArgumentError` when it runs, where the dataset uses state."""
        made_by = resource.op if self._starter is None else self._starter.inputs[0].op
        found = next(_state_behind(made_by), None)
        if found is None:
            return []
        message = (
            f"the iterator {resource.name!r} cannot be saved: a function of its dataset has the stateful "
            f"node {found.name!r} ({found.type}), so a restored iterator would give other elements."
        )
        return [Assert(constant(False), [message])]

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Any) -> Any:
        """Starts the iterator again, and sets it to where it was."""
        position = identity(restored_tensors[0])
        first = []
        if self._starter is not None and not _is_fed(self._starter.inputs[0].op):
            first = [ops.make_iterator_op(self._starter.inputs[0], self.op)]
        with default_graph().control_dependencies(first):
            return ops.deserialize_iterator_op(self.op, position)


def make_saveable_from_iterator(iterator: Any) -> IteratorSaveable:
    """What a `Saver` saves of an iterator: how far it has come.

    Add it to the collection ``SAVEABLE_OBJECTS``, or give it to ``Saver(var_list=...)``. Saving raises
    `InvalidArgumentError` where the dataset's functions use state, and `FailedPreconditionError` for an iterator
    that was not started.
    """
    return IteratorSaveable(iterator.resource)


def _starter(resource: Tensor) -> Operation | None:
    """The one operation that sets an iterator to a dataset; None where there is none, or several."""
    found = [op for op in resource.consumers() if op.type == "MakeIterator"]
    return found[0] if len(found) == 1 else None


def _behind(op: Operation) -> Iterated[Operation]:
    """``op`` and all that it needs."""
    seen: set[Operation] = set()
    stack = [op]
    while stack:
        current = stack.pop()
        if current not in seen:
            seen.add(current)
            yield current
            stack.extend(tensor.op for tensor in current.inputs)


def _is_fed(op: Operation) -> bool:
    return any(o.type.startswith("Placeholder") for o in _behind(op))


def _state_behind(op: Operation) -> Iterated[Operation]:
    """Stateful operations in the functions of the datasets behind ``op``, and what those capture."""
    for node in _behind(op):
        graphs = [value for value in node.attrs.values() if isinstance(value, FunctionGraph)]
        for graph in graphs:
            yield from _state_within(graph)
        if node is not op and _is_state(node):
            yield node


def _state_within(graph: FunctionGraph) -> Iterated[Operation]:
    for op in graph.operations:
        if _is_state(op):
            yield op
        for value in op.attrs.values():
            if isinstance(value, FunctionGraph):
                yield from _state_within(value)


def _is_state(op: Operation) -> bool:
    is_of_datasets = any(word in op.type for word in _OF_DATASETS)
    if is_of_datasets or op.type in _WITHOUT_STATE:
        return False
    has_seed = bool(
        op.attrs.get("seed") or op.attrs.get("seed2")
    )  # it begins anew with the dataset
    return op.op_def.stateful and not has_seed


class _InputSaver(Saver):
    """A saver whose list of checkpoints is a file of its own."""

    def __init__(self, saveables: list[IteratorSaveable], latest_filename: str) -> None:
        super().__init__(saveables)
        self._own_filename = latest_filename

    def save(
        self,
        sess: Any,
        save_path: str,
        global_step: Any = None,
        latest_filename: str | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> str | None:
        """As `Saver.save`."""
        name = latest_filename or self._own_filename
        return super().save(sess, save_path, global_step, name, *args, **kwargs)


class CheckpointInputPipelineHook(SessionRunHook):
    """Saves the iterators of the graph beside the checkpoints of an estimator, and restores them at the start.

    They stand in files of their own, ``input.ckpt-...``, in the estimator's folder; an evaluation without this hook does not
    find them. ``external_state_policy`` (of TensorFlow 2: "fail", "warn" or "ignore") changes nothing: what a dataset's
    functions keep outside of it is not saved. Raises `ValueError` in a graph without iterators, and for another policy.
    """

    def __init__(self, estimator: Any, external_state_policy: str | None = None) -> None:
        if external_state_policy not in (None, "fail", "warn", "ignore"):
            raise ValueError(
                f'external_state_policy must be "fail", "warn" or "ignore", got {external_state_policy!r}'
            )
        config = estimator.config
        name = "input"
        if config.num_worker_replicas > 1:
            name = f"input_{config.task_type}_{config.task_id}"
        self._hook = CheckpointSaverHook(
            estimator.model_dir,
            save_secs=config.save_checkpoints_secs,
            save_steps=config.save_checkpoints_steps,
            checkpoint_basename=f"{name}.ckpt",
        )
        self._folder = estimator.model_dir
        self._latest_filename = f"checkpoint_{name}"
        self._is_first = True

    def begin(self) -> None:
        """Makes what saves the iterators."""
        iterators = default_graph().get_collection(GLOBAL_ITERATORS)
        saveables = [IteratorSaveable(i) for i in iterators]
        self._saver = _InputSaver(saveables, self._latest_filename)
        self._hook.use_saver(self._saver)
        self._hook.begin()

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """In the first run restores the iterators, or saves how they begin."""
        if self._is_first:
            self._is_first = False
            found = latest_checkpoint(self._folder, latest_filename=self._latest_filename)
            if found:
                self._saver.restore(run_context.session, found)
            else:
                self._hook.save_now(run_context.session)
        return self._hook.before_run(run_context)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Saves where it is due."""
        self._hook.after_run(run_context, run_values)

    def end(self, session: Any) -> None:
        """Saves the last state."""
        self._hook.end(session)
