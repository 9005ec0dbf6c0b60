"""The work that the workers of a `Training` share in every mode."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from dataflow.train.gradient_descent import GradientDescentOptimizer

if TYPE_CHECKING:
    from dataflow.runtime.session import Session

#: Modes in which the workers keep the variables, and exchange gradients around a ring.
RING_MODES = ("all-reduce", "ZeRO")
#: The mode in which all workers make one step together.
SPREAD = "model parallel"

#: Worker 0 asks the parameter servers so often whether the mode goes on, and so often leaves its values
#: there, in the modes in which the workers keep the variables.
LOOK_SECONDS, COPY_SECONDS = 0.1, 0.5


def container_of(number: int) -> str:
    """The container of the state that each mode makes for itself: slots, accumulators, queues, mirrored variables."""
    return f"training_{number}"


def optimizer_of(options: dict[str, Any]) -> Any:
    """The optimizer that the user asked for."""
    make = options["optimizer"]
    return make() if make is not None else GradientDescentOptimizer(options["rate"])


def loss_of(options: dict[str, Any], part: int, num_parts: int) -> Any:
    """Build the user's model on a part of the data."""
    size = options["batch_size"]
    model = options["model"]
    return model(part, num_parts) if size is None else model(part, num_parts, size)


def copy_values(
    session: Session, mirrored: dict[str, Any], kept: Session, variables: dict[str, Any]
) -> None:
    """Leave the values of ``mirrored`` at the parameter servers, in ``variables`` of the same names."""
    for name, value in session.run(mirrored).items():
        variables[name].load(value, kept)


class Progress:
    """Tells a worker's step and its loss: the first one, then one a second, as lines for ``say``."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._said: float | None = None

    def step(self, now: float, steps: int, loss: Any) -> None:
        """A step has ended, the ``steps``-th of this worker, with a scalar ``loss``."""
        if self._said is None or now - self._said >= 1.0:
            self._said = now
            self._say(f"step {steps}, loss {float(loss):.4f}")


def paced(most: float | None) -> Iterator[float]:
    """Yield the time at each step's end, not more often than ``most`` times a second."""
    at = time.monotonic()
    while True:
        yield time.monotonic()
        if most is not None:
            at = max(at + 1 / most, time.monotonic() - 1 / most)
            time.sleep(max(0.0, at - time.monotonic()))
