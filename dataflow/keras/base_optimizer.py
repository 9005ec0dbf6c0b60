"""What all of `tf.keras.optimizers` share: variables for settings, slots, and the step itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from dataflow.autodiff.gradient_tape import GradientTape
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.eager import graph_of_variable
from dataflow.graph.eager_tensor import EagerTensor
from dataflow.graph.graph import Graph
from dataflow.graph.tensor import Tensor
from dataflow.keras import backend as K, initializers, learning_rate_schedules as schedules
from dataflow.layers.serialization import serialize
from dataflow.ops.array import gather, identity
from dataflow.ops.clip import clip_by_norm, clip_by_value
from dataflow.ops.control_flow import group
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.math import cast
from dataflow.ops.resource_variables import is_resource_variable
from dataflow.ops.state import assign_add, scatter_add, scatter_update
from dataflow.ops.variables import Variable
from dataflow.train.optimizer import (
    Optimizer as TrainOptimizer,
    deduplicate_indexed_slices,
    slot_key,
)
from dataflow.train.update_plans import Settings, is_own

_SETTINGS = {"clipnorm", "clipvalue", "lr", "decay"}
_OLD_NAMES = {"lr": "learning_rate", "initial_decay": "_initial_decay"}


class Optimizer:
    """The base class of optimizers, custom ones too, with the methods of TensorFlow 1.15's.

    A subclass names its settings in ``__init__`` (`_set_hyper`), makes its slots (`_create_slots`,
    `add_slot`) and changes a variable (`_resource_apply_dense`, `_resource_apply_sparse`). Settings
    become variables when a model first trains, in the scope where that happens. Or it is one as for Keras
    2.2: without a ``name``, with its own variables, and with a `get_updates` that sets `weights`.

    ``clipnorm`` and ``clipvalue`` cut each gradient; ``decay`` divides the learning rate by
    ``1 + decay * iterations``; ``lr`` is the older name of ``learning_rate``, which may also be one
    of `tf.keras.optimizers.schedules`. Raises `TypeError` for other names, `ValueError` below 0.
    """

    def __init__(self, name: str | None = None, **kwargs: Any) -> None:
        for key, value in kwargs.items():
            if key not in _SETTINGS:
                raise TypeError(f"Unexpected keyword argument passed to optimizer: {key}")
            if isinstance(value, (int, float)) and value < 0:
                raise ValueError(f"Expected {key} >= 0, received: {value}")
        self._hyper: dict[str, Any] = {}
        self._name = name or type(self).__name__
        self._is_named = name is not None
        self._use_locking = True
        self._initial_decay = float(kwargs.get("decay", 0.0))
        self.clipnorm = kwargs.get("clipnorm")
        self.clipvalue = kwargs.get("clipvalue")
        self._forget()

    def _forget(self) -> None:
        """Forgets the graph: variables and slots are made anew in the next one."""
        self._graph: Any = None
        self._steps: Any = None
        self._given: dict[str, Any] = {}  # settings as they were before they became variables
        self._added: dict[str, Any] = {}
        self._weights: list[Any] = []

    def _in(self, graph: Graph) -> Any:
        """The steps in ``graph``."""
        if self._graph is not None and self._graph is not graph:
            self._hyper.update(self._given)
            self._forget()
        self._graph = graph
        if self._steps is None:
            self._steps = _Steps(self)
        return self._steps

    # ---- settings -------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        name = _OLD_NAMES.get(name, name)
        if name == "_initial_decay" and name in self.__dict__:
            return self.__dict__[name]
        if name in self.__dict__.get("_hyper", ()):
            return self._get_hyper(name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        given, name = name, _OLD_NAMES.get(name, name)
        if name in self.__dict__.get("_hyper", ()):
            self._set_hyper(name, value)
        else:
            super().__setattr__(given, value)

    def _set_hyper(self, name: str, value: Any) -> None:
        """Names a setting (a number, a tensor, a function of nothing, a schedule), or changes it."""
        if isinstance(value, dict):
            value = schedules.deserialize(value)
        is_schedule = isinstance(value, schedules.LearningRateSchedule)
        if name in self._given and not is_schedule:
            K.set_value(self._hyper[name], value)
        else:
            self._hyper[name] = value

    def _get_hyper(self, name: str, dtype: Any = None) -> Any:
        """A setting, as the variable that it becomes; with a ``dtype`` its value as a tensor."""
        if not self._given:
            self._create_hypers()
        value = self._hyper[name]
        if isinstance(value, schedules.LearningRateSchedule):
            return value
        value = value() if callable(value) and not _is_node(value) else value
        return value if dtype is None else cast(value, dtype)

    def _create_hypers(self) -> None:
        for name, value in sorted(self._hyper.items()):
            if name in self._given or callable(value) or _is_node(value):
                continue
            self._hyper[name] = self.add_weight(name, shape=[], initializer=float(value))
            self._given[name] = value

    def _serialize_hyperparameter(self, name: str) -> Any:
        """A setting as it is now, as a number; or the config of a schedule."""
        value = self._hyper[name]
        if isinstance(value, schedules.LearningRateSchedule):
            return serialize(value)
        if not _is_node(value):
            return value() if callable(value) else value
        found, given = K.get_value(value), self._given.get(name)
        return given if given is not None and found.dtype.type(given) == found else float(found)

    def _decayed_lr(self, dtype: Any) -> Any:
        rate = self._get_hyper("learning_rate", dtype)
        steps = cast(self.iterations, dtype)
        if isinstance(rate, schedules.LearningRateSchedule):
            rate = cast(rate(steps), dtype)
        if self._initial_decay > 0.0:
            rate = rate / (1.0 + self._get_hyper("decay", dtype) * steps)
        return rate

    # ---- variables ------------------------------------------------------------------------

    def add_weight(
        self,
        name: str,
        shape: Any = (),
        dtype: Any = None,
        initializer: Any = "zeros",
        trainable: bool = False,
        **kwargs: Any,
    ) -> Any:
        """A variable of the optimizer's own, which checkpoints hold under ``name``."""
        graph = self._graph = self._graph or default_graph()
        dtype = dtype or K.floatx()
        if isinstance(initializer, str) or callable(initializer):
            made = initializers.get(initializer)
            value: Any = lambda: made(list(shape), dtype=dtype)
        else:
            value = np.full(list(shape), initializer, dtype)
        with graph.as_default(), graph.control_dependencies(None):
            variable = Variable(
                value, trainable=trainable, name=name, dtype=dtype, use_resource=True
            )
        self._added[name] = variable
        return variable

    @property
    def iterations(self) -> Any:
        """The number of steps made, a variable."""
        if "iter" not in self._added:
            self._weights.insert(0, self.add_weight("iter", shape=[], dtype="int64"))
        return self._added["iter"]

    @iterations.setter
    def iterations(self, variable: Any) -> None:
        if "iter" in self._added:
            raise RuntimeError(
                "Cannot set `iterations` to a new Variable after the Optimizer weights have been created"
            )
        self._graph = variable.op.graph
        self._added["iter"] = variable
        self._weights.insert(0, variable)

    def add_slot(self, var: Any, slot_name: str, initializer: Any = "zeros") -> Any:
        """The slot ``slot_name`` of ``var``: a variable of its shape, made by the first call."""
        slots = self._in(var.op.graph).slots_named(slot_name)
        key = slot_key(var)
        if key not in slots:
            dtype = var.dtype.base_dtype
            made = initializers.get(initializer) if isinstance(initializer, str) else initializer
            with default_graph().colocate_with(var.op):
                slots[key] = Variable(
                    (lambda: made(var.shape, dtype=dtype)) if callable(made) else made,
                    trainable=False,
                    name=f"{var.op.name}/{slot_name}",
                    dtype=dtype,
                    use_resource=is_resource_variable(var),
                )
            self._weights.append(slots[key])
        return slots[key]

    def get_slot(self, var: Any, slot_name: str) -> Any:
        """The slot ``slot_name`` of ``var``, a variable; None where there is none."""
        return None if self._steps is None else self._steps.get_slot(var, slot_name)

    def get_slot_names(self) -> list[str]:
        """The names of the slots of each weight, such as "m" and "v" of `Adam`."""
        return [] if self._steps is None else list(self._steps._slots)

    @property
    def weights(self) -> list[Any]:
        """Iterations and slots: what is saved with a model to go on training."""
        return list(self._weights)

    @weights.setter
    def weights(self, variables: list[Any]) -> None:
        self._weights = list(variables)

    def variables(self) -> list[Any]:
        """As `weights`."""
        return self.weights

    def checkpoint_parts(self) -> Iterator[tuple[str, Any]]:
        """(name, variable) of what a checkpoint saves beside the slots."""
        yield from self._added.items()

    def get_weights(self) -> list[Any]:
        """Values of `weights`."""
        return K.batch_get_value(self.weights)

    def set_weights(self, weights: Any) -> None:
        """Gives `weights` values; raises `ValueError` for another number of them."""
        if len(weights) == len(self.weights) - 1 > 0:  # older files do not count the steps
            weights = [np.array(0), *weights]
        if len(weights) != len(self.weights):
            raise ValueError(
                f"This optimizer has {len(self.weights)} weights, got {len(weights)} arrays."
            )
        K.batch_set_value(list(zip(self.weights, weights, strict=True)))

    # ---- steps ----------------------------------------------------------------------------

    def get_gradients(self, loss: Any, params: Any, grad_loss: Any = None) -> list[Any]:
        """The gradient of ``loss`` for each of ``params``, clipped as ``clipnorm`` and ``clipvalue`` say.

        ``grad_loss``: the gradient of ``loss`` itself, 1 by default. Raises `ValueError` where none
        depends on them.
        """
        graph = loss.graph
        with graph.as_default(), graph.name_scope(f"{self._name}/gradients"):
            found = self._in(params[0].op.graph if params else graph).compute_gradients(
                loss, params, grad_loss=grad_loss
            )
            if all(g is None for g, _ in found):
                raise ValueError(
                    "No gradients provided for any variable: the loss does not depend on them "
                    "through differentiable ops (argmax, round and comparisons have no gradient)."
                )
            return [None if g is None else self._clipped(g) for g, _ in found]

    def _clipped(self, gradient: Any) -> Any:
        if self.clipnorm is not None:
            gradient = clip_by_norm(gradient, self.clipnorm)
        if self.clipvalue is not None:
            gradient = clip_by_value(gradient, -self.clipvalue, self.clipvalue)
        return gradient

    def apply_gradients(self, grads_and_vars: Any, name: str | None = None) -> Any:
        """An op that makes one step with the given gradients."""
        given = list(grads_and_vars)
        pairs = [(g, v) for g, v in given if g is not None]
        if not given:  # of no variables there is nothing to do
            return self.iterations if default_graph().is_of_calls else group()
        if not pairs:
            raise ValueError("No gradients provided for any variable.")
        steps = self._in(pairs[0][1].op.graph)
        graph = graph_of_variable(pairs[0][1])
        with graph.as_default(), graph.name_scope(self._name) as steps.scope:
            iterations = self.iterations
            self._create_hypers()
            if graph.executes_eagerly:
                steps.apply_gradients(pairs, iterations, name=name)
                return iterations
            step = steps.apply_gradients(pairs, name=name)
            with graph.control_dependencies([step]):
                return assign_add(self.iterations, 1).op

    def get_updates(self, loss: Any, params: Any) -> list[Any]:
        """Ops of one step; constraints of the variables are applied after it."""
        gradients = self.get_gradients(loss, params)
        return [self.apply_gradients(zip(gradients, params, strict=True))]

    def minimize(self, loss: Any, var_list: Any, grad_loss: Any = None, name: Any = None) -> Any:
        """An op that makes one step down ``loss``, a tensor (or a function that returns one)."""
        pairs = self._compute_gradients(loss, var_list=var_list, grad_loss=grad_loss)
        return self.apply_gradients(pairs, name=name)

    def _compute_gradients(self, loss: Any, var_list: Any, grad_loss: Any = None) -> Any:
        """Pairs (gradient, variable); subclasses that `minimize` something else override it."""
        if default_graph().is_of_calls and callable(loss):
            with GradientTape() as tape:
                if not callable(var_list):
                    tape.watch(var_list)
                value = loss()
            params = list(var_list() if callable(var_list) else var_list)
            found = tape.gradient(value, params, grad_loss)
            cut = [None if g is None else self._clipped(g) for g in found]
            return list(zip(cut, params, strict=True))
        loss = loss() if callable(loss) else loss
        params = list(var_list() if callable(var_list) else var_list)
        how = {} if grad_loss is None else {"grad_loss": grad_loss}
        if not params:
            return []
        return list(zip(self.get_gradients(loss, params, **how), params, strict=True))

    # ---- for subclasses -------------------------------------------------------------------

    def _create_slots(self, var_list: list[Any]) -> None:
        """Makes the slots of these variables."""

    def _prepare(self, var_list: list[Any]) -> dict[Any, dict[str, Any]]:
        """(device, dtype) of variables -> what the steps of these have in common, by name."""
        apply_state: dict[Any, dict[str, Any]] = {}
        for device, dtype in dict.fromkeys((v.device, v.dtype.base_dtype) for v in var_list):
            self._prepare_local(device, dtype, apply_state)
        return apply_state

    def _prepare_local(self, var_device: Any, var_dtype: Any, apply_state: Any) -> None:
        if "learning_rate" in self._hyper:
            rate = identity(self._decayed_lr(var_dtype))
            apply_state[(var_device, var_dtype)] = {"lr_t": rate}

    def _fallback_apply_state(self, var_device: Any, var_dtype: Any) -> dict[str, Any]:
        apply_state: dict[Any, dict[str, Any]] = {}
        self._prepare_local(var_device, var_dtype, apply_state)
        return apply_state[(var_device, var_dtype)]

    def _coefficients(self, var: Any, apply_state: Any) -> dict[str, Any]:
        """What `_prepare_local` made for variables like ``var``."""
        key = (var.device, var.dtype.base_dtype)
        return (apply_state or {}).get(key) or self._fallback_apply_state(*key)

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not implement _resource_apply_dense")

    def _resource_apply_sparse(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} does not implement _resource_apply_sparse"
        )

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Any, var: Any, indices: Any, **kwargs: Any
    ) -> Any:
        """As `_resource_apply_sparse`, for rows that may repeat: sums them first."""
        rows, indices = deduplicate_indexed_slices(grad, indices)
        return self._resource_apply_sparse(rows, var, indices, **kwargs)

    def _resource_scatter_add(self, x: Any, i: Any, v: Any) -> Any:
        """``x`` after ``v`` was added to its rows ``i``."""
        return scatter_add(x, i, v)

    def _resource_scatter_update(self, x: Any, i: Any, v: Any) -> Any:
        """``x`` after its rows ``i`` became ``v``."""
        return scatter_update(x, i, v)

    def _rows(self, x: Any, indices: Any) -> Any:
        return gather(x, indices)

    def get_config(self) -> dict[str, Any]:
        """The settings, with the learning rate as it is now."""
        config: dict[str, Any] = {"name": self._name} if self._is_named else {}
        for key in ("clipnorm", "clipvalue"):
            if getattr(self, key) is not None:
                config[key] = getattr(self, key)
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The optimizer of a config."""
        return cls(**config)


class _Steps(TrainOptimizer):
    """What `tf.train` does around a rule: replicas, copies of variables, constraints, rows."""

    def __init__(self, owner: Optimizer) -> None:
        super().__init__(True, owner._name)
        self._owner = owner
        self.scope: Any = None
        self._with_state = {
            method: "apply_state" in inspect.signature(getattr(owner, method)).parameters
            for method in ("_resource_apply_dense", "_resource_apply_sparse")
        }

    def slots_named(self, name: str) -> dict[Any, Any]:
        """The slots ``name`` so far, by (graph, name of the variable)."""
        return self._slot_dict(name)

    def _create_slots(self, var_list: list[Any]) -> None:
        self._variables = var_list
        self._owner._create_slots(var_list)

    def _prepare(self) -> None:
        with default_graph().name_scope(self.scope):
            self._state = self._owner._prepare(self._variables)
        self._variables = []  # which nothing is to keep

    def _settings(self) -> Settings | None:
        owner: Any = self._owner
        if not is_own(type(owner)):
            return None
        tensors: dict[str, Any] = {}
        others: list[Any] = []
        value: Any
        for name, value in owner._hyper.items():
            if callable(value) and not _is_node(value):
                if isinstance(value, schedules.LearningRateSchedule):
                    if not is_own(type(value)):
                        return None
                else:
                    value = convert_to_tensor(value())
            if isinstance(value, EagerTensor):
                tensors[name] = value
            else:
                others += (name, value)
        return Settings(owner, tensors, tuple(others))

    def _in_plan(self, copy: Any, tensors: dict[str, Any], variables: list[Any]) -> Any:
        steps = _Steps(copy)
        steps.__dict__.update(vars(self), _owner=copy, _variables=variables)
        vars(copy).update(_steps=steps, _hyper={**copy._hyper, **tensors})
        steps._prepare()
        return steps

    def _given(self, method: str) -> dict[str, Any]:
        return {"apply_state": self._state} if self._with_state[method] else {}

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        return self._owner._resource_apply_dense(grad, var, **self._given("_resource_apply_dense"))

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Any) -> Any:
        return self._owner._resource_apply_sparse_duplicate_indices(
            grad.values, var, grad.indices, **self._given("_resource_apply_sparse")
        )

    def _resource_apply_sparse_duplicate_indices(self, grad: Any, handle: Any, indices: Any) -> Any:
        return self._apply_sparse_duplicate_indices(IndexedSlices(grad, indices), handle)


def _is_node(value: Any) -> bool:
    return isinstance(value, (Tensor, Variable))
