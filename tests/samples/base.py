"""`Sample`: one op, an input and an expectation, from which every check of the op is made."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Sample:
    """An example of an op.

    ``op``: the op type that it stands for. ``build(tf, *tensors)``: builds the result with the
    public API, so that the sample runs on real TensorFlow too; returns a tensor or a flat list.
    ``inputs``: arrays, given as constants (or placeholders). ``expected``: a function of the input
    arrays, or the value itself (list for several outputs); ``None`` where only the oracle knows.
    ``gradient``: which inputs to differentiate by (default: all floating ones; ``()`` for none).
    ``second``: also check second derivatives. ``random``: values are not compared.
    """

    op: str
    build: Callable[..., Any]
    inputs: Sequence[Any] = ()
    expected: Any = None
    gradient: tuple[int, ...] | None = None
    second: bool = True
    random: bool = False
    rtol: float = 1e-5
    atol: float = 1e-6
    gradient_tolerance: float = 1e-5
    note: str = ""
    oracle: bool = True  # False: not comparable with TensorFlow (the note says why)
    setup: Callable[..., Any] | None = None  # setup(tf, session) before the run

    @property
    def id(self) -> str:
        """A name for reports."""
        return f"{self.op}-{self.note}" if self.note else self.op

    def arrays(self) -> list[Any]:
        """The inputs as arrays."""
        return [np.asarray(i) for i in self.inputs]
