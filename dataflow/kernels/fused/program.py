"""What a fused kernel computes, apart from how."""

from __future__ import annotations

from typing import NamedTuple


class Program(NamedTuple):
    """A chain in static single assignment: value i is input i, or the result of a step.

    ``steps`` are (op type, operand numbers); ``dtype`` the NumPy dtype of all values that are no
    truth values; ``reduction`` is ``""``, ``"Sum"`` or ``"Mean"`` over all elements.
    """

    num_inputs: int
    steps: tuple[tuple[str, tuple[int, ...]], ...]
    dtype: str
    reduction: str = ""
