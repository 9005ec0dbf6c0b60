"""`MovingAverageOptimizer`: an optimizer that keeps the averages of what it trains."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataflow.graph.default_stacks import default_graph
from dataflow.ops.control_flow import group
from dataflow.ops.variable_lists import global_variables
from dataflow.train.moving_averages import ExponentialMovingAverage
from dataflow.train.optimizer import Optimizer
from dataflow.train.saver import Saver


class MovingAverageOptimizer(Optimizer):
    """``opt``, and after its step `ExponentialMovingAverage` of the variables.

    `swapping_saver` writes the averages under the variables' names, so that evaluation reads them.
    """

    def __init__(
        self,
        opt: Any,
        average_decay: float = 0.9999,
        num_updates: Any = None,
        sequential_update: bool = True,
    ) -> None:
        super().__init__(False, "MovingAverageOptimizer")
        self._optimizer = opt
        self._ema = ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._averaged: list[Any] = []
        self._sequential_update = sequential_update

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """The gradients of the optimizer inside."""
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """The step of the optimizer inside, and then the averages'."""
        pairs = list(grads_and_vars)
        train = self._optimizer.apply_gradients(pairs, global_step=global_step, name=name)
        self._averaged = [v for g, v in pairs if g is not None]
        before = [train] if self._sequential_update else []
        with default_graph().control_dependencies(before):
            averages = self._ema.apply(self._averaged)
        return group(train, averages, name="train_with_avg")

    def swapping_saver(
        self, var_list: Iterable[Any] | None = None, name: str = "swapping_saver", **kwargs: Any
    ) -> Saver:
        """A `Saver` that exchanges each variable with its average, as it saves and restores.

        Raises `RuntimeError` before `apply_gradients` made the averages.
        """
        if not self._averaged:
            raise RuntimeError(
                "Must call apply_gradients or minimize before creating the swapping_saver"
            )
        chosen = global_variables() if var_list is None else var_list
        named = chosen if isinstance(chosen, dict) else {v.op.name: v for v in chosen}
        averages = {v.op.name: self._ema.average(v) for v in self._averaged}
        of_average = {
            a.op.name: v for v in self._averaged if (a := averages[v.op.name]) is not None
        }
        swapped = {}
        for key, variable in named.items():
            other = averages.get(variable.op.name, of_average.get(variable.op.name))
            swapped[key] = variable if other is None else other
        return Saver(swapped, name=name, **kwargs)
