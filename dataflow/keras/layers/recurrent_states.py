"""States of recurrent layers that last from batch to batch (``stateful=True``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.graph import nest
from dataflow.graph.default_stacks import default_graph
from dataflow.keras import backend as K
from dataflow.keras.base_layer import Layer
from dataflow.keras.call_nodes import tag_of
from dataflow.ops.math import cast
from dataflow.ops.state import assign


def as_booleans(mask: Any) -> Any:
    """A mask as recurrent layers take it: one of numbers holds where they are not 0. None without one."""
    return (
        mask if mask is None or mask.dtype.base_dtype is dtypes.bool_ else cast(mask, dtypes.bool_)
    )


def are_aside(inputs: Any, states: Sequence[Any]) -> bool:
    """Whether no layer made ``states``, although one made ``inputs``.

    A model then takes them as arguments of the call, not as inputs: no layer leads to them.
    """
    if not states or tag_of(inputs, "history") is None:
        return False
    flat = nest.flatten(states)
    if not K.is_in_call(inputs.graph):
        from dataflow.keras.op_layers import complete_history

        complete_history(flat)
    return all(tag_of(state, "history") is None for state in flat)


class LastingStates(Layer):
    """A layer that may go on with the states with which the batch before ended."""

    num_states: int

    def __init__(self, *args: Any, stateful: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.stateful = stateful
        self._kept_states: list[Any] = []
        self._state_updates: list[Any] = []

    @property
    def states(self) -> list[Any]:
        """The variables with the states; None for each state of a layer that keeps none."""
        return list(self._kept_states) or [None] * self.num_states

    @states.setter
    def states(self, states: Any) -> None:
        self._kept_states = [state for state in states if state is not None]

    def _make_states(self, batch_size: int | None, shapes: list[list[Any]]) -> None:
        """Variables of the given shapes, which are those of one example."""
        if not self.stateful:
            return
        if batch_size is None or any(None in shape for shape in shapes):
            raise ValueError(
                f"Layer {self.name}: a stateful layer needs to know its batch size, as example i "
                "of a batch goes on where example i of the batch before stopped. Give the first "
                "layer batch_input_shape=(batch, steps, features), or Input(batch_shape=...)."
            )
        self._kept_states = [
            K.variable(np.zeros([batch_size, *shape]), name=f"state_{i}")
            for i, shape in enumerate(shapes)
        ]

    def reset_states(self, states: Any = None) -> None:
        """Sets the states of a stateful layer to 0, or to arrays.

        Raises `AttributeError` for a layer that is not stateful, `ValueError` for other shapes.
        """
        if not self.stateful:
            raise AttributeError("Layer must be stateful.")
        if not self._kept_states:
            raise ValueError(f"Layer {self.name} has no states before it is called.")
        if states is None:
            values = [np.zeros(state.shape.as_list()) for state in self.states]
        else:
            values = list(states) if isinstance(states, (list, tuple)) else [states]
        if len(values) != len(self.states):
            raise ValueError(
                f"Layer {self.name} expects {len(self.states)} states, but it received "
                f"{len(values)} state values."
            )
        K.batch_set_value(list(zip(self.states, values, strict=True)))

    @property
    def state_updates(self) -> list[Any]:
        """Ops that keep the states; they run with training, evaluation and prediction."""
        return list(self._state_updates)

    def _keep(self, last: Any) -> None:
        """Keeps the last states, where the layer is stateful; in a graph, notes the ops that do."""
        pairs = zip(self._kept_states, last, strict=True) if self._kept_states else []
        kept = [assign(state, value) for state, value in pairs]
        if not default_graph().is_of_calls:  # there it is done
            self._state_updates += [made.op for made in kept]
