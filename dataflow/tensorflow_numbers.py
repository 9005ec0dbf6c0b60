"""Whether seeded random ops draw the numbers that TensorFlow draws: a switch of this process.

`dataflow.as_tensorflow` turns it on, for programs whose books print what a seed gave. Two things follow it: which
generator a kernel draws from (`kernels.tensorflow_random`), and the seed of an op without one, which is the
number of nodes made before (`ops.seeds.get_seed`): where TensorFlow's layers make more nodes than ours, they are
counted.
"""

from __future__ import annotations

_state = {"on": False}


def draw_as_tensorflow(on: bool = True) -> None:
    """From now on random ops that are made, or run for the first time, draw TensorFlow's numbers."""
    _state["on"] = on


def draws_as_tensorflow() -> bool:
    """Whether they do."""
    return _state["on"]
