"""What a fused kernel computes, apart from how."""

from __future__ import annotations

from typing import NamedTuple


class Program(NamedTuple):
    """A chain in static single assignment: value i is input i, or the result of a step.

    ``steps`` are (op type, operand numbers); ``dtype`` the NumPy dtype of all values that are no
    truth values; ``reduction`` is ``""``, ``"Sum"`` or ``"Mean"``, over all elements or, with
    ``over_rows``, along the last axis (which stays, with ``keep_dims``).
    """

    num_inputs: int
    steps: tuple[tuple[str, tuple[int, ...]], ...]
    dtype: str
    reduction: str = ""
    over_rows: bool = False
    keep_dims: bool = False

    @property
    def chain(self) -> Program:
        """The steps without the reduction."""
        return self._replace(reduction="", over_rows=False, keep_dims=False)
