"""`tf.autograph`: functions of Python whose branches and loops on tensors become part of the graph."""

from __future__ import annotations

import ast
import functools
import textwrap
from collections.abc import Callable
from typing import Any

from dataflow import logging
from dataflow.autograph.conversion import (
    LEFT_ALONE,
    converted,
    function_of,
    is_left_alone,
    operators,
    rewritten_tree,
)
from dataflow.autograph.experimental import Feature
from dataflow.autograph.source import ConversionError
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.nest import map_structure
from dataflow.graph.tensor import Tensor
from dataflow.ops.control_flow import group, with_dependencies
from dataflow.ops.effects import done_inside, in_order

_verbosity = {"level": 0, "print": False}


def to_graph(
    entity: Callable[..., Any],
    recursive: bool = True,
    arg_values: Any = None,
    arg_types: Any = None,
    experimental_optional_features: Any = None,
) -> Callable[..., Any]:
    """``entity`` with its ``if``, ``while``, ``for``, ``and``, ``or``, ``not`` and ``assert`` working on
    tensors too, by `tf.cond` and `tf.while_loop`; where the value they test is not a tensor they stay Python's.

    ``entity`` is a function, a method, a lambda, or an object that can be called. ``recursive`` does the
    same to functions that it calls, if they are no library's. ``Feature.AUTO_CONTROL_DEPS`` runs what the
    function assigns and prints in the order of its lines, as `tf.function` does; what it asserts, and
    assigns within branches and loops on tensors, is done before its results in any case.
    ``arg_values`` and ``arg_types`` change nothing. ``==`` and ``!=`` ask, as always in TensorFlow 1,
    whether two tensors are the same object: write `tf.equal`.

    The returned function raises, when it is called, `ValueError` for a variable that is read after a branch or
    loop on tensors and may have no value, `TypeError` for one whose dtype or structure changes in it, and
    `NotImplementedError` for a list that does. `to_graph` raises `ConversionError`, which is a
    `NotImplementedError`, when the source is not available or has something that cannot be rewritten.
    """
    python_function = getattr(entity, "python_function", entity)
    if isinstance(python_function, type):
        raise ConversionError(
            f"classes are not rewritten ({python_function.__qualname__}): give the method to "
            "tf.autograph.to_graph."
        )
    function, owner = function_of(python_function)
    if function is None:
        raise ConversionError(f"{entity!r} is not a function with Python source.")
    if is_left_alone(function):
        return entity
    made = converted(function, operators(recursive))
    _tell(function)
    in_lines = _has(experimental_optional_features, Feature.AUTO_CONTROL_DEPS)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        graph = default_graph()
        first, outer = len(graph.operations), graph.control_flow_context
        if in_lines:
            with in_order(graph) as effects:
                result = made(*owner, *args, **kwargs)
            done = effects()
        else:
            result = made(*owner, *args, **kwargs)
            done = done_inside(graph.operations[first:], outer)
        if not done:
            return result
        if result is None:
            return group(*done)
        return map_structure(
            lambda leaf: with_dependencies(done, leaf) if isinstance(leaf, Tensor) else leaf, result
        )

    setattr(call, LEFT_ALONE, True)
    return call


def convert(
    recursive: bool = False, optional_features: Any = None, user_requested: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function is rewritten, as `to_graph` does, when it is called for the first time.

    ``user_requested`` changes nothing. `ConversionError` as `to_graph` raises it comes with that call.
    """

    def decorator(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.cache
        def rewritten() -> Callable[..., Any]:
            return to_graph(function, recursive, experimental_optional_features=optional_features)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return rewritten()(*args, **kwargs)

        setattr(call, LEFT_ALONE, True)
        return call

    return decorator


def _has(features: Any, feature: Feature) -> bool:
    given = features if isinstance(features, (list, tuple, set)) else [features]
    return feature in given or Feature.ALL in given


def _tell(function: Any) -> None:
    if _verbosity["level"] >= 1:
        text = f"AutoGraph rewrote {function.__qualname__}()"
        if _verbosity["level"] >= 3:
            text += ":\n" + to_code(function)
        logging.info("%s", text)
        if _verbosity["print"]:
            print(text)


def to_code(
    entity: Callable[..., Any],
    recursive: bool = True,
    arg_values: Any = None,
    arg_types: Any = None,
    indentation: str = "  ",
    experimental_optional_features: Any = None,
) -> str:
    """The source that `to_graph` makes of ``entity``: ``ag__`` in it stands for AutoGraph's operators.

    Raises `ConversionError` as `to_graph` does. Arguments but ``entity`` and ``indentation`` have no effect.
    """
    function, _ = function_of(getattr(entity, "python_function", entity))
    if function is None or isinstance(entity, type):
        raise ConversionError(f"{entity!r} is not a function with Python source.")
    text = ast.unparse(ast.fix_missing_locations(rewritten_tree(function)))
    lines = []
    for line in textwrap.dedent(text).splitlines():
        code = line.lstrip(" ")
        lines.append(indentation * ((len(line) - len(code)) // 4) + code)
    return "\n".join(lines) + "\n"


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Logs which functions `to_graph` rewrites (``level`` 1 and more), with the new source (3 and more).

    ``alsologtostdout`` prints them too. At 0, the default, nothing is logged.
    """
    _verbosity["level"], _verbosity["print"] = level, alsologtostdout


def trace(*args: Any) -> None:
    """Prints ``args`` while the graph is built."""
    print(*args)
