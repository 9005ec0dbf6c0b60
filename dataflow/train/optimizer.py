"""`Optimizer`: gradients of a loss, and ops that change variables by them.

Subclasses say what a step does by `_apply_dense` and `_apply_sparse` (and `_create_slots`,
`_prepare`, `_finish`), as in TensorFlow 1, so that optimizers written for it work here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, KeysView, Sequence, ValuesView
from typing import Any

from dataflow import dtypes
from dataflow.autodiff.gradient_tape import GradientTape
from dataflow.autodiff.gradients import gradients, obstacles
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.eager import (
    eager_graph,
    graph_of_variable,
    outside_symbolic_graph,
    variables_were_made,
)
from dataflow.graph.eager_tensor import EagerTensor
from dataflow.graph.graph import Graph
from dataflow.graph.nest import flatten
from dataflow.graph.op_def import OpDef
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.control_flow import group, tuple_
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.math import cast
from dataflow.ops.optimizer_updates import update
from dataflow.ops.replicas import replica_to_merge
from dataflow.ops.resource_variables import ResourceVariable, is_resource_variable
from dataflow.ops.segment import unsorted_segment_sum
from dataflow.ops.state import assign_add, reference
from dataflow.ops.variable_lists import trainable_variables
from dataflow.ops.variables import Variable
from dataflow.train import slot_creator, update_plans
from dataflow.train.replicated_steps import (
    apply_in_replica,
    copies_of,
    is_per_replica,
    loss_of_replica,
    made_plainly,
    mirrored_slots,
)


def deduplicate_indexed_slices(values: Any, indices: TensorLike) -> tuple[Tensor, Tensor]:
    """(summed values, unique indices): rows that are named more than once are summed."""
    unique_indices, positions = array.unique(indices)
    summed = unsorted_segment_sum(values, positions, array.shape(unique_indices)[0])
    return summed, unique_indices


def slot_key(var: Variable) -> tuple[Any, str]:
    """What the slots of a variable are kept under: its graph and its name, which eager code repeats."""
    op = var.op
    return (op.graph, op.attrs["shared_name"] if op.graph.executes_eagerly else op.name)


@contextlib.contextmanager
def _outside_control_flow() -> Iterator[None]:
    """Slots are made where no branch, loop or control dependency can skip them."""
    graph = default_graph()
    with graph.control_dependencies(None):
        yield


def _why_no_gradient(loss: Any, variables: list[Any]) -> str:
    """Lines that say where the way from the loss to the variables ends; empty where nothing is known."""
    if not isinstance(loss, Tensor):
        return ""
    found = obstacles([loss], variables)
    if not found:
        return "\n  The loss depends on none of them."
    lines = [f"{op.type} {op.name!r}, built at {op.built_at}" for op in found[:3]]
    return "\n  It depends on them only through what passes no gradient on: " + "; ".join(lines)


class Optimizer:
    """Changes variables so that a loss goes down.

    Args:
        use_locking: accepted; updates of one variable never overlap here.
        name: of the scope of the update ops, and of the slots.

    Raises `ValueError` without a name.
    """

    #: The op of a dense gradient and that of a gradient's rows, where a step is one op. A class between
    #: would do the same, but libraries (GPflow) look for `Optimizer` as the ``__base__``.
    _ops: tuple[OpDef, OpDef] | None = None

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        # slot name -> variable's key -> slot
        self._slots: dict[str, dict[tuple[Any, str], Variable]] = {}
        self._non_slot_dict: dict[tuple[str, Any], Variable] = {}

    def get_name(self) -> str:
        """The name given at construction."""
        return self._name

    # ---- the three steps ------------------------------------------------------------------

    def minimize(
        self,
        loss: Any,
        global_step: Tensor | Variable | None = None,
        var_list: Iterable[Any] | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: TensorLike | None = None,
    ) -> Any:
        """An operation that makes one step: `compute_gradients`, then `apply_gradients`.

        Raises `ValueError` when ``loss`` depends on none of the variables.
        """
        grads_and_vars = self.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        if all(g is None for g, _ in grads_and_vars):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not "
                f"support gradients, between variables {[str(v) for _, v in grads_and_vars]} and "
                f"loss {loss}.{_why_no_gradient(loss, [v for _, v in grads_and_vars])}"
            )
        return self.apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: TensorLike | None = None,
    ) -> list[tuple[Any, Any]]:
        """Pairs (gradient, variable); the gradient is a tensor, an `IndexedSlices` or ``None``.

        ``loss``: a tensor, or a function without arguments that builds it. ``var_list``: by default
        the trainable variables (of a function those that it reads). ``grad_loss``: what is used as
        the gradient of the loss, by default 1.

        Raises `ValueError` for no variables and for a loss that is not floating.
        """
        given_as_function = callable(loss) and not isinstance(loss, Tensor)
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                f"Optimizer.GATE_GRAPH. Not {gate_gradients}"
            )
        if default_graph().executes_eagerly:
            if not given_as_function:
                raise RuntimeError(
                    "`loss` passed to Optimizer.compute_gradients should be a function when eager "
                    "execution is enabled."
                )
            return self._taped_gradients(loss, var_list, grad_loss)
        if given_as_function and default_graph().traces_function:
            return self._taped_gradients(loss, var_list, grad_loss)
        loss = convert_to_tensor(loss() if given_as_function else loss)
        self._assert_valid_dtypes([loss])
        loss = loss_of_replica(loss)
        if grad_loss is not None:
            grad_loss = convert_to_tensor(grad_loss)
            self._assert_valid_dtypes([grad_loss])
        if var_list is None:
            with loss.graph.as_default():
                variables = trainable_variables()
        else:
            variables = []
            if isinstance(var_list, (KeysView, ValuesView)):  # minimize(loss, var_list=d.values())
                var_list = list(var_list)
            for item in flatten(var_list):
                variables.extend(item if hasattr(item, "_variable_list") else [item])
        if not variables:
            raise ValueError("No variables to optimize.")
        for variable in variables:
            if not isinstance(variable, Tensor):  # whose gradient is wanted, and is not applied
                self._check_type(variable)
        grads = gradients(
            loss,
            variables,
            grad_ys=grad_loss,
            gate_gradients=gate_gradients == self.GATE_OP,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gate_gradients == self.GATE_GRAPH:
            grads = tuple_(grads)
        pairs = list(zip(grads, variables, strict=True))
        if given_as_function and var_list is None:  # what the function reads, not all there are
            pairs = [(g, v) for g, v in pairs if g is not None]
        self._assert_valid_dtypes([v for g, v in pairs if g is not None])
        return pairs

    def _taped_gradients(self, loss: Any, var_list: Any, grad_loss: Any) -> list[tuple[Any, Any]]:
        """`compute_gradients` with eager execution, and in its functions: calls ``loss()`` once, and records it."""
        with GradientTape() as tape:
            variables = None if var_list is None else flatten(list(var_list))
            tape.watch(variables or [])
            value = loss()
        if variables is None:
            variables = list(tape.watched_variables())
        grads = tape.gradient(value, variables, grad_loss)
        return list(zip(grads, variables, strict=True))

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """An operation that changes the variables by their gradients.

        ``grads_and_vars``: pairs as `compute_gradients` returns them. ``global_step``: a variable
        that is increased by one when the others are done.

        Raises `TypeError` for a gradient that is no tensor, `ValueError` where no variable has a
        gradient, `NotImplementedError` for what is not a variable.
        """
        pairs = [(self._as_gradient(g), v) for g, v in grads_and_vars]
        if replica := replica_to_merge():
            apply = lambda summed, step: self.apply_gradients(summed, step, name)
            return apply_in_replica(replica, apply, pairs, global_step)
        if not pairs:
            raise ValueError("No variables provided.")
        var_list = [v for g, v in pairs if g is not None]
        if not var_list:
            raise ValueError(
                f"No gradients provided for any variable: {[str(v) for _, v in pairs]}."
            )
        for variable in var_list:
            self._check_type(variable)
        graph = graph_of_variable(var_list[0])
        pairs, mirrors = copies_of(pairs)
        pairs = [(g, v) for g, v in pairs if g is not None]
        if graph.executes_eagerly and not mirrors:
            return self._eager_step(pairs, global_step, name)
        with graph.as_default():
            self._make_slots([v for _, v in pairs], mirrors)
            with name_scope(name, self._name) as scope:
                self._prepare()
                result = self._all_updates(pairs, global_step, scope)
            if graph.executes_eagerly:
                return None
            if not isinstance(result, Operation):
                result = result.op
            train_ops = graph.get_collection_ref(GraphKeys.TRAIN_OP)
            if result not in train_ops:
                train_ops.append(result)
            return result

    def _eager_step(self, pairs: list[Any], global_step: Any, name: str | None) -> None:
        """`apply_gradients` with eager execution: all updates by a plan where there is one."""
        kind = update_plans.kind_of(self, pairs, global_step)
        if kind is not None and kind.run(self, pairs, global_step):
            return
        variables = [v for _, v in pairs]
        self._make_slots(variables, [])
        with name_scope(name, self._name) as scope:
            self._prepare()
            self._all_updates(pairs, global_step, scope)
        if kind is not None:
            keys = [slot_key(v) for v in variables]
            slots = [s[key] for s in self._slots.values() for key in keys if key in s]
            others = list(self._non_slot_variables())
            update_plans.slots_are_made(kind, self, pairs, [*slots, *others])

    def _settings(self) -> update_plans.Settings | None:
        """What a plan of the updates takes at each step; None where there can be no plan."""
        self._prepare()
        tensors = {k: v for k, v in vars(self).items() if type(v) is EagerTensor}
        return update_plans.Settings(self, tensors)

    def _in_plan(self, copy: Any, tensors: dict[str, Tensor], variables: list[Any]) -> Any:
        """The ``copy`` of this optimizer, or of its owner, with tensors of a plan for its settings."""
        del variables
        vars(copy).update(tensors)
        return copy

    def _make_slots(self, variables: list[Any], mirrors: list[Any]) -> None:
        with outside_symbolic_graph(), _outside_control_flow(), made_plainly():
            self._create_slots(variables)
            mirrored_slots(self, mirrors)
        variables_were_made()

    def _all_updates(self, pairs: list[Any], global_step: Any, scope: str) -> Any:
        """What changes all variables, then ``global_step``: made in the default graph."""
        graph = default_graph()
        updates = []
        for grad, var in pairs:
            with graph.name_scope("update_" + var.op.name), graph.colocate_with(var.op):
                updates.append(self._update(grad, var))
        if global_step is None:
            return self._finish(updates, scope)
        with (
            graph.control_dependencies([self._finish(updates, "update")]),
            graph.colocate_with(global_step),
        ):
            if hasattr(global_step, "copies"):
                return global_step.assign_add(1)
            return assign_add(reference(global_step), 1, name=scope)

    @staticmethod
    def _as_gradient(grad: Any) -> Any:
        if grad is None or isinstance(grad, IndexedSlices) or is_per_replica(grad):
            return grad
        try:
            return convert_to_tensor(grad)
        except TypeError as error:
            raise TypeError(
                f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {grad!r}"
            ) from error

    @staticmethod
    def _check_type(variable: Any) -> None:
        if isinstance(variable, Variable):
            return
        if isinstance(variable, Tensor):
            if variable.dtype.is_ref:
                return
            raise NotImplementedError(
                f"Trying to update a Tensor {variable!r}: only variables can be optimized. "
                "Pass the tf.Variable itself."
            )
        raise NotImplementedError(f"Trying to optimize unsupported type {variable!r}")

    def _update(self, grad: Any, var: Any) -> Any:
        constraint = getattr(var, "constraint", None)
        if isinstance(grad, IndexedSlices):
            if constraint is not None:
                raise RuntimeError(
                    f"Cannot use a constraint function on a sparse variable: {var.op.name!r} is "
                    "updated by rows."
                )
            if isinstance(var, ResourceVariable):
                return self._resource_apply_sparse_duplicate_indices(grad.values, var, grad.indices)
            return self._apply_sparse_duplicate_indices(grad, var)
        if isinstance(var, ResourceVariable):
            update = self._resource_apply_dense(grad, var)
        else:
            update = self._apply_dense(grad, var)
        if constraint is None:
            return update
        with default_graph().control_dependencies([update]):
            return var.assign(constraint(var))

    # ---- slots ----------------------------------------------------------------------------

    def get_slot(self, var: Variable, name: str) -> Any:
        """The slot ``name`` of ``var``, or ``None``."""
        slots = self._slots.get(name)
        return slots.get(slot_key(var)) if slots else None

    def get_slot_names(self) -> list[str]:
        """The names of all slots, sorted."""
        return sorted(self._slots)

    def variables(self) -> list[Any]:
        """The slots and other variables of this optimizer in the default graph, by name."""
        graph = default_graph()
        found = [*self._non_slot_variables()]
        for slots in self._slots.values():
            found.extend(slots.values())
        return sorted((v for v in found if v.op.graph is graph), key=lambda v: v.name)

    def _slot_dict(self, slot_name: str) -> dict[tuple[Any, str], Variable]:
        return self._slots.setdefault(slot_name, {})

    def _get_or_make_slot(self, var: Variable, val: Any, slot_name: str, op_name: str) -> Any:
        """The slot, made with the initial value ``val`` (a tensor) if need be."""
        slots = self._slot_dict(slot_name)
        if slot_key(var) not in slots:
            slots[slot_key(var)] = slot_creator.create_slot(var, val, op_name)
        return slots[slot_key(var)]

    def _get_or_make_slot_with_initializer(
        self, var: Any, initializer: Any, shape: Any, dtype: Any, slot_name: str, op_name: str
    ) -> Any:
        """The slot, made by ``initializer`` if need be."""
        slots = self._slot_dict(slot_name)
        if slot_key(var) not in slots:
            slots[slot_key(var)] = slot_creator.create_slot_with_initializer(
                var, initializer, shape, dtype, op_name
            )
        return slots[slot_key(var)]

    def _zeros_slot(self, var: Variable, slot_name: str, op_name: str) -> Any:
        """The slot, made of zeros if need be."""
        slots = self._slot_dict(slot_name)
        if slot_key(var) not in slots:
            slots[slot_key(var)] = slot_creator.create_zeros_slot(var, op_name)
        return slots[slot_key(var)]

    def _create_non_slot_variable(self, initial_value: Any, name: str, colocate_with: Any) -> Any:
        """A variable that belongs to no other one, made once for each graph."""
        graph = colocate_with.op.graph
        variable = self._non_slot_dict.get((name, graph))
        if variable is None:
            with graph.colocate_with(colocate_with.op):
                variable = Variable(
                    initial_value,
                    name=name,
                    trainable=False,
                    use_resource=is_resource_variable(colocate_with),
                )
            self._non_slot_dict[(name, graph)] = variable
        return variable

    def _get_non_slot_variable(self, name: str, graph: Graph | None = None) -> Any:
        if graph is not None and graph.variables_are_eager:
            graph = eager_graph()
        return self._non_slot_dict.get((name, graph))

    def _non_slot_variables(self) -> list[Any]:
        return list(self._non_slot_dict.values())

    def checkpoint_parts(self) -> list[tuple[str, Any]]:
        """(name, variable) of what a checkpoint saves beside the slots, such as Adam's powers."""
        return sorted((name, v) for (name, _), v in self._non_slot_dict.items())

    # ---- for subclasses -------------------------------------------------------------------

    def _valid_dtypes(self) -> set[Any]:
        """The dtypes that losses, variables and gradients may have."""
        return {dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64}

    def _assert_valid_dtypes(self, tensors: Sequence[Any]) -> None:
        valid = self._valid_dtypes()
        for tensor in tensors:
            dtype = tensor.dtype.base_dtype
            if dtype not in valid:
                names = sorted(d.name for d in valid)
                raise ValueError(
                    f"Invalid type {dtype.name!r} for {tensor.name}, expected: {names}."
                )

    def _create_slots(self, var_list: list[Any]) -> None:
        """Makes the slots of these variables; called before each `apply_gradients`."""

    def _prepare(self) -> None:
        """Makes the tensors of all hyperparameters."""

    def _apply_dense(self, grad: Tensor, var: Variable) -> Any:
        """An op that changes ``var`` by the dense gradient ``grad``."""
        if self._ops is None:
            raise NotImplementedError(f"{type(self).__name__} does not implement _apply_dense")
        return update(
            self._ops[0], var, grad=grad, **self._inputs(var), use_locking=self._use_locking
        )

    def _inputs(self, var: Variable) -> dict[str, Any]:
        """Slots, scalars and attributes of the ``_ops``, by name."""
        raise NotImplementedError(f"{type(self).__name__} does not implement _inputs")

    def _apply_sparse_duplicate_indices(self, grad: Any, var: Variable) -> Any:
        """As `_apply_sparse`, for rows that may repeat: sums them first."""
        values, indices = deduplicate_indexed_slices(grad.values, grad.indices)
        return self._apply_sparse(IndexedSlices(values, indices, grad.dense_shape), var)

    def _apply_sparse(self, grad: Any, var: Variable) -> Any:
        """An op that changes the rows of ``var`` named by the `IndexedSlices` ``grad``, once each."""
        if self._ops is None:
            raise NotImplementedError(f"{type(self).__name__} does not implement _apply_sparse")
        rows = {"grad": grad.values, "indices": grad.indices}
        return update(self._ops[1], var, **rows, **self._inputs(var), use_locking=self._use_locking)

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Any:
        """As `_apply_dense`, for a resource variable."""
        return self._apply_dense(grad, handle)

    def _resource_apply_sparse_duplicate_indices(self, grad: Any, handle: Any, indices: Any) -> Any:
        """As `_resource_apply_sparse`, for rows that may repeat: sums them first."""
        if type(self)._resource_apply_sparse is Optimizer._resource_apply_sparse:
            return self._apply_sparse_duplicate_indices(IndexedSlices(grad, indices), handle)
        values, indices = deduplicate_indexed_slices(grad, indices)
        return self._resource_apply_sparse(values, handle, indices)

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        """As `_apply_sparse`, for the rows ``indices`` of a resource variable."""
        return self._apply_sparse(IndexedSlices(grad, indices), handle)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        """The operation that stands for all updates."""
        return group(*update_ops, name=name_scope)

    def _call_if_callable(self, param: Any) -> Any:
        """Hyperparameters may be functions without arguments."""
        return param() if callable(param) and not isinstance(param, Tensor) else param

    def _hyperparameter(self, param: Any, name: str) -> Any:
        """The tensor of a hyperparameter: a number, a tensor, or a function that returns one."""
        return convert_to_tensor(self._call_if_callable(param), name=name)

    def _strengths(self) -> tuple[Any, Any]:
        """The tensors of ``l1_regularization_strength`` and ``l2_regularization_strength``."""
        names = ("l1_regularization_strength", "l2_regularization_strength")
        l1, l2 = (self._hyperparameter(getattr(self, f"_{name}"), name) for name in names)
        return l1, l2

    def _cast(self, tensor: TensorLike, var: Variable) -> Any:
        """A hyperparameter in the dtype of ``var``."""
        return cast(tensor, var.dtype.base_dtype)


HyperParameter = float | Tensor | Callable[[], Any]
