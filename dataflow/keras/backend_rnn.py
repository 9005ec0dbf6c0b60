"""`tf.keras.backend.rnn`: a function that is applied step by step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.ops import array, math
from dataflow.ops.tensor_array import TensorArray
from dataflow.ops.while_loop import while_loop


def rnn(
    step_function: Callable[..., Any],
    inputs: Any,
    initial_states: Any,
    go_backwards: bool = False,
    mask: Any = None,
    constants: Any = None,
    unroll: bool = False,
    input_length: Any = None,
    time_major: bool = False,
    zero_output_for_mask: bool = False,
) -> tuple[Tensor, Tensor, list[Any]]:
    """``(last output, outputs, new states)`` of a function that is applied step by step.

    ``step_function(input [batch, ...], states) -> (output, new states)``; ``states`` ends with the
    ``constants``. ``inputs`` and ``outputs``: [batch, time, ...], with ``time_major`` [time, batch, ...].
    Where ``mask`` [batch, time] is False the states stay, and the output is the one before (zeros with
    ``zero_output_for_mask``). ``unroll`` makes a copy of the step for each input instead of a loop; the
    number of steps must then be known, else `ValueError`. ``input_length`` is not needed and not used.
    """

    inputs = convert_to_tensor(inputs)
    if not time_major:
        inputs = _turned(inputs)
    if mask is not None:
        mask = math.cast(convert_to_tensor(mask), "bool")
        if not time_major:
            mask = _turned(mask)
    count = array.shape(inputs)[0]
    steps = _Steps(
        step_function,
        inputs,
        mask,
        count,
        list(constants or []),
        go_backwards,
        zero_output_for_mask,
    )
    states = [convert_to_tensor(s) for s in initial_states]
    last, every, states = steps.unrolled(states) if unroll else steps.looped(states)
    return last, every if time_major else _turned(every), states


def _turned(t: Any) -> Any:
    """Swaps the axes of batch and time."""
    return array.transpose(t, [1, 0, *range(2, t.shape.ndims)])


@dataclass
class _Steps:
    """The steps of `rnn`: ``inputs`` and ``mask`` begin with the axis of time."""

    function: Callable[..., Any]
    inputs: Any
    mask: Any
    #: How many there are, as a tensor.
    count: Any
    constants: list[Any]
    go_backwards: bool
    zero_output_for_mask: bool

    def advance(self, at: Any, states: list[Any], last: Any) -> tuple[Any, list[Any]]:
        """Output and states of the step at a time, with ``last`` for the output before."""
        # The mask is read first, as the graph's names have it.
        valid = None if self.mask is None else self.mask[at]
        output, new = self.function(self.inputs[at], [*states, *self.constants])
        if valid is None:
            return output, list(new)

        def chosen(here: Any, before: Any) -> Any:
            flags = array.reshape(valid, array.stack([-1, *[1] * (here.shape.ndims - 1)]))
            flags = math.logical_and(flags, array.ones_like(here, "bool"))
            return array.where(flags, here, before)

        if last is None or self.zero_output_for_mask:
            last = array.zeros_like(output)
        kept = [chosen(n, s) for n, s in zip(new, states, strict=True)]
        return chosen(output, last), kept

    def unrolled(self, states: list[Any]) -> tuple[Any, Any, list[Any]]:
        """Last output, all outputs and states; a part of the graph for each step."""
        steps = self.inputs.shape.as_list()[0]
        if steps is None:
            raise ValueError("rnn: unroll=True needs a known number of steps.")
        outputs: list[Any] = []
        for i in reversed(range(steps)) if self.go_backwards else range(steps):
            output, states = self.advance(i, states, outputs[-1] if outputs else None)
            outputs.append(output)
        return outputs[-1], array.stack(outputs), states

    def looped(self, states: list[Any]) -> tuple[Any, Any, list[Any]]:
        """Last output, all outputs and states, of a loop."""
        steps = self.inputs.shape.as_list()[0]
        first = self.count - 1 if self.go_backwards else 0
        # One step outside of the loop tells the shape of an output.
        sample, _ = self.function(array.zeros_like(self.inputs[0]), [*states, *self.constants])
        results = TensorArray(sample.dtype.base_dtype, size=self.count, element_shape=sample.shape)

        def body(i: Any, results: Any, last: Any, *states: Any) -> Any:
            at = first - i if self.go_backwards else i
            output, new = self.advance(at, list(states), last)
            output.set_shape(sample.shape)
            for n, s in zip(new, states, strict=True):
                n.set_shape(s.shape)
            return (i + 1, results.write(i, output), output, *new)

        start = array.zeros_like(sample)
        _, results, last, *states = while_loop(
            lambda i, *_: i < self.count, body, (0, results, start, *states)
        )
        every = results.stack()
        every.set_shape([steps, *sample.shape.as_list()])
        return last, every, states
