"""Cells: what a recurrent layer does in one step, for `RNN` and for loops of one's own."""

from __future__ import annotations

from typing import Any

from dataflow.graph import nest
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.keras.base_layer import Layer
from dataflow.keras.layers.containers import LayerOfLayers
from dataflow.keras.layers.recurrent_steps import (
    CELLS,
    GRUStep,
    LSTMStep,
    RecurrentWeights,
    SimpleStep,
)
from dataflow.ops import array
from dataflow.ops.bias import bias_add
from dataflow.ops.math import matmul
from dataflow.rnn.base_cell import RNNCell, zeros_of_size
from dataflow.shapes import TensorShape, dimension_value


def zeros_of(cell: Any, inputs: Any, batch_size: int | None, dtype: DTypeLike | None) -> Any:
    """States of 0 in the structure of ``cell.state_size``, or what the cell starts from."""
    if hasattr(cell, "get_initial_state"):
        return cell.get_initial_state(inputs=inputs, batch_size=batch_size, dtype=dtype)
    if inputs is not None:
        batch_size, dtype = array.shape(inputs)[0], inputs.dtype.base_dtype
    if batch_size is None or dtype is None:
        raise ValueError("Both batch_size and dtype are needed where there are no inputs.")
    return zeros_of_size(cell.state_size, batch_size, dtype)


def call_cell(cell: Any, inputs: Any, states: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
    """The output and the flat new states of a Keras cell, or one of `tf.nn.rnn_cell`.

    ``states`` has the structure of ``cell.state_size``. A Keras cell with one state is given a
    list, as its ``call`` expects.
    """
    if not isinstance(cell, RNNCell) and not nest.is_nested(cell.state_size):
        states = [states]
    call = cell if callable(cell) else cell.call
    outputs, new = call(inputs, states, **kwargs)
    return outputs, nest.flatten(new)


class _Cell(RecurrentWeights):
    """A cell of ``units``: ``cell(inputs, states)`` gives (output, new states).

    ``inputs`` [batch, features], states [batch, units] each. ``state_size`` is ``units``, or a
    list where there are several states.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.state_size: Any = self.units
        if self.num_states > 1:
            self.state_size = [self.units] * self.num_states
        self.output_size = self.units
        self._input_noises: list[Any] = []
        self._has_noise = False

    def build(self, input_shape: Any) -> None:
        self._make_weights(dimension_value(TensorShape(input_shape)[-1]))
        self.built = True

    def get_initial_state(
        self, inputs: Any = None, batch_size: int | None = None, dtype: DTypeLike | None = None
    ) -> Any:
        """States of 0: a tensor, or a list where there are several; raises `ValueError`."""
        if inputs is not None:
            batch_size, dtype = array.shape(inputs)[0], inputs.dtype.base_dtype
        if batch_size is None or dtype is None:
            raise ValueError("get_initial_state: give inputs, or batch_size and dtype.")
        states = self.initial_states(batch_size, dtype)
        return states if self.num_states > 1 else states[0]

    def draw_dropout(self, batch: Any, dtype: DTypeLike, training: bool | Tensor) -> None:
        """Draws what is dropped; a sequence drops the same entries at all of its steps."""
        depth = dimension_value(self.kernel.shape[0])
        self._input_noises = self._noises([batch, depth], dtype, self.dropout, training)
        self._recurrent_noises = self._noises(
            [batch, self.units], dtype, self.recurrent_dropout, training
        )
        self._has_noise = True

    def forget_dropout(self) -> None:
        """The next call draws anew."""
        self._input_noises, self._recurrent_noises = [], []
        self._has_noise = False

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        drawn_here = not self._has_noise
        if drawn_here:
            self.draw_dropout(array.shape(inputs)[0], inputs.dtype.base_dtype, training)
        projected = self._product(inputs, self._input_noises, self.kernel, 0, matmul)
        if self.bias is not None:
            projected = bias_add(projected, self._input_bias())
        new = self.step(projected, tuple(states))
        if drawn_here:
            self.forget_dropout()
        return new[0], list(new)


class AbstractRNNCell(Layer):
    """What a cell of one's own is made from: define ``call(inputs, states)``, which returns
    (output, new states), and the properties ``state_size`` and ``output_size``.
    """

    def call(self, inputs: Any, states: Any) -> Any:
        """The output and the new states of one step."""
        raise NotImplementedError("Abstract method: a cell defines call(inputs, states).")

    @property
    def state_size(self) -> Any:
        """The size of each state: an int, or a nesting of them."""
        raise NotImplementedError("Abstract method: a cell says its state_size.")

    @property
    def output_size(self) -> Any:
        """The size of the output; where a cell does not say, that of its first state."""
        return nest.flatten(self.state_size)[0]

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> Any:
        """States of 0 in the structure of ``state_size``."""
        if inputs is not None:
            batch_size, dtype = array.shape(inputs)[0], inputs.dtype.base_dtype
        return zeros_of_size(self.state_size, batch_size, dtype)


class SimpleRNNCell(SimpleStep, _Cell):
    """The step of `SimpleRNN`."""


class LSTMCell(LSTMStep, _Cell):
    """The step of `LSTM`; states are h and c."""


class GRUCell(GRUStep, _Cell):
    """The step of `GRU`."""


CELLS.update(SimpleRNN=SimpleRNNCell, LSTM=LSTMCell, GRU=GRUCell)


class StackedRNNCells(LayerOfLayers):
    """Cells one above the other as one cell: the output of each is the input of the next."""

    def __init__(self, cells: Any, **kwargs: Any) -> None:
        kwargs.pop("reverse_state_order", None)
        self.cells = [made_cell(cell) for cell in cells]
        super().__init__(**kwargs)

    def _inner(self) -> list[Any]:
        return [cell for cell in self.cells if hasattr(cell, "trainable_weights")]

    @property
    def state_size(self) -> Any:
        """A tuple of the sizes of each cell's states."""
        return tuple(cell.state_size for cell in self.cells)

    @property
    def output_size(self) -> Any:
        """The size of the last cell's output."""
        return output_size_of(self.cells[-1])

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> Any:
        """A tuple of the states that each cell starts from."""
        if inputs is not None:
            batch_size, dtype = array.shape(inputs)[0], inputs.dtype.base_dtype
        return tuple(zeros_of(cell, None, batch_size, dtype) for cell in self.cells)

    def build(self, input_shape: Any) -> None:
        constants: list[Any] = []
        if isinstance(input_shape, list):  # the shapes of `RNN`'s constants come after the inputs'
            input_shape, *constants = input_shape
        batch = dimension_value(TensorShape(input_shape)[0])
        for cell in self.cells:
            takes = bool(constants) and takes_argument(cell, "constants")
            build_cell(cell, [input_shape, *constants] if takes else input_shape)
            input_shape = TensorShape([batch]).concatenate(TensorShape(output_size_of(cell)))
        self.built = True

    def call(self, inputs: Any, states: Any, constants: Any = None, training: Any = None) -> Any:
        new = []
        for cell, old in zip(self.cells, states, strict=True):
            given = training_of(cell, training)
            if constants and takes_argument(cell, "constants"):
                given["constants"] = constants
            inputs, flat = call_cell(cell, inputs, old, **given)
            new.append(nest.pack_like(cell.state_size, flat))
        return inputs, tuple(new)


def training_of(cell: Any, training: bool | Tensor) -> dict[str, Any]:
    """The argument ``training`` for cells whose ``call`` takes it."""
    return {"training": training} if takes_argument(cell, "training") else {}


def takes_argument(cell: Any, name: str) -> bool:
    """Whether the ``call`` of a Keras cell has an argument of that name."""
    return hasattr(cell, "_call_arguments") and name in cell._call_arguments()


def build_cell(cell: Any, input_shape: Any) -> None:
    """Makes a cell's variables outside of any loop, under the layer's name alone."""
    if getattr(cell, "built", True) or isinstance(cell, RNNCell):
        return  # cells of tf.nn.rnn_cell make their variables when they are called
    cell.build(input_shape)
    cell.built = True


def output_size_of(cell: Any) -> Any:
    """``output_size``, or the size of the first state where a cell does not say."""
    size = getattr(cell, "output_size", None)
    return nest.flatten(cell.state_size)[0] if size is None else size


def made_cell(cell: Any) -> Any:
    """A cell from its config, a stack from a list; checked.

    Raises `ValueError` for what has no ``call`` or no ``state_size``.
    """
    if isinstance(cell, (list, tuple)):
        return StackedRNNCells(cell)
    if isinstance(cell, dict):
        from dataflow.keras.layers import deserialize

        cell = deserialize(cell)
    if not hasattr(cell, "call") and not isinstance(cell, RNNCell):
        raise ValueError(f"`cell` should have a `call` method. The RNN was passed: {cell!r}")
    if not hasattr(cell, "state_size"):
        raise ValueError(
            "The RNN cell should have an attribute `state_size` (one integer, or a list with one "
            f"integer for each state). The RNN was passed: {cell!r}"
        )
    return cell
