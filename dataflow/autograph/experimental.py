"""`tf.autograph.experimental`: what is left alone, and how loops are built."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from typing import Any

from dataflow.autograph.conversion import LEFT_ALONE


class Feature(enum.Enum):
    """Optional parts of the conversion. `AUTO_CONTROL_DEPS` changes something here, by itself or in `ALL`."""

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"

    @classmethod
    def all_but(cls, exclude: Any) -> tuple[Feature, ...]:
        """All features but those of ``exclude``, one or several."""
        left_out = exclude if isinstance(exclude, (list, tuple, set)) else [exclude]
        return tuple(f for f in cls if f is not cls.ALL and f not in left_out)


def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """The function as it is, for AutoGraph to call without rewriting it. A decorator too."""
    if func is None:
        return do_not_convert

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    setattr(call, LEFT_ALONE, True)
    return call


def set_loop_options(
    parallel_iterations: Any = None,
    swap_memory: Any = None,
    maximum_iterations: Any = None,
    shape_invariants: Any = None,
) -> None:
    """Within a loop of a function that AutoGraph rewrites, the arguments of its `tf.while_loop`.

    ``shape_invariants`` is a list of pairs: a variable of the loop, and the shape that it keeps. Elsewhere
    the call does nothing.
    """
