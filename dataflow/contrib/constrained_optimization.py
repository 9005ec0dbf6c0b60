"""``tf.contrib.constrained_optimization``: an objective is minimized while constraints are kept below 0.

An optimizer here plays a game (Cotter, Jiang and Sridharan, "Two-player games for efficient non-convex constrained
optimization", 2019): one player trains the variables on the objective plus weighted constraints, the other one
raises the weights of the constraints that are violated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dataflow.contrib.constrained_candidates import (
    find_best_candidate_distribution as find_best_candidate_distribution,
    find_best_candidate_index as find_best_candidate_index,
)
from dataflow.graph.conversion import convert_to_tensor
from dataflow.namespaces import explain_absent
from dataflow.ops import array, math as maths
from dataflow.ops.conditionals import cond
from dataflow.ops.control_flow import group
from dataflow.ops.fills import fill
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.norms import norm
from dataflow.ops.sources import constant
from dataflow.ops.state import assign, assign_add
from dataflow.ops.tensor_products import tensordot
from dataflow.ops.variables import Variable
from dataflow.ops.while_loop import while_loop

__all__ = [
    "AdditiveExternalRegretOptimizer",
    "AdditiveSwapRegretOptimizer",
    "ConstrainedMinimizationProblem",
    "ConstrainedOptimizer",
    "MultiplicativeSwapRegretOptimizer",
    "find_best_candidate_distribution",
    "find_best_candidate_index",
]

__getattr__ = explain_absent(__name__)


class ConstrainedMinimizationProblem:
    """What is minimized: ``objective``, a scalar, with no element of ``constraints`` above 0. For subclasses."""

    @property
    def objective(self) -> Any:
        """The scalar to minimize."""
        raise NotImplementedError(f"{type(self).__name__} has to define `objective`.")

    @property
    def constraints(self) -> Any:
        """A tensor of known shape; what is above 0 violates a constraint."""
        raise NotImplementedError(f"{type(self).__name__} has to define `constraints`.")

    @property
    def proxy_constraints(self) -> Any:
        """What the variables are trained on where the constraints have no useful gradient; None: the constraints."""
        return None

    @property
    def pre_train_ops(self) -> Any:
        """Operations to run before a step; None for none."""
        return None

    @property
    def num_constraints(self) -> int:
        """How many there are. Raises `ValueError` for shapes that are not known, or differ from the proxies'."""
        shape = self.constraints.shape
        proxies = shape if self.proxy_constraints is None else self.proxy_constraints.shape
        if not (shape.is_fully_defined() and proxies.is_fully_defined()):
            raise ValueError("constraints and proxy_constraints must have fully-known shapes")
        if shape.as_list() != proxies.as_list():
            raise ValueError("constraints and proxy_constraints must have the same shape")
        return math.prod(shape.as_list())


class ConstrainedOptimizer:
    """Minimizes a `ConstrainedMinimizationProblem` by a `tf.train.Optimizer`. For subclasses."""

    def __init__(self, optimizer: Any) -> None:
        self._optimizer = optimizer

    @property
    def optimizer(self) -> Any:
        """What was given."""
        return self._optimizer

    def _minimize_constrained(self, minimization_problem: Any, **how: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has to define `_minimize_constrained`.")

    def minimize_constrained(
        self, minimization_problem: Any, global_step: Any = None, var_list: Any = None, **how: Any
    ) -> Any:
        """A step that keeps the constraints in mind; other arguments as `tf.train.Optimizer.minimize`."""
        return _after(
            minimization_problem.pre_train_ops,
            lambda: self._minimize_constrained(
                minimization_problem, global_step=global_step, var_list=var_list, **how
            ),
        )

    def minimize_unconstrained(
        self, minimization_problem: Any, global_step: Any = None, var_list: Any = None, **how: Any
    ) -> Any:
        """A step on the objective alone."""
        return _after(
            minimization_problem.pre_train_ops,
            lambda: self.optimizer.minimize(
                minimization_problem.objective, global_step=global_step, var_list=var_list, **how
            ),
        )

    def minimize(
        self,
        minimization_problem: Any,
        unconstrained_steps: Any = None,
        global_step: Any = None,
        var_list: Any = None,
        **how: Any,
    ) -> Any:
        """A step: on the objective alone while ``global_step`` is below ``unconstrained_steps``.

        Raises `ValueError` for ``unconstrained_steps`` without a ``global_step``.
        """
        given = {"global_step": global_step, "var_list": var_list, **how}
        if unconstrained_steps is None:
            return self.minimize_constrained(minimization_problem, **given)
        if global_step is None:
            raise ValueError("global_step cannot be None if unconstrained_steps is provided")
        steps = convert_to_tensor(unconstrained_steps)
        return cond(
            maths.cast(global_step, steps.dtype) < steps,
            lambda: self.minimize_unconstrained(minimization_problem, **given),
            lambda: self.minimize_constrained(minimization_problem, **given),
        )


def _after(operations: Any, step: Callable[[], Any]) -> Any:
    if not operations:
        return step()
    with control_dependencies(operations):
        return step()


class _Game(ConstrainedOptimizer):
    """An optimizer with a state, the other player's, that a second optimizer may train."""

    _state_name = ""

    def __init__(self, optimizer: Any, constraint_optimizer: Any = None) -> None:
        super().__init__(optimizer)
        self._constraint_optimizer = constraint_optimizer

    @property
    def constraint_optimizer(self) -> Any:
        """What was given; None: ``optimizer`` trains both players."""
        return self._constraint_optimizer

    def _initial_state(self, num_constraints: int) -> Any:
        raise NotImplementedError

    def _loss_and_gradient(self, state: Any, objective: Any, limits: Any, proxies: Any) -> Any:
        """The first player's loss, and the gradient by which the second one's state rises."""
        raise NotImplementedError

    def _projected(self, state: Any) -> Any:
        """The state that is allowed and nearest to ``state``."""
        raise NotImplementedError

    def _minimize_constrained(
        self,
        minimization_problem: Any,
        global_step: Any = None,
        name: str | None = None,
        **how: Any,
    ) -> Any:
        objective, limits = minimization_problem.objective, minimization_problem.constraints
        proxies = minimization_problem.proxy_constraints
        proxies = limits if proxies is None else proxies
        if len({t.dtype.base_dtype for t in (objective, limits, proxies)}) > 1:
            raise ValueError(
                "objective, constraints and proxy_constraints must have the same dtype"
            )
        number = minimization_problem.num_constraints
        limits, proxies = array.reshape(limits, [number]), array.reshape(proxies, [number])
        state = Variable(
            lambda: self._initial_state(number), trainable=False, name=self._state_name
        )
        loss, gradient = self._loss_and_gradient(state, objective, limits, proxies)
        pairs, own = self.optimizer.compute_gradients(loss, **how), [(-gradient, state)]
        if self.constraint_optimizer is None:
            updates = [self.optimizer.apply_gradients([*pairs, *own], name="update")]
        else:
            with control_dependencies([g for g, _ in [*pairs, *own] if g is not None]):
                updates = [
                    self.optimizer.apply_gradients(pairs, name="update"),
                    self.constraint_optimizer.apply_gradients(own, name="optimizer_state_update"),
                ]
        with control_dependencies(updates):
            if global_step is None:
                return assign(state, self._projected(state), name=name)
            done = assign(state, self._projected(state), name="project")
            counted = assign_add(global_step, 1, name="global_step_increment")
            return group(done, counted, name=name)


class AdditiveExternalRegretOptimizer(_Game):
    """The second player moves Lagrange multipliers, 0 or more, along the constraints.

    Their sum is at most ``maximum_multiplier_radius``, where one is given (0: none); `ValueError` below 0.
    """

    _state_name = "external_regret_optimizer_state"

    def __init__(
        self,
        optimizer: Any,
        constraint_optimizer: Any = None,
        maximum_multiplier_radius: float | None = None,
    ) -> None:
        super().__init__(optimizer, constraint_optimizer)
        if maximum_multiplier_radius and maximum_multiplier_radius < 0.0:
            raise ValueError("maximum_multiplier_radius must be strictly positive")
        self._radius = maximum_multiplier_radius

    def _initial_state(self, num_constraints: int) -> Any:
        return array.zeros([num_constraints])

    def _loss_and_gradient(self, state: Any, objective: Any, limits: Any, proxies: Any) -> Any:
        weighted = tensordot(maths.cast(state, proxies.dtype), proxies, 1)
        return objective + weighted, maths.cast(limits, state.dtype.base_dtype)

    def _projected(self, state: Any) -> Any:
        if not self._radius:
            return maths.maximum(state, 0.0)
        return _on_simplex(convert_to_tensor(state), self._radius, at_most=True)


class _SwapRegret(_Game):
    """The second player's state is a matrix whose columns are probabilities; its fixed point weighs the constraints."""

    _state_name = "swap_regret_optimizer_state"

    def _stochastic_matrix(self, state: Any) -> Any:
        raise NotImplementedError

    def _loss_and_gradient(self, state: Any, objective: Any, limits: Any, proxies: Any) -> Any:
        weights = _fixed_point(self._stochastic_matrix(state))
        together = array.concat([array.expand_dims(objective, 0), proxies], 0)
        gains = array.concat([array.zeros([1], limits.dtype), limits], 0)
        loss = tensordot(maths.cast(weights, together.dtype), together, 1)
        return loss, maths.cast(gains, weights.dtype)[:, None] * weights[None, :]


class AdditiveSwapRegretOptimizer(_SwapRegret):
    """The second player moves its matrix along the gains and back to the nearest stochastic one."""

    def _initial_state(self, num_constraints: int) -> Any:
        size = num_constraints + 1
        return array.concat([array.ones([1, size]), array.zeros([size - 1, size])], 0)

    def _stochastic_matrix(self, state: Any) -> Any:
        return convert_to_tensor(state)

    def _projected(self, state: Any) -> Any:
        return _on_simplex(convert_to_tensor(state), 1.0)


class MultiplicativeSwapRegretOptimizer(_SwapRegret):
    """The second player moves the logarithms of its matrix, whose elements have a lower bound.

    The bound is ``minimum_multiplier_radius`` over the number of constraints plus 1; at first all constraints
    together weigh ``initial_multiplier_radius``. Raises `ValueError` unless 0 < minimum < 1 and minimum <= initial.
    """

    def __init__(
        self,
        optimizer: Any,
        constraint_optimizer: Any = None,
        minimum_multiplier_radius: float = 1e-3,
        initial_multiplier_radius: float | None = None,
    ) -> None:
        super().__init__(optimizer, constraint_optimizer)
        if not 0.0 < minimum_multiplier_radius < 1.0:
            raise ValueError("minimum_multiplier_radius must be in the range (0,1)")
        if initial_multiplier_radius is None:
            initial_multiplier_radius = minimum_multiplier_radius
        elif initial_multiplier_radius < minimum_multiplier_radius:
            raise ValueError(
                "initial_multiplier_radius must be in the range [minimum_multiplier_radius,1]"
            )
        self._least, self._first = minimum_multiplier_radius, initial_multiplier_radius

    def _initial_state(self, num_constraints: int) -> Any:
        size = num_constraints + 1
        first = math.log(1.0 - self._first * (size - 1) / size)
        others = fill([size - 1, size], constant(math.log(self._first / size)))
        return array.concat([fill([1, size], constant(first)), others], 0)

    def _stochastic_matrix(self, state: Any) -> Any:
        return maths.exp(state)

    def _projected(self, state: Any) -> Any:
        logs = state - maths.reduce_max(state, axis=0, keepdims=True)
        logs -= maths.log(maths.reduce_sum(maths.exp(logs), axis=0, keepdims=True))
        return maths.maximum(logs, math.log(self._least / state.shape.as_list()[0]))


def _on_simplex(values: Any, total: float, at_most: bool = False) -> Any:
    """The nearest values of 0 or more that add up to ``total`` along the first axis, or to no more of it.

    Raises `ValueError` for integers, and for a shape that is not known.
    """
    if not values.dtype.is_floating:
        raise ValueError("multipliers must have a floating-point dtype")
    if not values.shape.is_fully_defined():
        raise ValueError("multipliers must have fully-known shape")

    def step(i: Any, now: Any, positive: Any, _: Any) -> list[Any]:
        missing = total - maths.reduce_sum(now, axis=0, keepdims=True)
        if at_most:
            missing = maths.minimum(missing, 0.0)
        count = maths.reduce_sum(positive, axis=0, keepdims=True)
        now = now + missing / maths.maximum(count, 1.0) * positive
        left = maths.cast(now > 0.0, now.dtype)
        return [i + 1, now * left, left, positive]

    def goes_on(i: Any, _: Any, positive: Any, before: Any) -> Any:
        changed = maths.reduce_any(maths.not_equal(positive, before))
        return maths.logical_and(i < values.shape.as_list()[0], changed)

    all_of_them = array.ones_like(values)
    start = step(constant(0), values, all_of_them, all_of_them)
    return while_loop(goes_on, step, start, name="euclidean_projection")[1]


def _fixed_point(matrix: Any) -> Any:
    """The probabilities that a matrix with stochastic columns leaves as they are, by the power method."""

    def step(i: Any, vector: Any, _: Any) -> list[Any]:
        moved = maths.matmul(matrix, vector[:, None])[:, 0]
        return [i + 1, moved / norm(moved), vector]

    def goes_on(i: Any, vector: Any, before: Any) -> Any:
        return maths.logical_and(i < 100, norm(vector - before) > 1e-6)

    first = array.ones_like(matrix[:, 0])
    first /= norm(first)
    start = step(constant(0), first, first)
    vector = maths.abs_(while_loop(goes_on, step, start, name="power_method")[1])
    return vector / maths.reduce_sum(vector)
