"""`Generator`: random numbers whose state is a variable, and which place of a stream each call draws from."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.dtypes import as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops.array import concat, reshape, stack, unstack, zeros_like
from dataflow.ops.casts import cast
from dataflow.ops.comparison import less
from dataflow.ops.control_flow import with_dependencies
from dataflow.ops.counter_random import (
    counter_full_int_op,
    counter_normal_op,
    counter_truncated_op,
    counter_uniform_int_op,
    counter_uniform_op,
)
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.math import reduce_prod
from dataflow.ops.random import shape_tensor
from dataflow.ops.trackable import AutoTrackable
from dataflow.ops.variables import Variable

RNG_ALG_PHILOX, RNG_ALG_THREEFRY = 1, 2
DEFAULT_ALGORITHM = RNG_ALG_PHILOX
#: How many integers a state is: the counter, and a key behind it.
_SIZES = {RNG_ALG_PHILOX: 3, RNG_ALG_THREEFRY: 2}
#: Blocks of the stream that a number takes.
_BLOCKS_PER_NUMBER = 256
_WORD = 1 << 64


def _size_of(alg: int) -> int:
    if alg not in _SIZES:
        raise ValueError(f"Unsupported algorithm id: {alg}")
    return _SIZES[alg]


def _signed(number: int) -> int:
    return number - _WORD if number >= _WORD // 2 else number


def create_rng_state(seed: Any, algorithm: int) -> Any:
    """A state (int64) of a seed: an integer, or a vector of them. ``algorithm``: 1, Philox, or 2, ThreeFry."""
    size = _size_of(algorithm)
    if isinstance(seed, int):
        seed = [(seed >> (64 * i)) & (_WORD - 1) for i in range(size)]
    state = np.asarray([_signed(int(number)) for number in seed], np.int64)[:size]
    return np.pad(state, [(size - len(state), 0)])


def _state_tensor(value: Any) -> Tensor:
    if isinstance(value, list):
        value = [_signed(v) if isinstance(v, int) else v for v in value]
    return convert_to_tensor(value, dtypes.int64)


class Generator(AutoTrackable):
    """Random numbers by a state that is a variable: each call draws where the last one ended.

    ``state`` (int64) has the counter and the key of the stream, and ``alg`` says which it is: 1, Philox, TensorFlow's
    own, whose numbers these are; 2, ThreeFry, which draws nothing on a host. ``copy_from``: another generator.
    """

    def __init__(self, copy_from: Any = None, state: Any = None, alg: int | None = None) -> None:
        if copy_from is not None:
            if alg is not None or state is not None:
                raise ValueError("Generator: give copy_from, or state and alg, not both.")
            state, alg = copy_from.state.read_value(), copy_from.algorithm
        if state is None or alg is None:
            raise ValueError("Generator: needed are state and alg, or copy_from.")
        first = _state_tensor(state)
        first.shape.assert_is_compatible_with([_size_of(alg)])
        self._state_var = Variable(first, dtype=dtypes.int64, trainable=False, use_resource=True)
        self._alg = alg

    @classmethod
    def from_state(cls, state: Any, alg: int) -> Generator:
        """A generator that begins at ``state``."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_seed(cls, seed: Any, alg: int | None = None) -> Generator:
        """A generator of a seed: an integer of any size, or a vector of integers."""
        alg = DEFAULT_ALGORITHM if alg is None else alg
        return cls(state=create_rng_state(seed, alg), alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: int | None = None) -> Generator:
        """A generator whose numbers are others each time."""
        alg = DEFAULT_ALGORITHM if alg is None else alg
        drawn = np.random.default_rng().integers(-(_WORD // 2), _WORD // 2 - 1, _size_of(alg))
        return cls(state=drawn.astype(np.int64), alg=alg)

    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: int) -> Generator:
        """A generator of a key, a number, and a counter, a vector."""
        return cls(state=_joined(key, counter, alg), alg=alg)

    def reset(self, state: Any) -> None:
        """Goes to another state."""
        found = _state_tensor(state)
        found.shape.assert_is_compatible_with([_size_of(self._alg)])
        self._state_var.assign(found)

    def reset_from_seed(self, seed: Any) -> None:
        """Goes to the state of a seed."""
        self._state_var.assign(create_rng_state(seed, self._alg))

    def reset_from_key_counter(self, key: Any, counter: Any) -> None:
        """Goes to a key and a counter."""
        self._state_var.assign(_joined(key, counter, self._alg))

    @property
    def state(self) -> Any:
        """The variable with the state."""
        return self._state_var

    @property
    def algorithm(self) -> int:
        """Which stream it draws from: 1, Philox, or 2, ThreeFry."""
        return self._alg

    @property
    def key(self) -> Tensor:
        """The key of the stream: generators with others draw other numbers."""
        return self._state_var.read_value()[-1]  # type: ignore[no-any-return]

    def skip(self, delta: Any) -> Any:
        """Goes as far as drawing ``delta`` numbers would."""
        return self._advance(self._state_var.read_value(), convert_to_tensor(delta, dtypes.int64))

    def normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: DTypeLike = dtypes.float32,
        name: str | None = None,
    ) -> Any:
        """Normal numbers of a mean and a standard deviation."""
        return self._scaled(
            counter_normal_op, shape, mean, stddev, dtype, name or "stateful_normal"
        )

    def truncated_normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: DTypeLike = dtypes.float32,
        name: str | None = None,
    ) -> Any:
        """Normal numbers, none beyond two standard deviations."""
        scope = name or "truncated_normal"
        return self._scaled(counter_truncated_op, shape, mean, stddev, dtype, scope)

    def uniform(
        self,
        shape: Any,
        minval: Any = 0,
        maxval: Any = None,
        dtype: DTypeLike = dtypes.float32,
        name: str | None = None,
    ) -> Any:
        """Numbers drawn evenly from [minval, maxval); ``maxval`` is 1 by default, and must be given for integers."""
        dtype = as_dtype(dtype)
        if maxval is None:
            if dtype.is_integer:
                raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
            maxval = 1
        with default_graph().name_scope(name or "stateful_uniform"):
            low = convert_to_tensor(minval, dtype, name="min")
            high = convert_to_tensor(maxval, dtype, name="max")
            if dtype.is_integer:
                return self._draw(counter_uniform_int_op, shape, low, high)
            return self._draw(counter_uniform_op, shape, dtype=dtype) * (high - low) + low

    def uniform_full_int(
        self, shape: Any, dtype: DTypeLike = dtypes.uint64, name: str | None = None
    ) -> Any:
        """Any integers of a dtype of 32 or 64 bits."""
        with default_graph().name_scope(name or "stateful_uniform_full_int"):
            return self._draw(counter_full_int_op, shape, dtype=as_dtype(dtype))

    def make_seeds(self, count: int = 1) -> Any:
        """Seeds for the random ops without state, int64 [2, count]."""
        keys = self.uniform_full_int([count], dtypes.int64)
        return stack([keys, zeros_like(keys)])

    def split(self, count: int = 1) -> list[Generator]:
        """Generators whose numbers have nothing to do with each other's, nor with those of this one."""
        keys = unstack(self.uniform_full_int([count], dtypes.int64), count)
        zeros = [0] * (_size_of(self._alg) - 1)
        return [self.from_key_counter(key, zeros, self._alg) for key in keys]

    def _scaled(self, op: Any, shape: Any, mean: Any, stddev: Any, dtype: Any, name: str) -> Any:
        dtype = as_dtype(dtype)
        with default_graph().name_scope(name):
            mean = convert_to_tensor(mean, dtype, name="mean")
            stddev = convert_to_tensor(stddev, dtype, name="stddev")
            return self._draw(op, shape, dtype=dtype) * stddev + mean

    def _draw(self, op: Any, shape: Any, *bounds: Tensor, **attrs: Any) -> Any:
        """Numbers of the place where the state is, which goes on behind them."""
        if self._alg != RNG_ALG_PHILOX:
            raise ValueError(
                f"Unsupported algorithm id: {self._alg}; numbers are drawn by 1, Philox."
            )
        shape = shape_tensor(shape)
        state = self._state_var.read_value()
        place = cast(state, dtypes.uint64)
        drawn = op(shape, place[2:], place[:2], self._alg, *bounds, **attrs)
        with control_dependencies([drawn]):
            done = self._advance(state, cast(reduce_prod(shape), dtypes.int64))
        return drawn if default_graph().executes_eagerly else with_dependencies([done], drawn)

    def _advance(self, state: Tensor, count: Tensor) -> Any:
        numbers = unstack(state, _size_of(self._alg))
        moved = numbers[0] + count * _BLOCKS_PER_NUMBER
        numbers[0], first = moved, numbers[0]
        if len(numbers) > 2:  # the carry: less as numbers without a sign
            least = -(_WORD // 2)
            numbers[1] += cast(less(moved + least, first + least), dtypes.int64)
        return self._state_var.assign(stack(numbers))


def _joined(key: Any, counter: Any, alg: int) -> Any:
    counter, key = _state_tensor(counter), _state_tensor(key)
    counter.shape.assert_is_compatible_with([_size_of(alg) - 1])
    key.shape.assert_is_compatible_with([])
    return concat([counter, reshape(key, [1])], 0)


_global: dict[str, Generator] = {}


def get_global_generator() -> Generator:
    """The generator of the process, which is made at first use."""
    if "generator" not in _global:
        _global["generator"] = Generator.from_non_deterministic_state()
    return _global["generator"]


def set_global_generator(generator: Generator) -> None:
    """Has `get_global_generator` give this one from now on."""
    _global["generator"] = generator
