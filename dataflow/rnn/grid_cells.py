"""Cells of `tf.contrib.rnn` that also run along the frequencies of a spectrum: time-frequency and grid LSTMs.

Inputs [batch, size] are cut into windows of ``feature_size`` elements, ``frequency_skip`` apart. A step
reads them one after the other: each sees the state of its own window one step before, and that of the
window below.
"""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any

from dataflow.graph.type_aliases import InitializerLike, TensorLike
from dataflow.ops import array
from dataflow.ops.bias import bias_add
from dataflow.ops.clip import clip_by_value
from dataflow.ops.initializers import zeros_initializer
from dataflow.ops.math import matmul, sigmoid, tanh
from dataflow.rnn.base_cell import RNNCell, depth_of
from dataflow.rnn.linear import sharded_kernel
from dataflow.shapes import dimension_value


def _clipped(c: Any, limit: float | None) -> Any:
    return c if limit is None else clip_by_value(c, -limit, limit)


def _batch_size(inputs: Any) -> Any:
    static = dimension_value(inputs.shape[0])
    return array.shape(inputs)[0] if static is None else static


class TimeFreqLSTMCell(RNNCell):
    """LSTM whose weights are shared by all windows of the input (Sainath and Li 2016).

    With n windows, outputs are [batch, n * num_units] and states [batch, 2 * n * num_units]: of each window
    the memory, then the output. `state_size` and `output_size` say those of one window, as TensorFlow's.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: InitializerLike | None = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int = 1,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        if feature_size is None:
            raise ValueError("TimeFreqLSTMCell needs feature_size, the width of a window.")
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._num_unit_shards = num_unit_shards
        self._forget_bias = forget_bias
        self._feature_size, self._frequency_skip = feature_size, frequency_skip

    @property
    def state_size(self) -> Any:
        return 2 * self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units

    def build(self, input_shape: Any) -> None:
        units = self._num_units
        self._num_windows = (depth_of(input_shape) - self._feature_size) // self._frequency_skip + 1
        self._kernel = sharded_kernel(
            self.add_variable,
            "W",
            [self._feature_size + 2 * units, 4 * units],
            self._num_unit_shards,
            self._initializer,
        )
        self._bias = self.add_variable("B", [4 * units], initializer=zeros_initializer())
        if self._use_peepholes:
            self._w_f, self._w_i, self._w_o = (
                self.add_variable(f"W_{gate}_diag", [units], initializer=self._initializer)
                for gate in "FIO"
            )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        units, width = self._num_units, self._feature_size
        below = array.zeros([_batch_size(inputs), units], inputs.dtype)
        outputs, states = [], []
        for window in range(self._num_windows):
            start = window * self._frequency_skip
            c, m = (
                state[:, part * units : (part + 1) * units] for part in (2 * window, 2 * window + 1)
            )
            seen = array.concat([inputs[:, start : start + width], m, below], 1)
            i, j, f, o = array.split(bias_add(matmul(seen, self._kernel), self._bias), 4, 1)
            f = f + self._forget_bias
            if self._use_peepholes:
                f, i = f + self._w_f * c, i + self._w_i * c
            c = _clipped(sigmoid(f) * c + sigmoid(i) * tanh(j), self._cell_clip)
            if self._use_peepholes:
                o = o + self._w_o * c
            below = sigmoid(o) * tanh(c)
            outputs.append(below)
            states += [c, below]
        return array.concat(outputs, 1), array.concat(states, 1)


class GridLSTMCell(RNNCell):
    """Two LSTMs, one along the steps and one along the windows, that read each other's state.

    ``num_frequency_blocks``: how many windows each block has; a block has weights of its own. Several blocks
    lie at ``start_freqindex_list`` to ``end_freqindex_list``. ``share_time_frequency_weights``: both LSTMs
    have the same weights. ``couple_input_forget_gates``: forget gates are one less the input gates.
    Outputs [batch, 2 * windows * num_units]: of each window the time LSTM's, then the frequency LSTM's. States
    are a named tuple, ``state_f00_b00_c`` and ``state_f00_b00_m`` of window 0 of block 0, or without
    ``state_is_tuple`` joined. Sources: Kalchbrenner, Danihelka and Graves, "Grid long short-term memory",
    2016; peepholes as in Sainath and Li, 2016. Raises `ValueError` where the numbers of windows do not fit.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        share_time_frequency_weights: bool = False,
        cell_clip: float | None = None,
        initializer: InitializerLike | None = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int | None = None,
        num_frequency_blocks: Sequence[int] | None = None,
        start_freqindex_list: Sequence[int] | None = None,
        end_freqindex_list: Sequence[int] | None = None,
        couple_input_forget_gates: bool = False,
        state_is_tuple: bool = True,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        if num_frequency_blocks is None:
            raise ValueError("Must specify num_frequency_blocks")
        if feature_size is None or frequency_skip is None:
            raise ValueError(
                f"{type(self).__name__} needs feature_size, the width of a window, and frequency_skip."
            )
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._shared = share_time_frequency_weights
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._num_unit_shards = num_unit_shards
        self._forget_bias = forget_bias
        self._feature_size, self._frequency_skip = feature_size, frequency_skip
        self._num_windows = [int(n) for n in num_frequency_blocks]
        self._starts, self._ends = start_freqindex_list, end_freqindex_list
        self._coupled = couple_input_forget_gates
        self._state_is_tuple = state_is_tuple
        self._state_tuple_type = self._tuple_type("GridLSTMStateTuple", ["state"])

    def _tuple_type(self, name: str, prefixes: list[str]) -> Any:
        names = [
            f"{prefix}_f{window:02d}_b{block:02d}_{part}"
            for prefix in prefixes
            for block, num_windows in enumerate(self._num_windows)
            for window in range(num_windows)
            for part in "cm"
        ]
        return collections.namedtuple(name, names)

    @property
    def state_tuple_type(self) -> Any:
        """The class of states; None where they are joined."""
        return self._state_tuple_type if self._state_is_tuple else None

    @property
    def state_size(self) -> Any:
        num_parts = len(self._state_tuple_type._fields)
        if self._state_is_tuple:
            return self._state_tuple_type(*[self._num_units] * num_parts)
        return self._num_units * num_parts

    @property
    def output_size(self) -> Any:
        return self._num_units * len(self._state_tuple_type._fields)

    def _windows(self, inputs: Any, offset: int = 0) -> list[list[Any]]:
        """The windows of each block, ``offset`` elements further on; past the ends are zeros."""
        depth, width, skip = depth_of(inputs.shape), self._feature_size, self._frequency_skip
        starts, ends = self._starts or [0], self._ends or [depth]
        if not len(starts) == len(ends) == len(self._num_windows):
            raise ValueError(
                f"{type(self).__name__}: num_frequency_blocks has {len(self._num_windows)} blocks, "
                f"start_freqindex_list {len(starts)} and end_freqindex_list {len(ends)}; they must be as "
                "many (one block where no lists are given)."
            )
        if offset:
            inputs = array.pad(inputs, [[0, 0], [max(-offset, 0), max(offset, 0)]])
        blocks = []
        for start, end, wanted in zip(starts, ends, self._num_windows, strict=True):
            found = (end - start - width) // skip + 1
            if found != wanted:
                raise ValueError(
                    f"Invalid num_frequency_blocks, requires {wanted} but gets {found}: elements {start} to "
                    f"{end} of the inputs, in windows of {width} that lie {skip} apart."
                )
            first = start + max(offset, 0)
            blocks.append(
                [inputs[:, first + n * skip : first + n * skip + width] for n in range(found)]
            )
        return blocks

    def _weights(self, block: int, scope: str = "") -> dict[str, dict[str, Any]]:
        """Kernel, bias and peepholes of both LSTMs of a block, in a scope such as ``fwd/``."""
        units, gates = self._num_units, "IO" if self._coupled else "FIO"
        columns = (len(gates) + 1) * units

        def one(letter: str, name: str) -> dict[str, Any]:
            found = {
                "kernel": sharded_kernel(
                    self.add_variable,
                    f"{scope}W_{letter}_{block}",
                    [self._feature_size + 2 * units, columns],
                    self._num_unit_shards,
                    self._initializer,
                ),
                "bias": self.add_variable(
                    f"{scope}B_{letter}_{block}", [columns], initializer=zeros_initializer()
                ),
            }
            for gate in gates if self._use_peepholes else "":
                found[gate] = [
                    self.add_variable(
                        f"{scope}W_{gate}_diag_{name}{seen}_{block}",
                        [units],
                        initializer=self._initializer,
                    )
                    for seen in "ft"
                ]
            return found

        along_frequency = one("f", "freq")
        return {
            "frequency": along_frequency,
            "time": along_frequency if self._shared else one("t", "time"),
        }

    def build(self, input_shape: Any) -> None:
        self._blocks = [self._weights(b) for b in range(len(self._num_windows))]
        self.built = True

    def _memory(self, weights: dict[str, Any], seen: Any, before: Any, both: Any) -> Any:
        """(new memory, what the output gate has of the inputs) of one of the LSTMs."""
        product = bias_add(matmul(seen, weights["kernel"]), weights["bias"])
        if self._coupled:
            i, j, o = array.split(product, 3, 1)
        else:
            i, j, f, o = array.split(product, 4, 1)
            f = sigmoid(self._with_peepholes(weights, "F", f + self._forget_bias, both))
        i = sigmoid(self._with_peepholes(weights, "I", i, both))
        if self._coupled:
            f = 1.0 - i
        return _clipped(f * before + i * tanh(j), self._cell_clip), o

    def _with_peepholes(self, weights: dict[str, Any], gate: str, x: TensorLike, both: Any) -> Any:
        if not self._use_peepholes:
            return x
        by_frequency, by_time = weights[gate]
        return x + by_frequency * both[0] + by_time * both[1]

    def _block(self, block: dict[str, Any], windows: Any, states: Any) -> tuple[Any, Any]:
        """Outputs and new states of the windows of one block, whose (c, m) are given."""
        zeros = array.zeros([_batch_size(windows[0]), self._num_units], windows[0].dtype)
        c_below, m_below = zeros, zeros
        outputs, new_states = [], []
        for window, (c, m) in zip(windows, states, strict=True):
            seen = array.concat([window, m, m_below], 1)
            before = c_below, c
            c_frequency, o_frequency = self._memory(block["frequency"], seen, c_below, before)
            c_time, o_time = self._memory(block["time"], seen, c, before)
            after = c_frequency, c_time
            o_frequency = self._with_peepholes(block["frequency"], "O", o_frequency, after)
            o_time = self._with_peepholes(block["time"], "O", o_time, after)
            c_below, m_below = c_frequency, sigmoid(o_frequency) * tanh(c_frequency)
            m_time = sigmoid(o_time) * tanh(c_time)
            outputs += [m_time, m_below]
            new_states += [c_time, m_time]
        return outputs, new_states

    def _states_of(self, state: Any, block: int, prefix: str) -> list[tuple[Any, Any]]:
        units = self._num_units
        if self._state_is_tuple:
            return [
                tuple(getattr(state, f"{prefix}_f{window:02d}_b{block:02d}_{p}") for p in "cm")
                for window in range(self._num_windows[block])
            ]
        # As TensorFlow's: every block reads the states of the first.
        return [
            (state[:, n * units : (n + 1) * units], state[:, (n + 1) * units : (n + 2) * units])
            for n in range(0, 2 * self._num_windows[block], 2)
        ]

    def call(self, inputs: Any, state: Any) -> Any:
        outputs, states = [], []
        for number, windows in enumerate(self._windows(inputs)):
            own = self._states_of(state, number, "state")
            block_outputs, block_states = self._block(self._blocks[number], windows, own)
            outputs += block_outputs
            states += block_states
        new_state = (
            self._state_tuple_type(*states) if self._state_is_tuple else array.concat(states, 1)
        )
        return array.concat(outputs, 1), new_state


class BidirectionalGridLSTMCell(GridLSTMCell):
    """`GridLSTMCell` that reads the windows of each step from both ends, with weights for each.

    States are ``fwd_state_f00_b00_c`` and so on, then ``bwd_state_f00_b00_c`` in the order in which windows
    are read from the end. ``backward_slice_offset``: how much further on those lie. Outputs are
    [batch, 4 * windows * num_units], the forward ones first.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        share_time_frequency_weights: bool = False,
        cell_clip: float | None = None,
        initializer: InitializerLike | None = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int | None = None,
        num_frequency_blocks: Sequence[int] | None = None,
        start_freqindex_list: Sequence[int] | None = None,
        end_freqindex_list: Sequence[int] | None = None,
        couple_input_forget_gates: bool = False,
        backward_slice_offset: int = 0,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(
            num_units,
            use_peepholes,
            share_time_frequency_weights,
            cell_clip,
            initializer,
            num_unit_shards,
            forget_bias,
            feature_size,
            frequency_skip,
            num_frequency_blocks,
            start_freqindex_list,
            end_freqindex_list,
            couple_input_forget_gates,
            True,
            reuse,
        )
        self._offset = int(backward_slice_offset)
        self._state_tuple_type = self._tuple_type(
            "BidirectionalGridLSTMStateTuple", ["fwd_state", "bwd_state"]
        )

    def build(self, input_shape: Any) -> None:
        blocks = range(len(self._num_windows))
        self._directions = {
            direction: [self._weights(block, f"{direction}/") for block in blocks]
            for direction in ("fwd", "bwd")
        }
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        outputs, states = [], []
        for direction, blocks in self._directions.items():
            backward = direction == "bwd"
            found = self._windows(inputs, self._offset if backward else 0)
            for number, windows in enumerate(found):
                own = self._states_of(state, number, f"{direction}_state")
                ordered = windows[::-1] if backward else windows
                block_outputs, block_states = self._block(blocks[number], ordered, own)
                outputs += block_outputs
                states += block_states
        return array.concat(outputs, 1), self._state_tuple_type(*states)
