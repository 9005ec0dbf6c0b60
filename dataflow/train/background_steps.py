"""One step of a background job (see `background_jobs`): what is fed, run and called what."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dataflow.graph.tensor import Tensor
from dataflow.runtime.cooperative import Wait, finish

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession

#: One step that is under way: it returns the step's values.
StepOfJob = Generator[Wait | None, None, Any]


class LearningRate:
    """The three ways to hold a learning rate: a variable, a placeholder, a number."""

    def __init__(self, given: Any) -> None:
        self.variable: Any = None
        self.placeholder: Any = None
        self.value: float | None = None
        if isinstance(given, tuple | list):
            if len(given) != 2:
                raise ValueError(
                    f"learning_rate must be a (placeholder, first value) pair; got {given!r}"
                )
            self.placeholder, self.value = given[0], as_rate(given[1])
            given = self.placeholder
            if not isinstance(given, Tensor):
                raise TypeError(f"the first of the pair must be a placeholder, got {given!r}")
        elif given is None:
            return
        elif hasattr(given, "load") and hasattr(given, "initializer"):
            self.variable = given
        elif isinstance(given, Tensor):
            self.placeholder = given
        else:
            self.value = as_rate(given)
            return
        held = self.variable if self.variable is not None else self.placeholder
        if held.shape.num_elements() not in (1, None):
            raise ValueError(f"a learning rate is one number, but {held!r} has more")

    @property
    def is_given(self) -> bool:
        """Whether there is anything to change."""
        return self.variable is not None or self.placeholder is not None or self.value is not None


def as_rate(value: Any) -> float:
    """``value`` as a finite number; raises `TypeError` or `ValueError`."""
    try:
        number = float(value)
    except (TypeError, ValueError) as e:
        raise TypeError(
            "learning_rate must be a variable, a placeholder, a (placeholder, first value) pair or "
            f"a number; got {value!r}"
        ) from e
    if not math.isfinite(number):
        raise ValueError(f"a learning rate must be finite, got {number}")
    return number


class OpStep:
    """One step of a training op: the feed, the run, and the values by name."""

    def __init__(
        self, op: Any, session: BaseSession, feed: Any, fetches: Any, rate: LearningRate
    ) -> None:
        named = _named(fetches)
        self._run = (op, named)
        self._session, self._rate = session, rate
        self._feed: Callable[[int], Any]
        if feed is None or isinstance(feed, Mapping):
            self._feed = lambda _: feed
        elif callable(feed):
            self._feed = feed
        elif hasattr(feed, "__iter__"):
            batches: Iterator[Any] = iter(feed)
            self._feed = lambda _: next(batches)
        else:
            raise TypeError(
                f"feed must be a dict, a function of the step or an iterable of dicts; got {feed!r}"
            )
        session.needed(self._run)  # a fetch that does not fit is refused here, not in the thread

    def __call__(self, job: Any) -> StepOfJob:
        feed = self._feed(job.step)
        if self._rate.placeholder is not None and self._rate.value is not None:
            feed = {**(feed or {}), self._rate.placeholder: self._rate.value}
        return self._run_one(
            feed
        )  # the end of the feed is raised by this call, not in the generator

    def _run_one(self, feed: Any) -> StepOfJob:
        results = yield from finish(functools.partial(self._session.run, self._run, feed))
        return results[1]


def _named(fetches: Any) -> dict[str, Any]:
    """Fetches with a name each; those without one are called after their op."""
    if fetches is None:
        return {}
    if isinstance(fetches, Mapping):
        return {str(key): value for key, value in fetches.items()}
    several = fetches if isinstance(fetches, list | tuple) else [fetches]
    return {_name_of(f): f for f in several}


def _name_of(fetch: Any) -> str:
    op = getattr(fetch, "op", fetch)
    return str(getattr(op, "name", fetch)).removesuffix(":0")
